# Copyright 2026 The adanet.distributed Authors. All Rights Reserved.
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     https://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""Checks wheels and sdists as a package index does; prints their READMEs.

`twine check --strict` never renders Markdown, which an index does.
"""

import sys

from readme_renderer import markdown
from twine import package
from twine.commands import check


def main(paths):
  if check.check(paths, strict=True):
    sys.exit(1)
  for path in paths:
    metadata = package.PackageFile.from_filename(path, comment=None).metadata
    html = markdown.render(metadata["description"])
    if html is None:
      sys.exit("{}: the README cannot be rendered.".format(path))
    print(html)


if __name__ == "__main__":
  main(sys.argv[1:])

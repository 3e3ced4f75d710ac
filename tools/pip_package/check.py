# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks wheels and sdists as a package index does, and prints their pages.

`twine check` checks the metadata with packaging.metadata, but it does not
render Markdown. An index does.
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

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
"""Packs the files that a py_wheel rule describes into a wheel.

flit_core does the packing and the metadata; this gives it the tree that it
expects. The result depends on the files' names and bytes alone.
"""

import json
import os
import pathlib
import shutil
import sys
import tempfile

from flit_core import wheel as flit_wheel

# Zip knows no earlier time.
_EPOCH = "315532800"


def _toml(table, values):
  """Returns a TOML table; a JSON string or list of strings is TOML too."""
  return "[{}]\n{}\n".format(
      table, "".join("{} = {}\n".format(key, json.dumps(value))
                     for key, value in sorted(values.items())))


def _write_tree(description, root):
  """Writes the described project below `root`, for flit."""
  for path, source in description["files"].items():
    destination = root / path
    destination.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, destination)
  project = dict(description["project"])
  extras = project.pop("optional-dependencies")
  shutil.copyfile(project["readme"], root / "README.md")
  project["readme"] = "README.md"
  shutil.copyfile(description["license_file"], root / "LICENSE")
  project["license-files"] = ["LICENSE"]
  (root / "pyproject.toml").write_text(
      _toml("project", project)
      + _toml("project.optional-dependencies", extras)
      + _toml("tool.flit.module", {"name": description["package"]}),
      encoding="utf-8")


def main(description_path, wheel_path):
  with open(description_path, encoding="utf-8") as f:
    description = json.load(f)
  os.environ["SOURCE_DATE_EPOCH"] = _EPOCH
  with tempfile.TemporaryDirectory() as root, open(wheel_path, "wb") as wheel:
    root = pathlib.Path(root)
    _write_tree(description, root)
    builder = flit_wheel.WheelBuilder.from_ini_path(
        root / "pyproject.toml", wheel)
    builder.build()


if __name__ == "__main__":
  main(*sys.argv[1:])

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Packs the files that a py_wheel rule describes into a wheel or an sdist.

flit_core does the packing and the metadata; this gives it the tree that it
expects. The result depends on the files' names and bytes alone.
"""

import json
import os
import pathlib
import re
import shutil
import sys
import tempfile

from flit_core import sdist as flit_sdist
from flit_core import wheel as flit_wheel

# Zip knows no earlier time.
_EPOCH = "315532800"

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+$")

_CONTENT_TYPES = {".md": "text/markdown", ".rst": "text/x-rst"}


class PackingError(Exception):
  """What is wrong with a description, in one line."""


def _toml(value):
  """Returns a value in TOML, in which a dict is an inline table."""
  if isinstance(value, dict):
    return "{{{}}}".format(", ".join(_toml_items(value)))
  if isinstance(value, list):
    return "[{}]".format(", ".join(map(_toml, value)))
  return json.dumps(value, ensure_ascii=False)


def _toml_key(key):
  return key if _BARE_KEY.match(key) else _toml(key)


def _toml_items(table):
  return [
      "{} = {}".format(_toml_key(key), _toml(value))
      for key, value in sorted(table.items())
  ]


def _toml_table(name, table):
  return "[{}]\n{}\n\n".format(name, "\n".join(_toml_items(table)))


def _copy(source, destination):
  destination.parent.mkdir(parents=True, exist_ok=True)
  shutil.copyfile(source, destination)


def _write_tree(description, root):
  """Writes the described project below `root`, for flit.

  Args:
    description: dict, as py_wheel.bzl writes it.
    root: `pathlib.Path` of an empty folder.

  Returns:
    The path of the project's pyproject.toml.
  """
  for path, source in description["files"].items():
    _copy(source, root / path)
  for path, source in description["license_files"].items():
    _copy(source, root / path)
  project = dict(
      description["project"], **{
          "license-files": sorted(description["license_files"])
      })
  if description["description_file"]:
    readme = pathlib.Path(description["description_file"])
    _copy(readme, root / readme.name)
    project["readme"] = {
        "file": readme.name,
        "content-type": description["description_content_type"] or
                        _CONTENT_TYPES.get(readme.suffix, "text/plain")
    }
  pyproject = root / "pyproject.toml"
  pyproject.write_text(
      _toml_table("build-system", {
          "build-backend": "flit_core.buildapi",
          "requires": ["flit_core>=3.12,<4"],
      }) + _toml_table("project", project) +
      _toml_table("tool.flit.module", {"name": description["package"]}),
      encoding="utf-8")
  return pyproject


def _pack_wheel(pyproject, path):
  with open(path, "wb") as f:
    builder = flit_wheel.WheelBuilder.from_ini_path(pyproject, f)
    builder.build()
  return builder.wheel_filename


def _pack_sdist(pyproject, path):
  with tempfile.TemporaryDirectory() as folder:
    sdist = flit_sdist.SdistBuilder.from_ini_path(pyproject).build(
        pathlib.Path(folder))
    shutil.copyfile(sdist, path)
    return sdist.name


def pack(description, path):
  """Packs a project.

  Args:
    description: dict, as py_wheel.bzl writes it.
    path: the file to write, `*.whl` for a wheel, `*.tar.gz` for an sdist.

  Raises:
    PackingError: the description is not that of a valid project, or not of one
      that the file's name fits.
  """
  os.environ["SOURCE_DATE_EPOCH"] = _EPOCH
  with tempfile.TemporaryDirectory() as root:
    pyproject = _write_tree(description, pathlib.Path(root))
    try:
      if path.endswith(".whl"):
        name = _pack_wheel(pyproject, path)
      else:
        name = _pack_sdist(pyproject, path)
    except ValueError as e:  # What all of flit's errors are.
      raise PackingError("{}: {}".format(
          description["project"]["name"], e)) from e
  if name != os.path.basename(path):
    raise PackingError("{}: expected {}; write its name and version so in the "
                       "target.".format(os.path.basename(path), name))


def main(description_path, path):
  with open(description_path, encoding="utf-8") as f:
    description = json.load(f)
  try:
    pack(description, path)
  except PackingError as e:
    sys.exit(str(e))


if __name__ == "__main__":
  main(*sys.argv[1:])

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Packs files into a wheel and an sdist, as a pyproject.toml among them says.

  make_wheel WHEEL SDIST PATH=FILE...

What it writes depends on the paths and on the bytes of the files alone.
"""

import os
import pathlib
import shutil
import sys
import tempfile

from flit_core import sdist as flit_sdist
from flit_core import wheel as flit_wheel


def main(wheel, sdist, *files):
  os.environ["SOURCE_DATE_EPOCH"] = "315532800"  # The first time in a zip file.
  with tempfile.TemporaryDirectory() as folder:
    root = pathlib.Path(folder, "root")
    for path, source in (file.split("=", 1) for file in files):
      copy = root / path
      if copy.exists():
        raise ValueError(f"two files are {path}: rename one.")
      copy.parent.mkdir(parents=True, exist_ok=True)
      shutil.copyfile(source, copy)
    pyproject = root / "pyproject.toml"
    packed = (flit_wheel.make_wheel_in(pyproject, pathlib.Path(folder)).file,
              flit_sdist.SdistBuilder.from_ini_path(pyproject).build(root))
    for source, path in zip(packed, (wheel, sdist)):
      if source.name != os.path.basename(path):
        raise ValueError(f"flit names it {source.name}: change distribution or "
                         "version.")
      shutil.copyfile(source, path)


if __name__ == "__main__":
  try:
    main(*sys.argv[1:])
  except ValueError as e:  # All errors of flit are.
    sys.exit(f"{os.path.basename(sys.argv[1])}: {e}")

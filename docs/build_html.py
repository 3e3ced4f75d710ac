# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Writes the documentation as HTML: draws the pictures, then runs Sphinx."""

import importlib
import logging
import os
import shutil
import tempfile

from absl import app
from absl import flags
from sphinx.cmd import build

_OUTPUT = flags.DEFINE_string("output", None, "Folder to write to.")
flags.mark_flag_as_required("output")


def main(argv):
  with tempfile.TemporaryDirectory() as scratch:
    source = os.path.join(scratch, "source")
    os.makedirs(source)
    for path in argv[1:]:
      shutil.copy(path, source)
    os.makedirs(os.path.join(source, "pictures"))
    logging.getLogger("matplotlib").setLevel(logging.WARNING)
    # matplotlib looks for a folder of its own when it is imported.
    os.environ["MPLCONFIGDIR"] = scratch
    pictures = importlib.import_module("docs.pictures")
    pictures.draw_all(os.path.join(source, "pictures"))
    return build.main([
        "-b", "html", "-q", "-n", "-W", "--keep-going",
        "-d", os.path.join(scratch, "doctrees"), source, _OUTPUT.value
    ])


if __name__ == "__main__":
  app.run(main)

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
"""Writes the documentation as HTML: draws the pictures, then runs Sphinx."""

import importlib
import logging
import os
import shutil
import sys
import tempfile

from absl import app
from absl import flags
from sphinx.cmd import build

_OUTPUT = flags.DEFINE_string("output", None, "Folder to write to.")
flags.mark_flag_as_required("output")


def main(argv):
  # Nothing here takes TensorFlow, and a docstring that did would take seconds.
  sys.modules["tensorflow"] = None
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

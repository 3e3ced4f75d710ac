# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs settings with the package `adanet` that is first on the import path.

It writes a file of JSON: for each setting, by its name, a list of one value for
each of its actions; see `actions`.
"""

import gc
import os
import shutil
import sys
import tempfile
import time

from absl import app
from absl import flags
from absl import logging
from adanet.testing.oracle import actions
from adanet.testing.oracle import figures
from adanet.testing.oracle import library
from adanet.testing.oracle import settings
from adanet.tf_compat import v1 as tf

_TABLE = flags.DEFINE_enum(
    "table", "all", ["all", "quick", "goes_on"],
    "Which settings of `settings`. For the package under test, all settings "
    "include `settings.uneven_batches()`.")
_OUTPUT = flags.DEFINE_string("output", None, "Path of the file to write.")
_SETTINGS = flags.DEFINE_list(
    "settings", [], "Names of the settings to run; all of them if empty.")
_GOLDEN = flags.DEFINE_bool(
    "golden", False, "Whether to write a golden file: rounded figures, and no "
    "variables that only TensorFlow 1.15 has.")
_MODEL_DIRS = flags.DEFINE_string(
    "model_dirs", None, "Folder of the model_dirs, which are kept then.")


def _all():
  """Returns all settings."""
  return settings.table() + (
      [] if library.IS_REFERENCE else settings.uneven_batches())


def main(unused_argv):
  logging.set_verbosity(logging.ERROR)
  tf.logging.set_verbosity(tf.logging.ERROR)
  # Graphs have many objects, and few are garbage before they are done.
  gc.set_threshold(100000, 50, 50)
  folder = _MODEL_DIRS.value or tempfile.mkdtemp()
  results = {}
  table = {
      "all": _all,
      "quick": settings.quick,
      "goes_on": settings.goes_on,
  }[_TABLE.value]
  for setting in table():
    if _SETTINGS.value and setting.name not in _SETTINGS.value:
      continue
    if setting.needs == "tf.estimator" and not library.HAS_TF_ESTIMATOR:
      continue
    start = time.process_time()
    result = actions.perform(setting, os.path.join(folder, setting.name))
    if _GOLDEN.value:
      result = figures.rounded(figures.without_inner_variables(result))
    results[setting.name] = result
    print("{:6.2f} s  {}{}".format(
        time.process_time() - start, setting.name,
        "  FAILED" if "exception" in (result[-1] or ()) else ""),
        file=sys.stderr, flush=True)
    figures.write(_OUTPUT.value, results)
  if not _MODEL_DIRS.value:
    shutil.rmtree(folder)


if __name__ == "__main__":
  flags.mark_flag_as_required("output")
  app.run(main)

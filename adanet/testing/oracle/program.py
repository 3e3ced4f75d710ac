# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs settings with the package `adanet` that is first on the import path.

It writes a file of JSON: for each setting, by its name, a list of one value for
each action of it. The actions:

  train: `Estimator.train`. Arguments: its own, and `batches`, the arguments
    of `data.dataset` or "tensors"; `stop_after`, after how many steps a hook
    requests a stop. The value is what lies in the model_dir then, and the
    global step after each step.
  restart: makes a new Estimator on the same model_dir.
  evaluate, predict: the methods; `checkpoint` is a name in the model_dir.
  export: `export_saved_model` with a receiver of `data.receiver`.
"""

import os
import shutil
import sys
import tempfile
import time
import traceback

from absl import app
from absl import flags
from absl import logging
import adanet
from adanet.testing.oracle import data
from adanet.testing.oracle import figures
from adanet.testing.oracle import hooks as hooks_lib
from adanet.testing.oracle import library
from adanet.testing.oracle import setting as setting_lib
from adanet.testing.oracle import settings
from adanet.testing.oracle import stranded
from adanet.tf_compat import v1 as tf

_TABLE = flags.DEFINE_enum(
    "table", "all", ["all", "quick", "begun", "goes_on"],
    "Which settings: all or the quick ones of `settings`, or a table of "
    "`stranded`.")
_OUTPUT = flags.DEFINE_string("output", None, "Path of the file to write.")
_SETTINGS = flags.DEFINE_list(
    "settings", [], "Names of the settings to run; all of them if empty.")
_GOLDEN = flags.DEFINE_bool(
    "golden", False, "Whether to write a golden file: rounded figures, and no "
    "variables that only TensorFlow 1.15 has.")
_MODEL_DIRS = flags.DEFINE_string(
    "model_dirs", None, "Folder of the model_dirs, which are kept then.")

_NUM_PREDICTIONS = 5


class _Run:
  """A setting in a model_dir."""

  def __init__(self, setting, model_dir):
    self._setting = setting
    self._model_dir = model_dir
    self._notes = {}
    self._context = setting_lib.Context(model_dir, self._record, self._notes)
    self.restart()

  def _record(self, name, tensor):
    return hooks_lib.Record(tensor, self._notes.setdefault(name, []))

  def restart(self):
    arguments = setting_lib.defaults(self._context, self._setting.task)
    arguments.update(self._setting.estimator(self._context))
    self._report_dir = arguments.get("report_dir") or os.path.join(
        self._model_dir, "report")
    self._estimator = adanet.Estimator(**arguments)

  def _input_fn(self, arguments):
    if arguments == "tensors":
      return data.tensors(self._setting.task)
    return data.dataset(self._setting.task, **dict(arguments))

  def train(self, batches=(), stop_after=None, **kwargs):
    steps = []
    hooks = [hooks_lib.RecordSteps(steps)]
    if stop_after:
      hooks.append(hooks_lib.StopAfter(stop_after))
    self._estimator.train(
        self._input_fn(batches),
        hooks=hooks, **kwargs)
    result = figures.state(self._model_dir, self._report_dir)
    result["steps"] = steps
    if self._notes:
      result["notes"] = figures.plain(self._notes)
    return result

  def _checkpoint(self, name):
    return os.path.join(self._model_dir, name) if name else None

  def evaluate(self, checkpoint=None, steps=None, name=None):
    return figures.plain(self._estimator.evaluate(
        data.dataset(self._setting.task, num_epochs=1), steps=steps,
        checkpoint_path=self._checkpoint(checkpoint), name=name))

  def predict(self, checkpoint=None, predict_keys=None):
    rows = data.dataset(
        self._setting.task, num_epochs=1, rows=slice(0, _NUM_PREDICTIONS))
    return figures.plain(list(self._estimator.predict(
        rows, predict_keys=predict_keys,
        checkpoint_path=self._checkpoint(checkpoint))))

  def export(self, receiver):
    path = self._estimator.export_saved_model(
        os.path.join(self._model_dir, "export_" + receiver),
        data.receiver(receiver))
    return figures.export(path)


def perform(setting, model_dir):
  """Performs the actions of a setting in a model_dir.

  Args:
    setting: a `setting.Setting`.
    model_dir: str, a folder.

  Returns:
    A list of values of JSON. Where an action failed, it ends with the error.
  """
  results = []
  try:
    run = _Run(setting, model_dir)
    for action in setting.actions:
      results.append(getattr(run, action.name)(**action.arguments))
  except Exception as error:  # pylint: disable=broad-except
    traceback.print_exc()
    results.append({"exception": f"{type(error).__name__}: {error}"})
  return results


def main(unused_argv):
  logging.set_verbosity(logging.ERROR)
  tf.logging.set_verbosity(tf.logging.ERROR)
  folder = _MODEL_DIRS.value or tempfile.mkdtemp()
  results = {}
  table = {
      "all": settings.table,
      "quick": settings.quick,
      "begun": stranded.begun,
      "goes_on": stranded.goes_on,
  }[_TABLE.value]
  for setting in table():
    if _SETTINGS.value and setting.name not in _SETTINGS.value:
      continue
    if setting.needs == "tf.estimator" and not library.HAS_TF_ESTIMATOR:
      continue
    start = time.process_time()
    result = perform(setting, os.path.join(folder, setting.name))
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

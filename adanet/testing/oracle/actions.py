# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Performs the actions of a setting: calls of an Estimator.

  train: `Estimator.train`. Arguments: its own, and `batches`, the arguments
    of `data.dataset` or "tensors"; `stop_after`, after how many steps a hook
    requests a stop; `watched`, to note the view of hooks and listeners, and the
    answer of `evaluate`: the name of a checkpoint that is not evaluated, as
    AdaNet 0.8.0 saves variables a step ahead there. The value is the content of
    the model_dir then, and the global step after each step.
  restart: makes a new Estimator on the same model_dir.
  evaluate, predict: the methods; `checkpoint` is a name in the model_dir, and
    `batch_size` an argument of `data.dataset`.
  export: `export_saved_model` with a receiver of `data.receiver`.
"""

import glob
import os
import traceback

import adanet
from adanet.testing.oracle import data
from adanet.testing.oracle import figures
from adanet.testing.oracle import hooks as hooks_lib
from adanet.testing.oracle import setting as setting_lib
from adanet.tf_compat import v1 as tf

_NUM_PREDICTIONS = 5
_EVALUATING = ("begin", "after_create_session", "after_run", "end", "train")
_ARCHITECTURE = "architecture/adanet/ensembles"


class _Notes(dict):
  """The notes of hooks, by the name that they gave."""

  def record(self, name, tensor):
    return hooks_lib.Record(tensor, self.setdefault(name, []))


class _Run:
  """A setting in a model_dir."""

  def __init__(self, setting, model_dir, ways):
    self._setting = setting
    self._ways = iter(ways)
    self._model_dir = model_dir
    self._notes = _Notes()
    self._watched = None
    self._losses = {}  # Of each checkpoint, by its name.
    self._context = setting_lib.Context(
        model_dir, self._notes.record, self._notes, self._saver_hook)
    self.restart()

  def restart(self):
    arguments = setting_lib.defaults(self._context, self._setting.task)
    arguments.update(self._setting.estimator(self._context))
    self._report_dir = arguments.get("report_dir") or os.path.join(
        self._model_dir, "report")
    self._estimator = arguments.pop("make", adanet.Estimator)(**arguments)

  def _input_fn(self, arguments):
    if arguments == "tensors":
      return data.tensors(self._setting.task)
    return data.dataset(self._setting.task, **dict(arguments))

  def _see(self, call, global_step=None):
    """Notes the state that a user's code sees when it is called."""
    latest = os.path.basename(
        tf.train.latest_checkpoint(self._model_dir) or "")
    seen = [call, global_step, latest, sorted(
        os.path.basename(path) for path in glob.glob(
            os.path.join(self._model_dir, "*.index")))]
    # A few of the listeners will do.
    if latest != self._watched and call.split(":")[0] in _EVALUATING:
      if latest not in self._losses:
        self._losses[latest] = self.evaluate()["average_loss"]
      seen.append(self._losses[latest])
    self._notes.setdefault("seen", []).append(seen)

  def _saver_hook(self, name):
    """Returns a hook that saves each second step, and notes it."""
    return tf.train.CheckpointSaverHook(
        self._model_dir, save_steps=2,
        listeners=[hooks_lib.Listener(self._see, name)])

  def train(self, batches=(), stop_after=None, watched=None, **kwargs):
    steps = []
    hooks = [hooks_lib.RecordSteps(steps)]
    self._watched = watched
    if watched:
      hooks += [hooks_lib.Watch(self._see),
                hooks_lib.Wrapped(self._saver_hook("wrapped"))]
      kwargs["saving_listeners"] = [hooks_lib.Listener(self._see, "train")]
    if stop_after:
      hooks.append(hooks_lib.StopAfter(stop_after))
    self._estimator.train(
        self._input_fn(batches),
        hooks=hooks, **kwargs, **next(self._ways, {}))
    result = figures.state(self._model_dir, self._report_dir)
    result["steps"] = steps
    if self._notes:
      result["notes"] = figures.plain(self._notes)
    return result

  def _checkpoint(self, name):
    return os.path.join(self._model_dir, name) if name else None

  def evaluate(self, checkpoint=None, steps=None, name=None, batch_size=8):
    values = self._estimator.evaluate(
        data.dataset(self._setting.task, batch_size, num_epochs=1), steps=steps,
        checkpoint_path=self._checkpoint(checkpoint), name=name)
    # Ours gives this to who asks for it, and has it not among its keys.
    return figures.plain(dict(values, **{
        _ARCHITECTURE: values[_ARCHITECTURE]}))

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


def perform(setting, model_dir, ways=()):
  """Performs the actions of a setting in a model_dir.

  Args:
    setting: a `setting.Setting`.
    model_dir: str, a folder.
    ways: iterable of dicts, more arguments of `train` for its first, second,
      ... call.

  Returns:
    A list of values of JSON. Where an action failed, it ends with the error.
  """
  results = []
  try:
    run = _Run(setting, model_dir, ways)
    for action in setting.actions:
      results.append(getattr(run, action.name)(**action.arguments))
  except Exception as error:  # pylint: disable=broad-except
    traceback.print_exc()
    results.append({"exception": f"{type(error).__name__}: {error}"})
  return results

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that a search on an executor gives the figures of one process.

All figures are equal to the last digit: variables, architectures, reports,
history, evaluations and predictions. Other engines, and all settings:

  executor_test.py --engine=pool:3 --settings=all
"""

import collections
import contextlib
import glob
import itertools
import json
import os
import shutil
import tempfile

from absl import flags
from absl.testing import absltest
from absl.testing import parameterized
from adanet.testing import engines
from adanet.testing.oracle import actions
from adanet.testing.oracle import comparison
from adanet.testing.oracle import library
from adanet.testing.oracle import settings
from adanet.testing.oracle import settings_of_fitted
from adanet.testing.oracle import settings_of_parts

_ENGINE = flags.DEFINE_string(
    "engine", "here", "What trains the parts: `here`, this process; `pool:N`, "
    "or `dask:N`, as many processes.")
_SETTINGS = flags.DEFINE_list(
    "settings", [], "Names of the settings; `all`; a quick choice if empty.")
# BUILD names others, for engines with processes.
_QUICK = (
    "all", "auto_ensemble", "both_ensemblers", "combiner_max", "fitted",
    "fitted_beside_trained", "fitted_replay", "input_ends_after_one_stopped",
    "keras_layers", "metric_fn", "nan_of_one_with_evaluator", "prunes",
    "replay", "resumes_at_odd_steps")
# These read checkpoints in the middle, which the parts keep for themselves, or
# differ; see `settings_of_parts.differing`.
_LEFT_OUT = ("checkpoints", "hook_of_user_stops", "what_hooks_see")
# A part is done when its loss is NaN. In one process others train on, and
# TensorFlow counts on in an average that stays NaN.
_ALLOWED = {
    "nan_of_one": "_bad_grow_complexity_regularized/adanet_loss/local_step",
    "nan_of_one_with_evaluator":
        "_bad_grow_complexity_regularized/adanet_loss/local_step",
}


def _engine():
  """Returns what enters the executor that the flag names."""
  kind, _, workers = _ENGINE.value.partition(":")
  if kind == "here":
    return contextlib.nullcontext(engines.Here())
  return {"pool": engines.process_pool, "dask": engines.dask_cluster}[kind](
      int(workers))


def _table():
  """Returns all settings by their names.

  They are new ones: an optimizer cannot be sent once it has trained.
  """
  return collections.OrderedDict(
      (s.name, s) for s in settings.table() + settings_of_parts.table() +
      settings_of_fitted.table() if s.name not in _LEFT_OUT)


def _without_times(value):
  """Returns what a record has, without when it was and how long it took."""
  if isinstance(value, dict):
    return {key: _without_times(item) for key, item in value.items()
            if "seconds" not in key and key != "time"}
  if isinstance(value, list):
    return [_without_times(item) for item in value]
  return value


def _history(model_dir):
  """Returns the records of the iterations by their names."""
  found = {}
  for path in glob.glob(os.path.join(model_dir, "history", "*.json")):
    with open(path, encoding="utf-8") as f:
      found[os.path.basename(path)] = _without_times(json.load(f))
  return found


class ExecutorTest(parameterized.TestCase):

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls._exits = contextlib.ExitStack()
    cls._executor = cls._exits.enter_context(_engine())

  @classmethod
  def tearDownClass(cls):
    cls._exits.close()
    super().tearDownClass()

  def _figures(self, setting, executor):
    """Returns the figures of a setting, and of the history of its search."""
    model_dir = tempfile.mkdtemp(dir=absltest.get_default_test_tmpdir())
    results = actions.perform(
        setting._replace(actions=[
            action for action in setting.actions if action.name != "export"]),
        model_dir, itertools.repeat({"executor": executor}
                                    if executor else {}))
    for result in filter(None, results):
      self.assertNotIn("exception", result)
      if "variables" in result:  # Hooks note in copies of lists.
        result.pop("steps")
        result.pop("notes", None)
    results.append(_history(model_dir))
    shutil.rmtree(model_dir)
    return results

  def _differences(self, one, other):
    """Returns lines that say what is not the same with an executor."""
    expected = self._figures(one, None)
    actual = self._figures(other, self._executor)
    lines = comparison.differences(expected, actual, 0.)
    allowed = _ALLOWED.get(one.name)
    lines = [line for line in lines if allowed is None or allowed not in line]
    if not lines and allowed is None:
      # -0. is not 0.
      self.assertEqual(json.dumps(expected, sort_keys=True),
                       json.dumps(actual, sort_keys=True))
    return lines

  @parameterized.parameters(*_table())
  def test_same_as_one_process(self, name):
    chosen = _SETTINGS.value or _QUICK
    if chosen != ["all"] and name not in chosen:
      self.skipTest("--settings")
    one, other = _table()[name], _table()[name]
    if one.needs == "tf.estimator" and not library.HAS_TF_ESTIMATOR:
      self.skipTest("this TensorFlow has no tf.estimator")
    lines = self._differences(one, other)
    self.assertEmpty(lines, "\n" + "\n".join(lines[:40]))

  @parameterized.parameters(*settings_of_parts.differing())
  def test_differs(self, reason):
    """What the documentation says that is not the same."""
    if _SETTINGS.value:
      self.skipTest("--settings")
    setting = settings_of_parts.differing()[reason]
    self.assertNotEmpty(self._differences(setting, setting))

  def test_choice(self):
    self.assertEmpty(set(_QUICK) - set(_table()))


if __name__ == "__main__":
  absltest.main()

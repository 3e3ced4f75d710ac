# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what `evaluate` returns, and of when it answers."""

import copy
import json
import pickle

from absl.testing import absltest
from absl.testing import parameterized
from adanet.testing import level
from adanet import tf_compat
from adanet.testing import builders
from adanet.testing import searches
import numpy as np

_ARCHITECTURE = "architecture/adanet/ensembles"


def _more_metrics(labels):
  v1 = tf_compat.v1
  return {"rows": v1.metrics.mean_tensor(v1.reduce_mean(labels, axis=0)),
          "count": (v1.constant(7, v1.int64), v1.no_op()),
          "is_good": (v1.constant(True), v1.no_op())}


class MetricsTest(absltest.TestCase):

  def test_numbers_are_those_of_python(self):
    estimator = searches.estimator(
        self.create_tempdir().full_path, builders.Dense("a"),
        metric_fn=_more_metrics, max_iterations=1)
    estimator.train(builders.input_fn())
    found = estimator.evaluate(builders.input_fn(1))
    # An array stays one.
    self.assertEqual((1,), found.pop("rows").shape)
    self.assertEqual(
        {"average_loss": float, "label/mean": float, "prediction/mean": float,
         "loss": float, "count": int, "is_good": bool, "global_step": int,
         "iteration": int, "best_ensemble_index_0": int},
        {key: type(value) for key, value in found.items()})
    self.assertEqual(found, json.loads(json.dumps(found)))
    self.assertNotIn("bytes", repr(found))

    # Code of AdaNet asks for this by its name.
    expected = found[_ARCHITECTURE]
    summary = tf_compat.v1.Summary.FromString(expected)
    self.assertIn(b"a", summary.value[0].tensor.string_val[0])
    self.assertNotIn(_ARCHITECTURE, found)
    for other in copy.copy(found), pickle.loads(pickle.dumps(found)):
      self.assertEqual(found, other)
      self.assertEqual(expected, other[_ARCHITECTURE])
    with self.assertRaisesRegex(KeyError, "'accuracy'"):
      found["accuracy"]  # pylint: disable=pointless-statement


class _Asks(tf_compat.v1.train.SessionRunHook):
  """A hook, and a listener, that evaluates wherever it is called."""

  def __init__(self):
    self.steps = {}
    self.estimator = None

  def _ask(self, where):
    found = self.estimator.evaluate(builders.input_fn(1))
    self.steps.setdefault(where, found["global_step"])
    assert np.isfinite(found["loss"]), found
    self.predicted = next(self.estimator.predict(builders.input_fn(1)))

  def begin(self):
    self._ask("begin")

  def after_create_session(self, session, coord):
    self._ask("after_create_session")

  def after_run(self, run_context, run_values):
    if "after_run" not in self.steps:
      self._ask("after_run")

  def before_save(self, session, global_step):
    self._ask(f"before_save {global_step}")

  def after_save(self, session, global_step):
    self._ask(f"after_save {global_step}")

  def end(self, session, global_step=None):
    self._ask("end")


class WhileTrainingTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._asks = _Asks()
    self._asks.estimator = searches.estimator(
        self.create_tempdir().full_path, builders.Dense("a"), max_iterations=1)

  def _assert_untrained(self):
    """Asserts that only who trains gets an answer without training."""
    with self.assertRaisesRegex(ValueError, "has (no|only the) checkpoint"):
      self._asks.estimator.evaluate(builders.input_fn(1))

  @level.gate
  def test_hook_and_listener(self):
    self._assert_untrained()
    listener = _Asks()
    listener.estimator = self._asks.estimator
    self._asks.estimator.train(
        builders.input_fn(), hooks=[self._asks], saving_listeners=[listener])
    self.assertContainsSubset(
        {"begin": 0, "after_create_session": 0, "after_run": 0},
        self._asks.steps)
    self.assertIn("end", self._asks.steps)
    self.assertEqual(
        {"begin": 0, "before_save 0": 0, "after_save 0": 0, "before_save 4": 0,
         "after_save 4": 4, "end": 4}, listener.steps)

  @level.gate
  def test_not_after_training_that_failed(self):
    class Fails(tf_compat.v1.train.SessionRunHook):

      def after_run(self, run_context, run_values):
        raise KeyError("mine")

    with self.assertRaises(KeyError):
      self._asks.estimator.train(builders.input_fn(), hooks=[Fails()])
    self._assert_untrained()


if __name__ == "__main__":
  absltest.main()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what is evaluated, what `evaluate` returns, and when it answers."""

import copy
import json
import os
import pickle

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet import tf_compat
from adanet.core import report_store as report_store_lib
from adanet.testing import builders
from adanet.testing import level
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
    metrics = estimator.evaluate(builders.input_fn(1))
    # An array stays one.
    self.assertEqual((1,), metrics.pop("rows").shape)
    self.assertEqual(
        {"average_loss": float, "label/mean": float, "prediction/mean": float,
         "loss": float, "count": int, "is_good": bool, "global_step": int,
         "iteration": int, "best_ensemble_index_0": int},
        {key: type(value) for key, value in metrics.items()})
    self.assertEqual(metrics, json.loads(json.dumps(metrics)))
    self.assertNotIn("bytes", repr(metrics))

    # Code of AdaNet asks for this by its name.
    expected = metrics[_ARCHITECTURE]
    summary = tf_compat.v1.Summary.FromString(expected)
    self.assertIn(b"a", summary.value[0].tensor.string_val[0])
    self.assertNotIn(_ARCHITECTURE, metrics)
    for other in copy.copy(metrics), pickle.loads(pickle.dumps(metrics)):
      self.assertEqual(metrics, other)
      self.assertEqual(expected, other[_ARCHITECTURE])
    with self.assertRaisesRegex(KeyError, "'accuracy'"):
      metrics["accuracy"]  # pylint: disable=pointless-statement


_ROWS = 129
# One network is right on all examples but the last one, the other never knows.
_FACTORS = {"calm": 0., "bold": 5.}
_LOSS = {"bold": np.mean(np.log1p(np.exp(-5. * np.array(
    [1.] * (_ROWS - 1) + [-1.])))), "calm": np.log(2.)}


def _all_once(size, order=slice(None)):
  """Returns an input_fn of all examples once, in batches of a size."""
  x = np.float32([[1.]] * (_ROWS - 1) + [[-1.]])[order]
  return adanet.inputs.numpy_input_fn(
      {"x": x}, np.ones([_ROWS, 1], np.float32), batch_size=size, num_epochs=1,
      shuffle=False)


class _Fixed(builders.Dense):
  """A network whose logits are the feature times a number."""

  def build_subnetwork(self, features, *args, **kwargs):
    logits = features["x"] * tf_compat.v1.get_variable(
        "factor", initializer=_FACTORS[self.name])
    return super().build_subnetwork(features, *args, **kwargs)._replace(
        logits=logits, last_layer=logits)

  def build_subnetwork_train_op(self, *args, **kwargs):
    return tf_compat.v1.no_op()

  def build_subnetwork_report(self):
    return adanet.subnetwork.Report(hparams={}, attributes={}, metrics={})


@level.gate
class HeldOutTest(absltest.TestCase):

  def test_each_example_counts_once(self):
    """However batches are cut, and in any order."""
    backwards = slice(None, None, -1)
    estimator = searches.estimator(
        self.create_tempdir().full_path, _Fixed("calm"), _Fixed("bold"),
        head=adanet.heads.BinaryClassHead(), max_iteration_steps=1,
        evaluator=adanet.Evaluator(_all_once(64, backwards)),
        ensemblers=[adanet.ensemble.ComplexityRegularizedEnsembler(
            adanet_lambda=.1)],
        report_materializer=adanet.ReportMaterializer(_all_once(128)))
    estimator.train(_all_once(_ROWS))
    told = report_store_lib.ReportStore(
        os.path.join(estimator.model_dir, "report")).read()[0]
    self.assertCountEqual(_LOSS, [report.name for report in told])
    values = {candidate.name: candidate.value for candidate in
              estimator.history().iterations[0].candidates}
    for report in told:
      loss = _LOSS[report.name]
      self.assertAlmostEqual(loss, report.metrics["loss"], places=5)
      # Its complexity counts once: .1 for its weight of 1, times 2.
      for adanet_loss in report.metrics["adanet_loss"], values[
          f"t0_{report.name}_grow_complexity_regularized"]:
        self.assertAlmostEqual(loss + .2, adanet_loss, places=5)
    expected, *figures = [
        estimator.evaluate(_all_once(*batches))
        for batches in ((_ROWS,), (128, backwards), (1,))]
    for metrics in figures:
      for key, value in expected.items():
        self.assertAlmostEqual(value, metrics[key], places=5, msg=key)


class _Asks(tf_compat.v1.train.SessionRunHook):
  """A hook, and a listener, that evaluates wherever it is called."""

  def __init__(self):
    self.steps = {}
    self.estimator = None

  def _ask(self, where):
    metrics = self.estimator.evaluate(builders.input_fn(1))
    self.steps.setdefault(where, metrics["global_step"])
    assert np.isfinite(metrics["loss"]), metrics
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

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the Estimator that combines estimators of TensorFlow's own."""

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet import heads
from adanet import tf_compat
import numpy as np

_Sub = adanet.AutoEnsembleSubestimator


def _input_fn(batches=None):
  return lambda: tf_compat.v1.data.Dataset.from_tensors((
      {"x": [[-1.], [0.], [1.]]}, [[1.], [0.], [1.]])).repeat(batches)


def _function(features):
  """Returns w x, where w begins at 1."""
  tf = tf_compat.v1
  return features["x"] * tf.get_variable(
      "w", [], initializer=tf.ones_initializer())


def _estimator(pool, model_dir, max_iteration_steps=1, max_iterations=1):
  return adanet.AutoEnsembleEstimator(
      heads.RegressionHead(), pool, model_dir=model_dir,
      max_iteration_steps=max_iteration_steps, max_iterations=max_iterations)


class EstimatorTest(parameterized.TestCase):

  def test_estimator_of_tensorflow(self):
    library = getattr(tf_compat.v2, "estimator", None)
    if library is None:
      self.skipTest("This TensorFlow has no tf.estimator.")
    column = tf_compat.v1.feature_column.numeric_column("x")

    def pool(config):
      return [library.DNNEstimator(
          head=library.RegressionHead(), feature_columns=[column],
          config=config, optimizer="Adagrad", hidden_units=[2])]

    estimator = _estimator(
        pool, self.create_tempdir().full_path, max_iteration_steps=2,
        max_iterations=2).train(_input_fn())
    self.assertIn("loss", estimator.evaluate(_input_fn(1)))
    self.assertEqual(2, estimator.get_variable_value(
        "adanet/iteration_0/subnetwork_t0_DNNEstimatorV20/step"))


class BoostedTreesTest(parameterized.TestCase):
  """Models that keep what they learn in resources, not in variables."""

  def setUp(self):
    super().setUp()
    self._library = tf_compat.v1.estimator if hasattr(
        tf_compat.v1, "estimator") else None
    if not hasattr(self._library, "BoostedTreesRegressor"):
      self.skipTest("This TensorFlow has no boosted trees.")

  def _trees(self, config=None):
    return self._library.BoostedTreesRegressor(
        [tf_compat.v1.feature_column.numeric_column("x")], config=config,
        n_batches_per_layer=1, n_trees=9, max_depth=2, learning_rate=.5)

  def test_training_goes_on(self):
    pool = lambda config: {"m": self._trees(config), "f": _function}
    arguments = dict(max_iteration_steps=8, max_iterations=2)
    results = []
    for ends in ([100], [3, 10, 100]):
      model_dir = self.create_tempdir().full_path
      for max_steps in ends:
        estimator = _estimator(pool, model_dir, **arguments)
        estimator.train(_input_fn(), max_steps=max_steps)
      report = adanet.report(model_dir)
      self.assertStartsWith(report.iterations[0].winner, "t0_m_grow")
      results.append([c.value for iteration in report.iterations
                      for c in iteration.candidates])
      loss = estimator.evaluate(_input_fn(1))["average_loss"]
      self.assertLess(loss, .3)  # Of a constant it is at least .22.
    np.testing.assert_allclose(results[0], results[1])

  @parameterized.parameters(
      (lambda self: {"a": self._trees(), "b": self._trees()},
       r"^candidate_pool\['b'\]: expected at most one estimator of .* share "
       "the accumulator 'numeric_stats_summary_accumulator_0'. Leave one out"),
      (lambda self: {"a": _Sub(self._trees(), _input_fn())},
       r"^candidate_pool\['a'\]: train_input_fn=<.*expected None"))
  def test_what_trees_cannot_do(self, pool, message):
    with self.assertRaisesRegex(ValueError, message):
      _estimator(pool(self), self.create_tempdir().full_path).train(_input_fn())


if __name__ == "__main__":
  absltest.main()

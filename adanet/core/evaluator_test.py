# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the evaluation of ensembles."""

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.core import evaluator as evaluator_lib
import numpy as np

_BATCHES = [1., 2., 6.]


def _input_fn():
  tf = tf_compat.v1
  dataset = tf.data.Dataset.from_tensor_slices(_BATCHES)
  return tf.data.make_one_shot_iterator(dataset).get_next()


class EvaluatorTest(parameterized.TestCase):

  def _evaluate(self, evaluator, make_metrics):
    tf = tf_compat.v1
    with tf.Graph().as_default(), tf.Session() as session:
      metrics = make_metrics(evaluator.input_fn())
      session.run(tf.global_variables_initializer())
      return evaluator.evaluate(session, metrics)

  @parameterized.parameters((None, 3.), (2, 1.5), (5, 3.))
  def test_mean_over_batches(self, steps, expected):
    evaluator = evaluator_lib.Evaluator(_input_fn, steps=steps)
    np.testing.assert_allclose(
        [expected, 2 * expected],
        self._evaluate(evaluator, lambda batch: [
            {"adanet_loss": tf_compat.v1.metrics.mean(factor * batch)}
            for factor in (1., 2.)]))

  def test_named_metric(self):
    evaluator = evaluator_lib.Evaluator(_input_fn, "square")
    tf = tf_compat.v1
    np.testing.assert_allclose(
        [41 / 3.],
        self._evaluate(evaluator, lambda batch: [{
            "adanet_loss": tf.metrics.mean(batch),
            "square": tf.metrics.mean(tf.square(batch))}]))

  def test_keras_metric(self):
    def make_metrics(batch):
      metric = tf_compat.keras.metrics.Mean()
      metric.update_state(batch)
      return [{"mean": metric}]

    np.testing.assert_allclose(
        [3.],
        self._evaluate(evaluator_lib.Evaluator(_input_fn, "mean"),
                       make_metrics))

  def test_second_evaluation_starts_anew(self):
    tf = tf_compat.v1
    evaluator = evaluator_lib.Evaluator(_input_fn, steps=1)
    with tf.Graph().as_default(), tf.Session() as session:
      metrics = [{"adanet_loss": tf.metrics.mean(evaluator.input_fn())}]
      self.assertEqual([1.], evaluator.evaluate(session, metrics))
      self.assertEqual([2.], evaluator.evaluate(session, metrics))

  @parameterized.parameters(
      (evaluator_lib.Evaluator.Objective.MINIMIZE, 2),
      (evaluator_lib.Evaluator.Objective.MAXIMIZE, 1))
  def test_objective(self, objective, best):
    evaluator = evaluator_lib.Evaluator(_input_fn, objective=objective)
    self.assertEqual(objective, evaluator.objective)
    self.assertEqual(best, evaluator.objective_fn([float("nan"), 3., 1., 2.]))

  def test_properties(self):
    evaluator = evaluator_lib.Evaluator(_input_fn, "auc", steps=7)
    self.assertEqual((_input_fn, "auc", 7, "minimize"),
                     (evaluator.input_fn, evaluator.metric_name,
                      evaluator.steps, evaluator.objective))

  @parameterized.parameters(ValueError, KeyError)
  def test_unknown_metric(self, error):
    with self.assertRaisesRegex(
        error, "^metric_name='auc': expected a metric that every ensemble "
        "has: accuracy, adanet_loss.$"):
      self._evaluate(
          evaluator_lib.Evaluator(_input_fn, "auc"),
          lambda batch: [{"adanet_loss": (batch, batch),
                          "accuracy": (batch, batch)}])

  @parameterized.parameters(
      ({"objective": "least"}, "^objective='least': expected Evaluator.Obj"),
      ({"steps": 0}, "^steps=0: expected a positive number"))
  def test_bad_arguments(self, arguments, message):
    with self.assertRaisesRegex(ValueError, message):
      evaluator_lib.Evaluator(_input_fn, **arguments)


if __name__ == "__main__":
  absltest.main()

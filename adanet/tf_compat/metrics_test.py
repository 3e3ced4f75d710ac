# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of metrics in a graph, on every version of TensorFlow."""

import unittest

from absl.testing import absltest
from adanet import tf_compat
from adanet.tf_compat import keras_scope


class MetricOpTest(absltest.TestCase):

  def _values(self, metric, num_updates):
    """Returns the metric's value after a number of updates."""
    tf = tf_compat.v1
    value, update_op = tf_compat.metric_op(metric)
    with tf.Session() as session:
      session.run([tf.global_variables_initializer(),
                   tf.local_variables_initializer()])
      for _ in range(num_updates):
        session.run(update_op)
      return session.run(value)

  def test_keras_metric(self):
    tf = tf_compat.v1
    with tf.Graph().as_default():
      metric = tf_compat.keras.metrics.Mean(name="mean")
      # Each update runs, and the variables are there once.
      metric.update_state(tf.constant([2., 4.]))
      metric.update_state(tf.constant(9.))
      tf_compat.metric_op(metric)
      self.assertEqual(5., self._values(metric, num_updates=2))
      for collection in (tf.local_variables(), tf.get_collection(
          tf.GraphKeys.METRIC_VARIABLES)):
        self.assertCountEqual([v.name for v in metric.variables],
                              [v.name for v in collection])

  def test_pair(self):
    tf = tf_compat.v1
    with tf.Graph().as_default():
      pair = tf.metrics.mean(tf.constant([2., 4.]))
      self.assertIs(pair, tf_compat.metric_op(pair))
      self.assertEqual(3., self._values(pair, num_updates=3))

  def test_anything_else_is_left_to_the_caller(self):
    self.assertEqual("mean", tf_compat.metric_op("mean"))

  def test_keras_metric_without_an_update(self):
    with tf_compat.v1.Graph().as_default():
      with self.assertRaisesRegex(ValueError, r"^metric=.*update_state\(\)"):
        tf_compat.metric_op(tf_compat.keras.metrics.Mean())

  def _keras_3(self, make_metric):
    """Returns what a function makes where adanet asks for metrics."""
    with keras_scope.KerasScope("metrics").entered():
      return make_metric(tf_compat.keras_3.metrics)

  @unittest.skipUnless(tf_compat.HAS_KERAS_3,
                       "Keras 3 needs TensorFlow 2.16 or later.")
  def test_keras_3_metric(self):
    tf = tf_compat.v1
    answers, scores = [0., 0., 1., 1.], [.1, .6, .4, .9]

    def updated_twice(metrics):
      metric = metrics.AUC()
      for rows in slice(0, 2), slice(2, 4):
        metric.update_state(answers[rows], tf.constant(scores[rows]))
      return metric

    whole = tf_compat.keras_3.metrics.AUC()
    whole.update_state(answers, scores)
    expected = float(whole.result())
    self.assertAlmostEqual(.75, expected, places=2)
    with tf.Graph().as_default():
      metric = self._keras_3(updated_twice)
      # The initializer sets all to 0, and no checkpoint has them.
      self.assertAlmostEqual(
          expected, self._values(metric, num_updates=1), places=6)
      self.assertEmpty(tf.global_variables())
      for collection in (tf.local_variables(), tf.get_collection(
          tf.GraphKeys.METRIC_VARIABLES)):
        self.assertLen(collection, len(metric.variables))

  @unittest.skipUnless(tf_compat.HAS_KERAS_3,
                       "Keras 3 needs TensorFlow 2.16 or later.")
  def test_keras_3_metric_that_is_none(self):
    def dict_of_results(metrics):
      class Both(metrics.Mean):
        def result(self):
          return {"mean": self.total / self.count, "count": self.count}

      metric = Both()
      metric.update_state(1.)
      return metric

    with tf_compat.v1.Graph().as_default():
      for make_metric, message in (
          (lambda metrics: metrics.Mean(), r"update_state\(\)"),
          (dict_of_results, "a dict of mean, count: expected")):
        with self.assertRaisesRegex(ValueError, "^metric=.*" + message):
          tf_compat.metric_op(self._keras_3(make_metric))


if __name__ == "__main__":
  absltest.main()

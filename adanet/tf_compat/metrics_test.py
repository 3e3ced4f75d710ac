# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of metrics in a graph, on every version of TensorFlow."""

from absl.testing import absltest
from adanet import tf_compat


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
      metric.update_state(tf.constant([2., 4.]))
      self.assertEqual(3., self._values(metric, num_updates=2))
      for collection in (tf.local_variables(), tf.get_collection(
          tf.GraphKeys.METRIC_VARIABLES)):
        self.assertCountEqual([v.name for v in metric.variables],
                              [v.name for v in collection])

  def test_every_update_of_a_keras_metric_runs(self):
    tf = tf_compat.v1
    with tf.Graph().as_default():
      metric = tf_compat.keras.metrics.Mean()
      metric.update_state(tf.constant(2.))
      metric.update_state(tf.constant(8.))
      self.assertEqual(5., self._values(metric, num_updates=1))

  def test_same_metric_twice_adds_its_variables_once(self):
    tf = tf_compat.v1
    with tf.Graph().as_default():
      metric = tf_compat.keras.metrics.Mean()
      metric.update_state(tf.constant(2.))
      tf_compat.metric_op(metric)
      tf_compat.metric_op(metric)
      self.assertLen(tf.local_variables(), 2)

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


if __name__ == "__main__":
  absltest.main()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of runs of metrics over an input."""

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.core import batches


class BatchesTest(parameterized.TestCase):

  @parameterized.parameters((None, 4), (3, 3), (4, 4), (9, 4))
  def test_steps(self, steps, expected):
    tf = tf_compat.v1
    with tf.Graph().as_default(), tf.Session() as session:
      batch = tf.data.make_one_shot_iterator(tf.data.Dataset.range(4))
      self.assertEqual(
          expected, batches.run(session, batch.get_next(), steps, "Test"))

  def test_log_says_how_far_it_is(self):
    tf = tf_compat.v1
    with tf.Graph().as_default(), tf.Session() as session, \
         self.assertLogs(level="INFO") as logs:
      batches.run(session, tf.constant(0), 40, "Test")
    self.assertEqual(
        [f"Test: {4 * i} of 40 batches." for i in range(1, 11)],
        [record.getMessage() for record in logs.records])

  @parameterized.parameters(0, -1)
  def test_check_steps(self, steps):
    with self.assertRaisesRegex(
        ValueError, f"^steps={steps}: expected a positive"):
      batches.check_steps(steps)


if __name__ == "__main__":
  absltest.main()

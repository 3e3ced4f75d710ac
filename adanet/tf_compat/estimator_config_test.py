# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the RunConfig for `tf.estimator`."""

from absl.testing import absltest
from adanet import tf_compat
from adanet.tf_compat import estimator_config


class EstimatorRunConfigTest(absltest.TestCase):

  def test_values(self):
    config = tf_compat.RunConfig(
        model_dir="/tmp/model", tf_random_seed=7, save_checkpoints_steps=3,
        keep_checkpoint_max=2)
    made = estimator_config.estimator_run_config(config)
    self.assertEqual(("/tmp/model", 7, 3, None, 2),
                     (made.model_dir, made.tf_random_seed,
                      made.save_checkpoints_steps, made.save_checkpoints_secs,
                      made.keep_checkpoint_max))

  def test_type(self):
    config = tf_compat.RunConfig()
    made = estimator_config.estimator_run_config(config)
    estimator = getattr(tf_compat.v1, "estimator", None)
    if estimator is None:
      self.assertIs(config, made)
    else:
      self.assertIsInstance(made, estimator.RunConfig)
    self.assertIs(made, estimator_config.estimator_run_config(made))


if __name__ == "__main__":
  absltest.main()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Stops, kills and starts again a search on a pool of processes."""

import os
import signal

from absl import logging
from absl.testing import absltest
from adanet import tf_compat
from adanet.history import store
from adanet.testing import builders
from adanet.testing import engines
from adanet.testing import parts
from adanet.testing import processes
from adanet.testing import searches


def _estimator(model_dir, step_secs):
  """Returns an estimator whose every third step is saved."""
  return searches.estimator(
      model_dir, *[builders.Slow(name, secs)
                   for name, secs in zip("ab", step_secs)],
      max_iteration_steps=12, max_iterations=1, config=tf_compat.RunConfig(
          tf_random_seed=1, save_checkpoints_steps=3))


def _train_on_pool(unused_connection, model_dir, step_secs):
  """A user's program."""
  logging.use_absl_handler()
  logging.set_verbosity(logging.INFO)
  with engines.process_pool(1) as pool:
    _estimator(model_dir, step_secs).train(builders.input_fn(), executor=pool)


class DriverFaultsTest(absltest.TestCase):

  def test_driver_is_stopped_and_killed_and_started_again(self):
    model_dir = self.create_tempdir().full_path
    stopped = processes.Process(_train_on_pool, model_dir, (.2, .2))
    parts.wait_until_trained(model_dir, 0, "a", 3)
    stopped.signal(signal.SIGINT)
    self.assertEqual(130, stopped.wait_until_ended())
    killed = processes.Process(_train_on_pool, model_dir, (.2, 1.))
    parts.wait_until_trained(model_dir, 0, "b", 3)
    killed.kill()
    last = processes.Process(_train_on_pool, model_dir, (.2, 0.))
    self.assertEqual(0, last.wait_until_ended())
    self.assertFalse(os.path.exists(os.path.join(model_dir, "parts")))
    trained = {}
    for task in store.report(model_dir).tasks:
      for name, steps in task.trained.items():
        trained[name] = trained.get(name, 0) + steps
    # What was done is not done again. What came after a last checkpoint is.
    self.assertLessEqual(trained["t0_a"], 12 + 3)


if __name__ == "__main__":
  absltest.main()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of a search on a Dask cluster whose workers come and go."""

import os
import signal
import threading

from absl.testing import absltest
from adanet import tf_compat
from adanet.testing import builders
from adanet.testing import engines
from adanet.testing import parts
from adanet.testing import processes
from adanet.testing import searches
from adanet.testing import variables


# What goes on from a checkpoint has the same figures only if it goes on in its
# input, too.
_INPUT = builders.input_fn(batch_size=5)


def _estimator(model_dir, step_secs):
  """Returns an estimator whose every third step is saved."""
  return searches.estimator(
      model_dir, *[builders.Slow(name, step_secs, width=2 + i)
                   for i, name in enumerate("abc")],
      max_iteration_steps=12, config=tf_compat.RunConfig(
          tf_random_seed=1, save_checkpoints_steps=3))


def _train(connection, model_dir, undisturbed):
  """A user's program, whose cluster changes when it is told so."""
  engines.require_dask()
  with engines.dask_client(2) as client:

    def change():
      while True:
        change_cluster = connection.recv()
        change_cluster(client)

    threading.Thread(target=change, daemon=True).start()
    for folder, step_secs in (model_dir, .1), (undisturbed, 0.):
      _estimator(folder, step_secs).train(
          _INPUT, executor=client.get_executor(pure=False))


def _kill_a_worker(client):
  os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)


def _replace_workers(client):
  client.cluster.scale(3)
  client.cluster.scale(1)


class DriverOnDaskTest(absltest.TestCase):

  def test_workers_of_dask_come_and_go(self):
    engines.require_dask()
    model_dir, undisturbed = (self.create_tempdir().full_path for _ in "ab")
    program = processes.Process(_train, model_dir, undisturbed)
    parts.wait_until_trained(model_dir, 0, "a", 3)
    program.send(_kill_a_worker)
    parts.wait_until_trained(model_dir, 1, "a", 3)
    program.send(_replace_workers)
    self.assertEqual(0, program.wait_until_ended())
    self.assertFalse(os.path.exists(os.path.join(model_dir, "parts")))
    variables.assert_equal(
        variables.latest(undisturbed), variables.latest(model_dir))


if __name__ == "__main__":
  absltest.main()

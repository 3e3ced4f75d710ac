# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Kills, stops and starts again searches on executors, in real processes."""

import glob
import os
import signal
import threading

from absl import logging
from absl.testing import absltest
from adanet import tf_compat
from adanet.history import store
from adanet.testing import builders
from adanet.testing import engines
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


def _train_on_pool(unused_connection, model_dir, step_secs):
  """A user's program."""
  logging.use_absl_handler()
  logging.set_verbosity(logging.INFO)
  with engines.process_pool(2) as pool:
    _estimator(model_dir, step_secs).train(_INPUT, executor=pool)


def _train_on_dask(connection, model_dir, undisturbed):
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


class DriverFaultsTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self._model_dir = self.create_tempdir().full_path

  def _wait_until_trained(self, number, name, step):
    """Waits until a part has a checkpoint of a step, or of one after it."""
    folder = os.path.join(self._model_dir, "parts", str(number), name)

    def is_saved():
      return any(
          file.endswith(".index") and int(file.split("-")[1].split(".")[0]) >=
          step for _, _, files in os.walk(folder) for file in files
          if file.startswith("model.ckpt-"))

    processes.wait_until(is_saved, f"step {step} of {name} in {number}")

  def _results(self):
    """Returns when each result of iteration 0 was written, by its path."""
    return {path: os.stat(path).st_mtime_ns for path in glob.glob(
        os.path.join(self._model_dir, "parts", "0", "*", "result"))}

  def test_driver_is_stopped_and_killed_and_started_again(self):
    stopped = processes.Process(_train_on_pool, self._model_dir, .2)
    self._wait_until_trained(0, "a", 3)
    stopped.signal(signal.SIGINT)
    self.assertEqual(130, stopped.wait_until_ended())
    done = {}
    for name, step in ("a", 9), ("c", 3), ("c", 6), ("c", 9):
      killed = processes.Process(_train_on_pool, self._model_dir, .2)
      self._wait_until_trained(0, name, step)
      killed.kill()
      results = self._results()
      # What was done is not done again, nor removed.
      self.assertEqual(done, {path: results.get(path) for path in done})
      done = results
    self.assertLen(done, 2)
    last = processes.Process(_train_on_pool, self._model_dir, 0.)
    self.assertEqual(0, last.wait_until_ended())
    self.assertFalse(os.path.exists(os.path.join(self._model_dir, "parts")))
    trained = {}
    for task in store.report(self._model_dir).tasks:
      if task.iteration == 0:
        for name, steps in task.trained.items():
          trained[name] = trained.get(name, 0) + steps
    # What came after a last checkpoint is trained again; the killed run wrote
    # no record of its last steps.
    self.assertLessEqual(trained["t0_a"], 12 + 3)

  def test_workers_of_dask_come_and_go(self):
    engines.require_dask()
    undisturbed = self.create_tempdir().full_path
    program = processes.Process(_train_on_dask, self._model_dir, undisturbed)
    self._wait_until_trained(0, "a", 3)
    program.send(_kill_a_worker)
    self._wait_until_trained(1, "a", 3)
    program.send(_replace_workers)
    self.assertEqual(0, program.wait_until_ended())
    self.assertFalse(os.path.exists(os.path.join(self._model_dir, "parts")))
    variables.assert_equal(
        variables.latest(undisturbed), variables.latest(self._model_dir))


if __name__ == "__main__":
  absltest.main()

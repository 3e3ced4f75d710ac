# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Breaks and stops searches on executors."""

import functools
import os
import signal
import sys
import tempfile
import threading
import time
import typing
from concurrent import futures
from unittest import mock

from absl import logging
from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.history import store
from adanet.roles import execution
from adanet.roles import part
from adanet.testing import builders
from adanet.testing import engines
from adanet.testing import processes
from adanet.testing import searches
import numpy as np


def _estimator(model_dir, step_secs=0., steps=4, names="abc", **arguments):
  """Returns an estimator whose every third step is saved."""
  return searches.estimator(
      model_dir, *[builders.Slow(name, step_secs, width=2 + i)
                   for i, name in enumerate(names)],
      max_iteration_steps=steps, config=tf_compat.RunConfig(
          tf_random_seed=1, save_checkpoints_steps=3), **arguments)


def _variables(model_dir):
  """Returns the values of all variables of the last checkpoint, by name."""
  reader = tf_compat.v1.train.NewCheckpointReader(
      tf_compat.v1.train.latest_checkpoint(model_dir))
  return {name: reader.get_tensor(name)
          for name in reader.get_variable_to_shape_map()}


def _winners(model_dir):
  return [record.winner for record in store.report(model_dir).iterations]


class _Here(futures.Executor):
  """Trains each part at once, in this process.

  Attributes:
    trained: list of the names of the builders of each part that it got.
  """

  def __init__(self, change: typing.Callable[[part.Task], part.Task] =
               lambda task: task):
    self.trained: typing.List[str] = []
    self._change = change

  def submit(self, fn, task):
    self.trained.append("".join(task.part))
    future: futures.Future = futures.Future()
    try:
      future.set_result(fn(self._change(task)))
    except Exception as error:  # pylint: disable=broad-except
      future.set_exception(error)
    return future


class _Twice(futures.ThreadPoolExecutor):
  """Trains each part twice at once, as an engine that thinks it lost one."""

  def submit(self, fn, task):
    super().submit(fn, task)
    return super().submit(fn, task)


def _losing(error, times):
  """Returns an executor that loses its first tasks."""
  left = [times]

  def change(task):
    left[0] -= 1
    if left[0] >= 0:
      raise error
    return task

  return _Here(change)


class DriverTest(parameterized.TestCase):

  def _train(self, executor=None, model_dir=None, **arguments):
    """Trains a search, and returns its model_dir."""
    model_dir = model_dir or tempfile.mkdtemp(
        dir=absltest.get_default_test_tmpdir())
    _estimator(model_dir, **arguments).train(
        builders.input_fn(), executor=executor)
    self.assertFalse(os.path.exists(os.path.join(model_dir, "parts")))
    return model_dir

  def _assert_same(self, expected, actual):
    expected, actual = _variables(expected), _variables(actual)
    self.assertEqual(sorted(expected), sorted(actual))
    for name, value in expected.items():
      np.testing.assert_array_equal(value, actual[name], name)

  def test_part_that_runs_twice_does_no_harm(self):
    with _Twice(6) as executor:
      model_dir = self._train(executor)
    self.assertFalse(os.path.exists(os.path.join(model_dir, "parts")))
    self._assert_same(self._train(), model_dir)

  @parameterized.parameters(
      RuntimeError("KilledWorker"), futures.CancelledError(),)
  def test_lost_parts_are_trained_again(self, error):
    executor = _losing(error, 2)
    self._assert_same(self._train(), self._train(executor))
    self.assertLen(executor.trained, 8)

  def test_part_that_is_lost_again_and_again(self):
    with self.assertRaisesRegex(
        execution.ExecutorError,
        "iteration 0: the executor lost the part '.' 5 times .RuntimeError: "
        "KilledWorker.*call train again"):
      self._train(_losing(RuntimeError("KilledWorker"), 99))

  def test_broken_executor(self):
    model_dir = self.create_tempdir().full_path
    broken = _Here()
    broken.submit = mock.Mock(side_effect=[
        _Here().submit, futures.BrokenExecutor("a worker died")])
    submit = _Here().submit
    broken.submit = mock.Mock(side_effect=lambda fn, task: (
        submit(fn, task) if task.part == ("a",) else
        (_ for _ in ()).throw(futures.BrokenExecutor("a worker died"))))
    with self.assertRaisesRegex(
        execution.ExecutorError, "the executor takes no more work "
        ".BrokenExecutor: a worker died.*with a new one"):
      self._train(broken, model_dir)
    new = _Here()
    self._assert_same(self._train(), self._train(new, model_dir))
    self.assertEqual(["b", "c", "a", "b", "c"], new.trained)

  def test_worker_that_sees_another_disk(self):
    elsewhere = self.create_tempdir().full_path
    executor = _Here(lambda task: task._replace(model_dir=elsewhere))
    with mock.patch.object(part, "SEEN_SECS", .1):
      with self.assertRaisesRegex(
          execution.PartError, "the part 'a' failed on .*a folder that all "
          "workers of the executor see"):
        self._train(executor)

  def test_error_in_a_part(self):
    bad = builders.Dense("bad", logits="no tensor")
    estimator = searches.estimator(
        self.create_tempdir().full_path, builders.Dense("a"), bad)
    with self.assertRaisesRegex(
        execution.PartError, "(?s)the part 'bad' failed on .*ValueError.*"
        "Traceback.*build_subnetwork"):
      estimator.train(builders.input_fn(), executor=_Here())


def _program(model_dir, step_secs):
  """A user's program."""
  logging.use_absl_handler()
  logging.set_verbosity(logging.INFO)
  with engines.process_pool(2) as pool:
    _estimator(model_dir, step_secs, steps=12).train(
        builders.input_fn(), executor=pool)


def _program_process(unused_connection, *args):
  _program(*args)


class FaultsTest(absltest.TestCase):
  """With real processes."""

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

  def test_driver_is_stopped_and_killed_and_started_again(self):
    stopped = processes.Process(_program_process, self._model_dir, .2)
    self._wait_until_trained(0, "a", 3)
    stopped.signal(signal.SIGINT)
    self.assertEqual(130, stopped.wait_until_ended())
    killed = processes.Process(_program_process, self._model_dir, .2)
    self._wait_until_trained(0, "c", 9)
    killed.kill()
    last = processes.Process(_program_process, self._model_dir, 0.)
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

  def test_dask_loses_and_gets_workers(self):
    undisturbed = self.create_tempdir().full_path
    with engines.dask_client(2) as client:
      executor = client.get_executor(pure=False)

      def disturb():
        self._wait_until_trained(0, "a", 3)
        pid = next(iter(client.run(os.getpid).values()))
        os.kill(pid, signal.SIGKILL)
        self._wait_until_trained(1, "a", 3)
        client.cluster.scale(3)
        client.cluster.scale(1)

      thread = threading.Thread(target=disturb, daemon=True)
      thread.start()
      _estimator(self._model_dir, .1, steps=12).train(
          builders.input_fn(), executor=executor)
      thread.join(10)
      _estimator(undisturbed, 0., steps=12).train(
          builders.input_fn(), executor=executor)
    self.assertFalse(os.path.exists(os.path.join(self._model_dir, "parts")))
    self.assertEqual(_winners(undisturbed), _winners(self._model_dir))


if __name__ == "__main__":
  absltest.main()

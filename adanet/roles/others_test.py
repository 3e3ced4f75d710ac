# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the wait for what other tasks train, with the tasks faked."""

import types
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import distributed
from adanet import waiting
from adanet.cluster import task as task_lib
from adanet.core import model_dir as model_dir_lib
from adanet.distributed import layout
from adanet.roles import others
from adanet.training import model as model_lib

_GENERATION = 3
# Of two subnetworks, worker:0 trains the one, worker:1 the other, and worker:3
# both.
_WORKERS = ["chief:0"] + [f"worker:{i}" for i in range(4)]


class OthersTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._now = 1000.
    patch = mock.patch.object(
        others, "time", mock.Mock(monotonic=lambda: self._now))
    patch.start()
    self.addCleanup(patch.stop)
    self._model_dir = model_dir_lib.ModelDir(self.create_tempdir().full_path)
    self._task = mock.create_autospec(task_lib.Task, instance=True)
    self._task.worker_names = _WORKERS
    self._task.address = "{}'s address".format
    self._task.silent.return_value = []
    self._task.is_new.return_value = False
    self._task.departures = mock.Mock()
    self._task.departures.left.return_value = []
    self._task.wait = lambda advice: waiting.Wait(
        10., advice, clock=lambda: self._now, sleep=self._sleep)

  def _sleep(self, secs):
    self._now += secs

  def _others(self, name="chief:0"):
    """Returns those of a task without a subnetwork of its own."""
    self._task.name = name
    return others.Others(
        model_lib.Model(
            None, self._model_dir, types.SimpleNamespace(
                num_worker_replicas=len(_WORKERS), num_ps_replicas=1),
            distributed.RoundRobinStrategy(), None),
        self._task, types.SimpleNamespace(
            number=0, builder_names=("a", "b"), candidates=["an ensemble"],
            share=layout.Share(True, range(2), False)),
        _GENERATION, is_chief=name == "chief:0")

  def _wait(self, waiting_one, unfinished, secs=2.):
    """Waits for so long; returns what nobody trains further."""
    end = self._now + secs
    stopped = {}
    while self._now < end:
      stopped.update(waiting_one.wait_for(unfinished))
    return stopped

  @parameterized.parameters(
      ([], {}), (["worker:0"], {}), (["chief:0", "worker:0", "worker:1"], {}),
      (["worker:0", "worker:3"], {"t0_a": "the input of its workers ended"}))
  def test_the_input_of_workers_ends(self, left, expected):
    self._task.departures.left.return_value = left
    self.assertEqual(expected, self._wait(self._others(), {"t0_a": 2}))
    self._task.departures.left.assert_called_with(_GENERATION)

  @parameterized.parameters((2, {}), (3, {"t0_b": "Its loss is NaN."}))
  def test_one_that_has_stopped(self, step, expected):
    self._model_dir.mark_stopped(0, "t0_b", "Its loss is NaN.", 3)
    self._model_dir.mark_stopped(0, "t0_a", "It is done.", 3)
    self.assertEqual(expected, self._wait(self._others(), {"t0_b": step}))

  def test_files_are_read_once_a_second(self):
    self._wait(self._others(), {"t0_a": 2}, 5.)
    self.assertBetween(self._task.departures.left.call_count, 4, 6)

  def test_another_generation(self):
    self._task.is_new.return_value = True
    self._wait(self._others(), {"t0_a": 2})  # It is the chief who makes one.
    with self.assertRaises(others.Moved):
      self._others("worker:1").wait_for({"t0_a": 2})
    self._task.is_new.assert_called_once_with(_GENERATION)

  def test_no_end_while_others_train(self):
    waiting_one = self._others()
    for step in range(10):
      self._wait(waiting_one, {"t0_a": step}, 5.)

  @parameterized.parameters(
      (["worker:3"], "for worker:3 (worker:3's address), which does not "
       "answer, to train t0_a (at step 2), t0_b (at step 5), which nobody "
       "trains now: start these workers"),
      ([], "for worker:0 (worker:0's address), worker:1 (worker:1's address), "
       "worker:3 (worker:3's address) to train t0_a (at step 2), t0_b (at "))
  def test_says_for_whom_it_waited(self, silent, message):
    self._task.silent.return_value = silent
    with self.assertRaises(waiting.WaitTimeoutError) as raised:
      self._wait(self._others(), {"t0_a": 2, "t0_b": 5}, 100.)
    self.assertIn(message, str(raised.exception))
    self.assertBetween(self._now, 1010., 1010.1)
    self._task.silent.assert_called_with(
        ["worker:0", "worker:1", "worker:3"])


if __name__ == "__main__":
  absltest.main()

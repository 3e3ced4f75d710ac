# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the wait for what other tasks train, with the tasks faked."""

import types
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import distributed
from adanet import waiting
from adanet.core import model_dir as model_dir_lib
from adanet.distributed import placement
from adanet.engines.cluster import chief_client
from adanet.engines.cluster import connection
from adanet.engines.cluster import peers
from adanet.training import loop
from adanet.training import model as model_lib

_GENERATION = 3
_INPUT, _HOOK = loop.Ending.INPUT_ENDED, loop.Ending.STOP_ASKED
_INPUT_REASON = "the input of its workers ended"
# Of two subnetworks, worker:0 trains the one, worker:1 the other, and worker:3
# both.
_WORKERS = ["chief:0"] + [f"worker:{i}" for i in range(4)]


class PeersTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._now = 1000.
    patch = mock.patch.object(
        peers, "time", mock.Mock(monotonic=lambda: self._now))
    patch.start()
    self.addCleanup(patch.stop)
    self._model_dir = model_dir_lib.ModelDir(self.create_tempdir().full_path)
    self._connection = mock.create_autospec(
        connection.Connection, instance=True)
    self._connection.address = "{}'s address".format
    self._connection.unreachable.return_value = []
    self._connection.stopped_workers = mock.Mock()
    self._connection.stopped_workers.endings.return_value = {}
    self._connection.wait = lambda advice: waiting.Wait(
        10., advice, clock=lambda: self._now, sleep=self._sleep)

  def _sleep(self, secs):
    self._now += secs

  def _others(self, name="chief:0", raise_if_changed=None,
              workers=tuple(_WORKERS), candidates=("an ensemble",),
              strategy=distributed.RoundRobinStrategy(),
              share=placement.Share(True, range(2), False)):
    """Returns those of a task, without a subnetwork of its own by default."""
    self._connection.name = name
    self._connection.worker_names = workers
    return peers.Peers(
        model_lib.Model(
            None, self._model_dir, types.SimpleNamespace(
                num_worker_replicas=len(workers), num_ps_replicas=1),
            strategy),
        self._connection, types.SimpleNamespace(
            number=0, builder_names=("a", "b"), candidates=candidates,
            share=share),
        _GENERATION, raise_if_changed)

  def _wait(self, waiting_one, unfinished, secs=2.):
    """Waits for so long; returns what nobody trains further."""
    end = self._now + secs
    stopped = {}
    while self._now < end:
      stopped.update(waiting_one.wait_until_trained(unfinished))
    return stopped

  @parameterized.parameters(
      ({}, {}), ({"worker:0": _INPUT}, {}), ({"worker:0": _HOOK}, {}),
      ({"chief:0": _INPUT, "worker:0": _INPUT, "worker:1": _HOOK}, {}),
      ({"worker:0": _INPUT, "worker:3": _INPUT}, {"t0_a": _INPUT_REASON}),
      ({"worker:0": _INPUT, "worker:3": _HOOK},
       {"t0_a": _INPUT_REASON, None: "a hook of worker:3 asked for it"}))
  def test_workers_train_no_further(self, endings, expected):
    self._connection.stopped_workers.endings.return_value = endings
    self.assertEqual(expected, self._wait(self._others(), {"t0_a": 2}))
    self._connection.stopped_workers.endings.assert_called_with(_GENERATION)

  def test_hook_that_stopped_a_worker_when_its_network_was_done(self):
    self._connection.stopped_workers.endings.return_value = {
        "worker:0": _HOOK, "worker:3": _HOOK}
    self._model_dir.mark_stopped(0, "t0_a", "It is done.", 2)
    self.assertEqual({"t0_a": "It is done."},
                     self._wait(self._others(), {"t0_a": 2}))

  @parameterized.parameters((2, {}), (3, {"t0_b": "Its loss is NaN."}))
  def test_one_that_has_stopped(self, step, expected):
    self._model_dir.mark_stopped(0, "t0_b", "Its loss is NaN.", 3)
    self._model_dir.mark_stopped(0, "t0_a", "It is done.", 3)
    self.assertEqual(expected, self._wait(self._others(), {"t0_b": step}))

  @parameterized.parameters(
      (5, ["an ensemble"], True), (3, ["an ensemble"], False), (5, [], False))
  def test_share_ensembles(self, num_workers, candidates, expected):
    found = self._others(workers=_WORKERS[:num_workers], candidates=candidates)
    self.assertEqual(expected, found.share_ensembles)

  @parameterized.parameters(1, 2, 5)
  def test_others_train_all_that_it_trains(self, num_workers):
    found = self._others(
        workers=_WORKERS[:num_workers], share=placement.Share(
            True, range(2), True), strategy=distributed.ReplicationStrategy())
    self.assertEqual(
        ("t0_a", "t0_b") if num_workers > 1 else (), found.also_trained)
    self.assertFalse(found.share_ensembles)
    self.assertEmpty(found.untrained)

  def test_others_train_in_turns_or_something_else(self):
    self.assertEmpty(self._others().also_trained)

  def test_files_are_read_once_a_second(self):
    self._wait(self._others(), {"t0_a": 2}, 5.)
    self.assertBetween(
        self._connection.stopped_workers.endings.call_count, 4, 6)

  def test_another_generation(self):
    with self.assertRaises(chief_client.GenerationChanged):
      self._others("worker:1", mock.Mock(
          side_effect=chief_client.GenerationChanged())).wait_until_trained(
              {"t0_a": 2})

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
    self._connection.unreachable.return_value = silent
    with self.assertRaises(waiting.WaitTimeoutError) as raised:
      self._wait(self._others(), {"t0_a": 2, "t0_b": 5}, 100.)
    self.assertIn(message, str(raised.exception))
    self.assertBetween(self._now, 1010., 1010.1)
    self._connection.unreachable.assert_called_with(
        ["worker:0", "worker:1", "worker:3"])


if __name__ == "__main__":
  absltest.main()

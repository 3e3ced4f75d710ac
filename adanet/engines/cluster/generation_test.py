# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what a task does after an error of its session, and while it waits.

The other tasks are faked.
"""

import contextlib
import types
from unittest import mock

from absl import logging
from absl.testing import absltest
from absl.testing import parameterized
from adanet import distributed
from adanet import tf_compat
from adanet import waiting
from adanet.core import fingerprint
from adanet.core import model_dir as model_dir_lib
from adanet.distributed import placement
from adanet.engines.cluster import chief_client
from adanet.engines.cluster import connection
from adanet.engines.cluster import generation as generation_lib
from adanet.engines.cluster import jobs
from adanet.testing import searches
from adanet.tf_compat import files
from adanet.training import ending as ending_lib
from adanet.training import setup as setup_lib

_errors = tf_compat.v1.errors
_LOST = _errors.UnavailableError(None, None, "refused")
_ANNOUNCED = jobs.JobState(
    "job", 7, 2, ("a", "b"), 3, 2, "RoundRobinStrategy()", 100, written=5.)
_GENERATION = 3
_INPUT, _HOOK = ending_lib.Ending.INPUT_ENDED, ending_lib.Ending.STOP_ASKED
# Of two subnetworks, worker:0 trains the one, worker:1 the other, and worker:3
# both.
_WORKERS = ["chief:0"] + [f"worker:{i}" for i in range(4)]


class DecisionsTest(parameterized.TestCase):

  @parameterized.parameters(
      ("AbortedError", 1, True), ("UnavailableError", 3, True),
      ("DeadlineExceededError", 1, True), ("FailedPreconditionError", 1, True),
      ("NotFoundError", 1, True), ("UnavailableError", 4, False),
      ("InvalidArgumentError", 1, False), ("ResourceExhaustedError", 1, False))
  def test_may_reconnect(self, name, num_failures, expected):
    error = getattr(tf_compat.v1.errors, name)(None, None, "message")
    self.assertEqual(
        expected, generation_lib.may_reconnect(error, num_failures))

  def test_pauses_outlast_the_backoff_of_grpc(self):
    pauses = [generation_lib.pause_secs(num_failures)
              for num_failures in range(1, generation_lib.MAX_FAILURES + 1)]
    self.assertEqual(0., pauses[0])
    self.assertSequenceEqual(sorted(set(pauses)), pauses)
    self.assertBetween(sum(pauses), 5., 10.)

  @parameterized.parameters(
      ([7, 7], False), ([], False), ([7, 0], True), ([7, 6], True),
      ([None, 0], True), ([7, None], False))
  def test_have_lost(self, ready, expected):
    self.assertEqual(expected, generation_lib.have_lost(ready, 7))

  def test_goes_on_after_a_restart(self):
    now = _ANNOUNCED._replace(written=99., reason="")
    self.assertTrue(generation_lib.may_take_over(_ANNOUNCED, now))

  @parameterized.parameters(
      dict(job="other"), dict(iteration=3), dict(builders=("a",)),
      dict(num_workers=4), dict(num_ps=1), dict(max_steps=None),
      dict(strategy="ReplicationStrategy()"),
      dict(measured=jobs.Measurements((1, 2))))
  def test_restores_where_something_else_is_trained(self, **changed):
    self.assertFalse(generation_lib.may_take_over(
        _ANNOUNCED, _ANNOUNCED._replace(**changed)))

  def test_restores_after_a_stop(self):
    stopped = _ANNOUNCED._replace(state=jobs.State.STOPPED)
    for now in _ANNOUNCED, stopped:
      self.assertFalse(generation_lib.may_take_over(stopped, now))


class GenerationTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._now = 100.
    self.enter_context(mock.patch.object(
        generation_lib, "time", mock.Mock(
            monotonic=lambda: self._now, sleep=self._sleep)))
    self._stops = mock.Mock(asked=None)
    self._stops.raise_asked.side_effect = KeyboardInterrupt
    self._steps, self._global_step = 0, 9
    self._generation = generation_lib.Generation(
        mock.Mock(), mock.Mock(stops=self._stops), mock.Mock(), 0, 1)

  @parameterized.parameters(
      (dict(search={"max_iteration_steps": "20"}),
       "^iteration 0: max_iteration_steps: 20 on the chief, 10 on worker:1. "
       "Start all tasks again, with the same program.*$"),
      (dict(builders=("b",)), "^iteration 0: builders: b on the chief, a on "
       "worker:1.*subnetwork_generator must make the same builders"),
      ({}, None), (dict(search={}), None), (dict(search={"later": "1"}), None))
  def test_check_search(self, changes, message):
    setup = mock.Mock(search=searches.make([], 10))
    generation = generation_lib.Generation(
        setup, mock.Mock(), mock.Mock(), 0, 1)
    generation._connection.name = "worker:1"
    state = jobs.JobState(
        "job", 1, 0, ("a",), 2, 1, "", None,
        search=fingerprint.of(setup.search).arguments)._replace(**changes)
    with contextlib.nullcontext() if message is None else (
        self.assertRaisesRegex(ValueError, message)):
      generation.check_search(
          state, types.SimpleNamespace(number=0, builder_names=("a",)))

  @parameterized.parameters(
      ({"t0_a": {"Relu": 1}}, []), ({}, []),
      ({"t0_a": {"Tanh": 1}},
       ["Iteration 0: graph of t0_a: 1 Tanh on the chief, 1 Relu on worker:1. "
        "Start all tasks again, with the same program. "]))
  def test_warn_of_graphs(self, graphs, expected):
    setup = mock.Mock(search=searches.make([], 10))
    setup.model_dir.path = self.create_tempdir().full_path
    generation = generation_lib.Generation(
        setup, mock.Mock(), mock.Mock(), 0, 1)
    generation._connection.name = "worker:1"

    def warn():
      with self.assertLogs(level="WARNING") as logs:
        logging.warning("assertLogs wants one.")
        generation.warn_of_graphs(types.SimpleNamespace(
            number=0, builder_names=("a",), graphs={"t0_a": {"Relu": 1}}))
      return [line.split(":", 2)[2].partition("Networks")[0]
              for line in logs.output[1:]]

    self.assertEmpty(warn())  # The chief has written no fingerprint.
    fingerprint.write(setup.model_dir.path, fingerprint.of(
        setup.search)._replace(graphs=graphs))
    self.assertEqual(expected, warn())
    with mock.patch.object(files, "read_text", side_effect=_LOST):
      line, = warn()
    self.assertStartsWith(
        line, "Iteration 0: networks are not compared with the chief's: ")

  def _sleep(self, secs):
    self._now += secs

  def _fail(self, error=_LOST, trains=True):
    """Lets a session fail; returns for how long the task pauses, in s."""
    began = self._now
    self._generation.raise_if_final(error, types.SimpleNamespace(
        loop=types.SimpleNamespace(
            trained={"a": self._steps} if trains else {},
            global_step=self._global_step)))
    return self._now - began

  def test_waits_longer_each_time_and_then_raises(self):
    other = _errors.UnknownError(None, None, "of another kind")
    for num_failures in range(1, generation_lib.MAX_FAILURES + 1):
      self.assertAlmostEqual(
          generation_lib.pause_secs(num_failures),
          self._fail(other if num_failures % 2 else _LOST), delta=.2)
    with self.assertRaises(_errors.UnavailableError):
      self._fail()

  def test_steps_begin_the_count_again(self):
    for steps in range(1, 9):
      self._steps += steps
      self.assertEqual(0., self._fail())

  @parameterized.parameters(
      (_LOST, _errors.UnavailableError),
      (_errors.UnknownError(None, None, "KeyError: 7"), _errors.UnknownError),
      (_errors.DeadlineExceededError(None, None, "of a checkpoint"),
       generation_lib.StepTimeoutError))
  def test_the_same_error_after_as_many_steps_is_none_of_a_server(
      self, error, raised):
    for _ in range(generation_lib.MAX_FAILURES):
      self._steps += 5  # Batches before the one that is wrong.
      self._fail(error)
    self._steps += 5
    with self.assertRaises(raised):
      self._fail(error)

  @parameterized.parameters(
      (_errors.UnknownError(None, None, "KeyError: 7\nTraceback"),
       "(UnknownError: KeyError: 7)."),
      # As TensorFlow says that a parameter server is lost.
      (_errors.UnavailableError(
          None, None, "\n=====================\nSocket closed\n=====\n"),
       "(UnavailableError: Socket closed)."))
  def test_says_what_the_error_was(self, error, said):
    with self.assertLogs(level="WARNING") as logs:
      self._fail(error)
    self.assertEndsWith(
        logs.output[0], "a parameter server may be lost at step 9 " + said)

  def test_steps_of_others_count_only_where_it_trains_nothing(self):
    for steps in range(1, 9):
      self._global_step += steps
      self.assertEqual(0., self._fail(trains=False))
    with self.assertRaises(_errors.UnavailableError):
      for steps in range(1, 9):
        self._global_step += steps
        self._fail()

  def test_step_that_takes_too_long(self):
    slow = _errors.DeadlineExceededError(None, None, "slow")
    for _ in range(generation_lib.MAX_FAILURES):
      self._fail(slow)
    with self.assertRaisesRegex(
        generation_lib.StepTimeoutError,
        "iteration 0: step 9 took too long 4 times"):
      self._fail(slow)

  def test_signal_before(self):
    self._stops.asked = 15
    with self.assertRaises(KeyboardInterrupt):
      self._fail()

  def test_signal_meanwhile(self):
    def sleep(secs):
      self._sleep(secs)
      self._stops.asked = 15

    self._fail()
    generation_lib.time.sleep = sleep
    self.assertLess(self._fail(), 1.)


class StoppedWorkersTest(absltest.TestCase):

  def test_those_of_a_generation(self):
    model_dir = self.create_tempdir().full_path
    stopped_workers = generation_lib.StoppedWorkers(model_dir)
    self.assertEmpty(stopped_workers.endings(3))
    stopped_workers.add(3, "worker:10", _HOOK)
    stopped_workers.add(3, "chief:0", _INPUT)
    stopped_workers.add(4, "worker:1", _INPUT)
    other = generation_lib.StoppedWorkers(model_dir)
    self.assertEqual({"chief:0": _INPUT, "worker:10": _HOOK}, other.endings(3))
    other.clear()
    self.assertEmpty(stopped_workers.endings(3))
    other.clear()

  def test_endings_of_a_task_alone(self):
    stopped_workers = generation_lib.StoppedWorkers(
        self.create_tempdir().full_path)
    for ending in ending_lib.Ending:
      stopped_workers.add(3, f"worker:{ending.name}", ending)
    self.assertEqual({_HOOK, _INPUT}, set(stopped_workers.endings(3).values()))


class PeersTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._now = 1000.
    self.enter_context(mock.patch.object(
        generation_lib, "time", mock.Mock(monotonic=lambda: self._now)))
    path = self.create_tempdir().full_path
    self._model_dir = model_dir_lib.ModelDir(path)
    self._stopped_workers = generation_lib.StoppedWorkers(path)
    self._connection = mock.create_autospec(
        connection.Connection, instance=True)
    self._connection.address = "{}'s address".format
    self._connection.unreachable.return_value = []
    self._connection.config = types.SimpleNamespace(model_dir=path)
    self._connection.wait = lambda advice: waiting.Wait(
        10., advice, clock=lambda: self._now, sleep=self._sleep)

  def _sleep(self, secs):
    self._now += secs

  def _stop(self, endings):
    """Lets workers train no further in this generation, and one in another."""
    for task, ending in endings.items():
      self._stopped_workers.add(_GENERATION, task, ending)
    self._stopped_workers.add(_GENERATION - 1, "worker:3", _INPUT)

  def _others(self, name="chief:0", raise_if_changed=None,
              workers=tuple(_WORKERS), candidates=("an ensemble",),
              strategy=distributed.RoundRobinStrategy(),
              share=placement.Share(True, range(2), False)):
    """Returns those of a task, without a subnetwork of its own by default."""
    self._connection.name = name
    self._connection.worker_names = workers
    return generation_lib.Peers(
        setup_lib.SearchSetup(
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
    stopped = set()
    while self._now < end:
      names = waiting_one.wait_until_trained(unfinished)
      if names is None:
        return None
      stopped |= names
    return stopped

  @parameterized.parameters(
      ({}, set()), ({"worker:0": _INPUT}, set()), ({"worker:0": _HOOK}, set()),
      ({"chief:0": _INPUT, "worker:0": _INPUT, "worker:1": _HOOK}, set()),
      ({"worker:0": _INPUT, "worker:3": _INPUT}, {"t0_a"}),
      ({"worker:0": _INPUT, "worker:3": _HOOK}, None))
  def test_workers_train_no_further(self, endings, expected):
    self._stop(endings)
    self.assertEqual(expected, self._wait(self._others(), {"t0_a": 2}))

  def test_hook_that_stopped_a_worker_when_its_network_was_done(self):
    self._stop({"worker:0": _HOOK, "worker:3": _HOOK})
    self._model_dir.mark_stopped(0, "t0_a", "It is done.", 2)
    self.assertEqual({"t0_a"}, self._wait(self._others(), {"t0_a": 2}))

  @parameterized.parameters((2, set()), (3, {"t0_b"}))
  def test_one_that_has_stopped(self, step, expected):
    self._model_dir.mark_stopped(0, "t0_b", "Its loss is NaN.", 3)
    self._model_dir.mark_stopped(0, "t0_a", "It is done.", 3)
    self.assertEqual(expected, self._wait(self._others(), {"t0_b": step}))

  @parameterized.parameters(
      (5, ["an ensemble"], True), (3, ["an ensemble"], False), (5, [], False))
  def test_share_ensembles(self, num_workers, candidates, expected):
    peers = self._others(workers=_WORKERS[:num_workers], candidates=candidates)
    self.assertEqual(expected, peers.share_ensembles)
    self.assertEmpty(peers.also_trained)

  @parameterized.parameters(1, 2, 5)
  def test_others_train_all_that_it_trains(self, num_workers):
    peers = self._others(
        workers=_WORKERS[:num_workers], share=placement.Share(
            True, range(2), True), strategy=distributed.ReplicationStrategy())
    self.assertEqual(
        ("t0_a", "t0_b") if num_workers > 1 else (), peers.also_trained)
    self.assertFalse(peers.share_ensembles)
    self.assertEmpty(peers.untrained)

  def test_files_are_read_once_a_second(self):
    with mock.patch.object(
        generation_lib.StoppedWorkers, "endings", return_value={}) as endings:
      self._wait(self._others(), {"t0_a": 2}, 5.)
    self.assertBetween(endings.call_count, 4, 6)

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

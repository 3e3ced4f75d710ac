# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of polls, and of the waits for a chief, with the time faked."""

import functools
import itertools
import math
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import log
from adanet import tf_compat
from adanet import waiting
from adanet.engines.cluster import announcements
from adanet.engines.cluster import chief_client
from adanet.engines.cluster import connection
from adanet.engines.cluster import jobs

_CHIEF = {"chief:0": "a:1"}


class PollSecsTest(parameterized.TestCase):

  @parameterized.parameters(
      (3, 2), (100, 1), (10000, 10), (10000, 1000), (1, 0))
  def test_a_ps_is_not_asked_more_than_a_thousand_times_a_second(
      self, num_workers, num_ps):
    secs = chief_client.poll_secs(num_workers, num_ps)
    self.assertGreaterEqual(secs, .02)
    rate = num_workers / max(num_ps, 1) / secs
    self.assertLessEqual(rate, 1000.001)
    if secs > .02:  # Nor more seldom than needed.
      self.assertAlmostEqual(1000, rate)


class ChiefWatchTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._now = 0.
    self._looks = 0
    self._silent_secs = math.inf, math.inf  # From, to.
    clock = lambda: self._now
    for what, name, replacement in (
        (chief_client, "time", mock.Mock(monotonic=clock)),
        (chief_client.addresses, "unreachable", self._silent),
        (waiting, "Wait", functools.partial(
            waiting.Wait, clock=clock, sleep=self._sleep))):
      self.enter_context(mock.patch.object(what, name, replacement))

  def _sleep(self, secs):
    self._now += secs

  def _silent(self, addresses):
    self._looks += 1
    first, last = self._silent_secs
    return dict(addresses) if first <= self._now < last else {}

  def _wait(self, secs, timeout_secs):
    """Waits for so long, in pauses of a second."""
    pause = chief_client.ChiefWatch(_CHIEF, timeout_secs).pause("begin")
    while self._now < secs:
      pause(1.)

  @parameterized.parameters(10., 60.)
  def test_no_end_while_the_chief_answers(self, timeout_secs):
    self._wait(1000., timeout_secs)

  def test_looks_now_and_then(self):
    self._wait(1000., 60.)
    self.assertBetween(self._looks, 1000 / 30, 1000 / 10)

  @parameterized.parameters(10., 60.)
  def test_a_silent_chief_ends_the_wait(self, timeout_secs):
    self._silent_secs = 500., math.inf
    with self.assertRaisesRegex(
        waiting.WaitTimeoutError, r"for chief:0 \(a:1\), which does not answer,"
        " to begin: start it, or see what it prints"):
      self._wait(1000., timeout_secs)
    self.assertBetween(self._now, 500. + timeout_secs / 2, 501. + timeout_secs)

  def test_a_chief_that_comes_back(self):
    self._silent_secs = 500., 600.
    with mock.patch.object(log, "log") as write:
      self._wait(1000., 200.)
    levels = [call[0][0] for call in write.call_args_list]
    self.assertEqual(
        [log.INFO, log.WARNING, log.INFO],
        [level for level, _ in itertools.groupby(levels)])


class LookTest(parameterized.TestCase):

  def _look(self, announced, job_state):
    """Returns what a task sees that a board and a file announce."""
    job_state = jobs.JobState("job", 1, 1, ("a",), 1, 1, "s", None)._replace(
        **job_state)
    board = mock.Mock()
    board.read.return_value = (
        None if announced is None else
        announcements.GenerationStatus(announced, 0))
    return chief_client.ChiefClient(connection.Connection(
        tf_compat.RunConfig(model_dir=self.create_tempdir().full_path), 1.,
        {}, None, [board], mock.Mock(read=lambda: job_state),
        jobs.JobWatch(jobs.JobId("job", True)))).look()

  @parameterized.named_parameters(
      ("as_announced", 7, dict(generation=7), 7),
      ("silent", None, dict(generation=7)),
      ("nothing_yet", 0, dict(generation=7)),
      ("late_file", 7, dict(generation=6)),
      # The file is written before the board.
      ("late_board", 7, dict(generation=8)),
      # It was stopped before this task began.
      ("goes_on_later", 7, dict(generation=7, state=jobs.State.STOPPED)))
  def test_what_is_announced(self, announced, job_state, expected=None):
    found = self._look(announced, job_state)
    self.assertEqual(expected, found and found.generation)

  @parameterized.parameters(
      (jobs.State.OVER, jobs.JobFinished),
      (jobs.State.STOPPED, jobs.StoppedError))
  def test_job_has_ended(self, state, error):
    with self.assertRaisesRegex(error, "^the reason$"):
      self._look(7, dict(generation=7, state=state, reason="the reason",
                         written=math.inf))


if __name__ == "__main__":
  absltest.main()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what a task does next."""

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.engines.cluster import decisions
from adanet.engines.cluster import job_state

_AGREED = job_state.JobState(
    "job", 7, 2, ("a", "b"), 3, 2, "RoundRobinStrategy()", 100, written=5.)


class DecisionsTest(parameterized.TestCase):

  @parameterized.parameters(
      ("AbortedError", 1, True), ("UnavailableError", 3, True),
      ("DeadlineExceededError", 1, True), ("FailedPreconditionError", 1, True),
      ("NotFoundError", 1, True), ("UnavailableError", 4, False),
      ("InvalidArgumentError", 1, False), ("ResourceExhaustedError", 1, False))
  def test_may_reconnect(self, name, num_failures, expected):
    error = getattr(tf_compat.v1.errors, name)(None, None, "message")
    self.assertEqual(expected, decisions.may_reconnect(error, num_failures))

  def test_pauses_outlast_the_backoff_of_grpc(self):
    pauses = [decisions.pause_secs(num_failures)
              for num_failures in range(1, decisions.MAX_FAILURES + 1)]
    self.assertEqual(0., pauses[0])
    self.assertSequenceEqual(sorted(set(pauses)), pauses)
    self.assertBetween(sum(pauses), 5., 10.)

  def test_an_error_of_the_user_is_none_of_a_lost_task(self):
    self.assertFalse(decisions.may_reconnect(ValueError("message"), 1))

  @parameterized.parameters(
      ([7, 7], False), ([], False), ([7, 0], True), ([7, 6], True),
      ([None, 0], True), ([7, None], False))
  def test_have_lost(self, ready, expected):
    self.assertEqual(expected, decisions.have_lost(ready, 7))

  def test_goes_on_after_a_restart(self):
    now = _AGREED._replace(written=99., reason="")
    self.assertTrue(decisions.may_take_over(_AGREED, now))

  @parameterized.parameters(
      dict(job="other"), dict(iteration=3), dict(builders=("a",)),
      dict(num_workers=4), dict(num_ps=1), dict(max_steps=None),
      dict(strategy="ReplicationStrategy()"), dict(costs=(1, 2)),
      dict(sizes=(1, 2)))
  def test_restores_where_something_else_is_trained(self, **changed):
    self.assertFalse(
        decisions.may_take_over(_AGREED, _AGREED._replace(**changed)))

  def test_restores_after_a_stop(self):
    stopped = _AGREED._replace(state=job_state.State.STOPPED)
    for now in _AGREED, stopped:
      self.assertFalse(decisions.may_take_over(stopped, now))

  @parameterized.parameters((3, 2), (100, 1), (10000, 10), (10000, 1000), (1, 0))
  def test_a_ps_is_not_asked_more_than_a_thousand_times_a_second(
      self, num_workers, num_ps):
    secs = decisions.poll_secs(num_workers, num_ps)
    self.assertGreaterEqual(secs, .02)
    rate = num_workers / max(num_ps, 1) / secs
    self.assertLessEqual(rate, 1000.001)
    if secs > .02:  # Nor more seldom than needed.
      self.assertAlmostEqual(1000, rate)


if __name__ == "__main__":
  absltest.main()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what a task does after an error of its session."""

import contextlib
import types
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.engines.cluster import decisions
from adanet.engines.cluster import generation as generation_lib
from adanet.engines.cluster import job_state
from adanet.testing import searches

_errors = tf_compat.v1.errors
_LOST = _errors.UnavailableError(None, None, "refused")


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
       "^iteration 0: max_iteration_steps is 10 on worker:1, and 20 on the "
       "chief: start all tasks again, with the same program$"),
      (dict(builders=("b",)), r"subnetwork_generator makes the builders "
       r"\['a'\] on worker:1, and \['b'\] on the chief"),
      ({}, None), (dict(search={}), None), (dict(search={"later": "1"}), None))
  def test_check_search(self, changes, message):
    model = mock.Mock(search=searches.make([], 10))
    generation = generation_lib.Generation(
        model, mock.Mock(), mock.Mock(), 0, 1)
    generation._connection.name = "worker:1"
    state = job_state.JobState(
        "job", 1, 0, ("a",), 2, 1, "", None,
        search=generation_lib.search_of(model))._replace(**changes)
    with contextlib.nullcontext() if message is None else (
        self.assertRaisesRegex(ValueError, message)):
      generation.check_search(
          state, types.SimpleNamespace(number=0, builder_names=("a",)))

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
    for num_failures in range(1, decisions.MAX_FAILURES + 1):
      self.assertAlmostEqual(
          decisions.pause_secs(num_failures), self._fail(), delta=.2)
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
       decisions.StepTimeoutError))
  def test_the_same_error_after_as_many_steps_is_none_of_a_server(
      self, error, raised):
    for _ in range(decisions.MAX_FAILURES):
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

  def test_an_error_of_another_kind_is_raised_at_once(self):
    with self.assertRaises(_errors.InvalidArgumentError):
      self._fail(_errors.InvalidArgumentError(None, None, "wrong"))

  def test_step_that_takes_too_long(self):
    slow = _errors.DeadlineExceededError(None, None, "slow")
    for _ in range(decisions.MAX_FAILURES):
      self._fail(slow)
    with self.assertRaisesRegex(
        decisions.StepTimeoutError, "iteration 0: step 9 took too long 4 times"
    ):
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


if __name__ == "__main__":
  absltest.main()

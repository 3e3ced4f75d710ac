# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of how long training goes on."""

from absl.testing import absltest
from absl.testing import parameterized
from adanet.core import events
from adanet.progress import remaining

_RATE = 10.  # Steps a second. An iteration has 100 steps.


def _began(number, num_iterations=3, last_step=None, max_steps=100):
  return events.IterationBegan(
      number, ("a",), (), max_steps, 100 * number, num_iterations, last_step)


def _progress(number, step, rate=_RATE, left=True):
  return events.Progress(
      number, 100 * number + step, {"a": step}, {}, rate,
      (100 - step) / rate if left and rate else None)


class RemainingTest(parameterized.TestCase):

  def _left(self, *taken):
    """Returns what is left after pairs of a time and an event.

    The last one comes also 2 s earlier.
    """
    estimate = remaining.Remaining()
    now, last = taken[-1]
    for time, event in taken[:-1] + ((now - 2., last), (now, last)):
      estimate.take(event, time)
    return tuple(estimate.left(last, now))

  def test_first_iteration(self):
    # 7 s of 10 s are left, and two iterations of as many.
    self.assertEqual((7., 27.), self._left(
        (0., _began(0)), (3., _progress(0, 30))))

  def test_iterations_slow_down(self):
    # It began 2 s after the last step of the one before, and is half as fast.
    self.assertEqual((10., 10. + 2. + 20.), self._left(
        (0., _began(0)), (10., _progress(0, 100)), (12., _began(1)),
        (22., _progress(1, 50, rate=5.))))

  def test_last_iteration(self):
    self.assertEqual((4., None), self._left(
        (0., _began(2)), (6., _progress(2, 60))))

  def test_resumed(self):
    # Only half of it was trained here.
    self.assertEqual((2., 12.), self._left(
        (0., events.Resumed(1, 150, "c")), (1., _began(1)),
        (4., _progress(1, 80))))

  def test_late_task(self):
    self.assertEqual((7., 27.), self._left(
        (0., _began(0)), (2., _began(0)), (3., _progress(0, 30))))

  @parameterized.parameters(
      (dict(num_iterations=None), 3., (7., None)),
      (dict(num_iterations=None, last_step=230), 3., (7., 20.)),
      (dict(last_step=230), 3., (7., 20.)),
      (dict(last_step=50), 3., (2., None)),
      (dict(last_step=900), 3., (7., 27.)),
      (dict(max_steps=None), 3., (7., None)))
  def test_what_ends_training(self, arguments, now, expected):
    self.assertEqual(expected, self._left(
        (0., _began(0, **arguments)), (now, _progress(0, 30))))

  @parameterized.parameters(
      (_progress(0, 30, rate=None), (None, None)),
      (_progress(0, 30, left=False), (None, None)))
  def test_what_is_not_known(self, progress, expected):
    self.assertEqual(expected, self._left((0., _began(0)), (3., progress)))

  def test_input_decides(self):
    self.assertEqual((20., None), self._left(
        (0., _began(0, None, 230, None)), (3., _progress(0, 30, left=False))))

  @parameterized.parameters((.5, (None, None)), (1.5, (7., 7. + 2 * 8.5)))
  def test_first_step_takes_longer(self, secs, expected):
    estimate = remaining.Remaining()
    estimate.take(_began(0), 0.)
    estimate.take(_progress(0, 1), 0.)
    estimate.take(_progress(0, 30), secs)
    self.assertEqual(expected, tuple(estimate.left(_progress(0, 30), secs)))

  def test_beginning_is_not_known(self):
    self.assertEqual((7., None), self._left((3., _progress(0, 30))))


if __name__ == "__main__":
  absltest.main()

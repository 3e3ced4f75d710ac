# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of when summaries are written, and which values."""

import math
import types
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet.training import training_summaries


class StepRateByHandTest(parameterized.TestCase):

  def _written(self, every_steps, *runs):
    """Returns the (rate, step) that are written of some (step, time)."""
    writer = mock.Mock()
    rate = training_summaries.StepRate(writer, every_steps)
    for step, now in runs:
      with mock.patch.object(
          training_summaries.time, "time", return_value=now):
        rate.count(step)
    for call in writer.add_scalars.call_args_list:
      self.assertEqual("", call[0][0])
    return [(call[0][1]["global_step/sec"], call[0][2])
            for call in writer.add_scalars.call_args_list]

  def test_rates(self):
    self.assertEqual([(5., 11), (20., 31)], self._written(
        10, (1, 100.), (10, 101.), (11, 102.), (20, 102.5), (31, 103.)))

  def test_no_time_has_passed(self):
    self.assertEqual([(10., 21)], self._written(
        10, (1, 100.), (11, 100.), (21, 101.)))

  def test_never(self):
    self.assertEmpty(self._written(None, (1, 1.), (1000, 2.)))
    training_summaries.StepRate(None, 10).count(1)


def _summary(merged):
  return types.SimpleNamespace(merged=lambda: merged)


class TrainingSummariesTest(parameterized.TestCase):

  def _made(self, every_steps, names=("a", "b"), has_writer=True,
            summaries=None):
    self._writer = mock.Mock()
    self._all = list(summaries or map(_summary, ["op0", None, "op2"]))
    iteration = types.SimpleNamespace(
        number=3, summaries=self._all, candidates=[
            types.SimpleNamespace(name=name, loss="loss of " + name)
            for name in names])
    return training_summaries.TrainingSummaries(
        iteration, self._writer if has_writer else None, types.SimpleNamespace(
            log_step_count_steps=10, save_summary_steps=every_steps))

  def _write(self, summaries, losses, averages, step=0):
    summaries.write(
        {"merged": [b"s0", b"s2"], "losses": losses}, averages, step)

  @parameterized.parameters(
      (1, [0, 1, 2, 3, 4, 5, 6, 7, 8]), (2, [0, 2, 4, 6, 8]),
      (3, [0, 2, 4, 6, 8]), (5, [0, 4, 8]), (None, []))
  def test_when(self, every_steps, expected):
    summaries = self._made(every_steps)
    steps = []
    for step in range(9):
      if summaries.is_due(step):
        steps.append(step)
        self._write(summaries, {"a": 1., "b": 2.}, {"a": 1., "b": 2.}, step)
    self.assertEqual(expected, steps)

  def test_fetches(self):
    self.assertEqual(
        {"merged": ["op0", "op2"],
         "losses": {"a": "loss of a", "b": "loss of b"}},
        self._made(1).fetches())
    self.assertFalse(self._made(1, has_writer=False).is_due(0))

  @parameterized.parameters(
      (["op"], ["a"], {"merged": ["op"], "losses": {"a": "loss of a"}}),
      (["op"], [], {"merged": ["op"], "losses": {}}),
      ([None], ["a"], {"merged": [], "losses": {"a": "loss of a"}}),
      ([None], [], {}))
  def test_fetches_of_summaries_or_ensembles_alone(
      self, merged, names, expected):
    self.assertEqual(expected, self._made(
        1, names, summaries=map(_summary, merged)).fetches())

  def test_each_summary_has_its_own_values(self):
    self._write(self._made(1), {"a": 1., "b": 2.}, {"a": 1., "b": 2.}, 7)
    self.assertEqual(
        [mock.call(self._all[0], b"s0", 7), mock.call(self._all[2], b"s2", 7)],
        self._writer.add.call_args_list)

  # The loss is that of the ensemble with the least average.
  @parameterized.parameters(
      ({"a": 1., "b": 2.}, {"a": 9., "b": 8.}, 2.),
      ({"a": 1., "b": 2.}, {"a": 7., "b": 8.}, 1.),
      ({"a": 1., "b": 2.}, {"a": math.nan, "b": 8.}, 2.),
      ({"a": 1., "b": 2.}, {"a": math.nan, "b": math.nan}, None),
      ({"a": 5.}, {}, 5.), ({}, {}, None))
  def test_loss(self, losses, averages, expected):
    self._write(self._made(1, tuple(losses)), losses, averages, 7)
    scalars = {"iteration/adanet/iteration": 3}
    if expected is not None:
      scalars["loss"] = expected
    self._writer.add_scalars.assert_called_once_with("", scalars, 7)


if __name__ == "__main__":
  absltest.main()

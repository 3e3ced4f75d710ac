# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of when summaries are written, and which values."""

import math
import types
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.core import scoped_summary
from adanet.distributed import placement
from adanet.training import training_summaries
import numpy as np


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

  @parameterized.parameters(None, 0)
  def test_never(self, every_steps):
    self.assertEmpty(self._written(every_steps, (1, 1.), (1000, 2.)))

  def test_without_writer(self):
    training_summaries.StepRate(None, 10).count(1)


def _summary(merged):
  return types.SimpleNamespace(merged=lambda: merged)


class TrainingSummariesTest(parameterized.TestCase):

  def _made(self, every_steps, names=("a", "b"), has_writer=True):
    self._writer = mock.Mock()
    self._all = [_summary("op0"), _summary(None), _summary("op2")]
    iteration = types.SimpleNamespace(
        number=3, subnetworks=(), share=placement.Share(True, (), True),
        summaries=self._all, candidates=[
            types.SimpleNamespace(name=name, loss="loss of " + name)
            for name in names])
    return training_summaries.TrainingSummaries(
        iteration, self._writer if has_writer else None, types.SimpleNamespace(
            log_step_count_steps=10, save_summary_steps=every_steps))

  def _write(self, summaries, losses, averages, step=0):
    summaries.write((), {
        "summaries": {"merged": [b"s0", b"s2"], "losses": losses},
        "steps": np.zeros(0), "losses": np.zeros(0)}, averages, step)

  @parameterized.parameters(
      (1, [0, 1, 2, 3, 4, 5, 6, 7, 8]), (2, [0, 2, 4, 6, 8]),
      (3, [0, 2, 4, 6, 8]), (4, [0, 3, 6]), (5, [0, 4, 8]), (None, []), (0, []))
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


class SummariesThatRunsKnowTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    v1 = tf_compat.v1
    self.enter_context(v1.Graph().as_default())
    self._writer = mock.Mock()
    with v1.variable_scope("adanet/iteration_0/subnetwork_t0_dnn"):
      self._step = v1.get_variable(
          "step", [], v1.int64, v1.constant_initializer(6), use_resource=True)
      step, loss = self._step.read_value(), v1.constant(.1)
      self._summary = scoped_summary.ScopedSummary("subnetwork", "t0_dnn")
      with self._summary.current_scope():
        self._summary.scalar("iteration_step/adanet/iteration_step", step)
        self._summary.scalar("loss", loss)
    self._spec = types.SimpleNamespace(
        name="t0_dnn", summary=self._summary, loss=loss, iteration_step=step)

  def _made(self, candidates=(), trains=True):
    return training_summaries.TrainingSummaries(
        types.SimpleNamespace(
            number=0, subnetworks=(self._spec,), candidates=candidates,
            share=placement.Share(True, (0,), trains),
            summaries=[self._summary]),
        self._writer, types.SimpleNamespace(
            log_step_count_steps=10, save_summary_steps=1))

  def _written(self, summaries, *names):
    summaries.write(names, {
        "summaries": {}, "steps": np.full(len(names), 7),
        "losses": np.full(len(names), .1, np.float32)}, {}, 6)
    return self._writer.add.call_args_list

  def test_values_are_those_of_its_ops(self):
    summaries = self._made()
    self.assertEqual({}, summaries.fetches())
    (call,) = self._written(summaries, "t0_dnn")
    with tf_compat.v1.Session() as session:
      session.run(self._step.initializer)
      expected = session.run(self._summary.merged())
    summary, serialized, step = call[0]
    self.assertIs(self._summary, summary)
    self.assertEqual(
        [tf_compat.v1.Summary.FromString(expected), 6],
        [tf_compat.v1.Summary.FromString(serialized), step])

  def test_one_that_has_ended_shows_nothing(self):
    self.assertEmpty(self._written(self._made()))

  @parameterized.parameters(
      (lambda summary: summary.histogram("logits", [1., 2.]),),
      (lambda summary: summary.scalar("mine", 1.),))
  def test_fetches_what_a_builder_adds(self, add):
    add(self._summary)
    self.assertLen(self._made().fetches()["merged"], 1)

  def test_fetches_where_ensembles_train(self):
    candidate = types.SimpleNamespace(name="a", loss="loss of a")
    self.assertLen(self._made([candidate]).fetches()["merged"], 1)

  def test_fetches_what_trains_elsewhere(self):
    self.assertLen(self._made(trains=False).fetches()["merged"], 1)


if __name__ == "__main__":
  absltest.main()

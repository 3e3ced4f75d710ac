# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of whether another iteration is worth its time."""

import math
import time
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet.core import events
from adanet.core import selection
from adanet.search import loop
from adanet.search import winner as winner_lib
from adanet.testing import hand_written
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
from adanet.training import setup as setup_lib
from adanet.training import trainer
import hypothesis
from hypothesis import strategies as st
import numpy as np

# The examples are small: a failure shows the first one, within a second.
_UNSHRUNK = hypothesis.settings(phases=[hypothesis.Phase.generate])
_NAN = float("nan")


def _no_gain(values, number=None, **rules):
  """Returns what `no_gain` says of winners with some values.

  Args:
    values: list of float; None for a winner that needed none, and "" for an
      iteration without a record.
    number: int, the last iteration that is decided; None for the last value's.
    **rules: see `Rules`.
  """
  files = hand_written.SearchFilesInMemory()
  for t, value in enumerate(values):
    if value != "":
      trained = hand_written.trained(t, {"a": 0.})
      choice = selection.Choice(0, hand_written.name(t, "a"), value)
      files.write_iteration(
          events.IterationEnded(t, choice, 1.),
          winner_lib.Winner(choice, trained.candidates.architectures),
          trained, trained.candidates.checkpoint, {})
  return loop.no_gain(
      setup_lib.Rules(**rules), files,
      len(values) - 1 if number is None else number)


class NoGainTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ("no_patience", [1., 2., 3.], {}, ""),
      ("equal", [1., 1.], dict(patience=1),
       "patience=1: the last winner is no better than 1 (adanet_loss)"),
      ("two", [1., 2., 3.], dict(patience=2),
       "patience=2: the last 2 winners are no better than 1 (adanet_loss)"),
      ("more_than_patience", [.12345, 2., 3., 4.], dict(patience=2),
       "patience=2: the last 3 winners are no better than 0.1235 "
       "(adanet_loss)"),
      ("worse_than_the_best_not_the_last", [1., 3., 2.], dict(patience=2),
       "patience=2: the last 2 winners are no better than 1 (adanet_loss)"),
      ("min_delta", [1., .75], dict(patience=1, min_delta=.25),
       "patience=1: the last winner is no better than 1 (adanet_loss)"),
      ("without_a_record", [1., "", 2.], dict(patience=1),
       "patience=1: the last winner is no better than 1 (adanet_loss)"),
      ("greatest", [1., 2.],
       dict(patience=1, evaluator=hand_written.Rater(
           np.nanargmax, "adanet_loss")), ""),
      ("no_greater", [2., 1.],
       dict(patience=1, evaluator=hand_written.Rater(
           np.nanargmax, "adanet_loss")),
       "patience=1: the last winner is no better than 2 (adanet_loss)"),
      ("by_another_evaluator", [1., 2.],
       dict(patience=1, evaluator=hand_written.Rater()), ""))
  def test_no_gain(self, values, rules, expected):
    self.assertEqual(expected, _no_gain(values, **rules))

  def test_later_iterations_do_not_count(self):
    self.assertEqual("", _no_gain([2., 1., 9.], number=1, patience=1))

  @_UNSHRUNK
  @hypothesis.given(
      st.lists(st.one_of(st.integers(0, 4).map(float), st.sampled_from(
          [_NAN, None])), min_size=1, max_size=8),
      st.integers(1, 3), st.integers(0, 2).map(float))
  def test_same_as_the_definition(self, values, num, min_delta):
    """It ends when so many winners are no gain over the best one before."""
    known = [value for value in values
             if value is not None and not math.isnan(value)]
    bests = known[:1]  # The best one so far, at each winner.
    for value in known[1:]:
      bests.append(value if value < bests[-1] - min_delta else bests[-1])
    ends = len(known) > num and bests[-1] == bests[-1 - num]
    self.assertEqual(
        ends, bool(_no_gain(values, patience=num, min_delta=min_delta)))


class NoTimeTest(parameterized.TestCase):

  @parameterized.parameters(
      (None, 1e9, ""),
      (150., 50., ""),
      (150., 50.1, "max_seconds=60: 50.0 s are left, and the last iteration "
       "took 50.1 s"),
      (99., 1., "max_seconds=60: 0.0 s are left, and the last iteration took "
       "1.0 s"))
  def test_no_time(self, deadline, seconds, expected):
    with mock.patch.object(time, "time", lambda: 100.):
      self.assertEqual(expected, loop.no_time(
          trainer.Request(print, max_seconds=60., deadline=deadline), seconds))


if __name__ == "__main__":
  absltest.main()

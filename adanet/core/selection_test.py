# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of who wins an iteration."""

import math

from absl.testing import absltest
from absl.testing import parameterized
from adanet.core import selection
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
import hypothesis
from hypothesis import strategies as st
import numpy as np

_NAN = float("nan")
_INF = float("inf")
_NAMES = "abcdefgh"


class ChooseTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ("nan_and_infinity", [_NAN, _INF], {}, 1),
      ("nan_and_infinity_maximize", [_NAN, -_INF], {"maximize": True}, 1),
      ("previous", [0., 1., 2.], {"previous": 0}, 0),
      ("force_grow", [0., 2., 1.], {"previous": 0, "force_grow": True}, 2),
      ("force_grow_first_iteration", [0., 1.], {"force_grow": True}, 0),
      ("force_grow_with_nan", [0., _NAN, 1.],
       {"previous": 0, "force_grow": True}, 2),
      ("function", [3., 1., 2.], {"objective_fn": np.argmax}, 0),
      ("function_chooses_nan", [1., _NAN, 3., 2.],
       {"objective_fn": np.argmax}, 2),
      ("function_and_force_grow", [9., 1., 2.],
       {"objective_fn": np.argmax, "previous": 0, "force_grow": True}, 2),
      ("function_with_one_number", [_NAN, 1.],
       {"objective_fn": lambda values: 0}, 1))
  def test_winner(self, values, arguments, winner):
    choice = selection.choose(_NAMES[:len(values)], values, **arguments)
    self.assertEqual(
        (winner, _NAMES[winner], values[winner], arguments.get("previous")
         == winner),
        (choice.index, choice.name, choice.value, choice.is_previous))

  @hypothesis.given(
      st.lists(
          st.one_of(st.floats(-9, 9), st.just(_NAN)), min_size=1, max_size=8),
      st.booleans())
  def test_same_as_numpy(self, values, maximize):
    names = _NAMES[:len(values)]
    if all(map(math.isnan, values)):
      with self.assertRaises(selection.AllNaNError):
        selection.choose(names, values, maximize)
      return
    choice = selection.choose(names, values, maximize)
    self.assertEqual(
        (np.nanargmax if maximize else np.nanargmin)(values), choice.index)
    self.assertEqual(
        [n for n, v in zip(names, values) if math.isnan(v)], list(choice.nan))
    finite = sorted(v for v in values if not math.isnan(v))
    self.assertLen(finite, choice.compared)
    if len(finite) > 1:
      best, second = finite[::-1][:2] if maximize else finite[:2]
      self.assertEqual(abs(best - second), choice.margin)

  def test_function_sees_all_that_can_win(self):
    seen = []
    selection.choose(
        "abcd", [1., _NAN, 3., 2.], previous=0, force_grow=True,
        objective_fn=lambda values: seen.append(values) or len(seen) - 1)
    self.assertEqual(["[nan, 3.0, 2.0]", "[3.0, 2.0]"], list(map(str, seen)))

  def test_equal_infinities_have_no_margin(self):
    self.assertEqual(0., selection.choose("ab", [_INF, _INF]).margin)

  @parameterized.named_parameters(
      ("all_nan", ["a", "b"], [_NAN, _NAN], {}, selection.AllNaNError,
       "NaN: a, b. Lower"),
      ("all_new_ones_nan", ["a", "b"], [1., _NAN],
       {"previous": 0, "force_grow": True}, selection.AllNaNError,
       "NaN: b. Lower"),
      ("none", [], [], {}, ValueError, "at least one candidate. The"),
      ("no_new_one", ["a"], [1.], {"previous": 0, "force_grow": True},
       ValueError, "other than the previous ensemble, because force_grow"),
      ("no_index", ["a", "b"], [1., 2.], {"objective_fn": lambda values: 2},
       ValueError, r"returned 2: expected the index .* values \[1.0, 2.0\]"),
      ("half_an_index", ["a", "b"], [1., 2.],
       {"objective_fn": lambda values: .5}, ValueError, "returned 0.5: "),
      ("index_from_the_end", ["a", "b"], [1., 2.],
       {"objective_fn": lambda values: -1}, ValueError, "returned -1: "))
  def test_no_winner(self, names, values, arguments, error, message):
    with self.assertRaisesRegex(error, message) as context:
      selection.choose(names, values, **arguments)
    self.assertNotIn("\n", str(context.exception))


class MessageTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ("over_the_next_best",
       selection.choose(["a", "b", "c"], [.5, .25, .375], previous=0),
       "b won with accuracy 0.25, 0.125 better than c, the next best of 3 "
       "candidates."),
      ("previous",
       selection.choose(["a", "b"], [.25, .5], previous=0),
       "a won with accuracy 0.25, 0.25 better than b, the next best of 2 "
       "candidates. It is the ensemble of the previous iteration: the ensemble "
       "did not grow."),
      ("tie",
       selection.choose(["a", "b"], [.5, .5]),
       "a won with accuracy 0.5, as good as b, the next best of 2 "
       "candidates."),
      ("nan",
       selection.choose(["a", "b"], [_NAN, .5]),
       "b won with accuracy 0.5: it is the only candidate with a value; NaN: "
       "a."),
      ("alone",
       selection.choose(["a"], [.5]),
       "a won with accuracy 0.5: it is the only candidate."),
      ("force_grow",
       selection.choose(["a", "b"], [.25, .5], previous=0, force_grow=True),
       "b won with accuracy 0.5: it is the only candidate that could, because "
       "force_grow is set."),
      ("force_grow_over_nan",
       selection.choose(
           ["a", "b", "c"], [_NAN, .5, .75], previous=0, force_grow=True),
       "b won with accuracy 0.5, 0.25 better than c, the next best of 2 "
       "candidates."),
      ("function",
       selection.choose(["a", "b", "c"], [.25, .5, _NAN],
                        objective_fn=np.nanargmax),
       "b won with accuracy 0.5: objective_fn chose it of 2 candidates; NaN: "
       "c."),
      ("preset",
       selection.preset(["a", "b"], 1, "replay_config says so"),
       "b won: replay_config says so."))
  def test_message(self, choice, message):
    self.assertEqual(message, choice.message("accuracy"))

  @parameterized.parameters(-1, 2)
  def test_preset_of_no_candidate(self, index):
    with self.assertRaisesRegex(
        ValueError, r"index={} \(replay_config says so\): expected one of the "
        "2 candidates, from 0: a, b".format(index)):
      selection.preset(["a", "b"], index, "replay_config says so")


if __name__ == "__main__":
  absltest.main()

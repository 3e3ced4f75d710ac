# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the rule that says when a network is done."""

import math

from absl.testing import absltest
from absl.testing import parameterized
from adanet.core import early_stopping
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
import hypothesis
from hypothesis import strategies as st

_NAN, _INF = float("nan"), float("inf")
# Few values, so that equal ones are common; and ones that differ by a delta.
_LOSSES = st.lists(
    st.sampled_from([0., .25, .5, .75, 1., 2., -1., _INF, -_INF, _NAN]),
    max_size=12)
_RULES = st.builds(
    early_stopping.EarlyStopping, st.integers(1, 5), st.integers(1, 4),
    st.sampled_from([0., .25, .5]))


def _checks(losses, every=1):
  """Returns `NetworkChecks` with one check after another."""
  checks = early_stopping.NetworkChecks()
  for i, loss in enumerate(losses, 1):
    checks = checks.checked(early_stopping.HeldOutCheck(i * every, loss))
  return checks


def _by_hand(losses, patience, min_delta):
  """Returns the index of the check that ends training, and that of the best.

  By the words of STOPPING: each check is compared with all checks before it.
  """
  in_a_row, end = 0, None
  for i, loss in enumerate(losses):
    before = [l for l in losses[:i] if math.isfinite(l)]
    gains = math.isfinite(loss) and (
        not before or loss < min(before) - min_delta)
    in_a_row = 0 if gains else in_a_row + 1
    if not math.isfinite(loss) or in_a_row == patience:
      end = i
      break
  seen = losses[:len(losses) if end is None else end + 1]
  finite = sorted((loss, i) for i, loss in enumerate(seen)
                  if math.isfinite(loss))
  return end, finite[0][1] if finite else None


class EarlyStoppingTest(parameterized.TestCase):

  @hypothesis.given(_RULES, _LOSSES)
  def test_ends_and_is_best_where_the_definition_says(self, rule, losses):
    end, best = _by_hand(losses, rule.patience, rule.min_delta)
    trained = []
    for loss in losses:
      trained.append(loss)
      if rule.why_ended(_checks(trained)):
        break
    checks = _checks(trained)
    self.assertEqual(
        len(trained) - 1 if rule.why_ended(checks) else None,
        end if losses else None)
    self.assertEqual(checks.best and checks.best.step - 1, best)

  @hypothesis.given(_RULES, _LOSSES)
  def test_more_patience_trains_as_long_at_least(self, rule, losses):
    patient = early_stopping.EarlyStopping(
        rule.every_steps, rule.patience + 1, rule.min_delta)
    checks = _checks(losses)
    self.assertGreaterEqual(patient.left(checks), rule.left(checks))

  @hypothesis.given(_RULES, _LOSSES.filter(len))
  def test_standing_is_of_the_last_and_the_best_check(self, rule, losses):
    checks = _checks(losses, rule.every_steps)
    standing = rule.standing(checks)
    self.assertEqual(repr(standing.last), repr(losses[-1]))
    self.assertEqual(standing.left, rule.left(checks))
    if standing.best is None:
      self.assertFalse(any(map(math.isfinite, losses)))
    else:
      self.assertEqual(
          losses[standing.best_step // rule.every_steps - 1], standing.best)
    self.assertEqual(
        rule.standing(checks._replace(ended="its input ended")).left, 0)

  @parameterized.parameters(
      (1, [1, 2, 3, 4]), (3, [3, 6]), (5, [5]), (100, []))
  def test_is_due_after_each_number_of_steps(self, every, due):
    rule = early_stopping.EarlyStopping(every)
    self.assertEqual([s for s in range(1, 9) if rule.is_due(s)][:4], due)

  @parameterized.parameters(
      (2, [1., 1., .9, .95, 1.], "2 checks in a row without a gain, at step 5"),
      (1, [1., 2.], "1 check without a gain, at step 2"),
      (3, [1., 1., 2.], ""),
      (3, [1., _NAN], "The loss of its check at step 2 is nan"),
      (3, [_INF], "The loss of its check at step 1 is inf"))
  def test_says_why(self, patience, losses, reason):
    rule = early_stopping.EarlyStopping(1, patience)
    self.assertEqual(rule.why_ended(_checks(losses)), reason)

  @parameterized.parameters(
      ({"every_steps": 0}, "every_steps=0", "a whole number > 0"),
      ({"every_steps": 1.5}, "every_steps=1.5", "a whole number > 0"),
      ({"every_steps": "epoch"}, "every_steps='epoch'", "a whole number > 0"),
      ({"every_steps": True}, "every_steps=True", "a whole number > 0"),
      ({"patience": 0}, "patience=0", "a whole number > 0"),
      ({"patience": None}, "patience=None", "a whole number > 0"),
      ({"min_delta": -.1}, "min_delta=-0.1", "a finite number >= 0"),
      ({"min_delta": _NAN}, "min_delta=nan", "a finite number >= 0"),
      ({"min_delta": _INF}, "min_delta=inf", "a finite number >= 0"))
  def test_refuses_a_number_that_makes_no_sense(self, given, what, expected):
    with self.assertRaises(ValueError) as raised:
      early_stopping.EarlyStopping(**given)
    self.assertEqual(str(raised.exception),
                     f"EarlyStopping({what}): expected {expected}")

  def test_takes_a_whole_number_of_another_type(self):
    rule = early_stopping.EarlyStopping(every_steps=1e2)
    self.assertEqual(repr(rule.every_steps), "100")


if __name__ == "__main__":
  absltest.main()

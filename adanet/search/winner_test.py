# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of who wins an iteration, by values that are written by hand."""

import itertools
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import log as logging
from adanet import replay
from adanet.core import selection
from adanet.search import winner as winner_lib
from adanet.testing import hand_written
import numpy as np

_NAN = float("nan")
_Rater = hand_written.Rater
_name = hand_written.name


def _choose(averages, values=None, number=0, before=None, rules=None,
            advice="", not_finite=None):
  """Returns the `Winner`, and the engine that was asked for it."""
  engine = hand_written.HandWrittenEngine(**(rules or {}))
  engine.advice = advice
  candidates = hand_written.candidates(
      number, averages, before, not_finite=not_finite)
  engine.values_of[number] = dict(zip(candidates.architectures, values or ()))
  return winner_lib.choose(engine.setup.rules, candidates, engine), engine


def _last(values):
  """A user's objective_fn: the last one is the best."""
  return len(values) - 1


class ComparedTest(parameterized.TestCase):
  """Candidates that train along."""

  @parameterized.named_parameters(
      ("averages", None, "b"),
      ("least", _Rater(), "c"),
      ("greatest", _Rater(np.nanargmax), "a"),
      ("own", _Rater(_last), "c"),
      ("own_greatest", _Rater(np.argmax), "a"))
  def test_who_decides(self, evaluator, winner):
    won, engine = _choose({"a": 2., "b": 1., "c": 3.}, [9., 8., 7.],
                          rules=dict(evaluator=evaluator))
    self.assertEqual(_name(0, winner), won.name)
    self.assertEqual(((0, winner),), won.architecture.subnetworks)
    self.assertEqual(
        dict(zip(map(_name, (0, 0, 0), "abc"),
                 [9., 8., 7.] if evaluator else [2., 1., 3.])), won.values)
    self.assertEqual({"values": 1} if evaluator else {}, engine.num_calls)
    self.assertEmpty(won.fits)
    self.assertEmpty(won.variables)

  @parameterized.parameters(
      # The averages, where "z" is the previous ensemble, and who wins.
      ({"z": 1., "a": 2., "b": 3.}, False, "z"),
      ({"z": 1., "a": 2., "b": 3.}, True, "a"), ({"z": 1., "a": 1.}, False, "z"),
      ({"z": _NAN, "a": 2.}, False, "a"),
      ({"z": 1., "a": _NAN, "b": 2.}, True, "b"))
  def test_previous_ensemble(self, averages, force_grow, winner):
    won, _ = _choose(
        averages, number=1, before="z", rules=dict(force_grow=force_grow))
    self.assertEqual(_name(int(winner != "z"), winner), won.name)
    self.assertEqual(winner == "z", won.choice.is_previous)

  @parameterized.parameters(
      ({"a": _NAN}, {}), ({"a": 1.}, {"t0_a": "kernel"}),
      ({"a": 1., "b": _NAN}, {"t0_a": "kernel"}))
  def test_none_can_win(self, averages, not_finite):
    with self.assertRaisesRegex(selection.AllNaNError, "NaN: "):
      _choose(averages, not_finite=not_finite)

  def test_average_does_not_count_where_an_evaluator_compares(self):
    won, _ = _choose({"a": _NAN}, rules=dict(evaluator=_Rater()))
    self.assertEqual(_name(0, "a"), won.name)

  @parameterized.named_parameters(
      ("network", {"t0_a": "kernel"}, {"a": "kernel"}),
      ("ensemble", {_name(0, "b"): "weight"}, {"b": "weight"}),
      ("ensemble_first", {_name(0, "b"): "weight", "t0_b": "kernel"},
       {"b": "weight"}),
      ("another", {"t1_a": "kernel"}, {}))
  def test_candidates_with_nan(self, not_finite, expected):
    candidates = hand_written.candidates(
        0, {"a": 1., "b": 2.}, not_finite=not_finite)
    self.assertEqual({_name(0, builder): variable
                      for builder, variable in expected.items()},
                     winner_lib.candidates_with_nan(candidates))
    self.assertEmpty(winner_lib.candidates_with_nan(candidates._replace(
        fitted=tuple(candidates.architectures))))

  @parameterized.named_parameters(
      ("explained", [1., 2.], {"t0_a": "kernel"}, False),
      ("value", [_NAN, 2.], {}, True),
      ("both", [_NAN, 2.], {"t0_a": "kernel"}, False),
      ("none", [1., 2.], {}, False))
  def test_asks_why_only_if_it_is_not_known(self, values, not_finite, asks):
    with mock.patch.object(logging, "warning") as warning:
      won, engine = _choose(
          dict(zip("ab", values)), not_finite=not_finite,
          advice=" The input of the evaluator has NaN.")
    self.assertEqual(asks, "nan_in_evaluator_input" in engine.num_calls)
    self.assertEqual([
        "Iteration 0: the value of t0_a_grow is NaN. The input of the "
        "evaluator has NaN."] * asks, [line % tuple(values) for
                                       (line, *values), _ in
                                       warning.call_args_list])
    self.assertEqual(bool(not_finite) or asks, won.name == _name(0, "b"))

  @parameterized.parameters(
      ("", "Lower the learning rate, or check the data for NaN."),
      (" The input has NaN.", "The input has NaN."))
  def test_all_nan(self, advice, end):
    with self.assertRaises(selection.AllNaNError) as raised:
      _choose({"a": _NAN, "b": _NAN}, advice=advice)
    self.assertEqual(
        "No ensemble can win, because the value of each one is NaN: "
        f"t0_a_grow, t0_b_grow. {end}", str(raised.exception))

  def test_one_without_a_value_does_not_win(self):
    won, _ = _choose({"a": 1., "b": 2., "c": 3.}, [5.],
                     rules=dict(evaluator=_Rater(np.nanargmax)))
    self.assertEqual(_name(0, "a"), won.name)
    self.assertEqual((_name(0, "b"), _name(0, "c")), won.choice.nan)


class PresetTest(parameterized.TestCase):
  """Winners that need no values."""

  @parameterized.named_parameters(
      ("replay", 0, "abc", None, dict(replay_config=replay.Config([1])), "b",
       "replay_config says so"),
      ("replay_of_later_iterations_only", 1, "ab", None,
       dict(replay_config=replay.Config([1])), None, ""),
      ("replay_keeps_the_previous_one", 1, "ab", "z",
       dict(replay_config=replay.Config([0, 0]), force_grow=True), "z",
       "replay_config says so"),
      ("alone", 0, "a", None, {}, "a", "it is the only candidate"),
      ("alone_with_patience", 0, "a", None, dict(patience=1), "a",
       "it is the only candidate"),
      ("alone_with_patience_and_evaluator", 0, "a", None,
       dict(patience=1, evaluator=_Rater()), None, ""),
      ("only_new_one", 1, "a", "z", dict(force_grow=True), "a",
       "it is the only new candidate, and force_grow is set"),
      ("only_new_one_with_patience", 1, "a", "z",
       dict(force_grow=True, patience=1), None, ""),
      ("only_new_one_may_lose", 1, "a", "z", {}, None, ""),
      ("two_in_the_first_iteration", 0, "ab", None, dict(force_grow=True),
       None, ""))
  def test_preset(self, number, new, before, rules, winner, reason):
    averages = dict({before: 0.} if before else {}, **dict.fromkeys(new, 1.))
    won, engine = _choose(averages, [1.] * len(averages), number, before, rules)
    self.assertEqual(reason, won.choice.reason if winner or reason else "")
    choice = winner_lib.preset(engine.setup.rules, number).choice(
        list(won.architectures))
    if winner is None:
      self.assertIsNotNone(won.values)
      self.assertIsNone(choice)
      return
    self.assertEqual(
        _name(number - (winner == before), winner), won.name)
    self.assertEqual(choice, won.choice)
    self.assertIsNone(won.values)
    self.assertIsNone(won.choice.value)
    self.assertEmpty(engine.calls)

  def test_replay_chooses_what_is_nan(self):
    won, _ = _choose({"a": _NAN}, rules=dict(replay_config=replay.Config([0])))
    self.assertEqual(_name(0, "a"), won.name)


class FittedTest(parameterized.TestCase):
  """Candidates that are fitted when all have trained."""

  def _choose(self, values, averages=None, fitted="ab", number=0, before=None,
              has_fits=False, of_evaluator=None, members=None, **rules):
    engine = hand_written.HandWrittenEngine(
        **dict(dict(evaluator=_Rater()), **rules))
    candidates = hand_written.candidates(
        number, averages or {}, before, fitted=fitted)
    fits = hand_written.fits(candidates, {
        _name(number - (builder == before), builder): value
        for builder, value in values.items()}, members)
    engine.values_of[number] = {
        _name(number, builder): value
        for builder, value in (of_evaluator or {}).items()}
    if not has_fits:
      engine.fits_of[number] = fits
    return winner_lib.choose(engine.setup.rules, candidates, engine,
                             fits if has_fits else None), engine

  @parameterized.product(has_fits=[False, True], objective_fn=[
      np.nanargmin, np.nanargmax])
  def test_fitted_only(self, has_fits, objective_fn):
    winner = "b" if objective_fn is np.nanargmin else "a"
    won, engine = self._choose(
        {"a": 2., "b": 1.}, has_fits=has_fits, evaluator=_Rater(objective_fn))
    self.assertEqual(_name(0, winner), won.name)
    self.assertEqual({} if has_fits else {"fits": 1}, engine.num_calls)
    self.assertEqual({_name(0, "a"): 2., _name(0, "b"): 1.}, won.values)
    self.assertCountEqual(map(_name, (0, 0), "ab"), won.fits)
    self.assertCountEqual([f"{won.name}/weight", f"{won.name}/step"],
                          won.variables)
    self.assertEqual({"t0_a": .5, "t0_b": .5}, won.network_losses)

  def test_architecture_of_members_only(self):
    won, _ = self._choose(
        {"b": 1., "z": 2.}, {"z": 2.}, "b", 1, "z",
        members={_name(1, "b"): {"t1_b": 1.}})
    self.assertEqual(((1, "b"),), won.architecture.subnetworks)

  @parameterized.parameters((3., "c"), (1., "a"))
  def test_beside_those_that_train(self, value, winner):
    won, engine = self._choose(
        {"a": value}, {"b": 0., "c": 0.}, "a", of_evaluator={"b": 4., "c": 2.})
    self.assertEqual(_name(0, winner), won.name)
    self.assertEqual({"fits": 1, "values": 1}, engine.num_calls)
    self.assertEqual(winner == "a", bool(won.variables))

  def test_one_alone_has_a_value(self):
    won, engine = self._choose({"a": 2.}, fitted="a")
    self.assertEqual((2., ""), (won.choice.value, won.choice.reason))
    self.assertEqual({"fits": 1}, engine.num_calls)

  def test_one_alone_that_cannot_be_fitted(self):
    with self.assertRaisesRegex(selection.AllNaNError, "t0_a_grow"):
      self._choose({}, fitted="a")

  @parameterized.parameters(
      (0, "a", {"fits": 1}, 2.), (1, "b", {"fits": 1}, 1.))
  def test_replay(self, index, winner, num_calls, value):
    won, engine = self._choose(
        {"a": 2., "b": 1.}, replay_config=replay.Config([index]))
    self.assertEqual((_name(0, winner), value, "replay_config says so"),
                     (won.name, won.choice.value, won.choice.reason))
    self.assertEqual(num_calls, engine.num_calls)

  def test_replay_of_one_that_trains_fits_none(self):
    won, engine = self._choose(
        {"a": 2.}, {"b": 9.}, "a", replay_config=replay.Config([0]))
    self.assertEqual(_name(0, "b"), won.name)
    self.assertEmpty(engine.calls)

  def test_replay_of_one_that_cannot_be_fitted(self):
    with self.assertRaisesRegex(
        selection.AllNaNError, "^iteration 0: .* NaN: t0_a_grow. "):
      self._choose({"b": 1.}, replay_config=replay.Config([0]))

  def test_needs_an_evaluator(self):
    engine = hand_written.HandWrittenEngine(
        ensemblers=[hand_written.NeverFitted()])
    with self.assertRaisesRegex(
        ValueError, "^evaluator=None: expected an adanet.Evaluator with the "
        "ensembler 'fitted', which is fitted to its data"):
      winner_lib.check_fitted(engine.setup.search, engine.setup.rules)
    winner_lib.check_fitted(
        engine.setup.search, engine.setup.rules._replace(evaluator=_Rater()))
    winner_lib.check_fitted(
        hand_written.HandWrittenEngine(ensemblers=[object()]).setup.search,
        engine.setup.rules)


class RulesTest(parameterized.TestCase):

  @parameterized.parameters(
      *[(name,) for name in ("input_fn", "metric_name", "objective_fn",
                             "evaluate")])
  def test_what_an_evaluator_lacks(self, lacks):
    evaluator = _Rater()
    setattr(evaluator, lacks, None)
    with self.assertRaisesRegex(
        ValueError, r"^evaluator must be an adanet.Evaluator\(input_fn\), or "
        "have input_fn, metric_name, objective_fn, evaluate, got a value of "
        f"type Rater without {lacks}$"):
      winner_lib.check_evaluator(evaluator)

  @parameterized.parameters(
      (None, 0.), (None, .1), (_Rater(), .1), (_Rater(np.nanargmax), .1),
      (_Rater(_last), 0.))
  def test_evaluator(self, evaluator, min_delta):
    winner_lib.check_evaluator(evaluator, min_delta)

  def test_min_delta_with_own_objective(self):
    with self.assertRaisesRegex(ValueError, "^min_delta=0.1: expected 0 with "):
      winner_lib.check_evaluator(_Rater(_last), .1)

  @parameterized.parameters(*itertools.product(
      (None, _Rater(), _Rater(np.nanargmax), _Rater(np.argmax)),
      (-2., -1., 0., 1., 2.), (0., 1.)))
  def test_is_improvement(self, evaluator, gain, min_delta):
    rules = hand_written.HandWrittenEngine(
        evaluator=evaluator, min_delta=min_delta).setup.rules
    if evaluator and evaluator.objective_fn is np.argmax:
      min_delta = 0.
    if evaluator and evaluator.objective_fn is not np.nanargmin:
      value = 5. + gain
    else:
      value = 5. - gain
    self.assertEqual(gain > min_delta,
                     winner_lib.is_improvement(rules, value, 5.))


if __name__ == "__main__":
  absltest.main()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of whole searches whose iterations are written by hand."""

import math
import sys
import time
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import log as logging
from adanet import replay
from adanet import waiting
from adanet.core import events
from adanet.core import selection
from adanet.engines import engine as engine_lib
from adanet.search import loop as loop_lib
from adanet.search import winner as winner_lib
from adanet.testing import hand_written
from adanet.training import ending as ending_lib
from adanet.training import setup as setup_lib
from adanet.training import trainer
import numpy as np

_Engine = hand_written.HandWrittenEngine
_Ending = ending_lib.Ending
_Outcome = engine_lib.SearchOutcome
_Rater = hand_written.Rater
_name = hand_written.name
_trained = hand_written.trained
_NAN, _INF = float("nan"), float("inf")



def _two_iterations():
  return [_trained(0, {"a": 2., "b": 1.}),
          _trained(1, {"b": 1., "c": .5}, before="b")]


def _of(engine, kind):
  """Returns the events of a kind that were reported."""
  return [event for event in engine.events if isinstance(event, kind)]


class SearchTest(parameterized.TestCase):
  """A search from its first iteration to its end."""

  def test_two_iterations(self):
    engine = _Engine(_two_iterations())
    engine.search(max_iterations=2)
    first, second = engine.asked("train")
    self.assertEqual((0, None, False), first[:3])
    self.assertEqual((1, "model/model.ckpt-10", True), second[:3])
    reason = "it reached max_iterations=2"
    self.assertEqual([
        "opened", "train", "train", "finished"], [c[0] for c in engine.calls])
    self.assertEqual([(_Outcome.OVER, reason)], engine.asked("finished"))
    self.assertEqual(
        [_name(0, "b"), _name(1, "c")],
        [event.choice.name for event in _of(engine, events.IterationEnded)])
    self.assertEqual(events.TrainingEnded(20, reason), engine.events[-1])
    end = engine.files.end()
    self.assertEqual((20, reason), (end.global_step, end.reason))
    self.assertAlmostEqual(time.time(), end.time, delta=60)
    # The last winner is only in its record: training may go on from it.
    won, = engine.files.model_dir.architectures.values()
    self.assertEqual((((0, "b"),), 10), (won.subnetworks, won.global_step))
    self.assertFalse(engine.files.model_dir.has_input_positions)
    self.assertEqual(1, engine.files.model_dir.num_cleaned)

  def test_starts_have_their_presets(self):
    engine = _Engine(_two_iterations(), force_grow=True,
                     replay_config=replay.Config([0]))
    engine.iterations[1] = _trained(1, {"a": 1., "c": 9.}, before="a")
    engine.search(max_iterations=2)
    self.assertEqual([(0, 1), (None, 2)], [
        start.preset for start in engine.asked("train")])
    self.assertEqual([_name(0, "a"), _name(1, "c")], [
        engine.files.iteration(t).winner for t in range(2)])

  @parameterized.parameters(
      (np.nanargmin, "b", "b"), (np.nanargmax, "a", "c"),
      (lambda values: 1, "b", "c"))
  def test_evaluator(self, objective_fn, first, second):
    engine = _Engine(evaluator=_Rater(objective_fn))
    engine.iterations = [
        _trained(0, {"a": 0., "b": 9.}),
        _trained(1, {first: 9., "c": 9.}, before=first)]
    engine.values_of = {
        0: {_name(0, "a"): 2., _name(0, "b"): 1.},
        1: {_name(0, first): 1., _name(1, "c"): 3.}}
    engine.search(max_iterations=2)
    self.assertEqual([0, 1], [call[1] for call in engine.calls
                              if call[0] == "values"])
    record = engine.files.iteration(1)
    self.assertEqual(_name(int(second == "c"), second), record.winner)
    self.assertEqual("loss", record.metric_name)
    self.assertEqual([1., 3.], [c.value for c in record.candidates])

  @parameterized.parameters(
      # What ends it, the line about it, and whether its winner is known.
      (_Ending.INPUT_ENDED, 5, "the input ended", False),
      (_Ending.STOP_ASKED, 5, "a hook or a saving listener asked for a stop",
       False),
      (_Ending.TIME_IS_UP, 5, "its max_seconds are over", True),
      (_Ending.MAX_STEPS, 7,
       "it reached the number of steps that were asked for", True),
      # Whatever ended it at the last step: that one is the reason.
      (_Ending.ITERATION_OVER, 7,
       "it reached the number of steps that were asked for", True),
      (_Ending.STOP_ASKED, 8,
       "it reached the number of steps that were asked for", True))
  def test_ends_without_a_winner(self, ending, step, reason, is_told):
    engine = _Engine([
        _trained(0, {"a": 2., "b": 1.}, ending=ending, global_step=step)])
    engine.search(max_steps=7, max_iterations=1)
    self.assertEqual([(_Outcome.OVER, reason)], engine.asked("finished"))
    self.assertEqual((step, reason), engine.files.end()[:2])
    self.assertEmpty(engine.files.model_dir.architectures)
    self.assertIsNone(engine.files.iteration(0))
    self.assertEmpty(_of(engine, events.IterationEnded))
    self.assertLen(_of(engine, events.IterationUndecided), int(is_told))
    self.assertEqual(is_told, engine.files.undecided() is not None)
    self.assertFalse(engine.files.model_dir.has_input_positions)

  @parameterized.parameters(
      (9, "a hook or a saving listener asked for a stop", [0]),
      (1, "it reached max_iterations=1", []))
  def test_a_stop_that_is_asked_for_at_its_end(
      self, max_iterations, reason, following):
    engine = _Engine([_trained(0, {"a": 2., "b": 1.})._replace(
        is_stop_asked=True)])
    engine.search(max_iterations=max_iterations)
    self.assertEqual([(_Outcome.OVER, reason)], engine.asked("finished"))
    self.assertEqual(_name(0, "b"), engine.files.iteration(0).winner)
    self.assertCountEqual(following, engine.files.model_dir.architectures)

  @parameterized.named_parameters(
      ("best", {"a": 2., "b": 1.}, {}, {}, "b", "", ()),
      ("previous", {"z": 0., "b": 1.}, {}, dict(force_grow=True), "z", "", ()),
      ("nan", {"a": 2., "b": _NAN}, {}, {}, "a", "", ()),
      ("only_one_has_trained", {"a": 2., "b": _INF}, {"b": 0}, {}, "a",
       "it is the only one that has trained", ("t{}_b",)),
      ("others_have_not_trained", {"a": 2., "b": 1., "c": _INF}, {"c": 0}, {},
       "b", "", ("t{}_c",)),
      ("alone", {"a": 2.}, {}, {}, "a", "it is the only candidate", ()),
      ("no_step", {"a": 2.}, {"a": 0}, {}, "a", "it is the only candidate",
       ("t{}_a",)),
      ("replay", {"a": _INF, "b": 2., "c": 1.}, {"a": 0},
       dict(replay_config=replay.Config([1])), "b", "replay_config says so",
       ("t{}_a",)),
      ("replay_of_before", {"z": 1., "b": _INF}, {"b": 0},
       dict(replay_config=replay.Config([0])), "z",
       "it is the only one that has trained", ("t{}_b",)),
      ("replay_of_one_that_has_not_trained", {"a": 1., "b": _INF}, {"b": 0},
       dict(replay_config=replay.Config([1])), "b", "replay_config says so",
       ("t{}_b",)),
      ("evaluator", {"a": 2., "b": 1.}, {"a": 0}, dict(evaluator=_Rater()),
       None, "", ("t{}_a",)))
  def test_undecided(self, averages, steps, rules, leader, reason, untrained):
    before = "z" if "z" in averages else None
    number = int(before is not None)
    engine = _Engine([_trained(
        number, averages, before, _Ending.MAX_STEPS, 17, steps=steps)], **rules)
    engine.search(max_steps=17)
    event, = _of(engine, events.IterationUndecided)
    self.assertEqual((number, 17, tuple(
        name.format(number) for name in untrained)),
                     (event.iteration_number, event.global_step,
                      event.untrained))
    self.assertEqual("loss" if leader is None else "adanet_loss",
                     event.metric_name)
    record = engine.files.undecided()
    self.assertEqual(reason, record.reason)
    if leader is None:
      self.assertIsNone(event.choice)
    else:
      self.assertEqual(
          _name(number - (leader == before), leader), record.leader)
    self.assertNotIn("values", engine.num_calls)

  def test_nothing_has_trained(self):
    engine = _Engine([_trained(
        0, {"a": _INF, "b": _INF}, ending=_Ending.TIME_IS_UP, global_step=1)])
    engine.search()
    self.assertEmpty(_of(engine, events.IterationUndecided))
    self.assertIsNone(engine.files.undecided())

  @parameterized.parameters(
      ({"a": _NAN, "b": .5}, ""),
      ({"a": _NAN, "b": _NAN},
       "all subnetworks of the last iteration diverged, and "))
  def test_last_iteration_diverged(self, losses, expected):
    engine = _Engine([_trained(0, {"a": 1., "b": 2.}, losses=losses)])
    engine.search(max_iterations=1)
    self.assertEqual(expected + "it reached max_iterations=1",
                     engine.files.end().reason)

  def test_nothing_new_has_not_diverged(self):
    iteration = _trained(0, {"a": 1.})
    engine = _Engine([iteration._replace(progress=iteration.progress._replace(
        steps={}, losses={}))])
    engine.search(max_iterations=1)
    self.assertEqual("it reached max_iterations=1", engine.files.end().reason)

  @parameterized.parameters((1., True), (_NAN, False))
  def test_warns_of_nan_that_the_loss_does_not_show(self, average, warns):
    engine = _Engine([_trained(
        0, {"a": average, "b": 2.}, not_finite={"t0_a": "kernel"})])
    with mock.patch.object(logging, "warning") as warning:
      engine.search(max_iterations=1)
    self.assertEqual([
        "Iteration 0: t0_a_grow counts as NaN, because its variable 'kernel' "
        "has NaN or infinity. Check the data for NaN, or lower the learning "
        "rate."] * warns, [line % tuple(values) for (line, *values), _ in
                           warning.call_args_list])
    record = engine.files.iteration(0)
    self.assertEqual(_name(0, "b"), record.winner)
    self.assertTrue(math.isnan(record.candidates[0].value))

  @parameterized.parameters(KeyboardInterrupt, SystemExit)
  def test_signal(self, error):
    engine = _Engine([_two_iterations()[0], error()])
    with self.assertRaises(error):
      engine.search(max_iterations=2)
    self.assertEqual([(_Outcome.STOPPED, "the chief was asked to stop")],
                     engine.asked("finished"))
    # Training goes on from there, so the input does, too.
    self.assertTrue(engine.files.model_dir.has_input_positions)
    self.assertIsNone(engine.files.end())

  def test_another_error_tells_nobody_that_it_is_over(self):
    engine = _Engine([RuntimeError("lost")])
    with self.assertRaisesRegex(RuntimeError, "lost"):
      engine.search()
    self.assertEmpty(engine.asked("finished"))

  def test_job_is_over(self):
    engine = _Engine()
    engine.is_over = True
    engine.search()
    self.assertEqual({"opened": 1}, engine.num_calls)

  @mock.patch.object(waiting, "_SPACE_SECS", 0.)
  def test_full_disk_is_waited_for(self):
    engine = _Engine(_two_iterations(), report_materializer=object())
    engine.files.model_dir.full = 2
    engine.search(max_iterations=2)
    self.assertEqual(0, engine.files.model_dir.full)
    self.assertIn(0, engine.files.model_dir.architectures)
    self.assertEqual({"reports": 1, "written": 3}, {
        name: engine.num_calls[name] for name in ("reports", "written")})

  def test_full_disk_is_not_waited_for_for_ever(self):
    engine = _Engine(_two_iterations())
    engine.files.model_dir.full = 2
    with self.assertRaisesRegex(
        waiting.WaitTimeoutError, "space on the full disk of model: free some"):
      engine.search(max_iterations=2, wait_timeout_secs=0.)

  def test_weights(self):
    engine = _Engine(_two_iterations())
    engine.iterations[1].weights.pop(_name(0, "b"))  # It trains no more.
    engine.iterations[0].weights[_name(0, "b")] = [.75]
    engine.search(max_iterations=2)
    self.assertEqual([(.75,), (.5, .5)], [
        candidate.weights
        for candidate in engine.files.iteration(1).candidates])


class ReportsTest(parameterized.TestCase):
  """The reports of builders, for the builders of the next iteration."""

  def test_none_without_a_materializer(self):
    engine = _Engine(_two_iterations())
    engine.search(max_iterations=2)
    self.assertEqual({"opened": 1, "train": 2, "finished": 1}, engine.num_calls)

  def test_only_members_of_the_iteration_are_included(self):
    engine = _Engine(_two_iterations() + [_trained(
        2, {"c": 0., "d": 1.}, before="c")], report_materializer=object())
    engine.search(max_iterations=3)
    self.assertEqual([(0, ("b",)), (1, ("c",))], engine.asked("reports"))
    self.assertEqual(
        [(t, [f"report of iteration {t}"]) for t in range(2)],
        engine.asked("written"))


class FittedTest(parameterized.TestCase):
  """Winners that no checkpoint has, until the search saves them."""

  def _engine(self, steps=None):
    engine = _Engine([
        _trained(0, {}, fitted="ab", steps=steps),
        _trained(1, {}, before="b", fitted="c")], evaluator=_Rater(),
                     report_materializer=object())
    first, second = (iteration.candidates for iteration in engine.iterations)
    engine.fits_of = {
        0: hand_written.fits(first, {_name(0, "a"): 2., _name(0, "b"): 1.}),
        1: hand_written.fits(second, {_name(0, "b"): 1., _name(1, "c"): 2.})}
    return engine

  def test_winner_is_saved(self):
    engine = self._engine(steps={"a": 8, "b": 9})
    engine.search(max_iterations=2)
    # The previous ensemble, which wins then, was saved before.
    (checkpoint, saved), = engine.asked("saved_with")
    self.assertEqual("model/model.ckpt-10", checkpoint)
    # It is as far as the furthest network: nothing has to catch up.
    self.assertEqual({"t0_b_grow/weight": 1., "t0_b_grow/step": 9}, saved)
    self.assertEqual("model/model.ckpt-10.1",
                     engine.asked("train")[1].checkpoint)
    first, second = map(engine.files.iteration, range(2))
    self.assertEqual(
        ("model.ckpt-10.1", _name(0, "b"), {"t0_b": 1.}, (1.,)),
        (first.checkpoint, first.winner, first.fit.members,
         first.winning.weights))
    self.assertEqual(.5, first.subnetworks["t0_a"].held_out_loss)
    self.assertEqual(("model.ckpt-20", _name(0, "b"), None, (1.,)),
                     (second.checkpoint, second.winner, second.fit,
                      second.winning.weights))
    ended, = _of(engine, events.IterationEnded)[:1]
    self.assertEqual(first.fit, ended.fit)

  def test_saved_before_it_is_told_and_recorded(self):
    engine = self._engine()
    def failing(*args):
      raise RuntimeError("killed")
    engine.saved_with = failing
    with self.assertRaisesRegex(RuntimeError, "killed"):
      engine.search(max_iterations=2)
    self.assertEmpty(engine.events)
    self.assertIsNone(engine.files.iteration(0))
    self.assertEmpty(engine.files.model_dir.architectures)

  def test_nothing_undecided_is_told_where_the_evaluator_must_say(self):
    engine = self._engine()
    engine.iterations[0] = engine.iterations[0]._replace(
        ending=_Ending.MAX_STEPS)
    engine.search(max_steps=10)
    event, = _of(engine, events.IterationUndecided)
    self.assertIsNone(event.choice)
    self.assertNotIn("fits", engine.num_calls)


class RestartTest(parameterized.TestCase):
  """A search that goes on."""

  def _stopped(self, iterations, number, step, **rules):
    """Returns the engine of a search after a signal in the next iteration."""
    engine = _Engine(list(iterations) + [KeyboardInterrupt()], **rules)
    with self.assertRaises(KeyboardInterrupt):
      engine.search(max_iterations=9)
    model_dir = engine.files.model_dir
    model_dir.saved[f"model/model.ckpt-{step}"] = (step, number)
    engine.calls.clear()
    engine.events.clear()
    return engine

  def test_behind_what_is_decided(self):
    engine = self._stopped(
        [_trained(0, {"a": 2., "b": 1.})], 0, 10, report_materializer=object())
    engine.iterations = [_two_iterations()[1]]
    engine.search(max_iterations=2)
    start, = engine.asked("train")
    self.assertEqual((1, "model/model.ckpt-10", True), start[:3])
    self.assertEqual({"opened": 1, "train": 1, "finished": 1}, engine.num_calls)
    self.assertEqual([1], [event.iteration_number for event in _of(
        engine, events.IterationEnded)])

  @parameterized.parameters(
      (0, 5, 0),  # A checkpoint before the end of the iteration: restored.
      (1, 10, 1),  # The checkpoint that begins the next iteration.
      (1, 13, 1))
  def test_in_the_middle(self, number, step, start_number):
    engine = self._stopped([_trained(0, {"a": 2., "b": 1.})], number, step)
    engine.iterations = [_trained(
        number, {"c": 1.}, ending=_Ending.INPUT_ENDED, global_step=step + 1)]
    engine.search(max_iterations=2)
    start, = engine.asked("train")
    self.assertEqual(
        (start_number, f"model/model.ckpt-{step}", False), start[:3])

  def test_decided_but_last_is_decided_again(self):
    """Another rule may say who wins the last iteration."""
    engine = self._stopped([_trained(0, {"a": 2., "b": 1.})], 0, 10)
    engine.setup = engine.setup._replace(rules=engine.setup.rules._replace(
        evaluator=_Rater()))
    engine.values_of[0] = {_name(0, "a"): 1., _name(0, "b"): 2.}
    engine.iterations = [_trained(0, {"a": 2., "b": 1.}, seconds=99.)]
    engine.search(max_iterations=1)
    start, = engine.asked("train")
    self.assertEqual((0, "model/model.ckpt-10", False), start[:3])
    self.assertEqual(_name(0, "a"), engine.files.iteration(0).winner)
    # The time of its training stays.
    self.assertEqual(1., engine.files.iteration(0).seconds)

  def test_time_of_another_run_is_not_kept(self):
    engine = self._stopped([_trained(0, {"a": 2., "b": 1.})], 0, 5)
    engine.iterations = [_trained(
        0, {"a": 1., "b": 2.}, seconds=99., global_step=11)]
    engine.search(max_iterations=1)
    self.assertEqual(99., engine.files.iteration(0).seconds)

  def test_finished(self):
    engine = _Engine(_two_iterations())
    engine.search(max_iterations=2)
    engine.calls.clear()
    engine.events.clear()
    end = engine.files.end()
    with self.assertLogs(level="INFO") as logged:
      engine.search(max_iterations=2)
    reason = "it reached max_iterations=2"
    self.assertEqual([("compare_search", 1, True), ("skipped", reason)],
                     engine.calls)
    self.assertEmpty(engine.events)
    self.assertEqual(end, engine.files.end())
    self.assertRegex(logged.records[-1].getMessage(), (
        r"^Nothing was trained: the search in model_dir 'model' ended at step "
        rf"20 on .*: {reason}\. To train anew, also on other data, use another "
        r"model_dir\.$"))

  @parameterized.named_parameters(
      ("one_more", dict(max_iterations=3), {}, {}, True),
      ("no_limit", {}, {}, {}, True),
      # The record has no reports.
      ("reports", {}, {}, dict(report_materializer=object()), False),
      ("other_rule", dict(max_iterations=2), dict(evaluator=_Rater()), {},
       False))
  def test_finished_but_more_is_asked(self, request, rules, model, goes_behind):
    engine = _Engine(_two_iterations())
    engine.search(max_iterations=2)
    engine.calls.clear()
    engine.setup = engine.setup._replace(
        rules=engine.setup.rules._replace(**rules), **model)
    number = 2 if goes_behind else 1
    engine.iterations = [_trained(
        number, {"c": 1.}, ending=_Ending.INPUT_ENDED, global_step=20)]
    engine.search(**request)
    start, = engine.asked("train")
    self.assertEqual((number, "model/model.ckpt-20", goes_behind), start[:3])
    if goes_behind:
      won = engine.files.model_dir.architectures[1]
      self.assertEqual((20, ("c",)), (won.global_step, won.subnetworks_of(1)))

  @parameterized.parameters(
      (10, False, "step 10 is reached already"),
      (4, False, "step 4 is reached already"),
      (10, True, None), (11, False, None))
  def test_max_steps_is_reached(self, max_steps, behind, reason):
    engine = _Engine([_trained(
        0, {"a": 1.}, ending=_Ending.INPUT_ENDED, global_step=10)])
    engine.search()
    engine.calls.clear()
    engine.files.model_dir.behind = behind
    engine.iterations = [_trained(
        0, {"a": 1.}, ending=_Ending.INPUT_ENDED, global_step=12)]
    engine.search(max_steps=max_steps)
    self.assertEqual(
        ["opened", "train", "finished"] if reason is None else
        ["compare_search", "skipped"], [call[0] for call in engine.calls])
    if reason is not None:
      self.assertEqual([("compare_search", 0, False), ("skipped", reason)],
                       engine.calls)

  def test_steps_are_from_here(self):
    engine = self._stopped([_trained(0, {"a": 2., "b": 1.})], 0, 10)
    engine.iterations = [_trained(
        1, {"b": 1., "c": 2.}, "b", _Ending.MAX_STEPS, 13)]
    engine.search(steps=3)
    request, = engine.asked("opened")
    self.assertEqual((None, 13), (request.steps, request.max_steps))
    self.assertLen(_of(engine, events.IterationUndecided), 1)

  def test_no_gain_before(self):
    engine = _Engine([
        _trained(0, {"a": 2., "b": 1.}),
        _trained(1, {"b": 3., "c": 1.}, before="b")], patience=1)
    engine.search(max_iterations=9)
    reason = "patience=1: the last winner is no better than 1 (adanet_loss)"
    self.assertEqual(reason, engine.files.end().reason)
    # The winner is ready for who asks for more.
    self.assertCountEqual([0, 1], engine.files.model_dir.architectures)
    for max_iterations in (9, 2):
      engine.calls.clear()
      engine.search(max_iterations=max_iterations)
      self.assertEqual([("compare_search", 1, False), ("skipped", reason)],
                       engine.calls)
    # Who asks for less patience goes on.
    engine.setup = engine.setup._replace(
        rules=engine.setup.rules._replace(patience=2))
    engine.iterations = [_trained(2, {"c": 1., "d": 9.}, before="c")]
    engine.search(max_iterations=3)
    start, = engine.asked("train")
    self.assertEqual((2, True), (start.number, start.starts_iteration))

  @parameterized.parameters(
      # The record of its last iteration counts, though no next one was meant.
      (9, False, "patience=1: the last winner is no better than 1 "
       "(adanet_loss)"),
      (2, True, "it reached max_iterations=2"))
  def test_more_is_asked_without_patience(
      self, max_iterations, with_builders, reason):
    engine = _Engine([
        _trained(0, {"a": 2., "b": 1.}),
        _trained(1, {"b": 3., "c": 1.}, before="b")])
    engine.search(max_iterations=2)
    engine.calls.clear()
    engine.setup = engine.setup._replace(
        rules=engine.setup.rules._replace(patience=1))
    engine.search(max_iterations=max_iterations)
    self.assertEqual([("compare_search", 1, with_builders),
                      ("skipped", reason)], engine.calls)

  def test_an_iteration_that_began_is_trained_without_patience(self):
    engine = self._stopped([
        _trained(0, {"a": 2., "b": 1.}),
        _trained(1, {"b": 3., "c": 1.}, before="b")], 2, 23)
    engine.setup = engine.setup._replace(
        rules=engine.setup.rules._replace(patience=1))
    engine.iterations = [_trained(2, {"c": 1., "d": 9.}, before="c")]
    engine.search(max_iterations=9)
    self.assertLen(engine.asked("train"), 1)

  def test_an_end_elsewhere_says_not_since_when(self):
    engine = self._stopped([_trained(0, {"a": 2., "b": 1.})], 0, 10)
    engine.files.write_end(3, "another reason")
    with self.assertLogs(level="INFO") as logged:
      engine.search(max_steps=10)
    self.assertIn("ended at step 10: step 10 is reached already. To",
                  logged.records[-1].getMessage())


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
      trained = _trained(t, {"a": 0.})
      choice = selection.Choice(0, _name(t, "a"), value)
      files.write_iteration(
          events.IterationEnded(t, choice, 1.),
          winner_lib.Winner(choice, trained.candidates.architectures),
          trained, trained.candidates.checkpoint, {})
  return loop_lib.no_gain(
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
       dict(patience=1, evaluator=_Rater(
           np.nanargmax, "adanet_loss")), ""),
      ("no_greater", [2., 1.],
       dict(patience=1, evaluator=_Rater(
           np.nanargmax, "adanet_loss")),
       "patience=1: the last winner is no better than 2 (adanet_loss)"),
      ("without_values", [1., None, _NAN, 2.], dict(patience=2), ""),
      ("better_since", [2., 3., 1., 4.], dict(patience=2), ""),
      ("by_another_evaluator", [1., 2.],
       dict(patience=1, evaluator=_Rater()), ""))
  def test_no_gain(self, values, rules, expected):
    self.assertEqual(expected, _no_gain(values, **rules))

  def test_later_iterations_do_not_count(self):
    self.assertEqual("", _no_gain([2., 1., 9.], number=1, patience=1))


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
      self.assertEqual(expected, loop_lib.no_time(
          trainer.Request(print, max_seconds=60., deadline=deadline), seconds))


class ImportTest(absltest.TestCase):

  def test_tensorflow_is_not_needed(self):
    engine = _Engine(_two_iterations(), report_materializer=object())
    engine.search(max_iterations=2)
    self.assertNotIn("tensorflow", sys.modules)


if __name__ == "__main__":
  absltest.main()

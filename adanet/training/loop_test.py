# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of who trains next and why a loop ends, without a graph or a session.

The runs of a session are a fake: its variables are a dict of steps. What other
tasks do between the runs, the test does itself.
"""

import math
import types
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet.core import events
from adanet.core import selection
from adanet.training import ending as ending_lib
from adanet.training import loop as loop_lib
from adanet.training import runs
from adanet.training import train_ops
import numpy as np

_STEPS = 12
_NAMES = ("a", "b", "c")
_ENSEMBLES = ("e", "f")
_Ending = ending_lib.Ending


class _Clock:
  """Stands still unless something takes time."""

  def __init__(self):
    self.now = 1000.

  def time(self):
    return self.now

  monotonic = time


class _OutOfRangeError(Exception):
  """Stands for that of TensorFlow."""


class _Runs:
  """Is also the session: it has the variables.

  Attributes:
    steps: dict from each name to its step.
    seen: list of pairs: the names of a run, and all steps after it.
  """

  was_new = False

  def __init__(self, ops, clock):
    self.steps = dict.fromkeys(_NAMES + _ENSEMBLES, 0)
    self.seen = []
    self.costs = {}  # The seconds of a step.
    self.num_batches = None
    self.num_batches_of = {}  # Of who has an input of its own, by name.
    self.nan_from = {}  # At which step a loss becomes NaN.
    self.before_look = lambda: None
    self._ops, self._clock = ops, clock

  def start(self, session):
    return ({name: self.steps[name] for name in self._ops.trainees},
            *self.look(session))

  def _observed(self):
    return [self.steps[name] for name in self._ops.observed], int(
        np.mean([self.steps[name] for name in _NAMES]))

  def look(self, session):
    del session
    self.before_look()
    return self._observed()

  def _loss(self, name):
    return math.nan if self.steps[name] >= self.nan_from.get(
        name, math.inf) else 1.

  def train(self, session, names, global_step, finished):
    del session, global_step, finished
    of_turn = sum(seen == names for seen, _ in self.seen)
    if (len(self.seen) == self.num_batches or
        of_turn == self.num_batches_of.get(names[0])):
      raise _OutOfRangeError
    for name in names:
      self.steps[name] += 1
      self._clock.now += self.costs.get(name, 1.)
    self.seen.append((names, dict(self.steps)))
    observed, global_step = self._observed()
    return {
        "steps": np.array([self.steps[name] for name in names]),
        "losses": np.array([self._loss(name) for name in names]),
        "averages": [self._loss(name) for name in self._ops.averages
                     if len(self._ops.averages) > 1],
        "observed": observed, "global_step": global_step,
        "summaries": None}


def _ops(names=_NAMES, ensembles=(), fractions=None, observed=(),
         is_part=False):
  """Returns what a task trains, as `TrainOps` has it.

  Args:
    names: of the subnetworks.
    ensembles: their names.
    fractions: tuple, the part of the time of each of these, and of the
      ensembles; None if all train in each run.
    observed: the names of those that are observed.
    is_part: see `TrainOps`.
  """
  trainees = {
      name: types.SimpleNamespace(is_subnetwork=name in names, step=name)
      for name in (*names, *ensembles)}
  pacemakers = tuple(
      name for name in observed if name in _NAMES) if ensembles else ()
  return types.SimpleNamespace(
      trainees=trainees, averages=dict.fromkeys(ensembles), is_part=is_part,
      observed=dict.fromkeys(observed), pacemakers=pacemakers,
      fractions=fractions and dict(
          zip((*names, train_ops.ENSEMBLES), fractions)))


def _in_turn(*fractions):
  """Returns the ops of a task that trains all subnetworks and no ensemble."""
  return _ops(fractions=fractions or (1., 1., 1.), observed=_NAMES)


def _alone(**arguments):
  """Returns the ops of a process that trains all in each run."""
  return _ops(ensembles=_ENSEMBLES, **arguments)


def _chief(names=("a",), fractions=(.5, .5)):
  """Returns the ops of a chief with ensembles and some subnetworks."""
  return _ops(names, _ENSEMBLES, fractions, _NAMES)


def _shares_ensembles():
  """Returns the ops of a task that trains ensembles alone, as others do."""
  return _ops((), _ENSEMBLES, None, _NAMES + _ENSEMBLES)


class LoopTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.clock = _Clock()
    self.enter_context(mock.patch.object(loop_lib, "time", self.clock))
    # It takes seconds to import.
    self.enter_context(mock.patch.object(loop_lib, "tf_compat"))
    loop_lib.tf_compat.v1.errors.OutOfRangeError = _OutOfRangeError
    self.events = []
    self.noted = []
    self.waits = []
    self.saver = mock.Mock(**{"is_due.return_value": False})
    self.hooks = runs.HookRunner([])
    self.others = {}  # How many steps others take while this one waits.

  def _wait_for(self, unfinished):
    self.waits.append(dict(unfinished))
    stopped = set()
    for name in unfinished:
      if self.others.get(name):
        self.others[name] -= 1
        self.runs.steps[name] += 1
      else:
        stopped.add(name)
    return stopped

  def make(self, ops, max_steps=None, deadline=None, steps=None, stopped=(),
           iteration_steps=_STEPS, input_turn=None, **context):
    """Makes `loop`, and starts it where some steps are done.

    Args:
      ops: what it trains.
      max_steps: int or None.
      deadline: float, after how many seconds it is over; or None.
      steps: dict from a name to its step at the start.
      stopped: names that an earlier run has stopped.
      iteration_steps: int or None.
      input_turn: anything, if each turn has an input of its own.
      **context: of the `LoopContext`.
    """
    self.runs = _Runs(ops, self.clock)
    self.runs.steps.update(steps or {})
    with mock.patch.object(loop_lib.runs_lib, "Runs", return_value=self.runs):
      self.loop = loop_lib.Loop(
          0, ops, iteration_steps, max_steps,
          None if deadline is None else self.clock.now + deadline, self.hooks,
          self.saver, mock.Mock(), loop_lib.LoopContext(
              self.events.append, **{
                  "mark_stopped": lambda *note: self.noted.append(note),
                  "wait_for": self._wait_for, **context}),
          input_turn=input_turn)
    self.loop.start(self.runs, lambda steps: dict.fromkeys(stopped, "noted"))

  def train(self, ops, **arguments):
    """Makes a loop, and trains; returns why it ended."""
    self.make(ops, **arguments)
    return self.loop.run(self.runs)

  def steps(self, names):
    return {name: self.runs.steps[name] for name in names}

  def assert_keeps_pace(self):
    """No ensemble was more than a step ahead of the slowest subnetwork."""
    for _, steps in self.runs.seen:
      for name in _ENSEMBLES:
        self.assertLessEqual(
            steps[name], min(steps[name] for name in _NAMES) + 1)


class EndingTest(LoopTest):

  @parameterized.named_parameters(
      ("iteration", _Ending.ITERATION_OVER, _STEPS, {}),
      ("max_steps", _Ending.MAX_STEPS, 5, {"max_steps": 5}),
      ("max_steps_before", _Ending.MAX_STEPS, 0, {"max_steps": 0}),
      # Five names take a second each.
      ("time", _Ending.TIME_IS_UP, 2, {"deadline": 10}),
      ("one_step_in_any_case", _Ending.TIME_IS_UP, 1, {"deadline": -1}),
      ("signal", _Ending.SIGNAL, 1, {"asked_to_stop": lambda: True}))
  def test_ending(self, ending, steps, arguments):
    self.assertEqual(ending, self.train(_alone(), **arguments))
    self.assertEqual(dict.fromkeys(_NAMES + _ENSEMBLES, steps), self.loop.steps)
    self.assertEqual(self.loop.steps, self.loop.trained)
    self.assertEqual(steps, self.loop.global_step)

  @parameterized.parameters(None, _STEPS)
  def test_input(self, iteration_steps):
    self.make(_alone(), iteration_steps=iteration_steps)
    self.runs.num_batches = 8
    for _ in range(2):  # Also in another session.
      self.assertEqual(_Ending.INPUT_ENDED, self.loop.run(self.runs))
      self.assertEqual(8, self.loop.global_step)

  def test_input_of_a_chief_that_loses_a_server_behind_it(self):
    unfinished = []

    def wait_for(steps):
      if not unfinished:
        unfinished.append(steps)
        raise ConnectionError
      return set(steps)

    self.make(_chief(), wait_for=wait_for)
    self.runs.num_batches = 3
    with self.assertRaises(ConnectionError):
      self.loop.run(self.runs)
    self.loop.start(self.runs, lambda steps: {})
    self.assertEqual(_Ending.INPUT_ENDED, self.loop.run(self.runs))

  @parameterized.parameters((_STEPS, _Ending.ITERATION_OVER),
                            (_STEPS - 1, _Ending.INPUT_ENDED))
  def test_input_of_a_chief_that_ends_before_that_of_others(
      self, last_step, ending):
    """They train all that it trains, in each of their runs."""
    waits = []

    def wait_for(unfinished):
      waits.append(unfinished)
      if self.runs.steps["a"] == last_step:
        return set(unfinished)
      for name in _NAMES + _ENSEMBLES:
        self.runs.steps[name] += 1
      return set()

    self.make(_alone(), wait_for=wait_for, also_trained=_NAMES)
    self.runs.num_batches = 3
    self.assertEqual(ending, self.loop.run(self.runs))
    self.assertEqual(dict.fromkeys(_NAMES, 3), waits[0])
    self.assertEqual(dict.fromkeys(_NAMES + _ENSEMBLES, last_step),
                     self.loop.steps)
    self.assertEqual(dict.fromkeys(_NAMES + _ENSEMBLES, 3), self.loop.trained)

  def test_input_of_a_worker_that_is_no_chief(self):
    """Nobody waits for it: other workers with ensembles may wait, too."""
    self.make(_chief(), is_chief=False)
    self.runs.num_batches = 3
    self.assertEqual(_Ending.INPUT_ENDED, self.loop.run(self.runs))
    self.assertEmpty(self.waits)

  def test_hook_of_a_user(self):
    self.make(_alone(), asked_to_stop=lambda: True)
    train = self.runs.train

    def train_and_stop(*args):
      self.hooks.is_stop_asked = True
      return train(*args)

    self.runs.train = train_and_stop
    for _ in range(2):  # Also in another session.
      self.assertEqual(_Ending.STOP_ASKED, self.loop.run(self.runs))
      self.assertEqual(1, self.loop.global_step)

  @parameterized.parameters((3, True, _Ending.STOP_ASKED, 3),
                            (3, False, _Ending.ITERATION_OVER, _STEPS),
                            (_STEPS, True, _Ending.ITERATION_OVER, _STEPS))
  def test_listener(self, saved, asks, ending, steps):
    self.saver.is_due.side_effect = lambda step: step == saved
    self.saver.save.return_value = asks
    self.assertEqual(ending, self.train(_alone()))
    self.assertEqual(ending, self.loop.run(self.runs))  # Another session.
    self.saver.save.assert_called_once_with(self.runs)
    self.assertEqual(steps, self.loop.global_step)

  def test_note_that_a_disk_refuses_is_written_in_the_next_session(self):
    refused = []

    def mark_stopped(*note):
      if not refused:
        refused.append(note)
        raise ConnectionError
      self.noted.append(note)

    self.make(_ops(("a",)), mark_stopped=mark_stopped)
    with self.assertRaises(ConnectionError):
      self.loop.run(self.runs)
    self.loop.start(self.runs, lambda steps: {})
    self.assertEqual(_Ending.ITERATION_OVER, self.loop.run(self.runs))
    self.assertEqual(refused, self.noted)

  def test_who_is_done_is_noted(self):
    self.train(_alone())
    self.assertEqual(
        [(name, "Training complete after 12 steps.", _STEPS)
         for name in _NAMES + _ENSEMBLES], self.noted)
    self.assertEqual(
        [events.Stopped(0, name, reason, is_complete=True)
         for name, reason, _ in self.noted],
        [event for event in self.events if isinstance(event, events.Stopped)])

  @parameterized.parameters(
      (dict(steps=dict.fromkeys(_NAMES + _ENSEMBLES, _STEPS)),
       _Ending.ITERATION_OVER),
      (dict(stopped=_NAMES), _Ending.ITERATION_OVER),
      (dict(stopped=_NAMES[:2]), None),
      (dict(max_steps=0), _Ending.MAX_STEPS))
  def test_ending_before_the_first_step(self, arguments, ending):
    self.make(_alone(), **arguments)
    self.assertEqual(ending, self.loop.ending())

  def test_what_was_stopped_before_trains_no_further(self):
    self.train(_alone(), steps={"a": 3}, stopped=["a", "e"])
    self.assertEqual({"a": 3, "b": _STEPS, "c": _STEPS, "e": 0, "f": _STEPS},
                     self.runs.steps)
    self.assertNotIn("a", [name for name, _, _ in self.noted])

  def test_progress(self):
    self.make(_alone(), max_steps=4)
    self.loop.run(self.runs)
    progress = self.loop.progress(rate=2.)
    self.assertEqual(
        (4, self.loop.steps), (progress.global_step, progress.steps))
    self.assertEqual(4., progress.seconds_left)
    self.assertIsNone(self.loop.progress().seconds_left)


class NanTest(LoopTest):

  def test_one_of_some(self):
    self.make(_alone(), not_finite=lambda: "features")
    self.runs.nan_from = {"b": 3, "f": 5}
    self.assertEqual(_Ending.ITERATION_OVER, self.loop.run(self.runs))
    self.assertEqual({"a": _STEPS, "b": 3, "c": _STEPS, "e": _STEPS, "f": 5},
                     self.runs.steps)
    self.assertEqual(
        ("b", "Its loss is NaN after 3 steps. The input has NaN or infinity in "
         "features.", 3), self.noted[0])
    self.assertEqual(["b", "f"], [
        event.name for event in self.events
        if isinstance(event, events.Stopped) and event.is_nan])

  def test_all_ensembles(self):
    self.make(_alone())
    self.runs.nan_from = {"e": 3, "f": 5}
    with self.assertRaises(selection.AllNaNError):
      self.loop.run(self.runs)
    self.assertEqual(5, self.runs.steps["a"])

  def test_one_ensemble_alone_whose_average_is_not_read(self):
    self.make(_ops(ensembles=["e"]))
    self.runs.nan_from = {"e": 3}
    with self.assertRaises(selection.AllNaNError):
      self.loop.run(self.runs)

  def test_part(self):
    self.make(_alone(is_part=True))
    self.runs.nan_from = {"e": 3, "f": 5}
    self.assertEqual(_Ending.ITERATION_OVER, self.loop.run(self.runs))


class PartTest(LoopTest):

  def test_ensembles_outlast_subnetworks_that_are_stopped(self):
    """A subnetwork of another part may train to the limit."""
    self.assertEqual(_Ending.ITERATION_OVER, self.train(
        _alone(is_part=True), stopped=_NAMES))
    self.assertEqual(dict.fromkeys(_ENSEMBLES, _STEPS), self.steps(_ENSEMBLES))

  def test_without_a_limit_they_do_not(self):
    self.train(_alone(is_part=True), stopped=_NAMES, iteration_steps=None)
    self.assertEmpty(self.runs.seen)


class TurnsTest(LoopTest):

  def test_one_trains_in_each_run(self):
    self.assertEqual(_Ending.ITERATION_OVER, self.train(_in_turn()))
    self.assertEqual([(name,) for name in _NAMES] * _STEPS,
                     [names for names, _ in self.runs.seen])
    self.assertEqual(dict.fromkeys(_NAMES, _STEPS), self.loop.trained)
    self.assertEqual(_STEPS, self.loop.global_step)
    self.assertEqual(dict.fromkeys(_NAMES, float(_STEPS)), self.loop.seconds)
    self.assertEmpty(self.waits)

  def test_each_has_an_input_of_its_own(self):
    self.make(_in_turn(), input_turn="fed")
    self.runs.num_batches_of = {"a": 3, "c": 5}
    self.assertEqual(_Ending.INPUT_ENDED, self.loop.run(self.runs))
    self.assertEqual({"a": 3, "b": _STEPS, "c": 5}, self.steps(_NAMES))

  def test_input_of_ensembles_that_ends_first(self):
    self.make(_chief(), input_turn="fed")
    self.runs.num_batches_of = {"e": 3}
    self.others = {"b": _STEPS, "c": _STEPS}
    self.assertEqual(_Ending.INPUT_ENDED, self.loop.run(self.runs))
    self.assertEqual({"a": _STEPS, "e": 3, "f": 3},
                     self.steps(("a",) + _ENSEMBLES))

  def test_time_is_divided(self):
    self.train(_in_turn(.1, .1, .8))
    at = next(steps for _, steps in self.runs.seen if steps["c"] == _STEPS)
    self.assertBetween(at["a"] + at["b"], 2, 4)
    # What it leaves goes to the rest.
    self.assertEqual(dict.fromkeys(_NAMES, _STEPS), self.steps(_NAMES))

  def test_first_run_takes_longer_and_does_not_count(self):
    self.make(_in_turn())
    self.runs.was_new = True
    self.loop.run(self.runs)
    self.assertEqual(["a"] * _STEPS, [
        name for (name,), _ in self.runs.seen[:_STEPS]])

  def test_one_that_others_finish(self):
    self.make(_in_turn())
    train = self.runs.train

    def others_too(*args):
      self.runs.steps["b"] = _STEPS
      return train(*args)

    self.runs.train = others_too
    self.loop.run(self.runs)
    self.assertLessEqual(self.loop.trained["b"], 1)
    self.assertEqual(2 * _STEPS, self.loop.trained["a"] + self.loop.trained["c"])

  @parameterized.parameters(
      ((("a", "b"), (.25, .25, .5)),),
      ((("a",), (.5, .5)),))
  def test_chief_that_trains(self, arguments):
    self.others = dict.fromkeys(_NAMES, _STEPS)
    self.assertEqual(_Ending.ITERATION_OVER, self.train(_chief(*arguments)))
    self.assertEqual(dict.fromkeys(_NAMES + _ENSEMBLES, _STEPS),
                     self.loop.steps)
    # It trains its own and the ensembles, these all in one run.
    names = arguments[0]
    self.assertEqual(dict.fromkeys(names + _ENSEMBLES, _STEPS),
                     self.loop.trained)
    self.assertEqual({*((name,) for name in names), _ENSEMBLES},
                     {names for names, _ in self.runs.seen})
    self.assert_keeps_pace()

  def test_chief_does_not_wait_for_what_nobody_trains(self):
    self.assertEqual(_Ending.ITERATION_OVER, self.train(_chief()))
    self.assertEqual(_STEPS, self.runs.steps["e"])
    self.assertLen(self.waits, 1)
    self.assertEqual(_Ending.ITERATION_OVER, self.train(
        _chief(), untrained=("b", "c")))
    self.assertLen(self.waits, 1)

  def test_chief_ends_where_another_task_was_stopped(self):
    self.assertEqual(_Ending.STOP_ASKED, self.train(
        _chief(), wait_for=lambda unfinished: None))

  @parameterized.parameters((.2, 1, 2), (.8, 6, 7))
  def test_ensembles_have_their_part_of_the_time(self, part, least, most):
    self.make(_chief(fractions=(1 - part, part)), steps={"b": _STEPS,
                                                         "c": _STEPS})
    self.runs.costs = {"e": .5, "f": .5}
    self.loop.run(self.runs)
    half = next(steps for _, steps in self.runs.seen
                if steps["a"] == _STEPS // 2)
    self.assertBetween(half["e"], least, most)

  def test_some_steps_of_ensembles_are_left_to_others(self):
    self.train(_chief(), steps={"b": _STEPS, "c": _STEPS},
               shares_ensembles=True)
    self.assertEqual(dict.fromkeys(_ENSEMBLES, _STEPS), self.steps(_ENSEMBLES))
    for _, steps in self.runs.seen:
      if steps["a"] < _STEPS:
        # It could have been one step ahead.
        self.assertLessEqual(steps["e"], max(0, steps["a"] - 2))

  @parameterized.parameters(range(1, 5))
  def test_does_not_wait_for_others_that_are_done(self, when):
    self.others = dict.fromkeys(_NAMES, _STEPS)
    self.make(_shares_ensembles(), shares_ensembles=True)
    count = iter(range(100))

    def others_are_done():
      if next(count) == when:
        self.runs.steps = dict.fromkeys(self.runs.steps, _STEPS)

    self.runs.before_look = others_are_done
    self.assertEqual(_Ending.ITERATION_OVER, self.loop.run(self.runs))
    self.assertNotIn({}, self.waits)
    self.assertEqual(_STEPS, max(self.runs.steps.values()))

  def test_max_steps_of_a_chief(self):
    self.others = dict.fromkeys(_NAMES, _STEPS)
    self.assertEqual(_Ending.MAX_STEPS, self.train(_chief(), max_steps=5))
    # The ensembles have caught up with the slowest.
    slowest = min(self.steps(_NAMES).values())
    self.assertEqual(dict.fromkeys(_ENSEMBLES, slowest + 1),
                     self.steps(_ENSEMBLES))

  @parameterized.parameters(0, 1)
  def test_input(self, trains_ensembles):
    self.make(_chief() if trains_ensembles else _in_turn())
    self.runs.num_batches = 8
    self.assertEqual(_Ending.INPUT_ENDED, self.loop.run(self.runs))
    self.assertLen(self.runs.seen, 8)


class BehindTest(LoopTest):
  """A checkpoint of a cluster may have ensembles behind their subnetworks."""

  @parameterized.parameters(
      # The steps of subnetworks, of ensembles, and up to which to train.
      (5, 2, None, _Ending.ITERATION_OVER),
      (_STEPS, 3, _STEPS, _Ending.MAX_STEPS),
      (5, 5, 5, _Ending.MAX_STEPS))
  def test_ensembles_catch_up(self, step, ensemble_step, max_steps, ending):
    self.make(_alone(), max_steps=max_steps, steps={
        **dict.fromkeys(_NAMES, step),
        **dict.fromkeys(_ENSEMBLES, ensemble_step)})
    self.assertEqual(step == ensemble_step, self.loop.ending() is not None)
    self.assertEqual(ending, self.loop.run(self.runs))
    end = max_steps or _STEPS
    self.assertEqual(dict.fromkeys(_NAMES + _ENSEMBLES, end), self.runs.steps)
    self.assertEqual(end, self.loop.global_step)

  def test_one_of_two(self):
    self.train(_alone(), steps={**dict.fromkeys(_NAMES, _STEPS), "e": _STEPS,
                                "f": 3})
    self.assertEqual(dict.fromkeys(_ENSEMBLES, _STEPS), self.steps(_ENSEMBLES))
    self.assertEqual([("f",)] * 9, [names for names, _ in self.runs.seen])

  def test_one_that_a_hook_stopped_now_is_not_behind(self):
    """It ends with its subnetworks, as it was not restored behind them."""
    self.make(_alone())
    self.runs.nan_from = {"e": 3}
    self.loop.run(self.runs)
    self.assertEqual(3, self.runs.steps["e"])

  @parameterized.parameters(((),), (("a",),))
  def test_chief_at_max_steps(self, names):
    self.train(_ops(names, _ENSEMBLES, names and (.5, .5), _NAMES), max_steps=5,
               steps={**dict.fromkeys(_NAMES, 5), **dict.fromkeys(
                   _ENSEMBLES, 2)})
    self.assertEqual(dict.fromkeys(_ENSEMBLES, 6), self.steps(_ENSEMBLES))
    self.assertEqual(dict.fromkeys(_NAMES, 5), self.steps(_NAMES))


if __name__ == "__main__":
  absltest.main()

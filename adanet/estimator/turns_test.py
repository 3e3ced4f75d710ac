# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of a worker whose subnetworks take turns, in this process alone.

What other workers do, the test does itself.
"""

import itertools
import json
import os
import time
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet import distributed
from adanet import tf_compat
from adanet.core import events
from adanet.training import loop as loop_lib
from adanet.core import model_dir as model_dir_lib
from adanet.training import sessions
from adanet.core import summary
from adanet.training import model as model_lib
from adanet.training import runs as runs_lib
from adanet.training import trainer
from adanet.testing import builders
from adanet.testing import searches

_STEPS = 12
_NAMES = ("t0_a", "t0_b", "t0_c")
_ENSEMBLES = tuple(name + "_grow_complexity_regularized" for name in _NAMES)


def _one_for_ensembles(costs=None):
  return distributed.BalancedStrategy(costs, num_ensemble_workers=1)


class _OthersAreDone(tf_compat.v1.train.SessionRunHook):
  """Sets the steps of subnetworks to their last one, as other workers do."""

  def __init__(self, names):
    self._suffixes = tuple(f"subnetwork_t0_{name}/step" for name in names)

  def begin(self):
    self._done = [tf_compat.v1.assign(v, _STEPS)
                  for v in tf_compat.v1.global_variables()
                  if v.op.name.endswith(self._suffixes)]

  def after_create_session(self, session, coord):
    session.run(self._done)


class _SlowForward(builders.Dense):
  """Takes its time to run forward."""

  def build_subnetwork(self, *args, **kwargs):
    v1 = tf_compat.v1
    made = super().build_subnetwork(*args, **kwargs)
    pause = v1.py_func(lambda _: time.sleep(.02) or True, [0], v1.bool)
    with v1.control_dependencies([pause]):
      return made._replace(logits=v1.identity(made.logits))


class _Counts(tf_compat.v1.train.SessionRunHook):
  """Counts the runs that it sees."""

  def __init__(self):
    self.count = 0

  def after_run(self, run_context, run_values):
    self.count += 1


class _Steps(tf_compat.v1.train.SessionRunHook):
  """Reads the steps of all after each run."""

  def __init__(self, names):
    self._names = names
    self.found = []

  def begin(self):
    variables = {v.op.name: v for v in tf_compat.v1.global_variables()}
    self._read = {
        name: variables[f"adanet/iteration_0/{kind}_{name}/step"]
        for kind, names in (("subnetwork", _NAMES), ("ensemble", _ENSEMBLES))
        for name in names if name in self._names}

  def after_run(self, run_context, run_values):
    self.found.append(run_context.session.run(self._read))


class TurnsTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._events = []
    self._steps_of_others = {}  # How many others take while this one waits.
    self._session = None
    self._waits = []

  def _wait_for(self, unfinished):
    """Lets others take a step, as `Surroundings.wait_for`."""
    self._waits.append(dict(unfinished))
    stopped = {}
    for name in unfinished:
      if self._steps_of_others.get(name, 0):
        self._steps_of_others[name] -= 1
        self._session.run(self._advance[name])
      else:
        stopped[name] = "nobody trains it"
    return stopped

  def _train(self, strategy, index, made=None, max_steps=None, hooks=(),
             repeat=None, num_workers=2, writer=None, num_others=0,
             pace_of_others=1, shares_ensembles=False):
    """Trains as a worker of a cluster; returns the loop and why it ended.

    Args:
      strategy: `PlacementStrategy`.
      index: int, the worker's.
      made: the builders of `_NAMES`.
      max_steps: int, or None.
      hooks: the user's.
      repeat: how often the input has its 4 batches; None for endlessly.
      num_workers: int.
      writer: `SummaryWriter` or None.
      num_others: int, how often others train each one.
      pace_of_others: int, how many steps they take then.
      shares_ensembles: whether others train the ensembles, too.
    """
    self._steps_of_others = dict.fromkeys(_NAMES, num_others)
    folder = self.create_tempdir().full_path
    names = [f"x:{i + 1}" for i in range(num_workers)]
    task = ({"type": "worker", "index": index - 1} if index else
            {"type": "chief", "index": 0})
    with mock.patch.dict(os.environ, TF_CONFIG=json.dumps({
        "cluster": {"chief": names[:1], **(
            {"worker": names[1:]} if names[1:] else {})},
        "task": task})):
      config = tf_compat.RunConfig(model_dir=folder, tf_random_seed=1)
    model = model_lib.Model(
        searches.make(made or [builders.Dense(n) for n in "abc"], _STEPS),
        model_dir_lib.ModelDir(folder), config, strategy)
    request = trainer.Request(
        builders.input_fn(repeat), hooks=hooks, max_steps=max_steps,
        max_iterations=1, wait_timeout_secs=10.)
    training = trainer.Training(
        request, mock.Mock(asked=None, deferred=mock.MagicMock()),
        self._events.append, writer)
    surroundings = loop_lib.Surroundings(
        self._events.append,
        lambda *note: model.model_dir.mark_stopped(0, *note),
        wait_for=self._wait_for, shares_ensembles=shares_ensembles)
    with model.graph(request.input_fn, "train", 0) as built:
      it = trainer.IterationTraining(
          model, training, built, trainer.Start(0, None), trainer.TrainingTask(
              "a task", index == 0, surroundings, time.time()))
      self._advance = {
          s.name: tf_compat.v1.assign_add(s.step, pace_of_others)
          for s in built.iteration.subnetworks}
      with sessions.local_session(None) as self._session:
        it.initializers.set_variables(self._session)
        with it.initializers.started(self._session) as coordinator:
          ending = it.train(self._session, coordinator)
    return it.loop, ending

  def test_a_worker_without_ensembles(self):
    loop, ending = self._train(_one_for_ensembles([1, 2, 4]), 1)
    self.assertEqual(loop_lib.Ending.ITERATION_OVER, ending)
    self.assertEqual(dict.fromkeys(_NAMES, _STEPS), loop.steps)
    self.assertEqual(loop.steps, loop.trained)
    self.assertEqual(set(_NAMES), set(loop.losses))
    self.assertCountEqual(_NAMES, [
        e.name for e in self._events if isinstance(e, events.Stopped)])
    self.assertEmpty(self._waits)

  def test_one_trains_in_each_run(self):
    seen = _Steps(_NAMES)
    loop, _ = self._train(_one_for_ensembles(), 1, hooks=[seen])
    self.assertEqual(
        list(range(1, 3 * _STEPS + 1)), [sum(s.values()) for s in seen.found])
    self.assertEqual(_STEPS, loop.global_step)

  def test_time_is_divided(self):
    # Of the same cost, but said to be 1 and 9. So the second gets more steps.
    seen = _Steps(_NAMES)
    self._train(_one_for_ensembles([1, 1, 18]), 1, [
        builders.Slow(n, .02) for n in "abc"], hooks=[seen])
    at = next(s for s in seen.found if s["t0_c"] == _STEPS)
    self.assertLess(at["t0_a"] + at["t0_b"], _STEPS)
    # What it leaves goes to the others.
    self.assertEqual(dict.fromkeys(_NAMES, _STEPS), seen.found[-1])

  def test_alone_all_train_in_each_run(self):
    seen = _Steps(_NAMES + _ENSEMBLES)
    self._train(distributed.BalancedStrategy([1, 2, 4]), 0, hooks=[seen],
                num_workers=1)
    self.assertEqual(
        [{step} for step in range(1, _STEPS + 1)],
        [set(steps.values()) for steps in seen.found])

  def test_one_subnetwork_trains_as_before(self):
    loop, _ = self._train(_one_for_ensembles(), 1, num_workers=4)
    self.assertEqual({"t0_a": _STEPS}, loop.trained)
    # There is nothing to observe, and no turn to take.
    self.assertEqual({"t0_a": _STEPS}, loop.steps)

  @parameterized.parameters(False, True)
  def test_a_chief_that_trains(self, has_hooks):
    seen = _Steps(_NAMES + _ENSEMBLES)
    loop, ending = self._train(
        distributed.BalancedStrategy(num_ensemble_workers=0), 0,
        hooks=[seen] if has_hooks else (), num_others=_STEPS)
    self.assertEqual(loop_lib.Ending.ITERATION_OVER, ending)
    self.assertEqual(dict.fromkeys(_NAMES + _ENSEMBLES, _STEPS), loop.steps)
    self.assertEqual(_STEPS, loop.global_step)
    # Of the third it trains nothing, and of the others all, as nobody else was
    # quick enough.
    self.assertEqual(
        dict.fromkeys(_NAMES[:2] + _ENSEMBLES, _STEPS), loop.trained)
    for steps in seen.found:
      slowest = min(steps[name] for name in _NAMES)
      for name in _ENSEMBLES:
        self.assertLessEqual(steps[name], slowest + 1)

  def test_ensembles_have_a_turn_of_their_own(self):
    # The chief has half of its time for the ensembles, half for the first.
    seen = _Steps(_NAMES + _ENSEMBLES)
    loop, ending = self._train(
        distributed.BalancedStrategy(), 0, hooks=[seen], num_others=_STEPS)
    self.assertEqual(loop_lib.Ending.ITERATION_OVER, ending)
    self.assertEqual(dict.fromkeys(_NAMES + _ENSEMBLES, _STEPS), loop.steps)
    self.assertEqual(
        dict.fromkeys(_NAMES[:1] + _ENSEMBLES, _STEPS), loop.trained)
    before = dict.fromkeys(_NAMES + _ENSEMBLES, 0)
    for steps in seen.found:
      trained = {name for name, step in steps.items() if step > before[name]}
      self.assertIn(trained - set(_NAMES[1:]),
                    [{_NAMES[0]}, set(_ENSEMBLES)])
      before = steps
      slowest = min(steps[name] for name in _NAMES)
      for name in _ENSEMBLES:
        self.assertLessEqual(steps[name], slowest + 1)

  def test_some_steps_of_ensembles_are_left_to_others(self):
    seen = _Steps(_NAMES + _ENSEMBLES)
    loop, _ = self._train(
        distributed.BalancedStrategy(), 0, hooks=[seen, _OthersAreDone("bc")],
        shares_ensembles=True)
    self.assertEqual(dict.fromkeys(_NAMES + _ENSEMBLES, _STEPS), loop.steps)
    for steps in seen.found:
      if steps["t0_a"] < _STEPS:
        # It could have been one step ahead.
        self.assertLessEqual(
            steps[_ENSEMBLES[0]], max(0, steps["t0_a"] - 2))

  @parameterized.parameters((1, 5, 7), (20, 1, 3))
  def test_ensembles_have_their_part_of_the_time(self, cost, least, most):
    # A step of the ensembles takes as long as one of a subnetwork, whatever
    # they are said to cost: the parts are 4/5 and 1/5, or 1/6 and 5/6.
    seen = _Steps(_NAMES + _ENSEMBLES)
    self._train(
        distributed.BalancedStrategy([cost, 1, 1], ensemble_cost=2), 0,
        [_SlowForward("a"), builders.Dense("b"), builders.Dense("c")],
        hooks=[seen, _OthersAreDone("bc")])
    half = next(s for s in seen.found if s["t0_a"] == _STEPS // 2)
    self.assertBetween(half[_ENSEMBLES[0]], least, most)

  def test_summaries_wait_for_ensembles(self):
    writer = mock.create_autospec(summary.SummaryWriter, instance=True)
    self._train(distributed.BalancedStrategy(num_ensemble_workers=0), 0,
                num_others=_STEPS, writer=writer)
    writer.add_scalars.assert_called()

  def test_hooks_run_while_theirs_trains(self):
    made = [builders.Hooked(n, [_Counts()], [_Counts()]) for n in "abc"]
    user = _Counts()
    self._train(distributed.BalancedStrategy(num_ensemble_workers=0), 0, made,
                hooks=[user], num_others=_STEPS)
    self.assertEqual([_STEPS, _STEPS, 0],
                     [b.chief_hooks[0].count for b in made])
    # As always, they do not see the last step.
    self.assertEqual([_STEPS - 1, _STEPS - 1, 0],
                     [b.hooks[0].count for b in made])
    self.assertGreaterEqual(user.count, 2 * _STEPS)

  def test_one_that_diverges(self):
    made = [builders.Dense("a"), builders.Dense("b", learning_rate=1e30),
            builders.Dense("c")]
    loop, ending = self._train(_one_for_ensembles(), 1, made)
    self.assertEqual(loop_lib.Ending.ITERATION_OVER, ending)
    self.assertLess(loop.trained["t0_b"], _STEPS)
    self.assertEqual(_STEPS, loop.trained["t0_a"])
    self.assertEqual(_STEPS, loop.trained["t0_c"])

  def test_one_that_others_finish(self):
    class Finishes(tf_compat.v1.train.SessionRunHook):

      def begin(self):
        variable = next(v for v in tf_compat.v1.global_variables()
                        if v.op.name.endswith("subnetwork_t0_b/step"))
        self._op = tf_compat.v1.assign(variable, _STEPS)

      def after_run(self, run_context, run_values):
        run_context.session.run(self._op)

    loop, _ = self._train(_one_for_ensembles(), 1, hooks=[Finishes()])
    self.assertLessEqual(loop.trained["t0_b"], 1)
    self.assertEqual(_STEPS, loop.trained["t0_a"])
    self.assertEqual(_STEPS, loop.trained["t0_c"])

  @parameterized.parameters(range(2, 6))
  def test_does_not_wait_for_others_that_are_done(self, when):
    look, counter = runs_lib.Runs.look, itertools.count()

    def look_when_all_is_done(runs, session):
      if next(counter) == when:
        session.run([v1.assign(v, _STEPS) for v in v1.global_variables()
                     if v.op.name.endswith("/step")])
      return look(runs, session)

    v1 = tf_compat.v1
    with mock.patch.object(runs_lib.Runs, "look", look_when_all_is_done):
      _, ending = self._train(
          distributed.BalancedStrategy(num_ensemble_workers=2), 0,
          num_workers=3, num_others=_STEPS, shares_ensembles=True)
    self.assertEqual(loop_lib.Ending.ITERATION_OVER, ending)
    self.assertNotIn({}, self._waits)

  @parameterized.parameters(0, 1)
  def test_max_steps(self, index):
    loop, ending = self._train(
        distributed.BalancedStrategy(num_ensemble_workers=index), index,
        max_steps=5, num_others=_STEPS)
    self.assertEqual(loop_lib.Ending.MAX_STEPS, ending)
    self.assertEqual(5, loop.global_step)
    if not index:
      # The ensembles have caught up with the slowest.
      slowest = min(loop.steps[name] for name in _NAMES)
      for name in _ENSEMBLES:
        self.assertEqual(slowest + 1, loop.steps[name])

  def test_ensembles_catch_up_at_max_steps(self):
    loop, ending = self._train(
        distributed.RoundRobinStrategy(), 0, max_steps=5, num_others=1,
        pace_of_others=5)
    self.assertEqual(loop_lib.Ending.MAX_STEPS, ending)
    # The others were there before it took its first step.
    self.assertEqual({"global_step": 5, **dict.fromkeys(_NAMES, 5)},
                     {"global_step": loop.global_step, **{
                         name: loop.steps[name] for name in _NAMES}})
    self.assertEqual(dict.fromkeys(_ENSEMBLES, 6), {
        name: loop.steps[name] for name in _ENSEMBLES})

  @parameterized.parameters(0, 1)
  def test_the_input_ends(self, index):
    loop, ending = self._train(
        distributed.BalancedStrategy(num_ensemble_workers=index), index,
        repeat=2)
    self.assertEqual(loop_lib.Ending.INPUT_ENDED, ending)
    self.assertEqual(8, sum(loop.trained.get(name, 0)
                            for name in _NAMES + _ENSEMBLES[:1]))


if __name__ == "__main__":
  absltest.main()

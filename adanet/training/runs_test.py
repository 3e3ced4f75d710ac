# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the runs of a session, on a graph of a few counters."""

import time
import types

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.training import runs

v1 = tf_compat.v1


class _Ops:
  """Counts the steps of two trainees; b is one of ensembles. See `TrainOps`."""

  observed = ("a", "b")
  fractions = None

  def __init__(self):
    with v1.variable_scope("", use_resource=True):  # As that of `SearchSetup`.
      self._step = v1.train.create_global_step()
    self._steps = {name: v1.get_variable(
        name, [], v1.int64, v1.zeros_initializer(), use_resource=True)
                   for name in "ab"}
    self.trainees = {name: types.SimpleNamespace(step=step)
                     for name, step in self._steps.items()}

  def trains_ensembles(self, names):
    return "b" in names

  def fetches(self, names):
    return {"steps": v1.stack([
        v1.assign_add(self._steps[name], 1) for name in names])}

  def observe(self):
    return v1.stack(list(self._steps.values()))

  def global_step(self, after):
    del after
    return v1.assign_add(self._step, 10)


class _Summaries:
  """Has one at the start. See `TrainingSummaries`."""

  def is_due(self, global_step):
    return global_step == 0

  def fetches(self):
    return {"summary": v1.constant(7)}


def _wait():
  time.sleep(.02)


class _FetchingHook(v1.train.SessionRunHook):
  """Fetches things of all kinds, and looks at the step before and after."""

  def __init__(self):
    self.results, self.steps_after = [], []
    step = v1.train.get_global_step()
    self.read = v1.get_default_graph().as_graph_element(step).op
    self.read_before = self.read.node_def
    with v1.control_dependencies([v1.py_func(_wait, [], [])]):
      late = step.read_value()
    self._fetched = {
        "step": [step], ("a", 1): (step.name, v1.sparse.from_dense([0., 5.])),
        2: step.op, "late": late}

  def before_run(self, run_context):
    return v1.train.SessionRunArgs(self._fetched)

  def after_run(self, run_context, run_values):
    self.results.append(run_values.results)
    self.steps_after.append(
        int(run_context.session.run(v1.train.get_global_step())))


class RunsTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.enter_context(v1.Graph().as_default())
    self._ops = _Ops()
    self._session = self.enter_context(v1.Session())
    self._session.run(v1.global_variables_initializer())
    self._num_runs = 0

  def _make(self, *hooks):
    runner = runs.HookRunner([runs.Owned(*hook) for hook in hooks])
    return runs.Runs(self._ops, runner, _Summaries())

  def _train(self, train_runs, names=("a", "b"), global_step=10, finished=None):
    return train_runs.train(self._session, names, global_step,
                            finished or (lambda steps: ()))

  def _count_runs(self):
    """Counts the runs of the session from now on."""
    def counted(run):
      def call(*args, **kwargs):
        self._num_runs += 1
        return run(*args, **kwargs)
      return call

    make_callable = self._session.make_callable
    self._session.run = counted(self._session.run)
    self._session.make_callable = lambda *args: counted(make_callable(*args))

  def test_each_kind_is_compiled_once(self):
    train_runs = self._make()
    was_new = []
    for names in ("a", "b"), ("a", "b"), ("a",), ("a", "b"):
      fetched = self._train(train_runs, names)
      was_new.append(train_runs.was_new)
    self.assertEqual([True, False, True, False], was_new)
    self.assertEqual([4, 3], fetched["steps"].tolist())
    self.assertEqual(40, fetched["global_step"])
    steps, observed, global_step = train_runs.start(self._session)
    self.assertEqual(({"a": 4, "b": 3}, [4, 3], 50),
                     (steps, observed.tolist(), global_step))
    self._train(train_runs)
    self.assertTrue(train_runs.was_new)

  def test_summaries_are_those_of_ensembles(self):
    train_runs = self._make()
    self.assertIsNone(self._train(train_runs, ("a",), 0)["summaries"])
    self.assertEqual({"summary": 7},
                     self._train(train_runs, ("b",), 0)["summaries"])
    self.assertIsNone(self._train(train_runs, ("b",), 1)["summaries"])

  @parameterized.parameters(
      (None, ("a", "b"), True), (None, ("a",), False),
      ({"a": 1.}, ("a", "b"), False))
  def test_ops_that_are_made_before_the_first_run(
      self, fractions, names, expected):
    self._ops.fractions = fractions
    train_runs = self._make()
    count = len(v1.get_default_graph().get_operations())
    train_runs.start(self._session)
    train_runs.look(self._session)
    self.assertLen(v1.get_default_graph().get_operations(), count)
    self._train(train_runs, names)
    self.assertEqual(
        expected, len(v1.get_default_graph().get_operations()) == count)

  def test_one_that_trains_nothing(self):
    self._ops.trainees = {}
    self.assertEqual({}, self._make().start(self._session)[0])

  def test_look(self):
    train_runs = self._make()
    self._train(train_runs, ("a",))
    steps, global_step = train_runs.look(self._session)
    self.assertEqual(([1, 0], 20), (steps.tolist(), global_step))
    self._ops.observed = ()
    self.assertEqual([], self._make().look(self._session)[0])

  def test_hooks_see_the_step_before_and_after(self):
    hook = _FetchingHook()
    train_runs = self._make((hook,))
    was_new = []
    for _ in range(2):
      fetched = self._train(train_runs, global_step=0)
      was_new.append(train_runs.was_new)
    self.assertEqual([True, False], was_new)
    self.assertEqual([[0], [10]], [result["step"] for result in hook.results])
    self.assertEqual([0, 10], [result["late"] for result in hook.results])
    self.assertEqual([10, 20], hook.steps_after)
    self.assertEqual((20, {"summary": 7}),
                     (fetched["global_step"], fetched["summaries"]))
    self.assertEqual([5.], hook.results[0]["a", 1][1].values)
    # TensorFlow warns of ops that change when they have run.
    self.assertEqual(hook.read_before, hook.read.node_def)

  def test_a_hook_costs_no_further_run(self):
    train_runs = self._make((v1.train.SessionRunHook(),))
    self._count_runs()
    self._train(train_runs)
    self.assertEqual(1, self._num_runs)

  def test_who_sees_a_step(self):
    steps = []
    hooks = [_FetchingHook() for _ in range(3)]
    train_runs = self._make((hooks[0], "a", False), (hooks[1], "b", False),
                            (hooks[2], "c"))
    self._train(
        train_runs,
        finished=lambda new_steps: steps.extend(new_steps) or ["b"])
    self.assertEqual([1, 0, 0], [len(hook.results) for hook in hooks])
    self.assertEqual([("a", 1), ("b", 1)], steps)


_OutOfRangeError = tf_compat.v1.errors.OutOfRangeError


class _Session:
  """Returns what is fetched."""

  def __init__(self):
    self.feeds = []

  def run(self, fetches, feed_dict, options, run_metadata):
    self.feeds.append(feed_dict)
    self.options, self.metadata = options, run_metadata
    return fetches


class _Hook(tf_compat.v1.train.SessionRunHook):
  """Notes what it is told, and does what a test asks for.

  Attributes:
    results: what it fetched in each run.
    calls: the names of its calls.
  """

  def __init__(self, fetches=None, feeds=None, stops=False, raises=None,
               options=None):
    self.args = tf_compat.v1.train.SessionRunArgs(fetches, feeds, options)
    self.stops, self.raises = stops, raises
    self.results, self.calls = [], []

  def begin(self):
    self.calls.append("begin")

  def after_create_session(self, session, coord):
    self.calls.append("created")

  def before_run(self, run_context):
    self.calls.append("before")
    if self.raises:
      raise self.raises
    return self.args

  def after_run(self, run_context, run_values):
    self.calls.append("after")
    self.results.append(run_values.results)
    if self.stops:
      run_context.request_stop()

  def end(self, session):
    self.calls.append("end")


def _ended():
  return _OutOfRangeError(
      None, None, "Graph execution error:\n\nEnd of sequence\nand a traceback")


class HookRunnerTest(parameterized.TestCase):

  def _run(self, *owned, **arguments):
    self.session = _Session()
    self.runner = runs.HookRunner([runs.Owned(*fields) for fields in owned])
    return self.runner.run(self.session, {"loss": 1}, **arguments)

  def test_calls(self):
    hook = _Hook()
    runner = runs.HookRunner([runs.Owned(hook)])
    runner.begin()
    runner.after_create_session(None, None)
    self.assertEqual({"loss": 1}, runner.run(_Session(), {"loss": 1}))
    runner.end(None)
    self.assertEqual(["begin", "created", "before", "after", "end"], hook.calls)

  def test_what_hooks_fetch_and_feed(self):
    first, second, third = _Hook(5, {"x": 1}), _Hook(), _Hook(6, {"y": 2})
    values = self._run((first,), (second,), (third,), last=lambda fetched: {
        "after": sorted(fetched.values())})
    self.assertEqual({"loss": 1, "after": [5, 6]}, values)
    self.assertEqual([[5], [None], [6]],
                     [hook.results for hook in (first, second, third)])
    self.assertEqual([{"x": 1, "y": 2}], self.session.feeds)
    self.assertIsNone(self.session.options)

  def test_options_are_merged(self):
    options = tf_compat.v1.RunOptions
    self._run((_Hook(options=options(timeout_in_ms=7)),), (_Hook(),),
              (_Hook(options=options(inter_op_thread_pool=2)),))
    self.assertEqual((7, 2), (self.session.options.timeout_in_ms,
                              self.session.options.inter_op_thread_pool))
    self.assertIsNotNone(self.session.metadata)

  @parameterized.parameters(
      (("a",), {"a": 1, "b": 0, None: 1}),
      ((), {"a": 0, "b": 0, None: 1}),
      (None, {"a": 1, "b": 1, None: 1}))
  def test_only_hooks_of_what_trains(self, training, expected):
    owned = {owner: _Hook() for owner in ("a", "b", None)}
    self._run(*((hook, owner) for owner, hook in owned.items()),
              training=training)
    self.assertEqual(expected, {
        owner: len(hook.results) for owner, hook in owned.items()})

  def test_last_step_is_for_those_that_see_it(self):
    sees, does_not, of_another = _Hook(), _Hook(), _Hook()
    self._run((sees, "a"), (does_not, "a", False), (of_another, "b", False),
              finished=lambda values: ["a"])
    self.assertEqual([1, 0, 1], [len(hook.results) for hook in (
        sees, does_not, of_another)])

  @parameterized.parameters(
      ("a", _Hook(stops=True), {"a": "a hook asked for it"}),
      (None, _Hook(stops=True), {}),
      ("a", _Hook(raises=_ended()), {"a": "its input ended: End of sequence"}),
      ("a", _Hook(raises=StopIteration()),
       {"a": "its input ended: StopIteration"}))
  def test_stop(self, owner, hook, stops):
    other = _Hook()
    self._run((hook, owner), (other, "b"))
    self.assertEqual(stops, self.runner.stops)
    self.assertEqual(owner is None, self.runner.is_stop_asked)
    self.assertLen(other.results, 1)
    self.assertTrue(self.runner)  # The other one is left to ask.
    calls = len(hook.calls)
    self.runner.run(self.session, {})
    self.assertLen(hook.calls, calls)
    self.assertLen(other.results, 2)

  def test_nothing_is_left_to_ask(self):
    self._run((_Hook(stops=True), "a"))
    self.assertFalse(self.runner)
    self.assertFalse(runs.HookRunner([]))

  def test_end_of_a_users_input_is_an_error(self):
    with self.assertRaises(_OutOfRangeError):
      self._run((_Hook(raises=_ended()),))

  def test_another_error_of_a_builders_hook(self):
    with self.assertRaisesRegex(ValueError, "its own"):
      self._run((_Hook(raises=ValueError("its own")), "a"))


if __name__ == "__main__":
  absltest.main()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a search does is the same on every engine: one table of it.

All labels are 1, and the prediction of a network is its factor f: its loss is
(1 - f)**2. A step adds a constant to it, and an ensemble predicts the mean of
its networks. So each value here is written by hand, and holds on a cluster,
too, where steps come in any order.
"""

import contextlib
import functools
import os
import sys
import time
from typing import Any, Callable, Dict, NamedTuple, Optional, Sequence, Tuple
from unittest import mock
import uuid

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet import distributed
from adanet.testing import level
from adanet import tf_compat
from adanet.testing import engines
from adanet.testing import jobs
import numpy as np

_NAN = float("nan")
_STEPS = 4  # Of an iteration.
_GREEDY = adanet.ensemble.GreedyEnsembler(max_selections=2)
_MAX_STEPS = "^it reached the number of steps that were asked for$"


class _Input:
  """An input_fn. It may last long, by the clock of `_train`."""

  def __init__(self, batches: Optional[int] = None, secs: float = 0.):
    self.late = 0.
    self._batches = batches
    self._secs = secs

  def __call__(self) -> Any:
    self.late += self._secs
    ones = np.ones([8, 1], np.float32)
    return tf_compat.v1.data.Dataset.from_tensors(
        ({"x": ones}, ones)).repeat(self._batches)


class _HeldOut(_Input):
  """The evaluator's input, which notes in a file that it was read."""

  def __init__(self, path: str):
    super().__init__(1)
    self._path = path

  def __call__(self) -> Any:
    with open(self._path, "a", encoding="utf-8") as f:
      f.write("read\n")
    return super().__call__()


class _Ranking(adanet.Evaluator):
  """Gives the best of all candidates 0, the next one 1, and so on."""

  def evaluate(self, *args: Any) -> Sequence[float]:
    values = super().evaluate(*args)
    return [sorted(values).index(value) for value in values]


class _Counting(adanet.ReportMaterializer):
  """Gives as the loss how many reports it got together."""

  def materialize_subnetwork_reports(self, *args: Any) -> Sequence[Any]:
    reports = super().materialize_subnetwork_reports(*args)
    return [
        report._replace(metrics={"loss": len(reports)}) for report in reports]


class _Stop(tf_compat.v1.train.SessionRunHook):
  """Stops its network after two steps."""

  def begin(self) -> None:
    self._left = 2

  def after_run(self, run_context: Any, run_values: Any) -> None:
    self._left -= 1
    if not self._left:
      run_context.request_stop()


class _StopsAllButChief(_Stop):
  """Stops training. On a cluster, the chief must hear of it from a worker."""

  def begin(self) -> None:
    super().begin()
    config = tf_compat.RunConfig()
    if config.cluster_spec and config.is_chief:
      self._left = -1


class _StopAtTheEnd(tf_compat.v1.train.CheckpointSaverListener):
  """Asks for a stop at the last checkpoint of an iteration."""

  def after_save(self, session: Any, global_step: int) -> bool:
    return global_step >= _STEPS


class _Line(adanet.subnetwork.Builder):
  """A network that predicts its factor, to which each step adds a number."""

  def __init__(self, name: str, factor: float, gain: float = 0.,
               hooks: Sequence[Any] = ()):
    self._name = name
    self._factor = factor
    self._gain = gain
    self._hooks = hooks

  @property
  def name(self) -> str:
    return self._name

  def build_subnetwork(self, features: Any, *args: Any, **kwargs: Any) -> Any:
    logits = features["x"] * tf_compat.v1.get_variable(
        "factor", initializer=self._factor)
    return adanet.Subnetwork(logits, logits, complexity=1.)

  def build_subnetwork_train_op(
      self, subnetwork: Any, loss: Any, var_list: Sequence[Any], *args: Any,
      **kwargs: Any) -> Any:
    factor, = var_list
    with tf_compat.v1.control_dependencies([loss]):  # Of the factor before.
      train_op = tf_compat.v1.assign_add(factor, self._gain)
    return adanet.subnetwork.TrainOpSpec(train_op, hooks=self._hooks)

  def build_subnetwork_report(self) -> Any:
    return adanet.subnetwork.Report(hparams={}, attributes={}, metrics={})


class _Lines(adanet.subnetwork.Generator):
  """Makes given networks, or one named after the reports and another one."""

  def __init__(self, *iterations: Sequence[_Line]):
    self._iterations = iterations

  def generate_candidates(
      self, previous_ensemble: Any, iteration_number: int,
      previous_ensemble_reports: Sequence[Any], all_reports: Sequence[Any]
      ) -> Sequence[_Line]:
    if iteration_number < len(self._iterations):
      return self._iterations[iteration_number]
    told = ["{}_{:.0f}".format(report.name, 100 * report.metrics["loss"])
            for report in all_reports]
    # With one network alone, all tasks of a cluster train the same ensembles,
    # and an update of the moving average may get lost between two of them.
    return [_Line("_".join(told + ["of"] + [
        report.name for report in previous_ensemble_reports]), 1.),
            _Line("z", .5)]


# The first one is the best beside the second one, and not alone.
_TWICE = [_Line("a", 1.5), _Line("b", .7)]
# Nothing that is added to the best of iteration 0 is as good as that.
_FULL = [_Line("a", .5), _Line("b", .9)], [_Line("a", 2.), _Line("b", .5)]


class _Then(NamedTuple):
  """What holds after a call of `train`.

  Attributes:
    winners: of each iteration. All names are without the usual ending.
    values: for each of them, dict from a candidate to its value; empty if
      nothing was compared.
    reasons: for each of them, why nothing was compared.
    end: regular expression of why training has ended.
    leader: which ensemble answers until there is a winner; "" if it is
      unknown, None if all iterations that have begun have a winner.
    steps: dict from the name of a network to its steps where they are not the
      usual ones.
    weights: dict from the name of a member to its weight, if it was fitted.
    is_read: whether the call has read the evaluator's input.
    error: regular expression of what was raised.
  """
  winners: Tuple[str, ...] = ()
  values: Tuple[Dict[str, float], ...] = ()
  reasons: Tuple[str, ...] = ()
  end: str = "^it reached max_iterations="
  leader: Optional[str] = None
  steps: Dict[str, int] = {}
  weights: Optional[Dict[str, float]] = None
  is_read: bool = False
  error: str = ""


class _Call(NamedTuple):
  """A call of `train` in a program of its own.

  Attributes:
    networks: those of each iteration.
    then: `_Then`.
    search: arguments of the estimator. The `evaluator` is a function of its
      input_fn.
    train: arguments of `train`.
  """
  networks: Tuple[Sequence[_Line], ...]
  then: _Then
  search: Dict[str, Any] = {}
  train: Dict[str, Any] = {}


class _Row(NamedTuple):
  """A behaviour: calls of `train`, one after the other."""
  name: str
  calls: Tuple[_Call, ...]


def _row(name: str, networks: Tuple[Sequence[_Line], ...], then: _Then,
         train: Optional[Dict[str, Any]] = None, **search: Any) -> _Row:
  """Returns a row with one call."""
  return _Row(name, (_Call(networks, then, search, train or {}),))


_IN_THE_MIDDLE = _Call((_TWICE, _TWICE), _Then(
    ("t0_b",), ({"t0_a": .25, "t0_b": .09},), end=_MAX_STEPS, leader="t1_a"),
                       train=dict(max_steps=_STEPS + 2))

_ROWS = (
    _row("fitted_and_balanced", ([_Line("a", .6), _Line("b", 1.5)],), _Then(
        ("t0_all_greedy",), ({"t0_all_greedy": .0025},),
        weights={"t0_a": .5, "t0_b": .5}, is_read=True),
         evaluator=adanet.Evaluator, ensemblers=[_GREEDY],
         # With these costs, no network is trained by two tasks of a cluster,
         # whose last steps might be more than were asked for.
         placement_strategy=distributed.BalancedStrategy(costs=(1, 2))),
    _Row("max_steps_in_the_middle", (_IN_THE_MIDDLE,)),
    _Row("best_after_max_steps_in_the_middle", (
        _IN_THE_MIDDLE,
        _Call((_TWICE, _TWICE), _Then(
            ("t0_b", "t1_a"), ({"t0_a": .25, "t0_b": .09}, {
                "t0_b": .09, "t1_a": .01, "t1_b": .09}))))),
    _row("evaluate_of_a_user", (_TWICE,), _Then(
        ("t0_b",), ({"t0_a": 1., "t0_b": 0.},), is_read=True),
         evaluator=_Ranking),
    _row("nan_in_one", ([_Line("a", 1., _NAN), _Line("b", .7)],), _Then(
        ("t0_b",), ({"t0_a": _NAN, "t0_b": .09},), steps={"t0_a": 2})),
    _Row("nan_of_a_call_before", (
        _Call(([_Line("a", 1.5, _NAN), _Line("b", .7, _NAN)],), _Then(
            error="^iteration 0: .* is NaN: t0_a.*, t0_b", end="")),
        _Call((_TWICE,), _Then(end=_MAX_STEPS, leader="t0_b"),
              train=dict(max_steps=_STEPS - 1)),
        # The NaN came after fewer steps than there are now.
        _Call((_TWICE,), _Then(("t0_b",), ({"t0_a": .25, "t0_b": .09},))))),
    _row("nan_in_all_that_are_fitted",
         ([_Line("a", 1., _NAN), _Line("b", 1., _NAN)],), _Then(
             error="^No ensemble can win.* is NaN: t0_all_greedy", end="",
             is_read=True),
         evaluator=adanet.Evaluator, ensemblers=[_GREEDY]),
    _row("nan_in_the_only_new_one", (_TWICE, [_Line("c", 1., _NAN)]), _Then(
        ("t0_b",), ({"t0_a": .25, "t0_b": .09},),
        error="^iteration 1: .* is NaN: t1_c", end=""), force_grow=True),
    _row("replay", (_TWICE, _TWICE), _Then(
        ("t0_a", "t1_b"), ({}, {}), ("replay_config says so",) * 2),
         evaluator=adanet.Evaluator, replay_config=adanet.replay.Config([0, 2])),
    _row("force_grow", _FULL, _Then(
        ("t0_b", "t1_b"), ({"t0_a": .25, "t0_b": .01},
                           {"t0_b": .01, "t1_a": .2025, "t1_b": .09})),
         force_grow=True),
    _Row("patience", tuple(_Call(
        _FULL, _Then(
            ("t0_b", "t0_b"), ({"t0_a": .25, "t0_b": .01},
                               {"t0_b": .01, "t1_a": .2025, "t1_b": .09}),
            end="^patience=1: the last winner is no better than 0.01 "),
        dict(max_iterations=9, patience=1)) for _ in range(2))),
    _row("time_is_up", ([_Line("a", .9), _Line("b", .5)],), _Then(
        end="^its max_seconds are over$", leader="t0_a"), dict(max_seconds=1e-3),
         max_iteration_steps=10**9),
    _Row("no_time_for_another_and_restart_when_decided", (
        _Call((_TWICE, _TWICE), _Then(
            ("t0_b",), ({"t0_a": .25, "t0_b": .09},), is_read=True,
            end="^max_seconds=6000: .* are left, and the last .* took 40.*$"),
              dict(evaluator=adanet.Evaluator),
              dict(max_seconds=6000., input_fn=_Input(secs=4000.))),
        _Call((_TWICE, _TWICE), _Then(
            ("t0_b",), ({"t0_a": .25, "t0_b": .09},), leader="", end=_MAX_STEPS,
            is_read=False),
              dict(evaluator=adanet.Evaluator), dict(max_steps=_STEPS + 1)))),
    _row("reports", ([_Line("a", .5), _Line("b", .9)],), _Then(
        ("t0_b", "t1_a_25_b_1_of_b"),
        ({"t0_a": .25, "t0_b": .01}, {
            "t0_b": .01, "t1_a_25_b_1_of_b": .0025, "t1_z": .09})),
         report_materializer=adanet.ReportMaterializer(_Input(1)),
         max_iterations=2),
    _row("reports_of_a_user", ([_Line("a", .5), _Line("b", .9)],), _Then(
        ("t0_b", "t1_a_200_b_200_of_b"),
        ({"t0_a": .25, "t0_b": .01}, {
            "t0_b": .01, "t1_a_200_b_200_of_b": .0025, "t1_z": .09})),
         report_materializer=_Counting(_Input(1)), max_iterations=2),
    _row("fitted_beside_others_and_replicated", (
        [_Line("a", .6), _Line("b", 1.5), _Line("c", 9.)], _TWICE), _Then(
            ("t0_all_greedy",),
            ({"t0_all_mean": 7.29, "t0_all_greedy": .0025},), end=_MAX_STEPS, leader="",
            weights={"t0_a": .5, "t0_b": .5}, is_read=True),
         dict(max_steps=_STEPS + 1), evaluator=adanet.Evaluator,
         ensemblers=[adanet.ensemble.MeanEnsembler(), _GREEDY],
         ensemble_strategies=[adanet.ensemble.AllStrategy()],
         replicate_ensemble_in_training=True),
    _row("empty_input", (_TWICE,), _Then(
        error="train.*: the input has no batch", end=""),
         dict(input_fn=_Input(0))),
    _row("empty_input_of_evaluator", (_TWICE,), _Then(
        error="Evaluation of the ensembles: the input has no batch", end=""),
         evaluator=lambda _: adanet.Evaluator(_Input(0))),
    _row("input_ends", (_TWICE,), _Then(end="^the input ended$"),
         dict(input_fn=_Input(1))),
    _row("stopped_by_its_hook",
         ([_Line("a", .4, .1, [_Stop()]), _Line("b", .4, .1)],), _Then(
             ("t0_b",), ({"t0_a": .16, "t0_b": .04},), steps={"t0_a": 2},
             is_read=True),
         evaluator=adanet.Evaluator),
    _row("stopped_by_hook_of_the_user", ([_Line("a", .9), _Line("b", .5)],),
         _Then(end="^a hook or a saving listener asked for a stop$"),
         dict(hooks=[_StopsAllButChief()])),
    _row("stopped_by_listener_at_the_end", (_TWICE, _TWICE), _Then(
        ("t0_b",), ({"t0_a": .25, "t0_b": .09},),
        end="^a hook or a saving listener asked for a stop$"),
         dict(saving_listeners=[_StopAtTheEnd()])),
)


_PART_OF_ANOTHER = ("max_steps_in_the_middle",)
# What needs no engine to be other than it is: the search alone decides.
_OF_SEARCH = ("force_grow",)
# Each task of a cluster has an input of its own. Where all of them end, it
# depends on who is first whether the iteration counts as over.
_NOT_OF_CLUSTER = ("input_ends",)
# What comes back from another process: values, an error, and a stop.
_OF_POOL = ("fitted_and_balanced", "nan_in_all_that_are_fitted",
            "stopped_by_its_hook")


def _rows(quick, leave_out=(), only=None):
  """Returns the decorator of a test of rows.

  Args:
    quick: the name of the row that `test //...` runs.
    leave_out: names.
    only: names, or None for all.
  """
  rows = [row for row in _ROWS if row.name not in leave_out and
          (only is None or row.name in only)]
  rows.sort(key=lambda row: row.name != quick)
  return parameterized.named_parameters(
      *[dict(testcase_name=f"_{row.name}", row=row)
        for row in level.first(rows)])


def _held_out(folder):
  return os.path.join(folder, "held_out")


def _train(call: _Call, folder: str, executor: Any = None) -> str:
  """Is a user's program. Returns what was raised, or ""."""
  search = dict(call.search)
  if "evaluator" in search:
    search["evaluator"] = search["evaluator"](_HeldOut(_held_out(folder)))
  train = dict(dict(input_fn=_Input()), **call.train)
  input_fn, now = train["input_fn"], time.time
  input_fn.late = 0.
  try:
    with mock.patch.object(time, "time", lambda: now() + input_fn.late):
      adanet.Estimator(**dict(dict(
          head=adanet.heads.RegressionHead(),
          subnetwork_generator=_Lines(*call.networks),
          max_iteration_steps=_STEPS, max_iterations=len(call.networks),
          placement_strategy=distributed.RoundRobinStrategy(),
          enable_ensemble_summaries=False, enable_subnetwork_summaries=False,
          config=tf_compat.RunConfig(
              model_dir=os.path.join(folder, "model"), tf_random_seed=1)),
                               **search)).train(executor=executor, **train)
  except (adanet.AllNaNError, adanet.EmptyInputError) as error:
    return str(error)
  return ""


def _reads(folder):
  """Returns how often the evaluator's input was read."""
  path = _held_out(folder)
  if not os.path.exists(path):
    return 0
  with open(path, encoding="utf-8") as f:
    return len(f.readlines())


def _short(name):
  return name and name.replace("_grow_complexity_regularized", "")


def _check(test: parameterized.TestCase, row: _Row,
           train: Callable[[_Call, str], str]) -> None:
  """Checks a row on an engine.

  Args:
    test: the test.
    row: `_Row`.
    train: function of a call and of the folder of its search that does what
      `_train` does.
  """
  folder = test.create_tempdir().full_path
  model_dir = os.path.join(folder, "model")
  for call in row.calls:
    then, reads = call.then, _reads(folder)
    error = train(call, folder)
    test.assertRegex(error, then.error or "^$")
    history = adanet.report(model_dir)
    test.assertEqual(then.is_read, _reads(folder) > reads)
    test.assertEqual(then.winners, tuple(
        _short(iteration.winner) for iteration in history.iterations))
    for t, (record, values) in enumerate(zip(history.iterations, then.values)):
      _check_iteration(test, then, t, record, values)
    if then.end:
      test.assertRegex(history.end.reason, then.end)
      # Not its name: on a cluster, workers train on while it is saved.
      test.assertEqual(
          history.end.global_step,
          tf_compat.v1.train.load_variable(model_dir, "global_step"))
    undecided = history.undecided
    test.assertEqual(
        then.leader, undecided and (_short(undecided.leader) or ""))


def _check_iteration(test, then, number, record, values):
  """Checks the record of an iteration."""
  actual = {_short(candidate.name): candidate.value
            for candidate in record.candidates
            if candidate.value is not None}
  test.assertEqual(list(values), list(actual))
  np.testing.assert_allclose(
      list(actual.values()), list(values.values()), atol=1e-6)
  test.assertEqual(then.reasons[number] if then.reasons else "", record.reason)
  steps = {name: subnetwork.steps
           for name, subnetwork in record.subnetworks.items()}
  test.assertEqual(
      {name: then.steps.get(name, _STEPS) for name in steps}, steps)
  test.assertEqual(
      number * _STEPS + np.mean(list(steps.values())), record.global_step)
  test.assertEqual(
      then.weights, record.fit and dict(record.fit.members))


class LocalTest(parameterized.TestCase):

  @_rows("fitted_and_balanced", _PART_OF_ANOTHER)
  def test(self, row):
    _check(self, row, _train)


class ExecutorTest(parameterized.TestCase):

  @_rows("max_steps_in_the_middle", _OF_SEARCH)
  def test(self, row):
    _check(self, row, functools.partial(_train, executor=engines.Here()))


@level.gate
class PoolTest(parameterized.TestCase):

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls._exits = contextlib.ExitStack()
    cls._pool = cls._exits.enter_context(engines.process_pool(2))

  @classmethod
  def tearDownClass(cls):
    cls._exits.close()
    super().tearDownClass()

  @_rows("fitted_and_balanced", only=_OF_POOL)
  def test(self, row):
    _check(self, row, functools.partial(_train, executor=self._pool))


def _error_path(folder):
  return os.path.join(folder, "error")


def _task(call, folder, job_id):
  """A user's program in a task of a cluster."""
  # So that a task that starts when the chief has ended needs not wait to see
  # whether the end was that of an earlier job.
  os.environ["ADANET_JOB_ID"] = job_id
  error = _train(call, folder)
  if "chief" in tf_compat.RunConfig().task_type:
    with open(_error_path(folder), "w", encoding="utf-8") as f:
      f.write(error)


class ClusterTest(parameterized.TestCase):
  """Its name is the first one: its tasks are forks, and need no session before.
  """

  @_rows("fitted_and_balanced",
         _OF_SEARCH + _NOT_OF_CLUSTER + _PART_OF_ANOTHER)
  def test(self, row):
    _check(self, row, self._train)

  def _train(self, call, folder):
    job = jobs.started(
        self, functools.partial(_task, call, folder, uuid.uuid4().hex),
        dict(chief=1, worker=1, ps=1))
    job.wait(lambda: "chief:0" not in job.running or any(
        map(job.status, job.names)), 90., "the end of the chief")
    self.assertFalse(any(map(job.status, job.names)), job.report())
    with open(_error_path(folder), encoding="utf-8") as f:
      error = f.read()
    if not error:
      job.finish(30.)
    job.close()  # After an error, the other tasks wait for the chief.
    return error


if __name__ == "__main__":
  sys.exit(absltest.main())

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of searches in which held-out data say when a network is done.

All labels are 1, and a network predicts its factor f: its loss is (1 - f)**2.
The curve of a network says what its factor is after each step, so each loss is
written by hand.
"""

import itertools
import math
import os
import random
import time
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet import tf_compat
from adanet.history import leaderboard
from adanet.testing import engines
from adanet.testing import variables as variables_lib
from adanet.training import held_out_input
import numpy as np

_NAN, _INF = float("nan"), float("inf")
_STEPS = 24  # At most, of a network.
_FINISHED = f"Training complete after {_STEPS} steps"


class _Curve(adanet.subnetwork.Builder):
  """A network whose factor is the next one of a list after each step."""

  def __init__(self, name: str, factors: Sequence[float],
               hooks: Sequence[Any] = ()):
    self._name = name
    self.factors = tuple(factors)
    self._hooks = hooks

  @property
  def name(self) -> str:
    return self._name

  def build_subnetwork(self, features: Any, *args: Any, **kwargs: Any) -> Any:
    v1 = tf_compat.v1
    logits = features["x"] * v1.get_variable("factor", initializer=9.)
    v1.get_variable("count", initializer=np.int64(0), trainable=False)
    return adanet.Subnetwork(logits, logits, complexity=1.)

  def build_subnetwork_train_op(
      self, subnetwork: Any, loss: Any, var_list: Sequence[Any], labels: Any,
      iteration_step: Any, summary: Any, previous_ensemble: Any) -> Any:
    v1 = tf_compat.v1
    factor, = var_list
    count = next(v for v in v1.global_variables() if v.op.name == (
        factor.op.name.replace("factor", "count")))
    with v1.control_dependencies([loss]):  # Of the factor before.
      ops = [v1.assign(factor, v1.gather(
          v1.constant(self.factors, v1.float32), iteration_step)),
             v1.assign_add(count, 1)]
      slot = v1.get_variable("slot", initializer=0., trainable=False)
      ops.append(v1.assign_add(slot, 1.))  # As an optimizer has.
    return adanet.subnetwork.TrainOpSpec(v1.group(*ops), hooks=self._hooks)


class _Input:
  """An input_fn of ones, which counts how often it is read.

  Attributes:
    reads: int.
  """

  def __init__(self, sizes: Sequence[int] = (8,), repeats: bool = True,
               weights: Sequence[float] = (), labels: Sequence[float] = ()):
    self.reads = 0
    self._sizes = sizes
    self._repeats = repeats
    self._labels = labels or [1.] * sum(sizes)
    self._weights = weights or [1.] * sum(sizes)

  def _batches(self):
    self.reads += 1
    start = 0
    for size in self._sizes:
      rows = slice(start, start + size)
      start += size
      yield ({"x": np.ones([size, 1], np.float32),
              "w": np.array(self._weights[rows], np.float32)[:, None]},
             np.array(self._labels[rows], np.float32)[:, None])

  def __call__(self) -> Any:
    float32 = tf_compat.v1.float32
    dataset = tf_compat.v1.data.Dataset.from_generator(
        self._batches, ({"x": float32, "w": float32}, float32),
        ({"x": [None, 1], "w": [None, 1]}, [None, 1]))
    return dataset.repeat() if self._repeats else dataset


class _Crash(tf_compat.v1.train.SessionRunHook):
  """Fails after some runs, as if the machine did: nothing is saved."""

  def __init__(self, runs: int):
    self._left = runs

  def after_run(self, run_context: Any, run_values: Any) -> None:
    self._left -= 1
    if self._left < 0:
      raise _CrashError()


class _CrashError(Exception):
  """Somebody has pulled the plug."""


class _StopOne(tf_compat.v1.train.SessionRunHook):
  """Stops its network after some steps."""

  def __init__(self, steps: int):
    self._steps = steps

  def begin(self) -> None:
    self._left = self._steps

  def after_run(self, run_context: Any, run_values: Any) -> None:
    self._left -= 1
    if not self._left:
      run_context.request_stop()


class _Late(tf_compat.v1.train.SessionRunHook):
  """Puts the clock forward after some runs."""

  def __init__(self, runs: int):
    self._left = runs
    self._now = time.time

  def after_run(self, run_context: Any, run_values: Any) -> None:
    self._left -= 1

  def time(self) -> float:
    return self._now() + 9999. * (self._left <= 0)


def _held_out(**arguments):
  return _Input((3, 2), repeats=False, **arguments)


def _estimator(folder: str, curves: Sequence[_Curve],
               held_out: Optional[Any] = None, rule: Any = None,
               head: Any = None, iterations: int = 1,
               every_steps: Optional[int] = None,
               max_iteration_steps: Optional[int] = _STEPS,
               **search: Any) -> adanet.Estimator:
  return adanet.Estimator(
      head or adanet.heads.RegressionHead(),
      adanet.subnetwork.SimpleGenerator(list(curves)), max_iteration_steps,
      ensemblers=[adanet.ensemble.GreedyEnsembler()],
      evaluator=adanet.Evaluator(held_out or _held_out()),
      early_stopping=rule or adanet.EarlyStopping(2, 3),
      max_iterations=iterations,
      config=tf_compat.RunConfig(
          model_dir=folder, tf_random_seed=1,
          save_checkpoints_steps=every_steps or 10**6),
      **search)


def _loss(factor: float) -> float:
  if not math.isfinite(factor):
    return _NAN
  return float((np.float32(1) - np.float32(factor))**2)


class _Expected(NamedTuple):
  """What holds of a network when it has ended."""
  steps: int
  best_step: Optional[int]
  losses: List[float]


def _by_hand(factors: Sequence[float], rule: adanet.EarlyStopping,
             limit: int = _STEPS) -> _Expected:
  """Returns how a network ends, by the words of the documentation."""
  losses: List[float] = []
  finite: List[float] = []
  in_a_row = 0
  best_step = None
  for step in range(1, limit + 1):
    # A step has the loss of the factor before.
    is_nan = step > 1 and math.isnan(factors[step - 2])
    if step % rule.every_steps and step < limit and not is_nan:
      continue
    loss = _loss(factors[step - 1])
    losses.append(loss)
    gains = math.isfinite(loss) and (
        not finite or loss < min(finite) - rule.min_delta)
    if math.isfinite(loss) and (not finite or loss < min(finite)):
      best_step = step
    if math.isfinite(loss):
      finite.append(loss)
    in_a_row = 0 if gains else in_a_row + 1
    if in_a_row == rule.patience or not math.isfinite(loss):
      break
  return _Expected(step, best_step, losses)


def _curves(count: int, seed: int, values: Sequence[float]) -> List[_Curve]:
  pick = random.Random(seed)
  return [_Curve(f"n{i}", [pick.choice(values) for _ in range(_STEPS)])
          for i in range(count)]


class EarlyStoppingTest(parameterized.TestCase):

  def _folder(self):
    return self.create_tempdir().full_path

  def _assert_ended(self, estimator, curves, rule, limit=_STEPS):
    """Asserts that all that is saved and shown is what is done by hand."""
    record = estimator.history().iterations[0]
    values = variables_lib.latest(estimator.model_dir)
    board = {row.name: row for row in leaderboard.rows(estimator.history())}
    for curve in curves:
      expected = _by_hand(curve.factors, rule, limit)
      name = f"t0_{curve.name}"
      shown = record.subnetworks[name]
      losses = [check.loss for check in shown.checks]
      np.testing.assert_array_equal(losses, expected.losses, name)
      self.assertEqual(
          (expected.steps, expected.best_step),
          (shown.steps, shown.best_step), name)
      self.assertNotEmpty(shown.ended)
      prefix = f"adanet/iteration_0/subnetwork_{name}/"
      # The last values, if none was good.
      step = expected.best_step or expected.steps
      np.testing.assert_array_equal(
          np.float32(curve.factors[step - 1]), values[prefix + "factor"])
      self.assertEqual(
          (step, expected.steps),
          (values[prefix + "count"], values[prefix + "step"]))
      if expected.best_step is not None:
        self.assertEqual(shown.held_out_loss, min(
            loss for loss in losses if math.isfinite(loss)))
        self.assertEqual(shown.held_out_loss, board[name].value)
    best = min((_by_hand(c.factors, rule, limit) for c in curves), key=lambda e:
               min(filter(math.isfinite, e.losses), default=_INF))
    self.assertEqual(record.fit.best_loss,
                     min(filter(math.isfinite, best.losses)))

  @parameterized.parameters(
      (adanet.EarlyStopping(2, 3), None, 9),
      (adanet.EarlyStopping(5, 1), None, 3),
      (adanet.EarlyStopping(1, 4, .3), None, 3),
      (adanet.EarlyStopping(50, 1), None, 0),
      (adanet.EarlyStopping(2, 2), engines.Here(), 1))
  def test_networks_end_and_go_back_as_by_hand(self, rule, executor, count):
    curves = _curves(count, seed=rule.every_steps, values=[
        1.5, 1.25, 1., 2., 1.125, 1.0625])
    curves += [
        _Curve("nan_late", [2., 1.5, 1.25, 1.125] + [_NAN] * 20),
        _Curve("inf_at_once", [_INF] * _STEPS),
        _Curve("up", [1 + i / 32 for i in range(_STEPS)]),
        _Curve("down", [2 - i / 32 for i in range(_STEPS)])]
    estimator = _estimator(self._folder(), curves, rule=rule)
    estimator.train(_Input(), executor=executor)
    self._assert_ended(estimator, curves, rule)

  def test_executor_has_the_values_of_one_process(self):
    found = []
    curves = _curves(3, seed=3, values=[1.5, 1.25, 2., 1.125])
    for executor in (None, engines.Here()):
      estimator = _estimator(self._folder(), curves, iterations=2)
      estimator.train(_Input(), executor=executor)
      found.append((variables_lib.latest(estimator.model_dir), [
          (r.winner, r.fit, r.global_step, {
              name: network._replace(seconds=None)
              for name, network in r.subnetworks.items()})
          for r in estimator.history().iterations]))
    variables_lib.assert_equal(found[0][0], found[1][0])
    self.assertEqual(found[0][1], found[1][1])

  @parameterized.parameters(None, engines.Here())
  def test_after_crashes_all_is_as_if_nothing_had_been(self, executor):
    curves = _curves(2, seed=5, values=[1.5, 1.25, 2., 1.125, 1.75])
    whole = _estimator(self._folder(), curves, every_steps=3)
    whole.train(_Input())
    folder = self._folder()
    crashes = 0
    for runs in itertools.cycle([3, 4, 5, 6]):
      estimator = _estimator(folder, curves, every_steps=3)
      try:
        estimator.train(_Input(), hooks=[_Crash(runs)], executor=executor)
        break
      except (_CrashError, adanet.PartError):
        crashes += 1
        self.assertLess(crashes, 60)
    self.assertGreater(crashes, 2)
    variables_lib.assert_equal(
        variables_lib.latest(whole.model_dir),
        variables_lib.latest(estimator.model_dir))
    before, after = (one.history().iterations[0] for one in (whole, estimator))
    self.assertEqual(before.fit, after.fit)
    for name, network in before.subnetworks.items():
      self.assertEqual(network._replace(seconds=None),
                       after.subnetworks[name]._replace(seconds=None))

  def test_in_several_calls(self):
    curves = _curves(3, seed=7, values=[1.5, 1.25, 2., 1.125, 1.75])
    rule = adanet.EarlyStopping(2, 3)
    folder = self._folder()
    while not _estimator(folder, curves).history().iterations:
      _estimator(folder, curves).train(_Input(), steps=3)
    self._assert_ended(_estimator(folder, curves), curves, rule)

  def test_when_the_input_ends_networks_have_their_best_values(self):
    curve = _Curve("a", [2., 1.25, 3., 3., 3., 3., 3.] + [3.] * _STEPS)
    estimator = _estimator(self._folder(), [curve])
    estimator.train(_Input((4,) * 5, repeats=False))
    values = variables_lib.latest(estimator.model_dir)
    self.assertEqual(1.25, values["adanet/iteration_0/subnetwork_t0_a/factor"])
    self.assertEqual(5, values["adanet/iteration_0/subnetwork_t0_a/step"])

  def test_when_the_time_is_up_networks_have_their_best_values(self):
    curve = _Curve("a", [2., 1.25] + [3.] * _STEPS)
    estimator = _estimator(
        self._folder(), [curve], rule=adanet.EarlyStopping(2, 9), every_steps=1)
    late = _Late(5)
    with absltest.mock.patch.object(time, "time", late.time):
      estimator.train(_Input(), max_seconds=6000., hooks=[late])
    values = variables_lib.latest(estimator.model_dir)
    step = values["adanet/iteration_0/subnetwork_t0_a/step"]
    self.assertEqual(5, step)
    self.assertEqual(1.25, values["adanet/iteration_0/subnetwork_t0_a/factor"])
    self.assertAlmostEqual(
        _loss(1.25), estimator.evaluate(_held_out())["average_loss"], places=6)
    # Training goes on from there.
    estimator.train(_Input(), steps=1)
    values = variables_lib.latest(estimator.model_dir)
    self.assertEqual(
        step + 1, values["adanet/iteration_0/subnetwork_t0_a/step"])

  def test_a_hook_of_a_builder_stops_its_network_as_before(self):
    stopped = _Curve("a", [2., 1.25, 3.] + [3.] * _STEPS, [_StopOne(3)])
    other = _Curve("b", np.linspace(2, 1, _STEPS))
    estimator = _estimator(self._folder(), [stopped, other])
    estimator.train(_Input())
    networks = estimator.history().iterations[0].subnetworks
    self.assertEqual((3, 2), (
        networks["t0_a"].steps, networks["t0_a"].best_step))
    self.assertEqual([2, 3], [c.step for c in networks["t0_a"].checks])
    self.assertEqual((_STEPS, _FINISHED), (
        networks["t0_b"].steps, networks["t0_b"].ended))

  def test_input_of_evaluator_is_read_once(self):
    held_out = _held_out()
    curves = _curves(3, seed=1, values=[1.5, 2.])
    _estimator(self._folder(), curves, held_out).train(_Input())
    # Once for all checks, and once for the comparison of the ensembles.
    self.assertEqual(2, held_out.reads)

  def test_a_large_input_is_read_again(self):
    with absltest.mock.patch.object(held_out_input, "_MAX_KEPT_BYTES", 1):
      held_out = _held_out()
      curves = _curves(2, seed=1, values=[1.5, 1.25])
      rule = adanet.EarlyStopping(2, 3)
      estimator = _estimator(self._folder(), curves, held_out)
      estimator.train(_Input())
    self._assert_ended(estimator, curves, rule)
    self.assertGreater(held_out.reads, 3)

  def test_an_input_that_is_another_one_each_time(self):
    held_out = _held_out(labels=[1., 2., 3., 4., 5.])
    labels = itertools.count()
    held_out._batches = lambda: iter([(
        {"x": np.ones([1, 1], np.float32), "w": np.ones([1, 1], np.float32)},
        np.full([1, 1], next(labels), np.float32))])
    with absltest.mock.patch.object(held_out_input, "_MAX_KEPT_BYTES", 1):
      with self.assertRaisesRegex(
          ValueError, "^evaluator.input_fn: a check of networks got another "
          "batch 0 than others before"):
        _estimator(self._folder(), _curves(1, 1, [2.]), held_out).train(
            _Input())

  def test_an_empty_input(self):
    with self.assertRaisesRegex(adanet.EmptyInputError, "evaluator.input_fn"):
      _estimator(self._folder(), _curves(1, 1, [2.]), _Input((), False)).train(
          _Input())

  def test_each_example_counts_with_its_weight(self):
    # The labels 1 and 3, with weights 3 and 1: f = 1.5 is the best.
    curve = _Curve("a", [1., 1., 2., 2., 1.5, 1.5, 3.] + [3.] * _STEPS)
    estimator = _estimator(
        self._folder(), [curve],
        _held_out(labels=[1., 1., 1., 3., 9.], weights=[1., 1., 1., 1., 0.]),
        head=adanet.heads.RegressionHead(weight_column="w"))
    estimator.train(_Input())
    network = estimator.history().iterations[0].subnetworks["t0_a"]
    self.assertEqual(6, network.best_step)
    np.testing.assert_allclose(  # The head divides by the number of examples.
        [c.loss for c in network.checks][:3],
        np.float32([4 / 5, (3 + 1) / 5, (3 * .25 + 2.25) / 5]))

  def test_progress_and_tensorboard_show_the_checks(self):
    folder = self._folder()
    curves = [_Curve("a", [2., 1.25] + [3.] * _STEPS)]
    estimator = _estimator(folder, curves)
    estimator.train(_Input())
    points: Dict[int, float] = {}
    events = os.path.join(folder, "subnetwork", "t0_a")
    for file in os.listdir(events):
      for event in tf_compat.v1.train.summary_iterator(
          os.path.join(events, file)):
        for value in event.summary.value:
          if value.tag == "loss/adanet/held_out":
            points[event.step] = value.simple_value
    checks = estimator.history().iterations[0].subnetworks["t0_a"].checks
    self.assertEqual({c.step: np.float32(c.loss) for c in checks}, points)
    self.assertLen(points, 4)

  @parameterized.parameters(
      (dict(ensemblers=None), ValueError, "^early_stopping=.*: expected None "
       "with the ensembler that is the default"),
      (dict(ensemblers=[adanet.ensemble.GreedyEnsembler(),
                        adanet.ensemble.MeanEnsembler(name="mean")]),
       ValueError, "^early_stopping=.*: expected None with the ensembler "
       "'mean', which trains"),
      (dict(early_stopping=3), TypeError,
       r"^early_stopping must be an adanet.EarlyStopping\(every_steps, "
       r"patience\), got 3$"),
      (dict(early_stopping=adanet.EarlyStopping), TypeError,
       "got the class EarlyStopping: call it"))
  def test_arguments_that_do_not_fit(self, given, error, message):
    arguments = dict(dict(
        ensemblers=[adanet.ensemble.GreedyEnsembler()],
        early_stopping=adanet.EarlyStopping()), **given)
    with self.assertRaisesRegex(error, message):
      adanet.Estimator(
          adanet.heads.RegressionHead(),
          adanet.subnetwork.SimpleGenerator(_curves(1, 1, [2.])), 5,
          **arguments)


if __name__ == "__main__":
  absltest.main()

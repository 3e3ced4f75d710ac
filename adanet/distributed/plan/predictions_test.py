# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the figures, by brute force and by a simulation."""

import fractions
import functools
import math

from absl.testing import absltest
from absl.testing import parameterized
from adanet.testing import level
from adanet import distributed
from adanet.distributed import plan as plan_lib
from adanet.testing import answers as answers_lib
from adanet.testing import strategies
import hypothesis
from hypothesis import strategies as st
import numpy as np


def _weights(num_subnetworks):
  """Returns a strategy of Hypothesis for costs or sizes, also for None."""
  return st.none() | st.lists(
      st.integers(1, 9) | st.floats(1e-3, 1e3) | st.fractions(1, 1000),
      min_size=num_subnetworks, max_size=num_subnetworks)


_costs = (st.integers(1, 10**6) | st.floats(1e-3, 1e3) |
          st.fractions(fractions.Fraction(1, 1000), 1000))


def _rates_and_times(answers, costs, ensemble_cost):
  """Returns r(w, i), d(w, i) and e(w), exactly: three lists, for each worker.
  """
  rates, times, ensemble_parts = [], [], []
  for w, (trained, parts) in enumerate(zip(answers.trained, answers.fractions)):
    if parts is None:
      step = ensemble_cost * answers.ensemble[w] + sum(
          costs[i] for i in trained)
      times.append(dict.fromkeys(trained, step))
      rates.append(dict.fromkeys(trained, 1 / step if trained else 0))
      ensemble_parts.append(answers.ensemble[w] * (
          ensemble_cost / step if trained else 1))
    else:
      part = answers.ensemble_fractions[w]
      times.append({i: costs[i] for i in trained})
      rates.append({i: (1 - part) * parts[i] / costs[i] for i in trained})
      ensemble_parts.append(part)
  return rates, times, ensemble_parts


def _num_reads(answers, w, i, rates, ensemble_part, mean, costs):
  """Returns how often a worker reads a subnetwork that it builds, for a load.
  """
  if not rates:
    return 1
  if answers.fractions[w] is None:
    return mean * len(rates) / sum(costs[j] for j in rates)
  return mean * rates.get(i, 0) + ensemble_part


def _num_duplicated(answers, ensemble_parts, ensemble_cost, slowest):
  """Returns how many workers build the ensembles in vain, by trying."""
  builders = [w for w, builds in enumerate(answers.ensemble) if builds]
  idle = [w for w in builders if not answers.trained[w]]
  dividing = [w for w in builders if answers.trained[w] and
              answers.fractions[w] is not None]
  if sum(ensemble_parts) / ensemble_cost < slowest * (1 - 1e-9):
    return 0
  speed = sum(ensemble_parts[w] for w in dividing) / ensemble_cost
  num_needed = 0
  while num_needed < len(idle) and speed < slowest * (1 - 1e-9):
    num_needed += 1
    speed += 1 / ensemble_cost
  return len(builders) and len(builders) - max(1, num_needed + len(dividing))


def _part(strategy, all_ps, shape, i, p):
  """Returns the part of a subnetwork's bytes that a ps has, exactly."""
  _, n, k = shape
  if not (isinstance(strategy, distributed.BalancedStrategy) and
          "dedicate" not in repr(strategy)):
    return fractions.Fraction(1, len(all_ps[i]))
  sizes = list(map(fractions.Fraction, strategy.sizes_of(k)))
  start, part = sum(sizes[:i]), sum(sizes) / n
  return (min(start + sizes[i], (p + 1) * part) - max(start, p * part)
         ) / sizes[i]


class PredictionsTest(parameterized.TestCase):

  @hypothesis.settings(max_examples=level.number(25, 100))
  @hypothesis.given(answers_lib.all_strategies, answers_lib.shapes, st.data())
  def test_follow_from_answers(self, strategy, shape, data):
    m, n, k = shape
    costs, sizes = data.draw(_weights(k)), data.draw(_weights(k))
    ensemble_cost = data.draw(st.none() | _costs)
    plan = plan_lib.PlacementPlan(
        strategy, m, n, k, costs, sizes, ensemble_cost)
    answers = answers_lib.Answers(strategy, m, n, k)
    costs, sizes = (list(map(fractions.Fraction, weights or [1] * k))
                    for weights in (plan.costs, plan.sizes))
    ensemble_cost = fractions.Fraction(plan.ensemble_cost)
    rates, times, ensemble_parts = _rates_and_times(
        answers, costs, ensemble_cost)
    ensemble_speed = sum(ensemble_parts) / ensemble_cost
    speeds = [sum(rate.get(i, 0) for rate in rates) for i in range(k)]
    slowest = min(speeds)

    def check(expected, array, dtype):
      self.assertEqual(dtype, array.dtype)
      np.testing.assert_allclose(
          array, np.array(expected, np.float64), rtol=1e-12, atol=1e-9)

    check([len(b) for b in answers.built], plan.subnetworks_per_worker(),
          np.int64)
    check([len(t) for t in answers.trained], plan.trained_per_worker(),
          np.int64)
    check([len(ws) for ws in answers.trainers], plan.trainers_per_subnetwork(),
          np.int64)
    np.testing.assert_array_almost_equal_nulp(
        np.array(speeds, np.float64), plan.effective_speeds(), 50)
    stale = [[times[w][i] * (speeds[i] - rates[w][i])
              for w in answers.trainers[i]] for i in range(k)]
    check([sum(rates[w][i] / speeds[i] * s for w, s in zip(
        answers.trainers[i], stale[i])) for i in range(k)],
          plan.stale_gradients(), np.float64)
    check([max(s, default=0) for s in stale], plan.max_staleness(), np.float64)
    np.testing.assert_allclose(plan.wasted_training(), float(sum(
        cost * (speed - slowest) for cost, speed in zip(costs, speeds))),
                               rtol=1e-9, atol=1e-9)
    self.assertEqual(
        _num_duplicated(answers, ensemble_parts, ensemble_cost, slowest),
        plan.duplicated_ensembles())
    np.testing.assert_allclose(
        plan.ensemble_speed(), float(ensemble_speed), rtol=1e-12)
    slowest = min(slowest, ensemble_speed)
    self.assertEqual(slowest > 0, plan.trains_everything)
    np.testing.assert_allclose(
        plan.training_time(60), float(60 / slowest) if slowest else np.inf,
        rtol=1e-12)
    if answers.ps is None:
      self.assertIsNone(plan.fetches_per_ps())
      self.assertIsNone(plan.load_per_ps())
      return
    on = [[i for i in range(k) if p in answers.ps[i]] for p in range(n)]
    check([sum(len(answers.builders[i]) for i in on[p]) for p in range(n)],
          plan.fetches_per_ps(), np.int64)
    mean = sum(costs) / k
    reads = [sum(_num_reads(
        answers, w, i, rates[w], ensemble_parts[w], mean, costs)
                 for w in answers.builders[i]) for i in range(k)]
    check([sum(reads[i] * sizes[i] * _part(strategy, answers.ps, shape, i, p)
               for i in on[p]) for p in range(n)], plan.load_per_ps(),
          np.float64)

  @hypothesis.given(answers_lib.lockstep_strategies, st.integers(1, 12),
                    st.lists(st.integers(1, 3), min_size=1, max_size=4))
  def test_staleness_of_a_simulation(self, strategy, num_workers, costs):
    """Workers read, compute for as long as their work costs, and write."""
    num_subnetworks = len(costs)
    shape = num_workers, 2, num_subnetworks
    answers = answers_lib.Answers(strategy, *shape)
    # So that a step with ensembles takes whole units too.
    ensemble_cost = len(costs)
    plan = plan_lib.PlacementPlan(
        strategy, *shape, costs, ensemble_cost=ensemble_cost)
    work = [sum(costs[i] for i in trained) + builds * ensemble_cost
            for trained, builds in zip(answers.trained, answers.ensemble)]
    cycle = functools.reduce(
        lambda a, b: a * b // math.gcd(a, b), filter(None, work), 1)
    for i in range(num_subnetworks):
      periods = {w: work[w] for w in answers.trainers[i]}
      staleness = {w: [] for w in periods}
      read_at = {}  # From a worker to the number of updates that it has seen.
      num_updates = 0
      for time in range(1, 2 * cycle + 1):
        for w, period in periods.items():
          if (time + w) % period == 0:
            if time > cycle:
              staleness[w].append(num_updates - read_at[w])
            num_updates += 1
            read_at[w] = num_updates
      everything = [s for stale in staleness.values() for s in stale]
      slowest = max(periods, key=periods.get) if periods else None
      self.assertAlmostEqual(
          np.mean(everything) if everything else 0., plan.stale_gradients()[i])
      self.assertAlmostEqual(
          np.mean(staleness[slowest]) if everything else 0.,
          plan.max_staleness()[i])

  @level.gate
  @hypothesis.settings(max_examples=60)
  @hypothesis.given(
      st.none() | st.lists(_costs, min_size=1, max_size=40), st.none() | _costs,
      st.integers(1, 60), st.integers(0, 9), st.data())
  def test_balanced_is_optimal(self, costs, ensemble_cost, m, n, data):
    """All m workers work until the end, and no other strategy is faster."""
    k = len(costs or [1] * 17)
    sizes = data.draw(_weights(k))
    plan = plan_lib.PlacementPlan(
        distributed.BalancedStrategy(costs, sizes, ensemble_cost=ensemble_cost),
        m, n, k)
    total = sum(map(fractions.Fraction, plan.costs or [1] * k))
    if plan.own_ensemble_cost is None:
      self.assertEqual(total / 3, plan.ensemble_cost)
    total += fractions.Fraction(plan.ensemble_cost)
    self.assertAlmostEqual(
        1, plan.training_time() * float(plan.num_workers / total), delta=1e-9)
    self.assertAlmostEqual(
        1, plan.ensemble_speed() * plan.training_time(), delta=1e-9)
    self.assertLen(set(plan.effective_speeds().tolist()), 1)
    self.assertEqual(0, plan.wasted_training())
    self.assertEqual(0, plan.duplicated_ensembles())
    self.assertEqual((), plan.problems())
    load = plan.load_per_ps()
    np.testing.assert_allclose(load, [load.mean()] * n if n else [])
    for other in (
        distributed.BalancedStrategy(costs, num_ensemble_workers=1),
        distributed.RoundRobinStrategy(), distributed.ReplicationStrategy()):
      self.assertLessEqual(
          plan.training_time(), (1 + 1e-12) * plan_lib.PlacementPlan(
              other, m, n, k, costs, sizes,
              plan.ensemble_cost).training_time())

  def test_what_ensembles_cost(self):
    balanced = distributed.BalancedStrategy((1, 2), ensemble_cost=5)
    measured = distributed.BalancedStrategy("measured").with_measured(
        (3, 6), ensemble_cost=4)
    for expected, strategy, args in (
        (5, balanced, ()), (5, balanced, ((2, 4),)),
        (7, balanced, (None, None, 7)), (4, measured, ()),
        (2, measured, ((2, 4),)),
        (1, distributed.BalancedStrategy(), ((1, 2),)),
        (1, distributed.BalancedStrategy((1, 2)), ()),
        (fractions.Fraction(2, 3), distributed.RoundRobinStrategy(), ()),
        (1, distributed.RoundRobinStrategy(), ((1, 2),)),
        (.5, distributed.RoundRobinStrategy(), ((1, 2), None, .5))):
      plan = plan_lib.PlacementPlan(strategy, 3, 0, 2, *args)
      self.assertEqual(expected, plan.ensemble_cost)
      self.assertEqual(None if expected == sum(plan.costs or (1, 1)) /
                       fractions.Fraction(3) else expected,
                       plan.own_ensemble_cost)

  def test_no_worker_builds_the_ensembles(self):
    plan = plan_lib.PlacementPlan(
        strategies.Custom(lambda config: False, lambda config, i: True,
                          lambda config: True), 3, 0, 2)
    self.assertEqual(0, plan.ensemble_speed())
    self.assertEqual(float("inf"), plan.training_time())
    self.assertFalse(plan.trains_everything)
    self.assertIsNone(plan.figures()["training_time"])

  @parameterized.parameters(
      (distributed.ReplicationStrategy(), 4 / 6),
      (distributed.RoundRobinStrategy(), .5),
      (distributed.BalancedStrategy(ensemble_cost=0), 4 / 6))
  def test_fitted_ensembles_take_no_time(self, strategy, slowest):
    plan = plan_lib.PlacementPlan(strategy, 4, 2, 6, ensemble_cost=0)
    self.assertEqual(float("inf"), plan.ensemble_speed())
    self.assertAlmostEqual(slowest, float(plan.effective_speeds().min()))
    self.assertAlmostEqual(1 / slowest, plan.training_time())

  def test_arrays_are_copies(self):
    plan = plan_lib.PlacementPlan(distributed.RoundRobinStrategy(), 7, 3, 2)
    for name in ("subnetworks_per_worker", "trained_per_worker",
                 "trainers_per_subnetwork", "effective_speeds",
                 "stale_gradients", "max_staleness", "fetches_per_ps",
                 "load_per_ps"):
      array = getattr(plan, name)()
      array += 7
      self.assertFalse((array == getattr(plan, name)()).any(), name)


if __name__ == "__main__":
  absltest.main()

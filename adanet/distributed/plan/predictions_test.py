# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the figures, by brute force and by a simulation."""

import math

from absl.testing import absltest
from absl.testing import parameterized
from adanet import distributed
from adanet.distributed import plan as plan_lib
from adanet.testing import answers as answers_lib
import hypothesis
from hypothesis import strategies as st
import numpy as np


class PredictionsTest(parameterized.TestCase):

  @hypothesis.settings(max_examples=150)
  @hypothesis.given(answers_lib.all_strategies, answers_lib.shapes)
  def test_follow_from_answers(self, strategy, shape):
    m, n, k = shape
    plan = plan_lib.PlacementPlan(strategy, m, n, k)
    answers = answers_lib.Answers(strategy, m, n, k)
    shares = [len(trained) for trained in answers.trained]
    speeds = [sum(1. / shares[w] for w in ws) for ws in answers.trainers]
    slowest = min(speeds)

    def check(expected, array, dtype):
      self.assertEqual(dtype, array.dtype)
      np.testing.assert_allclose(array, expected, rtol=1e-12, atol=1e-9)

    check([len(b) for b in answers.built], plan.subnetworks_per_worker(),
          np.int64)
    check(shares, plan.trained_per_worker(), np.int64)
    check([len(ws) for ws in answers.trainers], plan.trainers_per_subnetwork(),
          np.int64)
    check(speeds, plan.effective_speeds(), np.float64)
    self.assertAlmostEqual(sum(speeds) - k * slowest, plan.wasted_training())
    self.assertEqual(max(0, sum(answers.ensemble) - 1),
                     plan.duplicated_ensembles())
    self.assertEqual(slowest > 0, plan.trains_everything)
    self.assertAlmostEqual(60 / slowest if slowest else float("inf"),
                           plan.training_time(60))
    if answers.ps is None:
      self.assertIsNone(plan.fetches_per_ps())
      self.assertIsNone(plan.load_per_ps())
      return
    on = [[i for i in range(k) if p in answers.ps[i]] for p in range(n)]
    check([sum(len(answers.builders[i]) for i in on[p]) for p in range(n)],
          plan.fetches_per_ps(), np.int64)
    check([sum(len(answers.builders[i]) / len(answers.ps[i]) for i in on[p])
           for p in range(n)], plan.load_per_ps(), np.float64)

  @hypothesis.given(answers_lib.all_strategies, st.integers(1, 12),
                    st.integers(1, 5))
  def test_staleness_of_a_simulation(self, strategy, num_workers,
                                     num_subnetworks):
    """Workers read, compute for as long as their share, and write."""
    shape = num_workers, 2, num_subnetworks
    plan = plan_lib.PlacementPlan(strategy, *shape)
    answers = answers_lib.Answers(strategy, *shape)
    for i in range(num_subnetworks):
      periods = {w: len(answers.trained[w]) for w in answers.trainers[i]}
      staleness = {w: [] for w in periods}
      read_at = {}  # From a worker to the number of updates that it has seen.
      num_updates = 0
      cycle = math.factorial(num_subnetworks)  # All periods divide it.
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

  @parameterized.parameters(1, 2, 5, 12)
  def test_claims(self, num_rounds):
    k, n = 4, 8
    m = num_rounds * (k + 1)
    replication, round_robin, shared_ps = (
        plan_lib.PlacementPlan(strategy, m, n, k) for strategy in (
            distributed.ReplicationStrategy(), distributed.RoundRobinStrategy(),
            distributed.RoundRobinStrategy(dedicate_parameter_servers=False)))
    self.assertEqual(m * n * k, replication.fetches_per_ps().sum())
    self.assertEqual(2 * num_rounds * n, round_robin.fetches_per_ps().sum())
    self.assertEqual(2 * num_rounds * n * k, shared_ps.fetches_per_ps().sum())
    for plan, num_trainers, built, num_ensembles, time in (
        (replication, m, [k] * m, m, k / m),
        (round_robin, num_rounds, ([k] + [1] * k) * num_rounds, num_rounds,
         1 / num_rounds)):
      self.assertEqual([num_trainers] * k,
                       plan.trainers_per_subnetwork().tolist())
      self.assertEqual([num_trainers - 1] * k, plan.stale_gradients().tolist())
      self.assertEqual(built, plan.subnetworks_per_worker().tolist())
      self.assertEqual(num_ensembles - 1, plan.duplicated_ensembles())
      self.assertAlmostEqual(time, plan.training_time())

  @parameterized.parameters(
      # The number of workers, drop_remainder, the least speed, the waste.
      (4, False, 1., 0.), (5, False, 1., 0.), (6, False, 4 / 3, 0.),
      (7, False, 1.5, .5), (8, False, 2., 0.), (6, True, 1., 1.),
      (7, True, 1., 2.), (3, True, 0., 2.))
  def test_partial_rounds(self, num_workers, drop_remainder, slowest, wasted):
    plan = plan_lib.PlacementPlan(
        distributed.RoundRobinStrategy(drop_remainder), num_workers, 0, 3)
    self.assertAlmostEqual(slowest, plan.effective_speeds().min())
    self.assertAlmostEqual(wasted, plan.wasted_training())

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

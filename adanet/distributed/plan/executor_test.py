# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the plans of executors, against all divisions of a few costs."""

import fractions
import itertools
import json

from absl.testing import absltest
from absl.testing import parameterized
from adanet.distributed import plan as plan_lib
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
from adanet.testing import level
import hypothesis
from hypothesis import strategies as st

_costs = st.lists(st.one_of(
    st.integers(1, 20), st.floats(.01, 100.)), min_size=1, max_size=6)


class ExecutorPlanTest(parameterized.TestCase):

  @hypothesis.settings(max_examples=level.number(15, 50))
  @hypothesis.given(st.integers(1, 3), _costs)
  def test_is_near_the_shortest_time(self, num_workers, costs):
    exact = list(map(fractions.Fraction, costs))
    plan = plan_lib.ExecutorPlan(num_workers, len(costs), costs)
    times = [sum(exact[i] for i in group.subnetworks)
             for group in plan.worker_groups]
    shortest = min(  # Of all divisions.
        max(sum(cost for cost, owner in zip(exact, owners) if owner == worker)
            for worker in range(num_workers))
        for owners in itertools.product(range(num_workers), repeat=len(costs)))
    self.assertLessEqual(
        max(times),
        (fractions.Fraction(4, 3) - fractions.Fraction(1, 3 * num_workers)) *
        shortest)
    self.assertLessEqual(plan.ideal_time(), float(shortest))
    self.assertEqual(float(max(times)), plan.training_time())

  @hypothesis.given(st.integers(1, 8), st.one_of(_costs, st.integers(1, 30)))
  def test_trains_each_subnetwork_once(self, num_workers, costs_or_count):
    costs = costs_or_count if isinstance(costs_or_count, list) else None
    count = len(costs_or_count) if costs else costs_or_count
    plan = plan_lib.ExecutorPlan(num_workers, count, costs)
    self.assertCountEqual(
        range(num_workers), [w for g in plan.worker_groups for w in g.workers])
    self.assertCountEqual(
        range(count), [i for g in plan.worker_groups for i in g.subnetworks])
    figures = plan.figures()
    self.assertEqual(
        num_workers,
        sum(bool(g.subnetworks) for g in plan.worker_groups) +
        figures["idle_workers"])
    self.assertLessEqual(figures["ideal_time"], figures["training_time"])
    self.assertBetween(figures["utilization"], 0., 1.)
    self.assertEqual(plan.to_json_dict(), json.loads(json.dumps(
        plan.to_json_dict(), allow_nan=False)))

  def test_the_longest_first(self):
    plan = plan_lib.ExecutorPlan(2, 5, (1, 3., 2, 2, .5))
    self.assertEqual(
        [([0], [0, 1, 4], 4.5), ([1], [2, 3], 4)],
        [(list(g.workers), list(g.subnetworks), g.time)
         for g in plan.worker_groups])
    self.assertEqual(
        {"training_time": 4.5, "ideal_time": 4.25, "speedup": 8.5 / 4.5,
         "utilization": 8.5 / 9, "idle_workers": 0}, plan.figures())
    self.assertEqual("ExecutorPlan(num_workers=2, num_subnetworks=5, "
                     "costs=(1, 3.0, 2, 2, 0.5))", repr(plan))

  def test_more_workers_than_subnetworks(self):
    plan = plan_lib.ExecutorPlan(20000, 3)
    self.assertEqual(1, plan.training_time())
    self.assertEqual(20000 - 3, plan.figures()["idle_workers"])
    self.assertLen(plan.worker_groups, 4)

  def test_far_costs(self):
    plan = plan_lib.ExecutorPlan(1, 3, (1e100, 1e100, 1e-100))
    self.assertEqual(2e100, plan.training_time())
    self.assertEqual(1., plan.figures()["speedup"])

  @parameterized.parameters(
      ((0, 1), "num_workers=0: expected an integer of at least 1."),
      ((10**5, 3), "num_workers=100000: expected at most 20,000 workers."),
      ((1, 0), "num_subnetworks=0: expected an integer of at least 1."),
      ((1, 2, (1,)), "costs=(1,): expected 2 numbers from 1e-100 to 1e+100, "
                     "one for each subnetwork."),
      ((1, 1, (1e308,)), "costs[0]=1e+308: expected a number from 1e-100 to "
                         "1e+100."),
      ((1, 1, (0,)), "costs[0]=0: expected a finite number greater than 0."))
  def test_bad_arguments(self, arguments, message):
    with self.assertRaises(ValueError) as caught:
      plan_lib.ExecutorPlan(*arguments)
    self.assertEqual(message, str(caught.exception))


if __name__ == "__main__":
  absltest.main()

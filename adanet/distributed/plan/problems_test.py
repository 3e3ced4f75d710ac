# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what is wrong with a plan, and of what fixes it."""

from absl.testing import absltest
from absl.testing import parameterized
from adanet import distributed
from adanet.distributed import plan as plan_lib
from adanet.testing import answers as answers_lib
from adanet.testing import level
from adanet.testing import strategies
import hypothesis
import numpy as np

_ROUND_ROBIN = distributed.RoundRobinStrategy()
_DROPPING = distributed.RoundRobinStrategy(drop_remainder=True)
_FIX = " Fix: use BalancedStrategy()."


# All workers train the first subnetwork, with the first parameter server.
_FIRST = strategies.Custom(
    lambda config: config.global_id_in_cluster == 0,
    lambda config, i: i == 0,
    lambda config: True,
    lambda config, i: range(min(1, config.num_ps_replicas)))


class ProblemsTest(parameterized.TestCase):

  @parameterized.parameters(
      (_ROUND_ROBIN, (5, 3, 3),
       "chief:0, worker:3 build the ensembles; one is enough. Fix: use 6 "
       "workers beside the chief, or BalancedStrategy()."),
      (_ROUND_ROBIN, (9, 3, 6),
       "worker:7 trains more than twice the median of 1 subnetwork." + _FIX,
       "chief:0, worker:6 take 1 for a step of the ensembles, but the slowest "
       "subnetwork takes 0.8571." + _FIX),
      # With 6 workers, the ensembles would be too slow.
      (_DROPPING, (4, 2, 5), "No worker trains subnetworks 3, 4." + _FIX),
      (_DROPPING, (3, 0, 3), "No worker trains subnetwork 2. Fix: use 3 "
       "workers beside the chief, or BalancedStrategy()."),
      (distributed.ReplicationStrategy(), (3, 3, 6),
       "chief:0, worker:0, worker:1 build the ensembles; one is enough." +
       _FIX),
      (_FIRST, (6, 3, 1),
       "No worker uses ps:1, ps:2." + _FIX,
       "ps:0 serves more than twice the mean load of 2 "
       "subnetworks." + _FIX,
       "chief:0 takes 1.333 for a step of the ensembles, but the slowest "
       "subnetwork takes 0.1739." + _FIX),
      (strategies.Custom(
          lambda config: config.global_id_in_cluster == 0,
          lambda config, i: config.global_id_in_cluster in (0, i + 1),
          lambda config: config.global_id_in_cluster > 0,
          lambda config, i: range(config.num_ps_replicas)
          if config.num_ps_replicas > 4 else [config.num_ps_replicas - 1]),
       (4, 3, 3), "No worker uses ps:0, ps:1. Fix: use 5 parameter servers, or "
       "BalancedStrategy().",
       "ps:2 serves more than twice the mean load of 2 subnetworks. Fix: "
       "use 5 parameter servers, or BalancedStrategy()."),
      (strategies.Custom(
          lambda config: False, lambda config, i: True, lambda config: True),
       (3, 0, 2), "No worker builds the ensembles." + _FIX),
      # Some say that they train, but build no subnetwork.
      (strategies.arbitrary(0), (15, 0, 1),
       "worker:1, worker:4, worker:7, worker:8 build the ensembles; 2 are "
       "enough." + _FIX),
      # Raises in any other shape of cluster.
      (strategies.Custom(
          lambda config: {3: True}[config.num_worker_replicas],
          lambda config, i: True, lambda config: True), (3, 2, 9),
       "chief:0, worker:0, worker:1 build the ensembles; one is enough." +
       _FIX),
      (distributed.BalancedStrategy(num_ensemble_workers=3), (9, 0, 5),
       "chief:0, worker:0, worker:1 build the ensembles; 2 are enough. Fix: "
       "use 9 workers beside the chief, or BalancedStrategy()."),
      # With costs, and with sizes.
      (_ROUND_ROBIN, (9, 2, 3, (1, 2, 10)),
       "worker:2, worker:6 train more than twice the median cost of 2. Fix: "
       "use BalancedStrategy(costs=(1, 2, 10)).",
       "chief:0, worker:3, worker:7 build the ensembles; one is enough. Fix: "
       "use BalancedStrategy(costs=(1, 2, 10))."),
      (_ROUND_ROBIN, (4, 4, 3, None, (10, 10, 1e3)),
       "ps:3 serves more than twice the mean load of 510. Fix: "
       "use BalancedStrategy(sizes=(10, 10, 1000.0))."),
      # Its trainer takes nine steps while another takes one.
      (_ROUND_ROBIN, (4, 3, 3, (9, 9, 1)),
       "ps:2 serves more than twice the mean load of 3.58 "
       "subnetworks. Fix: use BalancedStrategy(costs=(9, 9, 1))."))
  def test_messages(self, strategy, shape, *expected):
    plan = plan_lib.PlacementPlan(strategy, *shape)
    self.assertEqual(list(expected), [p.message for p in plan.problems()])
    self.assertEqual(len(expected), plan.figures()["num_problems"])

  @parameterized.parameters(
      (1., 0), (1.009, 0), (1.011, 1), (2.5, 1), (.3, 0))
  def test_slow_ensembles(self, ensemble_cost, num_problems):
    plan = plan_lib.PlacementPlan(
        _ROUND_ROBIN, 4, 2, 3, ensemble_cost=ensemble_cost)
    fixes = {"strategy": "BalancedStrategy(" + (
        "" if ensemble_cost == 1 else f"ensemble_cost={ensemble_cost}") + ")"}
    self.assertEqual(
        [("slow_ensembles", plan_lib.Indices([0]), fixes)] * num_problems,
        [(p.kind, p.indices, p.fixes) for p in plan.problems()])

  def test_more_workers_may_fix_slow_ensembles(self):
    # From 8 workers on, half of them build the ensembles.
    strategy = strategies.Custom(
        lambda config: (config.global_id_in_cluster % 2 == 0 and
                        config.global_id_in_cluster
                        <= 7 * (config.num_worker_replicas > 7)),
        lambda config, i: True,
        lambda config: config.global_id_in_cluster % 2 == 1)
    problem, = plan_lib.PlacementPlan(
        strategy, 6, 0, 3, ensemble_cost=3).problems()
    self.assertEqual("slow_ensembles", problem.kind)
    self.assertEqual(8, problem.fixes["num_workers"])

  def test_fixes_are_plans_that_are_possible(self):
    for k, expected in ((30, 31), (4000, None)):
      problem, = plan_lib.PlacementPlan(
          _DROPPING, 3, 0, k, ensemble_cost=.1).problems()
      self.assertEqual("untrained_subnetworks", problem.kind)
      self.assertEqual(expected, problem.fixes.get("num_workers"))

  def test_message_with_many_costs_is_short(self):
    costs = tuple(range(1, 1001))
    problem, = plan_lib.PlacementPlan(
        _ROUND_ROBIN, 2000, 0, 1000, costs).problems()
    self.assertEqual(repr(distributed.BalancedStrategy(costs)),
                     problem.fixes["strategy"])
    self.assertLess(len(problem.message), 500)

  @hypothesis.settings(max_examples=level.number(20, 80))
  @hypothesis.given(answers_lib.all_strategies, answers_lib.shapes)
  def test_are_found_and_fixed(self, strategy, shape):
    m, n, k = shape
    plan = plan_lib.PlacementPlan(strategy, m, n, k)
    answers = answers_lib.Answers(strategy, m, n, k)
    shares = [0 if fractions else len(trained) for trained, fractions in zip(
        answers.trained, answers.fractions)]
    median = np.median([s for s in shares if s] or [0])
    ensembles = [w for w in range(m) if answers.ensemble[w]]
    is_slow = 1.01 * plan.ensemble_speed() < min(plan.effective_speeds())
    load = plan.load_per_ps()
    if load is None:
      load = np.ones(n)
    expected = {
        "untrained_subnetworks": [
            i for i in range(k) if not answers.trainers[i]
        ],
        "unused_ps": [p for p in range(n) if not load[p]],
        "overloaded_ps": [
            p for p in range(n) if load[p] > 2 * load.mean() + 1e-9
        ],
        "overloaded_workers": [w for w in range(m) if shares[w] > 2 * median],
        "slow_ensembles": ensembles if is_slow else [],
        "duplicated_ensembles":
            ensembles if plan.duplicated_ensembles() else [],
    }
    problems = plan.problems()
    self.assertEqual(
        [(kind, expected[kind]) for kind in plan_lib.PROBLEM_KINDS
         if expected[kind] or kind == "slow_ensembles" and is_slow],
        [(p.kind, list(p.indices)) for p in problems])
    for problem in problems:
      self.assertEqual(problems[0].fixes, problem.fixes)
      for key, value in problem.fixes.items():
        self.assertIn(str(value - 1 if key == "num_workers" else value),
                      problem.message)
    if problems:
      fixes = dict(problems[0].fixes)
      balanced = distributed.BalancedStrategy(
          plan.costs, plan.sizes, ensemble_cost=plan.own_ensemble_cost)
      self.assertEqual((), plan_lib.PlacementPlan(balanced, *shape).problems())
      self.assertEqual(repr(balanced), fixes.pop("strategy"))
      for key, value in fixes.items():
        self.assertGreater(value, getattr(plan, key))
        numbers = dict(zip(("num_workers", "num_ps", "num_subnetworks"), shape))
        numbers[key] = value
        self.assertEqual((), plan_lib.PlacementPlan(
            strategy, **numbers).problems())

  @hypothesis.settings(max_examples=level.number(20, 80))
  @hypothesis.given(answers_lib.our_strategies, answers_lib.shapes)
  def test_our_strategies(self, strategy, shape):
    problems = plan_lib.PlacementPlan(strategy, *shape).problems()
    kinds = {p.kind for p in problems}
    self.assertNotIn("unused_ps", kinds)
    if "BalancedStrategy(costs" in repr(strategy):
      self.assertNoCommonElements(["overloaded_workers"], kinds)
    if "drop_remainder" not in repr(strategy):
      self.assertNoCommonElements(
          ["overloaded_ps", "untrained_subnetworks"], kinds)
    # No smaller number of workers would do.
    fixed = [p.fixes["num_workers"] for p in problems
             if "num_workers" in p.fixes]
    for fewer in range(shape[0] + 1, max(fixed, default=0)):
      self.assertNotEmpty(plan_lib.PlacementPlan(
          strategy, fewer, *shape[1:]).problems())


if __name__ == "__main__":
  absltest.main()

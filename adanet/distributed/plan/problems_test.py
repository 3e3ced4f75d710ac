# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what is wrong with a plan, and of what fixes it."""

from absl.testing import absltest
from absl.testing import parameterized
from adanet import distributed
from adanet.distributed import plan as plan_lib
from adanet.distributed.plan import problems as problems_lib
from adanet.testing import answers as answers_lib
from adanet.testing import strategies
import hypothesis
from hypothesis import strategies as st
import numpy as np

_REPLICATION = distributed.ReplicationStrategy()
_ROUND_ROBIN = distributed.RoundRobinStrategy()
_DROPPING = distributed.RoundRobinStrategy(drop_remainder=True)
_FIX = " Fix: use BalancedStrategy()."


class Refuses(strategies.Delegate):
  """Works in one shape of cluster only."""

  def should_build_ensemble(self, num_subnetworks):
    if self.config.num_worker_replicas != 3:
      raise KeyError("3 workers only")
    return True


def _train_first(shares, used_ps=0):
  """Returns a strategy whose workers train the first few subnetworks each."""
  return strategies.Custom(
      lambda config: config.global_id_in_cluster == 0,
      lambda config, i: i < shares[config.global_id_in_cluster],
      lambda config: True,
      lambda config, i: range(min(used_ps, config.num_ps_replicas)))


class ProblemsTest(parameterized.TestCase):

  @parameterized.parameters(
      (_ROUND_ROBIN, (7, 3, 6)),
      (_ROUND_ROBIN, (1, 0, 6)),
      (_ROUND_ROBIN, (12, 3, 6),
       "Workers 0, 7 build the ensemble; one is enough." + _FIX),
      (_ROUND_ROBIN, (9, 3, 6),
       "Worker 8 trains more than twice the median of 1 subnetwork." + _FIX,
       "Workers 0, 7 build the ensemble; one is enough." + _FIX),
      (_DROPPING, (4, 2, 5), "No worker trains subnetworks 3, 4. Fix: use "
       "num_workers=6, or BalancedStrategy()."),
      (_DROPPING, (6, 0, 6), "No worker trains subnetwork 5. Fix: use "
       "num_workers=7, or BalancedStrategy()."),
      # One more parameter server would fix the second problem only.
      (_DROPPING, (2, 5, 6), "No worker trains subnetworks 1, 2, 3, 4, 5. Fix: "
       "use num_workers=7, or BalancedStrategy().",
       "Parameter server 0 serves more than twice the mean load of 1.4 "
       "subnetworks. Fix: use num_workers=7, or BalancedStrategy()."),
      (_REPLICATION, (3, 3, 6), "Workers 0, 1, 2 build the ensemble; one is "
       "enough." + _FIX),
      (answers_lib.FirstPs(), (4, 5, 3),
       "No worker trains subnetwork 1." + _FIX,
       "No worker uses parameter servers 3, 4." + _FIX,
       "Parameter server 0 serves more than twice the mean load of 1.2 "
       "subnetworks." + _FIX),
      (_train_first([1] * 6, used_ps=1), (6, 3, 1),
       "No worker uses parameter servers 1, 2." + _FIX,
       "Parameter server 0 serves more than twice the mean load of 2 "
       "subnetworks." + _FIX),
      (strategies.Custom(
          lambda config: config.global_id_in_cluster == 0,
          lambda config, i: True, lambda config: True,
          lambda config, i: range(config.num_ps_replicas)
          if config.num_ps_replicas > 4 else [config.num_ps_replicas - 1]),
       (4, 3, 3), "No worker uses parameter servers 0, 1. Fix: use num_ps=5, "
       "or BalancedStrategy().",
       "Parameter server 2 serves more than twice the mean load of 4 "
       "subnetworks. Fix: use num_ps=5, or BalancedStrategy()."),
      (strategies.Custom(
          lambda config: (config.num_worker_replicas == 9 and
                          config.global_id_in_cluster < 2),
          lambda config, i: True, lambda config: True), (9, 4, 3),
       "Workers 0, 1 build the ensemble; one is enough. Fix: use "
       "num_workers=10, or BalancedStrategy()."),
      (Refuses(_REPLICATION), (3, 2, 9), "Workers 0, 1, 2 build the ensemble; "
       "one is enough." + _FIX),
      (Refuses(_ROUND_ROBIN), (3, 0, 1),
       "Workers 0, 1, 2 build the ensemble; one is enough." + _FIX),
      (distributed.BalancedStrategy(num_ensemble_workers=3), (9, 0, 5),
       "Workers 0, 1, 2 build the ensemble; one is enough." + _FIX),
      (distributed.BalancedStrategy((1, 2, 9)), (9, 4, 3)))
  def test_messages(self, strategy, shape, *expected):
    plan = plan_lib.PlacementPlan(strategy, *shape)
    self.assertEqual(list(expected), [p.message for p in plan.problems()])
    self.assertEqual(len(expected), plan.figures()["num_problems"])

  @parameterized.parameters(
      ((9, 2, 3), (1, 2, 10), None,
       "Workers 3, 7 train more than twice the median cost of 2. Fix: use "
       "BalancedStrategy(costs=(1, 2, 10)).",
       "Workers 0, 4, 8 build the ensemble; one is enough. Fix: use "
       "BalancedStrategy(costs=(1, 2, 10))."),
      ((4, 4, 3), None, (10, 10, 1e3),
       "Parameter server 3 serves more than twice the mean load of 510. Fix: "
       "use BalancedStrategy(sizes=(10, 10, 1000.0))."),
      # Its trainer takes nine steps while another takes one.
      ((4, 3, 3), (9, 9, 1), None,
       "Parameter server 2 serves more than twice the mean load of 3.58 "
       "subnetworks. Fix: use BalancedStrategy(costs=(9, 9, 1))."),
      ((4, 0, 3), (1, 1, 2), None))
  def test_messages_with_costs(self, shape, costs, sizes, *expected):
    plan = plan_lib.PlacementPlan(_ROUND_ROBIN, *shape, costs, sizes)
    self.assertEqual(list(expected), [p.message for p in plan.problems()])

  @parameterized.parameters(
      (_DROPPING, (4, 2, 5), "No worker trains subnetworks 3, 4. Fix: use 5 "
       "workers beside the chief, or BalancedStrategy()."),
      (_ROUND_ROBIN, (9, 3, 6),
       "worker:7 trains more than twice the median of 1 subnetwork." + _FIX,
       "chief:0, worker:6 build the ensemble; one is enough." + _FIX),
      (_train_first([1] * 6, used_ps=1), (6, 3, 1),
       "No worker uses ps:1, ps:2." + _FIX,
       "ps:0 serves more than twice the mean load of 2 subnetworks." + _FIX))
  def test_messages_of_tasks(self, strategy, shape, *expected):
    plan = plan_lib.PlacementPlan(strategy, *shape)
    problems = problems_lib.of_tasks(plan)
    self.assertEqual(list(expected), [p.message for p in problems])
    self.assertEqual([p.fixes for p in plan.problems()],
                     [p.fixes for p in problems])

  def test_message_with_many_costs_is_short(self):
    costs = tuple(range(1, 1001))
    problem, = plan_lib.PlacementPlan(
        _ROUND_ROBIN, 2000, 0, 1000, costs).problems()
    self.assertEqual(repr(distributed.BalancedStrategy(costs)),
                     problem.fixes["strategy"])
    self.assertLess(len(problem.message), 500)

  @parameterized.parameters(
      ([1, 1, 2], []),
      ([1, 1, 3], [2]),
      ([1, 0, 0, 0, 2], []),
      ([1, 0, 0, 0, 3, 1], [4]),
      ([1, 3, 5, 1], [2]),  # The median is 2.
      ([1, 3, 4, 1], []),
      ([1, 3, 7, 3, 1], [2]),
      ([1, 3, 6, 3, 1], []))
  def test_share_over_twice_the_median(self, shares, expected):
    plan = plan_lib.PlacementPlan(
        _train_first(shares), len(shares), 0, max(shares))
    self.assertEqual(expected, [
        w for p in plan.problems() if p.kind == "overloaded_workers"
        for w in p.indices
    ])

  @hypothesis.settings(max_examples=200)
  @hypothesis.given(answers_lib.all_strategies, answers_lib.shapes)
  def test_are_found(self, strategy, shape):
    m, n, k = shape
    plan = plan_lib.PlacementPlan(strategy, m, n, k)
    answers = answers_lib.Answers(strategy, m, n, k)
    shares = [0 if fractions else len(trained) for trained, fractions in zip(
        answers.trained, answers.fractions)]
    median = np.median([s for s in shares if s] or [0])
    ensembles = [w for w in range(m) if answers.ensemble[w]]
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
        "duplicated_ensembles": ensembles if len(ensembles) > 1 else [],
    }
    self.assertEqual(
        [(kind, expected[kind])
         for kind in plan_lib.PROBLEM_KINDS if expected[kind]],
        [(p.kind, list(p.indices)) for p in plan.problems()])

  @hypothesis.settings(max_examples=200)
  @hypothesis.given(answers_lib.all_strategies, answers_lib.shapes)
  def test_fixes(self, strategy, shape):
    plan = plan_lib.PlacementPlan(strategy, *shape)
    problems = plan.problems()
    for problem in problems:
      self.assertEqual(problems[0].fixes, problem.fixes)
      for value in problem.fixes.values():
        self.assertIn(str(value), problem.message)
    if problems:
      fixes = dict(problems[0].fixes)
      balanced = distributed.BalancedStrategy(plan.costs, plan.sizes)
      self.assertEqual(repr(balanced), fixes.pop("strategy"))
      for key, value in fixes.items():
        self.assertGreater(value, getattr(plan, key))
        numbers = dict(zip(("num_workers", "num_ps", "num_subnetworks"), shape))
        numbers[key] = value
        self.assertEqual((), plan_lib.PlacementPlan(
            strategy, **numbers).problems())

  @hypothesis.settings(max_examples=200)
  @hypothesis.given(answers_lib.shapes, st.data())
  def test_balanced_strategy_has_none(self, shape, data):
    costs, sizes = (
        data.draw(st.lists(st.floats(1e-3, 1e3), min_size=shape[2],
                           max_size=shape[2])) for _ in range(2))
    for strategy in (distributed.BalancedStrategy(costs, sizes),
                     distributed.BalancedStrategy(
                         costs, sizes, num_ensemble_workers=0)):
      plan = plan_lib.PlacementPlan(strategy, *shape)
      self.assertEqual((), plan.problems())
      load = plan.load_per_ps()
      if load.size:
        np.testing.assert_allclose(load, load.mean())

  @hypothesis.settings(max_examples=200)
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
    fixed = {p.kind: p.fixes["num_workers"]
             for p in problems if "num_workers" in p.fixes}
    for fewer in range(shape[0] + 1, max(fixed.values(), default=0)):
      changed = plan_lib.PlacementPlan(strategy, fewer, *shape[1:])
      self.assertTrue(fixed.keys() & {p.kind for p in changed.problems()})


if __name__ == "__main__":
  absltest.main()

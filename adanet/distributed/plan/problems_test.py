# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what is wrong with a plan, and of what fixes it."""

import functools
import itertools

from absl.testing import absltest
from absl.testing import parameterized
from adanet import distributed
from adanet.distributed import plan as plan_lib
from adanet.testing import answers as answers_lib
from adanet.testing import strategies
import hypothesis
import numpy as np

_REPLICATION = distributed.ReplicationStrategy()
_ROUND_ROBIN = distributed.RoundRobinStrategy()
_DROPPING = distributed.RoundRobinStrategy(drop_remainder=True)
_NO_FIX = " No fix found."


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
       "Workers 0, 7 build the ensemble; one is enough." + _NO_FIX),
      (_ROUND_ROBIN, (9, 3, 6),
       "Worker 8 trains more than twice the median of 1 subnetwork. Fix: use "
       "11 workers.",
       "Workers 0, 7 build the ensemble; one is enough." + _NO_FIX),
      (_DROPPING, (4, 2, 5), "No worker trains subnetworks 3, 4. Fix: use 6 "
       "workers, or RoundRobinStrategy()."),
      (_DROPPING, (6, 0, 6), "No worker trains subnetwork 5. Fix: use 7 "
       "workers, or RoundRobinStrategy()."),
      # One more parameter server would fix the second problem only.
      (_DROPPING, (2, 5, 6), "No worker trains subnetworks 1, 2, 3, 4, 5. Fix: "
       "use 7 workers, or RoundRobinStrategy().",
       "Parameter server 0 serves more than twice the mean load of 1.4 "
       "subnetworks. Fix: use 7 workers, or RoundRobinStrategy()."),
      (_REPLICATION, (3, 3, 6), "Workers 0, 1, 2 build the ensemble; one is "
       "enough. Fix: use RoundRobinStrategy()."),
      (_REPLICATION, (100, 3, 6),
       "Workers 0 to 99 build the ensemble; one is enough." + _NO_FIX),
      (answers_lib.FirstPs(), (4, 5, 3),
       "No worker trains subnetwork 1. Fix: use RoundRobinStrategy().",
       "No worker uses parameter servers 3, 4. Fix: use RoundRobinStrategy().",
       "Parameter server 0 serves more than twice the mean load of 1.2 "
       "subnetworks. Fix: use RoundRobinStrategy()."),
      # The other strategies would add a problem.
      (_train_first([1] * 6, used_ps=1), (6, 3, 1),
       "No worker uses parameter servers 1, 2. Fix: use 1 parameter server.",
       "Parameter server 0 serves more than twice the mean load of 2 "
       "subnetworks. Fix: use 1 parameter server."),
      (answers_lib.HalfTheCluster(), (8, 4, 5),
       "No worker uses parameter servers 2, 3." + _NO_FIX,
       "Parameter server 0 serves more than twice the mean load of 5 "
       "subnetworks. Fix: use 5 parameter servers.",
       "Workers 0, 1 build the ensemble; one is enough." + _NO_FIX),
      (answers_lib.HalfTheCluster(), (6, 4, 3),
       "No worker uses parameter servers 2, 3." + _NO_FIX,
       "Parameter server 0 serves more than twice the mean load of 3 "
       "subnetworks." + _NO_FIX,
       "Workers 0, 1 build the ensemble; one is enough." + _NO_FIX),
      # More workers fix the load, so fewer parameter servers are not offered.
      (strategies.Custom(
          lambda config: (config.num_worker_replicas == 9 and
                          config.global_id_in_cluster < 2),
          lambda config, i: (config.num_worker_replicas > 9 or
                             config.global_id_in_cluster in ((0, 1, 2, 3), (4,),
                                                             (5, 6))[i]),
          lambda config: True, lambda config, i: [i]), (9, 4, 3),
       "No worker uses parameter server 3. Fix: use 3 parameter servers.",
       "Parameter server 0 serves more than twice the mean load of 1.75 "
       "subnetworks. Fix: use 10 workers.",
       "Workers 0, 1 build the ensemble; one is enough. Fix: use 10 workers."),
      # A change that leaves training without end fixes nothing, and training
      # that ends with problems is better.
      (strategies.Custom(
          lambda config: config.num_worker_replicas == 9,
          lambda config, i: True, lambda config: False), (9, 0, 6),
       "No worker trains subnetworks 0, 1, 2, 3, 4, 5. Fix: use "
       "ReplicationStrategy().",
       "Workers 0, 1, 2, 3, 4, 5, 6, 7, 8 build the ensemble; one is enough."
       + _NO_FIX),
      (Refuses(_REPLICATION), (3, 2, 9), "Workers 0, 1, 2 build the ensemble; "
       "one is enough. Fix: use RoundRobinStrategy()."),
      (Refuses(_ROUND_ROBIN), (3, 0, 1),
       "Workers 0, 1, 2 build the ensemble; one is enough." + _NO_FIX))
  def test_messages(self, strategy, shape, *expected):
    plan = plan_lib.PlacementPlan(strategy, *shape)
    self.assertEqual(list(expected), [p.message for p in plan.problems()])
    self.assertEqual(len(expected), plan.figures()["num_problems"])

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
    shares = [len(t) for t in answers.trained]
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
    problems = {p.kind: p for p in plan.problems()}

    @functools.lru_cache(maxsize=None)
    def problems_after(key, value):
      arguments = dict(zip(("num_workers", "num_ps", "num_subnetworks"), shape),
                       strategy=strategy)
      arguments[key] = value
      if key == "strategy":
        [arguments[key]] = [s for s in answers_lib.OURS if repr(s) == value]
      changed = plan_lib.PlacementPlan(**arguments)
      return {p.kind: p.indices for p in changed.problems()}

    offered = {
        fix for problem in problems.values() for fix in problem.fixes.items()
    }
    for kind, problem in problems.items():
      for key, value in problem.fixes.items():
        self.assertNotIn(kind, problems_after(key, value))
        self.assertIn(str(value), problem.message)
        if key == "num_ps" and value < plan.num_ps:
          self.assertLen(problem.fixes, 1)
    for key, value in offered:
      after = problems_after(key, value)
      self.assertNotIn("untrained_subnetworks", after)
      if plan.trains_everything:
        for kind, indices in after.items():
          self.assertLessEqual(len(indices), len(problems[kind].indices))
      if key == "num_workers":
        self.assertGreater(value, plan.num_workers)
    # No problem asks for another number or strategy than the others.
    self.assertLen({key for key, _ in offered}, len(offered))
    # No fix leaves what another one would fix as well.
    for one, other in itertools.permutations(offered, 2):
      self.assertFalse(
          problems_after(*one).keys() < problems_after(*other).keys())

  @hypothesis.settings(max_examples=200)
  @hypothesis.given(answers_lib.our_strategies, answers_lib.shapes)
  def test_our_strategies(self, strategy, shape):
    problems = plan_lib.PlacementPlan(strategy, *shape).problems()
    kinds = {p.kind for p in problems}
    self.assertNotIn("unused_ps", kinds)
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

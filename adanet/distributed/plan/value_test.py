# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the plan as a value, against what strategies answer."""

import fractions
import json

from absl.testing import absltest
from absl.testing import parameterized
from adanet import distributed
from adanet.distributed import plan as plan_lib
from adanet.testing import answers as answers_lib
from adanet.testing import level
from adanet.testing import strategies
import hypothesis
import numpy as np

OURS = answers_lib.OURS

_plan = plan_lib.PlacementPlan


class PlanEqualsStrategyTest(parameterized.TestCase):

  @hypothesis.settings(max_examples=level.number(30, 150))
  @hypothesis.given(answers_lib.all_strategies, answers_lib.shapes)
  def test_everywhere(self, strategy, shape):
    m, n, k = shape
    plan = _plan(strategy, *shape)
    answers = answers_lib.Answers(strategy, *shape)
    self.assertEqual((repr(strategy), m, n, k), (
        plan.strategy, plan.num_workers, plan.num_ps, plan.num_subnetworks))
    self.assertEqual(
        "PlacementPlan({!r}, num_workers={}, num_ps={}, num_subnetworks={}{})"
        .format(strategy, *shape, "".join(
            f", {name}={weights}" for name, weights in (
                ("costs", plan.costs), ("sizes", plan.sizes),
                ("ensemble_cost", plan.own_ensemble_cost)) if weights)),
        repr(plan))
    for w in range(m):
      group = plan.worker(w)
      self.assertIn(w, group.workers)
      self.assertIs(group.builds_ensemble, answers.ensemble[w])
      self.assertEqual(answers.built[w], list(group.subnetworks))
      self.assertLen(answers.trained[w], group.num_trained)
      self.assertEqual(answers.trained[w], list(group.trained))
      if answers.fractions[w]:
        self.assertEqual(answers.fractions[w], dict(group.fractions))
        self.assertEqual(answers.ensemble_fractions[w], group.ensemble_fraction)
      if group.builds_ensemble or group.num_trained:
        self.assertAlmostEqual(1, float(group.ensemble_fraction + sum(
            group.time_fractions(plan.costs).values())))
    speeds = plan.effective_speeds()
    for i in range(k):
      self.assertEqual(
          (answers.trainers[i], speeds[i], answers.ps and list(answers.ps[i])),
          (list(plan.subnetwork(i).trainers),
           plan.subnetwork(i).effective_speed,
           answers.ps and list(plan.subnetwork(i).ps)))
    for p in range(n):
      group = plan.parameter_server(p)
      if answers.ps is None:
        self.assertIsNone(group)
        continue
      self.assertIn(p, group.ps)
      self.assertEqual([i for i in range(k) if p in answers.ps[i]],
                       list(group.subnetworks))
      self.assertEqual((plan.fetches_per_ps()[p], plan.load_per_ps()[p]),
                       (group.fetches, group.load))
    for groups, number in (
        (plan.worker_groups, m), (plan.subnetwork_groups, k),
        (plan.ps_groups or (), n * (answers.ps is not None))):
      self.assertCountEqual(range(number), [i for g in groups for i in g[0]])
      firsts = [list(g[0])[0] for g in groups]
      self.assertEqual(sorted(firsts), firsts)
      self.assertLen({g[1:] for g in groups}, len(groups))
    value = plan.to_json_dict()
    self.assertEqual(value, json.loads(json.dumps(value, allow_nan=False)))

  def test_leaves_the_strategy_alone(self):
    config = strategies.Config(3, 2, 1)
    for strategy in (distributed.RoundRobinStrategy(),
                     strategies.Delegate(distributed.RoundRobinStrategy())):
      strategy.config = config
      _plan(strategy, 9, 4, 3).problems()
      self.assertIs(config, strategy.config)

  def test_does_not_log(self):

    class Subclass(distributed.RoundRobinStrategy):
      pass

    with self.assertLogs("absl", "WARNING") as logs:
      distributed.placement.logging.warning("the only one")
      for strategy_class in (distributed.RoundRobinStrategy, Subclass):
        _plan(strategy_class(drop_remainder=True), 3, 2, 61).problems()
    self.assertLen(logs.output, 1)


class ValuesTest(parameterized.TestCase):

  def test_json(self):
    plan = _plan(distributed.RoundRobinStrategy(drop_remainder=True), 7, 2, 3)
    expected = {
        "version": 1,
        "strategy": "RoundRobinStrategy(drop_remainder=True)",
        "num_workers": 7, "num_ps": 2, "num_subnetworks": 3,
        "costs": None, "sizes": None, "ensemble_cost": 1.0,
        "worker_groups": [
            {"workers": [[0, 5, 4]], "builds_ensemble": True,
             "subnetworks": [[0, 3, 1]], "trains_subnetworks": False,
             "fractions": None, "ensemble_fraction": 1.0},
            {"workers": [[1, 6, 4]], "builds_ensemble": False,
             "subnetworks": [[0, 1, 1]], "trains_subnetworks": True,
             "fractions": None, "ensemble_fraction": 0.0},
            {"workers": [[2, 7, 4]], "builds_ensemble": False,
             "subnetworks": [[1, 2, 1]], "trains_subnetworks": True,
             "fractions": None, "ensemble_fraction": 0.0},
            {"workers": [[3, 4, 1]], "builds_ensemble": False,
             "subnetworks": [[2, 3, 1]], "trains_subnetworks": True,
             "fractions": None, "ensemble_fraction": 0.0}],
        "subnetwork_groups": [
            {"subnetworks": [[0, 2, 1]], "num_builders": 4, "num_trainers": 2,
             "rows": 1.0, "effective_speed": 2.0, "stale_gradients": 1.0,
             "max_staleness": 1.0},
            {"subnetworks": [[2, 3, 1]], "num_builders": 3, "num_trainers": 1,
             "rows": 1.0, "effective_speed": 1.0, "stale_gradients": 0.0,
             "max_staleness": 0.0}],
        "ps_groups": [
            {"ps": [[0, 1, 1]], "subnetworks": [[0, 3, 2]], "fetches": 7,
             "load": 7.0},
            {"ps": [[1, 2, 1]], "subnetworks": [[1, 2, 1]], "fetches": 4,
             "load": 4.0}],
        "figures": {
            "max_subnetworks_per_worker": 3,
            "mean_subnetworks_per_worker": 11 / 7,
            "min_trainers": 1, "min_effective_speed": 1.0,
            "ensemble_speed": 2.0,
            "training_time": 1.0, "max_stale_gradients": 1.0,
            "max_staleness": 1.0, "fetches": 11, "max_fetches_per_ps": 7,
            "max_load_per_ps": 7.0, "duplicated_ensembles": 1,
            "wasted_training": 2.0, "num_problems": 1},
        "problems": [{
            "kind": "duplicated_ensembles", "indices": [[0, 5, 4]],
            "message": "chief:0, worker:3 build the ensembles; one is enough. "
                       "Fix: use 7 workers beside the chief, or "
                       "BalancedStrategy().",
            "fixes": {"num_workers": 8, "strategy": "BalancedStrategy()"}}],
    }
    # As text, so that the order of the keys and the types count too.
    self.assertEqual(json.dumps(expected, indent=1),
                     json.dumps(plan.to_json_dict(), indent=1))

  def test_json_with_costs(self):
    plan = _plan(distributed.BalancedStrategy((1, 2, 4), ensemble_cost=5), 3, 1,
                 3, sizes=[.5, fractions.Fraction(1, 3), 7])
    value = plan.to_json_dict()
    self.assertEqual([1, 2, 4], value["costs"])
    self.assertEqual(5, value["ensemble_cost"])
    self.assertEqual([.5, 1 / 3, 7], value["sizes"])
    # The line has a length of 12, and each part of 4.
    self.assertEqual(
        [(None, 1.), ([[0, 1 / 3], [1, 2 / 3]], 1 / 4), ([[2, 1.]], 0.)],
        [(group["fractions"], group["ensemble_fraction"])
         for group in value["worker_groups"]])
    json.dumps(value, allow_nan=False)
    self.assertEqual(5, json.loads(json.dumps(_plan(
        distributed.RoundRobinStrategy(), 3, 0, 3,
        ensemble_cost=fractions.Fraction(5)).to_json_dict()))["ensemble_cost"])

  def test_costs(self):
    balanced = distributed.BalancedStrategy((1, 2, 4), [3, 2, 1])
    own = _plan(balanced, 5, 2, 3)
    self.assertEqual(((1, 2, 4), (3, 2, 1)), (own.costs, own.sizes))
    other = _plan(balanced, 5, 2, 3, costs=np.float32([.5, 1, 8]))
    self.assertEqual(((.5, 1, 8), (3, 2, 1)), (other.costs, other.sizes))
    equal = _plan(distributed.BalancedStrategy("measured"), 5, 2, 3)
    self.assertEqual((None, None), (equal.costs, equal.sizes))
    round_robin = _plan(distributed.RoundRobinStrategy(), 5, 2, 3,
                        own.costs, own.sizes)
    self.assertEqual(((1, 2, 4), (3, 2, 1)),
                     (round_robin.costs, round_robin.sizes))
    self.assertEqual(4, round_robin.training_time())
    self.assertAlmostEqual(28 / 15, own.training_time())

  def test_unknown_figures(self):
    value = _plan(strategies.arbitrary(0), 3, 2, 4).to_json_dict()
    self.assertIsNone(value["ps_groups"])
    self.assertIsNone(value["figures"]["fetches"])
    dropped = _plan(
        distributed.RoundRobinStrategy(drop_remainder=True), 2, 0, 4)
    self.assertIsNone(dropped.figures()["training_time"])
    self.assertEqual(0, dropped.figures()["fetches"])

  @parameterized.parameters(
      # Variables follow what a subclass says, unless they are on the default
      # devices.
      (distributed.ReplicationStrategy, None),
      (distributed.RoundRobinStrategy, (1,)),
      (distributed.BalancedStrategy, (1,)))
  def test_parameter_servers_are_known_if_a_subclass_says(self, base, said):

    class Places(base):

      def subnetwork_devices(self, *args):
        return super().subnetwork_devices(*args)

    class Says(base):

      def subnetwork_parameter_servers(self, *args):
        return [1]

    class PlacesAndSays(Places, Says):
      pass

    for strategy, expected in ((base(), (0, 1)), (Places(), None),
                               (PlacesAndSays(), (1,)), (Says(), said)):
      self.assertEqual(expected, _plan(strategy, 3, 2, 1).subnetwork(0).ps)

  def test_compare(self):
    plans = [_plan(s, 5, 4, 4) for s in OURS[:1] + OURS[2:3]]
    rows = plan_lib.compare(iter(plans))
    self.assertEqual(
        ["strategy", "num_workers", "num_ps", "num_subnetworks", "costs",
         "sizes", "ensemble_cost"] + list(plans[0].figures()), list(rows))
    self.assertEqual((None, None), rows["costs"])
    self.assertEqual(("ReplicationStrategy()", "RoundRobinStrategy()"),
                     rows["strategy"])
    self.assertEqual((4 / 3, 4 / 3), rows["ensemble_cost"])
    for name in plans[0].figures():
      self.assertEqual(tuple(p.figures()[name] for p in plans), rows[name])


class ErrorsTest(parameterized.TestCase):

  def assert_says(self, error, text, call, *args):
    with self.assertRaises(error) as raised:
      call(*args)
    self.assertStartsWith(str(raised.exception), text)
    self.assertNotIn("\n", str(raised.exception))

  @parameterized.parameters(
      (TypeError, "strategy='round_robin': expected an instance", "round_robin",
       3, 2, 1),
      (ValueError, "num_workers=0: ", OURS[0], 0, 2, 1),
      (ValueError, "num_ps=-1: ", OURS[0], 3, -1, 1),
      (ValueError, "num_subnetworks=0: ", OURS[0], 3, 2, 0),
      (ValueError, "num_workers=20001: expected at most 20,000 workers.",
       OURS[0], 20001, 2, 1),
      (ValueError, "num_workers=10000, num_subnetworks=1001: expected at most "
       "10,000,000 pairs of a worker and a subnetwork.", OURS[0], 10000, 2,
       1001),
      (ValueError, "costs=[1, 2]: expected 3 numbers from 1e-100 to 1e+100, "
       "one for each subnetwork.", OURS[0], 3, 2, 3, [1, 2]),
      (ValueError, "sizes[1]=1e+101: expected a number from 1e-100 to ",
       OURS[0], 3, 2, 2, None, [1, 1e101]),
      (ValueError, "costs[1]=1000", OURS[0], 3, 2, 2, [1, 10**400]),
      (ValueError, "ensemble_cost=-1: expected None, 0, or a number from "
       "1e-100 to 1e+100.", OURS[0], 3, 2, 3, None, None, -1),
      (ValueError, "ensemble_cost=1e+101: expected None, 0, or ", OURS[0], 3, 2, 3,
       None, None, 1e101),
      (ValueError, "ensemble_cost=1e-101: ",
       distributed.BalancedStrategy(ensemble_cost=1e-101), 3, 2, 3))
  def test_plan(self, error, text, *args):
    self.assert_says(error, text, _plan, *args)

  @parameterized.parameters(
      ("worker", "worker_index", 5), ("subnetwork", "subnetwork_index", 3),
      ("parameter_server", "ps_index", 2))
  def test_index(self, method, name, size):
    call = getattr(_plan(distributed.RoundRobinStrategy(), 5, 2, 3), method)
    self.assert_says(ValueError, f"{name}={size}: ", call, size)
    self.assert_says(ValueError, f"{name}=-1: ", call, -1)
    self.assert_says(TypeError, f"{name}='0': ", call, "0")

  def test_other_arguments(self):
    plan = _plan(distributed.RoundRobinStrategy(), 5, 2, 3)
    self.assert_says(ValueError, "num_steps=0: ", plan.training_time, 0)
    self.assert_says(ValueError, "plans=(): ", plan_lib.compare, [])
    self.assert_says(TypeError, "plans=a value of type PlacementPlan: ",
                     plan_lib.compare, plan)
    self.assert_says(TypeError, "plans=(7,): ", plan_lib.compare, [7])

  @parameterized.parameters(
      ([2], ValueError), ([-1], ValueError), ("01", TypeError),
      (3, TypeError), ([1.], TypeError))
  def test_wrong_ps_of_a_strategy(self, answer, error):

    strategy = strategies.Custom(
        bool, lambda config, i: True, bool, lambda config, i: answer)
    self.assert_says(
        error, f"Custom().subnetwork_parameter_servers(3, 0)={answer!r}: "
        "expected integers in [0, 2).", _plan, strategy, 4, 2, 3)


class ImportTest(absltest.TestCase):

  def test_names(self):
    self.assertEqual(plan_lib.__all__, sorted(plan_lib.__all__))
    for name in plan_lib.__all__:
      self.assertIsNotNone(getattr(plan_lib, name))
    with self.assertRaisesRegex(AttributeError, "adanet.distributed.* 'plans'"):
      distributed.plans  # pylint: disable=pointless-statement
    with self.assertRaisesRegex(AttributeError, "distributed.plan.* 'Plan'"):
      plan_lib.Plan  # pylint: disable=pointless-statement


if __name__ == "__main__":
  absltest.main()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what the chief measures."""

import math

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet import distributed
from adanet import tf_compat
from adanet.core import model_dir as model_dir_lib
from adanet.engines.cluster import jobs
from adanet.engines.cluster import measuring
from adanet.testing import builders
from adanet.testing import level
from adanet.testing import searches
from adanet.training import setup as setup_lib

_MEASURED = distributed.BalancedStrategy("measured", "measured")
_ANNOUNCED = jobs.JobState(
    "job", 7, 2, ("a", "b"), 3, 2, repr(_MEASURED), 100,
    measured=jobs.Measurements((1, 2), (3, 4), 5))


class _Says(builders.Slow):
  """A builder that says what it costs."""

  def __init__(self, name, cost=None, size=None, step_secs=0., **arguments):
    super().__init__(name, step_secs, **arguments)
    self.cost = cost
    self.size = size


class MeasuringTest(parameterized.TestCase):

  def _measure(self, builder_list, strategy=_MEASURED, repeat=None, **changes):
    folder = self.create_tempdir().full_path
    setup = setup_lib.SearchSetup(
        searches.make(builder_list)._replace(**changes),
        model_dir_lib.ModelDir(folder), tf_compat.RunConfig(model_dir=folder),
        strategy)
    return measuring.measure(setup, builders.input_fn(repeat), 0)

  def test_costs_and_sizes(self):
    measurements = self._measure([
        builders.Slow("a", .05, width=2), builders.Slow("b", .0, width=5)])
    self.assertGreaterEqual(measurements.costs[0], .05 * 1e9)
    self.assertLess(measurements.costs[1], measurements.costs[0])
    # Weights and momenta, 4 bytes each, and the step.
    self.assertEqual((4 * 2 * (3 * 2 + 2) + 8, 4 * 2 * (3 * 5 + 5) + 8),
                     measurements.sizes)
    for values in measurements.costs, measurements.sizes:
      self.assertTrue(all(isinstance(value, int) for value in values))
    # Of a delay in training, it has nothing.
    self.assertBetween(measurements.ensemble_cost, 1, .05 * 1e9)

  def test_builders_say_it(self):
    # A step would take a year.
    measurements = self._measure([_Says("a", 1, 7., step_secs=3e7),
                                  _Says("b", .5, 8., step_secs=3e7)])
    self.assertEqual(((1, .5), (7., 8.), None), measurements)

  @parameterized.parameters(*level.first([
      (distributed.BalancedStrategy(sizes="measured"), False, True),
      (distributed.BalancedStrategy(costs="measured"), True, False)]))
  def test_measures_what_is_asked_for(self, strategy, costs, sizes):
    measurements = self._measure([_Says("a"), _Says("b")], strategy)
    self.assertEqual(
        (costs, sizes), (bool(measurements.costs), bool(measurements.sizes)))

  @level.gate
  def test_no_new_ensembles(self):
    measurements = self._measure([_Says("a"), _Says("b")], strategies=[])
    self.assertLen(measurements.costs, 2)
    self.assertIsNone(measurements.ensemble_cost)

  def test_fitted_ensembles_need_no_time(self):
    measurements = self._measure([_Says("a"), _Says("b")], ensemblers=[
        adanet.ensemble.GreedyEnsembler()])
    self.assertEqual(0, measurements.ensemble_cost)

  @level.gate
  def test_input_that_ends(self):
    measurements = self._measure([_Says(f"a{i}") for i in range(5)], repeat=1)
    self.assertEqual((1,) * 5, measurements.costs)
    self.assertIsNone(measurements.ensemble_cost)

  @parameterized.parameters(
      ([None, 1], "builder 'a': cost=None, but other builders have a cost"),
      ([0, 1], "builder 'a': cost=0: expected a finite number "
       "greater than 0"),
      ([1, math.inf], "'b': cost=inf"), ([1, math.nan], "'b': cost=nan"),
      ([True, 1], "'a': cost=True"), (["1", 1], "'a': cost='1'"))
  def test_wrong_costs(self, costs, message):
    with self.assertRaisesRegex(ValueError, message) as raised:
      measuring.stated([_Says(n, c) for n, c in zip("ab", costs)], "cost")
    self.assertNotIn("\n", str(raised.exception))

  @parameterized.parameters("cost", "size")
  def test_a_builder_says_nothing_unless_it_is_made_to(self, name):
    self.assertIsNone(getattr(adanet.subnetwork.Builder, name))
    self.assertIsNone(measuring.stated([builders.Dense("a")], name))

  @parameterized.parameters(
      (distributed.BalancedStrategy("measured"), True),
      (distributed.BalancedStrategy(), False),
      (distributed.RoundRobinStrategy(), False))
  def test_is_wanted(self, strategy, expected):
    self.assertEqual(expected, measuring.is_wanted(strategy))

  @parameterized.parameters(
      ({}, True), (dict(num_workers=9, num_ps=1, generation=8), True),
      (dict(state=jobs.State.STOPPED, max_steps=None, builders=()), True),
      (dict(job="other"), False), (dict(iteration=3), False),
      (dict(strategy="RoundRobinStrategy()"), False),
      (dict(measured=jobs.Measurements(None, (3, 4))), False),
      (dict(measured=jobs.Measurements((1, 2))), False))
  def test_known(self, changed, is_known):
    measurements = measuring.known(
        _ANNOUNCED._replace(**changed),
        _ANNOUNCED._replace(measured=jobs.Measurements()), _MEASURED)
    self.assertEqual(_ANNOUNCED.measured if is_known else None, measurements)

  def test_nothing_is_known_before(self):
    self.assertIsNone(measuring.known(None, _ANNOUNCED, _MEASURED))
    self.assertEqual(jobs.Measurements(), measuring.known(
        None, _ANNOUNCED, distributed.RoundRobinStrategy()))

  def test_placed(self):
    setup = setup_lib.SearchSetup(None, None, None, _MEASURED)
    placed_setup = measuring.placed(setup, jobs.Measurements((1, 3), (5, 2), 7))
    self.assertEqual(7, placed_setup.placement.ensemble_cost_of(2))
    self.assertEqual([1, 3], list(placed_setup.placement.costs_of(2)))
    self.assertEqual([5, 2], list(placed_setup.placement.sizes_of(2)))
    # Of an earlier iteration, with as many.
    self.assertEqual([1, 1], list(
        placed_setup.placement.for_earlier_iterations().costs_of(2)))
    other = setup._replace(placement=distributed.RoundRobinStrategy())
    self.assertIs(other, measuring.placed(other, jobs.Measurements()))


if __name__ == "__main__":
  absltest.main()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of plans in bins, against asking for each index."""

from absl.testing import absltest
from adanet.distributed import placement
from adanet.distributed import plan as plan_lib
from adanet.distributed.plan import bins as bins_lib
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
import hypothesis
from hypothesis import strategies as st
import numpy as np

_BINS = st.integers(1, 12)


def _sums(array, *axes):
  """Returns the sums over the bins of one axis for each dimension."""
  for dimension, axis in enumerate(axes):
    starts = np.arange(axis.num_bins) * axis.width
    array = np.add.reduceat(array, starts, axis=dimension)
  return array


def _costs(num_subnetworks):
  return [1 + i % 3 for i in range(num_subnetworks)]


class PlanBinsTest(absltest.TestCase):

  @hypothesis.given(
      st.integers(1, 100), _BINS,
      st.sets(st.integers(0, 99)) |
      st.builds(range, st.integers(0, 99), st.integers(0, 99),
                st.integers(1, 9)).map(set))
  def test_axis(self, size, max_bins, indices):
    axis = bins_lib.Axis(size, max_bins)
    self.assertBetween(axis.num_bins, 1, max_bins)
    is_in = [i in indices for i in range(size)]
    parts = [is_in[b * axis.width:(b + 1) * axis.width]
             for b in range(axis.num_bins)]
    self.assertEqual([len(p) for p in parts], axis.counts.tolist())
    self.assertEqual([0] + np.cumsum(axis.counts).tolist(),
                     (axis.edges + 0.5).tolist())
    self.assertEqual([(min(p), max(p)) for p in parts],
                     list(zip(*axis.extremes(np.array(is_in)))))
    bins, counts = axis.count(plan_lib.Indices(np.flatnonzero(is_in).tolist()))
    self.assertEqual([(b, sum(p)) for b, p in enumerate(parts) if any(p)],
                     list(zip(bins, counts)))

  @hypothesis.given(
      st.sampled_from([
          placement.ReplicationStrategy(),
          placement.RoundRobinStrategy(),
          placement.RoundRobinStrategy(drop_remainder=True),
          placement.RoundRobinStrategy(dedicate_parameter_servers=False),
          placement.BalancedStrategy(),
          placement.BalancedStrategy(num_ensemble_workers=0),
          placement.BalancedStrategy(num_ensemble_workers=1),
          placement.BalancedStrategy(ensemble_cost=7),
          placement.BalancedStrategy(_costs),
      ]), st.booleans(), st.integers(1, 40), st.integers(1, 30), st.integers(1, 15), _BINS,
      _BINS)
  def test_maps(self, strategy, has_costs, m, n, k, column_bins, row_bins):
    costs = _costs(k) if has_costs else None
    plan = plan_lib.PlacementPlan(strategy, m, n, k, costs)
    costs = plan.costs or [1] * k
    workers = bins_lib.Axis(m, column_bins)
    ps = bins_lib.Axis(n, column_bins)
    subnetworks = bins_lib.Axis(k, row_bins)
    speeds, runs = np.zeros((2, k, m))
    serves = np.zeros((k, n))
    for w in range(m):
      owned = plan.worker(w)
      work = sum(costs[i] for i in owned.trained)
      rest = 1
      if owned.builds_ensemble:
        rest -= (owned.ensemble_fraction if owned.fractions else
                 plan.ensemble_cost / (work + plan.ensemble_cost))
      fractions = dict(owned.fractions or ())
      for i in owned.subnetworks:
        if i in owned.trained:
          speeds[i, w] = rest * (
              fractions[i] / costs[i] if fractions else 1 / work)
        else:
          runs[i, w] = 1
    for i in range(k):
      serves[i, list(plan.subnetwork(i).ps)] = 1
    ensemble = np.array([plan.worker(w).builds_ensemble for w in range(m)], int)
    maps = bins_lib.map_workers(plan, subnetworks, workers)
    np.testing.assert_allclose(speeds.sum(1), plan.effective_speeds())
    np.testing.assert_allclose(
        _sums(speeds, subnetworks, workers) / subnetworks.counts[:, np.newaxis],
        maps.speeds)
    np.testing.assert_array_equal(
        _sums(runs, subnetworks, workers) > 0, maps.runs)
    np.testing.assert_array_equal(
        _sums(ensemble, workers) > 0, maps.builds_ensemble)
    np.testing.assert_allclose(
        _sums(serves, subnetworks, ps) /
        np.outer(subnetworks.counts, ps.counts),
        bins_lib.map_ps(plan, subnetworks, ps))


if __name__ == "__main__":
  absltest.main()

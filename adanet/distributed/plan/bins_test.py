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


class PlanBinsTest(absltest.TestCase):

  @hypothesis.given(st.lists(st.floats(0, 9), min_size=1, max_size=99), _BINS)
  def test_axis(self, values, max_bins):
    axis = bins_lib.Axis(len(values), max_bins)
    self.assertBetween(axis.num_bins, 1, max_bins)
    bins = [values[b * axis.width:(b + 1) * axis.width]
            for b in range(axis.num_bins)]
    self.assertEqual([len(b) for b in bins], axis.counts.tolist())
    self.assertEqual([0] + np.cumsum(axis.counts).tolist(),
                     (axis.edges + 0.5).tolist())
    least, most = axis.extremes(np.array(values))
    self.assertEqual([(min(b), max(b)) for b in bins], list(zip(least, most)))

  @hypothesis.given(st.data())
  def test_counts(self, data):
    size = data.draw(st.integers(1, 100))
    axis = bins_lib.Axis(size, data.draw(_BINS))
    index = st.integers(0, size - 1)
    indices = data.draw(
        st.sets(index) |
        st.builds(range, index, index, st.integers(1, 9)).map(set))
    bins, counts = axis.count(plan_lib.Indices(indices))
    expected = _sums(np.array([i in indices for i in range(size)], int), axis)
    np.testing.assert_array_equal(np.flatnonzero(expected), bins)
    np.testing.assert_array_equal(expected[bins], counts)

  @hypothesis.given(
      st.sampled_from([
          placement.ReplicationStrategy(),
          placement.RoundRobinStrategy(),
          placement.RoundRobinStrategy(drop_remainder=True),
          placement.RoundRobinStrategy(dedicate_parameter_servers=False),
      ]), st.integers(1, 40), st.integers(1, 30), st.integers(1, 15), _BINS,
      _BINS)
  def test_maps(self, strategy, m, n, k, column_bins, row_bins):
    plan = plan_lib.PlacementPlan(strategy, m, n, k)
    workers = bins_lib.Axis(m, column_bins)
    ps = bins_lib.Axis(n, column_bins)
    subnetworks = bins_lib.Axis(k, row_bins)
    speeds, runs = np.zeros((2, k, m))
    serves = np.zeros((k, n))
    for w in range(m):
      owned = plan.worker(w)
      for i in owned.subnetworks:
        if owned.trains_subnetworks:
          speeds[i, w] = 1. / len(owned.subnetworks)
        else:
          runs[i, w] = 1
    for i in range(k):
      serves[i, list(plan.subnetwork(i).ps)] = 1
    ensemble = np.array([plan.worker(w).builds_ensemble for w in range(m)], int)
    maps = bins_lib.map_workers(plan, subnetworks, workers)
    np.testing.assert_allclose(
        _sums(speeds, subnetworks, workers) / subnetworks.counts[:, np.newaxis],
        maps.speeds)
    np.testing.assert_array_equal(
        _sums(runs, subnetworks, workers) > 0, maps.runs)
    np.testing.assert_array_equal(
        _sums(ensemble, workers) > 0, maps.builds_ensemble)
    np.testing.assert_allclose(
        _sums(serves, subnetworks, ps) / np.outer(subnetworks.counts, ps.counts),
        bins_lib.map_ps(plan, subnetworks, ps))


if __name__ == "__main__":
  absltest.main()

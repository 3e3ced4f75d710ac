# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of plans in bins, against asking for each index."""

from absl.testing import absltest
from adanet.distributed.plan import bins as bins_lib
from adanet.distributed import placement
from adanet.distributed import plan as plan_lib
import hypothesis
from hypothesis import strategies as st
import numpy as np

# The same examples in every run, written nowhere, however long one takes.
hypothesis.settings.register_profile(
    "hermetic", database=None, deadline=None, derandomize=True)
hypothesis.settings.load_profile("hermetic")

_STRATEGIES = st.sampled_from([
    placement.ReplicationStrategy(),
    placement.RoundRobinStrategy(),
    placement.RoundRobinStrategy(drop_remainder=True),
    placement.RoundRobinStrategy(dedicate_parameter_servers=False),
])
_BINS = st.integers(1, 12)


def _sums(axis, array, dimension):
  """Returns the sums of an array over each bin of one of its dimensions."""
  starts = np.arange(axis.num_bins) * axis.width
  return np.add.reduceat(array, starts, axis=dimension)


class PlanBinsTest(absltest.TestCase):

  @hypothesis.given(st.integers(1, 200), st.integers(1, 50))
  def test_axis_has_all_in_few_bins(self, size, max_bins):
    axis = bins_lib.Axis(size, max_bins)
    self.assertBetween(axis.num_bins, 1, max_bins)
    self.assertLen(axis.counts, axis.num_bins)
    self.assertEqual(size, axis.counts.sum())
    self.assertBetween(axis.counts[-1], 1, axis.width)
    self.assertEqual({axis.width}, set(axis.counts[:-1]) | {axis.width})
    if size <= max_bins:
      self.assertEqual(1, axis.width)

  @hypothesis.given(st.data())
  def test_counts(self, data):
    size = data.draw(st.integers(1, 100))
    axis = bins_lib.Axis(size, data.draw(_BINS))
    index = st.integers(0, size - 1)
    indices = data.draw(
        st.sets(index) |
        st.builds(range, index, index, st.integers(1, 9)).map(set))
    bins, counts = axis.count(plan_lib.Indices(indices))
    expected = np.bincount([i // axis.width for i in sorted(indices)],
                           minlength=axis.num_bins)
    np.testing.assert_array_equal(np.flatnonzero(expected), bins)
    np.testing.assert_array_equal(expected[bins], counts)

  @hypothesis.given(st.lists(st.floats(0, 9), min_size=1), _BINS)
  def test_extremes(self, values, max_bins):
    axis = bins_lib.Axis(len(values), max_bins)
    least, most = axis.extremes(np.array(values))
    for b in range(axis.num_bins):
      members = values[b * axis.width:(b + 1) * axis.width]
      self.assertEqual((min(members), max(members)), (least[b], most[b]))

  @hypothesis.given(_STRATEGIES, st.integers(1, 40), st.integers(1, 15), _BINS,
                    _BINS)
  def test_workers(self, strategy, m, k, worker_bins, subnetwork_bins):
    plan = plan_lib.PlacementPlan(strategy, m, 0, k)
    workers = bins_lib.Axis(m, worker_bins)
    subnetworks = bins_lib.Axis(k, subnetwork_bins)
    speeds, runs = np.zeros((2, k, m))
    ensemble = np.zeros(m)
    for w in range(m):
      owned = plan.worker(w)
      ensemble[w] = owned.builds_ensemble
      for i in owned.subnetworks:
        if owned.trains_subnetworks:
          speeds[i, w] = 1. / len(owned.subnetworks)
        else:
          runs[i, w] = 1
    maps = bins_lib.map_workers(plan, subnetworks, workers)
    np.testing.assert_allclose(
        _sums(workers, _sums(subnetworks, speeds, 0), 1) /
        subnetworks.counts[:, np.newaxis], maps.speeds)
    np.testing.assert_array_equal(
        _sums(workers, _sums(subnetworks, runs, 0), 1) > 0, maps.runs)
    np.testing.assert_array_equal(
        _sums(workers, ensemble, 0) > 0, maps.builds_ensemble)

  @hypothesis.given(_STRATEGIES, st.integers(1, 30), st.integers(1, 15), _BINS,
                    _BINS)
  def test_ps(self, strategy, n, k, ps_bins, subnetwork_bins):
    plan = plan_lib.PlacementPlan(strategy, 2, n, k)
    ps = bins_lib.Axis(n, ps_bins)
    subnetworks = bins_lib.Axis(k, subnetwork_bins)
    serves = np.zeros((k, n))
    for i in range(k):
      serves[i, list(plan.subnetwork(i).ps)] = 1
    np.testing.assert_allclose(
        _sums(ps, _sums(subnetworks, serves, 0), 1) /
        np.outer(subnetworks.counts, ps.counts),
        bins_lib.map_ps(plan, subnetworks, ps))


if __name__ == "__main__":
  absltest.main()

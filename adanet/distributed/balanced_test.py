# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what BalancedStrategy promises, for clusters of every size."""

import fractions
import math
import random

from absl.testing import absltest
from absl.testing import parameterized
from adanet import distributed
from adanet.distributed import layout as layout_lib
from adanet.distributed import placement
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
from adanet.testing import strategies
import hypothesis
from hypothesis import strategies as st
import numpy as np

_Fraction = fractions.Fraction


def _spread(rng):
  """Returns a number; these are spread over six orders of magnitude."""
  return 10**rng.uniform(-3, 3)


_KINDS = {
    "equal": lambda rng, k: None,
    "int": lambda rng, k: [math.ceil(1000 * _spread(rng)) for _ in range(k)],
    "float": lambda rng, k: [_spread(rng) for _ in range(k)],
    "float32": lambda rng, k: np.array(
        [_spread(rng) for _ in range(k)], np.float32),
    "int64": lambda rng, k: np.array(
        [math.ceil(1000 * _spread(rng)) for _ in range(k)], np.int64),
    "fraction": lambda rng, k: [
        _Fraction(math.ceil(1000 * _spread(rng)), rng.randint(1, 12))
        for _ in range(k)],
    "function": lambda rng, k: lambda _, seed=rng.random(): [
        _spread(random.Random(f"{seed} {i}")) for i in range(k)],
    "powers": lambda rng, k: [2**min(i, 500) for i in range(k)],
}


@st.composite
def _numbers(draw, k):
  """Costs or sizes for k subnetworks."""
  kind = draw(st.sampled_from(sorted(_KINDS)))
  return _KINDS[kind](random.Random(draw(st.integers(0, 10**9))), k)


_SMALL = dict(m=st.integers(1, 30), k=st.integers(1, 12),
              e=st.integers(0, 4), data=st.data())
_LARGE = dict(m=st.integers(1, 10**6), k=st.integers(1, 10**4),
              e=st.sampled_from([0, 1, 1, 7]), data=st.data())


def _exact(numbers):
  return [_Fraction(n) for n in numbers]


def _as_worker(strategy, num_workers, worker_index, num_ps=0):
  return strategy.with_config(
      strategies.Config(num_workers, num_ps, worker_index))


class WorkersTest(parameterized.TestCase):

  def check(self, m, k, e, data, num_asked):
    """Checks the whole cluster by its groups, and some workers themselves."""
    strategy = distributed.BalancedStrategy(
        data.draw(_numbers(k)), num_ensemble_workers=e)
    costs = _exact(strategy.costs_of(k))
    total = sum(costs)
    num_builders = 0 if k == 1 else min(e, m - 1)
    p = m - num_builders
    groups = list(strategy.layout.groups(m, k))
    self.assertLessEqual(len(groups), 2 * k + 1)

    self.assertEqual(0, groups[0][0][0])
    self.assertEqual(m, groups[-1][0][-1] + 1)
    trained = [_Fraction(0)] * k
    num_trainers = [0] * k
    next_worker = num_pairs = 0
    for workers, share in groups:
      self.assertEqual(next_worker, workers[0])
      next_worker = workers[-1] + 1
      is_builder = workers[0] < num_builders
      builds_all = is_builder or workers[0] == 0
      self.assertEqual(builds_all, share.builds_ensemble)
      self.assertEqual(not is_builder, share.trains_subnetworks)
      if builds_all:
        self.assertEqual(range(k), share.subnetworks)
      if is_builder:
        self.assertEmpty(share.training_fractions())
        continue
      parts = share.training_fractions()
      self.assertEqual(1, sum(parts.values()))
      self.assertEqual(list(share.trained), list(parts))
      self.assertEqual(list(range(min(parts), max(parts) + 1)), list(parts))
      if not builds_all:
        self.assertEqual(list(parts), list(share.subnetworks))
      for i, part in parts.items():
        self.assertIsInstance(part, _Fraction)
        self.assertGreater(part, 0)
        trained[i] += part * len(workers)
        num_trainers[i] += len(workers)
      num_pairs += len(parts) * len(workers)
    for i in range(k):
      self.assertEqual(costs[i] * p / total, trained[i])
      self.assertGreaterEqual(num_trainers[i], 1)
    self.assertLessEqual(num_pairs, k + p - 1)
    for _ in range(num_asked):
      workers, share = data.draw(st.sampled_from(groups))
      w = data.draw(st.sampled_from([workers[0], workers[-1]]))
      self.check_worker(strategy, m, w, k, share)

  def check_worker(self, strategy, m, w, k, share):
    self.assertEqual(share, strategy.layout.share(m, w, k))
    strategy = _as_worker(strategy, m, w)
    self.assertIs(share.builds_ensemble, strategy.should_build_ensemble(k))
    self.assertIs(share.trains_subnetworks,
                  strategy.should_train_subnetworks(k))
    self.assertEqual(share.training_fractions(), strategy.training_fractions(k))
    self.assertEqual(
        share.time_for_ensembles(k), strategy.ensemble_fraction(k))
    first, last = share.subnetworks[0], share.subnetworks[-1]
    for i in {0, first - 1, first, last, last + 1, k - 1}:
      if 0 <= i < k:
        self.assertEqual(i in share.subnetworks,
                         strategy.should_build_subnetwork(k, i))

  def check_line(self, m, k, data, num_asked):
    """Checks a cluster whose ensembles are on the line, too."""
    strategy = distributed.BalancedStrategy(
        data.draw(_numbers(k)), ensemble_cost=data.draw(st.sampled_from(
            [None, .01, 3, 10**4, lambda k: k * k])))
    costs = _exact(strategy.costs_of(k))
    of_ensembles = _Fraction(strategy.ensemble_cost_of(k))
    width = (sum(costs) + of_ensembles) / m  # The work of each worker.
    groups = list(strategy.layout.groups(m, k))
    self.assertLessEqual(len(groups), 2 * k + 2)
    trained = [_Fraction(0)] * k
    ensembles = num_pairs = next_worker = 0
    builds_before = True
    for workers, share in groups:
      self.assertEqual(next_worker, workers[0])
      next_worker = workers[-1] + 1
      part = share.time_for_ensembles(k)
      self.assertEqual(part > 0, share.builds_ensemble)
      # The first workers train the ensembles.
      self.assertLessEqual(share.builds_ensemble, builds_before)
      builds_before = share.builds_ensemble
      self.assertEqual(part < 1, share.trains_subnetworks)
      if share.builds_ensemble:
        self.assertEqual(range(k), share.subnetworks)
      ensembles += part * width * len(workers)
      parts = share.training_fractions()
      self.assertEqual(part < 1, sum(parts.values()) == 1)
      if not share.builds_ensemble:
        self.assertEqual(list(parts), list(share.subnetworks))
      for i, fraction in parts.items():
        self.assertIsInstance(fraction, _Fraction)
        self.assertGreater(fraction, 0)
        trained[i] += fraction * (1 - part) * width * len(workers)
      num_pairs += len(parts) * len(workers)
    self.assertEqual(m, next_worker)
    self.assertEqual(of_ensembles, ensembles)
    self.assertEqual(costs, trained)
    self.assertLessEqual(num_pairs, k + m - 1)
    for _ in range(num_asked):
      workers, share = data.draw(st.sampled_from(groups))
      w = data.draw(st.sampled_from([workers[0], workers[-1]]))
      self.check_worker(strategy, m, w, k, share)

  @hypothesis.given(
      m=st.integers(1, 30), k=st.integers(1, 12), data=st.data())
  def test_small_clusters_with_ensembles_on_the_line(self, m, k, data):
    self.check_line(m, k, data, 5)

  @hypothesis.settings(max_examples=6)
  @hypothesis.given(
      m=st.integers(1, 10**6), k=st.integers(1, 10**4), data=st.data())
  def test_large_clusters_with_ensembles_on_the_line(self, m, k, data):
    self.check_line(m, k, data, 5)

  @hypothesis.given(**_SMALL)
  def test_small_clusters(self, m, k, e, data):
    self.check(m, k, e, data, 5)

  @hypothesis.settings(max_examples=6)
  @hypothesis.given(**_LARGE)
  def test_large_clusters(self, m, k, e, data):
    self.check(m, k, e, data, 5)

  @hypothesis.settings(max_examples=1)
  @hypothesis.given(data=st.data())
  def test_the_largest_cluster(self, data):
    self.check(10**6, 10**4, 1, data, 5)
    self.check_line(10**6, 10**4, data, 5)

  @parameterized.parameters(
      # A worker that is alone; the chief trains too; more for the ensemble than
      # there are workers; one subnetwork; more subnetworks than workers.
      dict(m=1, k=3, parts=[{0: "1/7", 1: "2/7", 2: "4/7"}]),
      dict(m=1, k=3, e=0, parts=[{0: "1/7", 1: "2/7", 2: "4/7"}]),
      dict(m=2, k=3, parts=[{}, {0: "1/7", 1: "2/7", 2: "4/7"}]),
      dict(m=2, k=3, e=0, parts=[{0: "2/7", 1: "4/7", 2: "1/7"}, {2: 1}]),
      dict(m=3, k=3, e=9, parts=[{}, {}, {0: "1/7", 1: "2/7", 2: "4/7"}]),
      dict(m=3, k=1, parts=[{0: 1}, {0: 1}, {0: 1}]),
      dict(m=3, k=1, e=2, parts=[{0: 1}, {0: 1}, {0: 1}]),
      dict(m=5, k=3, parts=[{}, {0: "4/7", 1: "3/7"}, {1: "5/7", 2: "2/7"},
                            {2: 1}, {2: 1}]),
      dict(m=8, k=3, parts=[{}, {0: 1}, {1: 1}, {1: 1}] + [{2: 1}] * 4),
      dict(m=3, k=4, parts=[{}, {0: "2/15", 1: "4/15", 2: "8/15", 3: "1/15"},
                            {3: 1}]))
  def test_costs_that_double(self, m, k, parts, e=1):
    strategy = distributed.BalancedStrategy(
        lambda k: [2**i for i in range(k)], num_ensemble_workers=e)
    for w, expected in enumerate(parts):
      self.assertEqual(
          {i: _Fraction(part) for i, part in expected.items()},
          _as_worker(strategy, m, w).training_fractions(k))

  @parameterized.parameters(
      # Costs of 1, 2 and 4, and 7 / 3 for the ensembles: 28 / 3 in all.
      dict(m=1, ensembles=["1/4"], parts=[{0: "1/7", 1: "2/7", 2: "4/7"}]),
      dict(m=2, ensembles=["1/2", 0], parts=[
          {0: "3/7", 1: "4/7"}, {1: "1/7", 2: "6/7"}]),
      dict(m=4, ensembles=[1, 0, 0, 0], parts=[
          {}, {0: "3/7", 1: "4/7"}, {1: "2/7", 2: "5/7"}, {2: 1}]),
      dict(m=6, ensembles=[1, "1/2", 0, 0, 0, 0], parts=[
          {}, {0: 1}, {0: "1/7", 1: "6/7"}, {1: "3/7", 2: "4/7"}, {2: 1},
          {2: 1}]),
      # The chief trains too, but is not relieved of it.
      dict(m=2, e=0, ensembles=["2/5", 0], parts=[
          {0: "2/7", 1: "4/7", 2: "1/7"}, {2: 1}]),
      dict(m=3, e=2, ensembles=[1, 1, 0], parts=[
          {}, {}, {0: "1/7", 1: "2/7", 2: "4/7"}]))
  def test_ensembles_beside_costs_that_double(
      self, m, ensembles, parts, e=None):
    strategy = distributed.BalancedStrategy(
        lambda k: [2**i for i in range(k)], num_ensemble_workers=e)
    for w, (expected, of_ensembles) in enumerate(zip(parts, ensembles)):
      worker = _as_worker(strategy, m, w)
      self.assertEqual(
          {i: _Fraction(part) for i, part in expected.items()},
          worker.training_fractions(3))
      self.assertEqual(_Fraction(of_ensembles), worker.ensemble_fraction(3))
      self.assertEqual(of_ensembles != 0, worker.should_build_ensemble(3))

  @hypothesis.given(
      m=st.integers(1, 40), k=st.integers(1, 12), data=st.data())
  def test_is_never_slower_than_the_round_robin(self, m, k, data):
    costs = _exact(distributed.BalancedStrategy(
        data.draw(_numbers(k))).costs_of(k))
    of_ensembles = sum(costs) / 3
    speeds = [_Fraction(0)] * (k + 1)  # The last one is that of the ensembles.
    for workers, share in distributed.RoundRobinStrategy().layout.groups(m, k):
      # It trains all in every step.
      rate = len(workers) / (
          sum(costs[j] for j in share.trained) +
          of_ensembles * share.builds_ensemble)
      for i in list(share.trained) + [k] * share.builds_ensemble:
        speeds[i] += rate
    self.assertLessEqual((sum(costs) + of_ensembles) / m, 1 / min(speeds))

  @hypothesis.given(**_SMALL)
  def test_input(self, m, k, e, data):
    strategy = distributed.BalancedStrategy(
        data.draw(_numbers(k)),
        num_ensemble_workers=data.draw(st.sampled_from([None, e])))
    layout = strategy.layout
    asked = layout_lib.AskedLayout(strategy, m, 0)
    shares = [layout.share(m, w, k) for w in range(m)]
    for i in range(k):
      inputs = [layout.input_share(m, w, k, i) for w in range(m)]
      for readers in (
          [w for w in range(m) if i in shares[w].trained],
          [w for w in range(m) if shares[w].builds_ensemble and
           i not in shares[w].trained]):
        self.assertEqual(
            [(len(readers), place) for place in range(len(readers))],
            [inputs[w] for w in readers])
      for w in range(m):
        if i not in shares[w].subnetworks:
          self.assertIsNone(inputs[w])
        self.assertEqual(asked.input_share(m, w, k, i), inputs[w])

  @hypothesis.settings(max_examples=10)
  @hypothesis.given(**_LARGE)
  def test_input_of_large_clusters(self, m, k, e, data):
    strategy = distributed.BalancedStrategy(
        data.draw(_numbers(k)), num_ensemble_workers=e)
    groups = list(strategy.layout.groups(m, k))
    i = data.draw(st.integers(0, k - 1))
    trainers = [w for w, share in groups if i in dict(share.fractions or ())]
    first, last = trainers[0][0], trainers[-1][-1]
    number = last + 1 - first
    for w, expected in ((first, (number, 0)), (last, (number, number - 1))):
      self.assertEqual(expected, strategy.layout.input_share(m, w, k, i))

  def test_the_chief_is_alone_on_what_it_only_runs(self):
    strategy = distributed.BalancedStrategy(num_ensemble_workers=0)
    inputs = [strategy.layout.input_share(2, w, 2, i)
              for w in range(2) for i in range(2)]
    self.assertEqual([(1, 0), (1, 0), None, (1, 0)], inputs)


def _ps_fractions(layout, n, k, i):
  """Returns the part of a subnetwork's bytes that each of its ps expects."""
  ps = layout.parameter_servers(n, k, i)
  segment = layout.segment(n, k, i)
  if segment is None:
    return ps and (_Fraction(1, len(ps)),) * len(ps)
  return tuple(_Fraction(segment.overlap(p), segment.length * segment.num_parts)
               for p in ps)


class ParameterServersTest(parameterized.TestCase):

  def check(self, n, k, indices, sizes):
    strategy = distributed.BalancedStrategy(sizes=sizes)
    as_chief = _as_worker(strategy, 1, 0, n)
    sizes = _exact(strategy.sizes_of(k))
    width = sum(sizes) / n
    found = {}
    for i in indices:
      ps = as_chief.subnetwork_parameter_servers(k, i)
      self.assertIsInstance(ps, range)
      self.assertNotEmpty(ps)
      parts = _ps_fractions(strategy.layout, n, k, i)
      self.assertLen(parts, len(ps))
      self.assertEqual(1, sum(parts))
      for task, part in zip(ps, parts):
        self.assertIsInstance(part, _Fraction)
        self.assertGreater(part, 0)
        found[task] = found.get(task, 0) + part * sizes[i]
    return found, width

  @hypothesis.given(n=st.integers(1, 20), k=st.integers(1, 20), data=st.data())
  def test_every_ps_expects_the_same_bytes(self, n, k, data):
    found, width = self.check(n, k, range(k), data.draw(_numbers(k)))
    self.assertEqual({task: width for task in range(n)}, found)

  @hypothesis.settings(max_examples=8)
  @hypothesis.given(n=st.integers(1, 10**4), k=st.integers(1, 10**4),
                    data=st.data())
  def test_many_subnetworks_and_ps(self, n, k, data):
    found, width = self.check(n, k, range(k), data.draw(_numbers(k)))
    self.assertEqual({task: width for task in range(n)}, found)

  @hypothesis.given(
      n=st.integers(1, 10), k=st.integers(1, 10), data=st.data())
  def test_default_devices(self, n, k, data):
    strategy = distributed.BalancedStrategy(
        sizes=data.draw(_numbers(k)), dedicate_parameter_servers=False)
    i = data.draw(st.integers(0, k - 1))
    layout = strategy.layout
    self.assertEqual(range(n), layout.parameter_servers(n, k, i))
    self.assertEqual((_Fraction(1, n),) * n, _ps_fractions(layout, n, k, i))

  @parameterized.parameters(
      placement.ReplicationStrategy(), placement.RoundRobinStrategy(),
      placement.RoundRobinStrategy(dedicate_parameter_servers=False),
      placement.BalancedStrategy(), placement.BalancedStrategy(sizes=[1, 2, 3]),
      # Sizes of other iterations are no error where nothing is placed.
      placement.BalancedStrategy(sizes=[1, 2]))
  def test_no_ps(self, strategy):
    self.assertEqual(
        range(0), _as_worker(strategy, 3, 0).subnetwork_parameter_servers(3, 1))
    self.assertEmpty(_ps_fractions(strategy.layout, 0, 3, 1))

  @parameterized.parameters(
      (placement.ReplicationStrategy(), 4), (placement.RoundRobinStrategy(), 2))
  def test_other_layouts_spread_evenly(self, strategy, num_ps):
    self.assertEqual((_Fraction(1, num_ps),) * num_ps,
                     _ps_fractions(strategy.layout, 4, 2, 1))

  def test_subclasses(self):

    class Same(placement.BalancedStrategy):
      pass

    class Says(placement.BalancedStrategy):

      def subnetwork_parameter_servers(self, num_subnetworks, subnetwork_index):
        return range(3)

    class SaysNothing(placement.BalancedStrategy):

      def subnetwork_devices(self, num_subnetworks, subnetwork_index):
        raise NotImplementedError

    for make, expected in (
        (Same, (_Fraction(1, 3), _Fraction(2, 3))),
        (Says, (_Fraction(1, 3),) * 3),
        (SaysNothing, None)):
      layout = make(sizes=[1, 1]).layout_for(2, 3)
      self.assertIsInstance(layout, layout_lib.AskedLayout)
      self.assertEqual(expected, _ps_fractions(layout, 3, 2, 1))


if __name__ == "__main__":
  absltest.main()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what BalancedStrategy promises, of its errors, and of subclasses."""

import fractions

from absl.testing import absltest
from absl.testing import parameterized
from adanet import distributed
from adanet.distributed import weights
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
from adanet.testing import level
from adanet.testing import strategies
import hypothesis
from hypothesis import strategies as st
import numpy as np

_Fraction = fractions.Fraction
_Balanced = distributed.BalancedStrategy


def _numbers(k):
  """Costs or sizes for k subnetworks, over six orders of magnitude."""
  numbers = st.integers(1, 10**6) | st.floats(1e-3, 1e3) | st.fractions(
      1, 1000, max_denominator=12)
  return (st.none() | st.just([2**min(i, 500) for i in range(k)]) |
          st.lists(numbers, min_size=k, max_size=k))


def _as_worker(strategy, num_workers, worker_index, num_ps=0):
  return strategy.with_config(
      strategies.Config(num_workers, num_ps, worker_index))


class WorkersTest(parameterized.TestCase):

  def check(self, m, k, num_ensemble_workers, data):
    """Checks what the workers of a cluster train, all together."""
    is_on_line = num_ensemble_workers is None
    strategy = _Balanced(
        data.draw(_numbers(k)), num_ensemble_workers=num_ensemble_workers,
        ensemble_cost=data.draw(st.sampled_from(
            [None, .01, 3, 10**4, lambda k: k * k])))
    costs = list(map(_Fraction, strategy.costs_of(k)))
    of_ensembles = _Fraction(strategy.ensemble_cost_of(k)) if is_on_line else 0
    num_ahead = 0 if k == 1 or is_on_line else min(num_ensemble_workers, m - 1)
    # The work of each worker behind these.
    width = (sum(costs) + of_ensembles) / (m - num_ahead)
    trained = [_Fraction(0)] * k
    ensembles = num_pairs = 0
    for w, worker in enumerate(strategy.as_workers(m, 0)):
      share = worker.worker_share(k)
      part = worker.ensemble_fraction(k)
      self.assertEqual(part > 0, share.builds_ensemble)
      self.assertEqual(part < 1, share.trains_subnetworks)
      parts = worker.training_fractions(k)
      self.assertEqual(part < 1, sum(parts.values()) == 1)
      self.assertEqual(list(share.trained), list(parts))
      # Neighbors, unless it runs all of them for the ensembles.
      self.assertEqual(
          list(range(k)) if part else
          list(range(min(parts), max(parts) + 1)), list(share.subnetworks))
      if not is_on_line:
        self.assertEqual(w < max(1, num_ahead), share.builds_ensemble)
        part = 0
      ensembles += part * width
      for i, fraction in parts.items():
        self.assertIsInstance(fraction, _Fraction)
        self.assertGreater(fraction, 0)
        trained[i] += fraction * (1 - part) * width
      num_pairs += len(parts)
    self.assertEqual(of_ensembles, ensembles)
    self.assertEqual(costs, trained)
    self.assertLessEqual(num_pairs, k + m - 1)

  @hypothesis.given(
      m=st.integers(1, 30), k=st.integers(1, 12),
      e=st.sampled_from([None, None, None, 0, 1, 2, 4]), data=st.data())
  def test_all_work_is_done(self, m, k, e, data):
    self.check(m, k, e, data)

  @level.gate
  @hypothesis.settings(max_examples=2)
  @hypothesis.given(e=st.sampled_from([None, 7]), data=st.data())
  def test_large_cluster(self, e, data):
    self.check(5000, 100, e, data)

  @parameterized.parameters(
      # Costs of 1, 2 and 4, and 7 / 3 for the ensembles: 28 / 3 in all.
      (None, ["1/4"], [{0: "1/7", 1: "2/7", 2: "4/7"}]),
      (None, [1, "1/2", 0, 0, 0, 0],
       [{}, {0: 1}, {0: "1/7", 1: "6/7"}, {1: "3/7", 2: "4/7"}, {2: 1},
        {2: 1}]),
      # The chief trains too, but is not relieved of it.
      (0, ["2/5", 0], [{0: "2/7", 1: "4/7", 2: "1/7"}, {2: 1}]),
      # A worker that is alone; the chief does not train; more for the ensemble
      # than there are workers; one subnetwork; more subnetworks than workers.
      (1, ["1/4"], [{0: "1/7", 1: "2/7", 2: "4/7"}]),
      (9, [1, 1, 0], [{}, {}, {0: "1/7", 1: "2/7", 2: "4/7"}]),
      (2, ["1/2", 0, 0], [{0: 1}, {0: 1}, {0: 1}], 1),
      (1, [1, 0, 0, 0, 0],
       [{}, {0: "4/7", 1: "3/7"}, {1: "5/7", 2: "2/7"}, {2: 1}, {2: 1}]),
      (1, [1, 0, 0],
       [{}, {0: "2/15", 1: "4/15", 2: "8/15", 3: "1/15"}, {3: 1}], 4))
  def test_costs_that_double(
      self, num_ensemble_workers, ensembles, parts, k=3):
    strategy = _Balanced(
        lambda k: [2**i for i in range(k)],
        num_ensemble_workers=num_ensemble_workers)
    for w, (of_ensembles, expected) in enumerate(zip(ensembles, parts)):
      worker = _as_worker(strategy, len(parts), w)
      self.assertEqual({i: _Fraction(part) for i, part in expected.items()},
                       worker.training_fractions(k))
      self.assertEqual(_Fraction(of_ensembles), worker.ensemble_fraction(k))
      self.assertEqual(of_ensembles != 0, worker.should_build_ensemble(k))


def _ps_fractions(strategy, n, k, i):
  """Returns the part of a subnetwork's bytes that each of its ps expects."""
  strategy = _as_worker(strategy, 1, 0, n)
  placed = strategy.parameter_server_assignment(k, i)
  if isinstance(placed, weights.Interval):
    return {p: _Fraction(placed.overlap(p), placed.weight * placed.num_parts)
            for p in strategy.subnetwork_parameter_servers(k, i)}
  return {p: _Fraction(1, len(placed)) for p in placed}


class ParameterServersTest(parameterized.TestCase):

  @hypothesis.given(n=st.integers(1, 20), k=st.integers(1, 20), data=st.data())
  def test_every_ps_expects_the_same_bytes(self, n, k, data):
    strategy = _Balanced(sizes=data.draw(_numbers(k)))
    sizes = list(map(_Fraction, strategy.sizes_of(k)))
    sizes_of_ps = {}
    for i in range(k):
      parts = _ps_fractions(strategy, n, k, i)
      self.assertEqual(1, sum(parts.values()))
      for task, part in parts.items():
        self.assertGreater(part, 0)
        sizes_of_ps[task] = sizes_of_ps.get(task, 0) + part * sizes[i]
    self.assertEqual(dict.fromkeys(range(n), sum(sizes) / n), sizes_of_ps)

  def test_subclasses(self):

    class Same(_Balanced):
      pass

    class Says(_Balanced):

      def subnetwork_parameter_servers(self, num_subnetworks, subnetwork_index):
        return range(3)

    for make, expected in (
        (Same, {1: _Fraction(1, 3), 2: _Fraction(2, 3)}),
        (Says, dict.fromkeys(range(3), _Fraction(1, 3)))):
      self.assertEqual(expected, _ps_fractions(make(sizes=[1, 1]), 3, 2, 1))


class SubclassesTest(absltest.TestCase):

  def test_fractions(self):

    class Same(_Balanced):
      pass

    class Everything(_Balanced):

      def should_build_subnetwork(self, num_subnetworks, subnetwork_index):
        return True

    class Thirds(distributed.ReplicationStrategy):

      def training_fractions(self, num_subnetworks):
        return {1: _Fraction(2, 3), 0: _Fraction(1, 3)}

    class Odd(distributed.RoundRobinStrategy):

      def should_train_subnetworks(self, num_subnetworks):
        return self.config.global_id_in_cluster % 2 == 1

    thirds = tuple((i, _Fraction(1, 3)) for i in range(3))
    for strategy, k, expected in (
        (Same([1, 2, 4]), 3,
         [w.worker_share(3).fractions for w in _Balanced(
             [1, 2, 4]).as_workers(6, 0)]),
        (Everything([1, 2, 4], num_ensemble_workers=1), 3,
         [None, thirds, thirds]),
        (Thirds(), 2, [((0, _Fraction(1, 3)), (1, _Fraction(2, 3)))] * 2),
        # These train in lockstep.
        (Odd(), 3, [None] * 6),
        (strategies.Delegate(distributed.RoundRobinStrategy()), 3, [None] * 6)):
      for worker, of_worker in zip(
          strategy.as_workers(len(expected), 0), expected):
        share = worker.worker_share(k)
        self.assertEqual(of_worker, share.fractions)
        self.assertEqual(
            share.trained, tuple(sorted(worker.training_fractions(k))))


class StrategyTest(parameterized.TestCase):

  @parameterized.parameters(
      (dict(), 2, "BalancedStrategy()"),
      (dict(costs=[1, 2, 4]), 3, "BalancedStrategy(costs=(1, 2, 4))"),
      (dict(costs=np.array([.5, 1]), sizes=(_Fraction(1, 3), 2)), 2,
       "BalancedStrategy(costs=(0.5, 1.0), sizes=(Fraction(1, 3), 2))"),
      (dict(costs="measured", sizes="measured"), 2,
       "BalancedStrategy(costs='measured', sizes='measured')"),
      (dict(num_ensemble_workers=np.int64(0),
            dedicate_parameter_servers=False), 2,
       "BalancedStrategy(num_ensemble_workers=0, "
       "dedicate_parameter_servers=False)"))
  def test_repr(self, arguments, k, expected):
    strategy = _Balanced(**arguments)
    self.assertEqual(expected, repr(strategy))
    again = eval(expected, {  # pylint: disable=eval-used
        "BalancedStrategy": _Balanced, "Fraction": _Fraction})
    self.assertEqual(expected, repr(again))
    self.assertEqual(_as_worker(strategy, 2, 1).worker_share(k),
                     _as_worker(again, 2, 1).worker_share(k))

  def test_measured(self):
    strategy = strategies.balanced(
        strategies.Config(4, 2, 2), costs="measured", sizes="measured")
    measured = strategy.with_measured([1, 2], np.array([3., 1.]))
    # The line is 1, 1, 2 long, or 2/3, 1, 1.
    self.assertEqual({1: 1}, measured.training_fractions(2))
    self.assertEqual({0: _Fraction(1, 2), 1: _Fraction(1, 2)},
                     strategy.training_fractions(2))
    self.assertEqual(7, strategy.with_measured([1, 2], None, 7).ensemble_cost_of(
        2))
    self.assertEqual(strategy.config, measured.config)
    self.assertEqual(repr(strategy), repr(measured))
    # An earlier iteration had another number of subnetworks.
    self.assertEqual((1, 1, 1), measured.sizes_of(3))
    for k, expected in ((2, [range(0, 2), range(1, 2)]),
                        (3, [range(0, 1), range(0, 2), range(1, 2)])):
      self.assertEqual(expected, [
          measured.subnetwork_parameter_servers(k, i) for i in range(k)])

  def test_measures_what_it_is_asked_to(self):
    for arguments, costs, sizes in (
        (dict(costs="measured"), (5, 6), (1, 1)),
        (dict(sizes="measured"), (1, 1), (7, 8)),
        (dict(costs=[2, 3], sizes=lambda k: [4] * k), (2, 3), (4, 4))):
      strategy = _Balanced(**arguments)
      self.assertEqual("measured" in arguments.values(), strategy.measures)
      strategy = strategy.with_measured([5, 6], [7, 8])
      self.assertEqual((costs, sizes),
                       (strategy.costs_of(2), strategy.sizes_of(2)))

  @parameterized.parameters(
      (dict(costs="fast"), TypeError, "costs='fast': expected None, "),
      (dict(sizes=[1, -1]), ValueError, "sizes[1]=-1: expected a finite "),
      (dict(num_ensemble_workers=-1), ValueError,
       "num_ensemble_workers=-1: expected an integer of at least 0."),
      (dict(ensemble_cost=-1), ValueError, "ensemble_cost=-1: expected None, "),
      (dict(num_ensemble_workers=True), TypeError, "num_ensemble_workers=True"))
  def test_errors(self, arguments, error, text):
    with self.assertRaises(error) as raised:
      _Balanced(**arguments)
    self.assertStartsWith(str(raised.exception), text)

  def test_costs_of_other_iterations(self):
    strategy = strategies.balanced(
        strategies.Config(4, 2, 1), costs=[1, 2], sizes=[1, 2])
    for name, ask in (
        ("costs", lambda: strategy.should_build_subnetwork(3, 0)),
        ("costs", lambda: strategy.training_fractions(3)),
        ("costs", lambda: strategy.input_context(3, 0)),
        ("sizes", lambda: strategy.subnetwork_devices(3, 0))):
      with self.assertRaisesRegex(
          ValueError, name + r"=\(1, 2\): .*num_subnetworks=3.* not 2"):
        ask()
    # Sizes are no error where nothing is placed.
    strategy.config = strategies.PsConfig(0)
    self.assertEqual(range(0), strategy.subnetwork_parameter_servers(3, 1))


if __name__ == "__main__":
  absltest.main()

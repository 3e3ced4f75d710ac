# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of BalancedStrategy as a value, of its errors, and of subclasses."""

import fractions

from absl.testing import absltest
from absl.testing import parameterized
from adanet import distributed
from adanet.distributed import placement
from adanet.testing import strategies
import numpy as np

_Fraction = fractions.Fraction


def _as_worker(strategy, num_workers, worker_index):
  return strategy.with_config(strategies.Config(num_workers, 0, worker_index))


class SubclassesTest(absltest.TestCase):

  def shares(self, strategy, num_workers, num_subnetworks):
    """Returns the shares by the layout, and the training by the strategy."""
    layout = strategy.layout_for(num_workers, 0)
    shares = [layout.share(num_workers, w, num_subnetworks)
              for w in range(num_workers)]
    trained = [_as_worker(strategy, num_workers, w).training_fractions(
        num_subnetworks) for w in range(num_workers)]
    self.assertEqual(trained, [s.training_fractions() for s in shares])
    return shares, trained

  def test_overrides_nothing(self):

    class Same(placement.BalancedStrategy):
      pass

    shares, _ = self.shares(Same([1, 2, 4]), 6, 3)
    expected, _ = self.shares(placement.BalancedStrategy([1, 2, 4]), 6, 3)
    self.assertEqual(
        expected,
        [s._replace(subnetworks=range(s.subnetworks[0], s.subnetworks[-1] + 1))
         for s in shares])

  def test_builds_something_else(self):

    class Everything(placement.BalancedStrategy):

      def should_build_subnetwork(self, num_subnetworks, subnetwork_index):
        return True

    _, trained = self.shares(
        Everything([1, 2, 4], num_ensemble_workers=1), 3, 3)
    self.assertEqual([{}] + [dict.fromkeys(range(3), _Fraction(1, 3))] * 2,
                     trained)

  def test_divides_its_time_otherwise(self):

    class Thirds(placement.ReplicationStrategy):

      def training_fractions(self, num_subnetworks):
        return {1: _Fraction(2, 3), 0: _Fraction(1, 3)}

    shares, _ = self.shares(Thirds(), 2, 2)
    self.assertEqual(
        [((0, _Fraction(1, 3)), (1, _Fraction(2, 3)))] * 2,
        [s.fractions for s in shares])

  def test_trains_in_lockstep(self):

    class Odd(placement.RoundRobinStrategy):

      def should_train_subnetworks(self, num_subnetworks):
        return self.config.global_id_in_cluster % 2 == 1

    for strategy in (
        Odd(), strategies.Delegate(placement.RoundRobinStrategy())):
      shares, _ = self.shares(strategy, 6, 3)
      self.assertEqual({None}, {s.fractions for s in shares})


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
    strategy = distributed.BalancedStrategy(**arguments)
    self.assertEqual(expected, repr(strategy))
    again = eval(expected, {  # pylint: disable=eval-used
        "BalancedStrategy": distributed.BalancedStrategy,
        "Fraction": _Fraction})
    self.assertEqual(expected, repr(again))
    self.assertEqual(strategy.costs_of(k), again.costs_of(k))
    self.assertEqual(
        strategy.layout.share(2, 1, k), again.layout.share(2, 1, k))

  def test_measured(self):
    strategy = strategies.balanced(
        strategies.Config(4, 2, 2), costs="measured", sizes="measured")
    measured = strategy.with_measured([1, 2], np.array([3., 1.]))
    self.assertTrue(strategy.measures)
    # The line is 1, 1, 2 long, or 2/3, 1, 1.
    self.assertEqual({1: 1}, measured.training_fractions(2))
    self.assertEqual({0: _Fraction(1, 2), 1: _Fraction(1, 2)},
                     strategy.training_fractions(2))
    self.assertEqual(7, strategy.with_measured([1, 2], None, 7).ensemble_cost_of(
        2))
    self.assertEqual(strategy.config, measured.config)
    self.assertEqual(repr(strategy), repr(measured))
    self.assertEqual((1, 2), measured.costs_of(2))
    self.assertEqual((3., 1.), measured.sizes_of(2))
    self.assertEqual((1, 1), strategy.costs_of(2))
    self.assertEqual([range(0, 2), range(1, 2)],
                     [measured.subnetwork_parameter_servers(2, i)
                      for i in range(2)])
    # An earlier iteration had another number of subnetworks.
    self.assertEqual((1, 1, 1), measured.sizes_of(3))
    self.assertEqual([range(0, 1), range(0, 2), range(1, 2)],
                     [measured.subnetwork_parameter_servers(3, i)
                      for i in range(3)])

  @parameterized.parameters(
      (dict(costs="measured"), (5, 6), (1, 1)),
      (dict(sizes="measured"), (1, 1), (7, 8)),
      (dict(costs=[2, 3], sizes=lambda k: [4] * k), (2, 3), (4, 4)))
  def test_measures_what_it_is_asked_to(self, arguments, costs, sizes):
    strategy = distributed.BalancedStrategy(**arguments)
    self.assertEqual("measured" in arguments.values(), strategy.measures)
    strategy = strategy.with_measured([5, 6], [7, 8])
    self.assertEqual(costs, strategy.costs_of(2))
    self.assertEqual(sizes, strategy.sizes_of(2))

  def test_copies_share_what_is_known(self):
    asked = []
    strategy = distributed.BalancedStrategy(
        lambda k: asked.append(k) or [1] * k)
    for w in range(4):
      _as_worker(strategy, 4, w).training_fractions(3)
    self.assertEqual([3], asked)

  @parameterized.parameters(
      (dict(costs="fast"), TypeError, "costs='fast': expected None, "),
      (dict(sizes=[1, -1]), ValueError, "sizes[1]=-1: expected a number "),
      (dict(num_ensemble_workers=-1), ValueError,
       "num_ensemble_workers=-1: expected an integer of at least 0."),
      (dict(ensemble_cost=0), ValueError, "ensemble_cost=0: expected None, a "),
      (dict(num_ensemble_workers=True), TypeError, "num_ensemble_workers=True"))
  def test_errors(self, arguments, error, text):
    with self.assertRaises(error) as raised:
      distributed.BalancedStrategy(**arguments)
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


if __name__ == "__main__":
  absltest.main()

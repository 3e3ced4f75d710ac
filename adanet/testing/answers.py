# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The answers of strategies to every worker of a cluster, to check plans."""

from adanet import distributed
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
from adanet.testing import strategies
from hypothesis import strategies as st
import numpy as np


class HalfTrains(distributed.RoundRobinStrategy):
  """A user's strategy that overrides one decision of one of ours."""

  def should_train_subnetworks(self, num_subnetworks):
    return np.bool_(self.config.global_id_in_cluster % 2)


class HalfTheCluster(strategies.viewing(
    distributed.RoundRobinStrategy, lambda config: strategies.Config(
        (config.num_worker_replicas + 1) // 2,
        (config.num_ps_replicas + 1) // 2, config.global_id_in_cluster // 2))):
  """A user's strategy that sees a smaller cluster than there is."""


class OwnDevices(distributed.RoundRobinStrategy):
  """A user's strategy that puts variables elsewhere and does not say where."""

  def subnetwork_devices(self, num_subnetworks, subnetwork_index):
    raise NotImplementedError("needs TensorFlow")


class FirstPs(HalfTrains):
  """Puts one subnetwork on up to two ps, and the rest on the first ps."""

  def subnetwork_devices(self, num_subnetworks, subnetwork_index):
    raise NotImplementedError("needs TensorFlow")

  def subnetwork_parameter_servers(self, num_subnetworks, subnetwork_index):
    used = min(self.config.num_ps_replicas, 3)
    return range(1, used) if subnetwork_index == 0 and used > 1 else [0]


def _squares(num_subnetworks):
  return [(i + 1)**2 / 10 for i in range(num_subnetworks)]


class Turned(distributed.BalancedStrategy):
  """A user's strategy that is asked as each worker, and divides its time."""

  def training_fractions(self, num_subnetworks):
    fractions = super().training_fractions(num_subnetworks)
    return dict(zip(sorted(fractions), list(fractions.values())[::-1]))


LOCKSTEP = [distributed.ReplicationStrategy()] + [
    distributed.RoundRobinStrategy(drop_remainder, dedicate)
    for drop_remainder in (False, True)
    for dedicate in (False, True)
]
BALANCED = [
    distributed.BalancedStrategy(),
    distributed.BalancedStrategy(num_ensemble_workers=0),
    distributed.BalancedStrategy(num_ensemble_workers=1),
    distributed.BalancedStrategy(ensemble_cost=lambda k: k**1.5),
    distributed.BalancedStrategy(_squares, num_ensemble_workers=2),
    distributed.BalancedStrategy(sizes=_squares),
    distributed.BalancedStrategy(_squares, dedicate_parameter_servers=False),
]
OURS = LOCKSTEP + BALANCED
ALL = OURS + [
    HalfTrains(), HalfTheCluster(), OwnDevices(), FirstPs(), Turned(_squares),
] + [
    strategies.arbitrary(seed, says_ps)
    for seed in range(3) for says_ps in (False, True)
]

# Hypothesis strategies of placement strategies, and of `(m, n, k)`.
lockstep_strategies = st.sampled_from(LOCKSTEP)
our_strategies = st.sampled_from(OURS)
all_strategies = st.sampled_from(ALL)
shapes = st.tuples(
    st.integers(1, 30), st.integers(0, 8), st.integers(1, 10))


class Answers:
  """The answers of the public methods of a strategy to each worker.

  Attributes:
    ensemble: list of bool, for each worker.
    built: list of lists of int, for each worker the subnetworks it builds.
    trained: list of lists of int, for each worker the subnetworks it trains.
    fractions: list of dicts from int to `Fraction`, for each worker; None if it
      trains all of its subnetworks in every step.
    ensemble_fractions: list of `Fraction`, for each worker, of its time.
    trainers: list of lists of int, for each subnetwork the workers.
    builders: list of lists of int, for each subnetwork the workers.
    ps: list of lists of int, for each subnetwork; None if not known.
  """

  def __init__(self, strategy, num_workers, num_ps, num_subnetworks):
    k = num_subnetworks
    self.ensemble, self.built, self.trained, self.fractions = [], [], [], []
    self.ensemble_fractions = []
    divides = isinstance(strategy, distributed.BalancedStrategy)
    for w in range(num_workers):
      strategy.config = strategies.Config(num_workers, num_ps, w)
      self.ensemble.append(bool(strategy.should_build_ensemble(k)))
      self.built.append(
          [i for i in range(k) if strategy.should_build_subnetwork(k, i)])
      fractions = strategy.training_fractions(k) if divides else None
      self.fractions.append(fractions)
      self.ensemble_fractions.append(strategy.ensemble_fraction(k))
      self.trained.append(
          sorted(fractions) if divides else
          self.built[-1] if strategy.should_train_subnetworks(k) else [])
    self.builders, self.trainers = (
        [[w for w in range(num_workers) if i in lists[w]] for i in range(k)]
        for lists in (self.built, self.trained))
    self.ps = [strategy.subnetwork_parameter_servers(k, i) for i in range(k)]
    if num_ps == 0:
      self.ps = [[]] * k
    elif isinstance(strategy, OwnDevices) or self.ps[0] is None:
      self.ps = None

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""How fast all is trained, and how stale the gradients are.

`predictions.py` explains the letters and derives the formulas. All is counted
over pairs of a group of workers, which do the same, and a subnetwork.
"""

import fractions as fractions_lib
import itertools
import math
from typing import NamedTuple, Optional, Sequence

from adanet.distributed import line as line_lib
from adanet.distributed.plan import groups as groups_lib

import numpy as np


class SpeedFigures(NamedTuple):
  """Figures of the ensembles, the subnetworks, arrays [k], and the groups.

  Attributes:
    ensemble_speed: float; infinity where ensembles cost nothing.
    num_builders, num_trainers: int64.
    speeds, stale_gradients, max_staleness: float64.
    reads: float64, as in `Predictions.load_per_ps`.
    work: float64 [number of groups], the cost of one step of all that a worker
      trains in lockstep; 0 for a group with fractions.
  """
  ensemble_speed: float
  num_builders: np.ndarray
  num_trainers: np.ndarray
  speeds: np.ndarray
  stale_gradients: np.ndarray
  max_staleness: np.ndarray
  reads: np.ndarray
  work: np.ndarray


class _Pairs:
  """Pairs of a group and a subnetwork, in the order of the groups.

  Attributes:
    owners: int64 array, the place of the group.
    subnetworks: int64 array.
    counts: float64 array, how many workers the group has.
  """

  def __init__(self, groups, subnetworks, num_subnetworks):
    """Makes the pairs; `subnetworks` has a sequence for each group."""
    sizes = list(map(len, subnetworks))
    self.owners = np.repeat(np.arange(len(sizes)), sizes)
    self.subnetworks = np.fromiter(
        itertools.chain.from_iterable(subnetworks), np.int64, len(self.owners))
    self.counts = np.array(
        [len(group.workers) for group in groups], np.float64)[self.owners]
    self._num_subnetworks = num_subnetworks

  def add_up(self, values):
    """Returns the sum of a value of the pairs for each subnetwork, float64."""
    # Without any pair, bincount returns integers.
    return np.bincount(
        self.subnetworks, values, self._num_subnetworks).astype(np.float64)


def _exact_speeds(pairs, parts, costs):
  """Returns the speeds; the same for subnetworks that are equally fast."""
  sums = [fractions_lib.Fraction(0)] * len(costs)
  for i, part, count in zip(
      pairs.subnetworks.tolist(), parts, pairs.counts.astype(int).tolist()):
    sums[i] += part * count
  return np.array([
      float(total / fractions_lib.Fraction(cost)) if total else 0.
      for total, cost in zip(sums, costs)])


def _exact_sums(pairs, values, num_subnetworks):
  """Returns sums for each subnetwork that are the same in any order.

  So that mirror images have equal figures.
  """
  by_subnetwork = [[] for _ in range(num_subnetworks)]
  for i, value in zip(pairs.subnetworks.tolist(), values.tolist()):
    by_subnetwork[i].append(value)
  return list(map(math.fsum, by_subnetwork))


def predict(groups: Sequence[groups_lib.WorkerGroup], num_subnetworks: int,
            exact_costs: Optional[Sequence[line_lib.Number]],
            ensemble_cost: line_lib.Number) -> SpeedFigures:
  """Returns the `SpeedFigures` of a cluster.

  Args:
    groups: the groups of its workers.
    num_subnetworks: k.
    exact_costs: k positive numbers; None if all are 1.
    ensemble_cost: E.
  """
  k = num_subnetworks
  exact_costs = exact_costs or (1,) * k
  costs = np.array(list(map(float, exact_costs)))
  built = _Pairs(groups, [group.subnetworks for group in groups], k)

  lockstep = _Pairs(groups, [
      group.subnetworks if group.in_lockstep else () for group in groups], k)
  work = np.bincount(
      lockstep.owners, costs[lockstep.subnetworks], len(groups))
  # d(w, i) of each pair.
  times = (work + float(ensemble_cost) * np.array(
      [group.builds_ensemble for group in groups], np.float64)
          )[lockstep.owners]
  num_in_lockstep = lockstep.add_up(lockstep.counts)
  speeds_in_lockstep = lockstep.add_up(lockstep.counts / times)

  # The parts of all of a worker's time.
  fractions = [{} if group.in_lockstep else group.time_fractions()
               for group in groups]
  parts = [part for pairs in fractions for part in pairs.values()]
  divided = _Pairs(groups, [list(pairs) for pairs in fractions], k)
  rates = np.array(list(map(float, parts))) / costs[divided.subnetworks]
  divided_speeds = _exact_speeds(divided, parts, exact_costs)

  num_trainers = num_in_lockstep + divided.add_up(divided.counts)
  speeds = speeds_in_lockstep + divided_speeds
  # A trainer that is alone never waits, whatever rounding says.
  is_shared = (num_trainers > 1) & (speeds > 0)
  some_speeds = np.where(is_shared, speeds, 1.)

  stale = num_in_lockstep - speeds_in_lockstep / some_speeds
  stale += costs * _exact_sums(divided, divided.counts * rates * (
      some_speeds[divided.subnetworks] - rates), k) / some_speeds

  # Of the slowest, the updates by all trainers during one of its steps.
  longest = np.zeros(k)
  np.maximum.at(longest, lockstep.subnetworks, times)
  most_in_lockstep = lockstep.add_up(
      lockstep.counts * longest[lockstep.subnetworks] / times
  ) + longest * divided_speeds - 1  # speeds * longest would have more rounding.
  least_rates = np.full(k, np.inf)
  np.minimum.at(least_rates, divided.subnetworks, rates)
  most = np.maximum(most_in_lockstep, costs * (some_speeds - least_rates))

  # In lockstep, one read of a subnetwork serves it and the ensembles.
  num_trained = np.bincount(lockstep.owners, minlength=len(groups))
  reads_in_lockstep = lockstep.add_up(
      lockstep.counts * num_trained[lockstep.owners] * costs.mean() /
      work[lockstep.owners])
  forward = np.array([
      0. if group.in_lockstep or not ensemble_cost else
      float(group.ensemble_fraction) if group.trains_subnetworks else 1.
      for group in groups])
  return SpeedFigures(
      ensemble_speed=math.fsum(
          len(group.workers) * float(group.ensemble_fraction)
          for group in groups) / float(ensemble_cost)
      if ensemble_cost else math.inf,
      num_builders=built.add_up(built.counts).astype(np.int64),
      num_trainers=num_trainers.astype(np.int64), speeds=speeds,
      stale_gradients=np.where(is_shared, np.maximum(stale, 0.), 0.),
      max_staleness=np.where(is_shared, np.maximum(most, 0.), 0.),
      reads=(built.add_up(built.counts * forward[built.owners]) +
             reads_in_lockstep + costs.mean() * divided_speeds),
      work=work)

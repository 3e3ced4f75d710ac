# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""How fast all is trained, and how stale the gradients are.

`predictions.py` explains the letters and derives the formulas.
"""

import fractions as fractions_lib
import itertools
import math
import typing

from adanet.distributed import layout as layout_lib
from adanet.distributed import line as line_lib

import numpy as np


class Training(typing.NamedTuple):
  """Figures of the ensembles, the subnetworks, arrays [k], and the shares.

  Attributes:
    ensemble_speed: float.
    num_builders, num_trainers: int64.
    speeds, stale_gradients, max_staleness: float64.
    reads: float64, as in `Predictions.load_per_ps`.
    work: float64 [number of shares], the cost of one step of all that a worker
      trains in lockstep; 0 for a share with fractions.
    trainers, first_trainers: int64 arrays; the shares that train subnetwork i
      are at the places trainers[first_trainers[i]:first_trainers[i + 1]].
  """
  ensemble_speed: float
  num_builders: np.ndarray
  num_trainers: np.ndarray
  speeds: np.ndarray
  stale_gradients: np.ndarray
  max_staleness: np.ndarray
  reads: np.ndarray
  work: np.ndarray
  trainers: np.ndarray
  first_trainers: np.ndarray


class _Pairs:
  """The pairs of a share and a subnetwork in it, in the order of the shares.

  Attributes:
    owners: int64 array, the place of the share.
    subnetworks: int64 array.
    counts: float64 array, how many workers have the share.
  """

  def __init__(self, num_workers, subnetworks):
    """Makes the pairs of shares.

    Args:
      num_workers: float64 array, how many workers have each share.
      subnetworks: list of a sequence of int for each share.
    """
    sizes = list(map(len, subnetworks))
    self.owners = np.repeat(np.arange(len(sizes)), sizes)
    self.subnetworks = np.fromiter(
        itertools.chain.from_iterable(subnetworks), np.int64, len(self.owners))
    self.counts = num_workers[self.owners]

  def add_up(self, values, num_subnetworks):
    """Returns the sum of a value of the pairs for each subnetwork, float64."""
    # Without any pair, bincount returns integers.
    return np.bincount(
        self.subnetworks, values, num_subnetworks).astype(np.float64)


class _Lockstep(_Pairs):
  """The pairs of shares that train all of theirs in every step.

  Attributes:
    work: as in `Training`.
    num_trainers, speeds: of these trainers alone, float64 [k].
  """

  def __init__(self, num_workers, subnetworks, costs, ensemble_costs):
    """Makes the pairs.

    Args:
      num_workers: float64 array, how many workers have each share.
      subnetworks: list of a sequence of int for each share.
      costs: float64 [k].
      ensemble_costs: float64 array, for each share what the ensembles add to a
        step.
    """
    super().__init__(num_workers, subnetworks)
    self.work = np.bincount(
        self.owners, costs[self.subnetworks], len(num_workers))
    self._costs = costs
    self._step_of_pairs = (self.work + ensemble_costs)[self.owners]
    self.num_trainers = self.add_up(self.counts, len(costs))
    self.speeds = self.add_up(self.counts / self._step_of_pairs, len(costs))

  def stale_gradients(self, speeds):
    """Returns the part of the mean staleness that is theirs."""
    return self.num_trainers - self.speeds / speeds

  def max_staleness(self, speeds_of_others):
    """Returns that of the slowest; below 0 where there is none."""
    k = len(self._costs)
    largest = np.zeros(k)
    np.maximum.at(largest, self.subnetworks, self._step_of_pairs)
    # The updates by all trainers during one step of the slowest. (speeds *
    # largest is the same, but with rounding errors.)
    return self.add_up(
        self.counts * largest[self.subnetworks] / self._step_of_pairs,
        k) + largest * speeds_of_others - 1

  def reads(self):
    """Returns the reads by these trainers, in one step of each.

    One read of a subnetwork serves its training and the ensembles.
    """
    sizes = np.bincount(self.owners, minlength=len(self.work))[self.owners]
    return self.add_up(
        self.counts * sizes * self._costs.mean() / self.work[self.owners],
        len(self._costs))


class _Divided(_Pairs):
  """The pairs of shares that give each subnetwork a fraction of the time.

  Attributes:
    num_trainers, speeds: of these trainers alone, float64 [k].
  """

  def __init__(self, num_workers, fractions, costs, exact_costs):
    """Makes the pairs.

    Args:
      num_workers: float64 array, how many workers have each share.
      fractions: list of the pairs of a subnetwork and a `Fraction` of all of
        the worker's time for each share; empty for one without fractions.
      costs: float64 [k].
      exact_costs: sequence of k numbers; None if all are 1.
    """
    super().__init__(
        num_workers, [[i for i, _ in pairs] for pairs in fractions])
    parts = [part for pairs in fractions for _, part in pairs]
    self._costs = costs
    # The division of two int is exact but for its result's rounding, and faster
    # than float(part).
    self._rates = np.array([
        part.numerator / part.denominator for part in parts
    ]) / costs[self.subnetworks]
    self.num_trainers = self.add_up(self.counts, len(costs))
    self.speeds = np.array(self._add_up_exactly(parts, exact_costs))

  def _add_up_exactly(self, parts, costs):
    """Returns the speeds; the same for subnetworks that are equally fast."""
    num_whole = [0] * len(self._costs)  # Workers that train nothing else.
    sums = [0] * len(self._costs)
    for i, part, count in zip(
        self.subnetworks.tolist(), parts, self.counts.astype(int).tolist()):
      if part == 1:
        num_whole[i] += count
      else:
        sums[i] = sums[i] + part * count if sums[i] or count > 1 else part
    if costs is None:
      return [(part.numerator + number * part.denominator) / part.denominator
              for part, number in zip(sums, num_whole)]
    costs = map(fractions_lib.Fraction, costs)
    return [(part.numerator + number * part.denominator) * cost.denominator
            / (part.denominator * cost.numerator)
            for part, number, cost in zip(sums, num_whole, costs)]

  def stale_gradients(self, speeds):
    """Returns the part of the mean staleness that is theirs."""
    gaps = self.counts * self._rates * (speeds[self.subnetworks] - self._rates)
    by_subnetwork = [[] for _ in self._costs]
    for i, gap in zip(self.subnetworks.tolist(), gaps.tolist()):
      by_subnetwork[i].append(gap)
    # The same in any order, so that mirror images have equal figures.
    return self._costs * list(map(math.fsum, by_subnetwork)) / speeds

  def max_staleness(self, speeds):
    """Returns that of the slowest; below 0 where there is none."""
    least = np.full(len(self._costs), np.inf)
    np.minimum.at(least, self.subnetworks, self._rates)
    return self._costs * (speeds - least)


def add_up_costs(
    costs: typing.Iterable[line_lib.Number]) -> fractions_lib.Fraction:
  """Returns the sum of costs, exactly."""
  whole, rest = 0, fractions_lib.Fraction(0)
  for cost in costs:
    if isinstance(cost, int):  # Much faster.
      whole += cost
    else:
      rest += fractions_lib.Fraction(cost)
  return whole + rest


def time_for_ensembles(
    share: layout_lib.Share, num_subnetworks: int,
    costs: typing.Optional[typing.Sequence[line_lib.Number]],
    ensemble_cost: line_lib.Number) -> fractions_lib.Fraction:
  """Returns the part of a worker's time for ensembles, e(w).

  Args:
    share: the `Share` of the worker.
    num_subnetworks: k.
    costs: k positive numbers; None if all are 1.
    ensemble_cost: E.
  """
  if share.fractions is None and (
      share.builds_ensemble and share.trains_subnetworks):
    cost = fractions_lib.Fraction(ensemble_cost)
    return cost / (cost + (share.num_trained if costs is None else
                           add_up_costs(costs[i] for i in share.trained)))
  return fractions_lib.Fraction(share.time_for_ensembles(num_subnetworks))


def _of_all_time(share, ensemble_fraction):
  """Returns the pairs of a share with fractions, of all of the worker's time.
  """
  if not share.trains_subnetworks:
    return ()
  pairs = tuple(share.fractions or ())
  if not ensemble_fraction:
    return pairs
  return tuple((i, part * (1 - ensemble_fraction)) for i, part in pairs)


def _forward_reads(share, ensemble_fraction):
  """Returns how often a worker reads what it builds for more than training it.
  """
  if not share.trains_subnetworks:
    return 1.
  return 0. if share.fractions is None else float(ensemble_fraction)


def predict(
    shares: typing.Sequence[
        typing.Tuple[layout_lib.Share, typing.Sequence[range]]],
    num_subnetworks: int,
    costs: typing.Optional[typing.Sequence[line_lib.Number]],
    ensemble_cost: line_lib.Number,
    ensemble_fractions: typing.Sequence[fractions_lib.Fraction]) -> Training:
  """Returns the `Training` of a cluster.

  Args:
    shares: as `Predictions.shares`.
    num_subnetworks: k.
    costs: k positive numbers; None if all are 1.
    ensemble_cost: E.
    ensemble_fractions: for each share, what `time_for_ensembles` returns.
  """
  k = num_subnetworks
  num_workers = np.array(
      [sum(map(len, workers)) for _, workers in shares], np.float64)
  float_costs = np.ones(k) if costs is None else np.array(
      list(map(float, costs)))
  built = _Pairs(num_workers, [share.subnetworks for share, _ in shares])
  lockstep = _Lockstep(
      num_workers,
      [share.trained if share.fractions is None else () for share, _ in shares],
      float_costs, float(ensemble_cost) * np.array(
          [share.builds_ensemble for share, _ in shares], np.float64))
  divided = _Divided(
      num_workers, [_of_all_time(share, part) for (share, _), part in zip(
          shares, ensemble_fractions)], float_costs, costs)
  forward = np.array([_forward_reads(share, part) for (share, _), part in zip(
      shares, ensemble_fractions)])
  num_builders = built.add_up(built.counts, k)
  num_trainers = lockstep.num_trainers + divided.num_trainers
  speeds = lockstep.speeds + divided.speeds
  # A trainer that is alone never waits, whatever rounding says.
  is_shared = (num_trainers > 1) & (speeds > 0)
  some_speeds = np.where(is_shared, speeds, 1.)
  mean, largest = (
      np.where(is_shared, np.maximum(figures, 0.), 0.) for figures in (
          lockstep.stale_gradients(some_speeds) +
          divided.stale_gradients(some_speeds),
          np.maximum(lockstep.max_staleness(divided.speeds),
                     divided.max_staleness(some_speeds))))
  trained = np.concatenate([lockstep.subnetworks, divided.subnetworks])
  order = np.argsort(trained, kind="mergesort")
  return Training(
      math.fsum(num_workers * list(map(float, ensemble_fractions)))
      / float(ensemble_cost),
      num_builders.astype(np.int64), num_trainers.astype(np.int64), speeds,
      mean, largest,
      built.add_up(built.counts * forward[built.owners], k) +
      lockstep.reads() + float_costs.mean() * divided.speeds,
      lockstep.work, np.concatenate([lockstep.owners, divided.owners])[order],
      np.searchsorted(trained[order], np.arange(k + 1)))

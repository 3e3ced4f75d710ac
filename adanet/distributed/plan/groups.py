# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The parts of a plan: workers, subnetworks and parameter servers in groups.

`predict_speeds` tells how fast groups of workers train, and how stale the
gradients are. `predictions.py` explains the letters and derives the formulas.
"""

import fractions as fractions_lib
import math
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from adanet.console import wording
from adanet.distributed import weights

import numpy as np

Indices = wording.Indices

_MAX_DENOMINATOR = 20


def format_fraction(fraction: weights.Number) -> str:
  """Returns a fraction of a worker's time as a short text: "2/3" or "0.348"."""
  simple = fractions_lib.Fraction(fraction).limit_denominator(_MAX_DENOMINATOR)
  if abs(float(simple - fraction)) < 1e-12 and 0 < simple < 1:
    return str(simple)
  if fraction < .0005:
    return "<0.001"
  # Not 1, which would be all of the time.
  return f"{min(float(fraction), 0.999):.3f}".rstrip("0")


class WorkerGroup(NamedTuple):
  """Workers that build and train the same.

  Attributes:
    workers: the workers, at least 1.
    builds_ensemble: whether each worker builds the ensemble.
    subnetworks: the subnetworks that each worker builds.
    trains_subnetworks: whether each worker trains subnetworks.
    fractions: pairs of a trained subnetwork, increasing, and the subnetwork's
      fraction of the worker's time for subnetworks. None: each worker trains
      all subnetworks of the worker, a step of each subnetwork in turn.
    ensemble_fraction: the fraction of a worker's time for the ensembles: 0 for
      a worker without ensembles, and 1 for a worker that trains no subnetwork.
  """
  workers: Indices
  builds_ensemble: bool
  subnetworks: Indices
  trains_subnetworks: bool
  fractions: Optional[weights.Fractions] = None
  ensemble_fraction: fractions_lib.Fraction = fractions_lib.Fraction(0)

  @property
  def trained(self) -> Indices:
    """The subnetworks that each worker trains."""
    if not self.trains_subnetworks:
      return Indices()
    if self.fractions is None:
      return self.subnetworks
    return Indices(i for i, _ in self.fractions)

  @property
  def num_trained(self) -> int:
    """The number of subnetworks that each worker trains."""
    return len(self.trained)

  @property
  def in_lockstep(self) -> bool:
    """Whether each worker trains a step of each subnetwork in turn."""
    return self.trains_subnetworks and self.fractions is None

  def time_fractions(
      self, costs: Optional[Sequence[weights.Number]] = None
  ) -> Dict[int, weights.Number]:
    """Returns the fraction of a worker's time for each trained subnetwork.

    With `ensemble_fraction`, the fractions add up to 1. The costs are the
    plan's.
    """
    rest = 1 - self.ensemble_fraction
    if not self.in_lockstep:
      return {i: fraction * rest for i, fraction in self.fractions or ()}
    if costs is None:
      return {i: rest / self.num_trained for i in self.trained}
    work = sum(costs[i] for i in self.trained)
    return {i: costs[i] * rest / work for i in self.trained}


class SubnetworkGroup(NamedTuple):
  """Subnetworks that have the same values.

  Attributes:
    subnetworks: the subnetworks, at least 1.
    num_builders, num_trainers: how many workers build, and train, each
      subnetwork.
    rows: the part of the input's rows that trains each subnetwork, as in
      `rows_per_subnetwork` of a `PlacementPlan`.
    effective_speed, stale_gradients, max_staleness: as the methods of a
      `PlacementPlan` return.
  """
  subnetworks: Indices
  num_builders: int
  num_trainers: int
  rows: float
  effective_speed: float
  stale_gradients: float
  max_staleness: float


class PsGroup(NamedTuple):
  """Parameter servers that hold variables of the same subnetworks.

  Attributes:
    ps: the parameter servers, at least 1.
    subnetworks: the subnetworks with variables on each parameter server.
    fetches, load: as `fetches_per_ps` and `load_per_ps` return.
  """
  ps: Indices
  subnetworks: Indices
  fetches: int
  load: float


class PlacedSubnetwork(NamedTuple):
  """A subnetwork of a plan.

  Attributes:
    trainers: the workers that train the subnetwork.
    effective_speed: as in `PlacementPlan.effective_speeds`.
    ps: the parameter servers with the subnetwork's variables; None if the
      strategy does not say.
  """
  trainers: Indices
  effective_speed: float
  ps: Optional[Indices]


class SpeedFigures(NamedTuple):
  """Values of the ensembles, the subnetworks, arrays [k], and the groups.

  Attributes:
    ensemble_speed: float; infinity if ensembles cost nothing.
    num_builders, num_trainers: int64.
    speeds, stale_gradients, max_staleness: float64.
    reads: float64, as in `Predictions.load_per_ps`.
    work: float64 [number of groups], the cost of a step of all subnetworks that
      a worker trains in lockstep; 0 for a group with fractions.
  """
  ensemble_speed: float
  num_builders: np.ndarray
  num_trainers: np.ndarray
  speeds: np.ndarray
  stale_gradients: np.ndarray
  max_staleness: np.ndarray
  reads: np.ndarray
  work: np.ndarray


class _SubnetworkWorkers:
  """The workers that build a subnetwork, and the workers that train it.

  Attributes:
    num_builders: how many workers build the subnetwork.
    lockstep: pairs of how many workers of a group train the subnetwork in
      lockstep, and d(w, i).
    divided: pairs of how many workers of a group train the subnetwork in a part
      of the time, and the part.
    forward, reads: how often the subnetwork is read for the ensembles alone,
      and by workers that train in lockstep.
  """

  def __init__(self) -> None:
    self.num_builders = 0
    self.lockstep: List[Tuple[int, float]] = []
    self.divided: List[Tuple[int, weights.Number]] = []
    self.forward = self.reads = 0.

  def figures(self, exact_cost: weights.Number
              ) -> Tuple[int, float, float, float, float]:
    """Returns number of trainers, speed, mean and most staleness, reads.

    The reads are by workers with divided time, in units of the mean cost.
    """
    cost = float(exact_cost)
    num_trainers = sum(count for count, _ in self.lockstep + self.divided)
    speed_in_lockstep = sum(count / time for count, time in self.lockstep)
    # Exact, so that subnetworks that are equally fast have the same value.
    divided_speed = float(
        sum(count * part for count, part in self.divided) /
        fractions_lib.Fraction(exact_cost))
    speed = speed_in_lockstep + divided_speed
    if num_trainers < 2 or not speed:
      # A trainer that is alone never waits, whatever rounding says.
      return num_trainers, speed, 0., 0., divided_speed
    rates = [(count, float(part) / cost) for count, part in self.divided]
    num_in_lockstep = num_trainers - sum(count for count, _ in rates)
    # The same in any order, so that mirror images have equal values.
    stale = num_in_lockstep - speed_in_lockstep / speed + cost * math.fsum(
        count * rate * (speed - rate) for count, rate in rates) / speed
    # Of the slowest, the updates by all trainers during one of its steps.
    longest = max((time for _, time in self.lockstep), default=0.)
    most = sum(count * longest / time for count, time in self.lockstep
              ) + longest * divided_speed - 1  # `speed` would have more rounding.
    for _, rate in rates:
      most = max(most, cost * (speed - rate))
    return num_trainers, speed, max(stale, 0.), max(most, 0.), divided_speed


def predict_speeds(groups: Sequence[WorkerGroup], num_subnetworks: int,
                   exact_costs: Optional[Sequence[weights.Number]],
                   ensemble_cost: weights.Number) -> SpeedFigures:
  """Returns the `SpeedFigures` of a cluster.

  Args:
    exact_costs: k positive numbers; None if all are 1.
  """
  exact_costs = exact_costs or (1,) * num_subnetworks
  costs = list(map(float, exact_costs))
  mean_cost = np.mean(costs)
  workers = [_SubnetworkWorkers() for _ in costs]
  all_work = []
  for group in groups:
    count = len(group.workers)
    forward = 0.
    if ensemble_cost and not group.in_lockstep:
      forward = (float(group.ensemble_fraction) if group.trains_subnetworks
                 else 1.)
    for i in group.subnetworks:
      workers[i].num_builders += count
      workers[i].forward += count * forward
    work = 0.
    if group.in_lockstep:
      work = sum(costs[i] for i in group.subnetworks)
      time = work + float(ensemble_cost) * group.builds_ensemble
      for i in group.subnetworks:
        workers[i].lockstep.append((count, time))
        # One read of a subnetwork serves it and the ensembles.
        workers[i].reads += count * group.num_trained * mean_cost / work
    else:
      for i, part in group.time_fractions().items():
        workers[i].divided.append((count, part))
    all_work.append(work)
  num_trainers, speeds, stale, most, divided_speeds = map(np.array, zip(*(
      each.figures(cost) for each, cost in zip(workers, exact_costs))))
  return SpeedFigures(
      ensemble_speed=math.fsum(
          len(group.workers) * float(group.ensemble_fraction)
          for group in groups) / float(ensemble_cost)
      if ensemble_cost else math.inf,
      num_builders=np.array([each.num_builders for each in workers], np.int64),
      num_trainers=num_trainers, speeds=speeds, stale_gradients=stale,
      max_staleness=most,
      reads=np.array([each.forward + each.reads for each in workers]) +
      mean_cost * divided_speeds,
      work=np.array(all_work, np.float64))

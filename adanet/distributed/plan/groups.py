# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The parts of a plan: workers, subnetworks and parameter servers in groups."""

import fractions as fractions_lib
from typing import Dict, NamedTuple, Optional, Sequence

from adanet.console import wording
from adanet.distributed import wrap_around

Indices = wording.Indices

_MAX_DENOMINATOR = 20


def format_fraction(fraction: wrap_around.Number) -> str:
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
    workers: the workers, at least one.
    builds_ensemble: whether each of them builds the ensemble.
    subnetworks: the subnetworks that each of them builds.
    trains_subnetworks: whether each of them trains subnetworks.
    fractions: pairs of a subnetwork that each of them trains, increasing, and
      the fraction of its time for subnetworks that this one gets. None: each
      trains all subnetworks that it builds, one step of each in turn.
    ensemble_fraction: the fraction of its time for the ensembles: 0 if it
      builds none, and 1 if it trains no subnetwork.
  """
  workers: Indices
  builds_ensemble: bool
  subnetworks: Indices
  trains_subnetworks: bool
  fractions: Optional[wrap_around.Fractions] = None
  ensemble_fraction: fractions_lib.Fraction = fractions_lib.Fraction(0)

  @property
  def trained(self) -> Indices:
    """The subnetworks that each of the workers trains."""
    if not self.trains_subnetworks:
      return Indices()
    if self.fractions is None:
      return self.subnetworks
    return Indices(i for i, _ in self.fractions)

  @property
  def num_trained(self) -> int:
    """The number of subnetworks that each of the workers trains."""
    return len(self.trained)

  @property
  def in_lockstep(self) -> bool:
    """Whether each trains subnetworks, one step of each in turn."""
    return self.trains_subnetworks and self.fractions is None

  def time_fractions(
      self, costs: Optional[Sequence[wrap_around.Number]] = None
  ) -> Dict[int, wrap_around.Number]:
    """Returns the fraction of its time for each subnetwork that it trains.

    With `ensemble_fraction` they add up to 1. The costs are the plan's.
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
    subnetworks: the subnetworks, at least one.
    num_builders, num_trainers: how many workers build, and train, each.
    rows: the part of the input's rows that trains each, as
      `rows_per_subnetwork` of a `PlacementPlan` returns.
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
    ps: the parameter servers, at least one.
    subnetworks: the subnetworks with variables on each of them.
    fetches, load: as `fetches_per_ps` and `load_per_ps` return.
  """
  ps: Indices
  subnetworks: Indices
  fetches: int
  load: float


class PlacedSubnetwork(NamedTuple):
  """One subnetwork of a plan.

  Attributes:
    trainers: the workers that train it.
    effective_speed: as in `PlacementPlan.effective_speeds`.
    ps: the parameter servers that hold its variables; None if the strategy
      does not say.
  """
  trainers: Indices
  effective_speed: float
  ps: Optional[Indices]


Subnetwork = PlacedSubnetwork  # Its first name.

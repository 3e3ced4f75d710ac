# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which trainee is next: subnetworks in turns, ensembles within a lag limit."""

import fractions as fractions_lib
from typing import Collection, Dict, FrozenSet, Mapping, Optional, Union


#: The turn in which all ensembles train, in one run.
ENSEMBLES = ""


class Turns:
  """The turns of one worker: for each subnetwork, and for all ensembles.

  The next one is always the least served: the one with the fewest seconds,
  divided by its part of the time. So each one gets its part, and when one
  trains no further, the rest get its part, in proportion to their own.
  """

  def __init__(self, fractions: Mapping[
      str, Union[fractions_lib.Fraction, float]]):
    """Takes the part of the time for each one."""
    self._fractions = {name: float(part) for name, part in fractions.items()}
    # Seconds by part of the time.
    self._served = {name: 0. for name in fractions}
    self._active: FrozenSet[str] = frozenset()

  def next(self, active: Collection[str],
           waiting: Collection[str] = ()) -> str:
    """Returns the least served one; the first of them if some are equal.

    One that was not active at the last call starts level with the least served
    active one. Its missed time is not made up for, unless it was waiting.

    Args:
      active: the names of trainees that may train, at least one.
      waiting: the names of trainees that must wait for other ones.
    """
    stayed = [self._served[name] for name in active if name in self._active]
    for name in active:
      if name not in self._active:
        self._served[name] = max(self._served[name], min(stayed, default=0.))
    self._active = frozenset(active).union(waiting)
    return min(active, key=self._served.__getitem__)

  def served(self, name: str, secs: float) -> None:
    """Adds the seconds that one has trained."""
    self._served[name] += secs / self._fractions[name]


class LagLimit:
  """How far ensembles may train ahead of subnetworks that other tasks train.

  An ensemble that ran ahead would be compared with other ones before its
  subnetworks have learned, so it takes a step for each step of the slowest one.

  Attributes:
    steps: dict from a subnetwork's name to its step.
  """

  def __init__(self, limit: Optional[int], untrained: Collection[str] = ()):
    """Takes when a subnetwork is done.

    Args:
      limit: int, the step at which it is; None if only its input ends it.
      untrained: the names of subnetworks that no task trains.
    """
    self._limit = limit
    self._stopped = set(untrained)
    self.steps: Dict[str, int] = {}

  def update(self, steps: Dict[str, int]) -> None:
    """Takes over the steps of all subnetworks that other tasks train."""
    self.steps = dict(steps)

  def stop(self, name: str) -> None:
    """Records that a subnetwork trains no further."""
    self._stopped.add(name)

  @property
  def unfinished(self) -> Dict[str, int]:
    """The steps of subnetworks that are not done, by name."""
    return {name: step for name, step in self.steps.items()
            if name not in self._stopped and (
                self._limit is None or step < self._limit)}

  def allows(self, step: int) -> bool:
    """Returns whether an ensemble that took `step` steps may take another."""
    unfinished = self.unfinished
    if unfinished:
      return step <= min(unfinished.values())
    return step < max(self.steps.values(), default=0)

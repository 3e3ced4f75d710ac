# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which subnetwork trains next, where each one has a part of the time."""

import fractions as fractions_lib
import typing


class Turns:
  """The turns of the subnetworks that one worker trains.

  The next one is always the least served: that whose seconds, divided by its
  part of the time, are the fewest. So each one gets its part, and when one
  trains no further, the others get what it leaves, in proportion to theirs.
  """

  def __init__(self, fractions: typing.Mapping[
      str, typing.Union[fractions_lib.Fraction, float]]):
    """Takes the part of the time for each one.

    Args:
      fractions: dict from a name to a positive number.
    """
    self._fractions = {name: float(part) for name, part in fractions.items()}
    # Seconds by part of the time.
    self._served = {name: 0. for name in fractions}
    self._active: typing.FrozenSet[str] = frozenset()

  def next(self, active: typing.Collection[str]) -> str:
    """Returns the least served one; the first of them if some are equal.

    One that was not active at the last call starts level with the least served
    of the others. What it missed is not made up for.

    Args:
      active: the names of those that may train, at least one.
    """
    stayed = [self._served[name] for name in active if name in self._active]
    for name in active:
      if name not in self._active:
        self._served[name] = max(
            self._served[name], min(stayed, default=0.))
    self._active = frozenset(active)
    return min(active, key=self._served.__getitem__)

  def served(self, name: str, secs: float) -> None:
    """Notes that one has trained for so many seconds."""
    self._served[name] += secs / self._fractions[name]

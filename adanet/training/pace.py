# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""How far ensembles may train ahead of subnetworks that other tasks train.

An ensemble that ran ahead would be compared with the others before its
subnetworks have learned, so it takes a step for each step of the slowest one.
"""

import typing


class Pace:
  """The steps of the subnetworks that other tasks train.

  Attributes:
    steps: dict from a subnetwork's name to its step.
  """

  def __init__(self, limit: typing.Optional[int],
               untrained: typing.Collection[str] = ()):
    """Takes when a subnetwork is done.

    Args:
      limit: int, the step at which it is; None if only its input ends it.
      untrained: the names of those that no task trains. Nobody waits for them.
    """
    self._limit = limit
    self._stopped = set(untrained)
    self.steps: typing.Dict[str, int] = {}

  def update(self, steps: typing.Dict[str, int]) -> None:
    """Takes over the steps of all subnetworks that other tasks train."""
    self.steps = dict(steps)

  def stop(self, name: str) -> None:
    """Notes that a subnetwork trains no further."""
    self._stopped.add(name)

  @property
  def unfinished(self) -> typing.Dict[str, int]:
    """The steps of those that are not done, by name."""
    return {name: step for name, step in self.steps.items()
            if name not in self._stopped and (
                self._limit is None or step < self._limit)}

  def allows(self, step: int) -> bool:
    """Returns whether an ensemble that took `step` steps may take another."""
    unfinished = self.unfinished
    if unfinished:
      return step <= min(unfinished.values())
    return step < max(self.steps.values(), default=0)

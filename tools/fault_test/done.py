# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a job has done already: none of it may be done again."""

from typing import Any, Dict, List, Tuple

#: The key of the global step. Others are pairs: an iteration, and the name of a
#: subnetwork or ensemble of it.
GLOBAL_STEP = (-1, "the global step")

# How old an event may be when it is read.
_DELAY_SECS = 3.

Steps = Dict[Tuple[int, str], int]


class Done:
  """How far a job was, by what its tasks have said.

  The variables are on the parameter servers. While these live, no step is
  older than another task has seen before; after one was lost, none is older
  than the last checkpoint.
  """

  def __init__(self):
    """Nothing is done yet."""
    # From a key to (since when, step), both increasing.
    self._seen: Dict[Any, List[Tuple[float, int]]] = {}
    self._saved = dict(self._seen)

  def _note(self, floors, secs, steps):
    for key, step in steps.items():
      known = floors.setdefault(key, [])
      if not known or step > known[-1][1]:
        known.append((secs, step))

  def save(self, secs: float, steps: Steps) -> None:
    """Notes what a checkpoint has.

    Args:
      secs: float, when it was written.
      steps: how far each is in it.
    """
    self._note(self._saved, secs, steps)

  def lose(self) -> None:
    """Notes that a parameter server is lost, and what was not saved."""
    self._seen = {}

  def reach(self, secs: float, steps: Steps) -> List[str]:
    """Takes how far a task says that some are; returns what is wrong.

    Args:
      secs: float, when the task was heard.
      steps: how far each is.
    """
    problems = []
    for (iteration, name), step in steps.items():
      floor = max((
          before for floors in (self._seen, self._saved)
          for since, before in floors.get((iteration, name), [])
          if since + _DELAY_SECS < secs), default=0)
      if step < floor:
        problems.append(f"{name} of iteration {iteration} is at step {step} "
                        f"again, after {floor}")
    self._note(self._seen, secs, {
        key: step for key, step in steps.items() if key != GLOBAL_STEP})
    return problems

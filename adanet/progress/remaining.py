# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""How long training goes on, estimated from its events."""

from typing import NamedTuple, Optional

from adanet.core import events


# The first step takes longer: it compiles. So nothing is estimated before this.
_SECS_AFTER_FIRST_STEP = 1.


class Left(NamedTuple):
  """How long training goes on, in seconds; None where it is not known.

  Attributes:
    iteration: until the iteration that trains ends, or training does.
    search: until training ends, as if the iterations that are left took as long
      as this one; None in the last iteration, too.
  """
  iteration: Optional[float] = None
  search: Optional[float] = None


def _least(*values: Optional[float]) -> Optional[float]:
  return min([value for value in values if value is not None], default=None)


class Remaining:
  """Estimates from the events that were taken so far."""

  def __init__(self) -> None:
    self._began: Optional[events.IterationBegan] = None
    self._began_time = 0.
    self._progress_time = 0.
    self._first_progress_time: Optional[float] = None
    self._is_whole = True
    self._secs_between = 0.  # Two iterations: evaluation, and a new graph.

  def take(self, event: events.Event, now: float) -> None:
    """Notes an event.

    Args:
      event: the event.
      now: float, the time of a clock, in seconds.
    """
    if isinstance(event, events.Resumed):
      self._began, self._is_whole = None, False
      self._first_progress_time = None
    elif isinstance(event, events.IterationBegan):
      if self._began is None:
        self._began_time = now
      elif self._began.iteration_number != event.iteration_number:
        self._secs_between = now - max(self._began_time, self._progress_time)
        self._began_time, self._is_whole = now, True
        self._first_progress_time = None
      self._began = event
    elif isinstance(event, events.Progress):
      self._progress_time = now
      if self._first_progress_time is None:
        self._first_progress_time = now

  def left(self, progress: events.Progress, now: float) -> Left:
    """Returns how long training goes on.

    Args:
      progress: how far the iteration is that began last.
      now: float, the time of the clock.
    """
    began, rate = self._began, progress.steps_per_second
    first = self._first_progress_time
    if first is None or now - first < _SECS_AFTER_FIRST_STEP:
      return Left()
    if began is None or not rate:
      return Left(progress.seconds_left)
    by_steps = None
    if began.last_step is not None:
      by_steps = max(0, began.last_step - progress.global_step) / rate
    left = _least(progress.seconds_left, by_steps)
    by_iterations = None
    if (progress.seconds_left is not None and began.max_steps is not None and
        began.num_iterations is not None):
      whole = (now - self._began_time + progress.seconds_left
               if self._is_whole else began.max_steps / rate)
      by_iterations = progress.seconds_left + (whole + self._secs_between) * (
          began.num_iterations - progress.iteration_number - 1)
    search = _least(by_iterations, by_steps)
    return Left(left, None if search == left else search)

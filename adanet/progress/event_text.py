# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Events of training as text, with short names and an estimate of the end.

    names = Names(["t0_a_grow_complexity_regularized",
                   "t0_b_grow_complexity_regularized"])
    names.short("t0_a_grow_complexity_regularized")  # "t0_a.."
    names.short("t0_a")                        # "t0_a", a subnetwork
    names.end                                  # "_grow_complexity_regu..."

Names are shortened in the same way wherever they are shown. Ensembles of an
iteration mostly end alike: with their strategy and ensembler.
"""

import dataclasses
import os
import re
import time
from typing import Callable, Iterable, List, NamedTuple, Optional

from adanet.console import wording
from adanet.core import events
from adanet import messages

_MIN_END = 6  # Characters.
_STRATEGIES = ("_grow_", "_solo_")
# The first step takes longer: it compiles. So nothing is estimated before this.
_SECS_AFTER_FIRST_STEP = 1.
_NAMED_STEP = re.compile(r"\bmodel\.ckpt-(\d+)(?:\.\d+)?$")


def _common_end(names):
  """Returns the common end of all names; "" if it is short, or for one name.

  It begins with the strategy, if all have the same one of adanet's, or
  with any "_".
  """
  if len(names) == 1:
    return ""
  end = os.path.commonprefix([name[::-1] for name in names])[::-1]
  strategy = max(end.rfind(name) for name in _STRATEGIES)
  if strategy >= 0:
    end = end[strategy:]
  else:
    end = end[end.find("_"):] if "_" in end else ""
  if len(end) < _MIN_END or any(len(end) >= len(name) for name in names):
    return ""
  return end


class Names:
  """The names of an iteration.

  Attributes:
    end: str, the common end of all its ensembles, which is left out; or "".
  """

  def __init__(self, ensembles: Iterable[str] = ()):
    """Finds the common end of the names of all ensembles of an iteration."""
    self._ensembles = frozenset(ensembles)
    self.end = _common_end(sorted(self._ensembles))

  @property
  def meaning(self) -> str:
    """The text about the ensembles in a heading, or ""."""
    return f" named {wording.MARK}{self.end}" if self.end else ""

  def short(self, name: str, width: Optional[int] = None) -> str:
    """Returns the short name of an ensemble, or of anything else.

    Args:
      width: int, how many characters it may have, at least 5; None for any
        number.
    """
    if self.end and name in self._ensembles:
      name = name[:len(name) - len(self.end)] + wording.MARK
    return name if width is None else wording.cut(name, width)


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


def since(seconds: Optional[float]) -> str:
  """Returns when something was, to be put after it: " on 2026-01-31 at 09:05".

  Args:
    seconds: float, since 1970; None if it is not known, which gives "".
  """
  try:
    return "" if seconds is None else time.strftime(
        " on %Y-%m-%d at %H:%M", time.localtime(seconds))
  except (OSError, OverflowError, ValueError):  # No clock said so.
    return ""


def _counted(names, noun, meaning=""):
  """Returns how many of something there are, and their first names."""
  return (f"{messages.count(len(names), noun)}{meaning} "
          f"({messages.list_names(names)})")


def _time_left(left: Left) -> List[str]:
  """Returns the time left as a list of no or one text."""
  if left.iteration is None:
    return []
  text = f"{messages.duration(left.iteration)} left"
  if left.search is not None:
    text += f" (search: about {messages.duration(left.search)})"
  return [text]


def _shortened(choice, names):
  """Returns a `Choice` with short names."""
  short = names.short
  return dataclasses.replace(
      choice, name=short(choice.name),
      next_best=choice.next_best and short(choice.next_best),
      nan=tuple(map(short, choice.nan)))


def undecided(event: events.IterationUndecided, names: Names) -> str:
  """Returns which ensemble answers while an iteration has no winner, and why.

  Args:
    names: `Names` of the ensembles of its iteration.
  """
  if event.choice is None:
    leads = ("evaluate, predict and exports use the ensemble whose "
             f"{event.metric_name} is the best now, by the evaluator.")
  else:
    leads = _shortened(event.choice, names).message(
        event.metric_name, "leads") + " evaluate, predict and exports use it."
  return (f"Iteration {event.iteration_number} has no winner yet at step "
          f"{event.global_step}, the last one: {leads} To decide, train for "
          "more steps, or set max_iterations and no max_steps." +
          f" Not trained: {messages.list_names(event.untrained)}." * bool(
              event.untrained))


def _resumed(event):
  """Returns from where training goes on, with the meaning of each number."""
  if event.saved_step is not None:
    return (f"Resumed at step {event.global_step} of iteration "
            f"{event.iteration_number}, whose variables the parameter servers "
            f"have kept. The last checkpoint is of step {event.saved_step} "
            f"({event.checkpoint}).")
  # On a cluster, workers train on while a checkpoint is saved.
  named = _NAMED_STEP.search(event.checkpoint)
  begun = (f": its saving began at step {named.group(1)}"
           if named and int(named.group(1)) != event.global_step else "")
  return (f"Resumed from step {event.global_step} of iteration "
          f"{event.iteration_number} ({event.checkpoint}{begun}).")


class EventText:
  """The text of events, which come in their order.

  Attributes:
    began: the last `events.IterationBegan`, or None.
    names: `Names` of the ensembles of its iteration.
  """

  def __init__(self, clock: Callable[[], float] = time.monotonic):
    """Knows no event yet.

    Args:
      clock: returns the time, in seconds from any moment.
    """
    self._clock = clock
    self._remaining = Remaining()
    self.began: Optional[events.IterationBegan] = None
    self.names = Names()

  def take(self, event: events.Event) -> None:
    """Notes an event, which may get no text."""
    self._remaining.take(event, self._clock())
    if isinstance(event, events.IterationBegan):
      self.began = event
      self.names = Names(event.ensembles)

  def _iteration(self, number: int) -> str:
    """Returns which iteration, of how many, it is."""
    began = self.began
    text = f"Iteration {number}"
    if (began is None or began.num_iterations is None or
        began.iteration_number != number):
      return text
    return "{} ({} of {}{})".format(
        text, number + 1, "at most " * (began.last_step is not None),
        began.num_iterations)

  def heading(self, event: events.Progress) -> List[str]:
    """Returns the known facts about the whole iteration, as a list of texts."""
    parts = [self._iteration(event.iteration_number),
             f"step {event.global_step}"]
    if event.steps_per_second:
      parts.append(f"{event.steps_per_second:.3g} steps/s")
    return parts + _time_left(self._remaining.left(event, self._clock()))

  def _began(self, event):
    # A task of a cluster may train no subnetwork, or no ensemble.
    parts = []
    if event.subnetworks:
      parts.append(_counted(event.subnetworks, "subnetwork"))
    if event.ensembles:
      parts.append(_counted(
          [self.names.short(name) for name in event.ensembles], "ensemble",
          self.names.meaning))
    if event.max_steps is not None:
      parts.append(f"{event.max_steps} steps each")
    return (f"{self._iteration(event.iteration_number)} begins at step "
            f"{event.global_step}{': ' * bool(parts) + ', '.join(parts)}.")

  def _progress(self, event):
    losses = [f"{self.names.short(name)} {loss:.6g}"
              for name, loss in event.losses.items() if loss is not None]
    heading = self.heading(event)
    return "{}: {}.{}".format(
        heading[0], ", ".join(heading[1:]),
        f" Loss: {messages.list_names(losses)}." if losses else "")

  def _ended(self, event):
    gain = " " + event.fit.message() if event.fit else ""
    return "Iteration {} ended after {}: {}{}".format(
        event.iteration_number, messages.duration(event.seconds),
        _shortened(event.choice, self.names).message(event.metric_name), gain)

  def line(self, event: events.Event) -> str:
    """Returns an event that was taken as one line of text."""
    if isinstance(event, events.IterationBegan):
      return self._began(event)
    if isinstance(event, events.Resumed):
      return _resumed(event)
    if isinstance(event, events.Progress):
      return self._progress(event)
    if isinstance(event, events.Stopped):
      return (f"Iteration {event.iteration_number}: "
              f"{self.names.short(event.name)} trains no further: "
              f"{event.reason.rstrip('.')}.")
    if isinstance(event, events.CheckpointSaved):
      return f"Saved the checkpoint of step {event.global_step}: {event.path}."
    if isinstance(event, events.IterationEnded):
      return self._ended(event)
    if isinstance(event, events.IterationUndecided):
      return undecided(event, self.names)
    if isinstance(event, events.TrainingEnded):
      return (f"Training ended at step {event.global_step}: "
              f"{event.reason.rstrip('.')}.")
    if isinstance(event, events.Joined):
      return f"The search is in {event.model_dir}."
    if isinstance(event, events.Working):
      return f"{event.task} works."
    raise TypeError(f"event={event!r}: expected one of adanet.core.events.")

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Events of training as text."""

import dataclasses
import re
import time
from typing import Callable, List, Optional, Sequence

from adanet.core import events
from adanet.progress import names as names_lib
from adanet.progress import remaining

_MAX_NAMES = 3
_NAMED_STEP = re.compile(r"\bmodel\.ckpt-(\d+)(?:\.\d+)?$")


def duration(seconds: float) -> str:
  """Returns a time in seconds as h:mm:ss, or m:ss."""
  minutes, secs = divmod(int(seconds + .5), 60)
  hours, minutes = divmod(minutes, 60)
  if hours:
    return f"{hours}:{minutes:02}:{secs:02}"
  return f"{minutes}:{secs:02}"


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


def _listed(names: Sequence[str]) -> str:
  """Returns the first names, and how many more there are."""
  shown = list(names[:_MAX_NAMES])
  if len(names) > len(shown):
    shown.append(f"and {len(names) - len(shown)} more")
  return ", ".join(shown)


def _counted(names, noun, meaning=""):
  """Returns how many of something there are, and their first names."""
  return (f"{len(names)} {noun}{'' if len(names) == 1 else 's'}{meaning} "
          f"({_listed(names)})")


def _time_left(left: remaining.Left) -> List[str]:
  """Returns the time left as a list of no or one text."""
  if left.iteration is None:
    return []
  text = f"{duration(left.iteration)} left"
  if left.search is not None:
    text += f" (search: about {duration(left.search)})"
  return [text]


def _shortened(choice, names):
  """Returns a `Choice` with short names."""
  short = names.short
  return dataclasses.replace(
      choice, name=short(choice.name),
      next_best=choice.next_best and short(choice.next_best),
      nan=tuple(map(short, choice.nan)))


def undecided(event: events.IterationUndecided, names: names_lib.Names) -> str:
  """Returns which ensemble answers while an iteration has no winner, and why.

  Args:
    event: `IterationUndecided`.
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
          f" Not trained: {_listed(event.untrained)}." * bool(event.untrained))


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
    self._remaining = remaining.Remaining()
    self.began: Optional[events.IterationBegan] = None
    self.names = names_lib.Names()

  def take(self, event: events.Event) -> None:
    """Notes an event, which may get no text."""
    self._remaining.take(event, self._clock())
    if isinstance(event, events.IterationBegan):
      self.began = event
      self.names = names_lib.Names(event.ensembles)

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
        f" Loss: {_listed(losses)}." if losses else "")

  def _ended(self, event):
    gain = " " + event.fit.message() if event.fit else ""
    return "Iteration {} ended after {}: {}{}".format(
        event.iteration_number, duration(event.seconds),
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

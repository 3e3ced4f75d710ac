# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Events of training as text."""

from typing import List, Sequence

from adanet.core import events

_MAX_NAMES = 3


def _names(names: Sequence[str]) -> str:
  """Returns the first names, and how many more there are."""
  shown = list(names[:_MAX_NAMES])
  if len(names) > len(shown):
    shown.append("and {} more".format(len(names) - len(shown)))
  return ", ".join(shown)


def _counted(names, noun):
  """Returns how many of something there are, and their first names."""
  return "{} {}{} ({})".format(
      len(names), noun, "" if len(names) == 1 else "s", _names(names))


def shortened(name: str, width: int) -> str:
  """Returns a name with at most this many characters, at least 5.

  Names often differ at their ends, so the middle is left out.
  """
  if len(name) <= width:
    return name
  tail = (width - 2) // 2
  return name[:width - 2 - tail] + ".." + name[-tail:]


def duration(seconds: float) -> str:
  """Returns a time in seconds as h:mm:ss, or m:ss."""
  minutes, secs = divmod(int(seconds + .5), 60)
  hours, minutes = divmod(minutes, 60)
  if hours:
    return "{}:{:02}:{:02}".format(hours, minutes, secs)
  return "{}:{:02}".format(minutes, secs)


def speed(event: events.Progress) -> List[str]:
  """Returns the steps per second and the time left, as far as they are known.
  """
  parts = []
  if event.steps_per_second is not None:
    parts.append("{:.3g} steps/s".format(event.steps_per_second))
  if event.seconds_left is not None:
    parts.append("{} left".format(duration(event.seconds_left)))
  return parts


def message(event: events.Event) -> str:
  """Returns an event as one line of text."""
  if isinstance(event, events.IterationBegan):
    # A task of a cluster may train no subnetwork, or no ensemble.
    parts = [_counted(names, noun) for names, noun in (
        (event.subnetworks, "subnetwork"), (event.ensembles, "ensemble"))
             if names]
    if event.max_steps is not None:
      parts.append("{} steps each".format(event.max_steps))
    return "Iteration {} begins at step {}{}.".format(
        event.iteration_number, event.global_step,
        ": " * bool(parts) + ", ".join(parts))
  if isinstance(event, events.Resumed):
    return "Resumed from step {} of iteration {} ({}).".format(
        event.global_step, event.iteration_number, event.checkpoint)
  if isinstance(event, events.Progress):
    losses = ["{} {:.6g}".format(name, loss)
              for name, loss in event.losses.items() if loss is not None]
    line = ", ".join(
        ["Iteration {}: step {}".format(
            event.iteration_number, event.global_step)] + speed(event))
    return line + (". Loss: " + _names(losses) if losses else "") + "."
  if isinstance(event, events.Stopped):
    return "Iteration {}: {} trains no further: {}.".format(
        event.iteration_number, event.name, event.reason.rstrip("."))
  if isinstance(event, events.CheckpointSaved):
    return "Saved the checkpoint of step {}: {}.".format(
        event.global_step, event.path)
  if isinstance(event, events.IterationEnded):
    return "Iteration {} ended after {}: {}".format(
        event.iteration_number, duration(event.seconds),
        event.choice.message(event.metric_name))
  if isinstance(event, events.TrainingEnded):
    return "Training ended at step {}: {}.".format(
        event.global_step, event.reason.rstrip("."))
  if isinstance(event, events.Joined):
    return "The search is in {}.".format(event.model_dir)
  if isinstance(event, events.Working):
    return "{} works.".format(event.task)
  raise TypeError("event={!r}: expected one of adanet.core.events.".format(
      event))

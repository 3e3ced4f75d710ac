# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The events of all tasks of a cluster, as of a single search.

    cluster_progress = cluster.ClusterProgress()
    with reporter.reporter() as report:
      for task, event in ...:  # As they come.
        for shown in cluster_progress.add(task, event):
          report(shown)

Each task reports the subnetworks and ensembles that the task trains.
"""

from typing import Any, Dict, Iterable, List, Mapping, Optional, Set, Tuple

from adanet.core import events


def _with_chief_first(tasks: Iterable[str], chief: str) -> List[str]:
  return sorted(tasks, key=lambda task: (task != chief, task))


def merged(progress: Mapping[str, events.Progress],
           chief: str = "chief:0") -> events.Progress:
  """Returns how far the latest iteration is, from the tasks' events.

  A candidate of several tasks is as far as the furthest task, which also knows
  the last loss. The speed is the chief's, or the fastest task's. The time left
  is the slowest task's.

  Args:
    progress: dict from the name of a task to the last event; not empty.
  """
  number = max(event.iteration_number for event in progress.values())
  current = [progress[task] for task in _with_chief_first(progress, chief)
             if progress[task].iteration_number == number]
  steps: Dict[str, int] = {}
  losses: Dict[str, Optional[float]] = {}
  steps_of_losses: Dict[str, int] = {}
  for event in current:
    for name, step in event.steps.items():
      steps[name] = max(step, steps.get(name, step))
      loss = event.losses.get(name)
      if loss is not None and step > steps_of_losses.get(name, -1):
        losses[name], steps_of_losses[name] = loss, step
  speeds = [event.steps_per_second for event in current
            if event.steps_per_second is not None]
  if current[0] is progress.get(chief) and current[0].steps_per_second:
    speeds = [current[0].steps_per_second]
  return events.Progress(
      number, max(event.global_step for event in current), steps, losses,
      max(speeds, default=None),
      max((event.seconds_left for event in current
           if event.seconds_left is not None), default=None))


def _merged_began(began: Mapping[str, events.IterationBegan], chief: str
                 ) -> events.IterationBegan:
  """Returns the beginning of an iteration, from the tasks' events."""
  current = [began[task] for task in _with_chief_first(began, chief)]
  return current[0]._replace(
      subnetworks=tuple(dict.fromkeys(
          name for event in current for name in event.subnetworks)),
      ensembles=tuple(dict.fromkeys(
          name for event in current for name in event.ensembles)))


class ClusterProgress:
  """Turns events of tasks into events to show, without clock and files."""

  def __init__(self, chief: str = "chief:0", training: Iterable[str] = ()):
    """Knows no event yet.

    Args:
      chief: str, the name of the task that speaks for the search.
      training: names of the training tasks. The beginning of an iteration is
        shown once, when all training tasks have begun or at the first step.
    """
    self._chief = chief
    self._training = frozenset(training)
    self._job_number = 1
    self._jobs: Dict[str, int] = {}  # The job number of each task.
    self._clear()

  def _clear(self) -> None:
    """Forgets the shown search."""
    self._number = -1
    self._began: Dict[str, events.IterationBegan] = {}
    self._shown_began: Optional[events.IterationBegan] = None
    self._progress: Dict[str, events.Progress] = {}
    self._seen: Set[Tuple[Any, ...]] = set()
    self._saved: Optional[events.Progress] = None

  def add(self, task: str, event: events.Event) -> List[events.Event]:
    """Takes an event of a task; returns the events to show now."""
    if isinstance(event, events.Joined):
      self._jobs[task] = event.job_number
      if task == self._chief and event.job_number > self._job_number:
        self._job_number = event.job_number
        self._clear()  # The program trains again, maybe another search.
      return []
    if self._jobs.get(task, self._job_number) != self._job_number:
      return []  # Of a task that is late.
    if isinstance(event, events.IterationBegan):
      return self._add_began(task, event)
    if isinstance(event, events.Progress):
      return self._add_progress(task, event)
    if isinstance(event, events.Stopped):
      return self._once((event.iteration_number, event.name), event)
    if isinstance(event, events.Working) or task != self._chief:
      return []
    if (isinstance(event, events.Resumed) and self._progress and
        event.global_step < merged(self._progress, self._chief).global_step):
      self._progress.clear()  # Steps are fewer now.
    if isinstance(event, events.CheckpointSaved):
      self._saved = self._now()._replace(global_step=event.global_step)
    if isinstance(event, events.IterationEnded):
      return self._once((event.iteration_number,), event)
    return [event]

  def _now(self) -> events.Progress:
    """Returns how far the current iteration is."""
    return (merged(self._progress, self._chief) if self._progress else
            events.Progress(self._number, 0, {}, {}))

  def lose(self, task: str) -> List[events.Event]:
    """Returns the events to show after the end of a task.

    The task's remaining time is unknown from then on.
    """
    if task not in self._progress:
      return []
    self._progress[task] = self._progress[task]._replace(
        steps_per_second=None, seconds_left=None)
    return [self._now()]

  def lost(self) -> str:
    """Returns a line about the lost work if nothing more is saved."""
    saved = self._saved
    before = saved.steps if saved else {}  # Other names in each iteration.
    steps = max((step - before.get(name, 0)
                 for name, step in self._now().steps.items()), default=0)
    text = ("Stopped before the first checkpoint" if saved is None else
            f"Stopped: step {saved.global_step} is saved, and training goes on "
            "from there")
    return text + (f". {steps} steps that were trained since are lost."
                   if steps > 0 else ".")

  def _once(self, key: Tuple[Any, ...], event: events.Event
           ) -> List[events.Event]:
    if key in self._seen:
      return []
    self._seen.add(key)
    return [event]

  def _begin(self, number: int) -> bool:
    """Whether an iteration is current; makes a later iteration current."""
    if number > self._number:
      self._number, self._shown_began = number, None
      self._began, self._progress = {}, {}
    return number == self._number

  def _add_began(self, task, event):
    if not self._begin(event.iteration_number):
      return []
    self._began[task] = event
    if self._shown_began is None and not (
        self._training and self._training <= set(self._began)):
      return []
    return self._show_began()

  def _show_began(self) -> List[events.Event]:
    """Returns the beginning if not shown, or shown with less."""
    if not self._began:
      return []
    event = _merged_began(self._began, self._chief)
    shown, self._shown_began = self._shown_began, event
    if shown and (shown.subnetworks, shown.ensembles) == (
        event.subnetworks, event.ensembles):
      return []
    return [event]

  def _add_progress(self, task, event):
    if not self._begin(event.iteration_number):
      return []
    self._progress[task] = event
    shown = [] if self._shown_began else self._show_began()
    return shown + [self._now()]

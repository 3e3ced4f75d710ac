# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The events of all tasks of a job, shown as one search."""

import contextlib
import sys
from typing import Any, Callable, Sequence

from adanet.core import events
from adanet.launch import job as job_lib
from adanet.progress import cluster
from adanet.progress import event_json
from adanet.progress import reporter

_TRAINS = (job_lib.CHIEF, job_lib.WORKER)


class Display:
  """A context manager: shows events on a terminal, or some of them as lines."""

  def __init__(self, tasks: Sequence[job_lib.Task],
               on_joined: Callable[[job_lib.Task, str, int], None],
               on_working: Callable[[job_lib.Task], None],
               warn: Callable[[str], None]):
    """Shows nothing yet.

    Args:
      tasks: all tasks of the job.
      on_joined: called with a task that takes part, its model_dir, and the
        number of its training.
      on_working: called with a task that has begun to work.
      warn: prints a line, also of an event.
    """
    self._progress = cluster.ClusterProgress(
        job_lib.Task(job_lib.CHIEF, 0).name,
        [task.name for task in tasks if task.job in _TRAINS])
    self._on_joined = on_joined
    self._on_working = on_working
    self._warn = warn
    self._has_warned = False
    self._exits = contextlib.ExitStack()

  def __enter__(self) -> "Display":
    self._report = self._exits.enter_context(reporter.reporter(
        sys.stderr, say=lambda _, line: self._warn(line)))
    return self

  def __exit__(self, *exc_info: Any) -> None:
    self._exits.close()

  def add(self, task: job_lib.Task, line: str) -> None:
    """Takes an event of a task.

    Args:
      task: who reports it.
      line: the event as JSON.
    """
    try:
      event = event_json.loads(line)
    except ValueError as e:
      # A killed task may leave half a line.
      if not self._has_warned:
        self._warn(f"{task.name}: bad event: {e}")
        self._has_warned = True
      return
    if isinstance(event, events.Joined):
      self._on_joined(task, event.model_dir, event.job_number)
    if isinstance(event, events.Working):
      self._on_working(task)
    for shown in self._progress.add(task.name, event):
      self._report(shown)

  def lose(self, task: job_lib.Task) -> None:
    """Takes note that a task has ended, and starts again."""
    for shown in self._progress.lose(task.name):
      self._report(shown)

  def lost(self) -> str:
    """Returns a line about the loss of work if no chief saves any more."""
    return self._progress.lost()

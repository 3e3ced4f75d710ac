# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tasks of a search: what each did, and which did the same."""

from typing import Any, Callable, Dict, List, Optional, Sequence

from adanet.distributed import indices as indices_lib
from adanet.history import records

_MAX_INDICES = 4


class Task:
  """What a task did in all iterations.

  Attributes:
    kind: str, such as "worker".
    index: str, such as "1".
    trained: dict from a name to how many steps it trained it.
    steps: int, those of its loops.
    seconds: float.
    bytes: int, the most of an iteration, or None.
    records: dict from the number of an iteration to its `TaskRecord`.
  """

  def __init__(self, task: str):
    self.kind, _, self.index = task.partition(":")
    self.trained: Dict[str, int] = {}
    self.steps = 0
    self.seconds = 0.
    self.bytes: Optional[int] = None
    self.records: Dict[int, records.TaskRecord] = {}

  def add(self, record: records.TaskRecord) -> None:
    """Adds the record of an iteration."""
    self.records[record.iteration] = record
    for name, steps in record.trained.items():
      self.trained[name] = self.trained.get(name, 0) + steps
    self.steps += record.steps
    self.seconds += record.seconds
    if record.bytes is not None:
      self.bytes = max(record.bytes, self.bytes or 0)

  @property
  def speed(self) -> Optional[float]:
    """Its steps a second; None if it takes none."""
    return self.steps / self.seconds if self.steps and self.seconds else None


def tasks_of(found: Sequence[records.TaskRecord]) -> List[Task]:
  """Returns the tasks of records, in their order."""
  tasks: Dict[str, Task] = {}
  for record in found:
    tasks.setdefault(record.task, Task(record.task)).add(record)
  kinds = list(dict.fromkeys(task.kind for task in tasks.values()))
  return sorted(tasks.values(), key=lambda task: (
      kinds.index(task.kind), int(task.index or 0)))


def grouped(tasks: Sequence[Task], max_groups: int) -> List[List[Task]]:
  """Returns lists of the tasks that did the same, in their order.

  Args:
    tasks: the tasks.
    max_groups: int. If there are more groups, tasks share one if they trained
      as many subnetworks and ensembles, or else if they are of the same kind.
  """
  keys: Sequence[Callable[[Task], Any]] = (
      lambda task: (task.kind, tuple(sorted(task.trained))),
      lambda task: (task.kind, len(task.trained)),
      lambda task: task.kind)
  groups: Dict[Any, List[Task]] = {}
  for key in keys:
    groups = {}
    for task in tasks:
      groups.setdefault(key(task), []).append(task)
    if len(groups) <= max_groups:
      break
  return list(groups.values())


def name_of(group: Sequence[Task]) -> str:
  """Returns the names of tasks of the same kind."""
  indices = indices_lib.Indices(sorted(
      int(task.index) for task in group if task.index))
  if not indices:
    return group[0].kind
  if len(indices) > _MAX_INDICES and len(indices.ranges) == 1:
    run = indices.ranges[0]
    text_of_run = f"{run[0]} to {run[-1]}"
    if run.step > 1:
      text_of_run += f" by {run.step}"
    return f"{group[0].kind}:{text_of_run}"
  return f"{group[0].kind}:{indices.to_text()}"

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The summary of a search for tables and pictures: result, best, tasks.
"""

import math
from typing import Any, Callable, Dict, List, Optional, Sequence, Set

from adanet.console import wording
from adanet.history import records
from adanet import messages
from adanet.progress import event_text

_MAX_INDICES = 4


def span(values: Sequence[Optional[float]],
         to_text: Callable[[float], str]) -> str:
  """Returns the least and the greatest value, as text."""
  known = [value for value in values if value is not None]
  if not known:
    return ""
  least, greatest = to_text(min(known)), to_text(max(known))
  return least if least == greatest else f"{least} to {greatest}"


def finite(values: Sequence[Optional[float]]) -> List[float]:
  """Returns the known and finite values."""
  return [v for v in values if v is not None and math.isfinite(v)]


def names_of(record: records.IterationRecord) -> event_text.Names:
  """Returns the short names of an iteration."""
  return event_text.Names(c.name for c in record.candidates)


def ensembles_of(search: records.Records) -> Set[str]:
  """Returns the names of all ensembles, also of an iteration under way."""
  return {c.name for record in search.iterations
          for c in record.candidates}.union(
              *[task.ensembles for task in search.tasks])


def result(search: records.Records) -> str:
  """Returns the result of a search as a line of any length."""
  if not search.iterations:
    return "No iteration has ended yet."
  last = search.iterations[-1]
  final = search.final
  text = f"{names_of(last).short(last.winner)} won"
  if final is not None and final.value is not None:
    text += f" with {last.metric_name} {final.value:.6g}"
  # With force_grow=False an ensemble may be older than the last iteration.
  text += " after " + messages.count(len(search.iterations), "iteration")
  if last.global_step is not None:
    text += ", " + messages.count(last.global_step, "step")
  if search.seconds is not None:
    text += ", " + messages.duration(search.seconds)
  if final is not None:
    text += ": " + messages.count(len(final.subnetworks), "subnetwork")
  return text + "."


def ending(end: records.EndRecord) -> str:
  """Returns reason and time of the end of training, as a line."""
  return (f"Training ended at step {end.global_step}"
          f"{event_text.since(end.time)}: {end.reason.rstrip('.')}.")


def best_first(record: records.IterationRecord
              ) -> List[records.CandidateRecord]:
  """Returns the candidates of an iteration: the winner, then by their values.
  """
  winning = record.winning
  # Without a direction of better: values farther from the winner's are worse.
  best = winning.value if winning and winning.value is not None else 0.

  def key(candidate):
    value = candidate.value
    is_number = value is not None and not math.isnan(value)
    return (candidate.name != record.winner, not is_number,
            abs(value - best) if is_number else 0.)

  return sorted(record.candidates, key=key)


def networks_best_first(record: records.IterationRecord
                       ) -> Dict[str, records.SubnetworkRecord]:
  """Returns the trained networks of an iteration, by name.

  The winner's come first, then the networks with the least held-out losses, and
  last the networks that were not trained.
  """
  members = record.winning.subnetworks if record.winning else ()

  def key(item):
    name, network = item
    loss = network.held_out_loss
    return (name not in members, not network.steps, loss is None, loss or 0.,
            name)

  return dict(sorted(record.subnetworks.items(), key=key))


class TaskSummary:
  """The work of a task in all iterations.

  Attributes:
    records: dict from the number of an iteration to the `TaskRecord`.
    trained: list of str, the names of the trained candidates.
    steps: int, the steps of all loops.
    speed: float, the steps a second; None without steps.
    megabytes: float, the most of an iteration, or None.
  """

  def __init__(self, task_records: Sequence[records.TaskRecord]):
    """Adds up the task's records, at least 1."""
    self.kind, _, self.index = task_records[0].task.partition(":")
    self.records = {record.iteration: record for record in task_records}
    self.trained = list(dict.fromkeys(
        name for record in task_records for name in record.trained))
    self.steps = sum(record.steps for record in task_records)
    seconds = sum(record.seconds for record in task_records)
    self.speed = self.steps / seconds if self.steps and seconds else None
    self.megabytes: Optional[float] = max(
        (record.bytes / 1e6 for record in task_records
         if record.bytes is not None),
        default=None)


def tasks_of(search: records.Records) -> List[TaskSummary]:
  """Returns the tasks of a search, ordered within each kind."""
  of_task: Dict[str, List[records.TaskRecord]] = {}
  for record in search.tasks:
    of_task.setdefault(record.task, []).append(record)
  tasks = list(map(TaskSummary, of_task.values()))
  kinds = [task.kind for task in tasks]
  return sorted(tasks, key=lambda task: (
      kinds.index(task.kind), int(task.index or 0)))


def grouped(tasks: Sequence[TaskSummary],
            max_groups: int) -> List[List[TaskSummary]]:
  """Returns lists of tasks with the same work, in the order of the tasks.

  Args:
    max_groups: int. If there are more groups, tasks share one if they trained
      as many subnetworks and ensembles, or else if they are of the same kind.
  """
  keys: Sequence[Callable[[TaskSummary], Any]] = (
      lambda task: (task.kind, tuple(sorted(task.trained))),
      lambda task: (task.kind, len(task.trained)),
      lambda task: task.kind)
  groups: Dict[Any, List[TaskSummary]] = {}
  for key in keys:
    groups = {}
    for task in tasks:
      groups.setdefault(key(task), []).append(task)
    if len(groups) <= max_groups:
      break
  return list(groups.values())


def name_of(group: Sequence[TaskSummary]) -> str:
  """Returns the names of tasks of the same kind."""
  kind = group[0].kind
  indices = wording.Indices(int(task.index) for task in group if task.index)
  if not indices:
    return kind
  if len(indices) > _MAX_INDICES and len(indices.ranges) == 1:
    run = indices.ranges[0]
    by = f" by {run.step}" if run.step > 1 else ""
    return f"{kind}:{run[0]} to {run[-1]}{by}"
  return f"{kind}:{indices}"

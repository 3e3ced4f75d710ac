# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The parts of an iteration: builders that can train separately.

A part has some builders of an iteration, and all ensembles of only such
builders.
"""

from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from adanet.core import iteration as iteration_lib

Part = Tuple[str, ...]
"""The names of a part's builders, in the order of the iteration."""


def divide(builder_names: Sequence[str],
           planned: Sequence[iteration_lib.Planned]) -> List[Part]:
  """Returns the parts of an iteration, as many as there can be.

  The builders of an ensemble are in the same part, unless the ensemble is
  fitted after the training.
  """
  group_of: Dict[str, List[str]] = {name: [name] for name in builder_names}
  for ensemble in planned:
    if ensemble.fitted_by is not None:
      continue
    for name in ensemble.builder_names[1:]:
      group, other = group_of[ensemble.builder_names[0]], group_of[name]
      if group is not other:
        group.extend(other)
        group_of.update((member, group) for member in other)
  return list(dict.fromkeys(
      tuple(name for name in builder_names if group_of[name] is group)
      for group in map(group_of.get, builder_names)))


def longest_first(parts: Sequence[Part],
                  seconds: Mapping[str, float],
                  costs: Mapping[str, Optional[float]]) -> List[Part]:
  """Returns the parts in the order in which to begin them.

  Args:
    seconds: dict from the name of a builder to how long the builder's part took
      an iteration ago; empty for the first iteration.
    costs: dict from the name of each builder to the builder's cost, in any
      unit, or None. Used if the seconds of a builder are unknown.
  """
  def duration(part):
    return sum(durations[name] or 0. for name in part)

  durations: Mapping[str, Optional[float]] = (
      seconds if all(name in seconds for part in parts for name in part)
      else costs)
  return sorted(parts, key=duration, reverse=True)


def assign_longest_first(
    parts: Sequence[Part], costs: Mapping[str, Optional[float]],
    tasks: Sequence[str]) -> Dict[str, Part]:
  """Divides parts among tasks: the longest first, each to the least busy task.

  Args:
    costs: dict from the name of each builder to the cost, in any unit, or None.
      If a cost is unknown, all builders count alike.
    tasks: the names of the tasks. The first task gets the first part.

  Returns:
    dict from a task to the names of the task's builders, in the order of the
    parts; without tasks that get no builder.
  """
  known = {name: cost for name, cost in costs.items() if cost is not None}
  if len(known) < len(costs):
    known = dict.fromkeys(costs, 1.)
  shares: Dict[str, List[Part]] = {task: [] for task in tasks}

  def busy(task):
    return (sum(known[name] for part in shares[task] for name in part),
            len(shares[task]))

  for part in longest_first(parts, {}, known):
    shares[min(tasks, key=busy)].append(part)
  order = [name for part in parts for name in part]
  return {
      task: tuple(sorted((name for part in share for name in part),
                         key=order.index))
      for task, share in shares.items() if share}

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""How long an iteration takes on an executor.

There each subnetwork is a part that one worker trains from its first step to
its last. A worker that is done takes the next part, the longest first.
"""

import fractions
import heapq
from typing import Any, Dict, NamedTuple, Optional, Sequence

from adanet import checks
from adanet.console import wording
from adanet.distributed import _arguments
from adanet.distributed import weights

Indices = wording.Indices


class ExecutorWorkers(NamedTuple):
  """Workers of an executor with the same subnetworks.

  Attributes:
    workers: a single worker, or all workers without a subnetwork.
    subnetworks: the subnetworks of the workers.
    time: the cost of the subnetworks.
  """
  workers: Indices
  subnetworks: Indices
  time: weights.Number


class ExecutorPlan:
  """Which worker of an executor trains which subnetworks, and for how long.

  Times have the unit of `PlacementPlan.training_time`: the time of a worker for
  a step of a subnetwork of cost 1. An iteration takes the planned time as many
  times as the iteration has steps.

  For example::

      plan = ExecutorPlan(num_workers=4, num_subnetworks=9)
      for group in plan.worker_groups:
        print(group.workers, group.subnetworks, group.time)

  Longest first takes at most 4/3 - 1/(3 m) of the shortest possible time for m
  workers (Graham, Bounds on multiprocessing timing anomalies, 1969).

  Attributes:
    num_workers, num_subnetworks: int.
    costs: tuple of numbers; None if all are 1.
    worker_groups: tuple of `ExecutorWorkers`.
  """

  def __init__(self, num_workers: int, num_subnetworks: int,
               costs: Optional[Sequence[weights.Number]] = None):
    """Makes a plan.

    Args:
      num_workers: at least 1, and at most 20,000.
      num_subnetworks: at least 1; 10 million pairs with a worker at most.
      costs: the cost of a step of each subnetwork, with its ensembles: numbers
        from 1e-100 to 1e100, in any unit. None: all cost 1.

    Raises:
      ValueError: an argument is out of range.
    """
    self.num_workers = checks.check_count("num_workers", num_workers)
    self.num_subnetworks = _arguments.check_num_subnetworks(num_subnetworks)
    _arguments.check_cluster(num_workers, num_subnetworks)
    if costs is not None:
      costs = _arguments.check_weights_of_plan("costs", costs, num_subnetworks)
    self.costs = costs
    # As integers: then no order of adding them makes a difference.
    exact = [fractions.Fraction(cost)
             for cost in costs or (1,) * num_subnetworks]
    self._scale = weights.common_denominator(exact)
    self._scaled = [int(cost * self._scale) for cost in exact]
    self.worker_groups = tuple(self._groups())

  def __repr__(self):
    costs = "" if self.costs is None else f", costs={self.costs}"
    return (f"ExecutorPlan(num_workers={self.num_workers}, "
            f"num_subnetworks={self.num_subnetworks}{costs})")

  def _groups(self):
    """Yields the groups, by their first worker."""
    num_busy = min(self.num_workers, self.num_subnetworks)
    free = [(0, worker) for worker in range(num_busy)]  # A heap, too.
    trained = [[] for _ in free]
    for i in sorted(
        range(self.num_subnetworks), key=lambda i: (-self._scaled[i], i)):
      time, worker = free[0]
      heapq.heapreplace(free, (time + self._scaled[i], worker))
      trained[worker].append(i)
    for time, worker in sorted(free, key=lambda pair: pair[1]):
      yield ExecutorWorkers(
          Indices([worker]), Indices(trained[worker]), self._time(time))
    if num_busy < self.num_workers:
      yield ExecutorWorkers(
          Indices(range(num_busy, self.num_workers)), Indices(), 0)

  def training_time(self) -> weights.Number:
    """Returns when the last worker is done."""
    return max(group.time for group in self.worker_groups)

  def ideal_time(self) -> weights.Number:
    """Returns a time that no other division goes below.

    It is the sum of all costs for each worker, or the largest cost if greater.
    """
    return self._time(max(
        fractions.Fraction(sum(self._scaled), self.num_workers),
        max(self._scaled)))

  def _time(self, scaled):
    """Returns a sum of scaled costs in the unit of the costs."""
    return _plain(fractions.Fraction(scaled) / self._scale)

  def figures(self) -> Dict[str, weights.Number]:
    """Returns the figures of the plan.

    Returns:
      Dict with the keys "training_time"; "ideal_time"; "speedup", how many
      times as fast as one worker; "utilization", the mean fraction of the time
      in which a worker trains; "idle_workers", which have no subnetwork.
    """
    time = self.training_time()
    speedup = float(fractions.Fraction(
        sum(self._scaled), self._scale) / fractions.Fraction(time))
    return {
        "training_time": time,
        "ideal_time": self.ideal_time(),
        "speedup": speedup,
        "utilization": speedup / self.num_workers,
        "idle_workers": max(0, self.num_workers - self.num_subnetworks),
    }

  def to_json_dict(self) -> Dict[str, Any]:
    """Returns the plan as a dict for `json.dumps`.

    A set of indices is a list of [start, stop, step], as in `PlacementPlan`.
    """
    return {
        "version": 1,
        "num_workers": self.num_workers,
        "num_subnetworks": self.num_subnetworks,
        "costs": self.costs and list(map(_plain, self.costs)),
        "worker_groups": [
            {"workers": group.workers.to_json(),
             "subnetworks": group.subnetworks.to_json(), "time": group.time}
            for group in self.worker_groups],
        "figures": self.figures(),
    }


def _plain(number):
  """Returns an exact number as an int or a float."""
  return int(number) if number == int(number) else float(number)

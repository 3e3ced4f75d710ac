# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""How long does an iteration take under BalancedStrategy, beside RoundRobin?

Each task is a process of this machine, with a server of its own. The compute of
a step is delays in the graph, so workers overlap although there are few
processors: one part of a step for the forward pass, which ensembles make too,
and two for the backward pass. The two strategies take turns on the same
processes.

An iteration is timed from the moment at which all workers are about to take
their first step, which they do together, to the moment at which the
chief sees that all subnetworks and ensembles have taken their last one. So the
start of processes, and building the graphs, is not part of it.
"""

import shutil
import statistics
import sys
import tempfile
import time
from typing import List, NamedTuple, Optional, Tuple

from adanet import distributed
from adanet import tf_compat
from adanet.distributed import plan as plan_lib
from adanet.testing import processes
from benchmarks import balance_task
from benchmarks import program

CASES = ("workers", "ps", "costs", "strategy")
CELL = ("{speedup:.2f}x as fast, planned {planned_speedup:.2f}x; {secs:.2f} s, "
        "planned {planned_secs:.2f} s; RoundRobin {other_secs:.2f} s, planned "
        "{other_planned_secs:.2f} s")
FIGURES = ("ratio", "deviation")
SIDES = (("", "ours"),)

_SHORT_TURNS = 5  # With fewer turns, only some shapes are timed, briefly.
_MAX_DEVIATION = .15
_FORWARD = 1 / 3  # Of a step.
# A step takes a few ms of a processor, whatever the delay. All workers together
# take so many steps a second that this is a small part of two processors.
_MAX_STEPS_PER_SEC = 30.
_MIN_UNIT_SECS = .08
# Of an iteration under the round robin, and in a short run.
_ITERATION_SECS = 24.
_SHORT_SECS = 3.


class Case(NamedTuple):
  """A cluster, its candidates, and what is promised.

  Attributes:
    num_workers: int, with the chief.
    num_ps: int.
    costs: tuple of numbers, of a step of each candidate.
    num_ensemble_workers: int, of the `BalancedStrategy`.
    least: float, how many times as fast as under the round robin an iteration
      is at least.
    num_eval_steps: int, on how many batches an evaluator compares candidates.
    in_short_run: whether a short run times it.
  """
  num_workers: int
  num_ps: int
  costs: Tuple[int, ...]
  num_ensemble_workers: Optional[int] = None
  least: float = .97
  num_eval_steps: int = 0
  in_short_run: bool = False

  @property
  def unit_secs(self):
    """The seconds that a cost of 1 takes."""
    return max(_MIN_UNIT_SECS, self.num_workers * len(self.costs) / (
        sum(self.costs) * _MAX_STEPS_PER_SEC))

  def strategies(self):
    """Returns the `BalancedStrategy`, and what it is compared with."""
    return (distributed.BalancedStrategy(
        costs=self.costs, num_ensemble_workers=self.num_ensemble_workers),
            distributed.RoundRobinStrategy())

  def plan(self, strategy):
    """Returns the plan under a strategy, with the costs."""
    return plan_lib.PlacementPlan(
        strategy, self.num_workers, self.num_ps, len(self.costs),
        costs=self.costs)


ALL_CASES = (
    Case(5, 2, (1, 2, 4), least=1.7, in_short_run=True),
    Case(8, 2, (1, 1, 1)),
    Case(2, 1, (1, 2), num_ensemble_workers=0, in_short_run=True),
    Case(3, 1, (1, 1)),
    Case(4, 2, (1, 2, 4, 8)),
    Case(6, 2, (1, 2, 3, 4)),
    Case(8, 2, (1, 2)),
    Case(8, 2, (1,) * 15, least=1.5, num_eval_steps=8),
)


class Timed(NamedTuple):
  """How an iteration went.

  Attributes:
    secs: float, how long it took.
    training: list of float, the seconds that each worker trained.
    evaluation: list of float, the seconds that each worker evaluated.
  """
  secs: float
  training: List[float]
  evaluation: List[float]


class Tasks:
  """A context manager: processes, each of them a task of one job after another.
  """

  def __init__(self, count):
    """Starts the processes.

    Args:
      count: int, the tasks of the largest job.
    """
    # They are forked when TensorFlow is imported, and its threads do not run
    # yet, so that not each of them imports it.
    program.check(tf_compat.v1.Graph, "there is no TensorFlow")
    self._processes = [
        processes.Process(balance_task.run) for _ in range(count)]

  def __enter__(self):
    return self

  def __exit__(self, *_):
    for process in self._processes:
      process.kill()

  @staticmethod
  def _receive(process, task):
    try:
      message = process.receive()
    except (EOFError, TimeoutError):
      raise program.CheckError(f"{task} has died, or hangs") from None
    program.check(message[0] != "failed",
                  f"{task}: {message[1]}")
    return message

  def time(self, job, plan):
    """Returns how the only iteration of a job went, as `Timed`.

    Args:
      job: `Job`, whose cluster is set here.
      plan: the `PlacementPlan` of the job.
    """
    names = [("chief", 0)] + [
        ("worker", i) for i in range(plan.num_workers - 1)] + [
            ("ps", i) for i in range(plan.num_ps)]
    job = job._replace(cluster=processes.free_cluster(
        chief=1, worker=plan.num_workers - 1, ps=plan.num_ps))
    tasks = dict(zip(names, self._processes))
    for name, process in tasks.items():
      process.send((job,) + name)
    workers = names[:plan.num_workers]
    for name in workers:
      program.check(self._receive(tasks[name], name) == "ready",
                    f"{name} has ended before it took a step")
    begin = time.monotonic()
    for name in workers:
      tasks[name].send("go")
    done = {name: self._receive(process, name)[1]
            for name, process in tasks.items()}
    end = done["chief", 0].end
    program.check(end is not None and end > begin,
                  "the chief has not trained")
    return Timed(end - begin, [done[name].training_secs for name in workers],
                 [done[name].evaluation_secs for name in workers])


def num_steps(case, is_short):
  """Returns how many steps take so long as to be timed.

  Args:
    case: `Case`.
    is_short: whether the run is.
  """
  secs = case.plan(case.strategies()[1]).training_time() * case.unit_secs
  # The last step of each ends when it ends, which few steps would not hide.
  return (max(10, round(_SHORT_SECS / secs)) if is_short else
          max(36, round(_ITERATION_SECS / secs)))


def _turn(tasks, case, strategy, count):
  """Returns how an iteration went, as `Timed`."""
  model_dir = tempfile.mkdtemp()
  try:
    return tasks.time(balance_task.Job(
        strategy, {}, model_dir, *(
            [case.unit_secs * cost * part for cost in case.costs]
            for part in (_FORWARD, 1 - _FORWARD)), count,
        case.num_eval_steps), case.plan(strategy))
  finally:
    shutil.rmtree(model_dir, ignore_errors=True)


def _busiest(secs, total):
  """Returns what the busiest worker computed, in equal parts of a total."""
  return max(secs) * len(secs) / total


def row(case, count, turns):
  """Returns the row of a case.

  Args:
    case: `Case`.
    count: int, how often each candidate was trained.
    turns: list of pairs of `Timed`, under the two strategies.
  """
  ours, others = case.strategies()
  planned, other_planned = (
      case.plan(s).training_time() * case.unit_secs * count
      for s in (ours, others))
  secs, other_secs = (
      statistics.median(timed.secs for timed in side) for side in zip(*turns))
  ratio = statistics.median(our.secs / other.secs for our, other in turns)
  forward = sum(case.costs) * case.unit_secs * _FORWARD
  figures = {
      "workers": case.num_workers, "ps": case.num_ps,
      "costs": ", ".join(map(str, case.costs)) if len(case.costs) < 5 else
               f"{len(case.costs)} x {case.costs[0]}",
      "strategy": "BalancedStrategy({})".format(
          "" if case.num_ensemble_workers is None else
          f"num_ensemble_workers={case.num_ensemble_workers}"),
      "steps": count, "unit_secs": case.unit_secs,
      "turns": [[timed.secs for timed in pair] for pair in turns],
      "ratio": ratio, "speedup": 1 / ratio,
      "planned_speedup": other_planned / planned,
      "secs": secs, "planned_secs": planned, "other_secs": other_secs,
      "other_planned_secs": other_planned,
      "deviation": abs(secs / planned - 1),
      "other_deviation": abs(other_secs / other_planned - 1),
      "limits": {"ratio": 1 / case.least, "deviation": _MAX_DEVIATION,
                 "other_deviation": _MAX_DEVIATION}}
  if case.num_eval_steps:
    figures["training"] = statistics.median(
        _busiest(our.training, (1 / _FORWARD + 1) * forward * count)
        for our, _ in turns)
    figures["evaluation"] = statistics.median(
        _busiest(our.evaluation, forward * case.num_eval_steps)
        for our, _ in turns)
    figures["limits"].update(training=1.2, evaluation=2.)
  return figures


def measure(unused_placement, num_turns):
  """Measures one side; see `program`."""
  is_short = num_turns < _SHORT_TURNS
  cases = [c for c in ALL_CASES if c.in_short_run or not is_short]
  rows = []
  with Tasks(max(c.num_workers + c.num_ps for c in cases)) as tasks:
    for case in cases:
      count = num_steps(case, is_short)
      strategies = case.strategies()
      turns = []
      for turn in range(max(1, num_turns // 7)):
        # The second of the two finds another state of the machine.
        order = (0, 1) if turn % 2 else (1, 0)
        timed = {i: _turn(tasks, case, strategies[i], count) for i in order}
        turns.append((timed[0], timed[1]))
      rows.append(row(case, count, turns))
  return rows


_BARS = {
    "ratio": "time, in that of RoundRobinStrategy",
    "deviation": "deviation from the planned time",
    "other_deviation": "the same, RoundRobinStrategy",
    "training": "training of the busiest worker, in its part",
    "evaluation": "evaluation of the busiest worker, in its part",
}


def bars(rows):
  """Returns list of `program.Bar`."""
  return [
      program.Bar(
          "{workers} workers, {ps} ps, costs {costs}: ".format(**figures)
          + text, figures[name], figures["limits"][name])
      for figures in rows for name, text in _BARS.items() if name in figures]


if __name__ == "__main__":
  program.run(sys.modules[__name__])

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What saturates first as a cluster grows: on paper, and simulated.

    tools/bazelw run //docs:scaling

It prints the tables of the page "Scaling". A worker reads the variables of the
subnetworks that it builds, computes, and sends the gradients of those that it
trains. The link of each machine carries so many bytes a second in each
direction, and serves who comes first. Nothing else takes time.
"""

import collections
import heapq
import io
import json
from typing import Any, NamedTuple, Tuple

from absl import app
from absl import flags
from adanet import distributed
from adanet.distributed import plan as plan_lib
from adanet.engines.cluster import chief_client
import numpy as np
import rich.console
import rich.table

_COMPUTE_SECS = flags.DEFINE_float("compute_secs", .1, "Time of a step.", 0)
_MEGABYTES = flags.DEFINE_float("megabytes", 10., "Of a subnetwork.", 0)
_GIGABITS = flags.DEFINE_float("gigabits", 10., "A second, of a link.", 0)

# (workers with the chief, parameter servers, subnetworks): m, n and k. For each
# m, with 2 parameter servers for 10 workers, and with enough.
SIZES = ((11, 2, 10), (110, 20, 10), (110, 30, 10), (1100, 30, 10),
         (1100, 300, 10), (10010, 300, 10), (10010, 3000, 10),
         (1001, 300, 1000))
_STEPS = 6  # That each worker takes at least, in the simulation.


class Machines(NamedTuple):
  """What a step takes.

  Attributes:
    compute_secs: float, the time to compute a step.
    subnetwork_bytes: float, of the variables of a subnetwork.
    link_bytes: float, a second, in each direction.
  """
  compute_secs: float
  subnetwork_bytes: float
  link_bytes: float

  @property
  def read_secs(self) -> float:
    """The time to read a subnetwork, or to send its gradients."""
    return self.subnetwork_bytes / self.link_bytes


class Speeds(NamedTuple):
  """Steps a second.

  Attributes:
    trainer: float, of a worker that trains.
    ensemble: float, of a worker that builds the ensemble, such as the chief.
  """
  trainer: float
  ensemble: float


def on_paper(plan: Any, machines: Machines) -> Tuple[Speeds, Speeds]:
  """Returns the most that the workers, and the parameter servers, can do.

  A worker that trains reads and sends each subnetwork once a step; one that
  builds the ensemble reads all k. A parameter server p sends load(p) times the
  bytes of a subnetwork while every worker takes a step, see
  `PlacementPlan.load_per_ps`.

  Args:
    plan: `PlacementPlan` of the round robin.
    machines: `Machines`.
  """
  trained = plan.trained_per_worker()
  by_workers = Speeds(
      1. / (trained.max() * (machines.compute_secs + 2 * machines.read_secs)),
      1. / (machines.compute_secs + plan.num_subnetworks * machines.read_secs))
  by_ps = 1. / (plan.load_per_ps().max() * machines.read_secs)
  return by_workers, Speeds(by_ps, by_ps)


class _Worker:
  """What a worker exchanges with the parameter servers in a step."""

  def __init__(self, plan, group, machines):
    loads = np.zeros(plan.num_ps)
    for i in group.subnetworks:
      ps = list(plan.subnetwork(i).ps)
      loads[ps] += machines.read_secs / len(ps)
    self.ps = np.flatnonzero(loads)
    self.secs = loads[self.ps]  # For which the link of each of these is busy.
    self.own_secs = self.secs.sum()
    self.compute_secs = machines.compute_secs * max(group.num_trained, 1)
    self.is_trainer = group.trains_subnetworks


def simulate(plan: Any, machines: Machines, end: float,
             seed: int = 1) -> Speeds:
  """Returns the mean speed of the workers.

  Args:
    plan: `PlacementPlan`.
    machines: `Machines`.
    end: float, how long to simulate, in seconds. The second half counts.
    seed: int, of the moments at which the workers begin.
  """
  workers = {}
  for group in plan.worker_groups:
    workers.update(dict.fromkeys(
        group.workers, _Worker(plan, group, machines)))
  begins = np.random.RandomState(seed).uniform(0., end / _STEPS, len(workers))
  # (time, worker, whether it sends gradients): a heap.
  events = sorted((begins[w], w, False) for w in workers)
  free = {False: np.zeros(plan.num_ps), True: np.zeros(plan.num_ps)}
  num_steps = collections.Counter()
  while events[0][0] < end:
    now, w, sends = events[0]
    worker, links = workers[w], free[sends]
    served = np.maximum(links[worker.ps], now) + worker.secs
    links[worker.ps] = served
    done = max(served.max(), now + worker.own_secs)
    if not sends:
      done += worker.compute_secs
    ends_step = sends or not worker.is_trainer
    if ends_step and end / 2 < done <= end:
      num_steps[worker.is_trainer] += 1
    heapq.heapreplace(events, (done, w, not ends_step))
  num_workers = collections.Counter(w.is_trainer for w in workers.values())
  return Speeds(*(num_steps[kind] / num_workers[kind] / (end / 2)
                  for kind in (True, False)))


def _table(*columns):
  table = rich.table.Table(box=None, pad_edge=False)
  for column in columns:
    table.add_column(column, justify="right")
  return table


def _speed_row(size, machines):
  """Returns the cells of a cluster's speeds."""
  plan = plan_lib.PlacementPlan(distributed.RoundRobinStrategy(), *size)
  by_workers, by_ps = on_paper(plan, machines)
  paper = Speeds(*map(min, by_workers, by_ps))
  simulated = simulate(plan, machines, _STEPS / min(paper))
  limits = {by_workers.trainer: "trainer", by_workers.ensemble: "chief",
            by_ps.trainer: "ps"}
  return [f"{n:,}" for n in size] + [
      f"{number:.2f}" for number in (
          plan.load_per_ps().max(), by_ps.trainer, paper.trainer,
          simulated.trainer, paper.ensemble,
          simulated.ensemble)] + [limits[min(limits)]]


def _control_row(size):
  """Returns the cells of what a cluster costs to hold together."""
  num_workers, num_ps, _ = size
  addresses = [f"node{i:05}.example.com:2222"
               for i in range(num_workers + num_ps)]
  config = json.dumps({
      "cluster": {"chief": addresses[:1], "worker": addresses[1:num_workers],
                  "ps": addresses[num_workers:]},
      "task": {"type": "worker", "index": 0}})
  poll_secs = chief_client.poll_secs(num_workers, num_ps)
  return [f"{num_workers:,}", f"{num_ps:,}",
          f"{len(config) / 1024:,.0f}", f"{num_workers:,}",
          f"{1000 * poll_secs:.0f}",
          f"{num_workers / num_ps / poll_secs:,.0f}",
          f"{num_workers + num_ps:,}"]


def tables(machines: Machines) -> str:
  """Returns the tables of the page."""
  speeds = _table(
      "m", "n", "k", "load", "ps allow", "trainer", "sim.", "chief",
      "sim.", "limit")
  for size in SIZES:
    speeds.add_row(*_speed_row(size, machines))
  control = _table(
      "m", "n", "TF_CONFIG, kB", "workers at a ps", "poll, ms",
      "polls at a ps, 1/s", "file reads, 1/s")
  for size in SIZES[:-1]:
    control.add_row(*_control_row(size))
  output = io.StringIO()
  console = rich.console.Console(file=output, width=80)
  console.print(speeds)
  console.print()
  console.print(control)
  return "".join(line.rstrip() + "\n" for line in
                 output.getvalue().splitlines())


def main(unused_argv):
  print(tables(Machines(
      _COMPUTE_SECS.value, 1e6 * _MEGABYTES.value, 1e9 * _GIGABITS.value / 8)),
        end="")


if __name__ == "__main__":
  app.run(main)

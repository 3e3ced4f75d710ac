# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the digits job shows: bars while it runs, tables when it is done."""

import collections
import json
import os
import re
import time

from adanet.distributed.plan import table as plan_table
import rich.console
import rich.progress
import rich.table

_ENSEMBLE = "ensemble"
_LINE_SECS = 5
_RECORD = re.compile(r"(chief|worker)-\d+\.json$")


class RecordError(ValueError):
  """The workers' records say that the job went wrong."""


class Plan(object):
  """The plan of a job, with its tasks and networks by their names.

  Attributes:
    plan: a `PlacementPlan`.
    workers: list of str, the names of the workers, in the order of the plan.
    subnetworks: list of str, the names of the subnetworks, likewise.
  """

  def __init__(self, plan, chief, subnetworks):
    """Names the tasks.

    Args:
      plan: a `PlacementPlan`.
      chief: str, the chief's job.
      subnetworks: list of str, the subnetworks' names.
    """
    self.plan = plan
    self.workers = [chief + ":0"] + [
        "worker:{}".format(i) for i in range(plan.num_workers - 1)]
    self.subnetworks = subnetworks

  def show(self):
    """Prints the plan."""
    plan_table.show(
        self.plan, rich.console.Console(), self.workers, self.subnetworks)

  def workers_table(self):
    return plan_table.workers_table(self.plan, self.workers, self.subnetworks)

  def check(self, records):
    """Raises a `RecordError` unless every worker did what was planned."""
    tasks = [record["task"] for record in records]
    if sorted(tasks) != sorted(self.workers):
      raise RecordError("expected records of {}, got those of {}.".format(
          ", ".join(self.workers), ", ".join(tasks) or "nobody"))
    for record in records:
      group = self.plan.worker(self.workers.index(record["task"]))
      subnetworks = [self.subnetworks[i] for i in group.subnetworks]
      ensemble = [_ENSEMBLE] * group.builds_ensemble
      for key, planned in (
          ("builds", subnetworks + ensemble),
          ("trains", subnetworks * group.trains_subnetworks + ensemble)):
        if record[key] != planned:
          raise RecordError("{} {} [{}], against the plan: [{}].".format(
              record["task"], key, ", ".join(record[key]), ", ".join(planned)))


class Progress(object):
  """One bar a network; where no terminal shows bars, a line now and then."""

  def __init__(self, max_steps):
    """Shows nothing until it is entered.

    Args:
      max_steps: int, the steps of each network.
    """
    self._max_steps = max_steps
    self._console = rich.console.Console(stderr=True)
    self._bars = rich.progress.Progress(
        rich.progress.TextColumn("{task.description:>18}"),
        rich.progress.BarColumn(),
        rich.progress.TextColumn("step {task.completed:.0f}/{task.total:.0f}"),
        rich.progress.TextColumn("loss {task.fields[loss]:.3f}"),
        console=self._console,
        disable=not self._console.is_terminal)
    self._bar_by_network = {}
    self._next_line = time.monotonic() + _LINE_SECS

  def __enter__(self):
    self._bars.start()
    return self

  def __exit__(self, *exception):
    self._bars.stop()

  def say(self, line):
    """Prints a line above the bars."""
    self._console.print(
        line, soft_wrap=True, highlight=False, markup=False)

  def update(self, progress):
    """Shows how far a task has seen the networks come.

    Args:
      progress: dict from network to `{"step": int, "loss": float}`.
    """
    for network, seen in progress.items():
      if network not in self._bar_by_network:
        self._bar_by_network[network] = self._bars.add_task(
            network, total=self._max_steps, loss=seen["loss"])
      bar = self._bar_by_network[network]
      # Tasks report in turn; a step that one has seen is not taken back.
      step = max(seen["step"], self._bars.tasks[bar].completed)
      self._bars.update(
          bar, completed=min(step, self._max_steps), loss=seen["loss"])
    if not self._console.is_terminal and time.monotonic() > self._next_line:
      self._next_line = time.monotonic() + _LINE_SECS
      self.say(", ".join(
          "{} {:.0f}/{:.0f}".format(t.description, t.completed, t.total)
          for t in self._bars.tasks))


def _record_paths(model_dir):
  folder = os.path.join(model_dir, "records")
  names = os.listdir(folder) if os.path.isdir(folder) else []
  return [os.path.join(folder, n) for n in names if _RECORD.match(n)]


def remove_records(model_dir):
  """Removes the records of an earlier job, and nothing else."""
  for path in _record_paths(model_dir):
    os.remove(path)


def _read_records(model_dir):
  """Returns what the workers wrote of themselves, the chief's first."""
  records = []
  for path in _record_paths(model_dir):
    with open(path, encoding="utf-8") as f:
      records.append(json.load(f))
  return sorted(records, key=lambda r: (len(r["task"]), r["task"]))


def _ps_table(records):
  """A ps a row, by what the workers' records agree on."""
  variables = {}
  for record in records:
    for name, variable in record["variables"].items():
      if variables.setdefault(name, variable) != variable:
        raise RecordError("{}: the workers disagree on where it lives: {} and {}"
                          .format(name, variables[name], variable))
  by_device = collections.defaultdict(list)
  for variable in variables.values():
    by_device[variable["device"]].append(variable["bytes"])
  table = rich.table.Table(
      "ps", rich.table.Column("variables", justify="right"),
      rich.table.Column("bytes", justify="right"))
  for device, sizes in sorted(by_device.items()):
    table.add_row(device, str(len(sizes)), "{:,}".format(sum(sizes)))
  return table


def _accuracy_table(accuracy):
  table = rich.table.Table(
      "network", rich.table.Column("held-out accuracy", justify="right"))
  for network, share in accuracy.items():
    table.add_row(network, "{:.1%}".format(share))
  return table


def show(plan, model_dir, wall_secs):
  """Prints the tables of a job that is done.

  Args:
    plan: `Plan` of the job.
    model_dir: str, the folder with the workers' records.
    wall_secs: float, how long the job took.

  Raises:
    RecordError: a worker did something else than planned, or two workers placed
      a variable differently.
  """
  console = rich.console.Console()
  records = _read_records(model_dir)
  plan.check(records)
  for table in (plan.workers_table(), _ps_table(records),
                _accuracy_table(records[0]["accuracy"])):
    console.print(table)
  console.print("wall time {:.1f} s".format(wall_secs))

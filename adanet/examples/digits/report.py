# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Shows the digits job: its plan, its progress, and tables of its results."""

import collections
import time

from adanet.distributed.plan import table as plan_table
import rich.console
import rich.progress
import rich.table

_ENSEMBLE = "ensemble"
_SECS_BETWEEN_LINES = 5


class RecordError(ValueError):
  """The record of a worker differs from the plan, or from another record."""


Job = collections.namedtuple("Job", "plan workers subnetworks")
"""The plan of a job, with names.

Attributes:
  plan: a `PlacementPlan`.
  workers: list of str, the names of the workers, in the order of the plan.
  subnetworks: list of str, the names of the subnetworks, in that order too.
"""


def show_plan(job):
  """Prints the plan of a `Job`."""
  plan_table.show(
      job.plan, rich.console.Console(), job.workers, job.subnetworks)


class Progress(rich.progress.Progress):
  """Shows the progress of a job, on standard error, as a context manager.

  On a terminal, each network has a progress bar. Elsewhere, a line is printed
  every few seconds.
  """

  def __init__(self, max_steps):
    """Shows nothing yet. `max_steps` is the number of steps of each network."""
    console = rich.console.Console(stderr=True)
    super().__init__(
        rich.progress.TextColumn("{task.description:>18}"),
        rich.progress.BarColumn(),
        rich.progress.TextColumn("step {task.completed:.0f}/{task.total:.0f}"),
        rich.progress.TextColumn("loss {task.fields[loss]:.3f}"),
        console=console,
        disable=not console.is_terminal)
    self._max_steps = max_steps
    self._bar_by_network = {}
    self._next_line_time = time.monotonic() + _SECS_BETWEEN_LINES

  def show_line(self, line):
    """Prints a line, above the bars if there are any."""
    self.console.print(
        line, soft_wrap=not self.console.is_terminal, highlight=False,
        markup=False)

  def show_networks(self, states):
    """Shows what a task has reported.

    Args:
      states: dict from network to `{"step": int, "loss": float}`.
    """
    for network, state in states.items():
      if network not in self._bar_by_network:
        self._bar_by_network[network] = self.add_task(
            network, total=self._max_steps, loss=state["loss"])
      bar = self._bar_by_network[network]
      # A task may report an older step than another task did.
      step = max(state["step"], self.tasks[bar].completed)
      self.update(bar, completed=min(step, self._max_steps), loss=state["loss"])
    if not self.console.is_terminal and time.monotonic() > self._next_line_time:
      self._next_line_time = time.monotonic() + _SECS_BETWEEN_LINES
      self.show_line("Steps: " + ", ".join(
          "{} {:.0f}/{:.0f}".format(t.description, t.completed, t.total)
          for t in self.tasks))


def _check(job, records):
  """Raises a `RecordError` unless every worker did what was planned."""
  tasks = sorted(record["task"] for record in records)
  if tasks != sorted(job.workers):
    raise RecordError("expected records of {}, got records of {}.".format(
        ", ".join(job.workers), ", ".join(tasks) or "no task"))
  for record in records:
    share = job.plan.worker(job.workers.index(record["task"]))
    subnetworks = [job.subnetworks[i] for i in share.subnetworks]
    ensemble = [_ENSEMBLE] * share.builds_ensemble
    for key, planned in (
        ("builds", subnetworks + ensemble),
        ("trains", subnetworks * share.trains_subnetworks + ensemble)):
      if record[key] != planned:
        raise RecordError("{} {} [{}], but its plan is [{}].".format(
            record["task"], key, ", ".join(record[key]), ", ".join(planned)))


def _ps_table(records):
  """Returns the variables of each ps; all records must agree on them."""
  variables = {}
  for record in records:
    for name, variable in record["variables"].items():
      if variables.setdefault(name, variable) != variable:
        raise RecordError("the workers disagree on {}: {} and {}.".format(
            name, variables[name], variable))
  sizes_by_device = collections.defaultdict(list)
  for variable in variables.values():
    sizes_by_device[variable["device"]].append(variable["bytes"])
  table = rich.table.Table("ps", _right("variables"), _right("bytes"))
  for device, sizes in sorted(sizes_by_device.items()):
    table.add_row(device, str(len(sizes)), "{:,}".format(sum(sizes)))
  return table


def _accuracy_table(accuracy):
  table = rich.table.Table("network", _right("held-out accuracy"))
  for network, share in accuracy.items():
    table.add_row(network, "{:.1%}".format(share))
  return table


def _right(name):
  return rich.table.Column(name, justify="right")


def show(job, records, wall_secs):
  """Prints the tables of a job that has ended.

  Args:
    job: the `Job`.
    records: list of the records of all workers, each a dict::

        {"task": "worker:0",
         "builds": ["linear"],  # What it built and trained, by name.
         "trains": ["linear"],
         "variables": {"linear/step": {"device": "/job:ps/task:0", "bytes": 8}},
         "accuracy": None}  # On the chief, a dict from network to accuracy.

    wall_secs: float, how long the job took, in seconds.

  Raises:
    RecordError: the records differ from the plan, or from each other.
  """
  _check(job, records)
  console = rich.console.Console()
  console.print(
      plan_table.workers_table(job.plan, job.workers, job.subnetworks))
  console.print(_ps_table(records))
  chief, = (r for r in records if r["task"] == job.workers[0])
  console.print(_accuracy_table(chief["accuracy"]))
  console.print("wall time {:.1f} s".format(wall_secs))

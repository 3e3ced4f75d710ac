# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""How near `EarlyStopping` comes to the number of steps that is right.

`value` measures it. A search with selection trains each network for one of some
numbers of steps, or until data that are held out say that it is done. So does a
loop of `Model.fit`, by the rule of Keras and with the same selection by hand.
"""

import statistics
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Tuple

import adanet
from benchmarks import program
from benchmarks import timing
from benchmarks import value_data
from benchmarks import value_task

COLUMN = "stopping_task"
STOPPED = "EarlyStopping"
LOOP = "Model.fit in a loop, EarlyStopping of Keras"

# At most this of what is compared with.
_LIMIT_OF_LOSS, _LIMIT_OF_CPU = 1.03, .5
# Elsewhere there are too few examples for a step to take time.
_TASKS_OF_CPU = ("teacher", "digits", "friedman1")


class StoppingSize(NamedTuple):
  """How large a run is.

  Attributes:
    tasks: tuple of str.
    num_models: int.
    num_steps: tuple of int, the numbers of steps that are tried.
    most_steps: int, of a network that `rule` ends.
    rule: what ends a network.
  """
  tasks: Tuple[str, ...]
  num_models: int
  num_steps: Tuple[int, ...]
  most_steps: int
  rule: adanet.EarlyStopping


FULL = StoppingSize(
    tuple(value_data.TASKS), value_task.MAX_MODELS, (240, 720, 1200, 2400),
    20000, adanet.EarlyStopping(100, 5))


class _Searched(NamedTuple):
  """What has a row for each task.

  Attributes:
    what: str, the name of the row.
    way: str, a key of `value_task.WAYS`.
    choice: str, which of its choices.
    num_steps: int, of each network; the most, if a rule ends it.
    rule: what ends a network, or None.
  """
  what: str
  way: str
  choice: str
  num_steps: int
  rule: Optional[adanet.EarlyStopping] = None

  def job(self, size, task, seed):
    return value_task.Job(
        self.way, task, seed, self.num_steps, size.num_models, self.rule)


def _all_searched(size):
  return [
      _Searched(f"{num_steps:,} steps", value_task.SELECTION_1, "", num_steps)
      for num_steps in size.num_steps
  ] + [_Searched(STOPPED, value_task.SELECTION_1, "", size.most_steps,
                 size.rule),
       _Searched(LOOP, value_task.LOOP, value_task.BY_HAND, size.most_steps,
                 size.rule)]


def jobs(size: StoppingSize, num_seeds: int) -> List[value_task.Job]:
  """Returns the searches of a run: all of a task and seed, then the next."""
  return [searched.job(size, task, seed) for seed in range(num_seeds)
          for task in size.tasks for searched in _all_searched(size)]


def rows(size: StoppingSize, num_seeds: int,
         results: Dict[value_task.Job, Dict[str, Any]]) -> List[Dict[str, Any]]:
  """Returns the rows of a run.

  Args:
    size: see `jobs`.
    num_seeds: see `jobs`.
    results: dict from each job to what `value_task.run` returned.

  Raises:
    CheckError: a network was trained for a number of steps that is wrong.
  """
  found = []
  for task in size.tasks:
    for searched in _all_searched(size):
      of_seeds = []
      for seed in range(num_seeds):
        job = searched.job(size, task, seed)
        _check_steps(job, results[job]["steps"])
        of_seeds.append(results[job])
      found.append(_row(task, searched, of_seeds))
  return found


def _check_steps(job, steps):
  """Checks for how many steps the networks of a job were trained."""
  rule = job.early_stopping

  def is_right(count):
    if rule is None or count == job.num_steps:
      return count == job.num_steps
    # The first check is a gain, so that `patience` more are the fewest.
    return count < job.num_steps and count % rule.every_steps == 0 and (
        count >= (rule.patience + 1) * rule.every_steps)

  program.check(
      len(steps) == job.num_models and all(map(is_right, steps.values())),
      f"{job} trained its networks for {steps} steps")


def _row(task, searched, results):
  losses = [result["losses"][searched.choice] for result in results]
  all_steps = [sum(result["steps"].values()) for result in results]
  row = {
      "kind": "stopping", COLUMN: task, "what": searched.what,
      "is_hindsight": searched.rule is None,
      "num_steps": searched.num_steps, "losses": losses,
      "loss": statistics.mean(losses), "error": timing.standard_error(losses),
      "scores": [result["scores"][searched.choice] for result in results],
      "all_cpu_secs": [result["cpu_secs"] for result in results],
      "all_steps": all_steps, "steps": statistics.mean(all_steps),
      "steps_of_networks": [result["steps"] for result in results],
      "limits": {}}
  for key in ("cpu_secs", "wall_secs"):
    row[key] = statistics.mean(result[key] for result in results)
  row["figure"] = ("loss {loss:.4f} ± {error:.4f}; {cpu_secs:.1f} CPU s; "
                   "{steps:,.0f} steps").format(**row)
  return row


def _bars_of_task(task, found):
  """Returns the bars of a task, whose rows are `found` by their names."""
  stopped, loop = found[STOPPED], found[LOOP]
  best = min((row for row in found.values() if row["is_hindsight"]),
             key=lambda row: row["loss"])
  # The same seed is the same data and the same parts of it.
  differences = [a - b for a, b in zip(stopped["losses"], loop["losses"])]
  bars_of_task = [
      program.Bar(
          f"{task}: loss with {STOPPED}, in that of {best['what']}, the best "
          "number in hindsight", stopped["loss"] / best["loss"],
          _LIMIT_OF_LOSS),
      program.Bar(f"{task}: loss with {STOPPED}, over that of {LOOP}",
                  stopped["loss"] - loop["loss"],
                  timing.standard_error(differences))]
  if task in _TASKS_OF_CPU:
    pairs = list(zip(stopped["all_cpu_secs"], loop["all_cpu_secs"]))
    bars_of_task.append(program.Bar(
        f"{task}: CPU time with {STOPPED}, in that of {LOOP}",
        timing.summary(pairs).ratio, _LIMIT_OF_CPU))
  return bars_of_task


def bars(all_rows: Iterable[Dict[str, Any]]) -> List[program.Bar]:
  """Returns the bars of those rows that are of this module."""
  return [bar for task, found in value_task.by_task(all_rows, COLUMN).items()
          for bar in _bars_of_task(task, found)]


# From the palette of Okabe and Ito.
_MARKS = {STOPPED: {"color": "#D55E00", "marker": "*", "markersize": 15},
          LOOP: {"color": "#009E73", "marker": "D", "markersize": 7}}


def _draw_task(axes, task, found):
  """Draws the loss of each search on a task against its CPU time."""
  from matplotlib import ticker  # pylint: disable=g-import-not-at-top
  tried = [row for row in found.values() if row["is_hindsight"]]
  axes.errorbar(
      [row["cpu_secs"] for row in tried], [row["loss"] for row in tried],
      [row["error"] for row in tried], color="#0072B2", marker="o",
      elinewidth=1, label="a number of steps, beside its mark")
  for row in tried:
    axes.annotate(f"{row['num_steps']:,}", (row["cpu_secs"], row["loss"]),
                  xytext=(4, 5), textcoords="offset points", fontsize="small")
  for what, style in _MARKS.items():
    row = found[what]
    axes.errorbar(row["cpu_secs"], row["loss"], row["error"], label=what,
                  linestyle="none", elinewidth=1, **style)
  axes.set_title(task, fontsize="medium")
  axes.set_xscale("log")
  axes.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
  axes.xaxis.set_major_formatter("{x:g}")
  axes.xaxis.set_minor_formatter("")
  axes.set_xlabel("CPU seconds")
  axes.set_ylabel(f"{value_data.loss_name(task)} in the test")
  axes.grid(alpha=.3)


def draw(picture: Any, all_rows: Iterable[Dict[str, Any]]) -> None:
  """Draws the rows of this module, a panel for each task.

  Args:
    picture: a Matplotlib `Figure`, or a part of one.
    all_rows: also of others.
  """
  by_task = value_task.by_task(all_rows, COLUMN)
  panels = picture.subplots(1, len(by_task), squeeze=False)[0]
  for axes, (task, found) in zip(panels, by_task.items()):
    _draw_task(axes, task, found)
  picture.legend(*panels[0].get_legend_handles_labels(),
                 loc="outside lower center", ncols=3, frameon=False)

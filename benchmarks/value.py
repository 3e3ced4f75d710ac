# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What does a search find for its time?

This project's search as AdaNet does it, and with selection; KerasTuner's; and a
loop of `Model.fit` with the same selection by hand. See `value_task` for the
data and the models. Each search is in a process of its own, on one processor;
that on a pool has one processor for each worker.

What `EnsembleSearch` gives a Keras user, and what one iteration with selection
costs beside its steps, is measured too.
"""

import collections
import os
import statistics
import sys
from typing import NamedTuple, Tuple

import adanet
from adanet.testing import processes
from benchmarks import program
from benchmarks import search
from benchmarks import steps
from benchmarks import timing
from benchmarks import value_data
from benchmarks import value_fit
from benchmarks import value_keras
from benchmarks import value_live
from benchmarks import value_phases
from benchmarks import value_task

CASES = ("what",)
_COLUMN = "task"
COLUMNS = (_COLUMN, value_keras.COLUMN)
CELL = "{figure}"
SIDES = (("", "ours"),)
TIMEOUT_SECS = 6 * 3600.

_NUM_CORES = 2
_POLL_SECS = .05
_SHORT_TURNS = 2  # Of a run that shows that the benchmark measures.
_TURNS_OF_STEPS = 4  # For each turn that is asked for: they are short.
_TURNS_OF_ITERATIONS = 3
_MORE_STEPS = 3  # How many times the steps of the shorter one, of two searches.

_LIMITS = {"iteration": 2., "step": 1.02, "fit": 1., "memory": 1.2}


class Size(NamedTuple):
  """How large a run is.

  Attributes:
    tasks: tuple of str.
    num_models: int.
    num_steps: int, of each network.
    keras: how large is what `value_keras` measures.
    live: the same of `value_live`.
  """
  tasks: Tuple[str, ...]
  num_models: int
  num_steps: int
  keras: value_keras.KerasSize = value_keras.FULL
  live: value_live.LiveSize = value_live.FULL


_FULL = Size(("teacher", "digits", "friedman1"), value_task.MAX_MODELS, 720)
_SHORT = Size(("digits",), 3, 3, value_keras.KerasSize(("digits",), 3, 2, 2),
              value_live.LiveSize(2, (1,), 3))


# Searches in processes.


def run_all(jobs, places, answer=value_task.answer):
  """Returns dict from `Job` to what its process has sent.

  Args:
    jobs: iterable of `Job`, or of what else `answer` takes.
    places: list of tuples with the processors that a process gets.
    answer: what a process runs; see `value_task.answer`.
  """
  waiting = collections.deque(jobs)
  running = {}
  results = {}
  try:
    while waiting or running:
      for place in places:
        if waiting and place not in running:
          job = waiting.popleft()
          running[place] = job, processes.Process(answer, job, place)
      for place, (job, process) in list(running.items()):
        if process.has_replied(_POLL_SECS):
          results[job] = _result(job, process)
          del running[place]
  finally:
    for _, process in running.values():
      process.kill()
  return results


def _result(job, process):
  try:
    result = process.receive()
  except EOFError as e:
    raise program.CheckError(f"{job} failed: see its traceback") from e
  process.wait_until_ended()
  return result


def row_of_search(way, choice, task, results):
  """Returns the row of what a way to search found.

  Args:
    way: str, its name.
    choice: str, what was chosen of what it trained; "" if there is one way.
    task: str.
    results: list of what `value_task.run` returned, for each seed.
  """
  scores = [result["scores"][choice] for result in results]
  row = {
      "kind": "search", "task": task, "score": statistics.mean(scores),
      "what": ", ".join(filter(None, (way, choice))), "scores": scores,
      "error": timing.standard_error(scores), "limits": {}}
  for key in ("cpu_secs", "wall_secs", "networks"):
    row[key] = statistics.mean(result[key] for result in results)
  row["all_cpu_secs"] = [result["cpu_secs"] for result in results]
  row["figure"] = (
      "{score:.4f} ± {error:.4f}; {cpu_secs:.1f} CPU s, {wall_secs:.1f} s; "
      "{networks:g} networks").format(**row)
  return row


def _measure_searches(size, num_turns, cores):
  ways = value_task.WAYS
  jobs = [value_task.Job(way, task, seed, size.num_steps, size.num_models)
          for seed in range(num_turns) for task in size.tasks for way in ways]
  results = run_all([job for job in jobs if not ways[job.way].on_pool],
                    [(core,) for core in cores])
  # A search on all processors has them for itself.
  results.update(run_all(
      [job for job in jobs if ways[job.way].on_pool], [cores]))
  of_keras = run_all(value_keras.jobs(size.keras, num_turns),
                     [(core,) for core in cores], value_keras.answer)
  return [
      row_of_search(name, choice, task, [
          results[job] for job in jobs if (job.way, job.task) == (name, task)])
      for task in size.tasks for name, way in ways.items()
      for choice in way.choices
  ] + value_keras.rows(size.keras, num_turns, of_keras)


# What selection costs.


def row_of_cost(kind, what, value, figure):
  """Returns the row of a cost, which has a limit."""
  return {"kind": kind, "what": what, "value": value, "figure": figure,
          "limits": {"value": _LIMITS[kind]}}


def row_of_iteration(size, turns):
  """Returns the row of what an iteration costs beside its steady steps.

  Args:
    size: `Size`.
    turns: list of pairs of CPU seconds: of a search with `_MORE_STEPS` times as
      many steps, and of one with its steps. The line through both says what
      they cost without steps.
  """
  fixed = [short - (long - short) / (_MORE_STEPS - 1) for long, short in turns]
  secs = statistics.median(fixed)
  all_secs = statistics.median(short for _, short in turns)
  return row_of_cost(
      "iteration", f"iteration of {size.num_models} models, "
      f"{size.num_steps} steps: CPU s beside its steady steps", secs,
      f"{secs:.2f} of {all_secs:.2f} CPU s")


def _measure_iteration(size, num_turns, cores):
  turns = []
  for seed in range(min(num_turns, _TURNS_OF_ITERATIONS)):
    jobs = [value_task.Job(
        value_task.SELECTION_1, size.tasks[0], seed, num_steps, size.num_models)
            for num_steps in (_MORE_STEPS * size.num_steps, size.num_steps)]
    results = run_all(jobs, [cores])
    turns.append(tuple(results[job]["cpu_secs"] for job in jobs))
  return row_of_iteration(size, turns)


def _measure_phases(size, num_turns, core):
  turns = []
  for seed in range(min(num_turns, _TURNS_OF_ITERATIONS)):
    job = value_task.Job(value_task.SELECTION_1, size.tasks[0], seed,
                         size.num_steps, size.num_models)
    for is_keras in (False, True):
      process = processes.Process(value_phases.answer, job, core, is_keras)
      turns.append(_result(job, process))
  return value_phases.rows(job, turns)


def _measure_step(num_turns):
  """Returns the row of a step that trains networks only."""
  result = timing.summary(steps.measure(
      _TURNS_OF_STEPS * num_turns, num_candidates=value_task.MAX_MODELS,
      ensemblers=[adanet.ensemble.GreedyEnsembler()],
      evaluator=adanet.Evaluator(search.input_fn, steps=1)))
  return row_of_cost(
      "step", f"step of {value_task.MAX_MODELS} networks, in bare steps of "
      "these", result.ratio,
      f"{result.ratio:.3f}; {1 / result.secs:,.0f} steps/s")


def rows_of_fit(turns):
  """Returns the rows of what fitting takes.

  Args:
    turns: list of `value_fit.Fit`.
  """
  what = "fitting 20 networks, 10,000 examples, 10 classes: "
  secs = statistics.median(turn.secs for turn in turns)
  ratio = statistics.median(
      turn.num_bytes / turn.logits_bytes for turn in turns)
  return [
      row_of_cost("fit", what + "CPU s", secs, f"{secs:.2f} CPU s"),
      row_of_cost("memory", what + "memory, in that of all logits", ratio,
                  f"{ratio:.2f} of {turns[0].logits_bytes / 1e6:.1f} MB")]


def _measure_fit(num_turns):
  turns = []
  for _ in range(num_turns):
    process = processes.Process(value_fit.answer)
    turns.append(_result("fitting", process))
  return rows_of_fit(turns)


def _measure_live(size, num_turns):
  turns = range(min(num_turns, _TURNS_OF_ITERATIONS))
  rows = []
  for epochs in size.epochs:
    rows += value_live.rows_of_nine(size, epochs, [
        {side: _result(side, processes.Process(
            value_live.answer_of_nine, side, size, epochs))
         for side in value_live.SIDES} for _ in turns])
  return rows + value_live.rows_of_many(size, [
      _result("many networks", processes.Process(
          value_live.answer_of_many, size)) for _ in turns])


# What the program needs.


def measure(unused_placement, num_turns):
  """Measures one side; see `program`."""
  size = _SHORT if num_turns <= _SHORT_TURNS else _FULL
  cores = tuple(sorted(os.sched_getaffinity(0))[:_NUM_CORES])
  # The steps are the last: TensorFlow's threads do not survive a fork.
  costs = [_measure_iteration(size, num_turns, cores)]
  costs += _measure_phases(size, num_turns, cores[0])
  costs += _measure_fit(num_turns)
  costs += _measure_live(size.live, num_turns)
  rows = _measure_searches(size, num_turns, cores)
  return rows + costs + [_measure_step(num_turns)]


def _bars_of_task(task, rows):
  """Returns list of `program.Bar` of a task.

  Args:
    task: str.
    rows: dict from the name of a search to its row.
  """
  names = value_task
  selection_1, selection_2 = rows[names.SELECTION_1], rows[names.SELECTION_2]
  hand = rows[f"{names.LOOP}, {names.BY_HAND}"]
  tuner = rows[f"{names.HYPERBAND}, {names.THE_BEST}"]
  grown = rows[names.ADANET_3]

  def behind(row, other, limit):
    return program.Bar(
        f"{task}: score of {other['what']}, over that of {row['what']}",
        other["score"] - row["score"], limit)

  def in_cpu_of(row, other, limit):
    ratio = timing.summary(
        list(zip(row["all_cpu_secs"], other["all_cpu_secs"]))).ratio
    return program.Bar(
        f"{task}: CPU time of {row['what']}, in that of {other['what']}", ratio,
        limit)

  # The same seed is the same data and the same parts of it.
  differences = [a - b for a, b in zip(hand["scores"], selection_1["scores"])]
  return [
      behind(selection_1, hand, timing.standard_error(differences)),
      in_cpu_of(selection_1, hand, .5),
      behind(selection_1, tuner, 0.), in_cpu_of(selection_1, tuner, 1.),
      behind(selection_2, grown, 0.), in_cpu_of(selection_2, grown, 1.)]


def bars(rows):
  """Returns list of `program.Bar`."""
  return [
      bar for task, rows_of_task in value_task.by_task(rows, _COLUMN).items()
      for bar in _bars_of_task(task, rows_of_task)
  ] + value_keras.bars(rows) + [
      program.Bar(row["what"], row["value"], row["limits"]["value"])
      for row in rows if row["limits"]]


# From the palette of Okabe and Ito. A name begins with one of these.
_COLORS = {"AdaNet": "#D55E00", "selection": "#0072B2", "Model.fit": "#009E73",
           "KerasTuner R": "#E69F00", "KerasTuner H": "#CC79A7"}
_MARKERS = "os^"


def styles(names):
  """Returns dict from the name of a search to how its mark is drawn.

  Marks that may be at one place are one full and one hollow.
  """
  result = {}
  for start, color in _COLORS.items():
    family = [name for name in names if name.startswith(start)]
    for name, marker in zip(family, _MARKERS):
      is_hollow = name == value_task.ON_POOL or name.endswith(
          (value_task.BEST_THREE, value_task.BY_HAND))
      result[name] = {
          "color": color, "marker": marker,
          "markersize": 11 if is_hollow else 7,
          "markerfacecolor": "none" if is_hollow else color}
  return result


def _draw_searches(picture, rows):
  """Draws score against CPU time, by task."""
  tasks = list(dict.fromkeys(row[_COLUMN] for row in rows))
  chosen = styles(list(dict.fromkeys(row["what"] for row in rows)))
  panels = picture.subplots(1, len(tasks), squeeze=False)[0]
  for axes, task in zip(panels, tasks):
    for row in rows:
      if row[_COLUMN] == task:
        axes.errorbar(row["cpu_secs"], row["score"], row["error"],
                      label=row["what"], linestyle="none", elinewidth=1,
                      **chosen[row["what"]])
    axes.set_title(task, fontsize="medium")
    axes.set_xlim(left=0)
    axes.set_xlabel("CPU seconds")
    axes.set_ylabel(f"{value_data.score_name(task)} in the test, with its "
                    "standard error")
    axes.grid(alpha=.3)
  picture.legend(*panels[0].get_legend_handles_labels(),
                 loc="outside lower center", ncols=3, frameon=False)


def draw(report):
  """Returns a Matplotlib `Figure`: scores, and losses of Keras users."""
  from matplotlib import figure  # pylint: disable=g-import-not-at-top
  rows = [row for side in report["sides"].values() for row in side["rows"]]
  picture = figure.Figure(figsize=(16, 10), layout="constrained")
  picture.suptitle(report["question"])
  above, below = picture.subfigures(2, 1, height_ratios=(6, 4))
  _draw_searches(above, [row for row in rows if _COLUMN in row])
  below.suptitle("What does a Keras user get?", fontsize="medium")
  value_keras.draw(below, rows)
  return picture


if __name__ == "__main__":
  program.run(sys.modules[__name__])

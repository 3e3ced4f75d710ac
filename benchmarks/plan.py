# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""How do a plan's time and memory grow with the cluster?

A plan, all its figures, predictions and problems, from four workers to a
million. Beside it what there is without a planner: asking a strategy as every
worker of every subnetwork, which for the largest clusters would take hours.
"""

import math
import multiprocessing
import resource
import statistics
import time

from benchmarks import program

_SECS_BAR = 1.
_MEGABYTES_BAR = 200.
_GROWTH_BAR = 1.2

# (workers, parameter servers, subnetworks): m, n and k.
_SIZES = ((4, 2, 3), (100, 7, 7), (1000, 30, 30), (10000, 300, 300),
          (100000, 1000, 1000), (300000, 3000, 3000), (1000000, 10000, 10000))
_MAX_QUESTIONS = 3 * 10**6


def _ask_everyone(placement, num_workers, num_subnetworks):
  """Returns what each worker answers: ensemble, subnetworks, training."""
  strategy = placement.RoundRobinStrategy()
  answers = []
  for w in range(num_workers):
    strategy.config = program.Config(num_workers, w, 0)
    answers.append((
        strategy.should_build_ensemble(num_subnetworks),
        [i for i in range(num_subnetworks)
         if strategy.should_build_subnetwork(num_subnetworks, i)],
        strategy.should_train_subnetworks(num_subnetworks)))
  return answers


def _plan_everything(placement, plan_lib, size):
  """Returns a plan that has been asked for all that it can tell."""
  plan = plan_lib.PlacementPlan(placement.RoundRobinStrategy(), *size)
  for predict in (plan.subnetworks_per_worker, plan.trained_per_worker,
                  plan.trainers_per_subnetwork, plan.effective_speeds,
                  plan.stale_gradients, plan.max_staleness,
                  plan.fetches_per_ps, plan.load_per_ps, plan.training_time,
                  plan.figures, plan.problems):
    predict()
  return plan


def _check_plan(plan, answers):
  """Raises unless a plan says what the strategy decides."""
  workers = [plan.worker(w) for w in range(plan.num_workers)]
  program.check(
      [(w.builds_ensemble, list(w.subnetworks), w.trains_subnetworks)
       for w in workers] == answers,
      "{} is not what the strategy decides".format(plan))
  num_builders = sum(len(subnetworks) for _, subnetworks, _ in answers)
  num_trainers = sum(
      len(subnetworks) for _, subnetworks, trains in answers if trains)
  program.check(
      plan.trainers_per_subnetwork().sum() == num_trainers
      and abs(plan.load_per_ps().sum() - num_builders) < 1e-6 * num_builders,
      "{} does not add up".format(plan))


def _in_its_own_process(work, *arguments):
  """Returns `(secs, megabytes)` that a function takes, and the process has."""
  context = multiprocessing.get_context("fork")
  receiver, sender = context.Pipe(duplex=False)

  def run():
    started = time.perf_counter()
    work(*arguments)
    secs = time.perf_counter() - started
    usage = resource.getrusage(resource.RUSAGE_SELF)
    sender.send((secs, usage.ru_maxrss / 1024))

  process = context.Process(target=run)
  process.start()
  sender.close()
  try:
    return receiver.recv()
  except EOFError:
    raise program.CheckError(
        "the process of {} has died".format(arguments)) from None
  finally:
    process.join()


def measure(placement, num_turns):
  """Measures one side: ours plans, and the other one asks.

  Args:
    placement: the module `adanet.distributed.placement`, ours or another.
    num_turns: int.

  Returns:
    List of dict.
  """
  try:
    from adanet.distributed import plan as plan_lib  # pylint: disable=g-import-not-at-top
  except ImportError:
    plan_lib = None
  if plan_lib:
    for size in _SIZES[:3]:
      _check_plan(
          _plan_everything(placement, plan_lib, size),
          _ask_everyone(placement, size[0], size[2]))
  rows = []
  for size in _SIZES:
    num_workers, num_ps, num_subnetworks = size
    if plan_lib:
      work = (_plan_everything, placement, plan_lib, size)
    elif num_workers * num_subnetworks <= _MAX_QUESTIONS:
      work = (_ask_everyone, placement, num_workers, num_subnetworks)
    else:
      continue
    secs, megabytes = zip(*(
        _in_its_own_process(*work) for _ in range(max(3, num_turns // 3))))
    rows.append({
        "workers": num_workers,
        "ps": num_ps,
        "subnetworks": num_subnetworks,
        "size": sum(size),
        "seconds": statistics.median(secs),
        "megabytes": max(megabytes),
    })
  return rows


def _growth(rows):
  """Returns the exponent of the growth of time, over the largest sizes."""
  first, last = rows[-3], rows[-1]
  return (math.log(last["seconds"] / first["seconds"])
          / math.log(last["size"] / first["size"]))


def bars(rows):
  """Returns list of `program.Bar`, of one side of ours."""
  return [
      program.Bar("largest cluster, in seconds", rows[-1]["seconds"],
                  _SECS_BAR),
      program.Bar("largest cluster, in MB of the process",
                  rows[-1]["megabytes"], _MEGABYTES_BAR),
      program.Bar("growth of time, as power of m + n + k", _growth(rows),
                  _GROWTH_BAR),
  ]


def draw(figure, sides):
  """Draws time and memory of all sides.

  Args:
    figure: Matplotlib's `Figure`.
    sides: dict from the name of a side to its rows.
  """
  all_axes = figure.subplots(1, 2)
  for axes, key, label, bar in (
      (all_axes[0], "seconds", "time [s]", _SECS_BAR),
      (all_axes[1], "megabytes", "memory of the process [MB]",
       _MEGABYTES_BAR)):
    for number, (side, rows) in enumerate(sides.items()):
      axes.plot([row["size"] for row in rows], [row[key] for row in rows],
                marker=program.MARKERS[number], color=program.COLOURS[number],
                label=side)
    axes.axhline(bar, color="black", linestyle="--", label="bar")
    axes.set_xscale("log")
    axes.set_xlabel("workers + parameter servers + subnetworks")
    axes.set_ylabel(label)
  all_axes[0].set_yscale("log")
  all_axes[1].set_ylim(bottom=0)
  all_axes[0].legend(loc="lower right")


BENCHMARK = program.Benchmark(
    name="plan",
    question=__doc__.partition("\n")[0],
    measure=measure,
    cases=("workers", "ps", "subnetworks"),
    cell=lambda row: "{seconds:.4f} s, {megabytes:.0f} MB".format(**row),
    bars=bars,
    draw=draw,
    figure_inches=(10, 4.5))

if __name__ == "__main__":
  program.run(BENCHMARK)

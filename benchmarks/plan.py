# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""How do a plan's time and memory grow with the cluster?

A plan with all its figures, predictions and problems, from four workers to a
million. AdaNet has no plans, so its side asks a strategy as every worker about
every subnetwork; for the largest clusters that would take hours.
"""

import math
import multiprocessing
import resource
import statistics
import sys
import time

from benchmarks import program

CASES = ("workers", "ps", "subnetworks")
CELL = "{seconds:.4f} s, {megabytes:.0f} MB"
FIGURES = ("seconds", "megabytes")

_SECS_BAR = 1.
_MEGABYTES_BAR = 200.
_GROWTH_BAR = 1.2

# (workers, parameter servers, subnetworks): m, n and k.
_SIZES = ((4, 2, 3), (1000, 30, 30), (10000, 300, 300), (100000, 1000, 1000),
          (1000000, 10000, 10000))
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
  """Returns a plan, after a call of each of its predictions."""
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
  """Returns `(secs, megabytes)`: a function's time, its process's memory."""
  context = multiprocessing.get_context("fork")
  receiver, sender = context.Pipe(duplex=False)

  def run():
    started = time.process_time()
    work(*arguments)
    secs = time.process_time() - started
    usage = resource.getrusage(resource.RUSAGE_SELF)
    sender.send((secs, usage.ru_maxrss / 1024))

  process = context.Process(target=run)
  process.start()
  sender.close()
  try:
    return receiver.recv()
  except EOFError:
    raise program.CheckError("the process of {} died".format(arguments))
  finally:
    process.join()


def measure(placement, num_turns):
  """Measures one side; see `program`. Ours plans, and AdaNet asks."""
  try:
    from adanet.distributed import plan as plan_lib  # pylint: disable=g-import-not-at-top
  except ImportError:
    plan_lib = None
  if plan_lib:
    for size in _SIZES[:2]:
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
        "limits": {"seconds": _SECS_BAR, "megabytes": _MEGABYTES_BAR},
    })
  return rows


def bars(rows):
  """Returns list of `program.Bar`."""
  large, largest = rows[-2:]
  return [
      program.Bar("largest cluster, in seconds", largest["seconds"], _SECS_BAR),
      program.Bar("largest cluster, in MB of the process",
                  largest["megabytes"], _MEGABYTES_BAR),
      program.Bar("growth of time, as power of m + n + k",
                  math.log(largest["seconds"] / large["seconds"])
                  / math.log(largest["size"] / large["size"]), _GROWTH_BAR),
  ]


if __name__ == "__main__":
  program.run(sys.modules[__name__])

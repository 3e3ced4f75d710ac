# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""How do a plan's time and memory grow with the cluster?

A plan with all its figures, predictions and problems, from four workers to ten
thousand, of the round robin and of the balanced strategy with costs from 1 to
the number of subnetworks. AdaNet has no plans, so its side asks a strategy as
every worker about every subnetwork.
"""

import itertools
import math
import multiprocessing
import resource
import statistics
import sys
import time

from benchmarks import program

CASES = ("strategy", "workers", "ps", "subnetworks")
CELL = "{seconds:.4f} s, {megabytes:.0f} MB"
FIGURES = ("seconds", "megabytes")

_SECS_BARS = {"round robin": 6., "balanced": 6.}
_MEGABYTES_BAR = 400.
_GROWTH_BAR = 1.2

# (workers, parameter servers, subnetworks): m, n and k.
_SIZES = ((4, 2, 3), (1000, 30, 100), (3000, 100, 200), (10000, 300, 300))
_MAX_QUESTIONS = 10**6


def _costs(num_subnetworks):
  return range(1, num_subnetworks + 1)


def _strategy(placement, name):
  """Returns the strategy of a row."""
  return (placement.RoundRobinStrategy() if name == "round robin" else
          placement.BalancedStrategy(_costs))


def _ask_everyone(placement, name, num_workers, num_subnetworks):
  """Returns what each worker answers: ensemble, subnetworks, training."""
  strategy = _strategy(placement, name)
  answers = []
  for w in range(num_workers):
    strategy.config = program.Config(num_workers, w, 0)
    answers.append((
        strategy.should_build_ensemble(num_subnetworks),
        [i for i in range(num_subnetworks)
         if strategy.should_build_subnetwork(num_subnetworks, i)],
        strategy.should_train_subnetworks(num_subnetworks)))
  return answers


def _plan_everything(placement, plan_lib, name, size):
  """Returns a plan, after a call of each of its predictions."""
  plan = plan_lib.PlacementPlan(_strategy(placement, name), *size)
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
      f"{plan} is not what the strategy decides")
  num_builders = sum(len(subnetworks) for _, subnetworks, _ in answers)
  num_trainers = sum(
      len(subnetworks) for _, subnetworks, trains in answers if trains)
  # Workers that divide their time take one step each: of the mean cost, or for
  # a part of it one of the ensembles, with all subnetworks.
  load = num_builders if plan.costs is None else sum(
      float(1 + w.ensemble_fraction * (plan.num_subnetworks - 1))
      for w in workers)
  program.check(
      plan.trainers_per_subnetwork().sum() == num_trainers
      and abs(plan.load_per_ps().sum() - load) < 1e-6 * load,
      f"{plan} does not add up")


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
    raise program.CheckError(f"the process of {arguments} died")
  finally:
    process.join()


def measure(placement, num_turns):
  """Measures one side; see `program`. Ours plans, and AdaNet asks."""
  try:
    from adanet.distributed import plan as plan_lib  # pylint: disable=g-import-not-at-top
  except ImportError:
    plan_lib = None
  names = list(_SECS_BARS) if plan_lib else ["round robin"]
  if plan_lib:
    for name, size in itertools.product(names, _SIZES[:2]):
      _check_plan(
          _plan_everything(placement, plan_lib, name, size),
          _ask_everyone(placement, name, size[0], size[2]))
  rows = []
  for name, size in itertools.product(names, _SIZES):
    num_workers, num_ps, num_subnetworks = size
    if plan_lib:
      work = (_plan_everything, placement, plan_lib, name, size)
    elif num_workers * num_subnetworks <= _MAX_QUESTIONS:
      work = (_ask_everyone, placement, name, num_workers, num_subnetworks)
    else:
      continue
    secs, megabytes = zip(*(
        _in_its_own_process(*work) for _ in range(max(3, num_turns // 3))))
    rows.append({
        "strategy": name,
        "workers": num_workers,
        "ps": num_ps,
        "subnetworks": num_subnetworks,
        "size": num_workers * num_subnetworks,
        "seconds": statistics.median(secs),
        "megabytes": max(megabytes),
        "limits": {"seconds": _SECS_BARS[name], "megabytes": _MEGABYTES_BAR},
    })
  return rows


def bars(rows):
  """Returns list of `program.Bar`."""
  bar_list = []
  for name, secs_bar in _SECS_BARS.items():
    large, largest = [row for row in rows if row["strategy"] == name][-2:]
    bar_list += [
        program.Bar(f"{name}: largest cluster, in seconds",
                    largest["seconds"], secs_bar),
        program.Bar(f"{name}: largest cluster, in MB of the process",
                    largest["megabytes"], _MEGABYTES_BAR),
        program.Bar(f"{name}: growth of time, as power of m k",
                    math.log(largest["seconds"] / large["seconds"])
                    / math.log(largest["size"] / large["size"]), _GROWTH_BAR),
    ]
  return bar_list


if __name__ == "__main__":
  program.run(sys.modules[__name__])

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Breaks the tasks of real searches, and checks that they recover.

    tools/bazelw run //tools/fault_test -- --injections=30 --seed=1

Each job has a chief, workers, two parameter servers and an evaluator, as
processes of this machine. A task is killed (`kill -9`), or stopped for longer
than an operation may take (SIGSTOP), or the disk of model_dir is full for a
while: at the start, in a step, in a checkpoint's write, while the winner is
selected, between two iterations, and in the last second. What died is started
again, as a supervisor does.

An injection is recovered when every task that it hit, or the job, takes its next
step, and nothing that was done is done again: while the parameter servers live,
no candidate is at a step that it had left; after one was killed, at none that is
older than the last checkpoint; and no winner is chosen anew. No task has ended
by itself. At the end of a job all tasks have ended with 0, and none of its processes and
ports is left. The seconds are the time from the restart of what died to its next
step; for a full disk, from the first free space to the next checkpoint.

The disk that is full is a file system in memory, in a mount namespace. Where
the kernel refuses that, a line says so, and nothing is full.

Exit status: 0 if all were recovered. Otherwise 1, and the tasks' last lines are
printed.
"""

import ctypes
import os
import shutil
import statistics
import sys
import tempfile
import time

from absl import app
from absl import flags
from tools.fault_test import injection
from tools.fault_test import plan
from tools.fault_test import small_disk

_INJECTIONS = flags.DEFINE_integer(
    "injections", 30, "How often something is broken.", lower_bound=1)
_SEED = flags.DEFINE_integer("seed", 1, "What is broken, and when.")
_KEEP = flags.DEFINE_boolean(
    "keep", False, "Keep the logs of the tasks, and say where they are.")

_PR_SET_CHILD_SUBREAPER = 36  # Of <linux/prctl.h>.
_DISK_MEGABYTES = 64
_MAX_JOBS = 3  # For each that is planned: a moment may pass too fast.


def _say(outcome):
  """Says at once what came of an injection."""
  fault = outcome.fault
  print("{} {}:{} in {}, iteration {}, step {}, {} saved: {}".format(
      fault.kind, fault.target, fault.index, fault.moment, outcome.iteration,
      outcome.step, outcome.saved,
      "FAILED: " + outcome.problem.partition("\n")[0] if outcome.problem else
      f"{outcome.seconds:.1f} s"), file=sys.stderr, flush=True)


def _run_all(jobs, folder):
  """Returns the outcomes of all jobs, until one fails."""
  outcomes = []
  queue = list(jobs)
  for number in range(_MAX_JOBS * len(jobs)):
    if not queue:
      break
    what = queue.pop(0)
    logs = os.path.join(folder, f"job-{number}")
    os.mkdir(logs)
    disk = os.path.join(folder, "disk", f"job-{number}")
    os.mkdir(disk)
    print(f"job {number}: chief, {what.workers} workers, 2 ps, evaluator, "
          f"{what.strategy}", file=sys.stderr, flush=True)
    job = injection.BrokenJob(what, logs, os.path.join(disk, "model"))
    try:
      left = job.run(_say)
      outcomes += job.outcomes
      if any(outcome.problem for outcome in job.outcomes):
        print(job.report(), file=sys.stderr, flush=True)
        break
    finally:
      job.job.close()
    shutil.rmtree(disk)
    if left:
      queue.append(what._replace(
          faults=left, iterations=max(2, len(left) + 1)))
  return outcomes


def main(argv):
  if len(argv) > 1:
    raise app.UsageError(f"expected no arguments, got {argv[1:]}")
  began = time.monotonic()
  ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
  folder = tempfile.mkdtemp(prefix="adanet-fault-test-")
  try:
    os.mkdir(os.path.join(folder, "disk"))
    refused = small_disk.mount(os.path.join(folder, "disk"), _DISK_MEGABYTES)
    if refused:
      print("No disk is full: the kernel refuses to mount one "
            f"({refused}).", file=sys.stderr)
    outcomes = _run_all(
        plan.jobs(_INJECTIONS.value, _SEED.value, not refused), folder)
  finally:
    if _KEEP.value:
      print(f"logs: {folder}", file=sys.stderr)
    else:
      shutil.rmtree(folder, ignore_errors=True)
  good = [outcome for outcome in outcomes if not outcome.problem]
  # Those after the last step, and an evaluator, take no next step.
  seconds = [outcome.seconds for outcome in good
             if outcome.step_after is not None] or [0.]
  print(
      f"{len(good)} of {_INJECTIONS.value} recovered; seconds to the next "
      f"step: median {statistics.median(seconds):.1f}, at most "
      f"{max(seconds):.1f}; {time.monotonic() - began:.0f} s in all; load "
      f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
  return 0 if len(good) == _INJECTIONS.value else 1


if __name__ == "__main__":
  app.run(main)

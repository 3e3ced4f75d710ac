# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""An iteration on a cluster of AdaNet 0.8.0, timed, on TensorFlow 1.15.

It is timed as the cluster of this project in `balance`: from the moment at
which all workers are about to take their first step, which they do together, to
the step in which the chief sees that all candidates have taken their last one.
In between, each candidate is trained by one worker and takes the same number of
steps as there, which is checked.

The ensembles differ. AdaNet ends an iteration when the candidates have taken
their steps, and the ensembles may have taken fewer. Here they take all of
theirs. So what is found says how many AdaNet's took.
"""

import json
import os
import sys
import tempfile
import time
from typing import NamedTuple

from adanet.testing import processes
from benchmarks import adanet_task
from benchmarks import cluster
from benchmarks import program
import runfiles

NAME = "AdaNet 0.8.0"

_FOLDER = "adanet_reference/site-packages/adanet-0.8.0"


class MeasuredIteration(NamedTuple):
  """How an iteration went.

  Attributes:
    secs: float, how long it took.
    ensemble_steps: int, of the ensemble that took fewest.
  """
  secs: float
  ensemble_steps: int


def check_iteration(begin, end, steps, job):
  """Returns the `MeasuredIteration` of the chief, if it trained all networks.

  Args:
    begin: float, when the tasks began.
    end: float, when the chief took its last step.
    steps: dict from the name of a variable to the steps of a subnetwork or an
      ensemble.
    job: dict, the arguments of `adanet_task.train`.
  """
  subnetworks, ensembles = (
      [count for name, count in steps.items() if f"/{kind}_t0_" in name]
      for kind in ("subnetwork", "ensemble"))
  expected = [job["num_steps"]] * job["num_candidates"]
  program.check(subnetworks == expected,
                f"AdaNet's candidates took {subnetworks} steps, not {expected}")
  program.check(len(ensembles) == job["num_candidates"],
                f"AdaNet has {len(ensembles)} ensembles")
  program.check(end > begin, "AdaNet's chief has not trained")
  return MeasuredIteration(end - begin, min(ensembles))


def measure(num_workers, num_ps, **job):
  """Returns a `MeasuredIteration` on the TensorFlow of this process.

  Args:
    num_workers: int, with the chief.
    num_ps: int.
    **job: the arguments of `adanet_task.train`, without the folder.
  """
  env = processes.python_environment(
      PYTHONPATH=os.pathsep.join(
          [runfiles.Create().Rlocation(_FOLDER)] + sys.path),
      TF_CPP_MIN_LOG_LEVEL="3")
  shape = (("chief", 1), ("worker", num_workers - 1), ("ps", num_ps))
  with tempfile.TemporaryDirectory() as folder:
    job["model_dir"] = os.path.join(folder, "model")
    command = [sys.executable, adanet_task.__file__, json.dumps(job)]
    with cluster.Tasks(command, env, shape) as tasks:
      workers = [name for name in tasks.names if not name.startswith("ps")]
      for name in workers:
        line = tasks.read(name)
        program.check(line == "ready 0.8.0\n", f"{name}: {line}")
      begin = time.monotonic()
      for name in workers:
        tasks.write(name, "go")
      end, steps = json.loads(tasks.read("chief:0"))
      return check_iteration(begin, end, steps, job)

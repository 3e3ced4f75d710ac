# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What is broken, and when: the same for the same seed."""

import itertools
import random
from typing import List, NamedTuple

KILL, STOP, FULL_DISK = "kill -9", "SIGSTOP", "full disk"

# What happens to whom.
KINDS = (
    (KILL, "worker"), (KILL, "ps"), (KILL, "chief"), (KILL, "evaluator"),
    (KILL, "all"), (STOP, "worker"), (STOP, "ps"), (STOP, "chief"),
    (FULL_DISK, "chief"))

START, STEP, WRITE = "the start", "a step", "a checkpoint's write"
SELECTION, BETWEEN = "selection", "between iterations"
LAST = "the last second"

# In between, a job has these.
_MOMENTS = (STEP, WRITE, SELECTION, BETWEEN)

_MAX_FAULTS = 6  # Of a job.
_SETTINGS = (
    (2, "round_robin"), (3, "replication"), (3, "round_robin"),
    (2, "replication"))


class Fault(NamedTuple):
  """One injection.

  Attributes:
    kind: one of KILL, STOP, FULL_DISK.
    target: str, a job of the cluster, or "all".
    index: int, of the task.
    moment: one of the above.
    chance: float in [0, 1), which decides when in the moment.
  """
  kind: str
  target: str
  index: int
  moment: str
  chance: float


class JobPlan(NamedTuple):
  """One job.

  Attributes:
    workers: int, beside the chief.
    strategy: str, how subnetworks are placed.
    has_id: bool, whether ADANET_JOB_ID is given.
    iterations: int.
    faults: list of `Fault`, in order.
  """
  workers: int
  strategy: str
  has_id: bool
  iterations: int
  faults: List[Fault]


def _endless(rng, values):
  """Yields all values in a random order, again and again."""
  while True:
    yield from rng.sample(values, len(values))


def _moments(rng, count):
  """Returns the moments of one job."""
  if count == 1:
    return [STEP]
  middle = list(itertools.islice(_endless(rng, _MOMENTS), count - 2))
  return [START] + middle + [LAST]


def jobs(injections: int, seed: int, has_full_disk: bool) -> List[JobPlan]:
  """Returns the jobs, which have as many faults as is asked for.

  Args:
    injections: int.
    seed: int.
    has_full_disk: bool, whether a disk can be full here.
  """
  rng = random.Random(seed)
  kinds = _endless(rng, [
      kind for kind in KINDS if has_full_disk or kind[0] != FULL_DISK])
  result: List[JobPlan] = []
  while injections > 0:
    count = min(injections, _MAX_FAULTS)
    injections -= count
    workers, strategy = _SETTINGS[len(result) % len(_SETTINGS)]
    faults = []
    for moment in _moments(rng, count):
      kind, target = next(kinds)
      index = rng.randrange({"worker": workers, "ps": 2}.get(target, 1))
      faults.append(Fault(kind, target, index, moment, rng.random()))
    result.append(JobPlan(
        workers, strategy, not len(result) % 2, max(2, count - 1), faults))
  return result

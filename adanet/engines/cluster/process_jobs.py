# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Counts the jobs of this process: a program may train more than once.

On a cluster, each call of `Estimator.train` or `adanet.train_and_evaluate` is a
job of its own. All tasks run the same program, so a job has the same number in
all of them. A task that is started again begins with job 1, finds out that this
job is over (see `ended`), and comes to the job of the other tasks like that.
"""

import collections
import contextlib
import time
from typing import Dict, Iterator, Optional, Set

# How many jobs are over, by task.
num_over: Dict[str, int] = collections.Counter()
_current: Set[str] = set()
_since: Dict[str, float] = {}


def number(task: str) -> int:
  """Returns the number of the job that a task is in, or of its next one.

  Args:
    task: str, its name and its cluster.
  """
  return 1 + num_over[task]


def since(task: str) -> Optional[float]:
  """Returns since when a task of this process has followed its jobs.

  It is in seconds since the epoch; None if it is in none.
  """
  return _since.get(task)


@contextlib.contextmanager
def job(task: str) -> Iterator[None]:
  """Within this, a task is in a job, which is over if no error is raised.

  After an error, the next call is the same job. An inner call is part of the
  outer one's job.

  Args:
    task: str, its name and its cluster.
  """
  if task in _current:
    yield
    return
  _current.add(task)
  _since.setdefault(task, time.time())
  try:
    yield
    num_over[task] += 1
  except BaseException:
    del _since[task]
    raise
  finally:
    _current.discard(task)

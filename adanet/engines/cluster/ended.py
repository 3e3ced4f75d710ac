# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Whether the job of this task is over, by its chief's announcements.

The file of the job state stays in `model_dir` when a job is over. So a task
that starts may find one of an earlier run, and must not take it for its own:

    state in the file                       taken for the end of this run
    of another job                          never
    "over", written or changed meanwhile    at once
    "over", of before, the id is unique     at once: this task is late
    "over", of before, the id is shared     if it was younger than 10 minutes
                                            when this task started, and nothing
                                            changes in the first 30 s
    "stopped", written meanwhile            at once
    "stopped", of before                    never: the job goes on from there

An id is shared if it stands for the addresses of the cluster: a second run by
hand has the same ones.
"""

import hashlib
import json
import os
import time
from typing import Any, Callable, Mapping, NamedTuple, Optional

from adanet.engines.cluster import job_state as job_state_lib

_MAX_AGE_SECS = 600.
_PATIENCE_SECS = 30.


class StoppedError(Exception):
  """The job was stopped by a signal to its chief, before its end."""


class JobFinished(Exception):  # pylint: disable=g-bad-exception-name
  """Training is over: nothing is left to do for this task."""


class JobId(NamedTuple):
  """Says which tasks belong together.

  Attributes:
    text: str, the same for all tasks of a job; "" where it is not known.
    is_unique: bool, whether no other run has the same.
  """
  text: str
  is_unique: bool

  def is_of(self, job_state: Optional[job_state_lib.JobState]) -> bool:
    """Returns whether a job state is for this job, in this run or another."""
    return job_state is not None and self.text in ("", job_state.job)


def _addresses(jobs):
  """Returns {job: {index: address}} without the evaluator, as JSON."""
  addresses = {}
  for job, tasks in jobs.items():
    pairs = tasks.items() if isinstance(tasks, Mapping) else enumerate(tasks)
    if job != "evaluator":  # It may be named or not: it is not in the cluster.
      addresses[job] = {str(index): address for index, address in pairs}
  return json.dumps(addresses, sort_keys=True)


def cluster(config: Any, environ: Mapping[str, str] = os.environ) -> Any:
  """Returns the addresses of the cluster of a task, by job; None for none.

  Args:
    config: RunConfig. That of an evaluator has none.
    environ: the environment: its `TF_CONFIG` counts then.
  """
  return config.cluster_spec.as_dict() if config.cluster_spec else (
      json.loads(environ.get("TF_CONFIG") or "{}").get("cluster"))


def job_id(config: Any, environ: Mapping[str, str] = os.environ) -> JobId:
  """Returns the id of the job that this task is of.

  Args:
    config: RunConfig.
    environ: the environment. `ADANET_JOB_ID` is the id; where it is absent,
      the addresses of the cluster stand for it.
  """
  given = environ.get("ADANET_JOB_ID")
  if given:
    return JobId(given, True)
  jobs = cluster(config, environ)
  if not jobs:
    return JobId("", False)
  digest = hashlib.sha256(_addresses(jobs).encode("utf-8")).hexdigest()
  return JobId(digest[:16], False)


def state(job_state: Optional[job_state_lib.JobState], job: JobId,
          is_new: bool, started: float, now: float) -> job_state_lib.State:
  """Returns the state of this task's run.

  Args:
    job_state: `JobState` in the file now; None if there is no file.
    job: `JobId` of this task.
    is_new: whether the file has changed since this task started.
    started: float, when this task started, in seconds since the epoch.
    now: float, the time, also in seconds since the epoch.
  """
  if not job.is_of(job_state):
    return job_state_lib.State.TRAINING
  assert job_state is not None
  if is_new or job_state.written >= started:
    return job_state.state
  if job_state.state != job_state_lib.State.OVER:
    return job_state_lib.State.TRAINING
  if job.is_unique:
    return job_state_lib.State.OVER
  is_recent = started - job_state.written <= _MAX_AGE_SECS
  if is_recent and now - started >= _PATIENCE_SECS:
    return job_state_lib.State.OVER
  return job_state_lib.State.TRAINING


class JobWatch:
  """Follows the job state, from the start of this task on.

  Attributes:
    job: `JobId` of this task.
  """

  def __init__(self, job: JobId,
               clock: Callable[[], float] = time.time) -> None:
    """The task starts now.

    Args:
      job: `JobId` of this task.
      clock: returns the seconds since the epoch.
    """
    self.job = job
    self._clock = clock
    self._started = clock()
    self._has_read = False
    self._first: Optional[job_state_lib.JobState] = None

  def after(self, job_state: Optional[job_state_lib.JobState]
           ) -> job_state_lib.State:
    """Returns the state of the job, see `state`.

    Args:
      job_state: `JobState`, just read; None if there is no file.
    """
    if not self._has_read:
      self._has_read, self._first = True, job_state
    return state(job_state, self.job, job_state != self._first, self._started,
                 self._clock())

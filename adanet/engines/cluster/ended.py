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
hand has the same ones. While the chief answers, it may still begin.

A program may train several times, see `process_jobs`. The state of a later job
of the same run says that this one is over:

    written or changed meanwhile            at once
    of before, the id is unique             at once: this task was started again
    of before, the id is shared             as for the same job. A parameter
                                            server's status board may say more
"""

import contextlib
import hashlib
import json
import os
import time
from typing import Any, Callable, ContextManager, Mapping, NamedTuple, Optional

from adanet import tf_compat
from adanet.engines.cluster import job_state as job_state_lib
from adanet.engines.cluster import process_jobs

_MAX_AGE_SECS = 600.
_PATIENCE_SECS = 30.


class StoppedError(Exception):
  """The job was stopped by a signal to its chief, before its end."""


class JobFinished(Exception):  # pylint: disable=g-bad-exception-name
  """Training is over: nothing is left to do for this task."""


class JobId(NamedTuple):
  """Says which tasks belong together.

  Attributes:
    run: str, the same for all tasks of a run; "" where it is not known.
    is_unique: bool, whether no other run has the same.
    number: int, the number of the job in its run, from 1; see `process_jobs`.
  """
  run: str
  is_unique: bool
  number: int = 1

  @property
  def text(self) -> str:
    """The same for all tasks of a job, and for no other job of its run."""
    return self.run if self.number == 1 else f"{self.run}#{self.number}"

  def _number_of(self, job):
    """Returns the number of a job of this run by its text; 0 for other runs."""
    if job == self.run:
      return 1
    run, _, number = job.rpartition("#")
    if self.run not in ("", run):
      return 0
    return int(number) if run and number.isdigit() else int(not self.run)

  def is_of(self, record: Any) -> bool:
    """Returns whether a record is for this job, in this run or another.

    Args:
      record: a value whose `job` is the `text` of a job, such as a `JobState`;
        or None.
    """
    return record is not None and self._number_of(record.job) == self.number

  def is_followed_by(self, record: Any) -> bool:
    """Returns whether a record is for a later job of the same run.

    Args:
      record: see `is_of`.
    """
    return record is not None and self._number_of(record.job) > self.number


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


def _cluster_id(config, environ):
  """Returns a text for the addresses of a cluster; "" for none."""
  jobs = cluster(config, environ)
  if not jobs:
    return ""
  return hashlib.sha256(_addresses(jobs).encode("utf-8")).hexdigest()[:16]


def _task(config, environ):
  """Returns the name of a task, and what stands for its cluster."""
  return (f"{config.task_type}:{config.task_id} of "
          f"{_cluster_id(config, environ)}")


def as_job(config: Any) -> ContextManager[None]:
  """Returns the context of one job of this process; see `process_jobs.job`.

  Args:
    config: RunConfig. Without a cluster, there is no job to count.
  """
  if not (config.cluster_spec or
          config.task_type == tf_compat.TaskType.EVALUATOR):
    return contextlib.nullcontext()
  return process_jobs.job(_task(config, os.environ))


def job_id(config: Any, environ: Mapping[str, str] = os.environ) -> JobId:
  """Returns the id of the job that this task is of.

  Args:
    config: RunConfig.
    environ: the environment. `ADANET_JOB_ID` is the id; where it is absent,
      the addresses of the cluster stand for it.
  """
  given = environ.get("ADANET_JOB_ID")
  return JobId(given or _cluster_id(config, environ), bool(given),
               process_jobs.number(_task(config, environ)))


def state(job_state: Optional[job_state_lib.JobState], job: JobId,
          is_new: bool, started: float, now: float,
          chief_answers: Callable[[], bool] = lambda: False
         ) -> job_state_lib.State:
  """Returns the state of this task's run.

  Args:
    job_state: `JobState` in the file now; None if there is no file.
    job: `JobId` of this task.
    is_new: whether the file has changed since this task started.
    started: float, when this task started, in seconds since the epoch.
    now: float, the time, also in seconds since the epoch.
    chief_answers: returns whether another task leads, and listens.
  """
  is_followed = job.is_followed_by(job_state)
  if not (is_followed or job.is_of(job_state)):
    return job_state_lib.State.TRAINING
  assert job_state is not None
  if is_new or job_state.written >= started:
    return job_state_lib.State.OVER if is_followed else job_state.state
  is_over = job_state.state == job_state_lib.State.OVER
  if job.is_unique and (is_over or is_followed):
    return job_state_lib.State.OVER
  is_recent = started - job_state.written <= _MAX_AGE_SECS
  if (is_over and is_recent and now - started >= _PATIENCE_SECS and
      not chief_answers()):
    return job_state_lib.State.OVER
  return job_state_lib.State.TRAINING


class JobWatch:
  """Follows the job state, from the start of this task on.

  Attributes:
    job: `JobId` of this task.
  """

  def __init__(self, job: JobId, clock: Callable[[], float] = time.time,
               since: Optional[float] = None,
               chief_answers: Callable[[], bool] = lambda: False) -> None:
    """The task starts now.

    Args:
      job: `JobId` of this task.
      clock: returns the seconds since the epoch.
      since: float, when this process began to follow the jobs of its run, in
        seconds since the epoch; None for now.
      chief_answers: see `state`.
    """
    self.job = job
    self._clock = clock
    self._started = clock()
    self._since = since
    self._chief_answers = chief_answers
    self._is_followed = False
    self._has_read = False
    self._first: Optional[job_state_lib.JobState] = None

  def after(self, job_state: Optional[job_state_lib.JobState]
           ) -> job_state_lib.State:
    """Returns the state of the job, see `state`.

    Args:
      job_state: `JobState`, just read; None if there is no file.
    """
    if self._is_followed:
      return job_state_lib.State.OVER
    if not self._has_read:
      self._has_read, self._first = True, job_state
    is_new = job_state != self._first or (
        job_state is not None and self._since is not None and
        job_state.written >= self._since)
    return state(job_state, self.job, is_new, self._started, self._clock(),
                 self._chief_answers)

  def end(self) -> None:
    """Notes that the chief has begun a later job: this one is over."""
    self._is_followed = True


def watch(config: Any, **kwargs: Any) -> JobWatch:
  """Returns the `JobWatch` of the job that this process begins.

  Args:
    config: RunConfig.
    **kwargs: more arguments of `JobWatch`.
  """
  return JobWatch(
      job_id(config), since=process_jobs.since(_task(config, os.environ)),
      **kwargs)

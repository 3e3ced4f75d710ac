# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The jobs of a cluster: the announced state of a job, and whether it is over.

    <model_dir>/cluster/job_state.json

The chief writes this small file before each iteration and after each restore,
and when training ends. All tasks follow the file.

The file stays in `model_dir` when a job is over. So a starting task may see the
file of an earlier run, and must not end because of that run:

    state in the file                       means the end of this run
    of another job                          never
    "over", written or changed meanwhile    at once
    "over", of before, the id is unique     at once: this task is late
    "over", of before, the id is shared     if the state was younger than 10
                                            minutes when this task started, and
                                            nothing changes in the first 30 s
    "stopped", written meanwhile            at once
    "stopped", of before                    never: the job resumes from there

An id is shared if the id is made of the addresses of the cluster: a second run
by hand has the same addresses. While the chief answers, the job may still
begin.

A program may train more than once: each call of `Estimator.train` or
`adanet.train_and_evaluate` is a separate job. All tasks run the same program,
so a job has the same number in all tasks. A restarted task begins with job 1,
finds out that job 1 is over, and so on, until the task comes to the current
job. The state of a later job of the same run ends an earlier job:

    written or changed meanwhile            at once
    of before, the id is unique             at once: this task was restarted
    of before, the id is shared             as for the same job. A parameter
                                            server's status board may say more
"""

import collections
import contextlib
import enum
import hashlib
import json
import os
import time
from typing import (Any, Callable, Dict, Iterator, Mapping, NamedTuple,
                    Optional, Set, Tuple, Union)

from adanet import tf_compat
from adanet import typed_json
from adanet.tf_compat import files

_MAX_AGE_SECS = 600.
_PATIENCE_SECS = 30.

_Number = Union[int, float]
NumberPerBuilder = Tuple[_Number, ...]
"""A positive number for each builder."""

# How many jobs of this process are over, by task.
num_over: Dict[str, int] = collections.Counter()
# The tasks of this process that are in a job, and since when, in seconds since
# the epoch, they have followed the jobs of their run.
_current: Set[str] = set()
_since: Dict[str, float] = {}


class JobStateError(ValueError):
  """The file of the job state has no valid job state."""


class State(enum.Enum):
  """How far a job is."""
  TRAINING = "training"
  OVER = "over"
  STOPPED = "stopped"  # It goes on when it is started again.


class Measurements(NamedTuple):
  """The costs of an iteration that the placement strategy asks for.

  Attributes:
    costs: the cost of a step of each builder's subnetwork: nanoseconds, or the
      builders' own numbers. None if the strategy does not ask.
    sizes: the bytes of each subnetwork's variables, or the builders' own
      numbers; None if the strategy does not ask.
    ensemble_cost: the nanoseconds of a step of all ensembles, if measured with
      the costs; 0 if all ensembles are fitted.
  """
  costs: Optional[NumberPerBuilder] = None
  sizes: Optional[NumberPerBuilder] = None
  ensemble_cost: Optional[_Number] = None


class JobState(NamedTuple):
  """The state that all tasks of a job must share.

  Attributes:
    job: str, the id of the job.
    generation: int, greater with each restore and each iteration.
    iteration: int, the number of the iteration that trains.
    builders: tuple of str, the names of the iteration's builders, in order.
    num_workers: int, how many tasks train, the chief included.
    num_ps: int, how many parameter servers there are.
    strategy: str, the placement strategy.
    max_steps: int, the global step at which training ends; None: no limit.
    state: `State` of the job.
    reason: str, why the job is in this state.
    written: float, when the file was written, in seconds since the epoch.
    measured: `Measurements` of the iteration.
    search: dict from the name of an argument to the text of the value, for
      arguments that must be equal in all tasks.
  """
  job: str
  generation: int
  iteration: int
  builders: Tuple[str, ...]
  num_workers: int
  num_ps: int
  strategy: str
  max_steps: Optional[int]
  state: State = State.TRAINING
  reason: str = ""
  written: float = 0.
  measured: Measurements = Measurements()
  search: Dict[str, str] = {}

  @property
  def is_training(self) -> bool:
    """Whether training goes on; otherwise all tasks leave."""
    return self.state == State.TRAINING

  def to_json(self) -> str:
    """Returns the text of the file."""
    return json.dumps(typed_json.to_json(JobState, self), sort_keys=True)

  @classmethod
  def from_json(cls, text: str, path: str) -> "JobState":
    """Returns the job state in the text of a file, which errors name.

    Raises:
      JobStateError: `to_json` did not write this text.
    """
    try:
      return typed_json.from_json(
          cls, typed_json.loads(text), skips_unknown=True)
    except ValueError as e:
      raise JobStateError(
          f"{path}: {e}. Expected what the chief of a cluster writes. Remove "
          "the file, and start the job again.") from e


class JobStateFile:
  """The file of the job state in a `model_dir`.

  Attributes:
    path: str.
  """

  def __init__(self, model_dir: str) -> None:
    """Reads nothing: the folder need not exist."""
    self.path = os.path.join(model_dir, "cluster", "job_state.json")

  def read(self) -> Optional[JobState]:
    """Returns the job state; None if there is no file.

    Raises:
      JobStateError: the file is corrupt.
      tf.errors.OpError: the file cannot be read.
    """
    text = files.read_text(self.path)
    return None if text is None else JobState.from_json(text, self.path)

  def write(self, job_state: JobState) -> None:
    """Writes the file whole, with the current time as `written`.

    Raises:
      tf.errors.OpError: the file cannot be written.
    """
    files.write_text(
        self.path, job_state._replace(written=time.time()).to_json())

  def announce(self, job: str, num_workers: int, num_ps: int,
               max_steps: Optional[int], state: State = State.TRAINING,
               reason: str = "") -> int:
    """Changes the state of a job, and keeps the remaining values of the file.

    Args:
      job: str, the id of the job.
      num_workers: see `JobState` for all arguments.
      num_ps: int.
      max_steps: int, or None.
      state: `State`.
      reason: str.

    Returns:
      The new generation.
    """
    current = self.read()
    if current is None or current.job != job:
      current = JobState(job, current.generation if current else 0, 0, (),
                         num_workers, num_ps, "", max_steps)
    self.write(current._replace(
        generation=current.generation + 1, max_steps=max_steps, state=state,
        reason=reason))
    return current.generation + 1


class StoppedError(Exception):
  """A signal to the chief stopped the job before the end."""


class JobFinished(Exception):  # pylint: disable=g-bad-exception-name
  """Training is over: this task has nothing left to do."""


class JobId(NamedTuple):
  """Identifies a job, for all tasks of the job.

  Attributes:
    run: str, the same for all tasks of a run; "" if not known.
    is_unique: bool, whether `run` differs from all earlier runs.
    number: int, the number of the job in the run, from 1.
  """
  run: str
  is_unique: bool
  number: int = 1

  @property
  def text(self) -> str:
    """A text for the job, different for each job of the run."""
    return self.run if self.number == 1 else f"{self.run}#{self.number}"

  def _number_of(self, job):
    """Returns the number of a job from the text; 0 for jobs of other runs."""
    if job == self.run:
      return 1
    run, _, number = job.rpartition("#")
    if self.run not in ("", run):
      return 0
    return int(number) if run and number.isdigit() else int(not self.run)

  def is_of(self, record: Any) -> bool:
    """Returns whether a record is for this job, in any run with this id.

    Args:
      record: a value with the `text` of a job as `job`, such as a `JobState`;
        or None.
    """
    return record is not None and self._number_of(record.job) == self.number

  def is_followed_by(self, record: Any) -> bool:
    """Returns whether a record is for a later job of the same run.

    Args:
      record: see `is_of`.
    """
    return record is not None and self._number_of(record.job) > self.number


def cluster(config: Any, environ: Mapping[str, str] = os.environ) -> Any:
  """Returns the addresses of the cluster of a task, by job; None for none.

  Args:
    config: RunConfig. The RunConfig of an evaluator has no cluster.
    environ: the environment, whose `TF_CONFIG` has the cluster of an evaluator.
  """
  return config.cluster_spec.as_dict() if config.cluster_spec else (
      json.loads(environ.get("TF_CONFIG") or "{}").get("cluster"))


def _cluster_id(config, environ):
  """Returns a text for the addresses of a cluster; "" for none."""
  jobs = cluster(config, environ)
  if not jobs:
    return ""
  addresses = {}
  for job, tasks in jobs.items():
    pairs = tasks.items() if isinstance(tasks, Mapping) else enumerate(tasks)
    if job != "evaluator":  # It may be named or not: it is not in the cluster.
      addresses[job] = {str(index): address for index, address in pairs}
  return hashlib.sha256(json.dumps(
      addresses, sort_keys=True).encode("utf-8")).hexdigest()[:16]


def _task(config, environ):
  """Returns the name of a task and a text for the cluster."""
  return (f"{config.task_type}:{config.task_id} of "
          f"{_cluster_id(config, environ)}")


@contextlib.contextmanager
def as_job(config: Any) -> Iterator[None]:
  """Marks a block as a job of a task. Without an error, the job is then over.

  After an error, the next call is the same job. An inner call is part of the
  outer call's job.

  Args:
    config: RunConfig. Without a cluster, there is no job to count.
  """
  is_in_cluster = config.cluster_spec or (
      config.task_type == tf_compat.TaskType.EVALUATOR)
  task = _task(config, os.environ) if is_in_cluster else ""
  if not task or task in _current:
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


def job_id(config: Any, environ: Mapping[str, str] = os.environ) -> JobId:
  """Returns the id of the current job of a task.

  Args:
    config: RunConfig.
    environ: the environment. `ADANET_JOB_ID` is the id. Without this variable,
      the id is made of the addresses of the cluster.
  """
  environ_id = environ.get("ADANET_JOB_ID")
  return JobId(environ_id or _cluster_id(config, environ), bool(environ_id),
               1 + num_over[_task(config, environ)])


def state(job_state: Optional[JobState], job: JobId, is_new: bool,
          started: float, now: float,
          chief_answers: Callable[[], bool] = lambda: False) -> State:
  """Returns the state of the run of a task.

  Args:
    job_state: `JobState` in the file now; None if there is no file.
    job: `JobId` of the task.
    is_new: whether the file has changed since the task started.
    started: float, when the task started, in seconds since the epoch.
    now: float, the time, in seconds since the epoch.
    chief_answers: returns whether another task leads, and listens.
  """
  is_followed = job.is_followed_by(job_state)
  if not (is_followed or job.is_of(job_state)):
    return State.TRAINING
  assert job_state is not None
  if is_new or job_state.written >= started:
    return State.OVER if is_followed else job_state.state
  is_over = job_state.state == State.OVER
  if job.is_unique and (is_over or is_followed):
    return State.OVER
  is_recent = started - job_state.written <= _MAX_AGE_SECS
  if (is_over and is_recent and now - started >= _PATIENCE_SECS and
      not chief_answers()):
    return State.OVER
  return State.TRAINING


class JobWatch:
  """Follows the job state, from the start of a task on.

  Attributes:
    job: `JobId` of the task.
  """

  def __init__(self, job: JobId, since: Optional[float] = None,
               chief_answers: Callable[[], bool] = lambda: False) -> None:
    """The task starts now.

    Args:
      job: `JobId` of the task.
      since: float, when the process began to follow the jobs of the run, in
        seconds since the epoch; None for now.
      chief_answers: see `state`.
    """
    self.job = job
    self._started = time.time()
    self._since = since
    self._chief_answers = chief_answers
    self._is_followed = False
    self._has_read = False
    self._first: Optional[JobState] = None

  def after(self, job_state: Optional[JobState]) -> State:
    """Returns the state of the job, see `state`.

    Args:
      job_state: `JobState`, just read; None if there is no file.
    """
    if self._is_followed:
      return State.OVER
    if not self._has_read:
      self._has_read, self._first = True, job_state
    is_new = job_state != self._first or (
        job_state is not None and self._since is not None and
        job_state.written >= self._since)
    return state(job_state, self.job, is_new, self._started, time.time(),
                 self._chief_answers)

  def end(self) -> None:
    """Notes that the chief has begun a later job: the job is over."""
    self._is_followed = True


def watch(config: Any, **kwargs: Any) -> JobWatch:
  """Returns a `JobWatch` of the next job of this process.

  Args:
    config: RunConfig.
    **kwargs: more arguments of `JobWatch`.
  """
  return JobWatch(
      job_id(config), since=_since.get(_task(config, os.environ)), **kwargs)

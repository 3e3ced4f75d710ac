# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A job: tasks, addresses, TF_CONFIG and program.

`Supervision` decides on the next step when a task ends. The module has no clock
and no process: nothing starts.
"""

import dataclasses
import json
import os
import signal
import sys
from typing import Dict, List, NamedTuple, Optional, Sequence, Set

from adanet import messages
from adanet import typed_json

CHIEF = "chief"
WORKER = "worker"
PS = "ps"
EVALUATOR = "evaluator"
TRAINS = (CHIEF, WORKER)
# How a task exits that was asked to stop, and has stopped in order.
STOPPED = (128 + signal.SIGTERM, 128 + signal.SIGINT)
_EXIT_FAILURE = 1
_MAX_DELAY_SECS = 30.


@dataclasses.dataclass(frozen=True)
class Task:
  """A process of a job.

  Attributes:
    job: "chief", "worker", "ps" or "evaluator".
    index: the number of the task among the tasks with the same `job`, from 0.
  """
  job: str
  index: int

  @property
  def name(self) -> str:
    """For example "worker:1"."""
    return f"{self.job}:{self.index}"


def make_tasks(num_workers: int, num_ps: int,
               has_evaluator: bool) -> List[Task]:
  """Returns the tasks of a job: chief, workers, parameter servers, evaluator.
  """
  return ([Task(CHIEF, 0)] +
          [Task(WORKER, index) for index in range(num_workers)] +
          [Task(PS, index) for index in range(num_ps)] +
          [Task(EVALUATOR, 0)] * has_evaluator)


class Job(NamedTuple):
  """All tasks that run a program together.

  Attributes:
    addresses: "host:port" of each task by `Task.job`, in the order of
      `Task.index`. A kind without tasks is absent. The evaluator has no
      address, because no task sends messages to the evaluator.
  """
  addresses: Dict[str, List[str]]
  has_evaluator: bool = False

  def tasks(self) -> List[Task]:
    """Returns the tasks: chief, workers, parameter servers, evaluator."""
    return make_tasks(
        len(self.addresses.get(WORKER, ())), len(self.addresses.get(PS, ())),
        self.has_evaluator)

  def tf_config(self, task: Task, model_dir: Optional[str] = None) -> str:
    """Returns the value of the environment variable `TF_CONFIG` of a task.

    Args:
      model_dir: the folder of the job, which `RunConfig` takes if the program
        names none. None for no such entry.
    """
    config: Dict[str, object] = {
        "cluster": self.addresses,
        "task": {"type": task.job, "index": task.index},
    }
    if model_dir is not None:
      config["model_dir"] = model_dir
    return json.dumps(config, sort_keys=True)


def make_job(num_workers: int, num_ps: int, has_evaluator: bool,
             addresses: List[str]) -> Job:
  """Returns a job with an address for each task.

  Args:
    addresses: an address for each task but the evaluator, in the order of
      `make_tasks`.
  """
  by_job: Dict[str, List[str]] = {}
  for task, address in zip(make_tasks(num_workers, num_ps, False), addresses):
    by_job.setdefault(task.job, []).append(address)
  return Job(by_job, has_evaluator)


class Place(NamedTuple):
  """Which task of which job a process is.

  Attributes:
    job_id: the value of `ADANET_JOB_ID`: the same for all tasks of the job.
  """
  job: Job
  task: Task
  job_id: str

  def environment(self, model_dir: Optional[str] = None) -> Dict[str, str]:
    """Returns the variables that the task's program needs."""
    variables = {
        "ADANET_JOB_ID": self.job_id,
        "TF_CONFIG": self.job.tf_config(self.task, model_dir),
    }
    if self.task.job == PS:
      # It only stores variables. A TensorFlow that sees a GPU takes its memory.
      variables["CUDA_VISIBLE_DEVICES"] = "-1"
    return variables


def command(program: Sequence[str], is_module: bool) -> List[str]:
  """Returns the command of a task.

  Args:
    program: the name of a Python file, another file that can be executed, or a
      module; and its arguments.

  Raises:
    ValueError: the file does not exist, or cannot be executed.
  """
  name = program[0]
  if is_module:
    return [sys.executable, "-m"] + list(program)
  if not os.path.isfile(name):
    raise ValueError("{}: expected a file, such as train.py{}.".format(
        name, "" if os.sep in name or "." in name
        else " (-m is for Python modules)"))
  if not name.endswith(".py"):
    if not os.access(name, os.X_OK):
      raise ValueError(f"{name}: expected *.py, or a file that can be "
                       "executed (chmod +x).")
    return [os.path.abspath(name)] + list(program[1:])
  return [sys.executable] + list(program)


def with_model_dir(tf_config: str, model_dir: Optional[str]) -> str:
  """Returns a `TF_CONFIG` with the folder of the job.

  Args:
    model_dir: the folder; None for no change.
  """
  try:
    value = typed_json.loads(tf_config)
  except ValueError as e:
    raise ValueError(f"TF_CONFIG: expected a JSON object: {e}.") from e
  if model_dir is None:
    return tf_config
  return json.dumps(dict(value, model_dir=model_dir), sort_keys=True)


class Decision(NamedTuple):
  """The decision after a task has ended.

  Attributes:
    restart_secs: after how many seconds to start the task again; None for
      never.
    warning: a line to print, or None.
  """
  ends_job: bool = False
  restart_secs: Optional[float] = None
  warning: Optional[str] = None


class Failure(NamedTuple):
  """A failed task.

  Attributes:
    returncode: the exit status, or the negative number of the signal.
    num_restarts: how often the task had been started again.
    has_worked: whether the task had ever begun to work.
  """
  task: Task
  returncode: int
  num_restarts: int
  has_worked: bool

  @property
  def status(self) -> int:
    """The exit status in a shell."""
    return exit_status(self.returncode)

  def message(self) -> str:
    """Returns for example "exit status 1, after 3 restarts"."""
    parts = [how_it_ended(self.returncode)]
    if not self.has_worked:
      parts.append("before it began to work")
    if self.num_restarts:
      parts.append("after " + messages.count(self.num_restarts, "restart"))
    return ", ".join(parts)


def exit_status(returncode: int) -> int:
  """Returns the exit status of a process; 128 + n after signal n."""
  return 128 - returncode if returncode < 0 else returncode


def how_it_ended(returncode: int) -> str:
  """Returns "exit status 1", or "killed by signal 9 (SIGKILL)"."""
  if returncode >= 0:
    return f"exit status {returncode}"
  try:
    name = f" ({signal.Signals(-returncode).name})"
  except ValueError:
    name = ""
  return f"killed by signal {-returncode}{name}"


def took_no_part(task: Task) -> str:
  """Returns a message about a task with exit status 0 that did nothing."""
  return (
      f"{task.name} ended with exit status 0, but took no part in the job: it "
      "never called adanet.train_and_evaluate or adanet.Estimator.train.")


class Supervision:
  """Decides about the tasks of one job.

  Attributes:
    is_ending: whether all tasks are asked to end, and nothing is started again.
    awaits_chief: whether the job was stopped while the chief was starting
      again. The parameter servers have the steps trained meanwhile, and only
      the chief can save the steps. So the chief works before stopping.
    has_unsaved: whether the job was stopped, and the lost chief never worked
      again.
    problem: why the job ended without a failure: a line for the user, or None.
  """

  def __init__(self, tasks: Sequence[Task], max_restarts: int):
    """All tasks have just been started."""
    self._max_restarts = max_restarts
    self._num_restarts = {task: 0 for task in tasks}
    # By the number of a training: a program may train more than once.
    self._folders: Dict[int, Dict[Task, str]] = {}
    self._has_worked: Set[Task] = set()
    self._unfinished = set(tasks)
    # In the order of time: tasks that have not worked again since they failed.
    self._failures: Dict[Task, Failure] = {}
    self.status = 0
    self.is_ending = False
    self.problem: Optional[str] = None
    self.awaits_chief = False
    self.has_unsaved = False

  @property
  def is_over(self) -> bool:
    """Whether no task will run again."""
    return not self._unfinished

  @property
  def unfinished(self) -> List[Task]:
    """The tasks that run, or will run again."""
    return [task for task in self._num_restarts if task in self._unfinished]

  @property
  def is_chief_done(self) -> bool:
    """Whether training is over."""
    return not any(task.job == CHIEF for task in self._unfinished)

  @property
  def failures(self) -> List[Failure]:
    """The failures that ended the job, in the order of time.

    Failed tasks that work again are left out. A lost task makes other tasks
    fail, so look at the first failure.
    """
    if not self.is_ending or not self.status:
      return []
    return list(self._failures.values())

  def _give_up(self, problem):
    """Ends the job because of a mistake in the program."""
    self.stop(_EXIT_FAILURE)
    self.problem = problem

  def joined(self, task: Task, model_dir: str,
             job_number: int = 1) -> None:
    """Handles the report of a task that takes part.

    Args:
      model_dir: the folder of the task's search, absolute.
      job_number: the number of the training in the program.
    """
    folders = self._folders.setdefault(job_number, {})
    folders[task] = model_dir
    other, folder = next(iter(folders.items()))
    if folder != model_dir and not self.is_ending:
      self._give_up(
          f"{other.name} has the model_dir {folder!r}, and {task.name} has "
          f"{model_dir!r}: all tasks must have the same. Leave it out of the "
          "RunConfig, and give --model_dir.")

  def works(self, task: Task) -> None:
    """Handles the report of a task that has begun to work."""
    self._has_worked.add(task)
    if task.job == CHIEF:
      self.awaits_chief = self.has_unsaved = False
    if not self.is_ending:
      self._failures.pop(task, None)

  def stop(self, status: int) -> None:
    """The job is asked to stop; nothing is started again."""
    if not self.is_ending:
      self.awaits_chief = self.has_unsaved = any(
          task.job == CHIEF and failure.has_worked
          for task, failure in self._failures.items())
      self._failures.clear()
    self.is_ending = True
    self.status = status

  def _took_no_part(self, task):
    """Returns whether a task never worked for the job."""
    return (task not in self._has_worked and
            not any(task in folders for folders in self._folders.values()) and
            task.job != EVALUATOR and not self.is_chief_done)

  def ended(self, task: Task, returncode: int) -> Decision:
    """Decides on the next step after the end of a task.

    Args:
      returncode: the exit status, or the negative number of the signal that
        killed the task.
    """
    if not self.is_ending and not returncode and self._took_no_part(task):
      self._give_up(took_no_part(task))
      self._unfinished.discard(task)
      return Decision(ends_job=True)
    if task.job == CHIEF:
      self.awaits_chief = False
    if self.is_ending or not returncode:
      self._unfinished.discard(task)
      return Decision()
    if task.job == CHIEF and returncode in STOPPED:
      self._unfinished.discard(task)
      self.stop(returncode)
      return Decision(
          ends_job=True, warning="The chief was stopped, and the job with it.")
    num_restarts = self._num_restarts[task]
    failure = Failure(task, returncode, num_restarts, task in self._has_worked)
    if self.is_chief_done:
      self._unfinished.discard(task)
      return Decision(warning=f"{task.name} failed when training was over: "
                              f"{failure.message()}.")
    self._failures[task] = failure  # At its old place, if it has one.
    can_restart = failure.has_worked or returncode < 0
    if not can_restart or num_restarts >= self._max_restarts:
      self._unfinished.discard(task)
      self.is_ending = True
      self.status = next(iter(self._failures.values())).status
      return Decision(ends_job=True)
    self._num_restarts[task] += 1
    # The limit of the exponent is for the arithmetic only.
    delay_secs = min(_MAX_DELAY_SECS, 2. ** min(num_restarts, 10))
    return Decision(
        restart_secs=delay_secs,
        warning=f"{task.name} failed: {how_it_ended(returncode)}. It starts "
                f"again in {delay_secs:.0f} s (restart {num_restarts + 1} of "
                f"{self._max_restarts}).")

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The next step when a task of a job ends. No clock, no process: decisions."""

import signal
from typing import Dict, List, NamedTuple, Optional, Sequence, Set

from adanet.console import wording
from adanet.launch import job as job_lib

_EXIT_FAILURE = 1
_MAX_DELAY_SECS = 30.

# How a task exits that was asked to stop, and has stopped in order.
STOPPED = (128 + signal.SIGTERM, 128 + signal.SIGINT)


class Decision(NamedTuple):
  """The decision after a task has ended.

  Attributes:
    ends_job: whether to end all tasks.
    restart_secs: after how many seconds to start the task again; None for
      never.
    warning: a line to print, or None.
  """
  ends_job: bool = False
  restart_secs: Optional[float] = None
  warning: Optional[str] = None


class Failure(NamedTuple):
  """A task that failed.

  Attributes:
    task: which.
    returncode: its exit status, or the negative number of its signal.
    num_restarts: how often it had been started again.
    has_worked: whether it had ever begun to work.
  """
  task: job_lib.Task
  returncode: int
  num_restarts: int
  has_worked: bool

  @property
  def status(self) -> int:
    """The exit status that a shell would show."""
    return exit_status(self.returncode)

  def message(self) -> str:
    """Says how it ended: "exit status 1, after 3 restarts"."""
    parts = [how_it_ended(self.returncode)]
    if not self.has_worked:
      parts.append("before it began to work")
    if self.num_restarts:
      parts.append("after " + wording.count(self.num_restarts, "restart"))
    return ", ".join(parts)


def exit_status(returncode: int) -> int:
  """Returns the exit status of a process; 128 + n if signal n killed it."""
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


def took_no_part(task: job_lib.Task) -> str:
  """Returns a message about a task that ended well, and did nothing."""
  return (
      f"{task.name} ended with exit status 0, but took no part in the job: it "
      "never called adanet.train_and_evaluate or adanet.Estimator.train.")


class Supervision:
  """Decides about the tasks of one job.

  Attributes:
    status: int, the exit status of the job, once it is over.
    is_ending: whether all tasks are asked to end, and nothing is started again.
    awaits_chief: whether the job was stopped while its chief was starting
      again. The parameter servers have the steps trained meanwhile, and only
      the chief can save it. So it works first, and stops then.
    has_unsaved: whether the job was stopped, and its lost chief never worked
      again.
    problem: why the job ended without a failure: a line for the user, or None.
  """

  def __init__(self, tasks: Sequence[job_lib.Task], max_restarts: int):
    """All tasks have just been started.

    Args:
      tasks: the tasks.
      max_restarts: how often each task is started again at most.
    """
    self._max_restarts = max_restarts
    self._num_restarts = {task: 0 for task in tasks}
    # By the number of a training: a program may train more than once.
    self._folders: Dict[int, Dict[job_lib.Task, str]] = {}
    self._has_worked: Set[job_lib.Task] = set()
    self._unfinished = set(tasks)
    # In the order of time: tasks that have not worked again since they failed.
    self._failures: Dict[job_lib.Task, Failure] = {}
    self.status = 0
    self.is_ending = False
    self.problem: Optional[str] = None
    self.awaits_chief = False
    self.has_unsaved = False

  @property
  def is_over(self) -> bool:
    """Whether no task is left that will run again."""
    return not self._unfinished

  @property
  def unfinished(self) -> List[job_lib.Task]:
    """The tasks that run, or will run again."""
    return [task for task in self._num_restarts if task in self._unfinished]

  @property
  def is_chief_done(self) -> bool:
    """Whether training is over."""
    return not any(task.job == job_lib.CHIEF for task in self._unfinished)

  @property
  def failures(self) -> List[Failure]:
    """The failures that ended the job, the first one first; or none.

    A task that failed, was restarted, and works again is not among them. Tasks
    fall when another is lost, so the first in time is the one to look at.
    """
    if not self.is_ending or not self.status:
      return []
    return list(self._failures.values())

  def _give_up(self, problem):
    """Ends the job because of a mistake in the program."""
    self.stop(_EXIT_FAILURE)
    self.problem = problem

  def joined(self, task: job_lib.Task, model_dir: str,
             job_number: int = 1) -> None:
    """A task reports that it takes part.

    Args:
      task: which.
      model_dir: the folder of its search, absolute.
      job_number: the number of this training in the program.
    """
    folders = self._folders.setdefault(job_number, {})
    folders[task] = model_dir
    other, folder = next(iter(folders.items()))
    if folder != model_dir and not self.is_ending:
      self._give_up(
          f"{other.name} has the model_dir {folder!r}, and {task.name} has "
          f"{model_dir!r}: all tasks must have the same. Leave it out of the "
          "RunConfig, and give --model_dir.")

  def works(self, task: job_lib.Task) -> None:
    """A task reports that it has begun to work."""
    self._has_worked.add(task)
    if task.job == job_lib.CHIEF:
      self.awaits_chief = self.has_unsaved = False
    if not self.is_ending:
      self._failures.pop(task, None)

  def stop(self, status: int) -> None:
    """The job is asked to stop; nothing is started again.

    Args:
      status: the exit status of the job from now on.
    """
    if not self.is_ending:
      self.awaits_chief = self.has_unsaved = any(
          task.job == job_lib.CHIEF and failure.has_worked
          for task, failure in self._failures.items())
      self._failures.clear()
    self.is_ending = True
    self.status = status

  def _took_no_part(self, task):
    """Returns whether a task never did its work for the job."""
    return (task not in self._has_worked and
            not any(task in folders for folders in self._folders.values()) and
            task.job != job_lib.EVALUATOR and not self.is_chief_done)

  def ended(self, task: job_lib.Task, returncode: int) -> Decision:
    """Decides on the next step after the end of a task.

    Args:
      task: which.
      returncode: its exit status, or the negative number of the signal that
        killed it.
    """
    if not self.is_ending and not returncode and self._took_no_part(task):
      self._give_up(took_no_part(task))
      self._unfinished.discard(task)
      return Decision(ends_job=True)
    if task.job == job_lib.CHIEF:
      self.awaits_chief = False
    if self.is_ending or not returncode:
      self._unfinished.discard(task)
      return Decision()
    if task.job == job_lib.CHIEF and returncode in STOPPED:
      self._unfinished.discard(task)
      self.stop(returncode)
      return Decision(
          ends_job=True, warning="The chief was stopped, and the job with it.")
    num_restarts = self._num_restarts[task]
    failure = Failure(task, returncode, num_restarts, task in self._has_worked)
    if self.is_chief_done and task.job != job_lib.EVALUATOR:
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

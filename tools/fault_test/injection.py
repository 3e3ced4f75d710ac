# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs a job, breaks it as planned, and restarts what died."""

import contextlib
import errno
import glob
import os
import re
import signal
import sys
import time
from typing import Callable, Dict, List, NamedTuple, Optional, Set

from adanet import tf_compat
from adanet.core import events
from adanet.testing import jobs
from tools.fault_test import done
from tools.fault_test import plan

STEPS = 100  # Of an iteration.
_SEARCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "search.py")
_OPERATION_TIMEOUT_SECS = 5.
_STOP_SECS = 8.  # Longer than that.
_RESTART_SECS = .5  # After which a supervisor starts a task again.
_FULL_SECS = 4.
_MOMENT_SECS = 240.  # How long a moment may be away.
_RECOVERY_SECS = 150.
_END_SECS = 150.
# The step of a candidate, as a checkpoint names it.
_STEP = re.compile(r"adanet/iteration_(\d+)/(?:subnetwork|ensemble)_(.+)/step")


class Outcome(NamedTuple):
  """What came of an injection.

  Attributes:
    fault: `Fault`.
    iteration: int, where the chief was.
    step: int, the greatest global step before.
    saved: int, that of the last checkpoint before.
    step_after: int, the first global step after; None if there was none.
    seconds: float, from the restart to the next step; None if none came.
    problem: str, what is wrong, or "".
  """
  fault: plan.Fault
  iteration: int
  step: int
  saved: int
  step_after: Optional[int] = None
  seconds: Optional[float] = None
  problem: str = ""


def _saved_steps(checkpoint):
  """Returns how far each candidate is in a checkpoint."""
  try:
    reader = tf_compat.v1.train.NewCheckpointReader(checkpoint)
    return {(int(match.group(1)), match.group(2)): int(reader.get_tensor(name))
            for name, match in (
                (name, _STEP.fullmatch(name))
                for name in reader.get_variable_to_shape_map()) if match}
  except tf_compat.v1.errors.OpError:
    return {}  # A later one has replaced it.


def _children(pid):
  """Returns the processes that descend from a process."""
  parents = {}
  for name in os.listdir("/proc"):
    if name.isdigit():
      with contextlib.suppress(OSError):
        with open(f"/proc/{name}/stat") as f:
          fields = f.read().rpartition(")")[2].split()
        if fields[0] not in "ZX":
          parents[int(name)] = int(fields[1])
  children, new = set(), {pid}
  while new:
    new = {p for p, parent in parents.items() if parent in new} - children
    children |= new
  return children


class BrokenJob:
  """A job, and what is done to it.

  Attributes:
    job: `Job`.
    outcomes: list of `Outcome`.
  """

  def __init__(self, what: plan.JobPlan, folder: str, model_dir: str):
    """Starts nothing.

    Args:
      what: `JobPlan`.
      folder: str, an empty one for its logs.
      model_dir: str.
    """
    self._plan = what
    self._model_dir = model_dir
    self.outcomes: List[Outcome] = []
    command = [
        sys.executable, _SEARCH, "--model_dir=" + model_dir,
        "--strategy=" + what.strategy, f"--steps={STEPS}",
        f"--iterations={what.iterations}",
        f"--timeout_secs={_OPERATION_TIMEOUT_SECS}"]
    environ = {"TF_CPP_MIN_LOG_LEVEL": "2"}
    if what.has_id:
      environ["ADANET_JOB_ID"] = folder
    self.job = jobs.Job(
        lambda: os.execv(command[0], command),
        {"chief": 1, "worker": what.workers, "ps": 2, "evaluator": 1},
        folder, environ)
    self._saved = 0
    self._step = 0
    self._iteration = 0
    self._over = False
    # Killed by this process, and since when; stopped by it.
    self._killed: Dict[str, float] = {}
    self._stopped: Set[str] = set()
    self._problems: List[str] = []
    self._done = done.Done()
    self._winners: Dict[str, str] = {}  # From a file to what it says.

  # What happens in the job.

  def _take(self, seen):
    """Takes over an event."""
    event = seen.event
    step = getattr(event, "global_step", None)
    if isinstance(event, events.CheckpointSaved):
      self._saved = max(self._saved, step)
      self._done.save(seen.secs, {
          **_saved_steps(event.path), done.GLOBAL_STEP: step})
    if isinstance(event, events.Progress):
      self._problems += [
          f"{seen.task}: {problem}" for problem in self._done.reach(seen.secs, {
              (event.iteration_number, name): count
              for name, count in event.steps.items()})]
    if isinstance(event, (events.Progress, events.Resumed)):
      self._problems += [
          f"{seen.task}: {problem}" for problem in self._done.reach(
              seen.secs, {done.GLOBAL_STEP: step})]
      self._step = max(self._step, step)
      if seen.task == "chief:0":
        self._iteration = event.iteration_number
    if isinstance(event, events.TrainingEnded):
      self._over = True

  def _look_at_winners(self):
    """Notes where a winner was chosen anew."""
    for path in glob.glob(f"{self._model_dir}/architecture-*.json"):
      if path not in self._winners:
        with open(path) as f:
          self._winners[path] = f.read()
      elif os.stat(path).st_size != len(self._winners[path]):
        self._problems.append(f"{path} was written again")

  def _supervise(self):
    """Restarts what died, and notes what should not have."""
    now = time.monotonic()
    for name in self.job.names:
      status = self.job.status(name)
      if status is None:
        continue
      if name in self._killed:
        if now - self._killed[name] >= _RESTART_SECS:
          del self._killed[name]
          self.job.start(name)
      elif status:
        self._problems.append(f"{name} ended with {status}")
        self._killed[name] = now
      elif not self._over:
        self._over = True
        self._problems.append(f"{name} ended with 0 too early")

  def _poll(self, secs=.01):
    """Lets the job go on for a moment, and returns what is new."""
    new = self.job.poll(secs)
    for seen in new:
      self._take(seen)
    if new:
      self._look_at_winners()
    self._supervise()
    return new

  def _pause(self, secs):
    end = time.monotonic() + secs
    while time.monotonic() < end:
      self._poll(max(0., min(.01, end - time.monotonic())))

  @property
  def _has_ended(self):
    return not self._killed and not self.job.running

  # When.

  def _is_writing(self):
    with contextlib.suppress(OSError):
      return any(re.search(r"ckpt-.*(_temp|\.tempstate)", name)
                 for name in os.listdir(self._model_dir))
    return False

  def _is_moment(self, fault, new):
    """Returns whether the moment of a fault has come, by what is new."""
    chief = [s.event for s in new if s.task == "chief:0"]
    total = STEPS * self._plan.iterations
    if fault.moment == plan.START:
      return True
    if fault.moment == plan.STEP:
      return any(isinstance(e, events.Progress) and
                 .1 < e.global_step / STEPS - e.iteration_number < .7
                 for e in chief)
    if fault.moment == plan.WRITE:
      return self._is_writing()
    if fault.moment == plan.SELECTION:
      return any(isinstance(e, events.Progress) and
                 min(e.steps.values(), default=0) >= STEPS for e in chief)
    if fault.moment == plan.BETWEEN:
      return any(isinstance(e, events.IterationEnded) for e in chief)
    # The last second: before the last step, before the winner, or in the end.
    third = int(fault.chance * 3)
    return any(
        isinstance(e, events.Progress) and e.global_step >= .85 * total
        if third == 0 else
        isinstance(e, events.CheckpointSaved) and e.global_step >= total
        if third == 1 else isinstance(e, events.TrainingEnded) for e in chief)

  def _await_moment(self, fault):
    """Returns whether the moment has come; not if the job has ended."""
    end = time.monotonic() + _MOMENT_SECS
    poll_secs = .001 if fault.moment == plan.WRITE else .01
    while not self._is_moment(fault, self._poll(poll_secs)):
      if self._has_ended or self._over and fault.moment != plan.LAST:
        return False
      if time.monotonic() > end:
        raise jobs.JobError(f"no {fault.moment} within {_MOMENT_SECS:g} s")
    longest = {plan.START: 5., plan.STEP: .4, plan.SELECTION: .15,
               plan.BETWEEN: 1., plan.LAST: .3}
    self._pause(longest.get(fault.moment, 0.) * (fault.chance * 3 % 1))
    return True

  # What.

  def _fill(self, path):
    """Fills the disk."""
    with open(path, "wb", buffering=0) as f:
      size = 1 << 20
      while size:
        try:
          f.write(b"x" * size)
        except OSError as e:
          if e.errno != errno.ENOSPC:
            raise
          size //= 2

  def _inject(self, fault):
    """Breaks something, and returns the tasks and since when they may work."""
    names = list(self.job.names) if fault.target == "all" else [
        f"{fault.target}:{fault.index}"]
    if fault.kind == plan.FULL_DISK:
      filler = os.path.join(os.path.dirname(self._model_dir), "filler")
      self._fill(filler)
      end = time.monotonic() + _FULL_SECS
      while time.monotonic() < end:
        self._pause(.2)
        self._fill(filler + ".rest")  # What others have freed meanwhile.
      os.remove(filler)
      os.remove(filler + ".rest")
      return names, time.monotonic()
    if fault.kind == plan.STOP:
      names = [name for name in names if self.job.signal(name, signal.SIGSTOP)]
      self._pause(_STOP_SECS)
      for name in names:
        self.job.signal(name, signal.SIGCONT)
      return names, time.monotonic()
    for name in names:  # All at once, as far as possible.
      if self.job.status(name) is None and len(names) > 1:
        self.job.signal(name, signal.SIGSTOP)
    names = [name for name in names if self.job.signal(name, signal.SIGKILL)]
    now = time.monotonic()
    self._killed.update((name, now) for name in names)
    while self._killed:
      self._poll()
    if fault.target in ("ps", "all"):
      # Not before: what tasks say until they die is among what is lost.
      self._done.lose()
    return names, time.monotonic()

  def _steps_since(self, name, since):
    """Returns (when, global step) of steps of a task."""
    steps = []
    for seen in self.job.seen:
      if seen.task != name or seen.secs < since:
        continue
      if isinstance(seen.event, events.Progress):
        steps.append((seen.secs, seen.event.global_step))
      elif isinstance(seen.event, events.TrainingEnded):
        steps += [(seen.secs, seen.event.global_step), (seen.secs, -1)]
    return steps

  def _next_step(self, fault, name, since):
    """Returns (when, global step) of the first step; None if there is none."""
    if self.job.status(name) == 0 and name not in self._killed:
      return self.job.ended(name), None
    if name == "evaluator:0":
      for seen in self.job.seen:
        if (seen.task == name and seen.secs >= since or
            fault.kind != plan.KILL):
          return max(since, seen.secs), None
      return None
    if fault.kind == plan.FULL_DISK:
      for seen in self.job.seen:
        if seen.secs >= since and isinstance(
            seen.event, (events.CheckpointSaved, events.TrainingEnded)):
          return seen.secs, seen.event.global_step
      return None
    is_ps = name.startswith("ps")
    steps = self._steps_since("chief:0" if is_ps else name, since)
    if is_ps or fault.kind == plan.STOP:
      # Of a process that lived on: the first one may have been underway.
      if is_ps and self.job.status("chief:0") == 0:
        return self.job.ended("chief:0"), None
      different = [f for f in steps if f[1] != steps[0][1]]
      return different[0] if different else None
    return steps[0] if steps else None

  def _recover(self, fault, names, since):
    """Waits for the next steps; returns the first step, and the seconds."""
    end = time.monotonic() + _RECOVERY_SECS
    while True:
      next_steps = [self._next_step(fault, name, since) for name in names]
      if None not in next_steps:
        break
      if time.monotonic() > end:
        raise jobs.JobError("{} took no step in {:g} s".format(", ".join(
            name for name, f in zip(names, next_steps) if f is None),
                                                               _RECOVERY_SECS))
      self._poll()
    steps = [step for _, step in next_steps if step is not None and step >= 0]
    return (steps[0] if steps else None,
            max([when - since for when, _ in next_steps] + [0.]))

  def _break(self, fault):
    """Does one injection; returns whether its moment came."""
    before = Outcome(fault, self._iteration, self._step, self._saved)
    try:
      if not self._await_moment(fault):
        return False
      before = Outcome(fault, self._iteration, self._step, self._saved)
      names, since = self._inject(fault)
      step, seconds = self._recover(fault, names, since)
      self.outcomes.append(before._replace(
          step_after=step, seconds=seconds, problem="; ".join(self._problems)))
    except jobs.JobError as error:
      self.outcomes.append(before._replace(
          problem="; ".join(self._problems + [str(error)])))
    self._problems = []
    return True

  # The end.

  def _end(self):
    """Waits for the end of all tasks; returns what is wrong."""
    end = time.monotonic() + _END_SECS
    while not self._has_ended:
      self._poll()
      if time.monotonic() > end:
        return f"{', '.join(self.job.running)} do not end"
    problems = list(self._problems)
    if self._over:
      total = STEPS * self._plan.iterations
      if self._step < total:
        problems.append(f"it ended at step {self._step} of {total}")
      for i in range(self._plan.iterations - 1):
        if not glob.glob(f"{self._model_dir}/architecture-{i}.json"):
          problems.append(f"iteration {i} has no winner")
    if self.job.listening():
      problems.append(f"ports {self.job.listening()} are open")
    if _children(os.getpid()):
      problems.append(f"processes are left: {_children(os.getpid())}")
    return "; ".join(problems)

  def run(self, log: Callable[[Outcome], None]) -> List[plan.Fault]:
    """Runs the job to its end.

    Args:
      log: called with each outcome.

    Returns:
      The faults whose moments did not come.
    """
    left = []
    self.job.start_all()
    for fault in self._plan.faults:
      if not self._break(fault):
        left.append(fault)
        continue
      log(self.outcomes[-1])
      if self.outcomes[-1].problem:
        return left
    problem = self._end()
    if problem and self.outcomes:
      self.outcomes[-1] = self.outcomes[-1]._replace(problem=problem)
      log(self.outcomes[-1])
    return left

  def report(self) -> str:
    """Returns the last lines of all logs."""
    return self.job.report()

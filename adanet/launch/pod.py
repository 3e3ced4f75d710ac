# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs the task of a Kubernetes pod, as the first process of a container."""

import os
import signal
import subprocess
import threading
from typing import Callable, Mapping, Optional, Sequence

from adanet import log as logging
from adanet import messages
from adanet import waiting
from adanet.engines.cluster import addresses
from adanet.launch import display as display_lib
from adanet.launch import job as job_lib
from adanet.launch import kubernetes

# An image may take minutes to arrive at a node.
_NAMES_TIMEOUT_SECS = 900.
_NAMES_PAUSE_SECS = 1.


class PodStopped(BaseException):
  """The pod was asked to stop before the program ran.

  No Exception, because the signal comes at any moment, as for
  KeyboardInterrupt: logging, for example, goes on after an Exception.
  """

  def __init__(self, number: int):
    super().__init__(f"stopped by signal {number}")
    self.status = job_lib.exit_status(-number)


def wait_for_names(job: job_lib.Job,
                   timeout_secs: float = _NAMES_TIMEOUT_SECS) -> None:
  """Waits until the names of all pods of a job resolve.

  A pod without an address has no name, and a name that does not resolve is an
  error in TensorFlow and in the runtime of a task.
  """
  wait = waiting.Wait(
      timeout_secs, "see why their pods do not start with kubectl get pods")
  missing = {
      task.name: job.addresses[task.job][task.index]
      for task in job.tasks() if task.job != job_lib.EVALUATOR
  }

  def message():
    parts = [f"{name} ({address})" for name, address in missing.items()]
    return (f"the {'name' if len(missing) == 1 else 'names'} of "
            f"{messages.list_names(parts)}")

  while True:
    missing = {
        name: address for name, address in missing.items()
        if not _resolves(name, address)
    }
    if not missing:
      wait.done()
      return
    wait.pause(_NAMES_PAUSE_SECS, message)


def _resolves(name: str, address: str) -> bool:
  try:
    addresses.check({name: address})
  except addresses.AddressError:
    return False
  return True


def run(command: Sequence[str], environ: Mapping[str, str],
        warn: Callable[[str], None], model_dir: Optional[str] = None,
        wait: Callable[[job_lib.Job], None] = wait_for_names) -> int:
  """Runs the program of the pod's task to the end.

  Passes SIGTERM and SIGINT to the program, because the kernel does not end the
  first process of a container by signals.

  Args:
    wait: returns when the program can start.

  Returns:
    The exit status of the pod: the status of the program, or 128 + n if signal
    n ended the program. `kubernetes.WRONG_PROGRAM` if the program took no part
    in the job, or failed at the first start of the task before working.
  """
  place = kubernetes.place(environ)
  signals = _Signals()
  try:
    wait(place.job)
    signals.hold()
    reader, writer = os.pipe()
    try:
      popen = subprocess.Popen(
          list(command),
          env=dict(environ, ADANET_EVENTS_FD=str(writer),
                   **place.environment(model_dir)),
          pass_fds=[writer])
    except BaseException:
      os.close(reader)
      raise
    finally:
      os.close(writer)
    events = _Events(reader, place.task, warn)
    signals.pass_to(popen)
    returncode = popen.wait()
    events.finish()
  except PodStopped as e:
    return e.status
  finally:
    signals.restore()
  if (not returncode and place.task.job != job_lib.EVALUATOR and
      not events.has_joined):
    logging.error(job_lib.took_no_part(place.task))
    return kubernetes.WRONG_PROGRAM
  if (returncode > 0 and returncode not in job_lib.STOPPED and
      kubernetes.is_first_start(environ) and not events.has_worked):
    return kubernetes.WRONG_PROGRAM
  return job_lib.exit_status(returncode)


class _Signals:
  """Lets SIGTERM and SIGINT end a wait, and later passes both to the program.
  """

  def __init__(self):
    self._popen = None
    self._held = None
    self._old = {
        number: signal.signal(number, self._take)
        for number in (signal.SIGTERM, signal.SIGINT)
    }

  def _take(self, number, unused_frame):
    if self._popen is not None:
      self._popen.send_signal(number)
    elif self._held is not None:
      self._held.append(number)
    else:
      raise PodStopped(number)

  def hold(self):
    """From now on a signal waits for the program."""
    self._held = []

  def pass_to(self, popen):
    """From now on the program gets all signals."""
    self._popen = popen
    for number in self._held:
      popen.send_signal(number)

  def restore(self):
    for number, handler in self._old.items():
      signal.signal(number, handler)


class _Events:
  """Shows the reports of the program until the end.

  Attributes, to be read after `finish`:
    has_joined: whether the program took part in the job.
    has_worked: whether the program has begun to work.
  """

  def __init__(self, fd, task, warn):
    self.has_joined = False
    self.has_worked = False
    self._task = task
    self._display = display_lib.Display(
        [task], self._joins, self._works, warn)
    self._thread = threading.Thread(target=self._read, args=(fd,), daemon=True)
    self._thread.start()

  def _joins(self, unused_task, unused_model_dir, unused_job_number):
    self.has_joined = True

  def _works(self, unused_task):
    self.has_joined = self.has_worked = True

  def _read(self, fd):
    with os.fdopen(fd, encoding="utf-8", errors="replace") as f:
      with self._display as display:
        for line in f:
          display.add(self._task, line.rstrip("\n"))

  def finish(self) -> None:
    """Waits until all reports of the program are read."""
    # A process that the program started may still have the pipe.
    self._thread.join(1.)

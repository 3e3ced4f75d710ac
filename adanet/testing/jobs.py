# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Jobs of real processes, which a test starts, watches, breaks and ends.

    job = jobs.Job(program, {"chief": 1, "worker": 2, "ps": 2}, folder)
    try:
      job.start_all()
      job.await_step(10)
      job.signal("ps:0", signal.SIGKILL)
      job.start("ps:0")
      job.finish(60.)
    finally:
      job.close()

A task tells its events through a pipe; its output is in a file.
"""

import json
import os
import selectors
import signal
import socket
import time
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional

from adanet.core import events
from adanet.progress import reporter
from adanet.testing import processes

_SLOWNESS = 5.
_POLL_SECS = .01


class JobError(AssertionError):
  """The job does not do the expected work."""


class Seen(NamedTuple):
  """An event of a task.

  Attributes:
    secs: float, when it was read; of `time.monotonic`.
    task: str, such as "worker:1".
    event: one of `adanet.core.events`.
  """
  secs: float
  task: str
  event: Any


class _Task(processes.Process):
  """A task, which writes its events to its connection."""

  def __init__(self, run: Callable[[], None], log: str,
               environ: Dict[str, str]):
    def as_task(connection):
      output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
      for number in (1, 2):
        os.dup2(output, number)
      os.set_inheritable(connection.fileno(), True)
      os.environ.update(environ)
      os.environ[reporter.EVENTS_FD] = str(connection.fileno())
      run()

    super().__init__(as_task)
    self._text = b""
    os.set_blocking(self.connection.fileno(), False)

  def read(self) -> List[bytes]:
    """Returns the lines of its events that are there."""
    while True:
      try:
        data = os.read(self.connection.fileno(), 1 << 16)
      except BlockingIOError:
        break
      if not data:
        break
      self._text += data
    lines = self._text.split(b"\n")
    self._text = lines.pop()
    return lines


class Job:
  """The tasks of a cluster on this machine.

  Attributes:
    folder: str, where the logs are, and "model_dir".
    seen: list of `Seen`, in order.
    names: list of str, the names of all tasks, such as "ps:1".
    cluster: dict from job to list of addresses.
    ports: list of int.
  """

  def __init__(self, run: Callable[[], None],
               tasks: Dict[str, int], folder: str,
               environ: Optional[Dict[str, str]] = None):
    """Takes the tasks to start, and starts nothing.

    Args:
      run: the work of a task, in a process of its own, by its TF_CONFIG.
      tasks: from job, such as "ps", to how many there are.
      folder: str.
      environ: more of the environment of all tasks.
    """
    self.folder = folder
    self.seen: List[Seen] = []
    self.names = [f"{job}:{i}"
                  for job, count in tasks.items() for i in range(count)]
    # An evaluator has no server.
    self.cluster = processes.free_cluster(**{
        job: count for job, count in tasks.items() if job != "evaluator"})
    self.ports = [int(address.rpartition(":")[2])
                  for job in self.cluster.values() for address in job]
    self._run = run
    self._environ = environ or {}
    self._processes: Dict[str, _Task] = {}
    self._next_read = 0

  def start(self, name: str, environ: Optional[Dict[str, str]] = None) -> None:
    """Starts a task, also again."""
    old = self._processes.pop(name, None)
    if old is not None:
      assert old.status is not None, name
      old.connection.close()
    job, _, index = name.partition(":")
    config = json.dumps({
        "cluster": self.cluster, "task": {"type": job, "index": int(index)}})
    self._processes[name] = _Task(
        self._run, self.log_path(name),
        dict(self._environ, TF_CONFIG=config, **(environ or {})))

  def start_all(self) -> None:
    """Starts all tasks."""
    for name in self.names:
      self.start(name)

  def log_path(self, name: str) -> str:
    """Returns the file with the output of a task."""
    return os.path.join(self.folder, name.replace(":", "-") + ".log")

  def log(self, name: str) -> str:
    """Returns the output of a task; none of one that has just been forked."""
    try:
      with open(self.log_path(name), errors="replace") as f:
        return f.read()
    except FileNotFoundError:
      return ""

  def started(self, name: str) -> float:
    """Returns when the task was started last; of `time.monotonic`."""
    return self._processes[name].started

  def ended(self, name: str) -> float:
    """Returns when the task has ended; of `time.monotonic`."""
    return self._processes[name].ended

  def status(self, name: str) -> Optional[int]:
    """Returns the exit status; negative for a signal; None if it runs."""
    return self._processes[name].status

  @property
  def running(self) -> List[str]:
    """The names of the tasks that run."""
    return [name for name in self._processes if self.status(name) is None]

  def signal(self, name: str, number: int) -> bool:
    """Sends a signal; returns whether the task still ran.

    It waits for the end of a task that it kills.
    """
    process = self._processes[name]
    return (process.kill() if number == signal.SIGKILL
            else process.signal(number))

  def read(self) -> None:
    """Reads the events that are there."""
    for name, process in self._processes.items():
      for line in process.read():
        self.seen.append(Seen(
            time.monotonic(), name,
            reporter.from_json_line(line.decode("utf-8"))))

  def poll(self, secs: float = _POLL_SECS) -> List[Seen]:
    """Waits for events, at most `secs`; returns the new ones."""
    with selectors.DefaultSelector() as selector:
      for process in self._processes.values():
        if process.status is None:
          selector.register(process.connection, selectors.EVENT_READ)
      if selector.get_map():
        selector.select(secs)
      else:
        time.sleep(secs)
    self.read()
    new = self.seen[self._next_read:]
    self._next_read = len(self.seen)
    return new

  def wait(self, condition: Callable[[], Any], secs: float, what: str) -> Any:
    """Waits until a condition holds, and returns its value.

    Args:
      condition: returns a value that is true when it holds.
      secs: float, how long to wait on an idle machine. It waits longer, because
        a machine that is busy with other things needs some times as long.
      what: str, what to wait for, for the error.

    Raises:
      JobError: it does not hold in time; the message has the logs.
    """
    secs *= _SLOWNESS
    end = time.monotonic() + secs
    while True:
      self.poll()
      value = condition()
      if value:
        return value
      if time.monotonic() > end:
        raise JobError(f"{what} did not come in {secs:g} s. {self.report()}")

  def progress(self, name: str = "", since: float = 0.) -> List[Seen]:
    """Returns the events of progress of a task, or of all."""
    return [s for s in self.seen if s.secs >= since and name in ("", s.task) and
            isinstance(s.event, events.Progress)]

  def await_step(self, step: int, name: str = "", since: float = 0.) -> int:
    """Waits until a task has reached a global step, and returns that."""
    def condition():
      return [s.event.global_step for s in self.progress(name, since)
              if s.event.global_step >= step]

    return self.wait(condition, 60., f"step {step} of {name or 'any task'}")[0]

  def finish(self, secs: float, status: int = 0,
             names: Iterable[str] = ()) -> None:
    """Waits until all tasks have ended.

    Raises:
      JobError: one has not, or has another exit status.
    """
    names = list(names) or list(self._processes)
    self.wait(lambda: not set(names) & set(self.running), secs, "the end")
    wrong = {name: self.status(name) for name in names
             if self.status(name) != status}
    if wrong:
      raise JobError(f"expected the exit status {status}, got {wrong}. "
                     f"{self.report()}")

  def listening(self) -> List[int]:
    """Returns the ports of the job on which somebody listens."""
    ports = []
    for port in self.ports:
      with socket.socket() as s:
        if not s.connect_ex(("127.0.0.1", port)):
          ports.append(port)
    return ports

  def report(self) -> str:
    """Returns the last lines of all tasks, for messages."""
    lines = [f"These run: {', '.join(self.running) or 'none'}."]
    for name, process in self._processes.items():
      lines.append(f"--- {name} (exit status {process.status}):")
      lines += self.log(name).splitlines()[-25:]
    return "\n".join(lines)

  def close(self) -> None:
    """Kills all that still runs."""
    for process in self._processes.values():
      process.kill()
      process.connection.close()
    self._processes = {}


def started(test: Any, run: Callable[[], None], tasks: Dict[str, int],
            folder: str = "") -> Job:
  """Returns a `Job` with all its tasks started; it ends with a test."""
  job = Job(run, tasks, folder or test.create_tempdir().full_path)
  test.addCleanup(job.close)
  job.start_all()
  return job

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs a job as processes of this machine, until all processes have ended.

One thread waits for signals, for output and events of tasks, and for due times.
With a single thread, the kernel can kill the tasks when the process ends: the
kernel kills a task at the end of the thread that started the task.
"""

import functools
import os
import selectors
import signal
import socket
import subprocess
import time
from typing import Callable, Dict, List, Mapping, Optional, Sequence, Set

from adanet.launch import display as display_lib
from adanet.launch import job as job_lib
from adanet.launch import processes

_EVENTS = "events"
_READ_BYTES = 1 << 16
_MAX_READS = 64  # A pipe holds at most 1 MB, by default 64 kB.
# How long tasks may take to end after they were asked to.
_STOP_SECS = 10.
# The same if the chief is starting again, and has to save first.
_SAVE_SECS = 60.
# How long tasks may take to end by themselves when training is over.
_END_SECS = 60.
# How long killed processes may take to end.
_KILL_SECS = 5.
# `timeout` sends a signal to the process and to its group, which is one Ctrl-C.
_SECS_BETWEEN_INTERRUPTS = .5


class _RunningTask:
  """A running task."""

  def __init__(self, task, popen, streams):
    self.task = task
    self.popen = popen
    self.streams = streams  # From a file descriptor to its name.
    self.buffers = {fd: display_lib.LineBuffer() for fd in streams}


class LocalJob:
  """The processes of a job."""

  def __init__(self,
               command: Sequence[str],
               environments: Mapping[job_lib.Task, Mapping[str, str]],
               supervision: job_lib.Supervision,
               output: display_lib.Output,
               report: Callable[[job_lib.Task, str], None],
               lose: Callable[[job_lib.Task], None],
               warn: Callable[[str], None]):
    """Starts nothing yet.

    Args:
      report: called with each line that a task writes to the file descriptor
        ADANET_EVENTS_FD of the environment. May call `supervision`.
      lose: called with each ended task that starts again.
    """
    self._command = list(command)
    self._environments = environments
    self._supervision = supervision
    self._output = output
    self._report = report
    self._lose = lose
    self._warn = warn
    self._selector = selectors.DefaultSelector()
    self._processes: Dict[int, _RunningTask] = {}
    # When each of these is due, in seconds of the monotonic clock.
    self._starts: Dict[job_lib.Task, float] = {}
    self._kills: Dict[job_lib.Task, float] = {}
    self._ends: Dict[job_lib.Task, float] = {}
    self._last_interrupt: Optional[float] = None
    self._is_chief_done = False
    self._late: Set[job_lib.Task] = set()

  def run(self) -> int:
    """Runs all tasks to the end; returns the exit status of the job."""
    signals = processes.stop_signals() | {
        processes.PARENT_KILLED, signal.SIGCHLD}
    reader, writer = socket.socketpair()
    with reader, writer, self._selector:
      writer.setblocking(False)
      reader.setblocking(False)
      old_fd = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
      old_handlers = {
          number: signal.signal(number, lambda *_: None) for number in signals}
      self._selector.register(reader, selectors.EVENT_READ)
      try:
        for task in self._environments:
          self._start(task)
        while not self._supervision.is_over:
          self._wait(reader)
      finally:
        processes.kill_descendants(_KILL_SECS)
        for process in list(self._processes.values()):
          self._close(process)
        signal.set_wakeup_fd(old_fd)
        for number, handler in old_handlers.items():
          signal.signal(number, handler)
    return self._supervision.status

  def _start(self, task):
    """Starts a task."""
    events, tasks_end = os.pipe()
    try:
      popen = subprocess.Popen(
          self._command,
          env=dict(self._environments[task], ADANET_EVENTS_FD=str(tasks_end)),
          stdin=subprocess.DEVNULL,
          stdout=subprocess.PIPE,
          stderr=subprocess.PIPE,
          bufsize=0,
          pass_fds=[tasks_end],
          # All that a task starts is in its session, and ends with it.
          start_new_session=True,
          # This process has one thread, so code may run between fork and exec.
          preexec_fn=functools.partial(
              processes.end_with_parent, os.getpid(), signal.SIGKILL))
    except BaseException:
      os.close(events)
      raise
    finally:
      os.close(tasks_end)
    process = _RunningTask(task, popen, {
        popen.stdout.fileno(): display_lib.STDOUT,
        popen.stderr.fileno(): display_lib.STDERR,
        events: _EVENTS,
    })
    self._processes[popen.pid] = process
    for fd in process.streams:
      os.set_blocking(fd, False)
      self._selector.register(fd, selectors.EVENT_READ, process)

  def _wait(self, reader):
    """Handles the next event."""
    due = [t for times in (self._starts, self._kills, self._ends)
           for t in times.values()]
    timeout = max(0., min(due) - time.monotonic()) if due else None
    numbers = set()
    for key, _ in self._selector.select(timeout):
      if key.fileobj is reader:
        numbers.update(reader.recv(_READ_BYTES))
      else:
        self._read(key.data, key.fd)
    for number in sorted(numbers - {signal.SIGCHLD}):
      self._take_signal(number)
    if signal.SIGCHLD in numbers:
      self._take_ended()
    self._take_due()

  def _read(self, process, fd):
    """Reads the waiting data; returns whether there may be more."""
    try:
      data = os.read(fd, _READ_BYTES)
    except BlockingIOError:
      return False
    buffer = process.buffers[fd]
    for line in buffer.add(data) if data else buffer.end():
      self._take_line(process, process.streams[fd], line)
    if not data:
      self._close_stream(process, fd)
    return bool(data)

  def _take_line(self, process, name, line):
    if name == _EVENTS:
      before = self._supervision.is_ending, self._supervision.awaits_chief
      self._report(process.task, line.decode("utf-8", "replace").rstrip("\n"))
      if before != (self._supervision.is_ending,
                    self._supervision.awaits_chief):
        self._end_all(_STOP_SECS)
    else:
      self._output.add(process.task, name, line)

  def _close_stream(self, process, fd):
    self._selector.unregister(fd)
    name = process.streams.pop(fd)
    if name == display_lib.STDOUT:
      process.popen.stdout.close()
    elif name == display_lib.STDERR:
      process.popen.stderr.close()
    else:
      os.close(fd)

  def _close(self, process):
    """Forgets a process, after reading all output."""
    for fd in list(process.streams):
      for _ in range(_MAX_READS):
        if fd not in process.streams or not self._read(process, fd):
          break
      if fd in process.streams:  # A process that has left the session has it.
        for line in process.buffers[fd].end():
          self._take_line(process, process.streams[fd], line)
        self._close_stream(process, fd)
    del self._processes[process.popen.pid]

  def _take_signal(self, number):
    """Stops or kills the job."""
    now = time.monotonic()
    if number == processes.PARENT_KILLED:
      self._supervision.stop(128 + signal.SIGKILL)
      self._end_all(0.)
      return
    if self._supervision.is_ending and number != signal.SIGINT:
      return
    if (self._last_interrupt is not None and
        now - self._last_interrupt < _SECS_BETWEEN_INTERRUPTS):
      return
    self._last_interrupt = now
    if self._supervision.is_ending:
      self._end_all(0.)
      return
    self._supervision.stop(128 + number)
    is_saved_first = self._supervision.awaits_chief
    secs = _SAVE_SECS if is_saved_first else _STOP_SECS
    self._warn("{}: all tasks end now, within {:.0f} s{}.{}".format(
        signal.Signals(number).name, secs,
        ", when the chief has started again and saved" * is_saved_first,
        " Ctrl-C kills them." if number == signal.SIGINT else ""))
    self._end_all(secs)

  def _end_all(self, secs):
    """Asks all tasks to end, and kills them later.

    While a chief starts again, the tasks that the chief needs to save are not
    asked.
    """
    now = time.monotonic()
    needed = [task for task in self._supervision.unfinished
              if secs and self._supervision.awaits_chief and
              task.job in (job_lib.CHIEF, job_lib.PS)]
    self._cancel([task for task in self._starts if task not in needed])
    self._starts = dict.fromkeys(self._starts, now)
    self._ends.clear()
    self._kills.update(dict.fromkeys(needed, now + secs))
    for process in self._processes.values():
      if process.task not in needed:
        self._end(process, secs)

  def _cancel(self, tasks):
    """Cancels the restart of tasks."""
    for task in list(tasks):
      del self._starts[task]
      self._supervision.ended(task, 0)

  def _end(self, process, secs):
    self._kills[process.task] = time.monotonic() + secs
    if secs:
      # Not its children: it may need them until it has saved a checkpoint.
      processes.send(process.popen.pid, signal.SIGTERM)
      # It may be stopped.
      processes.send(process.popen.pid, signal.SIGCONT)

  def _take_ended(self):
    """Handles the children that have ended."""
    while True:
      try:
        # The process id stays taken until all of its session has ended.
        ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
      except ChildProcessError:
        return
      if ended is None:
        return
      process = self._processes.get(ended.si_pid)
      if process is not None:
        self._kill_session(ended.si_pid)
      _, status = os.waitpid(ended.si_pid, 0)
      if process is not None:
        process.popen.returncode = (
            -os.WTERMSIG(status) if os.WIFSIGNALED(status)
            else os.WEXITSTATUS(status))
        self._close(process)
        self._decide(process.task, process.popen.returncode)

  def _kill_session(self, session):
    """Kills the remaining processes of an ended task."""
    end = time.monotonic() + _KILL_SECS
    while time.monotonic() < end:
      left = processes.in_session(session)
      if not left:
        return
      for pid in left:
        processes.send(pid, signal.SIGKILL)
      time.sleep(.01)

  def _decide(self, task, returncode):
    """Handles the end of a task."""
    self._kills.pop(task, None)
    was_awaited = self._supervision.awaits_chief
    decision = self._supervision.ended(
        task, 0 if task in self._late else returncode)
    if decision.restart_secs is None:
      self._ends.pop(task, None)
    if decision.warning:
      self._warn(decision.warning)
    if decision.ends_job or (
        was_awaited and not self._supervision.awaits_chief):
      self._end_all(_STOP_SECS)
    elif decision.restart_secs is not None:
      self._starts[task] = time.monotonic() + decision.restart_secs
      self._lose(task)
    if self._supervision.is_chief_done and not self._is_chief_done:
      self._is_chief_done = True
      self._end_later()

  def _end_later(self):
    """Training is over: gives the other tasks a limited time to end."""
    self._cancel(list(self._starts))
    now = time.monotonic()
    for task in self._supervision.unfinished:
      if task not in self._kills:
        self._ends[task] = now + _END_SECS

  def _take_due(self):
    """Starts and ends tasks when their time has come."""
    for task in self._due(self._starts):
      self._start(task)
    late = self._due(self._ends)
    self._late.update(late)
    self._cancel(task for task in late if task in self._starts)
    if late:
      self._warn("Training is over, but "
                 f"{', '.join((task.name for task in late))} did not end by "
                 f"{'itself' if len(late) == 1 else 'themselves'}. "
                 f"{'It is' if len(late) == 1 else 'They are'} ended now.")
    killed = self._due(self._kills)
    for process in list(self._processes.values()):
      if process.task in late:
        self._end(process, _STOP_SECS)
      if process.task in killed:
        processes.send(process.popen.pid, signal.SIGKILL)

  def _due(self, times: Dict[job_lib.Task, float]) -> List[job_lib.Task]:
    """Takes tasks out when their time has come."""
    now = time.monotonic()
    tasks = [task for task, due in times.items() if due <= now]
    for task in tasks:
      del times[task]
    return tasks

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Process trees on Linux: find descendants, and end processes together.

`run_guarded` runs a function in a child process, and no process that the
function starts outlives the child. If the child ends, the parent kills the
child's remaining processes. If the parent is killed, the child gets SIGUSR1,
and must kill all tasks at once. Tasks die with the child (see
`end_with_parent`), so tasks end even if parent and child are killed together.
"""

import ctypes
import errno
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from typing import (
    Any, Callable, Iterator, List, NamedTuple, Optional, Set)

PARENT_KILLED = signal.SIGUSR1

# From Linux's <linux/prctl.h>.
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36

_SECS_BETWEEN_LOOKS = .02
_SECS_BETWEEN_LOOKS_AT_PROGRAM = .5
_KILL_TIMEOUT_SECS = 10


class _ProcessIds(NamedTuple):
  pid: int
  parent: int
  session: int


def call_c(name: str, *args: Any) -> None:
  """Calls a function of the C library that returns -1 for a failure."""
  if getattr(ctypes.CDLL(None, use_errno=True), name)(*args) == -1:
    number = ctypes.get_errno()
    raise OSError(number, f"{name}: {os.strerror(number)}")


def adopt_orphans() -> None:
  """Makes this process the parent of descendants that lose their parent."""
  call_c("prctl", _PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_with_parent(parent: int, number: int) -> None:
  """Lets the kernel signal this process at any end of the parent.

  Args:
    parent: the process id of the parent. If the parent has ended already, the
      signal comes now.
  """
  call_c("prctl", _PR_SET_PDEATHSIG, number, 0, 0, 0)
  if os.getppid() != parent:
    os.kill(os.getpid(), number)


def end_with_program() -> None:
  """Lets a worker of a process pool end with the program.

  By default, the workers of a killed program stay, idle, with the memory of
  TensorFlow. With this initializer, the workers end within a second, even while
  the workers train. The next `train` resumes from the last checkpoints.
  `adanet.use_one_gpu` includes this function. For example::

      with ProcessPoolExecutor(2, multiprocessing.get_context("spawn"),
                               initializer=adanet.end_with_program) as pool:
        search.fit(x, y, executor=pool)

  Raises:
    RuntimeError: the process is no worker of a pool.
  """
  # Not the process's parent, which may be a server of forks.
  program = getattr(multiprocessing.current_process(), "_parent_pid", None)
  if program is None:
    raise RuntimeError(
        "end_with_program: expected a worker of a process pool. Give the "
        "function to the pool, as its initializer")

  def wait():
    if sys.version_info >= (3, 8):
      multiprocessing.parent_process().join()
    else:
      while not has_ended(program):
        time.sleep(_SECS_BETWEEN_LOOKS_AT_PROGRAM)
    os._exit(1)

  threading.Thread(target=wait, daemon=True).start()


def _read(pid: int) -> Optional[_ProcessIds]:
  """Returns the kernel's record of a process; None for an ended process."""
  try:
    with open(f"/proc/{pid}/stat", "rb") as f:
      # The name of the program, in parentheses, may have any character.
      fields = f.read().rpartition(b")")[2].split()
  except OSError as e:
    if e.errno not in (errno.ENOENT, errno.ESRCH):
      raise
    return None
  if fields[0] in (b"Z", b"X"):
    return None
  return _ProcessIds(pid, int(fields[1]), int(fields[3]))


def has_ended(pid: int) -> bool:
  """Returns whether a process has ended, as a zombie has."""
  return _read(pid) is None


def _living() -> Iterator[_ProcessIds]:
  """Yields all running processes."""
  for name in os.listdir("/proc"):
    process = _read(int(name)) if name.isdigit() else None
    if process is not None:
      yield process


def descendants(pid: int) -> Set[int]:
  """Returns the process ids of all descendants of a process."""
  children: dict = {}
  for process in _living():
    children.setdefault(process.parent, []).append(process.pid)
  pids: Set[int] = set()
  new = [pid]
  while new:
    new = [child for parent in new for child in children.get(parent, ())
           if child not in pids]
    pids.update(new)
  return pids


def in_session(session: int) -> List[int]:
  """Returns the process ids of a session."""
  return [p.pid for p in _living() if p.session == session]


def send(pid: int, number: int) -> None:
  """Sends a signal to a process, unless the process has ended."""
  try:
    os.kill(pid, number)
  except ProcessLookupError:
    pass


def reap() -> None:
  """Reaps the ended children of this process."""
  try:
    while os.waitpid(-1, os.WNOHANG)[0]:
      pass
  except ChildProcessError:
    pass


def kill_descendants(timeout_secs: float) -> Set[int]:
  """Kills all descendants of this process, and waits until they have ended.

  The process must have called `adopt_orphans`.

  Returns:
    The process ids of the remaining descendants: the kernel does not end a
    process that waits for a broken disk.
  """
  end = time.monotonic() + timeout_secs
  while True:
    reap()
    left = descendants(os.getpid())
    if not left or time.monotonic() > end:
      return left
    for pid in left:
      send(pid, signal.SIGKILL)
    time.sleep(_SECS_BETWEEN_LOOKS)


def stop_signals() -> frozenset:
  """Returns the signals that ask a job to stop.

  SIGHUP is left out if `nohup` has started the program.
  """
  signals = {signal.SIGINT, signal.SIGTERM}
  if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
    signals.add(signal.SIGHUP)
  return frozenset(signals)


def _run_child(function, parent):
  """Runs the function in the child; returns the exit status."""
  try:
    # The child may not get the Ctrl-C of a terminal twice.
    os.setsid()
    end_with_parent(parent, PARENT_KILLED)
    adopt_orphans()
    return function()
  except SystemExit as e:
    return e.code if isinstance(e.code, int) else 1
  except BaseException:  # pylint: disable=broad-except
    traceback.print_exc()
    return 1
  finally:
    for stream in (sys.stdout, sys.stderr):
      try:
        if stream is not None:
          stream.flush()
      except OSError:
        pass


def _wait(child, signals):
  """Passes signals to the child until the end; returns the wait status."""
  while True:
    number = signal.sigwait(signals | {signal.SIGCHLD})
    if number != signal.SIGCHLD:
      send(child, number)
    pid, status = os.waitpid(child, os.WNOHANG)
    if pid:
      return status


def run_guarded(function: Callable[[], int]) -> int:
  """Runs a function in a child process, and ends all processes it started.

  The calling process must have no threads yet.

  Args:
    function: returns an exit status. The function gets the signals of the
      calling process, and `PARENT_KILLED`.

  Returns:
    The exit status of the function; 128 + n if signal n ended the function.
  """
  signals = stop_signals()
  for stream in (sys.stdout, sys.stderr):
    if stream is not None:
      stream.flush()
  old_mask = signal.pthread_sigmask(
      signal.SIG_BLOCK, signals | {signal.SIGCHLD})
  adopt_orphans()
  parent = os.getpid()
  child = os.fork()
  if not child:
    signal.pthread_sigmask(signal.SIG_SETMASK, old_mask)
    os._exit(_run_child(function, parent))  # pylint: disable=protected-access
  status = _wait(child, signals)
  kill_descendants(_KILL_TIMEOUT_SECS)
  signal.pthread_sigmask(signal.SIG_SETMASK, old_mask)
  if os.WIFSIGNALED(status):
    return 128 + os.WTERMSIG(status)
  return os.WEXITSTATUS(status)

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Process trees on Linux: who descends from whom, and how they end together."""

import ctypes
import errno
import multiprocessing
import os
import signal
import sys
import threading
import time
from typing import Any, Iterator, List, NamedTuple, Optional, Set

# From Linux's <linux/prctl.h>.
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36

_SECS_BETWEEN_LOOKS = .02
_SECS_BETWEEN_LOOKS_AT_PROGRAM = .5


class _ProcessIds(NamedTuple):
  pid: int
  parent: int
  session: int


def call_c(name: str, *args: Any) -> None:
  """Calls a function of the C library that returns -1 if it fails.

  Args:
    name: of the function.
    *args: its arguments.

  Raises:
    OSError: the function failed.
  """
  if getattr(ctypes.CDLL(None, use_errno=True), name)(*args) == -1:
    number = ctypes.get_errno()
    raise OSError(number, f"{name}: {os.strerror(number)}")


def adopt_orphans() -> None:
  """Makes this process the parent of descendants when their parent ends."""
  call_c("prctl", _PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_with_parent(parent: int, number: int) -> None:
  """Lets the kernel signal this process when its parent ends, however it ends.

  Args:
    parent: the process id of the parent; if it has ended already, the signal
      comes now.
    number: of the signal.
  """
  call_c("prctl", _PR_SET_PDEATHSIG, number, 0, 0, 0)
  if os.getppid() != parent:
    os.kill(os.getpid(), number)


def end_with_program() -> None:
  """Lets a worker of a process pool end with its program.

  Give it to a `ProcessPoolExecutor` as its `initializer`. Without it, the
  workers of a program that is killed stay, idle, with the memory of TensorFlow.
  With it, they end within a second, also while they train; the next `train`
  goes on from their last checkpoints. `adanet.use_one_gpu` does this, too.

  Raises:
    RuntimeError: this process is no worker of a pool.
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
  """Returns the kernel's record of a process; None if it has ended."""
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
  """Yields all processes that have not ended."""
  for name in os.listdir("/proc"):
    process = _read(int(name)) if name.isdigit() else None
    if process is not None:
      yield process


def descendants(pid: int) -> Set[int]:
  """Returns the process ids of all that descend from a process."""
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
  """Returns the process ids of all that belong to a session."""
  return [p.pid for p in _living() if p.session == session]


def send(pid: int, number: int) -> None:
  """Sends a signal to a process that may have ended."""
  try:
    os.kill(pid, number)
  except ProcessLookupError:
    pass


def reap() -> None:
  """Forgets the children of this process that have ended."""
  try:
    while os.waitpid(-1, os.WNOHANG)[0]:
      pass
  except ChildProcessError:
    pass


def kill_descendants(timeout_secs: float) -> Set[int]:
  """Kills all that descend from this process, and waits for their end.

  This process must have adopted its orphans.

  Args:
    timeout_secs: how long to wait at most.

  Returns:
    The process ids of the remaining ones: the kernel does not end a process
    that waits for a broken disk.
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

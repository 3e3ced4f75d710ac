# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs a function in a child process. Nothing that it starts outlives it.

Each of the two processes watches the other. If the child ends, the parent kills
the child's remaining processes. If the parent is killed, the child gets
SIGUSR1, and must kill all at once. Tasks of the child die with it (see
`processes`), so they end even if both are killed together.
"""

import os
import signal
import sys
import traceback
from typing import Callable

from adanet.launch import processes

# The child gets this when its parent has been killed.
PARENT_KILLED = signal.SIGUSR1

_KILL_TIMEOUT_SECS = 10


def stop_signals() -> frozenset:
  """Returns the signals that ask a job to stop.

  SIGHUP is none of them if `nohup` has started this program.
  """
  signals = {signal.SIGINT, signal.SIGTERM}
  if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
    signals.add(signal.SIGHUP)
  return frozenset(signals)


def _run_child(function, parent):
  """Runs the function in the child; returns its exit status."""
  try:
    # The child may not get the Ctrl-C of a terminal twice.
    os.setsid()
    processes.end_with_parent(parent, PARENT_KILLED)
    processes.adopt_orphans()
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
  """Hands signals on to the child until it ends; returns its wait status."""
  while True:
    number = signal.sigwait(signals | {signal.SIGCHLD})
    if number != signal.SIGCHLD:
      processes.send(child, number)
    pid, status = os.waitpid(child, os.WNOHANG)
    if pid:
      return status


def run(function: Callable[[], int]) -> int:
  """Runs a function in a child process, and ends all that it has started.

  This process must have no threads yet.

  Args:
    function: returns an exit status. It gets the signals of this process, and
      `PARENT_KILLED`.

  Returns:
    The exit status of the function; 128 + n if signal n ended it.
  """
  signals = stop_signals()
  for stream in (sys.stdout, sys.stderr):
    if stream is not None:
      stream.flush()
  old_mask = signal.pthread_sigmask(
      signal.SIG_BLOCK, signals | {signal.SIGCHLD})
  processes.adopt_orphans()
  parent = os.getpid()
  child = os.fork()
  if not child:
    signal.pthread_sigmask(signal.SIG_SETMASK, old_mask)
    os._exit(_run_child(function, parent))  # pylint: disable=protected-access
  status = _wait(child, signals)
  processes.kill_descendants(_KILL_TIMEOUT_SECS)
  signal.pthread_sigmask(signal.SIG_SETMASK, old_mask)
  if os.WIFSIGNALED(status):
    return 128 + os.WTERMSIG(status)
  return os.WEXITSTATUS(status)

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Processes that tests start, watch and end.

A `Process` runs a function in a fork of this process, a `Program` a command.
The kernel kills both when this process ends.
"""

import contextlib
import ctypes
import multiprocessing
import os
import random
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from typing import Any, Callable, Dict, List, Optional, Sequence, cast
import weakref

from adanet.launch import processes

_TIMEOUT_SECS = 200.
_POLL_SECS = .01


def wait_until(condition: Callable[[], Any], what: str,
               secs: float = _TIMEOUT_SECS) -> Any:
  """Waits for a condition, and returns its value.

  Raises:
    TimeoutError: it does not hold in time.
  """
  end = time.monotonic() + secs
  while True:
    value = condition()
    if value:
      return value
    if time.monotonic() > end:
      raise TimeoutError(f"waited {secs:g} s for {what}")
    time.sleep(_POLL_SECS)


def free_ports(count: int) -> List[int]:
  """Returns ports that are free, and that no program gets that asks for any.

  The kernel gives ports above 32767 to connections, also while their task is
  down.
  """
  ports: List[int] = []
  while len(ports) < count:
    port = random.SystemRandom().randrange(11000, 32000)
    with socket.socket() as s:
      with contextlib.suppress(OSError):
        s.bind(("", port))
        if port not in ports:
          ports.append(port)
  return ports


def free_cluster(**num_tasks: int) -> Dict[str, List[str]]:
  """Returns a cluster on free ports of this machine.

  Args:
    **num_tasks: for each job how many tasks it has.

  Returns:
    dict from job to list of addresses.
  """
  ports = iter(free_ports(sum(num_tasks.values())))
  return {job: [f"127.0.0.1:{next(ports)}" for _ in range(count)]
          for job, count in num_tasks.items() if count}


def python_environment(**variables: Optional[str]) -> Dict[str, str]:
  """Returns this process's environment for a Python program.

  Args:
    **variables: the ones to add; a variable that is None is left out.
  """
  names = ("TF_CONFIG", "NO_COLOR", "COLUMNS", "BUILD_WORKING_DIRECTORY",
           "CUDA_VISIBLE_DEVICES", "PYTHONUNBUFFERED", "TF_CPP_MIN_LOG_LEVEL")
  result = {k: v for k, v in os.environ.items() if k not in names}
  result["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
  result.update(cast(Dict[str, str], variables))
  return {k: v for k, v in result.items() if v is not None}


def end_as_a_program(status: int) -> None:
  """Ends a `Process` as a program ends: with the ends of Python and TensorFlow.

  It has threads of TensorFlow by then, and some of them may hang.
  """
  # The temporary folders of the parent are not the child's to remove.
  weakref.finalize._registry.clear()  # pylint: disable=protected-access
  ctypes.pythonapi.Py_Exit(status)


def session_count() -> int:
  """Returns how many sessions this process has made; loads no TensorFlow.

  The first one starts the threads that run the ops of all sessions. They do not
  survive a fork, and the sessions of a fork wait for them for ever.
  """
  # No version has this in public.
  module = sys.modules.get("tensorflow.python.client.session")
  counter = getattr(module, "_python_session_create_counter", None)
  return counter.get_cell().value() if counter else 0


class Process:
  """A function that runs in a child of this process.

  The child is forked, so that it need not import TensorFlow again. TensorFlow
  starts its threads with its first session, and they do not survive a fork:
  start the processes before that. It ends at once when the function returns.

  Attributes:
    pid: int, the child's process ID.
    started: float, when; of `time.monotonic`.
    ended: float, when its end was seen.
  """

  def __init__(self, function: Callable[..., None], *args: Any):
    """Starts `function(connection, *args)`.

    Args:
      function: a function. `connection`, a `multiprocessing.Connection`, leads
        to this process's `send` and `receive`.
      *args: more arguments for it.

    Raises:
      RuntimeError: this process has made a session, so the child would hang.
    """
    if session_count():
      raise RuntimeError(
          f"{function!r} would hang in a fork: this process has made a session "
          "of TensorFlow, whose threads a fork does not have. Start it before, "
          "or use sessions in processes.Process or Program alone")
    self.started = time.monotonic()
    self.ended = 0.
    self._status: Optional[int] = None
    self.connection, connection = multiprocessing.Pipe()
    parent = os.getpid()
    sys.stdout.flush()
    sys.stderr.flush()
    self.pid = os.fork()
    if self.pid:
      connection.close()
      return
    status = 1
    try:
      os.setsid()
      processes.end_with_parent(parent, signal.SIGKILL)
      self.connection.close()
      function(connection, *args)
      status = 0
    except SystemExit as error:
      status = error.code if isinstance(error.code, int) else 1
    except KeyboardInterrupt:
      status = 128 + signal.SIGINT
    except BaseException:  # pylint: disable=broad-except
      traceback.print_exc()
    finally:
      sys.stdout.flush()
      sys.stderr.flush()
      os._exit(status)

  @property
  def status(self) -> Optional[int]:
    """The exit status; negative for a signal; None if it runs."""
    if self._status is None:
      pid, status = os.waitpid(self.pid, os.WNOHANG)
      if pid:
        self.ended = time.monotonic()
        self._status = (-os.WTERMSIG(status) if os.WIFSIGNALED(status)
                        else os.WEXITSTATUS(status))
    return self._status

  def wait_until_ended(self, secs: float = _TIMEOUT_SECS) -> int:
    """Waits for its end, and returns the exit status."""
    wait_until(lambda: self.status is not None, f"process {self.pid}", secs)
    return cast(int, self.status)

  def send(self, message: Any) -> None:
    """Sends a message, anything that can be pickled, to the child."""
    self.connection.send(message)

  def has_replied(self, timeout_secs: float = 0.) -> bool:
    """Returns whether there is a message to receive, or the child has ended."""
    return self.connection.poll(timeout_secs)

  def receive(self) -> Any:
    """Returns the next message of the child.

    Raises:
      EOFError: the child has ended.
      TimeoutError: it has sent nothing for a long time.
    """
    if not self.has_replied(_TIMEOUT_SECS):
      raise TimeoutError(f"process {self.pid} has sent nothing in "
                         f"{_TIMEOUT_SECS} s")
    return self.connection.recv()

  def signal(self, number: int) -> bool:
    """Sends a signal; returns whether the child still ran."""
    if self.status is not None:
      return False
    os.kill(self.pid, number)
    if number == signal.SIGSTOP:
      # On a busy machine its other threads run on until one has seen it.
      os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    return True

  def kill(self) -> bool:
    """Kills it if it runs, and waits for its end; returns whether it ran."""
    is_killed = self.signal(signal.SIGKILL)
    self.wait_until_ended()
    return is_killed


class Program:
  """A program that this process talks to in lines.

  A context manager: it is killed at its end.

  Attributes:
    process: `subprocess.Popen`.
  """

  def __init__(self, command: Sequence[str],
               env: Optional[Dict[str, str]] = None,
               **kwargs: Any):
    """Starts it.

    Args:
      command: the program and its arguments.
      env: its environment; `python_environment()` by default.
      **kwargs: more arguments of `subprocess.Popen`. By default standard
        input and output are pipes, and its errors are in `log`.
    """
    self._log = tempfile.TemporaryFile("w+")  # pylint: disable=consider-using-with
    parent = os.getpid()
    self.process = subprocess.Popen(  # pylint: disable=consider-using-with
        command, **dict({
            "env": python_environment() if env is None else env,
            "stdin": subprocess.PIPE,
            "stdout": subprocess.PIPE,
            "stderr": self._log,
            "universal_newlines": True,
            "preexec_fn":
                lambda: processes.end_with_parent(parent, signal.SIGKILL),
        }, **kwargs))

  def __enter__(self) -> Any:
    return self

  def __exit__(self, *unused_error: Any) -> None:
    self.close()

  @property
  def status(self) -> Optional[int]:
    """The exit status; negative for a signal; None if it runs."""
    return self.process.poll()

  @property
  def log(self) -> str:
    """The end of its standard error."""
    self._log.seek(0)
    return self._log.read()[-3000:]

  def read(self, secs: float = _TIMEOUT_SECS) -> str:
    """Returns the next line that it prints.

    Call it when the last one was asked for: two at once are one here.

    Raises:
      TimeoutError: there is none in time.
      EOFError: it prints nothing more.
    """
    with selectors.DefaultSelector() as selector:
      selector.register(self.process.stdout, selectors.EVENT_READ)
      if not selector.select(secs):
        raise TimeoutError(f"it prints nothing: {self.log}")
    line = self.process.stdout.readline()
    if not line:
      raise EOFError(f"it has ended: {self.log}")
    return line

  def write(self, line: str) -> None:
    """Sends it a line."""
    print(line, file=self.process.stdin, flush=True)

  def close(self) -> None:
    """Kills it, if it still runs, and closes its pipes."""
    self.process.kill()
    self.process.wait()
    for stream in (self.process.stdin, self.process.stdout,
                   self.process.stderr, self._log):
      if stream:
        with contextlib.suppress(BrokenPipeError):
          stream.close()

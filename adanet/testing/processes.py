# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Child processes that a test talks to and that end when it ends."""

import ctypes
import multiprocessing
import os
import signal
import sys
import traceback

_PR_SET_PDEATHSIG = 1  # Of <linux/prctl.h>.
_REPLY_TIMEOUT_SECS = 200.


class Process:
  """A function that runs in a child of this process.

  The child is forked, so that it need not import TensorFlow again. TensorFlow
  starts its threads with its first op, and they do not survive a fork: start
  the processes before that.

  The kernel kills the child when this process ends.

  Attributes:
    pid: int, the child's process ID.
  """

  def __init__(self, function, *args):
    """Starts `function(connection, *args)`.

    Args:
      function: a function. `connection`, a `multiprocessing.Connection`, leads
        to this process's `send` and `receive`.
      *args: more arguments for it.
    """
    self._connection, connection = multiprocessing.Pipe()
    parent = os.getpid()
    sys.stdout.flush()
    sys.stderr.flush()
    self.pid = os.fork()
    if self.pid:
      connection.close()
      return
    try:
      ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
      self._connection.close()
      if os.getppid() == parent:
        function(connection, *args)
    except BaseException:  # pylint: disable=broad-except
      traceback.print_exc()
    finally:
      sys.stderr.flush()
      os._exit(0)

  def send(self, message):
    """Sends a message, anything that can be pickled, to the child."""
    self._connection.send(message)

  def has_replied(self, timeout_secs=0.):
    """Returns whether there is a message to receive, or the child has ended."""
    return self._connection.poll(timeout_secs)

  def receive(self):
    """Returns the next message of the child.

    Raises:
      EOFError: the child has ended.
      TimeoutError: it has sent nothing for a long time.
    """
    if not self.has_replied(_REPLY_TIMEOUT_SECS):
      raise TimeoutError(f"process {self.pid} has sent nothing in "
                         f"{_REPLY_TIMEOUT_SECS} s")
    return self._connection.recv()

  def kill(self):
    os.kill(self.pid, signal.SIGKILL)
    os.waitpid(self.pid, 0)

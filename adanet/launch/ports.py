# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Ports of this machine for the servers of a job, without a race.

A port that a program has chosen and let go may be gone before a server binds
it: to another program, or to the end of somebody's connection. And a task that
is started again needs its old port.

So each port stays bound as long as the job lives, by a socket that does not
listen. Linux gives such a port to no program that asks for any port. With
SO_REUSEADDR on both sockets it lets a server bind it by its number, and only
one can listen. TensorFlow's servers set it (tried with 1.15, 2.15 and 2.21).
"""

import socket
from typing import Any, List


class HeldPorts:
  """A context manager: ports that no other program gets by chance.

  Attributes:
    ports: list of int, all different.
  """

  def __init__(self, count: int):
    """Chooses the ports.

    Args:
      count: how many.
    """
    self._sockets: List[socket.socket] = []
    try:
      for _ in range(count):
        self._sockets.append(socket.socket())
        # Without SO_REUSEADDR: no port that another program holds like this.
        self._sockets[-1].bind(("", 0))
    except BaseException:
      self.close()
      raise
    for held in self._sockets:
      held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    self.ports = [held.getsockname()[1] for held in self._sockets]

  def close(self) -> None:
    """Lets the ports go."""
    for held in self._sockets:
      held.close()

  def __enter__(self) -> "HeldPorts":
    return self

  def __exit__(self, *exc_info: Any) -> None:
    self.close()

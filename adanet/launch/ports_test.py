# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that held ports are nobody else's, and that servers can bind them."""

import socket

from absl.testing import absltest
from adanet.launch import ports


class HeldPortsTest(absltest.TestCase):

  def test_nobody_gets_them(self):
    with ports.HeldPorts(500) as first, ports.HeldPorts(500) as second:
      self.assertLen(set(first.ports + second.ports), 1000)
      for port in first.ports[:3]:
        with socket.socket() as other, self.assertRaises(OSError):
          other.bind(("", port))
        with self.assertRaises(ConnectionRefusedError):
          socket.create_connection(("127.0.0.1", port))
    with socket.socket() as other:
      other.bind(("", first.ports[0]))

  def test_server(self):
    with ports.HeldPorts(1) as held, socket.socket() as server:
      # As TensorFlow's servers do.
      server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
      server.bind(("127.0.0.1", held.ports[0]))
      server.listen(1)
      # Only one can listen.
      with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with self.assertRaises(OSError):
          other.bind(("", held.ports[0]))
          other.listen(1)
      socket.create_connection(("127.0.0.1", held.ports[0])).close()


if __name__ == "__main__":
  absltest.main()

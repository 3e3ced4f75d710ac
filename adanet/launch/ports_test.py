# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that held ports are nobody else's, and that TensorFlow can bind them.
"""

import socket

from absl.testing import absltest
from adanet import tf_compat
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
    v1 = tf_compat.v1
    with ports.HeldPorts(1) as held:
      cluster = {"ps": [f"127.0.0.1:{held.ports[0]}"]}
      server = v1.train.Server(cluster, job_name="ps", task_index=0)
      with v1.Graph().as_default():
        answer = v1.constant(1) + 2
        with v1.Session(server.target) as session:
          self.assertEqual(3, session.run(answer))
      # Only one can listen.
      with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with self.assertRaises(OSError):
          other.bind(("", held.ports[0]))
      socket.create_connection(("127.0.0.1", held.ports[0])).close()


if __name__ == "__main__":
  absltest.main()

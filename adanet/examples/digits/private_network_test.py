# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that nobody outside reaches a server inside a private network."""

import socket
import subprocess
import sys

from absl.testing import absltest
from adanet.examples.digits import private_network

_SERVE = """
import socket, sys
from adanet.examples.digits import private_network
if not private_network.enter():
  sys.exit("refused")
print(sorted(name for _, name in socket.if_nameindex()))
server = socket.socket()
server.bind(("", {port}))
server.listen(1)
client = socket.create_connection(("127.0.0.1", {port}), timeout=10)
server.accept()[0].sendall(b"hello")
print(client.recv(5), flush=True)
sys.stdin.read()
"""


class PrivateNetworkTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    works = [private_network._works(u) for u in private_network._UNSHARE]
    if not any(works):
      self.skipTest("this kernel refuses network namespaces")

  def test_only_inside(self):
    # The same port is taken outside: inside it is another one.
    with socket.socket() as outside:
      outside.bind(("127.0.0.1", 0))
      port = outside.getsockname()[1]
      program = self.create_tempfile(content=_SERVE.format(port=port)).full_path
      inside = subprocess.Popen([sys.executable, program],
                                stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE,
                                universal_newlines=True)
      self.addCleanup(inside.kill)
      self.assertEqual("['lo']\n", inside.stdout.readline())
      self.assertEqual("b'hello'\n", inside.stdout.readline())
      with self.assertRaises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=10)
      inside.communicate(timeout=30)
    self.assertEqual(0, inside.returncode)


if __name__ == "__main__":
  absltest.main()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that a server in a private network cannot be reached from outside."""

import socket
import subprocess
import sys

from absl.testing import absltest

_SERVE = """
import socket, sys
from adanet.examples.digits import private_network
if not private_network.enter():
  sys.exit("refused")
print(sorted(name for _, name in socket.if_nameindex()))
server = socket.socket()
server.bind(("", {port}))
server.listen(1)
client = socket.create_connection(("127.0.0.1", {port}))
server.accept()[0].sendall(b"hello")
print(client.recv(5), flush=True)
sys.stdin.read()
"""


class PrivateNetworkTest(absltest.TestCase):

  def test_only_inside(self):
    # The port is in use outside, and free inside.
    with socket.socket() as outside:
      outside.bind(("127.0.0.1", 0))
      port = outside.getsockname()[1]
      program = self.create_tempfile(content=_SERVE.format(port=port)).full_path
      inside = subprocess.Popen(
          [sys.executable, program], stdin=subprocess.PIPE,
          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
          universal_newlines=True)
      self.addCleanup(inside.kill)
      lines = [inside.stdout.readline(), inside.stdout.readline()]
      with self.assertRaises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))
      _, errors = inside.communicate(timeout=120)
    if errors == "refused\n":
      self.skipTest("this kernel refuses network namespaces")
    self.assertEqual(0, inside.returncode, errors)
    self.assertEqual(["['lo']\n", "b'hello'\n"], lines)


if __name__ == "__main__":
  absltest.main()

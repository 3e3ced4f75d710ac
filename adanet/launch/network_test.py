# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that a server in a private network cannot be reached from outside."""

import socket
import subprocess
import sys

from absl.testing import absltest
from absl.testing import parameterized
from adanet.launch import network
from adanet.testing import processes

_ANY_USER = 12345

_SERVE = """
import os, socket, sys
from adanet.launch import network
from adanet.launch import processes
if {user}:
  try:
    os.setgid({user})
    os.setuid({user})
  except OSError:  # In a sandbox that has no such user.
    sys.exit("refused")
  processes.call_c("prctl", 4, 1, 0, 0, 0)  # PR_SET_DUMPABLE, as after exec.
if not network.enter():
  sys.exit("refused")
print(sorted(name for _, name in socket.if_nameindex()), os.getuid())
server = socket.socket()
server.bind(("", {port}))
server.listen(1)
client = socket.socket()
client.connect(("127.0.0.1", {port}))
server.accept()[0].sendall(b"hello")
print(client.recv(5), flush=True)
sys.stdin.read()
"""


class NetworkTest(parameterized.TestCase):

  @parameterized.parameters(0, _ANY_USER)
  def test_only_inside(self, user):
    # The port is in use outside, and free inside.
    with socket.socket() as outside:
      outside.bind(("127.0.0.1", 0))
      port = outside.getsockname()[1]
      inside = self.enter_context(processes.Program(
          [sys.executable, "-c", _SERVE.format(port=port, user=user)],
          stderr=subprocess.PIPE)).process
      lines = [inside.stdout.readline(), inside.stdout.readline()]
      with self.assertRaises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))
      _, errors = inside.communicate(timeout=120)
    if errors == "refused\n":
      self.skipTest("this kernel refuses network namespaces: " + errors)
    self.assertEqual(0, inside.returncode, errors)
    self.assertRegex(lines[0], r"^\['lo'\] \d+\n$")
    if user:
      self.assertEqual(f"['lo'] {user}\n", lines[0])
    self.assertEqual("b'hello'\n", lines[1])

  def test_refused(self):
    with socket.socket() as outside:
      outside.bind(("127.0.0.1", 0))
      outside.listen(1)
      # As if the kernel had said so.
      with absltest.mock.patch.object(
          network.processes, "call_c", side_effect=OSError(1, "no")):
        self.assertFalse(network.enter())
      socket.create_connection(outside.getsockname()).close()


if __name__ == "__main__":
  absltest.main()

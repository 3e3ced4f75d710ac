# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of GPUs, held ports and the private network of a job's tasks."""

import concurrent.futures
import multiprocessing
import os
import socket
import subprocess
import sys
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet.launch import job as job_lib
from adanet.launch import machine
from adanet.launch import processes as processes_lib
from adanet.testing import level
from adanet.testing import processes

_GROWTH = "TF_FORCE_GPU_ALLOW_GROWTH"


def _met(barrier):
  """Returns what a worker of a pool sees, when all have begun."""
  barrier.wait(60)
  return os.environ.get("CUDA_VISIBLE_DEVICES"), os.environ.get(_GROWTH)


def _shares(num_workers, names):
  """Returns the GPUs of each task of a job with 1 ps and an evaluator."""
  tasks = job_lib.make_tasks(num_workers, 1, True)
  shares = machine.gpu_shares(tasks, names)
  return [shares[task]["CUDA_VISIBLE_DEVICES"] for task in tasks], [
      shares[task].get(_GROWTH) for task in tasks]


class GpusTest(parameterized.TestCase):

  @parameterized.parameters(
      (1, [], ["-1", "-1", "-1", "-1"], False),
      (1, ["0", "1"], ["0", "1", "-1", "-1"], False),
      (1, ["7", "5", "GPU-a"], ["7,5", "GPU-a", "-1", "-1"], False),
      (0, ["0", "1"], ["0,1", "-1", "-1"], False),
      (2, ["4", "5"], ["4", "5", "4", "-1", "-1"], True))
  def test_shares(self, num_workers, names, expected, is_shared):
    shares, growth = _shares(num_workers, names)
    self.assertEqual(expected, shares)
    self.assertEqual(
        ["true" if is_shared else None] * (1 + num_workers) + [None] * 2,
        growth)

  def test_message(self):
    tasks = job_lib.make_tasks(2, 4, True)
    self.assertIsNone(machine.gpu_sharing_message(tasks, []))
    self.assertIsNone(machine.gpu_sharing_message(tasks, ["0", "1", "2"]))
    self.assertEqual(
        "The chief and the workers (3) share 1 GPU, with memory growth on.",
        machine.gpu_sharing_message(tasks, ["0"]))

  @parameterized.parameters(
      ("", []), ("-1", []), ("0", ["0"]), ("2,0", ["2", "0"]),
      ("0, 1,-1,2", ["0", "1"]), ("GPU-8f,MIG-1", ["GPU-8f", "MIG-1"]))
  def test_visible_by_variable(self, value, names):
    self.assertEqual(
        names, machine.visible_gpus({"CUDA_VISIBLE_DEVICES": value}))

  @parameterized.parameters(
      ([], "", 0, []),
      (["/dev/nvidia0", "/dev/nvidia1"], "GPU 0: A\n  MIG 1g\nGPU 1: A\n", 0,
       ["0", "1"]),
      (["/dev/nvidia0", "/dev/nvidia1"], "GPU 0: A\n", 0, ["0"]),
      (["/dev/nvidia0", "/dev/nvidia1"], "failed", 9, ["0", "1"]),
      (["/dev/nvidia0"], None, 0, ["0"]))
  def test_visible_by_driver(self, devices, listing, status, names):
    folder = self.create_tempdir().full_path
    if listing is not None:
      program = self.create_tempfile(
          os.path.join(folder, "nvidia-smi"),
          "#!/bin/sh\nprintf '{}'\nexit {}\n".format(
              listing.replace("\n", "\\n"), status)).full_path
      os.chmod(program, 0o755)
    with mock.patch.object(machine.glob, "glob", return_value=devices), \
        mock.patch.dict(os.environ, PATH=folder):
      self.assertEqual(names, machine.visible_gpus({}))

  @parameterized.parameters(
      ("4,7", 1, "4"), ("4,7", 2, "7"), ("4,7", 3, "4"), ("", 1, ""))
  def test_a_worker_gets_one(self, visible, number, expected):
    with mock.patch.dict(os.environ, CUDA_VISIBLE_DEVICES=visible), \
         mock.patch.object(
             multiprocessing, "current_process",
             return_value=mock.Mock(_identity=(1, number))), \
         mock.patch.object(processes_lib, "end_with_program") as ends:
      os.environ.pop(_GROWTH, None)
      machine.use_one_gpu()
      self.assertEqual(expected, os.environ["CUDA_VISIBLE_DEVICES"])
      self.assertEqual("true" if visible else None, os.environ.get(_GROWTH))
    ends.assert_called_once_with()

  @level.gate
  def test_each_worker_of_a_pool_gets_one(self):
    # No GPU is here: this is a list of names, which CUDA would read.
    with mock.patch.dict(os.environ, CUDA_VISIBLE_DEVICES="4,7"):
      context = multiprocessing.get_context("spawn")
      with concurrent.futures.ProcessPoolExecutor(
          2, mp_context=context, initializer=machine.use_one_gpu) as pool:
        # Each waits for the other, so that both have one.
        with context.Manager() as manager:
          barrier = manager.Barrier(2)
          environments = list(pool.map(_met, [barrier] * 2))
    self.assertEqual({("4", "true"), ("7", "true")}, set(environments))


class HeldPortsTest(absltest.TestCase):

  def test_nobody_gets_them(self):
    with machine.held_ports(500) as first, machine.held_ports(500) as second:
      self.assertLen(set(first + second), 1000)
      for port in first[:3]:
        with socket.socket() as other, self.assertRaises(OSError):
          other.bind(("", port))
        with self.assertRaises(ConnectionRefusedError):
          socket.create_connection(("127.0.0.1", port))
    with socket.socket() as other:
      other.bind(("", first[0]))

  def test_server(self):
    with machine.held_ports(1) as held, socket.socket() as server:
      # As TensorFlow's servers do.
      server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
      server.bind(("127.0.0.1", held[0]))
      server.listen(1)
      # Only one can listen.
      with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with self.assertRaises(OSError):
          other.bind(("", held[0]))
          other.listen(1)
      socket.create_connection(("127.0.0.1", held[0])).close()


_ANY_USER = 12345

_SERVE = """
import os, socket, sys
from adanet.launch import machine
from adanet.launch import processes as processes_lib
from adanet.launch import processes
if {user}:
  try:
    os.setgid({user})
    os.setuid({user})
  except OSError:  # In a sandbox that has no such user.
    sys.exit("refused")
  processes.call_c("prctl", 4, 1, 0, 0, 0)  # PR_SET_DUMPABLE, as after exec.
if not machine.enter_private_network():
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
          machine.processes, "call_c", side_effect=OSError(1, "no")):
        self.assertFalse(machine.enter_private_network())
      socket.create_connection(outside.getsockname()).close()


if __name__ == "__main__":
  absltest.main()

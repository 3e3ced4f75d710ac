# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that workers of a process pool end with their program."""

import os
import signal
import subprocess
import sys

from absl.testing import absltest
from absl.testing import parameterized
from adanet.launch import machine
from adanet.launch import processes as process_tree
from adanet.testing import level
from adanet.testing import processes

_SECS = 60.

# Prints the process IDs of two idle workers, and waits.
_PROGRAM = """if True:
  import concurrent.futures, multiprocessing, os, sys, time
  from adanet.launch import machine
  from adanet.launch import processes

  context = multiprocessing.get_context(sys.argv[2])
  pool = concurrent.futures.ProcessPoolExecutor(
      2, context, initializer=eval(sys.argv[1]))
  tasks = [pool.submit(time.sleep, .5) for _ in range(2)]
  concurrent.futures.wait(tasks)
  print(*[p.pid for p in multiprocessing.active_children()], flush=True)
  sys.stdin.read()
"""


class ProcessesTest(parameterized.TestCase):

  @parameterized.parameters(level.first([
      ("processes.end_with_program", "spawn", None),
      ("processes.end_with_program", "forkserver", None),
      ("machine.use_one_gpu", "spawn", "0,1")]))
  def test_idle_workers_end_with_a_killed_program(
      self, initializer, start_method, visible_gpus):
    with processes.Program(
        [sys.executable, "-c", _PROGRAM, initializer, start_method],
        processes.python_environment(
            CUDA_VISIBLE_DEVICES=visible_gpus)) as program:
      workers = [int(pid) for pid in program.read(_SECS).split()]
      self.assertLen(set(workers), 2)
      for pid in workers:
        self.addCleanup(process_tree.send, pid, signal.SIGKILL)
        self.assertFalse(process_tree.has_ended(pid))
      program.process.kill()
      for pid in workers:
        processes.wait_until(lambda p=pid: process_tree.has_ended(p),
                             f"the end of worker {pid}", secs=5.)

  @parameterized.parameters(
      process_tree.end_with_program, machine.use_one_gpu)
  def test_no_worker(self, initializer):
    with self.assertRaisesRegex(
        RuntimeError, f"^{initializer.__name__}: expected a worker of a "
        "process pool. Give the function to the pool, as its initializer$"):
      initializer()

  def test_has_ended(self):
    child = subprocess.Popen(["sleep", "60"])  # pylint: disable=consider-using-with
    self.assertFalse(process_tree.has_ended(child.pid))
    child.kill()
    # Before somebody waits for it, and after.
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    self.assertTrue(process_tree.has_ended(child.pid))
    child.wait()
    self.assertTrue(process_tree.has_ended(child.pid))


if __name__ == "__main__":
  absltest.main()

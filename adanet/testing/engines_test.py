# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of executors of several processes."""

import contextlib
import os
import re
import signal
import sys
import tempfile
import time
from concurrent import futures

from absl.testing import absltest
from adanet.launch import processes as process_tree
from adanet.testing import engines
from adanet.testing import processes

_SECS = 60.


class _Error(Exception):
  """An error of the user of an executor."""


def _meet(folder, count):
  """Waits in a process until as many have come; returns its process ID."""
  with open(os.path.join(folder, str(os.getpid())), "w", encoding="utf-8"):
    pass
  processes.wait_until(lambda: len(os.listdir(folder)) == count, folder, _SECS)
  return os.getpid()


def _work(folder):
  """Announces its process, and works longer than the test."""
  with open(os.path.join(folder, str(os.getpid())), "w", encoding="utf-8"):
    time.sleep(10 * _SECS)


def _fail():
  raise _Error("of a task")


def _import_path():
  return sys.path


def _sockets(pid):
  """Returns the inodes of the sockets of a process."""
  found = set()
  for name in os.listdir(f"/proc/{pid}/fd"):
    with contextlib.suppress(FileNotFoundError):  # Closed in between.
      found.update(re.findall(
          r"^socket:\[(\d+)\]", os.readlink(f"/proc/{pid}/fd/{name}")))
  return found


def _listening():
  """Returns the addresses, in hex, that this process and its own listen on."""
  inodes = set()
  for pid in {os.getpid()} | process_tree.descendants(os.getpid()):
    inodes |= _sockets(pid)
  found = set()
  for name in ("tcp", "tcp6"):
    with open(f"/proc/net/{name}", encoding="utf-8") as f:
      for line in f.readlines()[1:]:
        fields = line.split()
        if fields[3] == "0A" and fields[9] in inodes:
          found.add(fields[1])
  return found


_ENGINES = {
    "spawn": lambda: engines.process_pool(2),
    "forkserver": lambda: engines.process_pool(2, "forkserver"),
    "dask": lambda: engines.dask_cluster(2),
}


def work_for_ever(engine, folder):
  """Is a program that a test kills."""
  with _ENGINES[engine]() as executor:
    futures.wait([executor.submit(_work, folder) for _ in range(2)])


# The test may be the main module under another name, which a program has not.
_PROGRAM = """if True:
  import sys
  from adanet.testing import engines_test
  engines_test.work_for_ever(*sys.argv[1:])
"""


class _Cases:
  """The cases of each engine.

  Attributes:
    engine: str, the name of the engine.
    folder: str.
  """
  engine = ""

  def setUp(self):
    super().setUp()
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.folder = folder.name

  def _workers(self):
    """Returns the process IDs of two that work."""
    return [int(name) for name in processes.wait_until(
        lambda: len(os.listdir(self.folder)) == 2 and os.listdir(self.folder),
        "two workers", _SECS)]

  def _assert_ended(self, pids):
    self.assertLen(set(pids), 2)
    for pid in pids:
      self.assertTrue(process_tree.has_ended(pid), pid)

  def test_tasks_run_in_processes_that_end_with_the_block(self):
    with _ENGINES[self.engine]() as executor:
      self.assertIsInstance(executor, futures.Executor)
      tasks = [executor.submit(_meet, self.folder, 2) for _ in range(2)]
      done, pending = futures.wait(tasks, _SECS)
      self.assertEmpty(pending)
      pids = [task.result() for task in done]
      self.assertNotIn(os.getpid(), pids)
      self.assertContainsSubset(pids, process_tree.descendants(os.getpid()))
    self._assert_ended(pids)

  def test_processes_end_after_an_error_in_the_block(self):
    with self.assertRaisesRegex(_Error, "^of the block$"):
      with _ENGINES[self.engine]() as executor:
        for _ in range(2):
          executor.submit(_work, self.folder)
        pids = self._workers()
        started = time.monotonic()
        raise _Error("of the block")
    self.assertLess(time.monotonic() - started, 30.)
    self._assert_ended(pids)

  def test_processes_import_what_this_one_does_and_raise_to_it(self):
    with _ENGINES[self.engine]() as executor:
      found = executor.submit(_import_path).result(_SECS)
      with self.assertRaisesRegex(_Error, "^of a task$"):
        executor.submit(_fail).result(_SECS)
    self.assertContainsSubset(
        [path for path in sys.path if path != os.path.dirname(__file__)], found)

  def test_processes_end_with_a_killed_program(self):
    with processes.Program(
        [sys.executable, "-c", _PROGRAM, self.engine, self.folder]) as program:
      pids = self._workers()
      program.process.kill()
      for pid in pids:
        processes.wait_until(
            lambda p=pid: process_tree.has_ended(p), f"the end of {pid}",
            secs=10.)


class SpawnTest(_Cases, absltest.TestCase):
  engine = "spawn"


class ForkserverTest(_Cases, absltest.TestCase):
  engine = "forkserver"


class DaskTest(_Cases, absltest.TestCase):
  engine = "dask"

  def setUp(self):
    super().setUp()
    engines.require_dask()

  def test_listens_on_loopback_only(self):
    with engines.dask_client(2) as client:
      self.assertLen(client.scheduler_info()["workers"], 2)
      found = _listening()
    # The scheduler, and two workers with their nannies.
    self.assertGreaterEqual(len(found), 5)
    for address in found:
      self.assertStartsWith(address, "0100007F:")

  def test_scales_and_replaces_a_killed_worker(self):
    with engines.dask_client(1) as client:
      killed = client.submit(os.getpid, pure=False).result(_SECS)
      os.kill(killed, signal.SIGKILL)
      client.cluster.scale(2)
      executor = client.get_executor(pure=False)
      pids = [task.result(_SECS) for task in [
          executor.submit(_meet, self.folder, 2) for _ in range(2)]]
      self.assertNotIn(killed, pids)
    self._assert_ended(pids)


if __name__ == "__main__":
  absltest.main()

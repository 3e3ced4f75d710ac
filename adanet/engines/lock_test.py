# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of who owns a model_dir, with processes that die."""

import contextlib
import errno
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import file_lock
from adanet import log
from adanet.engines import lock
from adanet.testing import processes


def _own(connection, model_dir, do=lambda: None):
  """Owns a folder until it is told to end; says what `do` returned."""
  try:
    with lock.owned(model_dir):
      connection.send(do())
      connection.recv()
  except file_lock.InUseError as e:
    connection.send(e)
    return
  connection.send("released")


def _fork():
  """Starts a child that has all open files of this process."""
  reader, writer = os.pipe()
  pid = os.fork()
  if not pid:
    signal.alarm(100)
    os.write(writer, b"!")
    while True:
      signal.pause()
  os.read(reader, 1)  # Until the child runs, it may hold what it inherits.
  os.close(reader)
  os.close(writer)
  return pid


def _start_program():
  return subprocess.Popen(
      [sys.executable, "-c", "import time; time.sleep(100)"],
      close_fds=False).pid


class LockTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._model_dir = os.path.join(self.create_tempdir().full_path, "model")
    self._path = os.path.join(self._model_dir, "cluster", "lock")

  def _start(self, **kwargs):
    """Returns a process that owns the folder, and what it said."""
    process = processes.Process(
        lambda connection: _own(connection, self._model_dir, **kwargs))
    self.addCleanup(process.kill)
    return process, process.receive()

  def _check_in_use(self, pid):
    with self.assertRaisesRegex(
        file_lock.InUseError,
        r"^model_dir '{}' is in use by process {} on host {} since "
        r"\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{{4}}: wait for its end, stop "
        r"it, or use another model_dir$".format(
            self._model_dir, pid, socket.gethostname())):
      with lock.owned(self._model_dir):
        self.fail("It is in use.")

  def _check_free(self):
    for _ in range(2):
      with lock.owned(self._model_dir):
        self._check_in_use(os.getpid())

  def test_another_process(self):
    process, _ = self._start()
    self._check_in_use(process.pid)
    process.send("end")
    self.assertEqual("released", process.receive())
    self._check_free()

  def test_this_process_owns_it(self):
    with lock.owned(self._model_dir):
      _, error = self._start()
      self.assertIsInstance(error, file_lock.InUseError)
      self.assertIn(f"process {os.getpid()} ", str(error))

  def test_killed(self):
    process, _ = self._start()
    process.kill()
    with open(self._path) as f:
      self.assertIn(str(process.pid), f.read())
    self._check_free()

  def test_stopped(self):
    process, _ = self._start()
    os.kill(process.pid, signal.SIGSTOP)
    os.waitpid(process.pid, os.WUNTRACED)
    self._check_in_use(process.pid)
    os.kill(process.pid, signal.SIGCONT)
    self._check_in_use(process.pid)

  @parameterized.parameters(_fork, _start_program)
  def test_killed_with_a_child_left_over(self, start_child):
    process, child = self._start(do=start_child)
    self.addCleanup(os.kill, child, signal.SIGKILL)
    self._check_in_use(process.pid)
    process.kill()
    os.kill(child, 0)  # It lives.
    self._check_free()

  def test_child_that_leaves_the_block(self):
    def leave(connection, owner):
      with contextlib.suppress(ValueError), owner:
        raise ValueError("stop")
      connection.send("left")

    with contextlib.ExitStack() as owner:
      owner.enter_context(lock.owned(self._model_dir))
      child = processes.Process(leave, owner)
      self.assertEqual("left", child.receive())
      self._check_in_use(os.getpid())
    self._check_free()

  def test_one_of_many_gets_it(self):
    for _ in range(5):
      starting = [
          processes.Process(_own, self._model_dir) for _ in range(8)]
      try:
        answers = [process.receive() for process in starting]
        self.assertLen([a for a in answers if a is None], 1)
      finally:
        for process in starting:
          process.kill()
    self._check_free()

  def test_last_owner_removes_the_file_meanwhile(self):
    flock = fcntl.flock
    removals = [self._model_dir]

    def remove_and_lock(*args):
      if removals:
        shutil.rmtree(removals.pop())
      flock(*args)

    with mock.patch.object(fcntl, "flock", remove_and_lock):
      with lock.owned(self._model_dir):
        self._check_in_use(os.getpid())

  @parameterized.parameters("", "{", "[]", "{}", "\xff", "{\"pid\": 1}")
  def test_owner_is_not_known(self, text):
    with lock.owned(self._model_dir):
      with open(self._path, "w", encoding="latin-1") as f:
        f.write(text)
      with self.assertRaisesRegex(file_lock.InUseError, "by another process:"):
        with lock.owned(self._model_dir):
          pass

  def test_nothing_is_left_in_a_new_folder(self):
    with lock.owned(self._model_dir):
      pass
    self.assertFalse(os.path.exists(self._model_dir))
    with lock.owned(self._model_dir):
      os.mkdir(os.path.join(self._model_dir, "report"))
    self.assertTrue(os.path.exists(self._path))

  def test_the_file_stays_in_an_old_folder(self):
    os.mkdir(self._model_dir)
    with lock.owned(self._model_dir):
      pass
    self.assertTrue(os.path.exists(self._path))

  def test_no_owner_is_named_after_the_end(self):
    os.makedirs(self._model_dir)
    with lock.owned(self._model_dir):
      self.assertGreater(os.path.getsize(self._path), 0)
    self.assertEqual(0, os.path.getsize(self._path))

  def test_full_disk(self):
    with mock.patch.object(
        os, "pwrite", side_effect=OSError(errno.ENOSPC, "full")):
      with lock.owned(self._model_dir):
        with self.assertRaisesRegex(file_lock.InUseError, "by another process:"):
          with lock.owned(self._model_dir):
            pass
    self._check_free()

  def test_no_open_files_are_left(self):
    before = os.listdir("/proc/self/fd")
    self._check_free()
    with contextlib.suppress(ValueError), lock.owned(self._model_dir):
      raise ValueError("stop")
    self.assertEqual(before, os.listdir("/proc/self/fd"))

  @parameterized.parameters(errno.ENOTSUP, errno.ENOLCK, errno.ENOSYS)
  def test_file_system_without_locks(self, number):
    with mock.patch.object(
        fcntl, "flock", side_effect=OSError(number, "no locks")), \
         mock.patch.object(log, "warn_once") as warn:
      with lock.owned(self._model_dir), lock.owned(self._model_dir):
        pass
    self.assertIn("no locks", warn.call_args[0][0] % warn.call_args[0][1:])

  def test_other_error(self):
    with mock.patch.object(fcntl, "flock", side_effect=OSError(
        errno.EIO, "broken disk")), self.assertRaisesRegex(
            OSError, "broken disk"):
      with lock.owned(self._model_dir):
        self.fail("The disk is broken.")

  def test_error_of_the_block_is_no_error_of_the_lock(self):
    with mock.patch.object(fcntl, "flock", side_effect=OSError(
        errno.ENOLCK, "no locks")), self.assertRaisesRegex(OSError, "stop"):
      with lock.owned(self._model_dir):
        raise OSError(errno.EAGAIN, "stop")

  def test_scheme(self):
    with mock.patch.object(os, "open", side_effect=AssertionError), \
         mock.patch.object(os, "makedirs", side_effect=AssertionError):
      with lock.owned("gs://bucket/model"), lock.owned("gs://bucket/model"):
        pass


if __name__ == "__main__":
  absltest.main()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which processes may train, and which say that TensorFlow would hang."""

from concurrent import futures
import multiprocessing
import os
import subprocess
import sys
import types
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import forks
from adanet.testing import level

# Prints for each way to start a process what the process says, without and with
# a TensorFlow that has started in the program.
_PROGRAM = """if True:
    import multiprocessing, os, sys

    def say():
      from adanet import forks
      try:
        forks.check_process()
        print("trains", flush=True)
      except RuntimeError as error:
        print(error, flush=True)

    if __name__ == "__main__":
      from adanet import tf_compat
      if sys.argv[1] == "early":
        from adanet import forks
      for starts in (False, True):
        if starts:
          tf_compat.v1.enable_eager_execution()
          tf_compat.v2.constant(1)
        for method in sys.argv[2:]:
          process = multiprocessing.get_context(method).Process(target=say)
          process.start()
          process.join(60)
          assert process.exitcode == 0
    """


class ForksTest(parameterized.TestCase):

  @parameterized.parameters(level.first([
      ("early", ["fork"]), ("late", ["fork"]),
      ("early", ["spawn", "forkserver"])]))
  def test_processes(self, imports, methods):
    path = self.create_tempfile("program.py", _PROGRAM).full_path
    lines = subprocess.run(
        [sys.executable, path, imports, *methods], stdout=subprocess.PIPE,
        universal_newlines=True, check=True, timeout=300, env=dict(
            os.environ, PYTHONPATH=os.pathsep.join(sys.path))
    ).stdout.splitlines()
    self.assertEqual(["trains"] * len(methods), lines[:len(methods)])
    for line in lines[len(methods):]:
      if methods == ["fork"]:
        self.assertRegex(line, r"^Process \d+ was forked from a program in wh")
      else:
        self.assertEqual("trains", line)
    self.assertLen(lines, 2 * len(methods))

  def test_pools(self):
    for pool in (
        futures.ThreadPoolExecutor(1), futures.ProcessPoolExecutor(
            1, multiprocessing.get_context("spawn"))):
      self.assertIs(pool, forks.check_executor(pool))
    with self.assertRaisesRegex(
        ValueError, "^executor: the workers of this ProcessPoolExecutor are "
        "forks of the program, .*get_context.\"spawn\""):
      forks.check_executor(futures.ProcessPoolExecutor(
          1, multiprocessing.get_context("fork")))

  def test_a_client_of_dask(self):
    client = mock.Mock(["get_executor", "submit"])
    client.get_executor.return_value = futures.ThreadPoolExecutor(1)
    self.assertIs(client.get_executor(), forks.check_executor(client))

  @parameterized.parameters(4, futures.ThreadPoolExecutor, object())
  def test_no_executor(self, value):
    with self.assertRaisesRegex(TypeError, "^executor=.*: expected an object "):
      forks.check_executor(value)

  def test_a_program_that_is_no_file(self):
    pool = futures.ProcessPoolExecutor(
        1, multiprocessing.get_context("spawn"))
    for main, is_right in (
        (types.SimpleNamespace(__spec__=None), True),
        (types.SimpleNamespace(__spec__=None, __file__=__file__), True),
        (types.SimpleNamespace(__spec__=object(), __file__="a.zip/a"), True),
        (types.SimpleNamespace(__spec__=None, __file__="<stdin>"), False)):
      with mock.patch.dict(sys.modules, __main__=main):
        if is_right:
          forks.check_executor(pool)
          continue
        with self.assertRaisesRegex(
            ValueError, "main module, and '<stdin>' is no file. Put the prog"):
          forks.check_executor(pool)


if __name__ == "__main__":
  absltest.main()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what the commands share."""

import contextlib
import io
import signal
import sys
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import version
from adanet.console import command as command_lib


def _run(*args, takes_program=False):
  """Returns what a command got, its exit code, and what it printed."""
  command = command_lib.Command(
      "adanet-x", "Does x.", takes_program)
  cluster = command_lib.ClusterFlags(command, 1000, 10)
  got = []

  def run(arguments):
    cluster.check_servers()
    got.extend([arguments, cluster.workers.value, cluster.are_given])
    return 7

  with contextlib.redirect_stdout(io.StringIO()) as output, \
      contextlib.redirect_stderr(io.StringIO()) as errors:
    code = command.main(run, ["x", *args])
  return got, code, output.getvalue(), errors.getvalue()


class CommandTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.addCleanup(signal.signal, signal.SIGPIPE,
                    signal.getsignal(signal.SIGPIPE))

  def test_flags_and_arguments(self):
    self.assertEqual(([[], 0, False], 7, "", ""), _run())
    self.assertEqual(([["a"], 3, True], 7, "", ""),
                     _run("--workers", "3", "a", "--ps=1"))
    self.assertEqual(
        ([["a", "--ps=1", "--help"], 0, True], 7, "", ""),
        _run("--evaluator", "a", "--ps=1", "--help", takes_program=True))

  @parameterized.parameters(
      ("--workers=1e3", "--workers=1e3: expected an integer in the range "
       "[0, 1000], got a non-integer."),
      ("--ps=11", "--ps=11: expected an integer in the range [0, 10]."),
      ("--evaluator=x", "--evaluator=x: expected true or false."),
      ("--worker=1", "Unknown command line flag 'worker'. Did you mean: "
       "workers ? (--help lists the flags)"),
      ("--workers=2", "--ps=0: expected at least 1 with --workers=2, to hold "
       "the variables that the tasks share."))
  def test_error_is_one_line(self, flag, expected):
    self.assertEqual(([], 2, "", f"adanet-x: {expected}\n"), _run(flag))

  @parameterized.product(
      args=(["--help"], ["--ps=x", "-h"], ["--nonsense", "--help"]),
      takes_program=(True, False))
  def test_help(self, args, takes_program):
    got, code, output, errors = _run(*args, takes_program=takes_program)
    self.assertEqual(([], 0, ""), (got, code, errors))
    self.assertStartsWith(output, "Does x.\n\nFlags:\n\n  --[no]evaluator: ")
    self.assertEqual(5, output.count("\n  -"))

  @parameterized.parameters(
      ("stdout", "/dev/full", "--help", "No space left on device."),
      ("stdout", None, "--help", "standard output is closed."),
      ("stderr", "/dev/full", "--workers=-1", ""),
      ("stderr", None, "--workers=-1", ""))
  def test_broken_stream(self, name, path, flag, expected):
    command = command_lib.Command("adanet-x", "Does x.")
    command_lib.ClusterFlags(command, 1000, 10)
    errors = io.StringIO()
    broken = open(path, "w") if path else None
    streams = {"stdout": io.StringIO(), "stderr": errors, name: broken}
    with mock.patch.multiple(sys, **streams):
      self.assertEqual(2, command.main(lambda _: 0, ["x", flag]))
    self.assertIn(expected, errors.getvalue())
    if broken:
      broken.close()  # Raises if the rest is written again.

  def test_version(self):
    self.assertEqual(([], 0, f"adanet-x {version.VERSION}\n", ""),
                     _run("--version"))


if __name__ == "__main__":
  absltest.main()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of Ctrl-C, in a program and at a Python that goes on."""

import os
import signal
import subprocess
import sys
from unittest import mock

from absl.testing import absltest
from adanet import interrupts

_PROGRAM = """
from adanet import interrupts
with interrupts.in_one_line("Stopped at 100 %."):
  raise KeyboardInterrupt
print("not reached")
"""


@interrupts.in_one_line("Stopped.")
def _press_ctrl_c():
  os.kill(os.getpid(), signal.SIGINT)


class InterruptsTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    # A job in the background of a shell ignores Ctrl-C.
    self.addCleanup(signal.signal, signal.SIGINT, signal.signal(
        signal.SIGINT, signal.default_int_handler))

  def test_program(self):
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], check=False, timeout=60,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        universal_newlines=True)
    self.assertEqual(("adanet: Stopped at 100 %.\n", "", 130),
                     (done.stderr, done.stdout, done.returncode))

  def test_program_that_catches_it(self):
    with self.assertLogs(level="WARNING") as logs, \
         self.assertRaises(KeyboardInterrupt):
      _press_ctrl_c()
    self.assertLen(logs.output, 1)

  def test_interactive_python_goes_on(self):
    with mock.patch.object(sys, "ps1", ">>> ", create=True), \
         self.assertRaises(KeyboardInterrupt) as caught:
      _press_ctrl_c()
    self.assertNotIsInstance(caught.exception, SystemExit)
    # What IPython shows.
    self.assertEqual(["KeyboardInterrupt: Stopped."],
                     caught.exception._render_traceback_())

  def test_other_errors(self):
    with self.assertRaisesRegex(ValueError, "^text$"), \
         interrupts.in_one_line("Stopped."):
      raise ValueError("text")


if __name__ == "__main__":
  absltest.main()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of Ctrl-C, SIGTERM and wrong arguments, in a program and a notebook."""

import json
import os
import signal
import subprocess
import sys
import types
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import checks
from adanet import interrupts
from adanet import typed_json

_PROGRAM = """
from adanet import interrupts
with interrupts.in_one_line("Stopped at 100 %."):
  raise KeyboardInterrupt
print("not reached")
"""
_TERMINATED = """
import os, signal, sys
from adanet import interrupts
with interrupts.in_one_line("Stopped."):
  try:
    os.kill(os.getpid(), signal.SIGTERM)
  finally:
    os.kill(os.getpid(), signal.SIGTERM)
    print("saved", flush=True)
"""
_OWN_HANDLER = """
import os, signal
from adanet import interrupts
signal.signal(signal.SIGTERM, lambda *_: print("own"))
with interrupts.in_one_line("Stopped."):
  os.kill(os.getpid(), signal.SIGTERM)
"""


@interrupts.in_one_line("Stopped.")
def _press_ctrl_c():
  os.kill(os.getpid(), signal.SIGINT)


class InterruptsTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    # A job in the background of a shell ignores Ctrl-C.
    self.addCleanup(signal.signal, signal.SIGINT, signal.signal(
        signal.SIGINT, signal.default_int_handler))

  def _run(self, program):
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, timeout=60,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        universal_newlines=True)
    return done.stderr, done.stdout, done.returncode

  def test_program(self):
    self.assertEqual(("adanet: Stopped at 100 %.\n", "", 130),
                     self._run(_PROGRAM))

  def test_sigterm(self):
    """A second signal does not disturb what is saved."""
    self.assertEqual(("adanet: Stopped.\n", "saved\n", 143),
                     self._run(_TERMINATED))

  def test_own_handler_of_sigterm(self):
    self.assertEqual(("", "own\n", 0), self._run(_OWN_HANDLER))

  def test_sigterm_afterwards(self):
    with interrupts.in_one_line("Stopped."):
      self.assertNotEqual(signal.SIG_DFL, signal.getsignal(signal.SIGTERM))
    self.assertEqual(signal.SIG_DFL, signal.getsignal(signal.SIGTERM))

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

  def test_wrong_argument(self):
    ipython = types.SimpleNamespace(get_ipython=object)
    with mock.patch.dict(sys.modules, IPython=ipython), \
         self.assertRaises(ValueError) as caught, \
         interrupts.in_one_line("Stopped."):
      checks.check_count("epochs", 0)
    self.assertEqual(
        ["ValueError: epochs=0: expected an integer of at least 1."],
        caught.exception._render_traceback_())
    # %tb shows the traceback.
    self.assertFalse(hasattr(caught.exception, "_render_traceback_"))

  @parameterized.named_parameters(
      ("not_in_ipython", None, lambda: checks.check_count("epochs", 0)),
      ("error_of_another_module", object, lambda: json.loads("{")),
      ("error_with_a_cause", object, lambda: typed_json.loads("{")),
  )
  def test_traceback_is_shown(self, get_ipython, fail):
    ipython = get_ipython and types.SimpleNamespace(get_ipython=get_ipython)
    with mock.patch.dict(sys.modules, IPython=ipython), \
         self.assertRaises(ValueError) as caught, \
         interrupts.errors_in_one_line():
      fail()
    self.assertFalse(hasattr(caught.exception, "_render_traceback_"))


if __name__ == "__main__":
  absltest.main()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of lines for the log, in programs with and without handlers."""

import subprocess
import sys

from absl.testing import absltest
from absl.testing import parameterized
from adanet.testing import level

_PROGRAM = """
import logging, sys
from adanet import log
exec(sys.argv[1])
log.info("of %d", 1)
log.warning("100 %")
for _ in range(2):
  log.warn_once("once, %s", "a")
print(len(logging.root.handlers))
"""
_NOTEBOOK = """
import types
kernel = types.SimpleNamespace(kernel=None)
sys.modules["IPython"] = types.SimpleNamespace(get_ipython=lambda: kernel)
"""


class LogTest(parameterized.TestCase):

  @parameterized.parameters(level.first([
      ("", "adanet: 100 %\nadanet: once, a\n", 0),
      ("logging.basicConfig(format='%(levelname)s %(filename)s %(message)s')",
       "WARNING <string> 100 %\nWARNING <string> once, a\n", 1),
      ("from absl import logging as l; l.set_verbosity(l.INFO)",
       "adanet: of 1\nadanet: 100 %\nadanet: once, a\n", 0),
      ("logging.getLogger('absl').setLevel(logging.ERROR)", "", 0),
      ("sys.stderr = None", "", 0)], 2))
  def test_lines(self, first, shown, handlers):
    self.assertEqual((shown, f"{handlers}\n"), self._run(first))

  def test_lines_of_a_notebook_are_no_errors(self):
    self.assertEqual(("", "adanet: 100 %\nadanet: once, a\n0\n"),
                     self._run(_NOTEBOOK))

  def _run(self, first):
    """Returns what a program with a `first` line writes to stderr and stdout.
    """
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, first], check=True, timeout=60,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        universal_newlines=True)
    return done.stderr, done.stdout


if __name__ == "__main__":
  absltest.main()

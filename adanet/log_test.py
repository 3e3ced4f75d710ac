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
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, first], check=True, timeout=60,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        universal_newlines=True)
    self.assertEqual((shown, f"{handlers}\n"), (done.stderr, done.stdout))


if __name__ == "__main__":
  absltest.main()

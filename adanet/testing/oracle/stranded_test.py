# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that model_dirs of AdaNet 0.8.0 open, serve, and go on training.

Each folder in `testdata/stranded` is what AdaNet 0.8.0 left on TensorFlow 1.15
when it stopped in an iteration. `testdata/stranded.json` has what it said and
did when it went on from there. Write both again as `stranded_data` says.
"""

import os
import shutil
import tempfile

from absl.testing import absltest
from absl.testing import parameterized
from adanet.testing.oracle import figures
from adanet.testing.oracle import runner

_NAMES = ("binary", "multi_head", "regression")


class StrandedTest(parameterized.TestCase):

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    copy = os.path.join(tempfile.mkdtemp(
        dir=absltest.get_default_test_tmpdir()), "stranded")
    shutil.copytree(runner.testdata("stranded"), copy)
    cls._ours = runner.Program(
        False, ["--table=goes_on", "--golden", "--model_dirs=" + copy]
    ).figures()
    cls._golden = figures.read(runner.testdata("stranded.json"))

  @parameterized.parameters(*_NAMES)
  def test_goes_on(self, name):
    lines = figures.differences(
        self._golden[name], self._ours[name], 1e-4)
    self.assertEmpty(lines, "\n" + "\n".join(lines[:40]))


if __name__ == "__main__":
  absltest.main()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that model_dirs of AdaNet 0.8.0 open, serve, and go on training.

Each folder in `testdata/stranded` is what AdaNet 0.8.0 left on TensorFlow 1.15
when it stopped in an iteration. `testdata/stranded.json` has what it said and
did when it went on from there. Write both again as `stranded_data` says.
"""

import os
import shutil

from absl.testing import absltest
from absl.testing import parameterized
from adanet.testing.oracle import comparison
from adanet.testing.oracle import figures
from adanet.testing.oracle import runner
from adanet.testing.oracle import stranded_data

_NAMES = ("binary", "multi_head", "regression")


class StrandedTest(parameterized.TestCase):

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls._folder = absltest.get_default_test_tmpdir() + "/stranded"
    shutil.rmtree(cls._folder, ignore_errors=True)
    theirs = None
    begun = os.path.join(cls._folder, "begun")
    if runner.has_reference():
      theirs = runner.Program(
          True, ["--table=begun", "--model_dirs=" + begun])
    copy = os.path.join(cls._folder, "goes_on")
    shutil.copytree(runner.testdata("stranded"), copy)
    cls._ours = runner.Program(
        False, ["--table=goes_on", "--golden", "--model_dirs=" + copy]
    ).figures()
    cls._golden = figures.read(runner.testdata("stranded.json"))
    cls._begun = begun if theirs and theirs.figures() else None

  def _assert_equal(self, expected, actual, tolerance):
    lines = comparison.differences(expected, actual, tolerance)
    self.assertEmpty(lines, "\n" + "\n".join(lines[:40]))

  @parameterized.parameters(*_NAMES)
  def test_goes_on(self, name):
    self._assert_equal(self._golden[name], self._ours[name], 1e-4)

  @parameterized.parameters(*_NAMES)
  def test_data_are_what_the_oracle_writes(self, name):
    if self._begun is None:
      self.skipTest("adanet 0.8.0 runs on TensorFlow 1.15 only")
    self._assert_equal(
        stranded_data.content(os.path.join(self._begun, name)),
        stranded_data.content(runner.testdata(os.path.join("stranded", name))),
        1e-5)


if __name__ == "__main__":
  absltest.main()

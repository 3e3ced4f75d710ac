# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that scripts and large tests find what they read in the pages.

A test of every run, because only few runs have those. Bazel does not know the
scripts as inputs of this test, so its target is tagged to run each time, on
this machine.
"""

import os
import subprocess

from absl.testing import absltest
from docs import pages
import runfiles


def _output(*command):
  """Returns what a script of this repository prints."""
  # The runfile is a link into the source tree.
  root = os.path.dirname(os.path.realpath(
      runfiles.Create().Rlocation("adanet/README.md")))
  return subprocess.run(
      command, cwd=root, check=True, stdout=subprocess.PIPE, text=True).stdout


class ReadersTest(absltest.TestCase):

  def test_fresh_machine_test(self):
    self.assertEqual(
        "tools/bazelw run //adanet/examples/digits\ntools/bazelw test //...\n",
        _output("tools/fresh_machine_test", "--list"))

  def test_consumer_test(self):
    self.assertIn("has the code that is tested here",
                  _output("tools/consumer_test/run", "--page"))

  def test_coming_from_keras_test(self):
    (kind, _), *_ = pages.blocks(pages.FROM_KERAS)
    self.assertEqual("python", kind)
    rows = pages.rows_from_keras()
    self.assertLen(rows, pages.text(pages.FROM_KERAS).count("\n   * - ``"))
    self.assertGreater(len(rows), 25)

  def test_installed_test(self):
    self.assertLen(pages.programs("docs/train_and_evaluate.rst"), 1)
    self.assertGreater(len(pages.imports()), 5)
    self.assertGreater(len(pages.public_names()), 100)

  def test_notebook_test(self):
    program, _ = pages.programs("docs/stopping.rst")[0]
    self.assertIn("search.train(", program)
    program, _ = pages.programs("docs/leaderboard.rst")[0]
    self.assertIn("search.fit(", program)

  def test_ray_test(self):
    self.assertIn("class RayExecutor", pages.executor_of_ray())


if __name__ == "__main__":
  absltest.main()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that an AdaNet of 2019 in the same folder is noticed, in any order."""

import os
import shutil
import subprocess
import sys

from absl.testing import absltest
from absl.testing import parameterized
import adanet
import runfiles


def _copy(source, target):
  """Copies a folder over another one, as pip does."""
  for folder, _, names in os.walk(source, followlinks=True):
    into = os.path.join(target, os.path.relpath(folder, source))
    os.makedirs(into, exist_ok=True)
    for name in names:
      if name.endswith(".py"):
        shutil.copyfile(os.path.join(folder, name), os.path.join(into, name))


class SoleOwnerTest(parameterized.TestCase):

  @parameterized.parameters(True, False)
  def test_both_are_named(self, ours_last):
    theirs = runfiles.Create().Rlocation(
        "adanet_reference/site-packages/adanet-0.8.0/adanet")
    if not os.path.isdir(theirs):
      self.skipTest("adanet 0.8.0 is there for TensorFlow 1.15 only")
    site = self.create_tempdir().full_path
    ours = os.path.dirname(adanet.__file__)
    for folder in [theirs, ours] if ours_last else [ours, theirs]:
      _copy(folder, os.path.join(site, "adanet"))
    for owner in ("adanet-0.8.0", "adanet_distributed-9.9"):
      os.mkdir(os.path.join(site, owner + ".dist-info"))
    imported = subprocess.run(
        [sys.executable, "-c", "import adanet"], stderr=subprocess.PIPE,
        text=True, check=False, cwd=site,
        env=dict(os.environ, PYTHONPATH=os.pathsep.join([site] + sys.path)))
    last_line = imported.stderr.strip().split("\n")[-1]
    self.assertStartsWith(last_line, "ImportError: ")
    self.assertIn("adanet 0.8.0", last_line)
    self.assertIn("adanet-distributed 9.9", last_line)


if __name__ == "__main__":
  absltest.main()

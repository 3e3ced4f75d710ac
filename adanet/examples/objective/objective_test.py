# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs the example as a user does, and holds what its table says."""

import subprocess

from absl.testing import absltest
import runfiles

_OBJECTIVE = runfiles.Create().Rlocation(
    "adanet/adanet/examples/objective/objective")


class ObjectiveTest(absltest.TestCase):

  def test_a_price_of_depth_keeps_the_ensemble_simple(self):
    process = subprocess.run(
        [_OBJECTIVE], capture_output=True, text=True, check=False)
    self.assertEqual(0, process.returncode, process.stderr)
    header, *rows = process.stdout.splitlines()
    self.assertEqual("weights lambda complexity test loss depths".split(),
                     header.split())
    uniform, learned, priced = (row.split(None, 4) for row in rows)
    self.assertEqual(["uniform", "0.0"], uniform[:2])
    self.assertEqual(["learned", "0.0"], learned[:2])
    self.assertEqual(["learned", "0.5"], priced[:2])
    # Where depth is free, each iteration adds a deeper network.
    self.assertEqual("1, 2", uniform[4])
    self.assertEqual("1, 2", learned[4])
    self.assertLess(float(priced[2]), float(learned[2]))
    for row in (uniform, learned, priced):
      # The labels have a variance of 1: that is the loss of their mean.
      self.assertBetween(float(row[3]), 0, 1)
      depths = [int(depth) for depth in row[4].split(", ")]
      self.assertAlmostEqual(
          float(row[2]), sum(depth**.5 for depth in depths), places=2)


if __name__ == "__main__":
  absltest.main()

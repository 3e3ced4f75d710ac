# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the names of adanet, such as those that a shell completes."""

from absl.testing import absltest
import adanet
from adanet import checks


class NamesTest(absltest.TestCase):

  def test_dir_has_the_public_names_and_no_others(self):
    self.assertIs(checks, adanet.checks)  # So the import system has added it.
    self.assertEqual(sorted(adanet.__all__), dir(adanet))
    self.assertContainsSubset(
        ["EnsembleSearch", "Estimator", "columns", "end_with_program", "heads"],
        dir(adanet))

  def test_every_name_is_there(self):
    for name in dir(adanet):
      getattr(adanet, name)


if __name__ == "__main__":
  absltest.main()

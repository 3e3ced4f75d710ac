# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of winners that are given."""

from absl.testing import absltest
from absl.testing import parameterized
from adanet import replay


class ConfigTest(parameterized.TestCase):

  @parameterized.parameters(
      (None, [None, None, None]),
      ([], [None, None, None]),
      ([2, 0], [2, 0, None]))
  def test_best_ensemble_index(self, indices, expected):
    config = replay.Config(best_ensemble_indices=indices)
    self.assertEqual(indices, config.best_ensemble_indices)
    self.assertEqual(
        expected, [config.get_best_ensemble_index(t) for t in range(3)])


if __name__ == "__main__":
  absltest.main()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the trainer."""

import unittest

from training import trainer


class TrainerTest(unittest.TestCase):

  def test_every_candidate_has_one_worker(self):
    self.assertEqual([[], [0], [1], [2]],
                     [trainer.candidates(3, 4, w) for w in range(4)])


if __name__ == "__main__":
  unittest.main()

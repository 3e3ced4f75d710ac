# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that adanet imports this project's packages and no others."""

import types
import unittest

import adanet


class OwnTest(unittest.TestCase):

  def test_tensorflow(self):
    self.assertEqual("stand-in", adanet.tf_compat.v1.VERSION)

  def test_decides(self):
    strategy = adanet.distributed.RoundRobinStrategy()
    strategy.config = types.SimpleNamespace(
        num_worker_replicas=3, global_id_in_cluster=1)
    self.assertTrue(strategy.should_build_subnetwork(2, 0))
    self.assertFalse(strategy.should_build_subnetwork(2, 1))


if __name__ == "__main__":
  unittest.main()

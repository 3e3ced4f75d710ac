# Copyright 2026 The adanet.distributed Authors. All Rights Reserved.
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     https://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.
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

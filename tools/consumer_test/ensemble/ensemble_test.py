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
"""Tests of the umbrella target, down to a variable of TensorFlow's."""

import types
import unittest

import adanet


class EnsembleTest(unittest.TestCase):

  def test_places_a_variable(self):
    strategy = adanet.distributed.RoundRobinStrategy()
    strategy.config = types.SimpleNamespace(num_ps_replicas=2)
    v1 = adanet.tf_compat.v1
    devices = []
    with v1.Graph().as_default():
      for i in range(2):
        with strategy.subnetwork_devices(2, i):
          devices.append(v1.get_variable("kernel_%d" % i, shape=[]).device)
    self.assertEqual(["/job:ps/task:0", "/job:ps/task:1"], devices)


if __name__ == "__main__":
  unittest.main()

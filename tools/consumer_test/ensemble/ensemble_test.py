# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
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

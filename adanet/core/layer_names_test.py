# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of finding Keras layers that AdaNet 0.8 numbered otherwise."""

from absl.testing import absltest
from absl.testing import parameterized
from adanet.core import layer_names

_A = "adanet/iteration_0/subnetwork_t0_a/"
_B = "adanet/iteration_0/subnetwork_t0_b/"


class LayerNamesTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ("same", [_A + "dense/kernel"], [_A + "dense/kernel"], {}),
      ("later_number", [_B + "dense/kernel"], [_B + "dense_2/kernel"],
       {_B + "dense/kernel": _B + "dense_2/kernel"}),
      ("order_of_numbers",
       [_B + "dense/kernel", _B + "dense_1/kernel"],
       [_B + "dense_9/kernel", _B + "dense_10/kernel"],
       {_B + "dense/kernel": _B + "dense_9/kernel",
        _B + "dense_1/kernel": _B + "dense_10/kernel"}),
      ("overlapping_numbers",
       [_B + "dense/kernel", _B + "dense_1/kernel"],
       [_B + "dense_1/kernel", _B + "dense_2/kernel"],
       {_B + "dense/kernel": _B + "dense_1/kernel",
        _B + "dense_1/kernel": _B + "dense_2/kernel"}),
      ("slot", [_B + "dense/kernel", _B + _B + "dense/kernel/Adam"],
       [_B + "dense_2/kernel", _B + _B + "dense_2/kernel/Adam"],
       {_B + "dense/kernel": _B + "dense_2/kernel",
        _B + _B + "dense/kernel/Adam": _B + _B + "dense_2/kernel/Adam"}),
      ("other_count", [_B + "dense/kernel", _B + "dense_1/kernel"],
       [_B + "dense_2/kernel"], {}),
      ("other_subnetwork", [_A + "dense/kernel"], [_B + "dense_2/kernel"], {}),
      ("other_layer", [_A + "dense/kernel"], [_A + "conv/kernel"], {}),
  )
  def test_stored_names(self, names, stored, expected):
    self.assertEqual(expected, layer_names.stored_names(names, stored))


if __name__ == "__main__":
  absltest.main()

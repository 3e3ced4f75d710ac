# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of wire."""

from absl.testing import absltest
from adanet.testing.oracle import wire

# Protocol buffers wrote it with AdaNet 0.8.0's descriptor.
_RECORD = bytes.fromhex(
    "08ac0212540a140a05756e697473120b18feffffffffffffffff01120d0a0769735f776964"
    "6512022000120c0a046b696e6412040a02c3a91a0d0a046c6f73731205150000003f1a0b0a"
    "0372617712042a02ff0020012a016112032a0162")


class WireTest(absltest.TestCase):

  def test_reads_a_record(self):
    self.assertEqual(
        {
            "iteration": 300,
            "subnetworks": [{
                "name": "a",
                "hparams": {"units": ["int", -2]},
                "attributes": {
                    "kind": ["string", "\u00e9"],
                    "is_wide": ["bool", False],
                },
                "metrics": {
                    "loss": ["float", .5],
                    "raw": ["bytes", "\u00ff\u0000"],
                },
                "included_in_final_ensemble": True,
            }, {
                "name": "b",
                "hparams": {},
                "attributes": {},
                "metrics": {},
                "included_in_final_ensemble": False,
            }],
        }, wire.iteration_report(_RECORD))

  def test_names_a_wrong_wire_type(self):
    with self.assertRaisesRegex(ValueError, "wire type must be"):
      wire.iteration_report(b"\x09" + 8 * b"\x00")


if __name__ == "__main__":
  absltest.main()

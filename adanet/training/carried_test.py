# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of which variables go from one checkpoint to the next.

`adanet/estimator:earlier_networks_test` carries them.
"""

from absl.testing import absltest
from absl.testing import parameterized
from adanet.core import architecture
from adanet.training import carried

_A = "adanet/iteration_0/subnetwork_t0_a/"
_B = "adanet/iteration_0/subnetwork_t0_b/"
_ENSEMBLE = "adanet/iteration_0/ensemble_t0_all_greedy/"
_NEW = "adanet/iteration_1/subnetwork_t1_a/w"
_STORED = (
    "current_iteration", "global_step", "table", _A + "w", _A + "adam/w",
    _B + "w", "adanet/iteration_0/subnetwork_t0_ab/w", _ENSEMBLE + "bias",
    "adanet/iteration_0/ensemble_t0_all_greedy_2/bias",
    "adanet/iteration_0/candidate_t0_all_greedy/adanet_loss", _NEW,
    "adanet/iteration_1/subnetwork_t1_a/old_name")


def _won(*builders):
  return architecture.Architecture(
      "all", "greedy", tuple((0, name) for name in builders), (0,))


class CarriedTest(parameterized.TestCase):

  def _assert_carried(self, expected, winner=_won("a"), known=None):
    found = carried.names(
        _STORED, ["current_iteration", "global_step", _NEW], 1, [(0, winner)],
        known or {})
    self.assertEqual(sorted(expected + [
        "table", _ENSEMBLE + "bias",
        "adanet/iteration_0/candidate_t0_all_greedy/adanet_loss"]), found)

  @parameterized.parameters(
      # It is not known which ones are those of an optimizer.
      ("a", ()),
      ("b", (_B + "w",)),
      # The checkpoint has other names.
      ("a", (_A + "v",)))
  def test_unknown(self, name, variables):
    self._assert_carried(
        [_A + "w", _A + "adam/w"], known={(0, name): variables})

  def test_without_what_an_optimizer_made(self):
    self._assert_carried([_A + "w"], known={(0, "a"): [_A + "w"]})

  def test_all_members(self):
    self._assert_carried(
        [_A + "w", _B + "w"], _won("a", "b"),
        {(0, "a"): [_A + "w"], (0, "b"): [_B + "w"]})

  def test_no_iteration_before(self):
    self.assertEqual(
        ["table"], carried.names(["table", _NEW], [_NEW], 0, [], {}))


if __name__ == "__main__":
  absltest.main()

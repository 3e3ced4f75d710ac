# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the short names of ensembles."""

from absl.testing import absltest
from absl.testing import parameterized
from adanet.progress import names as names_lib

_REGULARIZED = "_grow_complexity_regularized"


class NamesTest(parameterized.TestCase):

  @parameterized.parameters(
      ("t0_dnn", 6, "t0_dnn"), ("t0_dnn", 5, "t0..n"),
      ("t0_dnn_grow", 8, "t0_..row"), ("abcdefghij", 9, "abcd..hij"))
  def test_cut(self, name, width, expected):
    self.assertEqual(expected, names_lib.cut(name, width))

  def test_ensembles_of_an_iteration(self):
    names = names_lib.Names(
        f"t{t}_dnn{_REGULARIZED}" for t in range(3))
    self.assertEqual("t1_dnn..", names.short("t1_dnn" + _REGULARIZED))
    self.assertEqual(f" named ..{_REGULARIZED}", names.meaning)
    # A subnetwork, and an ensemble of another iteration.
    for name in ("t1_dnn", "t3_dnn" + _REGULARIZED):
      self.assertEqual(name, names.short(name))

  @parameterized.parameters(
      (["a_grow_mean", "a_solo_mean"], ["a_grow_mean", "a_solo_mean"]),
      (["a_grow_complex", "a_solo_complex"], ["a_grow..", "a_solo.."]),
      (["a_grow_complex", "a_grow_mean"], ["a_grow_complex", "a_grow_mean"]),
      (["one_grow_complex"], ["one_grow_complex"]),
      (["t0_all_mean", "t1_all_mean"], ["t0..", "t1.."]),
      ([f"{name}_grow_b_solo_mean" for name in "ac"],
       ["a_grow_b..", "c_grow_b.."]),
      (["_grow_mean", "a_grow_mean"], ["_grow_mean", "a_grow_mean"]),
      (["a", "b"], ["a", "b"]), ([], []))
  def test_end(self, ensembles, expected):
    names = names_lib.Names(ensembles)
    self.assertEqual(expected, [names.short(name) for name in ensembles])

  def test_width(self):
    names = names_lib.Names(
        f"t0_a_long_name_{i}_grow_mean" for i in range(2))
    self.assertEqual(
        "t0_a_.._1..", names.short("t0_a_long_name_1_grow_mean", 11))


if __name__ == "__main__":
  absltest.main()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of ensembles' candidates and interfaces; none needs TensorFlow."""

import collections

from absl.testing import absltest
from absl.testing import parameterized
from adanet import ensemble

_Named = collections.namedtuple("_Named", ["name"])
_A, _B, _C, _D = (_Named(name) for name in "abcd")


class StrategyTest(parameterized.TestCase):

  @parameterized.parameters(
      (ensemble.SoloStrategy(),
       [("a_solo", (_A,), ()), ("b_solo", (_B,), ())]),
      (ensemble.GrowStrategy(),
       [("a_grow", (_A,), (_C, _D)), ("b_grow", (_B,), (_C, _D))]),
      (ensemble.AllStrategy(), [("all", (_A, _B), (_C, _D))]))
  def test_candidates(self, strategy, expected):
    self.assertEqual(
        expected, strategy.generate_ensemble_candidates([_A, _B], [_C, _D]))
    # In iteration 0 there is no previous ensemble.
    self.assertEqual(
        [(name, builders, ()) for name, builders, _ in expected],
        strategy.generate_ensemble_candidates([_A, _B], None))


class CandidateTest(absltest.TestCase):

  def test_builders_are_tuples(self):
    candidate = ensemble.Candidate("name", [_A], iter([_B]))
    self.assertEqual(("name", (_A,), (_B,)), candidate)
    self.assertEqual((_A,), candidate.subnetwork_builders)
    self.assertEqual((_B,), candidate.previous_ensemble_subnetwork_builders)

  def test_no_builders(self):
    with self.assertRaisesRegex(
        ValueError, r"^subnetwork_builders=\(\): .*candidate 'name'"):
      ensemble.Candidate("name", [], [_B])


class AbstractTest(parameterized.TestCase):

  @parameterized.parameters(
      (ensemble.Ensemble, ("logits", "subnetworks")),
      (ensemble.Ensembler, ("name", "build_ensemble", "build_train_op")),
      (ensemble.Strategy, ("generate_ensemble_candidates",)))
  def test_every_method_must_be_overridden(self, cls, names):
    for absent in names:
      present = {name: None for name in names if name != absent}
      with self.assertRaisesRegex(TypeError, absent):
        type("Part", (cls,), present)()
    type("Whole", (cls,), {name: None for name in names})()

  def test_no_predictions_by_default(self):
    cls = type("Whole", (ensemble.Ensemble,),
               {"logits": None, "subnetworks": None})
    self.assertIsNone(cls().predictions)


if __name__ == "__main__":
  absltest.main()

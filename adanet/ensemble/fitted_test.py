# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of ensemblers that are fitted; `selection_test` has the method."""

from absl.testing import absltest
from absl.testing import parameterized
from adanet.ensemble import fitted
import numpy as np


class GreedyEnsemblerTest(parameterized.TestCase):

  @parameterized.parameters(
      ({}, (.5, .5)),
      ({"max_members": 1}, (1., 0.)),
      ({"max_selections": 2}, (.5, .5)),
      # Beside its loss, what is complex costs too much.
      ({"adanet_lambda": 9.}, (0., 1.)),
      ({"adanet_beta": 9.}, (.5, .5)))
  def test_fit(self, arguments, expected):
    members = [fitted.Member(np.float32([[0.]]), 2.),
               fitted.Member(np.float32([[2.1]]), 1.)]
    self.assertSequenceAlmostEqual(expected, fitted.GreedyEnsembler(
        **{"max_selections": 1, **arguments}).fit(
            members, lambda logits: abs(float(logits[0, 0]) - 1.)))

  @parameterized.parameters(
      ({"max_selections": 0}, "max_selections=0: expected an integer of at l"),
      ({"max_members": 0}, "max_members=0: expected an integer .*, or None"),
      ({"adanet_lambda": -1.}, "adanet_lambda=-1.0: expected a finite number "
       "of at"),
      ({"adanet_beta": "1"}, "adanet_beta='1': expected a finite number"))
  def test_arguments(self, arguments, message):
    with self.assertRaisesRegex((TypeError, ValueError), message):
      fitted.GreedyEnsembler(**arguments)


if __name__ == "__main__":
  absltest.main()

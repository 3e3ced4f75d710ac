# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of which optional arguments a user's functions get."""

import functools
import types

from absl.testing import absltest
from absl.testing import parameterized
from adanet.core import subnetworks


def _all(x, previous_ensemble, config=None):
  return x, previous_ensemble, config


def _alone(x):
  return x


def _any(**arguments):
  return arguments


@functools.wraps(_alone)
def _wrapped(*args, **kwargs):
  return _alone(*args, **kwargs)


class AskingTest(parameterized.TestCase):

  @parameterized.parameters(
      (_all, {"x": 1, "previous_ensemble": "before", "config": "config"}),
      (_alone, {"x": 1}),
      (_wrapped, {"x": 1}),
      (lambda x, config: None, {"x": 1, "config": "config"}),
      (functools.partial(_all, config=2),
       {"x": 1, "previous_ensemble": "before", "config": "config"}),
      # It may hand it on; all else it did not get before, either.
      (_any, {"x": 1, "previous_ensemble": "before"}))
  def test_answered(self, function, expected):
    given = subnetworks.answered(function, {"x": 1}, "before", config="config",
                            labels="labels")
    self.assertEqual(expected, given)
    function(**given)

  @parameterized.parameters(
      (_alone, _alone, False), (_all, _alone, True), (_alone, _all, True),
      (_any, _alone, True))
  def test_builder(self, build, train, expected):
    self.assertEqual(expected, subnetworks.builder_asks(types.SimpleNamespace(
        build_subnetwork=build, build_subnetwork_train_op=train)))

  def test_builder_that_prunes(self):
    self.assertTrue(subnetworks.builder_asks(types.SimpleNamespace(
        build_subnetwork=_alone, build_subnetwork_train_op=_alone,
        prune_previous_ensemble=_alone)))


if __name__ == "__main__":
  absltest.main()

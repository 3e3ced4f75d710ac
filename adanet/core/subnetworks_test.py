# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what a user's functions get, and of the logits they return."""

import functools
import types

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.core import subnetworks

v1 = tf_compat.v1


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


class LogitsTest(parameterized.TestCase):

  def _apply_head(self, logits, dimension):
    """Returns what a head gets of the logits of an owner."""
    head = types.SimpleNamespace(
        logits_dimension=dimension,
        create_estimator_spec=lambda logits, **arguments: logits)
    return subnetworks.LearningTask(
        head, None, None, None, "infer").apply_head(logits, "the owner")

  @parameterized.parameters(
      ([8, 2], 2), ([None, 2], 2), ([8, None], 2), ([8, 5, 2], 2), (None, 2),
      # A loss of Keras, which has no dimension.
      ([8], None), ([8, 3], None))
  def test_shape_that_fits(self, shape, dimension):
    with v1.Graph().as_default():
      logits = v1.placeholder(v1.float32, shape)
      self.assertIs(logits, self._apply_head(logits, dimension))

  @parameterized.parameters(
      ([], 1), ([1], 1), ([2], 2), ([None], 2), ([8, 3], 2), ([8, 2, 3], 2))
  def test_shape_that_does_not_fit(self, shape, dimension):
    with v1.Graph().as_default():
      with self.assertRaisesRegex(
          ValueError, r"^the owner: logits must have shape \[batch_size, "
          f"{dimension}"):
        self._apply_head(v1.placeholder(v1.float32, shape), dimension)

  # A head splits one tensor, and reports mistakes of its own.
  @parameterized.parameters(
      ("one", {"a": 1, "b": 2}), ({"a": [8, 5]}, 2), ({"a": [8]}, {"a": 1}),
      ({}, {"a": 1}))
  def test_dicts(self, shapes, dimension):
    with v1.Graph().as_default():
      logits = v1.placeholder(v1.float32, [8]) if shapes == "one" else {
          key: v1.placeholder(v1.float32, shape)
          for key, shape in shapes.items()}
      if not isinstance(dimension, dict) or shapes == "one":
        self.assertIs(logits, self._apply_head(logits, dimension))
        return
      with self.assertRaisesRegex(
          ValueError, "^the owner: head 'a': logits must have shape" if shapes
          else "^the owner: logits must have a key for each head, got ..,"):
        self._apply_head(logits, dimension)


if __name__ == "__main__":
  absltest.main()

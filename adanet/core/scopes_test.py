# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of which assertions a graph leaves out, and of the names of tables.

`building_test` has what builders see.
"""

import contextlib

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.core import scopes

v1 = tf_compat.v1
_NAN = float("nan")


def _area(labels, logits):
  return v1.metrics.auc(labels, v1.sigmoid(logits))[1]


def _after(assertion):
  """Returns a function that makes an op that waits for an assertion."""
  def make(labels, logits):
    with v1.control_dependencies([assertion(labels, logits)]):
      return v1.constant(0.)

  return make


class NanScopeTest(parameterized.TestCase):

  def _holds(self, make, labels, logits, scope=scopes.nan_scope):
    """Returns whether what is made of labels and logits runs."""
    with scopes.new_graph(1).as_default(), v1.Session() as session:
      fed_labels = v1.placeholder(v1.float32, [None, 1])
      computed = v1.placeholder(v1.float32, [None, 1])
      with scope({("head", "logits"): computed}):
        op = make(fed_labels, 2. * computed)
      session.run(v1.local_variables_initializer())
      try:
        session.run(op, {fed_labels: labels, computed: logits})
      except v1.errors.InvalidArgumentError:
        return False
      return True

  @parameterized.named_parameters(
      ("area", _area),
      ("values", _after(
          lambda _, logits: v1.debugging.assert_non_negative(logits))),
      ("both", _after(v1.debugging.assert_greater_equal)))
  def test_floats_of_logits_may_be_nan(self, make):
    self.assertTrue(self._holds(make, [[1.]], [[_NAN]]))

  @parameterized.named_parameters(
      ("labels", lambda labels, _: v1.debugging.assert_less(labels, 1.)),
      ("shapes", lambda labels, logits: v1.debugging.assert_equal(
          v1.shape(labels), v1.shape(logits))))
  def test_assertions_on_others_hold(self, assertion):
    self.assertFalse(self._holds(_after(assertion), [[1.]], [[_NAN]] * 2))

  def test_assertions_hold_after_the_scope(self):

    @contextlib.contextmanager
    def left(tensors):
      with scopes.nan_scope(tensors):
        pass
      yield

    self.assertFalse(self._holds(_area, [[1.]], [[_NAN]], left))


class BuilderScopeTest(absltest.TestCase):

  def test_tables_have_names_of_their_own(self):
    with scopes.new_graph(1).as_default():
      for scope, names in (("a", ["t", "t", "a/t_1"]), ("b", ["t"])):
        with v1.variable_scope(scope) as variable_scope:
          with scopes.builder_scope(variable_scope):
            for name in names:
              v1.lookup.experimental.DenseHashTable(
                  v1.int64, v1.float32, 0., empty_key=-1, deleted_key=-2,
                  name=name)
      saveables = v1.get_collection(v1.GraphKeys.SAVEABLE_OBJECTS)
      self.assertEqual(["a/t", "a/t_1", "a/a/t_1_1", "b/t"],
                       [saveable.name for saveable in saveables])
      self.assertEqual(["a/t_1-keys", "a/t_1-values"],
                       [spec.name for spec in saveables[1].specs])


if __name__ == "__main__":
  absltest.main()

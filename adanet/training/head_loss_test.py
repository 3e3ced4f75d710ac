# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the head's loss of logits, against losses written by hand."""

import types

from absl.testing import absltest
from absl.testing import parameterized
from adanet import heads
from adanet import tf_compat
from adanet.training import head_loss
import numpy as np

v1 = tf_compat.v1
_LABELS = np.float32([[1.], [2.], [4.]])
_LOGITS = np.float32([[1.], [4.], [1.]])  # Squared errors: 0, 4 and 9.
_WEIGHTS = np.float32([[1.], [.5], [2.]])


class IsFiniteTest(parameterized.TestCase):

  @parameterized.parameters(
      ([[1.], [-2.]], True), ([[1.], [np.nan]], False), ([[-np.inf]], False),
      ({"a": [[1.]], "b": [[2.]]}, True),
      ({"a": [[1.]], "b": [[2., np.inf]]}, False),
      ({"a": [[np.nan]], "b": [[2.]]}, False))
  def test_is_finite(self, logits, expected):
    logits = ({head: np.float32(array) for head, array in logits.items()}
              if isinstance(logits, dict) else np.float32(logits))
    self.assertEqual(expected, head_loss.is_finite(logits))


class HeadLossTest(parameterized.TestCase):

  def _loss(self, head, like, inputs):
    loss = head_loss.HeadLoss(
        types.SimpleNamespace(
            search=types.SimpleNamespace(head=head),
            config=types.SimpleNamespace(session_config=None)), like, inputs)
    self.addCleanup(loss.close)
    return loss

  def test_of_all_examples(self):
    loss = self._loss(
        heads.RegressionHead(), _LOGITS, {("labels",): _LABELS})
    self.assertAlmostEqual(13. / 3., loss(_LOGITS), places=6)
    self.assertIs(float, type(loss(_LOGITS)))
    # The same function for other logits, and for those again.
    self.assertEqual(0., loss(_LABELS))
    self.assertAlmostEqual(13. / 3., loss(_LOGITS), places=6)

  def test_with_weights(self):
    loss = self._loss(
        heads.RegressionHead(weight_column="w"), _LOGITS,
        {("labels",): _LABELS, ("features", "w"): _WEIGHTS})
    # .5 * 4 + 2 * 9, by three examples, as the head has it.
    self.assertAlmostEqual(20. / 3., loss(_LOGITS), places=5)

  def test_of_several_heads(self):
    head = heads.MultiHead([
        heads.RegressionHead(name="a", weight_column="w"),
        heads.RegressionHead(label_dimension=2, name="b")],
                           head_weights=[1., 10.])
    like = {"b": np.float32([[0., 0.]]), "a": np.float32([[0.]])}
    loss = self._loss(head, like, {
        ("labels", "a"): _LABELS, ("labels", "b"): np.zeros([3, 2], np.float32),
        ("features", "w"): _WEIGHTS})
    # Six values of b; their squares sum up to 3. Each is taken by its name.
    b = np.float32([[1., 0.], [0., 1.], [-1., 0.]])
    self.assertAlmostEqual(
        20. / 3. + 10. * 3. / 6., loss({"a": _LOGITS, "b": b}), places=5)
    self.assertAlmostEqual(
        20. / 3. + 10. * 3. / 6., loss({"b": b, "a": _LOGITS}), places=5)

  def test_classes(self):
    loss = self._loss(heads.MultiClassHead(3), np.zeros([1, 3], np.float32),
                      {("labels",): np.int64([[0], [2]])})
    self.assertAlmostEqual(
        np.log(3.), loss(np.zeros([2, 3], np.float32)), places=6)
    # Sure of the first one, and wrong by 20 in the second one.
    self.assertAlmostEqual(
        10., loss(np.float32([[20., 0., 0.], [20., 0., 0.]])), places=5)

  def test_sparse_labels(self):
    labels = v1.SparseTensorValue(
        np.int64([[0, 0], [1, 0], [1, 1]]), np.int64([1, 0, 1]),
        np.int64([2, 2]))
    loss = self._loss(
        heads.MultiLabelHead(2), np.zeros([1, 2], np.float32),
        {("labels",): labels})
    # Of class 0 in the first example alone, the logit has the wrong sign.
    self.assertAlmostEqual(np.log(2.), loss(np.zeros([2, 2])), places=6)
    self.assertAlmostEqual(
        20. / 4., loss(np.float32([[20., 20.], [20., 20.]])), places=5)

  def test_features_in_dicts(self):
    def create_estimator_spec(features, logits, labels, **unused):
      self.assertIsNone(labels)
      return types.SimpleNamespace(loss=v1.reduce_sum(
          logits * features["a"]["b"] + features["a"]["c"]))

    loss = self._loss(
        types.SimpleNamespace(logits_dimension=1,
                              create_estimator_spec=create_estimator_spec),
        _LOGITS, {("features", "a", "b"): _LABELS,
                  ("features", "a", "c"): _WEIGHTS})
    self.assertAlmostEqual(1. + 8. + 4. + 3.5, loss(_LOGITS), places=5)

  def test_features_that_are_one_tensor(self):
    def create_estimator_spec(features, logits, labels, **unused):
      return types.SimpleNamespace(
          loss=v1.reduce_sum(logits * features + labels))

    loss = self._loss(
        types.SimpleNamespace(logits_dimension=1,
                              create_estimator_spec=create_estimator_spec),
        _LOGITS, {("features",): _WEIGHTS, ("labels",): _LABELS})
    self.assertAlmostEqual(1. + 2. + 2. + 7., loss(_LOGITS), places=5)

  def test_other_number_of_examples(self):
    loss = self._loss(
        heads.RegressionHead(), _LOGITS, {("labels",): _LABELS})
    with self.assertRaises(v1.errors.InvalidArgumentError):
      loss(_LOGITS[:2])

  def test_graph_is_its_own(self):
    with v1.Graph().as_default() as graph:
      loss = self._loss(
          heads.RegressionHead(), _LOGITS, {("labels",): _LABELS})
      self.assertEmpty(graph.get_operations())
      self.assertIs(graph, v1.get_default_graph())
      self.assertEqual(0., loss(_LABELS))

  def test_closed(self):
    loss = self._loss(
        heads.RegressionHead(), _LOGITS, {("labels",): _LABELS})
    loss.close()
    with self.assertRaises(RuntimeError):
      loss(_LOGITS)


if __name__ == "__main__":
  absltest.main()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the head's loss of logits, against losses written by hand."""

import contextlib
import hashlib
import types

from absl.testing import absltest
from absl.testing import parameterized
from adanet import heads
from adanet import tf_compat
from adanet.core import subnetworks
from adanet.training import head_loss
import numpy as np

v1 = tf_compat.v1
_LABELS = np.float32([[1.], [2.], [4.]])
_LOGITS = np.float32([[1.], [4.], [1.]])  # Squared errors: 0, 4 and 9.
_WEIGHTS = np.float32([[1.], [.5], [2.]])
_LABELS_PATH = ("labels",)


def _sha(*parts):
  return hashlib.sha256(b"".join(parts)).hexdigest()


def _task(head, features, labels):
  return subnetworks.LearningTask(
      head, None, features, labels, "eval", applies_head=False)


class DigestTest(parameterized.TestCase):

  def test_by_hand(self):
    value = np.float32([[1.], [2.]])
    self.assertEqual(_sha(b"<f4 (2, 1) ", value.tobytes()),
                     head_loss.digest([value]))
    self.assertEqual(
        _sha(b"<f4 (2, 1) ", value.tobytes(), b"|O (2,) ", b"[b'a', b'bc']"),
        head_loss.digest([value, np.array([b"a", b"bc"], object)]))
    self.assertEqual(_sha(), head_loss.digest([]))

  def test_layout_in_memory_does_not_matter(self):
    value = np.float32([[1., 2.], [3., 4.]])
    self.assertEqual(head_loss.digest([value]),
                     head_loss.digest([np.asfortranarray(value)]))
    self.assertEqual(head_loss.digest([value[:, 0]]),
                     head_loss.digest([np.float32([1., 3.])]))

  def test_differs(self):
    digests = [head_loss.digest(values) for values in (
        [np.float32([1., 2.])], [np.float32([2., 1.])],
        [np.float32([[1., 2.]])], [np.float64([1., 2.])],
        [np.float32([1.]), np.float32([2.])],
        [np.array([b"ab", b"c"], object)], [np.array([b"a", b"bc"], object)])]
    self.assertLen(set(digests), len(digests))


class LossInputsTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    stack = contextlib.ExitStack()
    stack.enter_context(v1.Graph().as_default())
    self.addCleanup(stack.close)

  def test_tensors_of(self):
    one, two, labels = (v1.ones([2, 1]) for _ in range(3))
    got = head_loss.tensors_of(_task(
        None, {"b": two, "a": {"c": one}}, labels))
    # In one order, whatever that of the dict is.
    self.assertEqual(
        [(("features", "a", "c"), one.name), (("features", "b"), two.name),
         (("labels",), labels.name)],
        [(path, tensor.name) for path, tensor in got.items()])
    self.assertCountEqual(
        [("features",)], head_loss.tensors_of(_task(None, one, None)))

  def test_components(self):
    sparse = v1.SparseTensor([[0, 1]], [3.], [2, 4])
    dense = v1.ones([2, 1])
    got = head_loss.components(
        _task(None, {"s": sparse, "d": dense}, None))
    self.assertCountEqual(
        [dense.name, sparse.indices.name, sparse.values.name,
         sparse.dense_shape.name], [tensor.name for tensor in got])

  @parameterized.named_parameters(
      ("labels", None, lambda x, w: 2. * x, [_LABELS_PATH]),
      ("weights", "w", lambda x, w: 2. * x, [_LABELS_PATH, ("features", "w")]),
      ("weights_that_the_network_reads", "w", lambda x, w: w * x,
       [_LABELS_PATH, ("features", "w")]),
      ("network_that_reads_them", None, lambda x, w: w * x, [_LABELS_PATH]))
  def test_loss_inputs(self, weight_column, network, expected):
    features = {"x": v1.ones([2, 1]), "w": v1.ones([2, 1])}
    labels = v1.ones([2, 1])
    got = head_loss.loss_inputs(
        _task(heads.RegressionHead(weight_column=weight_column), features,
              labels), network(features["x"], features["w"]))
    self.assertCountEqual(expected, got)
    self.assertIs(labels, got[_LABELS_PATH])

  def test_loss_inputs_that_are_only_checked(self):
    def create_estimator_spec(features, labels, **unused):
      with v1.control_dependencies([v1.check_numerics(features["c"], "")]):
        return types.SimpleNamespace(loss=v1.reduce_sum(labels))

    x, checked, labels = (v1.ones([2, 1]) for _ in range(3))
    got = head_loss.loss_inputs(
        _task(types.SimpleNamespace(
            logits_dimension=1, create_estimator_spec=create_estimator_spec),
              {"x": x, "c": checked}, labels), 2. * x)
    self.assertCountEqual([_LABELS_PATH, ("features", "c")], got)

  def test_loss_inputs_of_several_heads(self):
    head = heads.MultiHead([
        heads.RegressionHead(name="a", weight_column="w"),
        heads.RegressionHead(name="b")])
    features = {"x": v1.ones([2, 1]), "w": v1.ones([2, 1])}
    got = head_loss.loss_inputs(
        _task(head, features, {name: v1.ones([2, 1]) for name in "ab"}),
        {"a": features["x"] * 2., "b": features["x"] * 3.})
    self.assertCountEqual(
        [("labels", "a"), ("labels", "b"), ("features", "w")], got)

  def test_sparse_labels_are_refused(self):
    labels = v1.SparseTensor(
        *(v1.constant(value, v1.int64) for value in ([[0, 0]], [1], [2, 1])))
    task = _task(heads.MultiLabelHead(3), {"x": v1.ones([2, 1])}, labels)
    with self.assertRaisesRegex(
        ValueError, "^evaluator.input_fn: labels is a SparseTensor: expected a "
        "dense tensor with fitted ensembles.* tf.sparse.to_indicator$"):
      head_loss.loss_inputs(task, v1.ones([2, 3]))


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

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what is recorded of networks, and of its files, by hand.

`adanet/estimator:fitted_test` and `earlier_networks_test` there have whole
searches.
"""

import contextlib
import hashlib
import os
import types
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import ensemble
from adanet import heads
from adanet import subnetwork
from adanet import tf_compat
from adanet.core import subnetworks
from adanet.training import recorded_logits
import numpy as np

v1 = tf_compat.v1
_Batch = recorded_logits.RecordedBatch
_LABELS = ("labels",)


def _sparse(indices, values, shape):
  return v1.SparseTensorValue(
      np.int64(indices).reshape([-1, len(shape)]), np.float32(values),
      np.int64(shape))


def _sha(*parts):
  return hashlib.sha256(b"".join(parts)).hexdigest()


def _task(head, features, labels):
  return subnetworks.LearningTask(
      head, None, features, labels, "eval", applies_head=False)


class DigestTest(parameterized.TestCase):

  def test_by_hand(self):
    value = np.float32([[1.], [2.]])
    self.assertEqual(_sha(b"<f4 (2, 1) ", value.tobytes()),
                     recorded_logits.digest([value]))
    self.assertEqual(
        _sha(b"<f4 (2, 1) ", value.tobytes(), b"|O (2,) ", b"[b'a', b'bc']"),
        recorded_logits.digest([value, np.array([b"a", b"bc"], object)]))
    self.assertEqual(_sha(), recorded_logits.digest([]))

  def test_layout_in_memory_does_not_matter(self):
    value = np.float32([[1., 2.], [3., 4.]])
    self.assertEqual(recorded_logits.digest([value]),
                     recorded_logits.digest([np.asfortranarray(value)]))
    self.assertEqual(recorded_logits.digest([value[:, 0]]),
                     recorded_logits.digest([np.float32([1., 3.])]))

  def test_of_sparse(self):
    value = _sparse([[0, 2]], [5.], [1, 3])
    self.assertEqual(recorded_logits.digest([value]),
                     recorded_logits.digest(list(value)))

  def test_differs(self):
    digests = [recorded_logits.digest(values) for values in (
        [np.float32([1., 2.])], [np.float32([2., 1.])],
        [np.float32([[1., 2.]])], [np.float64([1., 2.])],
        [np.float32([1.]), np.float32([2.])],
        [np.array([b"ab", b"c"], object)], [np.array([b"a", b"bc"], object)],
        [_sparse([[0, 1]], [1.], [1, 3])], [_sparse([[0, 2]], [1.], [1, 3])],
        [_sparse([[0, 2]], [1.], [1, 4])])]
    self.assertLen(set(digests), len(digests))


class BatchValuesTest(parameterized.TestCase):

  def test_parts(self):
    value = _sparse([[0, 1]], [3.], [2, 4])
    self.assertLen(recorded_logits.parts(np.zeros([2])), 1)
    for got, expected in zip(recorded_logits.parts(value), (
        [[0, 1]], [3.], [2, 4])):
      np.testing.assert_array_equal(expected, got)
    with v1.Graph().as_default():
      tensor = v1.SparseTensor([[0, 1]], [3.], [2, 4])
      self.assertEqual(
          [tensor.indices.name, tensor.values.name, tensor.dense_shape.name],
          [part.name for part in recorded_logits.parts(tensor)])

  def test_concatenated_arrays(self):
    np.testing.assert_array_equal(
        [[1.], [2.], [3.]], recorded_logits.concatenated(
            [np.float32([[1.], [2.]]), np.float32([[3.]])]))

  def test_concatenated_sparse(self):
    values = [_sparse([[0, 1], [1, 0]], [1., 2.], [2, 2]),
              _sparse([], [], [3, 5]),
              _sparse([[0, 3]], [3.], [1, 4])]
    got = recorded_logits.concatenated(values)
    np.testing.assert_array_equal([[0, 1], [1, 0], [5, 3]], got.indices)
    np.testing.assert_array_equal([1., 2., 3.], got.values)
    np.testing.assert_array_equal([6, 5], got.dense_shape)
    # What is given stays as it was.
    np.testing.assert_array_equal([[0, 3]], values[2].indices)


class OfGraphTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    stack = contextlib.ExitStack()
    stack.enter_context(v1.Graph().as_default())
    self.addCleanup(stack.close)

  def test_tensors_of(self):
    one, two, labels = (v1.ones([2, 1]) for _ in range(3))
    got = recorded_logits.tensors_of(_task(
        None, {"b": two, "a": {"c": one}}, labels))
    # In one order, whatever that of the dict is.
    self.assertEqual(
        [(("features", "a", "c"), one.name), (("features", "b"), two.name),
         (("labels",), labels.name)],
        [(path, tensor.name) for path, tensor in got.items()])
    self.assertCountEqual(
        [("features",)], recorded_logits.tensors_of(_task(None, one, None)))

  def test_components(self):
    sparse = v1.SparseTensor([[0, 1]], [3.], [2, 4])
    dense = v1.ones([2, 1])
    got = recorded_logits.components(
        _task(None, {"s": sparse, "d": dense}, None))
    self.assertCountEqual(
        [dense.name, sparse.indices.name, sparse.values.name,
         sparse.dense_shape.name], [tensor.name for tensor in got])

  @parameterized.named_parameters(
      ("labels", None, lambda x, w: 2. * x, [_LABELS]),
      ("weights", "w", lambda x, w: 2. * x, [_LABELS, ("features", "w")]),
      ("weights_that_the_network_reads", "w", lambda x, w: w * x,
       [_LABELS, ("features", "w")]),
      ("network_that_reads_them", None, lambda x, w: w * x, [_LABELS]))
  def test_loss_inputs(self, weight_column, network, expected):
    features = {"x": v1.ones([2, 1]), "w": v1.ones([2, 1])}
    labels = v1.ones([2, 1])
    got = recorded_logits.loss_inputs(
        _task(heads.RegressionHead(weight_column=weight_column), features,
              labels), network(features["x"], features["w"]))
    self.assertCountEqual(expected, got)
    self.assertIs(labels, got[_LABELS])

  def test_loss_inputs_that_are_only_checked(self):
    def create_estimator_spec(features, labels, **unused):
      with v1.control_dependencies([v1.check_numerics(features["c"], "")]):
        return types.SimpleNamespace(loss=v1.reduce_sum(labels))

    x, checked, labels = (v1.ones([2, 1]) for _ in range(3))
    got = recorded_logits.loss_inputs(
        _task(types.SimpleNamespace(
            logits_dimension=1, create_estimator_spec=create_estimator_spec),
              {"x": x, "c": checked}, labels), 2. * x)
    self.assertCountEqual([_LABELS, ("features", "c")], got)

  def test_loss_inputs_of_several_heads(self):
    head = heads.MultiHead([
        heads.RegressionHead(name="a", weight_column="w"),
        heads.RegressionHead(name="b")])
    features = {"x": v1.ones([2, 1]), "w": v1.ones([2, 1])}
    got = recorded_logits.loss_inputs(
        _task(head, features, {name: v1.ones([2, 1]) for name in "ab"}),
        {"a": features["x"] * 2., "b": features["x"] * 3.})
    self.assertCountEqual(
        [("labels", "a"), ("labels", "b"), ("features", "w")], got)

  def test_loss_inputs_of_sparse_labels(self):
    labels = v1.SparseTensor(
        *(v1.constant(value, v1.int64) for value in ([[0, 0]], [1], [2, 1])))
    got = recorded_logits.loss_inputs(
        _task(heads.MultiLabelHead(3), {"x": v1.ones([2, 1])}, labels),
        v1.ones([2, 3]))
    self.assertEqual([_LABELS], list(got))
    self.assertIs(labels, got[_LABELS])

  @parameterized.parameters(
      (2, 2.), (1.5, 1.5), (np.float64(.25), .25), (lambda: v1.constant(3), 3.))
  def test_network_fetches(self, complexity, expected):
    complexity = complexity() if callable(complexity) else complexity
    one = v1.constant([[1.], [2.]])
    logits = {"h": one, "g": one + 1.}
    fetched = recorded_logits.network_fetches(
        subnetwork.Subnetwork(logits, logits, complexity))
    with v1.Session() as session:
      values = session.run(fetched)
    self.assertEqual(expected, values["complexity"])
    self.assertEqual({("g",): [[2.], [3.]], ("h",): [[1.], [2.]]}, {
        path: array.tolist() for path, array in values["logits"].items()})


class MemberTest(parameterized.TestCase):

  def test_member(self):
    batches = [
        {"logits": {(): np.float64([[1.], [2.]])}, "complexity": 1.5},
        {"logits": {(): np.float64([[3.]])}, "complexity": 1.5}]
    self.assertEqual([2, 1], list(map(recorded_logits.num_examples, batches)))
    member = recorded_logits.member(batches)
    self.assertEqual(1.5, member.complexity)
    self.assertIs(float, type(member.complexity))
    self.assertEqual(np.float32, member.logits.dtype)
    self.assertEqual([[1.], [2.], [3.]], member.logits.tolist())

  def test_member_of_several_heads(self):
    batches = [
        {"logits": {("a",): np.float32([[value]]),
                    ("b",): np.float32([[value, -value]])}, "complexity": 0.}
        for value in (1., 2.)]
    self.assertEqual([1, 1], list(map(recorded_logits.num_examples, batches)))
    logits = recorded_logits.member(batches).logits
    self.assertEqual({"a": [[1.], [2.]], "b": [[1., -1.], [2., -2.]]},
                     {head: array.tolist() for head, array in logits.items()})


def _recording(names=(), **attributes):
  """Returns a record of networks whose logits tell which ones they are."""
  return recorded_logits.RecordedLogits(**{
      "members": {(t, name): ensemble.Member(np.float32([[t]]), float(t))
                  for t, name in names},
      "previous": None, "inputs": {}, "batches": (_Batch(1, "d"),),
      **attributes})


class RecordFilesTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._folder = os.path.join(self.create_tempdir().full_path, "new")

  def test_written_and_read(self):
    given = _recording(
        members={
            (0, "one"): ensemble.Member(np.float64([[1.], [2.]]), 1.5),
            (1, "two"): ensemble.Member(
                {"y": np.float32([[3.], [4.]]),
                 "x": np.float32([[5., 6.], [7., 8.]])}, 0.),
            (1, "three"): ensemble.Member(np.float32([[9.], [10.]]), 2.)},
        inputs={_LABELS: np.float32([[1.], [0.]]),
                ("features", "s"): _sparse([[1, 0]], [4.], [2, 1])},
        batches=(_Batch(2, "d"),), features=("f",),
        variables={(0, "one"): ("v", "w")}, graphs={"t0_one": {"MatMul": 1}})
    recorded_logits.write(given, self._folder)
    got = recorded_logits.read(self._folder)
    self.assertEqual([(0, "one"), (1, "two"), (1, "three")], list(got.members))
    self.assertEqual([1.5, 0., 2.],
                     [one.complexity for one in got.members.values()])
    one, two, three = (one.logits for one in got.members.values())
    self.assertEqual(np.float32, one.dtype)
    self.assertEqual([[1.], [2.]], one.tolist())
    self.assertEqual([[9.], [10.]], three.tolist())
    self.assertEqual({"x": [[5., 6.], [7., 8.]], "y": [[3.], [4.]]},
                     {head: array.tolist() for head, array in two.items()})
    self.assertEqual([[1.], [0.]], got.inputs[_LABELS].tolist())
    self.assertEqual(recorded_logits.digest(given.inputs.values()),
                     recorded_logits.digest(got.inputs.values()))
    self.assertIsNone(got.previous)
    for name in ("batches", "features", "variables", "graphs"):
      self.assertEqual(getattr(given, name), getattr(got, name))

  def test_not_written(self):
    with self.assertRaises(v1.errors.NotFoundError):
      recorded_logits.read(self._folder)


class CompletedTest(parameterized.TestCase):

  def _completed(self, logits, missing, known):
    """Completes logits; what it runs again has the labels ("again",)."""
    def run_again(model, number, checkpoint, folder, *unused):
      self.assertEqual(
          ("part", (), 1, "c"), (*model, number, checkpoint))
      recorded_logits.write(_recording(
          [(0, "a")], batches=(_Batch(1, "now"),), inputs={"again": 1}), folder)

    library = recorded_logits.logits_library
    model = mock.Mock(_replace=lambda **changed: next(iter(changed.items())))
    with mock.patch.object(library, "missing", return_value=missing), (
        mock.patch.object(library, "of_previous", return_value=known)), (
            mock.patch.object(recorded_logits, "_recorded", run_again)):
      with recorded_logits.completed(model, 1, "c", logits) as completed:
        # The files are there until the end.
        return completed, {name: one.logits.tolist()
                           for name, one in completed.members.items()}

  def test_none_is_missing(self):
    logits = _recording([(1, "b")])
    self.assertIs(logits, self._completed(logits, [], None)[0])

  def test_from_the_model_dir(self):
    completed, values = self._completed(
        _recording([(1, "b")], inputs={_LABELS: 2}), [(0, "a")],
        _recording([(0, "a")]))
    self.assertEqual([((0, "a"), [[0.]]), ((1, "b"), [[1.]])],
                     list(values.items()))
    self.assertEqual({_LABELS: 2}, completed.inputs)

  @parameterized.named_parameters(
      ("not_there", None, False),
      ("other_batches", _recording([(0, "a")], batches=(_Batch(1, "old"),)),
       True),
      ("other_features", _recording(
          [(0, "a")], batches=(_Batch(1, "now"),), features=("old",)), True))
  def test_run_again(self, known, is_said):
    logits = _recording([(1, "b")], batches=(_Batch(1, "now"),))
    with self.assertLogs(level="INFO") as logs:
      recorded_logits.logging.info("begin")
      completed, values = self._completed(logits, [(0, "a")], known)
    self.assertEqual([(0, "a"), (1, "b")], list(values))
    self.assertEqual({"again": 1}, completed.inputs)
    self.assertEqual(is_said, any(
        "Iteration 1: evaluator.input_fn gives other data than" in line
        for line in logs.output))


if __name__ == "__main__":
  absltest.main()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what heads say about bad input: one line, while the graph is built.
"""

import functools

from absl.testing import absltest
from absl.testing import parameterized
from adanet import heads
from adanet import tf_compat
from adanet.heads import export_output
import numpy as np

v1 = tf_compat.v1


def _regression(**kwargs):
  return functools.partial(heads.RegressionHead, **kwargs)


def _binary(**kwargs):
  return functools.partial(heads.BinaryClassHead, **kwargs)


def _classes(*args, **kwargs):
  return functools.partial(heads.MultiClassHead, *args, **kwargs)


def _labels(*args, **kwargs):
  return functools.partial(heads.MultiLabelHead, *args, **kwargs)


def _several(**kwargs):
  return functools.partial(
      heads.MultiHead,
      [heads.RegressionHead(name="a"), heads.BinaryClassHead(name="b")],
      **kwargs)


def _no_logits(labels):
  return labels


def _too_many(labels, logits, mode):
  del labels, mode
  return logits


def _wrong_shape(labels, logits):
  del labels
  return v1.reduce_sum(logits, axis=-1)


def _loss(head, features, logits, labels):
  """Returns the loss of a head. Evaluation has the same checks."""
  return head.create_estimator_spec(
      features, "train", logits, labels,
      train_op_fn=lambda _: v1.no_op()).loss


_SPARSE = dict(indices=[[0, 0]], dense_shape=[4, 1])

_ARGUMENTS = [
    ("label_dimension", _regression(label_dimension=0),
     "label_dimension=0: expected an integer of at least 1"),
    ("no_reduction", _regression(loss_reduction="none"),
     "loss_reduction='none': expected one of 'auto', 'sum'"),
    ("loss_fn", _classes(3, loss_fn=_no_logits), "it has no argument logits"),
    ("loss_fn_arguments", _labels(3, loss_fn=_too_many),
     "no head has a value for its argument mode"),
    ("n_classes", _classes(1),
     "n_classes=1: expected an integer of at least 2"),
    ("threshold_0", _binary(thresholds=[0., .5]), "0.0 is not between 0 and 1"),
    ("vocabulary_type", _binary(label_vocabulary="ab"),
     "label_vocabulary='ab': expected a list or tuple"),
    ("vocabulary_of_int", _classes(3, label_vocabulary=[1, 2, 3]),
     "label_vocabulary: 1 is not a str"),
    ("vocabulary_size", _binary(label_vocabulary=["a", "b", "c"]),
     "label_vocabulary has 3 items: expected 2"),
    ("vocabulary_twice", _classes(3, label_vocabulary=["a", "b", "a"]),
     "a label occurs twice"),
    ("class_range", _labels(3, classes_for_class_based_metrics=[3]),
     r"metrics=3: expected an integer in \[0, 3\)"),
    ("class_name", _labels(
        2, label_vocabulary=["a", "b"], classes_for_class_based_metrics=["c"]),
     "'c' is not in label_vocabulary"),
    ("no_heads", functools.partial(heads.MultiHead, []),
     "expected at least one head"),
    ("no_name", functools.partial(heads.MultiHead, [heads.RegressionHead()]),
     "a RegressionHead has no name"),
    ("same_name", functools.partial(
        heads.MultiHead,
        [heads.RegressionHead(name="a"), heads.BinaryClassHead(name="a")]),
     "two have the name 'a'"),
    ("head_weights", _several(head_weights=[1.]),
     r"head_weights=\[1.0\]: expected 2"),
]

# Head, features, logits, labels and the error.
_GRAPHS = [
    ("no_labels", _regression(), {}, np.zeros([4, 1]), None,
     "labels=None: RegressionHead needs labels to train and to evaluate"),
    ("labels_shape", _regression(name="r"), {}, np.zeros([4, 1]),
     np.zeros([4, 2]),
     r"labels: RegressionHead 'r' expects the shape \[batch_size, ..., 1\], "
     r"here \[4, 1\], but the shape is \[4, 2\]"),
    ("labels_batch", _binary(), {}, np.zeros([4, 1]), np.zeros([3], int),
     "labels: 3 rows, and the logits of the features have 4: expected as many"),
    ("labels_rank", _regression(), {}, np.zeros([4, 1]), 0.,
     r"labels: .*but the shape is \[\]"),
    ("one_hot_labels", _classes(3), {}, np.zeros([4, 3]), np.zeros([4, 3], int),
     r"labels: MultiClassHead expects class ids \(argmax if they are one-hot\) "
     r"of the shape \[batch_size, ..., 1\], here \[4, 1\], but .* is \[4, 3\]"),
    ("labels_dict", _regression(), {}, np.zeros([4, 1]), {"a": np.zeros([4])},
     "labels: got a dict with the keys .'a'.*MultiHead"),
    ("string_labels", _regression(), {}, np.zeros([2, 1]), ["1", "2"],
     "labels: dtype string, but RegressionHead expects numbers"),
    ("string_labels_binary", _binary(), {}, np.zeros([2, 1]), ["1", "2"],
     "labels: dtype string, but .*label_vocabulary"),
    ("string_labels_multi_label", _labels(2), {}, np.zeros([1, 2]),
     [["1", "2"]], "labels: dtype string, but .*SparseTensor"),
    ("float_labels", _classes(3), {}, np.zeros([2, 3]), [0., 1.],
     "labels: dtype float32, but MultiClassHead expects integers"),
    ("no_strings", _binary(label_vocabulary=["a", "b"]), {}, np.zeros([2, 1]),
     [0, 1], "labels: dtype int32, but .*strings, because it has a label_voc"),
    ("sparse_labels", _regression(), {}, np.zeros([4, 1]),
     v1.SparseTensorValue(values=[1.], **_SPARSE), "takes no SparseTensor"),
    ("sparse_floats", _labels(2), {}, np.zeros([4, 2]),
     v1.SparseTensorValue(values=[1.], **_SPARSE),
     "labels: dtype float32, but MultiLabelHead expects integers"),
    ("logits_dimension", _classes(3), {}, np.zeros([4, 2]), [0, 1, 2, 0],
     r"logits: MultiClassHead expects the shape \[batch_size, ..., 3\], but "
     r"the last dimension is 2 in \[4, 2\]"),
    ("logits_rank", _regression(), {}, np.zeros([4]), np.zeros([4]),
     r"logits: .*but the shape is \[4\]"),
    ("logits_dict", _regression(), {}, {"a": np.zeros([4, 1])}, np.zeros([4]),
     "logits: got a dict with the keys .'a'.*MultiHead"),
    ("logits_dtype", _regression(), {}, [["a"]], [1.], "logits: dtype string"),
    ("no_weights", _regression(weight_column="w"), {"x": 1., "y": 2.},
     np.zeros([4, 1]), np.zeros([4]),
     "weight_column='w': RegressionHead expects a feature of this name, and "
     "features has x, y"),
    ("features_no_dict", _regression(weight_column="w"), np.zeros([4]),
     np.zeros([4, 1]), np.zeros([4]), "weight_column='w': .* is not a dict"),
    ("string_weights", _regression(weight_column="w"), {"w": ["a", "b"]},
     np.zeros([2, 1]), np.zeros([2]),
     "weight_column='w': .* a dense tensor of numbers"),
    ("sparse_weights", _regression(weight_column="w"),
     {"w": v1.SparseTensorValue(values=[1.], **_SPARSE)}, np.zeros([4, 1]),
     np.zeros([4]), "weight_column='w': .* a dense tensor of numbers"),
    ("scalar_weights", _regression(weight_column="w"), {"w": 2.},
     np.zeros([2, 1]), np.zeros([2]),
     "weight_column='w': .* a weight for each"),
    ("weights_shape", _regression(label_dimension=3, weight_column="w"),
     {"w": np.ones([4, 2])}, np.zeros([4, 3]), np.zeros([4, 3]),
     r"weight_column: .*\[batch_size, ..., 1 or 3\], but the shape is "
     r"\[4, 2\]"),
    ("weight_for_each_class", _labels(3, weight_column="w"),
     {"w": np.ones([4, 3])}, np.zeros([4, 3]), np.zeros([4, 3]),
     r"weight_column: .*\[batch_size, ..., 1\], but the shape is \[4, 3\]"),
    ("losses_shape", _regression(label_dimension=2, loss_fn=_wrong_shape), {},
     np.zeros([4, 2]), np.zeros([4, 2]),
     "loss_fn of RegressionHead: expected one loss for each example"),
    ("several_labels", _several(), {}, np.zeros([4, 2]), np.zeros([4]),
     "labels: got a ndarray, expected a dict with the keys .'a', 'b'"),
    ("several_labels_missing", _several(), {}, np.zeros([4, 2]),
     {"a": np.zeros([4])}, "labels: there is nothing for the heads .'b'"),
    ("several_logits_missing", _several(), {}, {"b": np.zeros([4, 1])},
     {"a": np.zeros([4]), "b": np.zeros([4])},
     "logits: there is nothing for the heads .'a'"),
    ("several_logits_dimension", _several(), {}, np.zeros([4, 3]),
     {"a": np.zeros([4]), "b": np.zeros([4])},
     r"logits: MultiHead 'a_b' expects the shape \[batch_size, ..., 2\], but "
     r"the last dimension is 3"),
]


class BadInputTest(parameterized.TestCase):

  def assert_one_line(self, error):
    self.assertNotIn("\n", str(error))

  @parameterized.named_parameters(_ARGUMENTS)
  def test_arguments(self, make, message):
    with self.assertRaisesRegex(ValueError, message) as context:
      make()
    self.assert_one_line(context.exception)

  def test_type(self):
    with self.assertRaisesRegex(TypeError, "^n_classes=None: expected an inte"):
      heads.MultiClassHead(None)
    with self.assertRaisesRegex(TypeError, "weight_column=3: expected the n"):
      heads.RegressionHead(weight_column=3)

  @parameterized.named_parameters(_GRAPHS)
  def test_graph(self, make, features, logits, labels, message):
    with v1.Graph().as_default(), self.assertRaisesRegex(
        ValueError, message) as context:
      _loss(make(), features, logits, labels)
    self.assert_one_line(context.exception)

  @parameterized.named_parameters(
      ("mode", dict(mode="predict"), "mode='predict': expected"),
      ("no_train_op", dict(), "expected exactly one of them"),
      ("two_train_ops", dict(train_op_fn=lambda _: v1.no_op(), optimizer=1),
       "expected exactly one of them"),
      ("optimizer", dict(optimizer=1, trainable_variables=[]),
       "optimizer=1: it has no get_updates"),
      ("variables", dict(optimizer=1), "trainable_variables=None: expected"),
      ("update_ops", dict(train_op_fn=lambda _: v1.no_op(), update_ops=1),
       "update_ops=1: expected"),
  )
  def test_training(self, kwargs, message):
    kwargs = dict(dict(mode="train"), **kwargs)
    with v1.Graph().as_default(), self.assertRaisesRegex(
        ValueError, message) as context:
      heads.RegressionHead().create_estimator_spec(
          features={}, logits=np.zeros([2, 1]), labels=np.zeros([2]), **kwargs)
    self.assert_one_line(context.exception)

  def test_different_loss_reductions(self):
    head = heads.MultiHead([
        heads.RegressionHead(name="a"),
        heads.RegressionHead(name="b", loss_reduction="sum")
    ])
    with v1.Graph().as_default(), self.assertRaisesRegex(
        ValueError, "different values of loss_reduction"):
      _loss(head, {}, np.zeros([2, 2]),
            {"a": np.zeros([2]), "b": np.zeros([2])})

  @parameterized.named_parameters(
      ("binary", _binary(), 1, [0, 2], "values from 0 to 1"),
      ("binary_vocabulary", _binary(label_vocabulary=["a", "b"]), 1,
       ["a", "c"], "values from 0 to 1, or of label_vocabulary"),
      ("classes", _classes(3), 3, [3, 0], "values from 0 to 2"),
      ("classes_vocabulary", _classes(3, label_vocabulary=["a", "b", "c"]), 3,
       ["d", "a"], "values from 0 to 2"),
      ("labels", _labels(2), 2, [[0, 1], [-1, 0]], "values from 0 to 1"),
      ("sparse", _labels(2), 2,
       v1.SparseTensorValue(values=[2], indices=[[0, 0]], dense_shape=[2, 1]),
       "values from 0 to 1"),
      ("sparse_vocabulary", _labels(2, label_vocabulary=["a", "b"]), 2,
       v1.SparseTensorValue(values=["c"], indices=[[0, 0]], dense_shape=[2, 1]),
       "values from 0 to 1"),
  )
  def test_label_values(self, make, dimension, labels, message):
    with v1.Graph().as_default(), v1.Session() as session:
      loss = _loss(make(), {}, v1.zeros([2, dimension]), labels)
      session.run(v1.tables_initializer())
      with self.assertRaisesRegex(v1.errors.InvalidArgumentError, message):
        session.run(loss)

  @parameterized.parameters(
      ([1., -2.], r"weights of at least 0.*\[-2\]"),
      ([[1.], [np.nan]], r"weights of at least 0.*\[nan\]"))
  def test_weight_values(self, weights, message):
    with v1.Graph().as_default(), v1.Session() as session:
      loss = _loss(heads.BinaryClassHead("w"), {"w": np.float32(weights)},
                   v1.zeros([2, 1]), [1, 0])
      with self.assertRaisesRegex(
          v1.errors.InvalidArgumentError,
          f"weight_column: BinaryClassHead expects {message}"):
        session.run(loss)

  @parameterized.parameters(
      ([3, 2], [2, 2], [3, 1], "labels: .*expects the shape"),
      ([2, 2], [3, 2], [2, 1], "labels: .*expects the shape"),
      ([2, 2], [2, 2], [3, 1], "weight_column: .*expects weights"))
  def test_shapes_that_only_a_run_knows(
      self, logits_shape, labels_shape, weights_shape, message):
    with v1.Graph().as_default(), v1.Session() as session:
      logits = v1.placeholder(v1.float32, [None, 2])
      labels = v1.placeholder(v1.float32, [None, 2])
      weights = v1.placeholder(v1.float32, [None, 1])
      loss = _loss(
          heads.RegressionHead(2, "w"), {"w": weights}, logits, labels)
      with self.assertRaisesRegex(v1.errors.InvalidArgumentError, message):
        session.run(loss, {
            logits: np.ones(logits_shape), labels: np.ones(labels_shape),
            weights: np.ones(weights_shape)})

  def test_losses_shape_that_only_a_run_knows(self):
    with v1.Graph().as_default(), v1.Session() as session:
      losses = v1.placeholder(v1.float32)
      loss = _loss(heads.RegressionHead(loss_fn=lambda labels, logits: losses),
                   {}, v1.zeros([2, 1]), v1.zeros([2]))
      with self.assertRaisesRegex(v1.errors.InvalidArgumentError, "loss_fn of"):
        session.run(loss, {losses: np.zeros([2])})


class ExportOutputTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ("nothing", lambda: export_output.ClassificationOutput(),
       "scores=None, classes=None: expected a tensor"),
      ("scores", lambda: export_output.ClassificationOutput(v1.constant([1])),
       "scores=.*: expected a float tensor"),
      ("classes",
       lambda: export_output.ClassificationOutput(classes=v1.constant([1])),
       "classes=.*: expected a string tensor"),
      ("value", lambda: export_output.RegressionOutput(1.),
       "value=1.0: expected a float tensor"),
      ("key", lambda: export_output.PredictOutput({1: v1.constant(1)}),
       "outputs: key 1: expected a str"),
      ("output", lambda: export_output.PredictOutput({"a": 1}),
       r"outputs\['a'\]=1: expected a tensor"),
  )
  def test_tensors(self, make, message):
    with v1.Graph().as_default(), self.assertRaisesRegex(
        ValueError, message) as context:
      make()
    self.assertNotIn("\n", str(context.exception))

  @parameterized.parameters(
      (["string", "string"],), (["float32"],), ([],))
  def test_receiver_tensors(self, dtypes):
    with v1.Graph().as_default():
      tensors = {str(i): v1.placeholder(dtype)
                 for i, dtype in enumerate(dtypes)}
      value = v1.zeros([2, 1])
      for output, method in (
          (export_output.RegressionOutput(value), "regress"),
          (export_output.ClassificationOutput(value), "classify")):
        with self.assertRaisesRegex(
            ValueError, f"receiver_tensors=.*a {method} signature takes one "
                        "string") as context:
          output.as_signature_def(tensors)
        self.assertNotIn("\n", str(context.exception))

  def test_one_tensor(self):
    with v1.Graph().as_default():
      output = export_output.PredictOutput(v1.zeros([2]))
      signature = output.as_signature_def({"x": v1.placeholder(v1.string)})
    self.assertEqual(["output"], list(output.outputs))
    self.assertEqual(["output"], list(signature.outputs))

  def test_classes_only(self):
    with v1.Graph().as_default():
      signature = export_output.ClassificationOutput(
          classes=v1.constant([["a"]])).as_signature_def(
              {"x": v1.placeholder(v1.string)})
    self.assertEqual("tensorflow/serving/classify", signature.method_name)
    self.assertEqual(["classes"], list(signature.outputs))

  def test_tuple_keys(self):
    with v1.Graph().as_default():
      output = export_output.PredictOutput({("a", "b"): v1.zeros([2])})
    self.assertEqual(["a/b"], list(output.outputs))


if __name__ == "__main__":
  absltest.main()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of `KerasHead`: its figures are those of `Model.evaluate`."""

import sys
import unittest

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet.testing import level
from adanet import tf_compat
from adanet.heads import mean_loss
from adanet.tf_compat import keras_scope
import numpy as np

_RANDOM = np.random.RandomState(1)
_PROBABILITIES = _RANDOM.dirichlet([1., 1., 1.], 12).astype(np.float32)
_NUMBERS = _RANDOM.randn(12, 1).astype(np.float32)
_CLASSES = _RANDOM.randint(3, size=12)
_IMAGES = _RANDOM.rand(12, 4, 4, 1).astype(np.float32)
_SEQUENCES = _RANDOM.randn(12, 5, 3).astype(np.float32)
_WEIGHTS = _RANDOM.rand(12).astype(np.float32)


def _largest_error(y_true, y_pred):
  """A loss of a user."""
  return tf_compat.keras_3.ops.max(abs(y_true - y_pred), -1)


def _keras(name, **arguments):
  return lambda: getattr(tf_compat.keras_3.losses, name)(**arguments)


# Function that makes the loss, metrics, outputs, labels.
_TABLE = {
    "classes": (lambda: "sparse_categorical_crossentropy",
                ["accuracy", "acc"], _PROBABILITIES, _CLASSES),
    "class_column": (lambda: "sparse_categorical_crossentropy", ["accuracy"],
                     _PROBABILITIES, _CLASSES[:, None]),
    "one_hot": (_keras("CategoricalCrossentropy", label_smoothing=.1),
                ["accuracy"], _PROBABILITIES, np.eye(3)[_CLASSES]),
    "logits": (_keras("SparseCategoricalCrossentropy", from_logits=True),
               ["accuracy"], _SEQUENCES[:, 0], _CLASSES),
    "binary": (lambda: "binary_crossentropy", ["accuracy", "AUC"],
               _PROBABILITIES[:, :1], _CLASSES > 1),
    "regression": (lambda: "mse", ["mae", "mse"], _NUMBERS, _NUMBERS[:, 0]**2),
    "huber": (_keras("Huber", delta=.3), [], _NUMBERS, _NUMBERS**2),
    "sum": (_keras("MeanSquaredError", reduction="sum"), [], _NUMBERS,
            _NUMBERS**2),
    "mean_with_weights": (
        _keras("MeanSquaredError", reduction="mean_with_sample_weight"), [],
        _NUMBERS, _NUMBERS**2),
    "function": (lambda: _largest_error, [_largest_error], _PROBABILITIES,
                 np.eye(3)[_CLASSES]),
    "sequence": (_keras("SparseCategoricalCrossentropy", from_logits=True),
                 ["accuracy"], _SEQUENCES, _RANDOM.randint(3, size=[12, 5])),
    "images": (lambda: "binary_crossentropy", ["mae"], _IMAGES,
               (_IMAGES > .5).astype(np.int32)),
}


def _named(table):
  return parameterized.named_parameters(
      *[(f"_{name}", *row) for name, row in table.items()])


def _evaluated(head, features, outputs, labels, sizes=(5, 5, 2)):
  """Returns the loss and the metrics of a head, over batches of some sizes."""
  v1 = tf_compat.v1
  with v1.Graph().as_default(), keras_scope.KerasScope("metrics").entered():
    fed = {"features": features, "outputs": outputs, "labels": labels}
    placeholders = v1.nest.map_structure(
        lambda array: v1.placeholder(
            v1.as_dtype(array.dtype), [None, *array.shape[1:]]), fed)
    spec = head.create_estimator_spec(
        placeholders["features"], "eval", placeholders["outputs"],
        placeholders["labels"])
    metrics = dict(spec.eval_metric_ops,
                   loss=mean_loss.metric(spec.loss_terms))
    with v1.Session() as session:
      session.run([v1.global_variables_initializer(),
                   v1.local_variables_initializer()])
      begin = 0
      for size in sizes:
        part = slice(begin, begin + size)
        feed = v1.nest.map_structure(lambda array: array[part], fed)  # pylint: disable=cell-var-from-loop
        session.run([update for _, update in metrics.values()], dict(zip(
            v1.nest.flatten(placeholders), v1.nest.flatten(feed))))
        begin += size
      return {name: float(session.run(value))
              for name, (value, _) in metrics.items()}


@unittest.skipUnless(tf_compat.HAS_KERAS_3,
                     "Keras 3 needs TensorFlow 2.16 or later.")
class KerasHeadTest(parameterized.TestCase):

  def _of_keras(self, outputs, labels, weights, **arguments):
    """Returns what Keras evaluates, of a model that returns its input."""
    keras = tf_compat.keras_3
    if isinstance(outputs, dict):
      inputs = {name: keras.Input(one.shape[1:])
                for name, one in outputs.items()}
      model = keras.Model(inputs, {
          name: keras.layers.Identity(name=name)(one)
          for name, one in inputs.items()})
    else:
      model = keras.Sequential(
          [keras.Input(outputs.shape[1:]), keras.layers.Identity()])
    model.compile(**arguments)
    return model.evaluate(outputs, labels, sample_weight=weights, verbose=0,
                          batch_size=12, return_dict=True)

  @_named(_TABLE)
  @level.gate
  def test_equals_keras(self, make_loss, metrics, outputs, labels):
    # Keras takes no weights of examples where an example has many losses.
    for weights in (None, _WEIGHTS)[:1 + (outputs.ndim < 3)]:
      head = adanet.heads.KerasHead(
          make_loss(), metrics=metrics,
          weight_column=None if weights is None else "weights")
      features = {"weights": _WEIGHTS}
      found = _evaluated(head, features, outputs, labels, sizes=(12,))
      expected = self._of_keras(
          outputs, labels, weights, loss=make_loss(), metrics=metrics)
      self.assertEqual(sorted(expected), sorted(found))
      for name, value in expected.items():
        self.assertAlmostEqual(value, found[name], 5, name)
      if head.loss_reduction != "sum":  # However they are cut into batches.
        self.assertAlmostEqual(found["loss"], _evaluated(
            head, features, outputs, labels)["loss"], 5)

  @level.gate
  def test_several_outputs(self):
    outputs = {"number": _NUMBERS, "class": _PROBABILITIES}
    labels = {"number": _NUMBERS**2, "class": _CLASSES}
    arguments = dict(
        loss={"number": "mse", "class": "sparse_categorical_crossentropy"},
        loss_weights={"number": .5, "class": 2.},
        metrics={"number": ["mae"], "class": ["accuracy"]})
    head = adanet.heads.KerasHead(**arguments)
    self.assertEqual(["number", "class"], head.output_names)
    found = _evaluated(head, {"x": _NUMBERS}, outputs, labels, sizes=(12,))
    expected = self._of_keras(outputs, labels, None, **arguments)
    self.assertEqual(sorted(expected), sorted(found))
    for name, value in expected.items():
      self.assertAlmostEqual(value, found[name], 5, name)


  @parameterized.parameters(
      (dict(loss="mean_sqared_error"),
       "loss='mean_sqared_error': expected the name of a loss of Keras, "),
      (dict(loss=None), "loss=None: expected"),
      (dict(loss=3), "loss=3: expected"),
      (dict(loss={}), "expected a loss for each output"),
      (dict(loss={"a": "mse"}, loss_weights={"b": 1.}),
       r"loss_weights has the key 'b': expected one of \['a'\]"),
      (dict(loss=["mse", "mse"], loss_weights=[1.]),
       "loss_weights has 1 values: expected 2"),
      (dict(loss="mse", loss_weights="2"), "loss_weights: got '2'"))
  def test_wrong_arguments(self, arguments, message):
    with self.assertRaisesRegex(ValueError, message):
      adanet.heads.KerasHead(**arguments)

  def test_loss_without_a_reduction(self):
    with self.assertRaisesRegex(ValueError, "has reduction='?[Nn]one"):
      adanet.heads.KerasHead(
          tf_compat.keras_3.losses.MeanSquaredError(reduction="none"))

  @parameterized.parameters(
      (dict(loss="mse"), {"a": _NUMBERS}, _NUMBERS,
       r"logits: got a dict with the keys \['a'\], and the KerasHead has one"),
      (dict(loss={"a": "mse"}), {"b": _NUMBERS}, {"a": _NUMBERS},
       r"logits: expected a dict with the keys \['a'\]"),
      (dict(loss={"a": "mse"}), {"a": _NUMBERS}, _NUMBERS,
       r"labels: expected a dict with the keys \['a'\]"),
      (dict(loss="mse"), _NUMBERS, np.array(["a"] * 12, object),
       "labels: KerasHead expects numbers, got string"),
      (dict(loss="categorical_crossentropy"), _PROBABILITIES, _NUMBERS,
       "the loss categorical_crossentropy does not take labels of the shape"),
      (dict(loss="mse", weight_column="w"), _NUMBERS, _NUMBERS,
       "weight_column='w': KerasHead expects a feature of this name"))
  def test_wrong_batches(self, arguments, outputs, labels, message):
    with self.assertRaisesRegex(ValueError, message):
      _evaluated(adanet.heads.KerasHead(**arguments), {"x": _NUMBERS}, outputs,
                 labels)

  @parameterized.parameters(
      ("mse", "mean_squared_error", True), ("mse", "mae", False),
      ("mse", lambda: _keras("MeanSquaredError")(), True),
      (lambda: _keras("SparseCategoricalCrossentropy", from_logits=True)(),
       "sparse_categorical_crossentropy", False),
      ({"a": "mse"}, {"a": "mse"}, True), ({"a": "mse"}, "mse", False),
      ({"a": "mse"}, {"b": "mse"}, False), (["mse", "mae"], ["mse"], False),
      (["mse", "mae"], ["mae", "mse"], False),
      ({"a": "mse", "b": "mae"}, {"b": "mae", "a": "mse"}, True))
  def test_has_losses(self, loss, other, expected):
    loss, other = (one() if callable(one) else one for one in (loss, other))
    self.assertEqual(
        expected, adanet.heads.KerasHead(loss).has_losses(other))


@unittest.skipIf(tf_compat.HAS_KERAS_3, "Keras 3 is there.")
class KerasHeadWithoutKeras3Test(absltest.TestCase):

  def test_error(self):
    with self.assertRaisesRegex(ValueError, "TensorFlow 2.16 or later"):
      adanet.heads.KerasHead("mse")


if __name__ == "__main__":
  sys.exit(absltest.main())

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the data that `EnsembleSearch.fit` takes, and of weights."""

import unittest

from absl.testing import absltest
from absl.testing import parameterized
from adanet.testing import level
from adanet import tf_compat
from adanet.estimator.keras_fit import arrangement
from adanet.estimator.keras_fit import array_data
from adanet.testing import data_frames
from adanet.testing import keras_searches as searches
import numpy as np

keras = tf_compat.keras_3 if tf_compat.HAS_KERAS_3 else None

_X, _SIZE, _KIND, _ROWS = (
    searches.X, searches.SIZE, searches.KIND, searches.ROWS)
_SPARSE = searches.SPARSE
_dense, _pool, _batches = searches.dense, searches.pool, searches.batches

def _joined(names, outputs):
  """Returns a function that makes a model of two inputs.

  Args:
    names: of the inputs; None for none.
    outputs: dict from the name of each output to its size.
  """

  def make():
    left, right = (keras.Input([size], name=name) for size, name in zip(
        (4, 1), names or (None, None)))
    hidden = keras.layers.Dense(6, "relu")(
        keras.layers.Concatenate()([left, right]))
    return keras.Model([left, right], [
        keras.layers.Dense(size, "softmax" if size > 1 else None, name=name)(
            hidden) for name, size in outputs.items()])

  return make


def _columns(keys):
  """Returns a function that makes a model of the columns of a data frame."""

  def make():
    inputs = {key: keras.Input([1], name=key) for key in keys}
    return keras.Model(inputs, keras.layers.Dense(1)(
        keras.layers.Concatenate()([inputs[key] for key in keys])))

  return make


@unittest.skipUnless(tf_compat.HAS_KERAS_3,
                     "Keras 3 needs TensorFlow 2.16 or later.")
class EnsembleSearchDataTest(searches.KerasSearchCase):

  @level.gate
  def test_weights(self):
    """Weights of 0 leave rows out of training, checks and selection."""
    nonsense = np.where(np.arange(_ROWS) % 2, 1e3, _SIZE)
    weights = 1. - np.arange(_ROWS) % 2
    search = self.fitted(_pool(1), "mse", _X, nonsense, {
        "sample_weight": weights, "epochs": 20})
    self.assertLess(search.model.evaluate(
        _X, _SIZE, sample_weight=weights, verbose=0), 20)
    value = search.history.iterations[-1].winning.value
    self.assertLess(value, 20)

  @level.gate
  def test_class_weight_is_sample_weight(self):
    values = []
    for fit in ({"class_weight": {0: 3., 1: .5}},
                {"sample_weight": np.array([3., .5, 1.])[_KIND]}):
      search = self.fitted(_pool(3, "softmax"), _SPARSE, _X, _KIND, fit)
      values.append(search.history.iterations[-1].winning.value)
    self.assertEqual(*values)
    search = self.fitted(_pool(3, "softmax"), _SPARSE, _X, _KIND)
    self.assertNotEqual(
        values[0], search.history.iterations[-1].winning.value)

  @parameterized.parameters(True, False)
  def test_a_batch_ends_with_its_epoch(self, is_file):
    x = np.arange(20.)[:, None]
    data = array_data.ArrayData(
        x, np.zeros([20]), 8, (x, np.zeros([20])), .2, None, None, 0)
    with tf_compat.v1.Graph().as_default(), tf_compat.v1.Session() as session:
      train, _ = data.input_fns(
          arrangement.Arrangement(arrangement.ARRAY),
          self.create_tempdir().full_path if is_file else None)
      features, _ = tf_compat.v1.data.make_one_shot_iterator(
          train()).get_next()
      batches = [np.ravel(session.run(features)) for _ in range(6)]
    self.assertEqual([8, 8, 4] * 2, list(map(len, batches)))
    for epoch in batches[:3], batches[3:]:
      self.assertCountEqual(range(20), np.concatenate(epoch))
    self.assertEqual(3, data.steps_per_epoch)

  @parameterized.parameters(
      ([[1100, 10]], 1024), ([[600, 128], [600, 128]], 256),
      ([[300, 28, 28]], 128))
  def test_rows_of_a_check(self, shapes, expected):
    """Small rows are read many at once, and large ones 128."""
    x = {f"x{i}": np.zeros(shape, np.float32) for i, shape in enumerate(shapes)}
    rows = len(x["x0"])
    data = array_data.ArrayData(
        x, np.zeros([rows]), 32, (x, np.zeros([rows])), .2, None, None, 0)
    sizes = []
    with tf_compat.v1.Graph().as_default(), tf_compat.v1.Session() as session:
      _, held_out = data.input_fns(
          arrangement.Arrangement(arrangement.DICT), None)
      batch = tf_compat.v1.data.make_one_shot_iterator(held_out()).get_next()
      with self.assertRaises(tf_compat.v1.errors.OutOfRangeError):
        while True:
          sizes.append(len(session.run(batch)[1]))
    self.assertEqual(rows, sum(sizes))
    self.assertEqual(expected, sizes[0])

  @level.gate
  def test_validation_data(self):
    """The loss of the selection is that of these data, with their weights."""
    weights = np.linspace(0, 2, 40)
    search = self.fitted(_pool(1), "mse", _X[40:], _SIZE[40:], {
        "validation_data": (_X[:40], _SIZE[:40], weights)})
    self.assertAlmostEqual(
        search.history.iterations[-1].winning.value, search.model.evaluate(
            _X[:40], _SIZE[:40], sample_weight=weights, verbose=0), 4)

  @parameterized.named_parameters(
      ("list", False, True), ("dict", True, True),
      ("list_of_loss", False, False))
  @level.gate
  def test_inputs_and_outputs(self, in_dict, loss_of_dict):
    outputs = {"kind": 3, "size": 1}
    x, y = [_X, _SIZE[:, None]], [_KIND, _SIZE]
    names = ("left", "right")
    loss = {"size": "mse", "kind": _SPARSE}
    metrics = {"kind": ["accuracy"], "size": ["mae"]}
    if in_dict:
      x, y = dict(zip(names, x)), dict(zip(outputs, y))
    if not loss_of_dict:
      loss, metrics = ([value[name] for name in outputs]
                       for value in (loss, metrics))
    make = _joined(names if in_dict else None, outputs)
    search = self.fitted(
        {"one": make, "two": make}, loss, x, y, {"epochs": 30}, metrics=metrics,
        loss_weights={"kind": 1., "size": .5},
        optimizer=keras.optimizers.Adam(.05))
    model = self.assert_saved(search, x)
    found = model.evaluate(x, y, _ROWS, verbose=0, return_dict=True)
    self.assertContainsSubset(["kind_accuracy", "size_mae"], found)
    self.assertAlmostEqual(
        found["loss"], found["kind_loss"] + .5 * found["size_loss"], 4)
    self.assertGreater(found["kind_accuracy"], .6)

  @level.gate
  def test_list_with_an_input_that_no_model_uses(self):
    def make():
      left, right = keras.Input([4]), keras.Input([1])
      return keras.Model([left, right], keras.layers.Dense(1)(left))

    x = [_X, _SIZE[:, None]]
    self.assert_saved(self.fitted({"a": make}, "mse", x, _SIZE), x)

  @parameterized.named_parameters(("columns", True), ("matrix", False))
  def test_data_frame(self, by_columns):
    columns = {"a": _X[:, 0], "b": np.arange(_ROWS) % 7, "c": _X[:, 1] > 0}
    frame = data_frames.FrameLikePandas(columns)
    make = _columns(["b", "a"]) if by_columns else _dense(1)
    search = self.fitted(
        {"model": make}, "mse", frame, data_frames.ColumnLikePandas(_SIZE), {
            "sample_weight": data_frames.ColumnLikePandas(np.ones(_ROWS))})
    self.assertLen(search.model.inputs, 2 if by_columns else 1)
    x = ({key: columns[key][:, None] for key in "ab"} if by_columns else
         np.stack(list(columns.values()), 1).astype(np.float32))
    self.assert_saved(search, x)
    features = dict(x if by_columns else {"": x},
                    sample_weight=np.ones(_ROWS, np.float32))
    self.assertAlmostEqual(
        search.estimator.evaluate(_batches(features, _SIZE))["loss"],
        search.model.evaluate(x, _SIZE, verbose=0), 3)

  @parameterized.named_parameters(
      ("none", None, None, None), ("class", None, None, {0: 2.}),
      ("own", np.ones(_ROWS), None, None),
      ("of_held_out", None, np.ones(_ROWS), None))
  @level.gate
  def test_datasets(self, weights, of_held_out, class_weight):
    parts, held_out = ([_X, _KIND], [_X, _KIND])
    if weights is not None:
      parts = [*parts, weights]
    if of_held_out is not None:
      held_out = [*held_out, of_held_out]
    search = self.fitted(
        _pool(3, "softmax"), _SPARSE, _batches(*parts), None, {
            "validation_data": _batches(*held_out),
            "class_weight": class_weight}, metrics=["accuracy"])
    value = search.history.iterations[-1].winning.value
    expected = search.model.evaluate(
        _X, _KIND, verbose=0, sample_weight=None if class_weight is None else
        np.array([2., 1., 1.])[_KIND])[0]
    self.assertAlmostEqual(expected, value, 4)
    self.assertEqual(3 * 8, search.history.iterations[-1].global_step)

  @level.gate
  def test_weights_do_not_reach_a_class(self):

    @keras.saving.register_keras_serializable("test")
    class SumOfInputs(keras.Model):
      """Would add up the weights, too."""

      def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self._dense = keras.layers.Dense(1)

      def call(self, inputs):
        parts = inputs.values() if isinstance(inputs, dict) else (
            inputs if isinstance(inputs, (list, tuple)) else [inputs])
        return self._dense(keras.ops.concatenate(list(parts), -1))

    for x in (_X, [_X, _X[:, :1]], {"a": _X, "b": _X[:, :1]}):
      search = self.fitted({"sum": SumOfInputs}, "mse", x, _SIZE, {
          "sample_weight": np.ones(_ROWS)})
      self.assert_saved(search, x)


if __name__ == "__main__":
  absltest.main()

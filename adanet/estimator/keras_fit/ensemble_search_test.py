# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of `EnsembleSearch`: `fit`, and the model that comes out."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet import tf_compat
from adanet.estimator.keras_fit import array_files
from adanet.testing import data_frames
from adanet.testing import engines
from adanet.training import arrays
import numpy as np

keras = tf_compat.keras_3 if tf_compat.HAS_KERAS_3 else None

_ROWS = 120
_SPARSE = "sparse_categorical_crossentropy"
_RANDOM = np.random.RandomState(1)
_X = _RANDOM.randn(_ROWS, 4).astype(np.float32)
_SIZE = _X.sum(1) + _X[:, 0] * _X[:, 1]
_KIND = (_SIZE > 0).astype(int) + (_SIZE > 2)
_SORTED = np.argsort(_KIND, kind="stable")


def _dense(size, activation=None, units=8, **compiled):

  def make():
    model = keras.Sequential([
        keras.layers.Dense(units, "relu"), keras.layers.Dropout(.1),
        keras.layers.Dense(size, activation)])
    if compiled:
      model.compile(**compiled)
    return model

  return make


def _pool(size, activation=None):
  return {"small": _dense(size, activation, 2), "big": _dense(size, activation)}


def _conv():
  layers = keras.layers
  return keras.Sequential([
      layers.Reshape([2, 2, 1]), layers.Conv2D(4, 2),
      layers.BatchNormalization(), layers.Flatten(),
      layers.Dense(3, "softmax")])


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


def _mean_error(y_true, y_pred):
  return keras.ops.mean(keras.ops.abs(y_true - y_pred), -1)


def _batches(*parts):
  """Returns a function that returns a dataset."""
  return lambda: tf_compat.v2.data.Dataset.from_tensor_slices(parts).batch(16)


def _predictions(model, x):
  return keras.tree.flatten(model.predict(x, verbose=0))


class _InterruptedOrder:
  """Replaces `Order.batch`: Ctrl-C at a batch, once."""

  def __init__(self, number):
    self._number = number
    self._batch = arrays.Order.batch

  def __call__(self, order, number):
    if number == self._number:
      self._number = None
      os.kill(os.getpid(), signal.SIGINT)
    return self._batch(order, number)


@unittest.skipUnless(tf_compat.HAS_KERAS_3,
                     "Keras 3 needs TensorFlow 2.16 or later.")
class EnsembleSearchTest(parameterized.TestCase):

  folder = None  # That of a search, for several tests.

  def _search(self, models, loss, **arguments):
    return adanet.EnsembleSearch(models, loss, **dict(
        {"directory": self.create_tempdir().full_path, "seed": 1}, **arguments))

  def _fitted(self, models, loss, x, y=None, fit=None, **arguments):
    search = self._search(models, loss, **arguments)
    return search.fit(x, y, **dict(
        {"epochs": 3, "patience": 2, "batch_size": 16, "verbose": 0},
        **(fit or {})))

  def test_from_fit_to_a_program_without_adanet(self):
    search = self._fitted(
        dict(_pool(3, "softmax"), conv=_conv), _SPARSE, _X[_SORTED],
        _KIND[_SORTED], {"epochs": 60, "patience": 3, "iterations": 2},
        metrics=["accuracy"], optimizer=keras.optimizers.Adam(.05))
    board = search.leaderboard()
    if not isinstance(board, list):  # pandas is installed.
      board = board.to_dict("records")
    self.assertContainsSubset(
        ["t0_small", "t0_big", "t0_conv", "t1_conv", "t1_all_greedy"],
        [row["name"] for row in board])
    self.assertLess(max(row["steps"] for row in board
                        if row["kind"] == "network"), 60 * 6)
    model = search.model
    loss, accuracy = model.evaluate(_X, _KIND, verbose=0)
    self.assertGreater(accuracy, .7)
    predicted = model.predict(_X, verbose=0)
    np.testing.assert_allclose(predicted.sum(1), 1, atol=1e-5)
    self.assertAlmostEqual(
        -np.log(predicted[np.arange(_ROWS), _KIND]).mean(), loss, 4)
    estimated = np.stack([one["predictions"] for one in
                          search.estimator.predict(_batches(_X, _KIND))])
    np.testing.assert_allclose(predicted, estimated, atol=1e-6)
    folder = self.create_tempdir().full_path
    model.save(os.path.join(folder, "model.keras"))
    np.save(os.path.join(folder, "x.npy"), _X)
    found = subprocess.run([sys.executable, "-c", """if True:
        import importlib, json, os, sys
        import numpy as np
        folder, keras = sys.argv[1], importlib.import_module(sys.argv[2])
        model = keras.models.load_model(os.path.join(folder, "model.keras"))
        x = np.load(os.path.join(folder, "x.npy"))
        assert "adanet" not in sys.modules
        print(json.dumps(model.predict(x, verbose=0).tolist()))
        """, folder, keras.__name__], check=True, env=dict(
            os.environ, PYTHONPATH=os.pathsep.join(sys.path)),
                           stdout=subprocess.PIPE).stdout
    np.testing.assert_allclose(
        json.loads(found.splitlines()[-1]), predicted, rtol=1e-6)

  def test_load(self):
    search = self._fitted(_pool(1), "mse", _X, _SIZE, metrics=["mae"])
    folder = search.estimator.model_dir
    loaded = adanet.EnsembleSearch.load(folder, _pool(1))
    np.testing.assert_array_equal(
        loaded.model.predict(_X, verbose=0),
        search.model.predict(_X, verbose=0))
    self.assertEqual(["loss", "mae"], sorted(
        loaded.model.evaluate(_X, _SIZE, verbose=0, return_dict=True)))
    loaded.fit(_X, _SIZE, epochs=3, patience=2, batch_size=16, iterations=2,
               verbose=0)
    self.assertLen(loaded.history.iterations, 2)

  def test_load_with_functions(self):
    folder = self._fitted(_pool(1), _mean_error, _X,
                          _SIZE).estimator.model_dir
    with self.assertRaisesRegex(ValueError, "^loss=None: the search in .* has "
                                "_mean_error, which is not of Keras"):
      adanet.EnsembleSearch.load(folder, _pool(1))
    loaded = adanet.EnsembleSearch.load(folder, _pool(1), loss=_mean_error)
    self.assertAlmostEqual(
        np.abs(loaded.model.predict(_X, verbose=0)[:, 0] - _SIZE).mean(),
        loaded.model.evaluate(_X, _SIZE[:, None], verbose=0), 5)

  def test_load_nothing(self):
    folder = self.create_tempdir().full_path
    with self.assertRaisesRegex(ValueError, "has no search of EnsembleSearch"):
      adanet.EnsembleSearch.load(folder, _pool(1))
    for name in ("model", "history", "estimator"):
      with self.assertRaisesRegex(ValueError, "^Nothing was trained yet"):
        getattr(self._search(_pool(1), "mse"), name)
    with self.assertRaisesRegex(AttributeError, "has no predict: call model."):
      self._search(_pool(1), "mse").predict(_X)

  def test_held_out_rows_are_of_all_classes(self):
    """Sorted rows, of which Keras would hold out the last ones."""
    search = self._search(_pool(3, "softmax"), _SPARSE)
    with mock.patch.object(
        arrays, "ArrayInput", side_effect=arrays.ArrayInput) as made:
      search.fit(_X[_SORTED], _KIND[_SORTED], epochs=1, verbose=0)
    rows = {tuple(call.kwargs["rows"]) for call in made.call_args_list}
    self.assertLen(rows, 2)
    held_out, trained = sorted(rows, key=len)
    self.assertLen(held_out, _ROWS // 5)
    self.assertEqual(set(range(_ROWS)), {*held_out, *trained})
    self.assertEmpty({*held_out} & {*trained})
    self.assertLen(set(_KIND[_SORTED][list(held_out)]), 3)

  @parameterized.parameters("process pool", "dask", "here")
  def test_executors(self, name):
    fit = {"iterations": 2, "class_weight": {0: 2., 1: 1.}}
    pool = dict(_pool(3, "softmax"), conv=_conv)
    expected = self._fitted(pool, _SPARSE, _X, _KIND, fit)
    if name == "dask":
      client = self.enter_context(engines.dask_client(2))
      executor = client.get_executor()
    elif name == "here":
      executor = engines.Here()
    else:
      executor = self.enter_context(engines.process_pool(2))
    found = self._fitted(pool, _SPARSE, _X, _KIND,
                         dict(fit, executor=executor))
    one, other = (search.history.iterations for search in (expected, found))
    self.assertEqual([i.winning.value for i in one],
                     [i.winning.value for i in other])
    np.testing.assert_array_equal(expected.model.predict(_X, verbose=0),
                                  found.model.predict(_X, verbose=0))

  def test_array_files(self):
    """Arrays are written once, and not sent with each task."""
    big = np.random.RandomState(1).randn(500, 400).astype(np.float32)
    search = self._search({"a": _dense(1)}, "mse")
    sizes = []
    for iterations in (1, 2):
      search.fit(big, big[:, 0], epochs=1, iterations=iterations, verbose=0,
                 executor=engines.Here())
      sizes.append({
          os.path.join(folder, name): os.stat(
              os.path.join(folder, name)).st_mtime_ns
          for folder, _, names in os.walk(search.estimator.model_dir)
          for name in names if os.stat(
              os.path.join(folder, name)).st_size > big.nbytes / 2})
    self.assertLen(sizes[0], 1)
    self.assertEqual(*sizes)
    self.assertStartsWith(os.path.relpath(
        next(iter(sizes[0])), search.estimator.model_dir), "data")

  def test_weights(self):
    """Weights of 0 leave rows out of training, checks and selection."""
    nonsense = np.where(np.arange(_ROWS) % 2, 1e3, _SIZE)
    weights = 1. - np.arange(_ROWS) % 2
    search = self._fitted(_pool(1), "mse", _X, nonsense, {
        "sample_weight": weights, "epochs": 20})
    self.assertLess(search.model.evaluate(
        _X, _SIZE, sample_weight=weights, verbose=0), 20)
    value = search.history.iterations[-1].winning.value
    self.assertLess(value, 20)

  def test_class_weight_is_sample_weight(self):
    values = []
    for fit in ({"class_weight": {0: 3., 1: .5}},
                {"sample_weight": np.array([3., .5, 1.])[_KIND]}):
      search = self._fitted(_pool(3, "softmax"), _SPARSE, _X, _KIND, fit)
      values.append(search.history.iterations[-1].winning.value)
    self.assertEqual(*values)
    search = self._fitted(_pool(3, "softmax"), _SPARSE, _X, _KIND)
    self.assertNotEqual(
        values[0], search.history.iterations[-1].winning.value)

  def test_validation_data(self):
    """The loss of the selection is that of these data, with their weights."""
    weights = np.linspace(0, 2, 40)
    search = self._fitted(_pool(1), "mse", _X[40:], _SIZE[40:], {
        "validation_data": (_X[:40], _SIZE[:40], weights)})
    self.assertAlmostEqual(
        search.history.iterations[-1].winning.value, search.model.evaluate(
            _X[:40], _SIZE[:40], sample_weight=weights, verbose=0), 4)

  @parameterized.named_parameters(
      ("list", False, True), ("dict", True, True), ("list_of_loss", False, False))
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
    search = self._fitted({
        "one": _joined(names if in_dict else None, outputs),
        "two": _joined(names if in_dict else None, outputs)}, loss, x, y, {"epochs": 30}, metrics=metrics,
                          loss_weights={"kind": 1., "size": .5},
                          optimizer=keras.optimizers.Adam(.05))
    model = self._assert_saved(search, x)
    found = model.evaluate(x, y, _ROWS, verbose=0, return_dict=True)
    self.assertContainsSubset(["kind_accuracy", "size_mae"], found)
    self.assertAlmostEqual(
        found["loss"], found["kind_loss"] + .5 * found["size_loss"], 4)
    self.assertGreater(found["kind_accuracy"], .6)

  def _assert_saved(self, search, x):
    """Asserts that the model loads, and predicts the same."""
    model = search.model
    path = os.path.join(self.create_tempdir().full_path, "model.keras")
    model.save(path)
    for one, other in zip(_predictions(model, x), _predictions(
        keras.models.load_model(path), x)):
      np.testing.assert_array_equal(one, other)
    return model

  def test_list_with_an_input_that_no_model_uses(self):
    def make():
      left, right = keras.Input([4]), keras.Input([1])
      return keras.Model([left, right], keras.layers.Dense(1)(left))

    x = [_X, _SIZE[:, None]]
    self._assert_saved(self._fitted({"a": make}, "mse", x, _SIZE), x)

  @parameterized.named_parameters(("columns", True), ("matrix", False))
  def test_data_frame(self, by_columns):
    columns = {"a": _X[:, 0], "b": np.arange(_ROWS) % 7, "c": _X[:, 1] > 0}
    frame = data_frames.FrameLikePandas(columns)
    make = _columns(["b", "a"]) if by_columns else _dense(1)
    search = self._fitted(
        {"model": make}, "mse", frame, data_frames.ColumnLikePandas(_SIZE), {
            "sample_weight": data_frames.ColumnLikePandas(np.ones(_ROWS))})
    self.assertLen(search.model.inputs, 2 if by_columns else 1)
    x = ({key: columns[key][:, None] for key in "ab"} if by_columns else
         np.stack(list(columns.values()), 1).astype(np.float32))
    self._assert_saved(search, x)
    self.assertAlmostEqual(
        search.estimator.evaluate(lambda: tf_compat.v2.data.Dataset.
                                  from_tensor_slices((dict(
                                      x if by_columns else {"": x},
                                      sample_weight=np.ones(_ROWS, np.float32)),
                                                      _SIZE)).batch(50))["loss"],
        search.model.evaluate(x, _SIZE, verbose=0), 3)

  @parameterized.named_parameters(
      ("none", None, None, None), ("class", None, None, {0: 2.}),
      ("own", np.ones(_ROWS), None, None),
      ("of_held_out", None, np.ones(_ROWS), None))
  def test_datasets(self, weights, of_held_out, class_weight):
    parts, held_out = ([_X, _KIND], [_X, _KIND])
    if weights is not None:
      parts = [*parts, weights]
    if of_held_out is not None:
      held_out = [*held_out, of_held_out]
    search = self._fitted(
        _pool(3, "softmax"), _SPARSE, _batches(*parts), None, {
            "validation_data": _batches(*held_out),
            "class_weight": class_weight}, metrics=["accuracy"])
    value = search.history.iterations[-1].winning.value
    expected = search.model.evaluate(
        _X, _KIND, verbose=0, sample_weight=None if class_weight is None else
        np.array([2., 1., 1.])[_KIND])[0]
    self.assertAlmostEqual(expected, value, 4)
    self.assertEqual(3 * 8, search.history.iterations[-1].global_step)

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
      search = self._fitted({"sum": SumOfInputs}, "mse", x, _SIZE, {
          "sample_weight": np.ones(_ROWS)})
      self._assert_saved(search, x)

  def test_losses_of_models(self):
    """Without `loss`, that of compile trains; and its optimizer does."""
    pool = {name: _dense(1, loss="mae", optimizer=optimizer, metrics=["mse"])
            for name, optimizer in (("a", "sgd"), ("b", "adam"))}
    search = self._fitted(pool, None, _X, _SIZE)
    self.assertEqual(["loss", "mse"], sorted(search.model.evaluate(
        _X, _SIZE, verbose=0, return_dict=True)))
    same = self._fitted(dict(pool, b=_dense(1)), "mae", _X, _SIZE)
    np.testing.assert_array_equal(search.model.predict(_X, verbose=0),
                                  same.model.predict(_X, verbose=0))

  def test_ctrl_c_and_go_on(self):
    fit = {"epochs": 4}
    expected = self._fitted(_pool(1), "mse", _X, _SIZE, fit)
    search = self._search(_pool(1), "mse")
    interrupted = _InterruptedOrder(9)
    with mock.patch.object(
        arrays.Order, "batch",
        lambda order, number: interrupted(order, number)):
      with self.assertRaises(KeyboardInterrupt):
        search.fit(_X, _SIZE, batch_size=16, patience=2, verbose=0, **fit)
    loaded = adanet.EnsembleSearch.load(
        search.estimator.model_dir, _pool(1))
    loaded.fit(_X, _SIZE, batch_size=16, patience=2, verbose=0, **fit)
    np.testing.assert_array_equal(expected.model.predict(_X, verbose=0),
                                  loaded.model.predict(_X, verbose=0))

  @parameterized.named_parameters(
      ("x", {}, {"x": _X + 1}, r"x has other values"),
      ("rows", {}, {"x": _X[1:], "y": _SIZE[1:]},
       r"x: \[120, 4\] before, \[119, 4\] now"),
      ("y", {}, {"y": _SIZE + 1}, r"y has other values"),
      ("loss", {"loss": "mae"}, {}, r"loss: 'mse' before, 'mae' now"),
      ("seed", {"seed": 2}, {}, r"seed: 1 before, 2 now"),
      ("names", {"models": {"big": _dense(1)}}, {},
       r"models: big, small before, big now"),
      ("units", {"models": {"small": _dense(1, units=3), "big": _dense(1)}}, {},
       r"models\['small'\] makes another model"),
      ("activation", {"models": {
          "small": _dense(1, "relu", 2), "big": _dense(1)}}, {},
       r"models\['small'\] makes another model"),
      ("optimizer", {"optimizer": "sgd"}, {}, r"optimizer: None before"),
      ("batch_size", {}, {"batch_size": 8}, r"batch_size: 16 before, 8 now"),
      ("split", {}, {"validation_split": .3}, r"validation_split: 0.2 before"))
  def test_another_search(self, arguments, fit, expected):
    if self.folder is None:
      type(self).folder = tempfile.mkdtemp()
      self.addClassCleanup(shutil.rmtree, self.folder)
      self._fitted(_pool(1), "mse", _X, _SIZE, {"epochs": 1},
                   directory=self.folder)
    with self.assertRaisesRegex(
        ValueError, "^directory='.*' has a search with something else: "
        f"{expected}.*Give what it had, or another directory.$"):
      adanet.EnsembleSearch(**dict(
          {"models": _pool(1), "loss": "mse", "directory": self.folder,
           "seed": 1}, **arguments)).fit(**dict(
               {"x": _X, "y": _SIZE, "batch_size": 16, "epochs": 1,
                "verbose": 0}, **fit))

  def test_folder_of_another_estimator(self):
    folder = self._fitted(_pool(1), "mse", _X, _SIZE).estimator.model_dir
    os.remove(os.path.join(folder, "ensemble_search.json"))
    with self.assertRaisesRegex(ValueError, "has a search of another Estimator"):
      self._fitted(_pool(1), "mse", _X, _SIZE, directory=folder)

  def test_temporary_directory(self):
    with self.assertLogs(level="WARNING") as logs:
      search = self._fitted({"a": _dense(1)}, "mse", _X, _SIZE, {"epochs": 1},
                            directory=None)
    self.assertTrue(any(
        f"directory=None: the search goes to {search.estimator.model_dir}" in
        line for line in logs.output))

  def test_array_files_of_text(self):
    folder = self.create_tempdir().full_path
    for array in (np.array(["a", "ä" * 9], object), np.arange(3)):
      saved = array_files.SavedArrays({"x": array})
      saved.write(os.path.join(folder, str(array.dtype)))
      again = array_files.SavedArrays.__new__(array_files.SavedArrays)
      again.__dict__.update(saved.__getstate__())
      self.assertIsNone(again.__dict__["_arrays"])
      np.testing.assert_array_equal(array, again.arrays["x"])


if __name__ == "__main__":
  absltest.main()

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
from adanet.testing import level
from adanet.training import array_order
import adanet
from adanet import tf_compat
from adanet.estimator.keras_fit import array_files
from adanet.testing import engines
from adanet.testing import keras_searches as searches
from adanet.training import arrays
import numpy as np

keras = tf_compat.keras_3 if tf_compat.HAS_KERAS_3 else None

_X, _SIZE, _KIND, _ROWS = (
    searches.X, searches.SIZE, searches.KIND, searches.ROWS)
_SPARSE = searches.SPARSE
_dense, _pool, _batches = searches.dense, searches.pool, searches.batches
_SORTED = np.argsort(_KIND, kind="stable")


def _conv():
  layers = keras.layers
  return keras.Sequential([
      layers.Reshape([2, 2, 1]), layers.Conv2D(4, 2),
      layers.BatchNormalization(), layers.Flatten(),
      layers.Dense(3, "softmax")])


def _mean_error(y_true, y_pred):
  return keras.ops.mean(keras.ops.abs(y_true - y_pred), -1)


def _files_above(folder, size):
  """Returns the times of files that are larger than a size, by their paths."""
  stats = {os.path.join(inner, name): os.stat(os.path.join(inner, name))
           for inner, _, names in os.walk(folder) for name in names}
  return {path: stat.st_mtime_ns for path, stat in stats.items()
          if stat.st_size > size}


class _LookingExecutor(engines.Here):
  """Calls a function before each task."""

  def __init__(self, look):
    super().__init__()
    self._look = look

  def submit(self, fn, *args, **kwargs):
    self._look()
    return super().submit(fn, *args, **kwargs)


class _InterruptedOrder:
  """Replaces `Order.batch`: Ctrl-C at a batch, once."""

  def __init__(self, number):
    self._number = number
    self._batch = array_order.Order.batch

  def __call__(self, order, number):
    if number == self._number:
      self._number = None
      os.kill(os.getpid(), signal.SIGINT)
    return self._batch(order, number)


@unittest.skipUnless(tf_compat.HAS_KERAS_3,
                     "Keras 3 needs TensorFlow 2.16 or later.")
class EnsembleSearchTest(searches.KerasSearchCase):

  folder = None  # That of a search, for several tests.

  def test_from_fit_to_a_program_without_adanet(self):
    search = self.fitted(
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
    search = self.fitted(_pool(1), "mse", _X, _SIZE, metrics=["mae"])
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

  @level.gate
  def test_load_with_functions(self):
    folder = self.fitted(_pool(1), _mean_error, _X,
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
        getattr(self.search(_pool(1), "mse"), name)
    with self.assertRaisesRegex(AttributeError, "has no predict: call model."):
      self.search(_pool(1), "mse").predict(_X)

  @level.gate
  def test_held_out_rows_are_of_all_classes(self):
    """Sorted rows, of which Keras would hold out the last ones."""
    search = self.search(_pool(3, "softmax"), _SPARSE)
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

  @level.gate
  def test_executors(self):
    fit = {"iterations": 2, "class_weight": {0: 2., 1: 1.}}
    pool = {"small": _dense(3, "softmax", 2), "conv": _conv}
    expected = self.fitted(pool, _SPARSE, _X, _KIND, fit)
    executors = {"process pool": lambda: engines.process_pool(2),
                 "dask": lambda: engines.dask_cluster(1)}
    for name, opened in executors.items():
      with self.subTest(name), opened() as executor:
        found = self.fitted(pool, _SPARSE, _X, _KIND,
                            dict(fit, executor=executor))
        one, other = (search.history.iterations for search in (expected, found))
        self.assertEqual([i.winning.value for i in one],
                         [i.winning.value for i in other])
        np.testing.assert_array_equal(expected.model.predict(_X, verbose=0),
                                      found.model.predict(_X, verbose=0))

  @level.gate
  def test_array_files(self):
    """Arrays are written once, and not sent with each task."""
    big = np.random.RandomState(1).randn(500, 400).astype(np.float32)
    search = self.search({"a": _dense(1)}, "mse")
    seen = []
    executor = _LookingExecutor(lambda: seen.append(_files_above(
        search.estimator.model_dir, big.nbytes / 2)))
    for iterations in (1, 2):
      search.fit(big, big[:, 0], epochs=1, iterations=iterations, verbose=0,
                 executor=executor)
    self.assertGreaterEqual(len(seen), 2)
    for files in seen:  # At each task, there is the same file.
      self.assertEqual(seen[0], files)
    (path,) = seen[0]
    self.assertStartsWith(
        os.path.relpath(path, search.estimator.model_dir), "data")

  @level.gate
  def test_losses_of_models(self):
    """Without `loss`, that of compile trains; and its optimizer does."""
    pool = {name: _dense(1, loss="mae", optimizer=optimizer, metrics=["mse"])
            for name, optimizer in (("a", "sgd"), ("b", "adam"))}
    search = self.fitted(pool, None, _X, _SIZE)
    self.assertEqual(["loss", "mse"], sorted(search.model.evaluate(
        _X, _SIZE, verbose=0, return_dict=True)))
    same = self.fitted(dict(pool, b=_dense(1)), "mae", _X, _SIZE)
    np.testing.assert_array_equal(search.model.predict(_X, verbose=0),
                                  same.model.predict(_X, verbose=0))

  @level.gate
  def test_ctrl_c_and_go_on(self):
    fit = {"epochs": 4}
    expected = self.fitted(_pool(1), "mse", _X, _SIZE, fit)
    search = self.search(_pool(1), "mse")
    interrupted = _InterruptedOrder(9)
    with mock.patch.object(
        array_order.Order, "batch",
        lambda order, number: interrupted(order, number)):
      with self.assertRaises(KeyboardInterrupt):
        search.fit(_X, _SIZE, batch_size=16, patience=2, verbose=0, **fit)
    loaded = adanet.EnsembleSearch.load(
        search.estimator.model_dir, _pool(1))
    with self.assertRaisesRegex(ValueError, "^The search was stopped in the "):
      print(loaded.model)
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
      ("units", {"models": {
          "small": _dense(1, units=3), "big": _dense(1)}}, {},
       r"models\['small'\] makes another model"),
      ("activation", {"models": {
          "small": _dense(1, "relu", 2), "big": _dense(1)}}, {},
       r"models\['small'\] makes another model"),
      ("optimizer", {"optimizer": "sgd"}, {}, r"optimizer: None before"),
      ("batch_size", {}, {"batch_size": 8}, r"batch_size: 16 before, 8 now"),
      ("split", {}, {"validation_split": .3}, r"validation_split: 0.2 before"))
  @level.gate
  def test_another_search(self, arguments, fit, expected):
    if self.folder is None:
      type(self).folder = tempfile.mkdtemp()
      self.addClassCleanup(shutil.rmtree, self.folder)
      self.fitted(_pool(1), "mse", _X, _SIZE, {"epochs": 1},
                   directory=self.folder)
    with self.assertRaisesRegex(
        ValueError, "^directory='.*' has a search with something else: "
        f"{expected}.*Give what it had, or another directory.$"):
      adanet.EnsembleSearch(**dict(
          {"models": _pool(1), "loss": "mse", "directory": self.folder,
           "seed": 1}, **arguments)).fit(**dict(
               {"x": _X, "y": _SIZE, "batch_size": 16, "epochs": 1,
                "verbose": 0}, **fit))

  @level.gate
  def test_folder_of_another_estimator(self):
    folder = self.fitted(_pool(1), "mse", _X, _SIZE).estimator.model_dir
    os.remove(os.path.join(folder, "ensemble_search.json"))
    with self.assertRaisesRegex(ValueError, "a search of another Estimator"):
      self.fitted(_pool(1), "mse", _X, _SIZE, directory=folder)

  @level.gate
  def test_temporary_directory(self):
    with self.assertLogs(level="WARNING") as logs:
      search = self.fitted({"a": _dense(1)}, "mse", _X, _SIZE, {"epochs": 1},
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

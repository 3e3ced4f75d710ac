# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Files of the ensemble: saved, tuned, quantized and exported by Keras."""

import contextlib
import os
import warnings

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet import tf_compat
from adanet.testing import level
import numpy as np

keras = tf_compat.keras_3
tf = tf_compat.v2
layers = keras.layers
_DRAW = np.random.RandomState(1)
_X = _DRAW.randn(90, 16).astype("float32")
_Y = np.tanh(_X[:, :1]) + _X[:, 1:2] * _X[:, 2:3]


@keras.saving.register_keras_serializable()
def largest(outputs, weights):
  del weights
  return keras.ops.max(outputs, 0)


def _make():
  x = keras.Input([16])
  y = layers.Conv2D(8, 3, activation="relu")(layers.Reshape([4, 4, 1])(x))
  y = layers.Flatten()(layers.BatchNormalization()(y))
  return keras.Model(x, layers.Dense(1)(layers.Dense(64, "relu")(y)))


@contextlib.contextmanager
def _no_warning():
  with warnings.catch_warnings():
    warnings.simplefilter("error")
    # Of Keras, for NumPy 2.
    warnings.filterwarnings("ignore", "__array__ implementation")
    yield


class ServingTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._path = self.create_tempdir().full_path

  def _model(self, **arguments):
    search = adanet.EnsembleSearch(
        {"network": _make}, "mse", directory=self._file("search"), seed=1,
        **arguments)
    # A model of models.
    return search.fit(_X, _Y, folds=2, epochs=2, verbose=0).model

  def _file(self, name):
    return os.path.join(self._path, name)

  def _reload(self, model, **options):
    path = self._file("ensemble.keras")
    with _no_warning():
      model.save(path)
      return keras.models.load_model(path, **options)

  @parameterized.named_parameters(*level.first([
      ("mean", {}),
      ("adamw", {"optimizer": "adamw", "metrics": ["mae"]}),
      ("combine", {"combine": largest}),
  ], 1))
  def test_loads_without_a_warning_and_trains_on(self, arguments):
    model = self._model(**arguments)
    loaded = self._reload(model)
    np.testing.assert_array_equal(
        model.predict(_X, verbose=0), loaded.predict(_X, verbose=0))
    model.fit(_X, _Y, shuffle=False, verbose=0)
    tuned = self._reload(model)
    self.assertGreater(int(tuned.optimizer.iterations), 0)
    for each in (model, tuned):
      each.fit(_X, _Y, shuffle=False, verbose=0)
    self.assertLen(tuned.optimizer.variables, len(model.optimizer.variables))
    for variable, expected in zip(
        tuned.variables + tuned.optimizer.variables,
        model.variables + model.optimizer.variables):
      np.testing.assert_array_equal(variable, expected, expected.path)

  @level.gate
  def test_quantized(self):
    """Keras reaches the layers in the networks, and writes a smaller file."""
    model = self._model()
    model = self._reload(model, compile=False)
    expected = model.predict(_X, verbose=0)
    model.save(self._file("float.keras"))
    with warnings.catch_warnings():
      # Of each layer that Keras cannot quantize.
      warnings.simplefilter("ignore")
      model.quantize("int8")
    loaded = self._reload(model)
    self.assertIn("int8", {
        keras.backend.standardize_dtype(variable.dtype)
        for variable in loaded.variables})
    self.assertLess(os.path.getsize(self._file("ensemble.keras")),
                    os.path.getsize(self._file("float.keras")))
    np.testing.assert_allclose(
        loaded.predict(_X, verbose=0), expected, atol=.1)

  @level.gate
  def test_exported(self):
    model = self._model(combine=largest)
    expected = model.predict(_X, verbose=0)
    model.export(self._file("folder"), verbose=False)
    served = tf.saved_model.load(self._file("folder"))
    np.testing.assert_allclose(served.serve(_X), expected, atol=1e-5)
    converter = tf.lite.TFLiteConverter.from_saved_model(self._file("folder"))
    run = tf.lite.Interpreter(
        model_content=converter.convert()).get_signature_runner()
    (name,) = run.get_input_details()
    (outputs,) = run(**{name: _X}).values()
    np.testing.assert_allclose(outputs, expected, atol=1e-4)


if __name__ == "__main__":
  absltest.main()

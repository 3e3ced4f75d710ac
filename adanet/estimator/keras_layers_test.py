# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests pools whose models have layers that were made or adapted anywhere.

`adanet/tf_compat:keras_eager_test` has each layer with each of its options.
"""

import os
import subprocess
import sys
import unittest

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet import inputs as inputs_lib
from adanet.testing import level
from adanet import tf_compat
from adanet.estimator import export
from adanet.testing import engines
import numpy as np

keras = tf_compat.keras_3 if tf_compat.HAS_KERAS_3 else None

_ROWS = 24
_STEPS = 3
_WORDS = ["black", "blue", "green", "red"]
# From a layer to its arguments and its input.
_LAYERS = {
    "StringLookup": ({"output_mode": "tf_idf"}, "word"),
    "IntegerLookup": ({"output_mode": "one_hot"}, "number"),
    "TextVectorization": ({"output_mode": "count"}, "text"),
    "CategoryEncoding": ({"num_tokens": 5, "output_mode": "multi_hot"},
                         "number"),
    "Discretization": ({"num_bins": 3, "output_mode": "int"}, "real"),
    "Hashing": ({"num_bins": 4, "output_mode": "one_hot"}, "word"),
    "Normalization": ({}, "real"),
    "Rescaling": ({"scale": 2.}, "real")}


def _features():
  random = np.random.RandomState(1)
  return {
      "number": random.randint(5, size=[_ROWS, 1]),
      "real": random.randn(_ROWS, 2).astype(np.float32),
      "text": np.array([[" ".join(random.choice(_WORDS, 3))]
                        for _ in range(_ROWS)], object),
      "word": random.choice(np.array(_WORDS, object), [_ROWS, 1])}


def _inputs(names=("number", "real", "text", "word")):
  """Returns the inputs of a model, by their names."""
  return {name: keras.Input(
      value.shape[1:], name=name,
      dtype="string" if value.dtype == object else value.dtype)
          for name, value in _features().items() if name in names}


def _layers():
  """Returns pairs: an adapted layer of each kind, and its input."""
  made = []
  for name, (arguments, key) in _LAYERS.items():
    layer = getattr(keras.layers, name)(**arguments)
    if hasattr(layer, "adapt"):
      layer.adapt(_features()[key])
    made.append((layer, key))
  made.append((keras.layers.TextVectorization(
      vocabulary=_WORDS, output_sequence_length=4), "text"))
  return made


def _model(layers):
  """Returns a model of what some layers give."""
  inputs = _inputs()
  given = [keras.layers.Flatten()(keras.ops.cast(layer(inputs[key]), "float32"))
           for layer, key in layers]
  return keras.Model(inputs, keras.layers.Dense(3)(
      keras.layers.Concatenate()(given)))


def _pool(folder):
  """Returns a pool with all layers, made in all ways."""
  outside = _layers()
  path = os.path.join(folder, "base.keras")
  _model(_layers()).save(path)
  base = keras.models.load_model(path)
  base.trainable = False

  def inside():
    return _model(_layers())

  def on_base(units):
    inputs = _inputs()
    hidden = keras.layers.Dense(units)(base(inputs))
    return keras.Model(inputs, keras.layers.Dense(3)(hidden))

  return {"base": lambda: on_base(2), "inside": inside,
          "loaded": lambda: keras.models.load_model(path),
          "other_base": lambda: on_base(4), "outside": lambda: _model(outside)}


@unittest.skipUnless(tf_compat.HAS_KERAS_3,
                     "Keras 3 needs TensorFlow 2.16 or later.")
class KerasLayersTest(parameterized.TestCase):

  def _trained(self, pool, read, head=None, iterations=1, executor=None,
               ensembler=None):
    """Returns an estimator that has trained.

    Args:
      pool: dict of functions.
      read: function of the arguments of an input_fn, returns one.
      head: the head; None for three classes.
      iterations: int.
      executor: see `train`.
      ensembler: None for the greedy one.
    """
    estimator = adanet.AutoEnsembleEstimator(
        head or adanet.heads.MultiClassHead(3), pool,
        max_iteration_steps=_STEPS, max_iterations=iterations,
        ensemblers=[ensembler or adanet.ensemble.MeanEnsembler()],
        ensemble_strategies=[adanet.ensemble.AllStrategy()], optimizer="adam",
        evaluator=adanet.Evaluator(read(shuffle=False)),
        config=tf_compat.RunConfig(
            model_dir=self.create_tempdir().full_path, tf_random_seed=1))
    estimator.train(read(batch_size=8, shuffle=False, num_epochs=None),
                    executor=executor)
    return estimator

  def _of_arrays(self, features, labels):
    return lambda **arguments: inputs_lib.numpy_input_fn(
        features, labels, **arguments)

  def _predicted(self, estimator, features, key="logits"):
    return np.stack([one[key] for one in estimator.predict(
        inputs_lib.numpy_input_fn(features, shuffle=False))])

  @level.gate
  def test_all_layers(self):
    folder = self.create_tempdir().full_path
    features = _features()
    labels = np.random.RandomState(2).randint(3, size=_ROWS)
    with engines.process_pool(1) as executor:
      estimator = self._trained(
          _pool(folder), self._of_arrays(features, labels), executor=executor)
    features["word"][0] = "none"  # None has seen it.
    expected = self._predicted(estimator, features)
    model = estimator.keras_model()
    self.assertLen([one for one in model.layers if one.count_params()], 5)
    np.testing.assert_allclose(
        model({key: tf_compat.v2.constant(value)
               for key, value in features.items()}), expected, rtol=1e-5,
        atol=1e-6)
    model.save(os.path.join(folder, "model.keras"))
    np.savez(os.path.join(folder, "features.npz"), **features)
    saved = estimator.export_saved_model(
        os.path.join(folder, "saved"),
        export.build_raw_serving_input_receiver_fn(features)).decode()
    subprocess.run([sys.executable, "-c", """if True:
        import importlib, os, sys
        import numpy as np
        keras = importlib.import_module(sys.argv[2])
        tf = importlib.import_module(sys.argv[3])
        folder = sys.argv[1]
        features = {key: tf.constant(value) for key, value in np.load(
            folder + "/features.npz", allow_pickle=True).items()}
        model = keras.models.load_model(folder + "/model.keras")
        saved = tf.saved_model.load(sys.argv[4])
        np.savez(folder + "/found.npz", keras=model(features),
                 saved=saved.signatures["predict"](**features)["logits"])
        assert "adanet" not in sys.modules
        """, folder, keras.__name__, tf_compat.v2.__name__, saved], check=True,
                   env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)))
    for key, found in np.load(os.path.join(folder, "found.npz")).items():
      np.testing.assert_allclose(
          found, expected, rtol=1e-5, atol=1e-6, err_msg=key)
    self.assertEmpty(
        {id(one) for one in model.get_layer("t0_base").weights}.intersection(
            id(one) for one in model.get_layer("t0_other_base").weights))

  @parameterized.parameters(True, False)
  @level.gate
  def test_data_frame(self, has_pandas):
    """Columns have one dimension, and inputs of Keras two."""
    features = _features()
    words = features["word"][:, 0]
    frame = {"kind": words, "number": features["number"][:, 0],
             "real": features["real"][:, 0].astype(np.float64), "word": words}
    labels = features["number"][:, 0] % 3
    function = inputs_lib.numpy_input_fn
    if has_pandas:
      try:
        import pandas as pd  # pylint: disable=g-import-not-at-top
      except ImportError:
        self.skipTest("Pandas is not there.")
      frame = pd.DataFrame(dict(
          frame, kind=pd.Categorical(words), word=pd.Series(
              words, dtype="string")))
      labels = pd.Series(labels)
      function = inputs_lib.pandas_input_fn

    def make():
      layers = keras.layers
      inputs = _inputs(["number", "word"])
      inputs["kind"] = keras.Input([1], name="kind", dtype="string")
      inputs["real"] = keras.Input([1], name="real")
      return keras.Model(inputs, layers.Dense(3)(layers.Concatenate()([
          inputs["real"], layers.StringLookup(
              vocabulary=_WORDS, output_mode="one_hot")(inputs["word"]),
          layers.Hashing(4, output_mode="one_hot")(inputs["kind"]),
          layers.CategoryEncoding(5, "one_hot")(inputs["number"])])))

    estimator = self._trained(
        {"m": make}, lambda **arguments: function(frame, labels, **arguments))
    found = estimator.keras_model().predict(
        {name: np.asarray(value, object if name in ("kind", "word") else None)
         for name, value in frame.items()}, verbose=0)
    np.testing.assert_allclose(found, np.stack([
        one["logits"] for one in estimator.predict(
            function(frame, shuffle=False))]), rtol=1e-5)
    self.assertGreater(np.ptp(found, axis=0).min(), 0.)

  @parameterized.parameters(("mean", 1), ("scalar", 1), ("matrix", 2))
  @level.gate
  def test_sequence_of_classes(self, weights, iterations):
    random = np.random.RandomState(1)
    features = random.randn(_ROWS, 4, 2).astype(np.float32)
    labels = random.randint(3, size=[_ROWS, 4])

    def make(layer):
      return keras.Sequential([
          keras.Input([4, 2]), layer, keras.layers.Dense(3)])

    pool = {"a": lambda: make(keras.layers.Conv1D(2, 2, padding="causal")),
            "b": lambda: make(keras.layers.Dense(3, "relu"))}
    if iterations > 1:
      pool["b"] = lambda: make(keras.layers.GRU(3, return_sequences=True))

    estimator = self._trained(
        pool, self._of_arrays(features, labels), adanet.heads.KerasHead(
            keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=["accuracy"]),
        iterations=iterations, ensembler=None if weights == "mean" else
        adanet.ensemble.ComplexityRegularizedEnsembler(
            optimizer=lambda: tf_compat.v1.train.GradientDescentOptimizer(.1),
            mixture_weight_type=weights, use_bias=True))
    found = self._predicted(estimator, features, "predictions")
    self.assertEqual((_ROWS, 4, 3), found.shape)
    model = estimator.keras_model()
    np.testing.assert_allclose(
        model.predict(features, verbose=0), found, rtol=1e-5, atol=1e-6)
    metrics = estimator.evaluate(self._of_arrays(features, labels)(
        batch_size=_ROWS, shuffle=False))
    for name, value in model.evaluate(
        features, labels, verbose=0, return_dict=True).items():
      self.assertAlmostEqual(metrics[name], value, 4, name)

  @level.gate
  def test_base_with_another_value(self):
    base = keras.Sequential([keras.Input([2]), keras.layers.Dense(2)])
    base.trainable = False
    features = _features()["real"]
    estimator = self._trained(
        {"m": lambda: keras.Sequential([base, keras.layers.Dense(3)])},
        self._of_arrays(features, np.zeros([_ROWS], np.int64)))
    expected = self._predicted(estimator, features)
    base.layers[0].bias.assign([1., 2.])
    # The checkpoint has the value of training.
    np.testing.assert_array_equal(
        expected, self._predicted(estimator, features))
    with self.assertRaisesRegex(
        ValueError, r"^candidate_pool\['m'\] makes another model than in train"
        "ing: '.*/bias' has another value. Give its layer the weights of bef"):
      estimator.keras_model()
    self.assertEqual([1., 2.], base.layers[0].bias.numpy().tolist())

  @parameterized.named_parameters(
      ("table", lambda: keras.Sequential([
          keras.layers.StringLookup(), keras.layers.Dense(3)]),
       "layer 'string_lookup' has a table without entries: call adapt "),
      ("strings", lambda: keras.Sequential([
          keras.Input([1], dtype="string"), keras.layers.Dense(3)]),
       "builder 'm' of iteration 0 cannot take strings, and the feature 'word' "
       "has them: make numbers .* such as keras.layers.StringLookup, or leave"),
      ("value", lambda: keras.Sequential([
          keras.layers.Lambda(
              lambda x: x if tf_compat.v2.size(x) > 1 else None, name="mine")]),
       "layer 'mine' .Lambda. asks for the value of a tensor in call, .* call "
       "must be traceable"))
  def test_one_line(self, make, message):
    with self.assertRaisesRegex(ValueError, message):
      self._trained({"m": make}, self._of_arrays(
          {"word": _features()["word"]}, np.zeros([_ROWS], np.int64)))


if __name__ == "__main__":
  sys.exit(absltest.main())

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What Keras users give a pool first: it works, or one line says what to do."""

import functools
import types
import unittest

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet import heads
from adanet import tf_compat
from adanet.testing import level
import numpy as np

_Sub = adanet.AutoEnsembleSubestimator
_OF_M = r"^candidate_pool\['m'\]"
_ROWS = 8
_INTEGERS = np.arange(_ROWS) % 3


def _keras():
  return tf_compat.keras_3 if tf_compat.HAS_KERAS_3 else tf_compat.keras


def _model(units=1, **arguments):
  """Returns a model of one layer."""
  return _keras().Sequential([_keras().layers.Dense(units, **arguments)])


def _compiled():
  """Makes a compiled model of one layer."""
  model = _model()
  model.compile(optimizer="adam", loss="mse")
  return model


def _outputs(count):
  """Returns a function that makes a model of some outputs."""
  def make():
    x = _keras().Input([3], name="x")
    return _keras().Model(x, [
        _keras().layers.Dense(1, name=f"y{i}")(x) for i in range(count)])

  return make


def _class(method=None, with_argument=False):
  """Returns a class of models, with some method of its own."""
  def init(self):
    _keras().Model.__init__(self)
    self.dense = _keras().layers.Dense(1)

  members = {
      "__init__": (lambda self, units: init(self)) if with_argument else init,
      "call": lambda self, features: self.dense(features["x"])}
  if method:
    members[method] = lambda self, *args, **kwargs: None
  return type("Own", (_keras().Model,), members)


def _same():
  model = _model()
  return lambda: model


def _shared():
  made = []

  def make():
    made.extend([] if made else [_model()])
    return made[0]

  return {"m": make, "n": make}


def _x():
  return np.random.RandomState(1).rand(_ROWS, 3).astype(np.float32)


def _with_weights():
  return {"x": _x(), "w": np.ones([_ROWS, 1], np.float32)}


class AutoMistakesTest(parameterized.TestCase):

  def _train(self, pool, head=None, features=None, labels=None, iterations=1,
             **arguments):
    """Trains, and returns the lines that name the pool."""
    features = {"x": _x()} if features is None else features
    if labels is None:
      labels = np.ones([_ROWS, 1], np.float32)
    lines = []
    with self.assertLogs("absl", "INFO") as logs:
      adanet.AutoEnsembleEstimator(
          head or heads.RegressionHead(), pool, max_iteration_steps=1,
          max_iterations=iterations, force_grow=True,
          model_dir=self.create_tempdir().full_path, **arguments).train(
              lambda: tf_compat.v2.data.Dataset.from_tensors(
                  (features, labels)).repeat())
      lines += [line.getMessage() for line in logs.records]
    return [line for line in lines if "candidate_pool[" in line]

  @parameterized.parameters("one_hot", "multi_hot")
  def test_lookup_of_strings(self, mode):
    keras = _keras()

    def train(**arguments):
      self._train(
          {"m": lambda: keras.Sequential([
              keras.Input([1], dtype="string"),
              keras.layers.StringLookup(
                  vocabulary=["red"], output_mode=mode, **arguments),
              keras.layers.Dense(1)])},
          features=[["red"]] * _ROWS)

    with self.assertRaisesRegex(
        ValueError, "^builder 'm' of iteration 0 cannot use "
        "keras.layers.StringLookup with this output_mode.*: give it max_tokens,"
        " such as len.vocabulary. . 1, and pad_to_max_tokens=True\n"):
      train()
    train(max_tokens=2, pad_to_max_tokens=True)

  @parameterized.named_parameters(
      ("object", _model, r" is a Keras model: .* such as lambda: "),
      ("layer", lambda: _keras().layers.Dense(1), " is a Keras layer: expect"),
      ("same", _same, " returned a model that was made before: expected a new"),
      ("none", lambda: lambda: None, " returned None: expected a model of"),
      ("compiled", lambda: _compiled, " returned a model that is compiled: "
       "expected a model without compile, .* Give the optimizer to .*"
       "EnsembleSearch"),
      ("a_layer", lambda: lambda: _keras().layers.Dense(1),
       " returned <.*>: expected a model of Keras, "),
      ("list", lambda: lambda: [_model()], r" returned \[.*\]: expected a mod"),
      ("a_class", lambda: lambda: _keras().Sequential,
       " returned <class .*>: expected a model of Keras"),
      ("no_layers", lambda: lambda: _keras().Sequential(),
       " returned a Sequential without layers: expected at least one"),
      ("sequential", lambda: _keras().Sequential,
       " is the class Sequential of Keras: expected a function that makes "),
      ("dense", lambda: _keras().layers.Dense, " is the class Dense of Keras"),
      ("class", lambda: _class(with_argument=True),
       r": the class Own needs the arguments units: .* lambda: Own\(units\)"),
      ("none_of_config", lambda: lambda config: None,
       " returned None: expected an estimator or "),
      ("estimator_of_features", lambda: lambda features: types.SimpleNamespace(
          model_fn=print), " returned .* name its parameter config"),
      ("of_features", lambda: lambda features: _model(),
       " returned .* expected logits, because the function takes features"),
      ("two", lambda: _outputs(2),
       ": the model has the 2 outputs y0, y1, and the head takes one: expected "
       "the logits alone, or a dict with the keys last_layer and logits"),
      ("three", lambda: _outputs(3), ": the model has the 3 outputs y0, y1"))
  def test_bad_model(self, make, message):
    with self.assertRaisesRegex(ValueError, _OF_M + message) as caught:
      self._train({"m": make()}, iterations=2)
    self.assertNotIn("\n", str(caught.exception))

  def test_own_training(self):
    for method in "train_step", "compute_loss":
      if not hasattr(_keras().Model, method):
        continue  # Of a later Keras.
      with self.assertRaisesRegex(
          ValueError, f"{_OF_M} returned .* which has a {method} of its own: "):
        self._train({"m": _class(method)})

  def test_model_in_two_places(self):
    with self.assertRaisesRegex(
        ValueError, r"^candidate_pool\['n'\] returned a model that was made b"):
      self._train(_shared())

  def test_pool_that_is_a_model(self):
    for pool in _model(), lambda: _model():
      with self.assertRaisesRegex(
          ValueError, "^candidate_pool is a Keras model: expected a list or"):
        self._train(pool)

  @parameterized.parameters(
      (heads.RegressionHead(), 1, None), (heads.BinaryClassHead(), 1, None),
      (heads.MultiClassHead(3), 3, _INTEGERS))
  def test_no_flatten(self, head, units, labels):
    with self.assertRaisesRegex(
        ValueError, rf"logits: .* expects the shape \[batch_size, {units}\] "
        r"for labels of .* \[8, 3, .\]. Put keras.layers.Flatten\(\)"):
      self._train({"m": lambda: _model(units)}, head,
                  {"x": _x()[:, :, None]}, labels)

  @unittest.skipUnless(tf_compat.HAS_KERAS_3,
                       "Keras 3 needs TensorFlow 2.16 or later.")
  def test_dtype_policy(self):
    with self.assertRaisesRegex(ValueError, "^dtype_policy='mixed': expected "):
      self._train({"m": _model}, dtype_policy="mixed")

  def test_several_features(self):
    with self.assertRaisesRegex(
        ValueError, _OF_M + ": a Sequential model takes one feature, and "
        "input_fn gives 'w', 'x': concatenate"):
      self._train({"m": _model}, features=_with_weights())

  @level.gate
  def test_lines(self):
    pool = {
        "frozen": lambda: _model(trainable=False),
        "frozen_on_purpose": _Sub(
            lambda: _model(trainable=False), prediction_only=True),
        "plain": _model}
    # Once, although the models train in two iterations.
    line, = self._train(pool, optimizer="Adam", iterations=2)
    self.assertIn("candidate_pool['frozen'] has no variables that train, so "
                  "training does not change ", line)

  @level.gate
  @unittest.skipUnless(tf_compat.HAS_KERAS_3,
                       "Keras 3 needs TensorFlow 2.16 or later.")
  def test_mask(self):
    layers = tf_compat.keras_3.layers

    def masked(pools):
      return tf_compat.keras_3.Sequential(
          [layers.Embedding(9, 2, mask_zero=True), layers.Dense(1)] +
          [layers.GlobalAveragePooling1D()] * pools)

    for pools, labels in ((False, np.ones([_ROWS, 3, 1])),
                          (True, np.ones([_ROWS, 1]))):
      lines = self._train(
          {"m": functools.partial(masked, pools)},
          heads.RegressionHead(), {"x": np.ones([_ROWS, 3], np.int32)},
          labels.astype(np.float32),
          ensemblers=[adanet.ensemble.MeanEnsembler()])
      self.assertEqual(pools, not any(
          "candidate_pool['m'] returns an output with a mask. " in line
          for line in lines))


if __name__ == "__main__":
  absltest.main()

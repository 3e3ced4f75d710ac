# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of `AutoEnsembleEstimator.keras_model`."""

import functools
import os
import subprocess
import sys
import unittest

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet.testing import level
from adanet import tf_compat
from adanet.inputs import numpy_input_fn
from adanet.testing import engines
import numpy as np

keras = tf_compat.keras_3 if tf_compat.HAS_KERAS_3 else None

_STEPS = 8
_ROWS = 40
_OF_TASK = {"binary": adanet.heads.BinaryClassHead(),
            "classes": adanet.heads.MultiClassHead(3),
            "regression": adanet.heads.RegressionHead(2)}
_ENSEMBLERS = {
    "greedy": adanet.ensemble.GreedyEnsembler,
    "mean": adanet.ensemble.MeanEnsembler,
    "vector": lambda: adanet.ensemble.ComplexityRegularizedEnsembler(
        optimizer=_optimizer, use_bias=True,
        mixture_weight_type=adanet.ensemble.MixtureWeightType.VECTOR),
    "matrix": lambda: adanet.ensemble.ComplexityRegularizedEnsembler(
        optimizer=_optimizer,
        mixture_weight_type=adanet.ensemble.MixtureWeightType.MATRIX)}


def _optimizer():
  return tf_compat.v1.train.GradientDescentOptimizer(.1)


def _images(random):
  return random.randn(_ROWS, 6, 6, 1).astype(np.float32)


def _conv(size):
  layers = keras.layers
  return keras.Sequential([
      layers.Conv2D(3, 3, activation="relu"), layers.BatchNormalization(),
      layers.Flatten(), layers.Dropout(.5), layers.Dense(size)])


def _nested(size):
  layers = keras.layers
  inputs = keras.Input([6, 6, 1])
  body = keras.Sequential([layers.Flatten(), layers.Dense(5, "tanh")])
  return keras.Model(inputs, layers.Dense(size)(body(inputs)))


def _subclassed():

  @keras.saving.register_keras_serializable("test")
  class Subclassed(keras.Model):
    """A model that Keras can write."""

    def __init__(self, size, **kwargs):
      super().__init__(**kwargs)
      self._flatten = keras.layers.Flatten()
      self._dense = keras.layers.Dense(size)
      self._size = size

    def call(self, inputs, training=False):
      return self._dense(self._flatten(inputs))

    def get_config(self):
      return dict(super().get_config(), size=self._size)

  return Subclassed


def _two_inputs():
  """A model of two of three features."""
  layers = keras.layers
  left, right = keras.Input([2], name="left"), keras.Input([3], name="right")
  joined = layers.Concatenate()([left, layers.Dense(2)(right)])
  return keras.Model([left, right], layers.Dense(1)(joined))


def _one_of_them():
  right = keras.Input([3], name="right")
  return keras.Model(right, keras.layers.Dense(1)(right))


def _two_outputs():
  inputs = keras.Input([3])
  hidden = keras.layers.Dense(4, "relu")(inputs)
  return keras.Model(inputs, [hidden, {
      "size": keras.layers.Dense(1)(hidden),
      "kind": keras.layers.Dense(3)(hidden)}])


@level.gate
@unittest.skipUnless(tf_compat.HAS_KERAS_3,
                     "Keras 3 needs TensorFlow 2.16 or later.")
class KerasModelTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._random = np.random.RandomState(1)

  def _trained(self, head, pool, features, labels, ensembler="greedy",
               iterations=1, executor=None, **arguments):
    """Returns an estimator that has trained."""
    estimator = adanet.AutoEnsembleEstimator(
        head, pool, max_iteration_steps=_STEPS, max_iterations=iterations,
        ensemblers=[_ENSEMBLERS[ensembler]()], optimizer="adam",
        ensemble_strategies=[adanet.ensemble.AllStrategy()],
        evaluator=adanet.Evaluator(numpy_input_fn(
            features, labels, shuffle=False)),
        config=tf_compat.RunConfig(
            model_dir=self.create_tempdir().full_path, tf_random_seed=1),
        **arguments)
    estimator.train(numpy_input_fn(
        features, labels, batch_size=8, shuffle=False, num_epochs=None),
                    executor=executor)
    return estimator

  def _predicted(self, estimator, features, key="logits"):
    return np.stack([one[key] for one in estimator.predict(
        numpy_input_fn(features, shuffle=False))])

  @parameterized.parameters(
      ("classes", "greedy", 2), ("regression", "greedy", 1),
      ("binary", "greedy", 1), ("classes", "mean", 1), ("classes", "vector", 2),
      ("classes", "matrix", 1))
  def test_equals_predict(self, task, ensembler, iterations):
    features, head = _images(self._random), _OF_TASK[task]
    size = head.logits_dimension
    labels = (self._random.randn(_ROWS, 2).astype(np.float32)
              if task == "regression" else self._random.randint(
                  max(size, 2), size=_ROWS))
    subclassed = _subclassed()
    kinds = {"nested": _nested, "sub": subclassed} if iterations > 1 else {
        "conv": _conv, "sub": subclassed}
    estimator = self._trained(
        head, {name: functools.partial(make, size)
               for name, make in kinds.items()}, features, labels, ensembler,
        iterations)
    model = estimator.keras_model()
    expected = self._predicted(
        estimator, features,
        "predictions" if task == "regression" else "logits")
    np.testing.assert_allclose(
        model.predict(features, verbose=0), expected, rtol=1e-5, atol=1e-6)
    metrics = estimator.evaluate(numpy_input_fn(
        features, labels, shuffle=False))
    found = model.evaluate(features, labels, verbose=0, return_dict=True)
    self.assertAlmostEqual(metrics["average_loss"], found["loss"], 4)
    if "accuracy" in metrics:
      self.assertAlmostEqual(metrics["accuracy"], found["accuracy"], 5)
    path = os.path.join(self.create_tempdir().full_path, "model.keras")
    model.save(path)
    np.testing.assert_array_equal(
        keras.models.load_model(path).predict(features, verbose=0),
        model.predict(features, verbose=0))

  def test_loads_without_adanet(self):
    """Also trains on, and becomes a model of TensorFlow Lite."""
    features = _images(self._random)
    estimator = self._trained(
        adanet.heads.RegressionHead(), {
            "conv": lambda: _conv(1), "nested": lambda: _nested(1)},
        features, features.sum((1, 2, 3))[:, None])
    model = estimator.keras_model()
    members = [layer.name for layer in model.layers
               if isinstance(layer, keras.Model)]
    fit = adanet.report(estimator.model_dir).iterations[-1].fit
    self.assertEqual(sorted(fit.members), sorted(members))
    self.assertLen(model.trainable_variables, sum(
        {"conv": 6, "nested": 4}[name.split("_")[1]] for name in members))
    folder = self.create_tempdir().full_path
    path = os.path.join(folder, "model.keras")
    model.save(path)
    np.save(os.path.join(folder, "features.npy"), features)
    subprocess.run([sys.executable, "-c", """if True:
        import importlib, os, sys
        import numpy as np
        keras = importlib.import_module(sys.argv[2])
        folder = sys.argv[1]
        model = keras.models.load_model(os.path.join(folder, "model.keras"))
        features = np.load(os.path.join(folder, "features.npy"))
        np.save(os.path.join(folder, "found.npy"),
                model.predict(features, verbose=0))
        model.fit(features, features.sum((1, 2, 3)), verbose=0)
        assert "adanet" not in sys.modules
        """, folder, keras.__name__], check=True, env=dict(
            os.environ, PYTHONPATH=os.pathsep.join(sys.path)))
    expected = self._predicted(estimator, features, "predictions")
    np.testing.assert_allclose(
        np.load(os.path.join(folder, "found.npy")), expected, rtol=1e-6,
        atol=1e-6)
    lite = tf_compat.v2.lite
    interpreter = lite.Interpreter(
        model_content=lite.TFLiteConverter.from_keras_model(model).convert())
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"],
                           features[:1])
    interpreter.invoke()
    np.testing.assert_allclose(
        interpreter.get_tensor(interpreter.get_output_details()[0]["index"]),
        expected[:1], rtol=1e-4, atol=1e-5)

  def test_inputs_by_name(self):
    """The model has no input that no member takes."""
    features = {"left": self._random.randn(_ROWS, 2).astype(np.float32),
                "right": self._random.randn(_ROWS, 3),
                "weights": np.ones([_ROWS], np.float32)}
    estimator = self._trained(
        adanet.heads.RegressionHead(weight_column="weights"),
        {"both": _two_inputs, "one": _one_of_them}, features,
        features["left"][:, :1], ensembler="mean",
        executor=engines.Here())
    model = estimator.keras_model()
    self.assertEqual(["left", "right"], [one.name for one in model.inputs])
    del features["weights"]
    np.testing.assert_allclose(
        model.predict(features, verbose=0), self._predicted(estimator, dict(
            features, weights=np.ones([_ROWS], np.float32)), "predictions"),
        rtol=1e-5, atol=1e-6)

  def test_multi_head(self):
    features = self._random.randn(_ROWS, 3).astype(np.float32)
    labels = {"size": features[:, :1],
              "kind": self._random.randint(3, size=[_ROWS, 1])}
    head = adanet.heads.MultiHead(
        [adanet.heads.RegressionHead(name="size"),
         adanet.heads.MultiClassHead(3, name="kind")], [1., .5])
    estimator = self._trained(
        head, {"two": _two_outputs}, features, labels)
    model = estimator.keras_model()
    found = model.predict(features, verbose=0)
    for key, expected in (("size", "predictions"), ("kind", "logits")):
      np.testing.assert_allclose(
          found[key], self._predicted(estimator, features, (key, expected)),
          rtol=1e-5, atol=1e-6)
    metrics = estimator.evaluate(numpy_input_fn(
        features, labels, shuffle=False))
    self.assertAlmostEqual(
        metrics["loss"], model.evaluate(
            features, labels, verbose=0, return_dict=True)["loss"], 4)

  @parameterized.parameters(
      ({"size": "mse", "kind": "sparse_categorical_crossentropy"},),
      (["mse", "sparse_categorical_crossentropy"],))
  def test_keras_head(self, loss):
    """A list of losses is for the outputs in their order."""
    features = self._random.randn(_ROWS, 3).astype(np.float32)
    names = list(loss) if isinstance(loss, dict) else ["output_0", "output_1"]
    labels = dict(zip(names, (
        features[:, :1], self._random.randint(3, size=[_ROWS, 1]))))
    head = adanet.heads.KerasHead(
        loss, loss_weights=[.5, 2.], metrics=[["mae"], ["accuracy"]])

    def two():
      inputs = keras.Input([3])
      hidden = keras.layers.Dense(4, "relu")(inputs)
      return keras.Model(inputs, dict(zip(names, (
          keras.layers.Dense(1)(hidden),
          keras.layers.Dense(3, "softmax")(hidden)))))

    estimator = self._trained(head, {"two": two}, features, labels)
    model = estimator.keras_model()
    metrics = estimator.evaluate(numpy_input_fn(
        features, labels, batch_size=_ROWS, shuffle=False))
    for name, value in model.evaluate(
        features, labels, batch_size=_ROWS, verbose=0,
        return_dict=True).items():
      self.assertAlmostEqual(metrics[name], value, 4, name)

  def test_loss_of_a_user_is_not_compiled(self):
    features = self._random.randn(_ROWS, 3).astype(np.float32)
    estimator = self._trained(
        adanet.heads.RegressionHead(
            loss_fn=lambda labels, logits: abs(labels - logits)),
        {"a": lambda: keras.Sequential([keras.layers.Dense(1)])}, features,
        features[:, :1], iterations=1)
    self.assertFalse(estimator.keras_model().compiled)

  def test_errors(self):
    features = self._random.randn(_ROWS, 3).astype(np.float32)
    eager = keras.Sequential([keras.Input([3]), keras.layers.Dense(1)])

    def dense():
      return keras.Sequential([keras.layers.Dense(1)])

    def shared():
      return eager if tf_compat.v2.executing_eagerly() else dense()

    def trained(**pool):
      return self._trained(
          adanet.heads.RegressionHead(), pool, features, features[:, :1],
          ensembler="mean")

    estimator = trained(a=lambda features: (
        features * tf_compat.v1.get_variable("w", [3]))[:, :1])
    with self.assertRaisesRegex(
        ValueError, r"keras_model\(\) cannot make t0_a of layers of Keras: "):
      estimator.keras_model()
    with self.assertRaisesRegex(
        ValueError, r"'b'\]: t0_a and t0_b share the variable '.*kernel', with "
        "two values: make its layer inside of the function.$"):
      trained(a=shared, b=shared).keras_model()
    estimator = trained(a=dense)
    with self.assertRaisesRegex(ValueError, "outside of a graph"):
      with tf_compat.v1.Graph().as_default():
        estimator.keras_model()
    os.remove(os.path.join(estimator.model_dir, "search.json"))
    with self.assertRaisesRegex(
        ValueError, "does not say which features the models take: .* Train a "
        "further step to write it, or use export_saved_model.$"):
      estimator.keras_model()


@unittest.skipIf(tf_compat.HAS_KERAS_3, "Keras 3 is there.")
class WithoutKeras3Test(absltest.TestCase):

  def test_error(self):
    estimator = adanet.AutoEnsembleEstimator(
        adanet.heads.RegressionHead(), {
            "a": lambda features: features * tf_compat.v1.get_variable("w", [])
        }, max_iteration_steps=1, max_iterations=1,
        model_dir=self.create_tempdir().full_path)
    ones = np.ones([4, 1], np.float32)
    estimator.train(numpy_input_fn(ones, ones, shuffle=False))
    with self.assertRaisesRegex(ValueError, "TensorFlow 2.16 or later"):
      estimator.keras_model()


if __name__ == "__main__":
  sys.exit(absltest.main())

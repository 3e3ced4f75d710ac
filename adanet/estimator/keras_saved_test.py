# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of searches that go on with saved models of Keras 3."""

import functools
import json
import os
import time
import unittest

from absl.testing import absltest
import adanet
from adanet import tf_compat
from adanet.testing import builders
from adanet.testing import exports
from adanet.testing import jobs
from adanet.testing import variables
import numpy as np

_STEPS = 6
_SCOPE = "adanet/iteration_{0}/subnetwork_t{0}_{1}/"


def _saved(folder):
  """Returns the path of a trained model, with every kind of state."""
  keras = tf_compat.keras_3
  features, labels = builders.data()
  inputs = keras.Input([3], name="x")
  normalization = keras.layers.Normalization()
  normalization.adapt(3. * features + 1.)
  # A bias before the normalization would have gradients of noise only, which
  # Adam scales up.
  hidden = keras.layers.Dense(8, "relu", use_bias=False)(normalization(inputs))
  hidden = keras.layers.BatchNormalization()(hidden)
  hidden = keras.layers.Dropout(.3, seed=3, name="dropout")(hidden)
  model = keras.Model(inputs, keras.layers.Dense(1)(hidden))
  model.compile(keras.optimizers.Adam(.01), "mse", jit_compile=False)
  model.fit(features, labels, batch_size=8, verbose=0)
  path = os.path.join(folder, "saved.keras")
  model.save(path)
  return path


class _Loading(builders.Dense):
  """Loads a model, and does not train it."""

  def __init__(self, path):
    super().__init__("loading")
    self._path = path

  def build_subnetwork(self, features, *args, **kwargs):
    logits = tf_compat.keras_3.models.load_model(self._path)(features["x"])
    return adanet.Subnetwork(last_layer=logits, logits=logits, complexity=1.)

  def build_subnetwork_train_op(self, *args, **kwargs):
    return tf_compat.v1.no_op()


def _estimator(load, model_dir, max_iterations=1, **arguments):
  return adanet.AutoEnsembleEstimator(
      adanet.heads.RegressionHead(),
      {"a": load, "frozen": adanet.AutoEnsembleSubestimator(
          load, prediction_only=True)},
      max_iteration_steps=_STEPS, max_iterations=max_iterations,
      force_grow=True, model_dir=model_dir, **arguments)


def _values(estimator, t, name):
  """Returns the variables of a subnetwork, by their names in its scope."""
  scope = _SCOPE.format(t, name)
  return {variable[len(scope):]: value for variable, value in
          variables.latest(estimator.model_dir).items()
          if variable.startswith(scope)}


def _task(folder, path, model_dir):
  """A task of a cluster. The chief makes the file."""
  if json.loads(os.environ["TF_CONFIG"])["task"]["type"] == "chief":
    os.replace(_saved(folder), path)
  while not os.path.exists(path):
    time.sleep(.1)
  load = functools.partial(tf_compat.keras_3.models.load_model, path)
  adanet.train_and_evaluate(
      _estimator(load, model_dir), adanet.TrainSpec(builders.input_fn()),
      adanet.EvalSpec(builders.input_fn(1)))


# Its tasks are forks. By its name it runs before a test of this process starts
# threads of TensorFlow, which a fork would not have.
@unittest.skipUnless(tf_compat.HAS_KERAS_3,
                     "Keras 3 needs TensorFlow 2.16 or later.")
class ClusterTest(absltest.TestCase):

  def test_cluster(self):
    folder = self.create_tempdir().full_path
    path = os.path.join(folder, "ready.keras")
    model_dir = os.path.join(folder, "model")
    jobs.started(self, functools.partial(_task, folder, path, model_dir),
                 {"chief": 1, "worker": 1, "ps": 1}).finish(120.)
    load = functools.partial(tf_compat.keras_3.models.load_model, path)
    found = _values(_estimator(load, model_dir), 0, "frozen")
    for variable in load().weights:
      np.testing.assert_array_equal(
          variable.numpy(), found[variable.path], variable.path)


@unittest.skipUnless(tf_compat.HAS_KERAS_3,
                     "Keras 3 needs TensorFlow 2.16 or later.")
class KerasSavedTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self._path = _saved(self.create_tempdir().full_path)

  def _load(self):
    return tf_compat.keras_3.models.load_model(self._path)

  def _assert_state(self, model, found, optimizer=True):
    """Asserts that variables are those of a model and of its optimizer."""
    own = model.weights + (model.optimizer.variables if optimizer else [])
    expected = {v.path: v.numpy() for v in own}
    expected["seed_generator/seed_generator_state"] = model.get_layer(
        "dropout").seed_generator.state.numpy()
    for path, value in expected.items():
      np.testing.assert_allclose(
          value, found[path], rtol=1e-5, atol=1e-5, err_msg=path)

  def _train_as_keras(self):
    model = self._load()
    for features, labels in builders.batches(_STEPS):
      model.train_on_batch(features, labels)
    return model

  def test_search(self):
    estimator = _estimator(self._load, self.create_tempdir().full_path,
                           max_iterations=2)
    trained = self._train_as_keras()
    for t in range(2):  # Each begins with the file.
      estimator.train(builders.input_fn(), steps=_STEPS)
      self._assert_state(trained, _values(estimator, t, "a"))
      # What does not train needs no optimizer.
      frozen = _values(estimator, t, "frozen")
      self._assert_state(self._load(), frozen, optimizer=False)
      self.assertFalse([name for name in frozen if name.startswith("adam")])
    results = [estimator.evaluate(builders.input_fn(1)) for _ in range(2)]
    self.assertEqual(results[0], results[1])
    found = [p["predictions"] for p in estimator.predict(builders.input_fn(1))]
    served = exports.served(estimator, builders.data()[0])
    np.testing.assert_allclose(
        found, served["predictions"], rtol=1e-5, atol=1e-6)

  def test_frozen_predictions(self):
    features = builders.data()[0]
    expected = self._load().predict(features, verbose=0)
    model_dir = self.create_tempdir().full_path
    arguments = dict(
        max_iteration_steps=_STEPS, max_iterations=1, model_dir=model_dir,
        # Without a weight, an ensemble of one predicts what that does.
        ensemblers=[adanet.ensemble.MeanEnsembler()])
    for estimator in (
        adanet.AutoEnsembleEstimator(
            adanet.heads.RegressionHead(),
            {"old": adanet.AutoEnsembleSubestimator(
                self._load, prediction_only=True)}, **arguments),
        adanet.Estimator(
            adanet.heads.RegressionHead(),
            builders.generator(_Loading(self._path)),
            **{**arguments, "model_dir": self.create_tempdir().full_path})):
      estimator.train(builders.input_fn())
      found = [p["predictions"] for p in estimator.predict(
          builders.input_fn(1))]
      np.testing.assert_allclose(expected, found, rtol=1e-5, atol=1e-6)

  def test_own_objects_and_optimizer(self):
    keras = tf_compat.keras_3

    class Scaled(keras.layers.Layer):

      def build(self, input_shape):
        del input_shape
        self.scale = self.add_weight(shape=(), name="scale")

      def call(self, inputs):
        return inputs * self.scale

    model = keras.Sequential([keras.Input([3]), Scaled(),
                              keras.layers.Dense(1)])
    model.layers[0].scale.assign(2.)
    path = os.path.join(self.create_tempdir().full_path, "own.keras")
    model.save(path)

    def load():
      return keras.models.load_model(path, custom_objects={"Scaled": Scaled})

    estimator = _estimator(load, self.create_tempdir().full_path,
                           optimizer=keras.optimizers.SGD(0.))
    estimator.train(builders.input_fn())
    found = _values(estimator, 0, "a")
    for variable in load().weights:
      np.testing.assert_array_equal(
          variable.numpy(), found[variable.path], variable.path)


if __name__ == "__main__":
  absltest.main()

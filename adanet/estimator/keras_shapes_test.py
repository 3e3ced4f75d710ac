# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests pools of Keras 3 models of the usual shapes, wherever they train.

`adanet/tf_compat:keras_scope_test` compares single layers with Keras's own
training, and `adanet/estimator:keras_3_test` has builders.
"""

import functools
import os
import sys
import tempfile
import unittest

from absl.testing import absltest
import adanet
from adanet import distributed
from adanet import tf_compat
from adanet.testing import engines
from adanet.testing import exports
from adanet.testing import jobs
from adanet.testing import variables
import numpy as np

_CLASSES = 3
_CLUSTER = {"chief": 1, "worker": 1, "ps": 1}
_ROWS = 32
_WAIT_SECS = 120.


def _output(tensor):
  """Returns the logits of any tensor."""
  layers = tf_compat.keras_3.layers
  return layers.Dense(_CLASSES)(layers.Flatten()(tensor))


def _model(make_hidden, shape=(8, 8, 1)):
  """Returns a functional model.

  Args:
    make_hidden: function from a tensor to one.
    shape: list of int, of the images that it takes.
  """
  keras = tf_compat.keras_3
  pixels = keras.Input([8, 8], name="pixels")
  hidden = make_hidden(keras.layers.Reshape(shape)(pixels))
  return keras.Model(pixels, _output(hidden))


def _augmented():
  layers = tf_compat.keras_3.layers
  return tf_compat.keras_3.Sequential([
      layers.Reshape([8, 8, 1]), layers.Rescaling(1 / 8, offset=-1),
      layers.Normalization(mean=.1, variance=2.),
      layers.RandomFlip("horizontal"), layers.RandomTranslation(.1, .1),
      layers.Conv2D(4, 3, strides=2), layers.BatchNormalization(),
      layers.Activation("relu"), layers.GlobalAveragePooling2D(),
      layers.Dense(_CLASSES)])


def _separable():
  layers = tf_compat.keras_3.layers
  return _model(lambda hidden: layers.GroupNormalization(2)(
      layers.DepthwiseConv2D(3)(
          layers.SeparableConv2D(4, 3, activation="relu")(hidden))))


def _residual():
  layers = tf_compat.keras_3.layers

  def make(hidden):
    hidden = layers.Conv2D(4, 3, padding="same")(hidden)
    block = layers.Conv2D(4, 3, padding="same", use_bias=False)(hidden)
    block = layers.Activation("relu")(layers.BatchNormalization()(block))
    return layers.MaxPooling2D()(layers.Add()([hidden, block]))

  return _model(make)


def _squeeze_excite():
  layers = tf_compat.keras_3.layers

  def make(hidden):
    hidden = layers.Conv2D(8, 3, strides=2, activation="swish")(hidden)
    scale = layers.GlobalAveragePooling2D(keepdims=True)(hidden)
    scale = layers.Conv2D(2, 1, activation="relu")(scale)
    scale = layers.Conv2D(8, 1, activation="sigmoid")(scale)
    return layers.SpatialDropout2D(.2)(layers.Multiply()([hidden, scale]))

  return _model(make)


def _attention():
  layers = tf_compat.keras_3.layers

  def make(rows):
    found = layers.MultiHeadAttention(2, 4, dropout=.2)(rows, rows)
    rows = layers.LayerNormalization()(layers.Add()([rows, found]))
    return layers.Dropout(.2)(layers.Dense(8, "gelu")(rows))

  return _model(make, [8, 8])


def _gru():
  layers = tf_compat.keras_3.layers
  return _model(lambda rows: layers.Bidirectional(
      layers.GRU(4, dropout=.2))(layers.Masking()(rows)), [8, 8])


def _lstm():
  layers = tf_compat.keras_3.layers
  return _model(lambda rows: layers.LSTM(4, recurrent_dropout=.2)(
      layers.TimeDistributed(layers.Dense(4))(rows)), [8, 8])


def _embedding():
  keras = tf_compat.keras_3

  def make(pixels):
    words = keras.layers.Embedding(17, 4, mask_zero=True)(
        keras.ops.cast(pixels, "int32"))
    return keras.layers.UnitNormalization()(
        keras.layers.GlobalAveragePooling1D()(words))

  return _model(make, [64])


def _spectral():
  """Returns a Sequential with regularizers, of mixed precision."""
  layers = tf_compat.keras_3.layers
  policy = "mixed_float16"
  return tf_compat.keras_3.Sequential([
      layers.Flatten(),
      layers.SpectralNormalization(
          layers.Dense(8, "relu", kernel_regularizer="l2", dtype=policy),
          dtype=policy),
      layers.GaussianNoise(.1, dtype=policy),
      layers.Dense(_CLASSES, activity_regularizer="l2", dtype=policy)])


def _subclass():
  keras = tf_compat.keras_3

  class Bottleneck(keras.Model):
    """Adds to the loss how far its narrow layer is from 0."""

    def __init__(self):
      super().__init__()
      self.narrow = keras.layers.Dense(4)
      self.top = keras.layers.Dense(_CLASSES)
      self.seeds = keras.random.SeedGenerator()

    def call(self, features, training=False):
      narrow = self.narrow(keras.ops.reshape(features["pixels"], [-1, 64]))
      self.add_loss(.01 * keras.ops.square(narrow))
      if training:
        narrow += keras.random.normal(
            keras.ops.shape(narrow), seed=self.seeds)
      return self.top(narrow)

  return Bottleneck()


_TEN = {
    "attention": _attention,
    "augmented": _augmented,
    "embedding": _embedding,
    "gru": _gru,
    "lstm": _lstm,
    "residual": _residual,
    "separable": _separable,
    "spectral": _spectral,
    "squeeze_excite": _squeeze_excite,
    "subclass": _subclass,
}


def _ten(iteration_number):
  """Returns the pool of ten; later a smaller one, to be short."""
  return {"subclass": _subclass} if iteration_number else _TEN


def _two():
  return {"spectral": _spectral, "subclass": _subclass}


def _pixels():
  return np.random.RandomState(7).randint(0, 17, [_ROWS, 8, 8]).astype("f")


def _input_fn(repeat=None):
  def call():
    pixels = _pixels()
    labels = pixels.sum(axis=(1, 2)).astype(int) % _CLASSES
    return tf_compat.v1.data.Dataset.from_tensor_slices(
        ({"pixels": pixels}, labels)).repeat(repeat).batch(8)

  return call


def _estimator(model_dir, pool, **arguments):
  return adanet.AutoEnsembleEstimator(
      adanet.heads.MultiClassHead(_CLASSES), pool,
      # So each model counts in what is predicted.
      ensemble_strategies=[adanet.ensemble.AllStrategy() if pool is _ten
                           else adanet.ensemble.GrowStrategy()],
      ensemblers=[adanet.ensemble.ComplexityRegularizedEnsembler("SGD")],
      optimizer="SGD", max_iteration_steps=3, force_grow=True,
      config=tf_compat.RunConfig(
          model_dir=model_dir, tf_random_seed=1, save_summary_steps=None),
      **{"max_iterations": 2, **arguments})


def _shapes(model_dir):
  """Returns the shapes of all variables by their names."""
  return {name: value.shape for name, value in
          variables.latest(model_dir).items()}


def _task(model_dir):
  """A task of a cluster, which trains one iteration."""
  adanet.train_and_evaluate(
      # The chief has the ensembles and trains some models, the worker trains
      # the rest. `keras_3_test` has another strategy.
      _estimator(model_dir, _ten, max_iterations=1,
                 placement_strategy=distributed.BalancedStrategy()),
      adanet.TrainSpec(_input_fn()), adanet.EvalSpec(_input_fn(1)))
  assert "tf_keras" not in sys.modules


def _train_on_cluster():
  """Trains, and returns the shapes of all variables by their names."""
  with tempfile.TemporaryDirectory() as folder:
    model_dir = os.path.join(folder, "model")
    job = jobs.Job(functools.partial(_task, model_dir), _CLUSTER, folder)
    try:
      job.start_all()
      job.finish(_WAIT_SECS)
    finally:
      job.close()
    return _shapes(model_dir)


@unittest.skipUnless(tf_compat.HAS_KERAS_3,
                     "Keras 3 needs TensorFlow 2.16 or later.")
class KerasShapesTest(absltest.TestCase):

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    # Its tasks are forks, which would not have the threads of TensorFlow: so
    # this process trains only after them.
    cls._on_cluster = _train_on_cluster()

  def _estimator(self, pool):
    return _estimator(self.create_tempdir().full_path, pool)

  def test_ten_models(self):
    model_dir = self.create_tempdir().full_path
    _estimator(model_dir, _ten, max_iterations=1).train(_input_fn())
    first = variables.latest(model_dir)
    self.assertEqual(_shapes(model_dir), self._on_cluster)
    scope = "adanet/iteration_0/subnetwork_t0_"
    for name in ("attention", "augmented", "gru", "lstm", "spectral",
                 "squeeze_excite", "subclass"):
      self.assertGreaterEqual(
          max(value[1] for path, value in first.items()
              if path.startswith(scope + name) and
              path.endswith("seed_generator_state")), 3, name)
    estimator = _estimator(model_dir, _ten).train(_input_fn())
    for name, value in variables.latest(model_dir).items():
      if name.startswith(scope):
        np.testing.assert_array_equal(value, first[name], name)
    self.assertIn("accuracy", estimator.evaluate(_input_fn(1)))
    found = np.array([prediction["logits"] for prediction in
                      estimator.predict(_input_fn(1))])
    self.assertEqual((_ROWS, _CLASSES), found.shape)
    served = exports.served(estimator, _pixels(), "pixels")
    np.testing.assert_allclose(found, served["logits"], rtol=1e-4, atol=1e-5)
    self.assertNotIn("tf_keras", sys.modules)

  def test_two_models(self):
    alone, there = (
        self._estimator(_two).train(_input_fn(), executor=executor)
        for executor in (None, engines.Here()))
    variables.assert_equal(variables.latest(alone.model_dir),
                           variables.latest(there.model_dir))

  def test_train_step_of_its_own(self):
    class Own(tf_compat.keras_3.Sequential):

      def train_step(self, data):
        return super().train_step(data)

    with self.assertRaisesRegex(
        ValueError, r"candidate_pool\['own'\].* has a train_step of its own"):
      self._estimator({"own": lambda: Own()}).train(_input_fn())


if __name__ == "__main__":
  absltest.main()

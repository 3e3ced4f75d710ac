# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Models that are the same have the same description, and others differ."""

import json

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.ensemble_search import identity
from adanet.testing import engines
from adanet.testing import level
import numpy as np

keras = tf_compat.keras_3
L, O = keras.layers, keras.optimizers
_SPARSE = "sparse_categorical_crossentropy"


@keras.saving.register_keras_serializable("tests")
class Scale(L.Layer):
  """Has a config that Keras makes."""

  def __init__(self, factor, **options):
    super().__init__(**options)
    self.factor = factor

  def call(self, inputs):
    return inputs * self.factor


class Apply(L.Layer):
  """Has no config."""

  def __init__(self, function):
    super().__init__()
    self.function = function

  def call(self, inputs):
    return self.function(inputs)


class Subclassed(keras.Model):
  """Has no config, and makes a layer when it is built."""

  def __init__(self, units=4):
    super().__init__()
    self.first = L.Dense(units)

  def build(self, input_shape):
    self.last = L.Dense(1)

  def call(self, inputs):
    return self.last(self.first(inputs))


class Weighted(keras.losses.Loss):
  """Has an automatic name, and an option that is not in its config."""

  def __init__(self, weight):
    super().__init__()
    self.weight = weight

  def call(self, y_true, y_pred):
    return self.weight * keras.ops.mean(keras.ops.abs(y_true - y_pred), -1)


class Schedule(O.schedules.LearningRateSchedule):
  """Has no config."""

  def __call__(self, step):
    return .1


def own_loss(y_true, y_pred):
  return keras.ops.mean(keras.ops.abs(y_true - y_pred), -1)


def own_activation(x):
  return keras.ops.tanh(x)


def _sequential(*layers, optimizer="adam", loss="mse", **options):
  """Returns a compiled Sequential."""
  model = keras.Sequential(list(layers))
  model.compile(optimizer, loss, **options)
  return model


def _dense(units=(4, 1), **options):
  return _sequential(*map(L.Dense, units), **options)


def _functional(make, size=4, **options):
  """Returns a compiled functional model of what `make` returns for an input."""
  inputs = keras.Input([size])
  model = keras.Model(inputs, make(inputs))
  model.compile("adam", **{"loss": "mse", **options})
  return model


def _two_outputs(names=(None, None), losses=("mse", "mae"), weights=None):
  inputs = keras.Input([4])
  hidden = L.Dense(3)(inputs)
  model = keras.Model(
      inputs, [L.Dense(1, name=name)(hidden) for name in names])
  keys = model.output_names
  model.compile("adam", dict(zip(keys, losses)),
                loss_weights=weights and dict(zip(keys, weights)))
  return model


def _nested(units=3):
  return _functional(lambda inputs: L.Dense(1)(
      keras.Sequential([L.Dense(units), L.ReLU()])(inputs)))


def _shared(inputs):
  layer = L.Dense(4)
  return L.Concatenate()([layer(layer(inputs)), layer(inputs) + 1])


def _pair(inputs):
  return [L.Dense(1)(inputs), inputs]


def _subclassed():
  model = Subclassed()
  model.compile("adam", own_loss)
  return model


def _normalization():
  layer = L.Normalization()
  layer.adapt(np.arange(12.).reshape(3, 4))
  return _sequential(layer, L.Dense(1))


def _vectorization(words=("sun", "rain")):
  layer = L.TextVectorization(output_mode="count")
  layer.adapt(list(words))
  return _sequential(layer, L.Dense(1))


def _words(count):
  return [f"word{i}" for i in range(count)]


def _built(model):
  model.build((None, 4))
  return model


def _with_policy(name, function):
  before = keras.config.dtype_policy()
  keras.config.set_dtype_policy(name)
  try:
    return function()
  finally:
    keras.config.set_dtype_policy(before)


# Functions of the same model.
_SAME = {
    "sequential": [
        _dense, lambda: _built(_dense()),
        lambda: _sequential(keras.Input([4]), L.Dense(4), L.Dense(1)),
        lambda: _sequential(L.Dense(4, name="hidden"), L.Dense(1)),
        lambda: _dense(loss=keras.losses.MeanSquaredError()),
        lambda: _dense(loss=keras.losses.mean_squared_error),
        lambda: _dense(loss=keras.losses.MeanSquaredError(name="squared")),
        lambda: _dense(optimizer=O.Adam(1e-3)),
        lambda: _dense(optimizer=O.Adam(name="own"), metrics=["mae"])],
    "sparse": [
        lambda: _dense(loss=_SPARSE),
        lambda: _dense(loss=keras.losses.SparseCategoricalCrossentropy())],
    "functional": [
        lambda: _functional(L.Dense(2)),
        lambda: _functional(L.Dense(2, name="out"))],
    "nested": [_nested],
    "shared": [lambda: _functional(_shared)],
    "subclassed": [_subclassed, lambda: _built(_subclassed())],
    "lambda": [lambda: _sequential(L.Lambda(lambda x: x * 2), L.Dense(1))],
    "layers": [lambda: _sequential(
        Scale(2.), Apply(own_activation), L.Dense(1, own_activation))],
    "normalization": [_normalization],
    "vectorization": [_vectorization],
    "constants": [lambda: _sequential(L.Dense(
        9, kernel_initializer=keras.initializers.Constant(np.eye(9))))],
    "outputs": [
        _two_outputs, lambda: _two_outputs(["a", "b"]),
        lambda: _two_outputs(losses=["MSE", keras.losses.MeanAbsoluteError()])],
    "loss": [lambda: _dense(loss=own_loss)],
    "loss_class": [lambda: _dense(loss=Weighted(2.))],
    "schedule": [lambda: _dense(optimizer=O.SGD(
        O.schedules.ExponentialDecay(.1, 10, .9)))],
    "own_schedule": [lambda: _dense(optimizer=O.SGD(Schedule()))],
    "policy": [lambda: _with_policy("mixed_float16", _dense)],
}
# (Function before, function now, what differs in words.)
_OTHER = {
    "units": (_dense, lambda: _dense((8, 1)),
              "layer 1 (Dense): units 4 before, 8 now"),
    "more": (_dense, lambda: _dense((4, 4, 1)), "2 layers before, 3 now"),
    "fewer": (_dense, lambda: _dense([1]), "2 layers before, 1 now"),
    "kind": (_dense, lambda: _sequential(L.Dropout(.1), L.Dense(1)),
             "layer 1 is Dense before, Dropout now"),
    "activation": (
        _dense, lambda: _sequential(L.Dense(4, own_activation), L.Dense(1)),
        "layer 1 (Dense): activation linear before, own_activation now"),
    "regularizer": (
        lambda: _sequential(L.Dense(4, kernel_regularizer="l2"), L.Dense(1)),
        lambda: _sequential(L.Dense(4, kernel_regularizer=keras.regularizers.L2(
            .1)), L.Dense(1)),
        "layer 1 (Dense), kernel_regularizer: l2 0.01 before, 0.1 now"),
    "frozen": (
        _dense,
        lambda: _sequential(L.Dense(4, trainable=False), L.Dense(1)),
        "layer 1 (Dense): trainable True before, False now"),
    "lambda": (
        lambda: _sequential(L.Lambda(lambda x: x * 2)),
        lambda: _sequential(L.Lambda(lambda x: x * 3)),
        "layer 1 (Lambda): function lambda "),
    "own_layer": (lambda: _sequential(Scale(2)), lambda: _sequential(Scale(3)),
                  "layer 1 (Scale): factor 2 before, 3 now"),
    "beside_own_layer": (
        lambda: _sequential(Apply(own_activation), L.Dense(1)),
        lambda: _sequential(Apply(own_activation), L.Dense(2)),
        "layer 2 (Dense): units 1 before, 2 now"),
    "not_finite": (
        lambda: _sequential(L.Masking(float("nan"))),
        lambda: _sequential(L.Masking(0.)),
        "layer 1 (Masking): mask_value nan before, 0 now"),
    "vocabulary": (
        lambda: _sequential(L.StringLookup(vocabulary=_words(600))),
        lambda: _sequential(L.StringLookup(vocabulary=_words(601))),
        "layer 1 (StringLookup): vocabulary 600 values "),
    "nested": (
        _nested, lambda: _nested(5),
        "layer 1 (Sequential), layer 1 (Dense): units 3 before, 5 now"),
    "takes": (
        lambda: _functional(lambda x: L.Add()([L.Dense(4)(x), x])),
        lambda: _functional(lambda x: L.Add()([x, L.Dense(4)(x)])),
        "layer 2 (Add): takes [[layer 1, input 1]] before, "
        "[[input 1, layer 1]] now"),
    "input": (
        lambda: _functional(L.Dense(1)), lambda: _functional(L.Dense(1), 5),
        "input 1: batch_shape [None, 4] before, [None, 5] now"),
    "outputs": (
        lambda: _functional(_pair, loss=["mse"] * 2),
        lambda: _functional(lambda x: _pair(x)[::-1], loss=["mse"] * 2),
        "outputs [layer 1, input 1] before, [input 1, layer 1] now"),
    "class": (_subclassed, lambda: _dense(loss=own_loss),
              "model is Subclassed before, Sequential now"),
    "policy_of_layer": (
        _dense,
        lambda: _sequential(L.Dense(4, dtype="mixed_bfloat16"), L.Dense(1)),
        "layer 1 (Dense): dtype policy float32 before, mixed_bfloat16 now"),
}
_COMPILED_OTHERWISE = {
    "rate": (_dense, lambda: _dense(optimizer=O.Adam(.01)),
             "optimizer: learning_rate 0.001 before, 0.01 now"),
    "close_rates": (
        lambda: _dense(optimizer=O.SGD(.1)),
        lambda: _dense(optimizer=O.SGD(.10000001)),
        "optimizer: learning_rate 0.10000000"),
    "schedule": (
        lambda: _dense(optimizer=O.SGD(O.schedules.CosineDecay(.1, 100))),
        lambda: _dense(optimizer=O.SGD(O.schedules.CosineDecay(.1, 200))),
        "optimizer, learning_rate: decay_steps 100 before, 200 now"),
    "optimizer": (_dense, lambda: _dense(optimizer="sgd"),
                  "optimizer Adam before, SGD now"),
    "loss_scale": (
        _dense,
        lambda: _dense(optimizer=O.LossScaleOptimizer(O.Adam(), 4.)),
        "optimizer Adam before, LossScaleOptimizer now"),
    "loss": (_dense, lambda: _dense(loss="mae"),
             "loss MeanSquaredError before, MeanAbsoluteError now"),
    "option": (
        lambda: _dense(loss="huber"),
        lambda: _dense(loss=keras.losses.Huber(2.)),
        "loss: delta 1 before, 2 now"),
    "reduction": (
        _dense, lambda: _dense(loss=keras.losses.MeanSquaredError("sum")),
        "loss: reduction sum_over_batch_size before, sum now"),
    "own_loss": (_dense, lambda: _dense(loss=own_loss),
                 "loss MeanSquaredError before, own_loss now"),
    "own_option": (
        lambda: _dense(loss=Weighted(1.)), lambda: _dense(loss=Weighted(2.)),
        "loss: weight 1 before, 2 now"),
    "loss_of_output": (
        _two_outputs, lambda: _two_outputs(losses=["mse", "mse"]),
        "loss: layer 3 is MeanAbsoluteError before, MeanSquaredError now"),
    "loss_weights": (
        _two_outputs, lambda: _two_outputs(weights=[1., 2.]),
        "loss_weights None before, {layer 2: 1, layer 3: 2} now"),
}


def _table(rows):
  return [{"testcase_name": name, "before": before, "now": now, "text": text}
          for name, (before, now, text) in rows.items()]


def _describe_all():
  """Describes a model of each kind, in a program that has made others."""
  for function in (_nested, _two_outputs, lambda: _dense((1, 1, 1))):
    function()
  return {name: identity.describe_model(functions[0]())
          for name, functions in reversed(_SAME.items())}


class IdentityTest(parameterized.TestCase):

  @parameterized.named_parameters(
      (name, functions) for name, functions in _SAME.items())
  def test_same(self, functions):
    expected = identity.describe_model(functions[0]())
    self.assertEqual(expected, json.loads(json.dumps(expected)))
    self.assertLess(len(json.dumps(expected)), 5000)
    for function in functions + functions[:1]:
      self.assertEqual("", identity.find_difference(
          expected, identity.describe_model(function())))

  @parameterized.named_parameters(_table(_OTHER))
  def test_other_architecture(self, before, now, text):
    before, now = map(identity.describe_model, (before(), now()))
    self.assertStartsWith(identity.find_difference(before, now), text)
    self.assertEqual("", identity.compile_difference(before, now))

  @parameterized.named_parameters(_table(_COMPILED_OTHERWISE))
  def test_compiled_otherwise(self, before, now, text):
    before, now = map(identity.describe_model, (before(), now()))
    self.assertStartsWith(identity.find_difference(before, now), text)
    self.assertEqual(identity.find_difference(before, now),
                     identity.compile_difference(before, now))

  def test_architecture_comes_before_what_is_compiled(self):
    before, now = map(identity.describe_model, (
        _dense(), _dense((8, 1), optimizer="sgd")))
    self.assertEqual("layer 1 (Dense): units 4 before, 8 now",
                     identity.find_difference(before, now))
    self.assertEqual("optimizer Adam before, SGD now",
                     identity.compile_difference(before, now))
    # The policy adds a scale of the loss.
    now = identity.describe_model(_with_policy("mixed_float16", _dense))
    self.assertEqual("dtype policy float32 before, mixed_float16 now",
                     identity.find_difference(before, now))

  @level.gate
  def test_same_in_another_process(self):
    """A lambda of a worker is that of an imported module, not of `__main__`."""
    with engines.process_pool(1) as pool:
      described = pool.submit(_describe_all).result()
    for name, functions in _SAME.items():
      with self.subTest(name):
        self.assertEqual("", identity.find_difference(
            described[name], identity.describe_model(functions[0]())))


if __name__ == "__main__":
  absltest.main()

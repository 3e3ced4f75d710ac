# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the Estimator that combines models which a user has."""

import os
import types
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet import heads
from adanet import tf_compat
from adanet.estimator import auto_ensemble
from adanet.testing import level
import numpy as np

_Sub = adanet.AutoEnsembleSubestimator


def _input_fn(x=1., y=0., batches=None, name="x", rows=4):
  """Returns an input_fn whose features are all `x` and whose labels are `y`."""
  def call():
    return tf_compat.v1.data.Dataset.from_tensors((
        {name: np.full([rows, 1], x, np.float32)},
        np.full([rows, 1], y, np.float32))).repeat(batches)

  return call


def _dense(**kwargs):
  return tf_compat.keras.layers.Dense(
      1, use_bias=False, kernel_initializer="ones", **kwargs)


def _keras_model():
  """Returns a model whose logits are w x, where w begins at 1."""
  return tf_compat.keras.Sequential([_dense()])


def _function(features):
  """Returns w x, where w begins at 1."""
  tf = tf_compat.v1
  return features["x"] * tf.get_variable(
      "w", [], initializer=tf.ones_initializer())


def _sgd(learning_rate):
  return lambda: tf_compat.v1.train.GradientDescentOptimizer(learning_rate)


_KERNEL = "sequential/dense/kernel"  # What w is called in the Keras model.


class _Estimator:
  """The part of a `tf.estimator.Estimator` that is needed, on all versions."""

  def __init__(self, learning_rate=.25, hooks=()):
    self._learning_rate = learning_rate
    self._hooks = tuple(hooks)
    self.configs = []

  def model_fn(self, features, labels, mode, config):
    tf = tf_compat.v1
    self.configs.append(config)
    logits = _function(features)
    train_op = None
    if mode == "train":
      train_op = tf.train.GradientDescentOptimizer(
          self._learning_rate).minimize(
              tf.reduce_mean(tf.square(logits - labels)),
              global_step=tf.train.get_global_step())
    return types.SimpleNamespace(
        predictions={"predictions": logits, "ones": tf.ones_like(logits)},
        train_op=train_op, training_chief_hooks=(), training_hooks=self._hooks,
        scaffold=None)


class _TestCase(parameterized.TestCase):

  def _estimator(self, pool, head=None, model_dir=None, **kwargs):
    values = dict(max_iteration_steps=1, max_iterations=1)
    values.update(kwargs)
    return adanet.AutoEnsembleEstimator(
        head or heads.RegressionHead(), pool,
        model_dir=model_dir or self.create_tempdir().full_path, **values)

  def _train(self, pool, input_fn=None, **kwargs):
    return self._estimator(pool, **kwargs).train(input_fn or _input_fn())

  def _trained(self, estimator, variable, builder="m", iteration=0):
    return estimator.get_variable_value(
        "adanet/iteration_{0}/subnetwork_t{0}_{1}/{2}".format(
            iteration, builder, variable)).ravel().tolist()


class NetworkTest(_TestCase):

  @level.gate
  def test_names_of_variables(self):
    keras = tf_compat.keras
    layers = keras.layers

    def functional():
      x = keras.Input([1], name="x")
      h = layers.BatchNormalization()(layers.Dense(2)(x))
      return keras.Model(x, layers.Dense(1)(h))

    class Subclass(keras.Model):  # A function without arguments, too.

      def __init__(self):
        super().__init__()
        self.dense = layers.Dense(1)

      def call(self, features):
        return self.dense(features["x"])

    def function(features):
      h = layers.Dense(2)(features["x"])
      return h, layers.Dense(1)(h)

    pool = {"fun": functional, "sub": Subclass, "f": function}
    estimator = self._train(
        pool, max_iterations=2, force_grow=True,
        ensemble_strategies=[adanet.ensemble.AllStrategy()])
    self.assertIn("loss", estimator.evaluate(_input_fn(batches=1)))
    self.assertLen(list(estimator.predict(_input_fn(batches=1))), 4)
    names = estimator.get_variable_names()
    dense = ["bias", "kernel"]
    normalization = ["beta", "gamma", "moving_mean", "moving_variance"]
    for t in range(2):
      for builder, expected in (
          ("fun", {"dense": dense, "dense_1": dense,
                   "batch_normalization": normalization}),
          ("sub", {"subclass/dense": dense}),
          ("f", {"network/dense": dense, "network/dense_1": dense})):
        scope = f"adanet/iteration_{t}/subnetwork_t{t}_{builder}/"
        self.assertContainsSubset(
            [scope + layer + "/" + name
             for layer, parts in expected.items() for name in parts], names)

  @level.gate
  def test_stop_and_go_on(self):
    keras_adam = tf_compat.keras.optimizers.Adam(.25)
    pool = {"k": _Sub(_keras_model, optimizer=keras_adam),
            "f": _Sub(_function, optimizer="Adam")}
    arguments = dict(max_iteration_steps=3)
    straight = self._train(pool, **arguments)
    model_dir = self.create_tempdir().full_path
    for max_steps in (2, 3):
      stopped = self._estimator(pool, model_dir=model_dir, **arguments)
      stopped.train(_input_fn(), max_steps=max_steps)
    self.assertEqual(straight.get_variable_names(),
                     stopped.get_variable_names())
    for builder, variable in (("k", _KERNEL), ("f", "network/w")):
      self.assertEqual(
          self._trained(straight, variable, builder),
          self._trained(stopped, variable, builder))

  @level.gate
  def test_multi_head(self):
    def model():
      x = keras.Input([1], name="x")
      return keras.Model(x, [keras.layers.Dense(
          1, use_bias=False, name=name,
          kernel_initializer=keras.initializers.Constant(start))(x)
                             for name, start in (("b", 2.), ("a", 1.))])

    def input_fn():
      return _input_fn(batches=1)().map(
          lambda x, y: (x, {"a": y, "b": y})).repeat(2)

    for keras in ([tf_compat.keras, tf_compat.keras_3]
                  if tf_compat.HAS_KERAS_3 else [tf_compat.keras]):
      estimator = self._estimator(
          {"m": model}, head=heads.MultiHead([
              heads.RegressionHead(name="a"), heads.RegressionHead(name="b")]),
          ensemblers=[adanet.ensemble.MeanEnsembler()],
          max_iteration_steps=2, optimizer=_sgd(.25))
      estimator.train(input_fn)
      # The loss is a^2 + b^2, so each step halves both.
      prediction = next(iter(estimator.predict(input_fn)))
      self.assertEqual([.25, .5], [
          prediction[name, "predictions"][0] for name in "ab"])


class StepTest(_TestCase):
  """What a step does to w: the loss is (w x - y)^2 for x = 1 and y = 0."""

  @level.gate
  def test_names_of_optimizers(self):
    keras = (tf_compat.keras_3 if tf_compat.HAS_KERAS_3 else
             tf_compat.v2.keras)
    x = np.random.RandomState(1).normal(size=[8, 3]).astype(np.float32)
    y = x[:, :1] - x[:, 1:2]

    def make():
      return keras.Sequential([keras.layers.Dense(
          1, use_bias=False, kernel_initializer="ones")])

    pool = {name: _Sub(make, optimizer=name) for name in (
        "Adam", "RMSprop", "sgd", "ADAGRAD",
        *(["AdamW"] if tf_compat.HAS_KERAS_3 else []))}
    estimator = self._estimator(pool, max_iteration_steps=3)
    estimator.train(lambda: tf_compat.v1.data.Dataset.from_tensors(
        ({"x": x}, y)).repeat())
    for name in pool:
      model = make()
      model.compile(name, "mse", run_eagerly=not tf_compat.IS_TENSORFLOW_1)
      for _ in range(3):
        model.train_on_batch(x, y)
      np.testing.assert_allclose(
          self._trained(estimator, _KERNEL, name),
          model.get_weights()[0].ravel(), rtol=0, atol=1e-4, err_msg=name)

  @level.gate
  def test_optimizers_and_losses(self):
    l2 = tf_compat.keras.regularizers.l2

    def regularized(features):
      return features["x"] * tf_compat.v1.get_variable(
          "w", [], initializer=tf_compat.v1.ones_initializer(),
          regularizer=l2(.5))

    # A step of SGD is twice the learning rate. The regularizer adds half of it.
    cases = {
        "default": (_keras_model, _KERNEL, .875),
        "default_f": (_function, "network/w", .875),
        "own": (_Sub(_keras_model, optimizer=_sgd(.25)), _KERNEL, .5),
        "own_f": (_Sub(_function, optimizer=_sgd(.25)), "network/w", .5),
        "regularized": (
            lambda: tf_compat.keras.Sequential([
                _dense(kernel_regularizer=l2(.5))]), _KERNEL, .8125),
        "regularized_f": (regularized, "network/w", .8125),
        "frozen": (
            lambda: tf_compat.keras.Sequential([_dense(trainable=False)]),
            _KERNEL, 1.),
        "predicts": (
            _Sub(_keras_model, prediction_only=True), _KERNEL, 1.),
        "predicts_f": (
            _Sub(_function, prediction_only=True), "network/w", 1.),
        "predicts_e": (
            _Sub(_Estimator(), prediction_only=True), "model_fn/w", 1.),
    }
    estimator = self._train(
        {builder: case[0] for builder, case in cases.items()},
        optimizer=_sgd(.0625))
    for builder, (_, variable, expected) in cases.items():
      with self.subTest(builder):
        self.assertEqual(
            [expected], self._trained(estimator, variable, builder))

  def test_default_optimizer(self):
    estimator = self._train({"m": _keras_model})
    np.testing.assert_allclose([.999], self._trained(estimator, _KERNEL))

  @level.gate
  def test_own_input(self):
    # The label is 2 where a model has an input of its own: (w - 2)^2.
    own, short = _input_fn(y=2.), _input_fn(y=2., batches=2)
    cases = {
        "none": (_keras_model, _KERNEL, .125),
        "own": (_Sub(_keras_model, own), _KERNEL, 1.875),
        "short": (_Sub(_keras_model, short), _KERNEL, 1.75),
        "own_f": (_Sub(_function, own), "network/w", 1.875),
        "own_e": (_Sub(_Estimator(.25), own), "model_fn/w", 1.875),
    }
    estimator = self._train(
        {name: model for name, (model, _, _) in cases.items()},
        optimizer=_sgd(.25), max_iteration_steps=3)
    for name, (_, variable, expected) in cases.items():
      with self.subTest(name):
        self.assertEqual([expected], self._trained(estimator, variable, name))

  @level.gate
  def test_prediction_only_is_never_built_for_training(self):
    asked = []

    def function(features, training):
      asked.append(training)
      return _function(features)

    self._train({"m": _Sub(function, _input_fn(), prediction_only=True)})
    self.assertEqual([False], sorted(set(asked)))

  @level.gate
  def test_updates_come_from_its_own_input(self):
    def model():
      return tf_compat.keras.Sequential([
          tf_compat.keras.layers.BatchNormalization(momentum=.5), _dense()])

    estimator = self._train({"m": _Sub(model, _input_fn(x=8.))})
    self.assertEqual([4.], self._trained(
        estimator, "sequential/batch_normalization/moving_mean"))


class EstimatorTest(_TestCase):
  """Estimators, in place of which a class stands that all versions have."""

  @parameterized.parameters(level.first([
      lambda make: make,
      lambda make: lambda config=None: make(config),
      lambda make: lambda any_name: make(any_name),
      lambda make: lambda *args: make(*args),
      lambda make: lambda c: make(c) if c.model_dir else None]))
  def test_config(self, function_of):
    subestimator = _Estimator()
    configs = []

    def make(config):
      if hasattr(config, "model_dir"):  # Else it is tried with features.
        configs.append(config)
      return _Sub(subestimator)

    estimator = self._train({"m": function_of(make)})
    self.assertEqual([.5], self._trained(estimator, "model_fn/w"))
    self.assertNotEmpty(configs)
    for config in configs + subestimator.configs:
      self.assertStartsWith(config.model_dir, estimator.model_dir)

  def test_hooks(self):
    class Hook(tf_compat.v1.train.SessionRunHook):
      runs = 0

      def before_run(self, run_context):
        self.runs += 1

    hook, model_dir = Hook(), self.create_tempdir().full_path
    saver = tf_compat.v1.train.CheckpointSaverHook(model_dir, save_steps=2)
    self._train({"m": _Estimator(hooks=[hook, saver])}, max_iteration_steps=3,
                model_dir=model_dir)
    self.assertEqual(3, hook.runs)
    self.assertContainsSubset(
        [f"model.ckpt-{step}.index" for step in (0, 2, 3)],
        os.listdir(model_dir))

  def test_logits_and_last_layer(self):
    estimator = self._train(
        {"m": _Estimator()},
        logits_fn=lambda estimator_spec:
        2. * estimator_spec.predictions["predictions"],
        last_layer_fn=lambda estimator_spec: estimator_spec.predictions["ones"],
        ensemblers=[adanet.ensemble.MeanEnsembler(
            add_mean_last_layer_predictions=True)])
    prediction = next(estimator.predict(_input_fn(batches=1)))
    self.assertEqual([1.], prediction["predictions"].tolist())
    self.assertEqual([1.], prediction["mean_last_layer"].tolist())


class PoolTest(_TestCase):

  def _builders(self, pool, iteration=0):
    """Returns the names of the builders of an iteration."""
    generator = auto_ensemble.PoolGenerator(
        pool, None, None, None, heads.RegressionHead(), None)
    return [builder.name for builder in generator.generate_candidates(
        iteration, [], [], tf_compat.RunConfig(model_dir="/m"))]

  def test_list(self):
    self.assertEqual(
        ["_Estimator0", "function1", "AutoEnsembleSubestimator2"],
        self._builders([_Estimator(), _function, _Sub(_function)]))

  def test_function_of_the_iteration(self):
    def pool(config, iteration_number):
      return {f"m{iteration_number}{config.model_dir}": _function}

    self.assertEqual(["m2/m"], self._builders(pool, 2))

  @parameterized.parameters(
      (lambda any_name, iteration_number: any_name,),
      (lambda: "m",), (lambda config: config,), (lambda any_name: any_name,),
      (lambda *, config: config,), (lambda **kwargs: kwargs["config"],))
  def test_function_of_config(self, config_of):
    pool = mock.create_autospec(config_of, side_effect=lambda *args, **kwargs: {
        config_of(*args, **kwargs) and "m": _function})
    self.assertEqual(["m"], self._builders(pool))

  @level.gate
  def test_function_of_features_by_any_name(self):
    pool = {"m": lambda any_name: _function(any_name),
            "training": lambda any_name, training: _function(any_name),
            "more": lambda any_name, more=None: _function(any_name)}
    names = self._train(pool).get_variable_names()
    for name in pool:
      self.assertIn(f"adanet/iteration_0/subnetwork_t0_{name}/network/w", names)
    with self.assertRaisesRegex(ValueError, "feature 'no_such_feature'"):
      self._train({"m": lambda any_name: any_name["no_such_feature"]})

  @parameterized.parameters(
      ([], r"^candidate_pool=\[\]: expected at least one model"),
      ({}, r"^candidate_pool={}: expected at least one model"),
      (3, "^candidate_pool=3: expected a list or a dict"),
      (_Sub(_function), "^candidate_pool=AutoEnsembleSubestimator.*expected a"),
      ({"m": 3}, r"^candidate_pool\['m'\]=3: expected an estimator, an Auto"),
      ({3: _function}, "^candidate_pool: the name 3 must be a str"),
      ([_function, None], r"^candidate_pool\['NoneType1'\]=None: expected"),
      ({"m": lambda features, labels: None},
       r"^candidate_pool\['m'\]: the function needs the arguments features, l"),
      (lambda a, config: [], "^candidate_pool: the function needs the argument"),
      ({"m": _Sub("text")}, r"^candidate_pool\['m'\]='text': expected"),
      ([type(name, (_Estimator,), {})() for name in ["A1"] + ["A"] * 10],
       "^candidate_pool: two models get the name 'A10'"))
  def test_bad_pool(self, pool, message):
    for candidate_pool in [pool] if callable(pool) else [pool, lambda: pool]:
      with self.assertRaisesRegex(ValueError, message) as caught:
        self._builders(candidate_pool)
      self.assertNotIn("\n", str(caught.exception))


class SubestimatorTest(parameterized.TestCase):

  def test_defaults(self):
    self.assertEqual((_function, None, False, None), _Sub(_function))

  @parameterized.parameters(
      (_function, dict(train_input_fn=3), "^train_input_fn=3: expected a funct"),
      (_function, dict(optimizer="Momentum"),
       "^optimizer='Momentum': expected a name that Keras has"),
      (_Estimator(), dict(optimizer="SGD"),
       "^optimizer='SGD': expected None, because an estimator"))
  def test_bad_argument(self, model, kwargs, message):
    with self.assertRaisesRegex(ValueError, message):
      _Sub(model, **kwargs)


if __name__ == "__main__":
  absltest.main()

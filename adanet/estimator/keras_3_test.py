# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of searches whose builders use Keras 3, in all places.

`adanet/tf_compat:keras_scope_test` compares single layers and optimizers.
"""

import functools
import json
import os
import sys
import unittest

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet import distributed
from adanet import tf_compat
from adanet.core import report_store as report_store_lib
from adanet.estimator import export
from adanet.testing import builders
from adanet.testing import engines
from adanet.testing import jobs
from adanet.testing import variables
import numpy as np

_STEPS = 40
_CLUSTER = {"chief": 1, "worker": 1, "ps": 1}


def _optimizer(optimizer):
  """Returns an optimizer, of TensorFlow or of Keras 3."""
  if optimizer == "tensorflow":
    return tf_compat.v1.train.GradientDescentOptimizer(.1)
  return getattr(tf_compat.keras_3.optimizers, optimizer)(.1)


def _model(seed):
  """Returns a model of every kind of state, with a name at no layer.

  Args:
    seed: int, of its weights and masks; None for none.
  """
  keras = tf_compat.keras_3
  initializer = keras.initializers.GlorotUniform
  return keras.Sequential([
      keras.layers.Dense(8, "relu", kernel_initializer=initializer(seed=seed)),
      keras.layers.BatchNormalization(),
      keras.layers.Dropout(.3, seed=seed),
      keras.layers.Dense(1, kernel_initializer=initializer(
          seed=None if seed is None else seed + 1))])


def _subclass():
  """Returns a model that is a subclass, and takes a dict."""
  keras = tf_compat.keras_3

  class Subclass(keras.Model):

    def __init__(self):
      super().__init__()
      self.dense = keras.layers.Dense(1)

    def call(self, features):
      return self.dense(features["x"])

  return Subclass()


def _function(features, training):
  """Returns what layers make of features."""
  layers = tf_compat.keras_3.layers
  hidden = layers.Dropout(.3)(layers.Dense(4)(features["x"]), training=training)
  return hidden, layers.Dense(1)(hidden)


class _Normalizing(adanet.ensemble.ComplexityRegularizedEnsembler):
  """Has a layer of its own."""

  def build_ensemble(self, *args, **kwargs):
    ensemble = super().build_ensemble(*args, **kwargs)
    layer = tf_compat.keras_3.layers.BatchNormalization()
    return ensemble._replace(
        logits=layer(ensemble.logits, training=kwargs["training"]))


class _Network(builders.Dense):
  """Trains a model of Keras 3."""

  def __init__(self, name, optimizer="Adam", seed=None):
    super().__init__(name)
    self._optimizer = optimizer
    self._seed = seed

  def build_subnetwork(self, features, logits_dimension, training, **kwargs):
    logits = _model(self._seed)(features["x"], training=training)
    return adanet.Subnetwork(last_layer=logits, logits=logits, complexity=1.)

  def build_subnetwork_train_op(self, subnetwork, loss, var_list, **kwargs):
    return tf_compat.optimizers.minimize(
        _optimizer(self._optimizer), loss, var_list)


def _estimator(model_dir, *builder_list, **arguments):
  return adanet.Estimator(
      adanet.heads.RegressionHead(), builders.generator(*builder_list),
      config=tf_compat.RunConfig(model_dir=model_dir, tf_random_seed=1),
      **{"max_iteration_steps": 5, "max_iterations": 2, "force_grow": True,
         "ensemblers": [adanet.ensemble.ComplexityRegularizedEnsembler(
             _optimizer("Adam"))], **arguments})


def _two(model_dir):
  return _estimator(
      model_dir, _Network("a"), _Network("b", "tensorflow"),
      placement_strategy=distributed.ReplicationStrategy())


def _task(model_dir):
  """A task of a cluster."""
  if len(json.loads(os.environ["TF_CONFIG"])["cluster"]) == 1:
    del os.environ["TF_CONFIG"]
  adanet.train_and_evaluate(
      _two(model_dir), adanet.TrainSpec(builders.input_fn()),
      adanet.EvalSpec(builders.input_fn(1)))
  assert "tf_keras" not in sys.modules


# Its tasks are forks. By its name it runs before a test of this process starts
# threads of TensorFlow, which a fork would not have.
@unittest.skipUnless(tf_compat.HAS_KERAS_3,
                     "Keras 3 needs TensorFlow 2.16 or later.")
class ClusterTest(absltest.TestCase):

  def test_cluster(self):
    shapes = []
    for cluster in {"chief": 1}, _CLUSTER:
      model_dir = os.path.join(self.create_tempdir().full_path, "model")
      jobs.started(
          self, functools.partial(_task, model_dir), cluster).finish(120.)
      values = variables.latest(model_dir)
      shapes.append({name: value.shape for name, value in values.items()})
      scope = "adanet/iteration_1/subnetwork_t1_b/"
      self.assertGreaterEqual(
          values[scope + "seed_generator/seed_generator_state"][1], 5)
      self.assertNotEqual(
          0., values[scope + "sequential/batch_normalization/moving_mean"][0])
    self.assertEqual(*shapes)


@unittest.skipUnless(tf_compat.HAS_KERAS_3,
                     "Keras 3 needs TensorFlow 2.16 or later.")
class Keras3Test(parameterized.TestCase):

  def _folder(self):
    return self.create_tempdir().full_path

  def _assert_weights_of_keras(self, estimator, optimizer, input_fn=None):
    """Asserts that training gives what `train_on_batch` gives.

    Args:
      estimator: it trains `_model(3)` as the candidate "a".
      optimizer: str, that of Keras.
      input_fn: the input, if it is not that on which the candidate trains.
    """
    model = _model(3)
    model.compile(_optimizer(optimizer), "mse")
    for features, labels in builders.batches(_STEPS):
      model.train_on_batch(features, labels)
    estimator.train(input_fn or builders.input_fn())
    scope = "adanet/iteration_0/subnetwork_t0_a/"
    saved = variables.latest(estimator.model_dir)
    paths = {
        "seed_generator_state": "seed_generator/seed_generator_state",
        **{f"{layer}/{name}": f"sequential/{layer}/{name}"
           for layer, names in (
               ("dense", ("kernel", "bias")), ("dense_1", ("kernel", "bias")),
               ("batch_normalization", ("gamma", "beta", "moving_mean",
                                        "moving_variance")))
           for name in names}}
    dense, normalization, dropout, last = model.layers
    own = dict(zip(paths, [
        dropout.seed_generator.state, *dense.weights, *last.weights,
        *normalization.weights]))
    for name, path in paths.items():
      np.testing.assert_allclose(
          own[name].numpy(), saved[scope + path], rtol=1e-5, atol=1e-5,
          err_msg=name)

  @parameterized.parameters(
      ("Adam", "Adam"), ("tensorflow", "SGD"), ("SGD", "SGD"))
  def test_builder_trains_as_keras(self, optimizer, expected):
    self._assert_weights_of_keras(_estimator(
        self._folder(), _Network("a", optimizer, 3),
        max_iteration_steps=_STEPS, max_iterations=1), expected)

  def _pool(self, model, **arguments):
    return adanet.AutoEnsembleEstimator(
        adanet.heads.RegressionHead(),
        {"a": model, "b": _subclass, "c": _function},
        model_dir=self._folder(),
        **{"max_iteration_steps": _STEPS, "max_iterations": 1, **arguments})

  def test_pool_trains_as_keras(self):
    self._assert_weights_of_keras(self._pool(
        lambda: _model(3), optimizer=_optimizer("SGD")), "SGD")

    def other_input():
      features, labels = builders.data()
      return tf_compat.v1.data.Dataset.from_tensors(
          ({"x": 0. * features}, labels)).repeat()

    # With an input of its own.
    self._assert_weights_of_keras(self._pool(adanet.AutoEnsembleSubestimator(
        lambda: _model(3), builders.input_fn(), optimizer=_optimizer("Adam"))),
                                  "Adam", other_input)

  @parameterized.parameters(None, engines.Here())
  def test_dtype_policy(self, executor):
    keras = tf_compat.keras_3

    def model():
      policy = tf_compat.keras_3.config.dtype_policy().name
      if policy != "mixed_bfloat16":  # A worker has a copy of this function.
        raise AssertionError(policy)
      return keras.Sequential([keras.layers.Dense(4), keras.layers.Dense(1)])

    estimator = adanet.AutoEnsembleEstimator(
        adanet.heads.RegressionHead(), {"a": model}, max_iteration_steps=2,
        max_iterations=1, model_dir=self._folder(),
        dtype_policy="mixed_bfloat16")
    estimator.train(builders.input_fn(), executor=executor)
    self.assertIn("loss", estimator.evaluate(builders.input_fn(1)))
    self.assertEqual("float32", keras.config.dtype_policy().name)
    # It computes with the one type, and keeps the other.
    scope = "adanet/iteration_0/subnetwork_t0_a/sequential/dense/"
    self.assertEqual(
        np.float32, estimator.get_variable_value(scope + "kernel").dtype)
    if executor is None:
      with open(os.path.join(
          estimator.model_dir, "graph.pbtxt"), encoding="utf-8") as f:
        self.assertIn("DT_BFLOAT16", f.read())

  def test_ensembler(self):
    estimator = _estimator(self._folder(), _Network("a"), ensemblers=[
        _Normalizing(optimizer=_optimizer("Adam"), use_bias=True)])
    estimator.train(builders.input_fn())
    saved = variables.latest(estimator.model_dir)
    for t in range(2):
      scope = (f"adanet/iteration_{t}/ensemble_t{t}_a_grow_"
               "complexity_regularized/")
      self.assertNotEqual(
          0., saved[scope + "batch_normalization/moving_mean"][0])
    # Slots are in the checkpoint while they are needed.
    self.assertEqual(5, saved[scope + "adam/iteration"])
    self.assertIn("loss", estimator.evaluate(builders.input_fn(1)))

  def test_a_search(self):
    model_dir = self._folder()
    estimator = _two(model_dir)
    estimator.train(builders.input_fn(), max_steps=5)
    before = variables.latest(model_dir)
    tf_compat.keras_3.layers.Dense(1)  # Of the program itself.
    estimator = _two(model_dir)
    estimator.train(builders.input_fn())
    after = variables.latest(model_dir)
    winner = adanet.report(model_dir).iterations[0].winner
    scope = "iteration_0/subnetwork_" + winner.split("_grow")[0]
    kept = [name for name in after
            if f"{scope}/" in name and "/adam/" not in name]
    self.assertContainsSubset(
        [f"adanet/{scope}/sequential/batch_normalization/moving_mean"], kept)
    for name in kept:
      np.testing.assert_array_equal(before[name], after[name], name)
    self.assertEqual(
        {name.partition("_t0_")[2] for name in before
         if "/subnetwork_t0_" in name},
        {name.partition("_t1_")[2] for name in after
         if "/subnetwork_t1_" in name})
    # Neither of these assigns anything.
    results = [estimator.evaluate(builders.input_fn(1)) for _ in range(2)]
    self.assertEqual(results[0], results[1])
    predictions = [
        p["predictions"] for p in estimator.predict(builders.input_fn(1))]
    self.assertLen(predictions, 32)
    features = builders.data()[0]
    served = tf_compat.v2.saved_model.load(estimator.export_saved_model(
        self._folder(), export.build_raw_serving_input_receiver_fn(
            {"x": features})).decode()).signatures["predict"](
                tf_compat.v2.constant(features))
    np.testing.assert_allclose(
        predictions, served["predictions"].numpy(), rtol=1e-5)
    variables.assert_equal(after, variables.latest(model_dir))

  def test_metrics(self):
    def updated(labels, predictions):
      metric = tf_compat.keras_3.metrics.R2Score()
      metric.update_state(labels, predictions["predictions"])
      return {"r2": metric}

    class Reporting(_Network):

      def build_subnetwork_report(self):
        metric = tf_compat.keras_3.metrics.Mean()
        metric.update_state([1., 2.])
        return adanet.subnetwork.Report({}, {}, {"mean": metric})

    model_dir = self._folder()
    estimator = _estimator(
        model_dir, Reporting("a"), Reporting("b"), metric_fn=updated,
        evaluator=adanet.Evaluator(
            builders.input_fn(1), "r2", adanet.Evaluator.Objective.MAXIMIZE),
        report_materializer=adanet.ReportMaterializer(builders.input_fn(1)))
    estimator.train(builders.input_fn())
    metric = tf_compat.keras_3.metrics.R2Score()
    metric.update_state(builders.data()[1], np.array([
        prediction["predictions"]
        for prediction in estimator.predict(builders.input_fn(1))]))
    metrics = estimator.evaluate(builders.input_fn(1))
    self.assertAlmostEqual(float(metric.result()), metrics["r2"], places=5)
    record = adanet.report(model_dir).iterations[-1].winning
    self.assertAlmostEqual(metrics["r2"], record.value, places=5)
    told, = report_store_lib.ReportStore(
        os.path.join(model_dir, "report")).read()
    self.assertEqual([1.5, 1.5], [report.metrics["mean"] for report in told])

  def test_executor(self):
    alone = _two(self._folder())
    alone.train(builders.input_fn())
    expected = variables.latest(alone.model_dir)
    with engines.process_pool(2) as pool:
      there = _two(self._folder())
      there.train(builders.input_fn(), executor=pool)
    variables.assert_equal(expected, variables.latest(there.model_dir))


if __name__ == "__main__":
  absltest.main()

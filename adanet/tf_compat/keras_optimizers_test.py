# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that optimizers of Keras 3 do in a graph what they do eagerly."""

import unittest
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet.testing import level
from adanet import tf_compat
from adanet.testing import keras_graphs
from adanet.tf_compat import optimizers

v1 = tf_compat.v1

if tf_compat.HAS_KERAS_3:
  keras = tf_compat.keras_3
  _OPTIMIZERS = {
      "momentum": lambda: keras.optimizers.SGD(.1, momentum=.9, nesterov=True),
      "adam": lambda: keras.optimizers.Adam(.1),
      "arguments of adam": lambda: keras.optimizers.Adam(
          .1, beta_1=.5, beta_2=.9, epsilon=.01),
      "schedule": lambda: keras.optimizers.Adam(
          keras.optimizers.schedules.ExponentialDecay(.1, 1, .5)),
      "global clipnorm": lambda: keras.optimizers.Adam(
          .1, global_clipnorm=.1, amsgrad=True),
      "average": lambda: keras.optimizers.RMSprop(
          .1, use_ema=True, ema_momentum=.5, ema_overwrite_frequency=2),
      "accumulation": lambda: keras.optimizers.Adagrad(
          .1, gradient_accumulation_steps=2),
      "loss scale": lambda: keras.optimizers.LossScaleOptimizer(
          keras.optimizers.Adam(.1), dynamic_growth_steps=2),
  }
else:
  _OPTIMIZERS = {"none": None}


@unittest.skipUnless(tf_compat.HAS_KERAS_3,
                     "Keras 3 needs TensorFlow 2.16 or later.")
class KerasOptimizersTest(parameterized.TestCase):

  @parameterized.named_parameters(level.first([*_OPTIMIZERS.items()]))
  def test_optimizer(self, make_optimizer):
    keras_graphs.check_trains_as_eagerly(
        keras_graphs.functional, make_optimizer)

  @level.gate
  def test_optimizer_of_tensorflow(self):
    make_model = keras_graphs.MODELS["spectral"]
    expected = keras_graphs.eager_weights(
        make_model, lambda: keras.optimizers.SGD(.1))
    got = keras_graphs.KerasGraph(make_model).train(
        lambda: v1.train.GradientDescentOptimizer(.1))
    keras_graphs.assert_close(expected[:1], got)

  @level.gate
  def test_optimizer_without_eager_execution(self):
    with mock.patch.object(
        tf_compat.v2, "executing_eagerly", return_value=False):
      keras_graphs.KerasGraph(keras_graphs.layers).minimize(
          _OPTIMIZERS["adam"])
      for name in "average", "accumulation":
        with self.assertRaisesRegex(
            ValueError, "^optimizer=.*: gradient_accumulation_steps and .*"):
          keras_graphs.KerasGraph(keras_graphs.layers).minimize(
              _OPTIMIZERS[name])

  def test_optimizer_of_other_variables(self):
    graph = keras_graphs.KerasGraph(keras_graphs.layers)
    with graph.graph.as_default(), graph.scope.entered():
      with self.assertRaisesRegex(
          ValueError, r"^optimizer=.* depends on no variable of \['x:0'\]"):
        optimizers.minimize(keras.optimizers.SGD, graph.loss,
                            [v1.get_variable("x", [])])

  @level.gate
  def test_optimizer_with_sparse_gradients(self):
    keras_graphs.check_trains_as_eagerly(
        keras_graphs.MODELS["embedding"], _OPTIMIZERS["adam"])

  def test_optimizer_that_is_applied_in_the_graph(self):
    graph = keras_graphs.KerasGraph(keras_graphs.layers)
    with graph.graph.as_default(), graph.scope.entered():
      variables = v1.trainable_variables()
      with self.assertRaisesRegex(
          ValueError, "^<.*SGD.* is applied in a graph: call "
          "adanet.tf_compat.optimizers.minimize"):
        keras.optimizers.SGD().apply(
            v1.gradients(graph.loss, variables), variables)

  def test_optimizer_of_another_graph(self):
    for optimizer in keras.optimizers.Adam(), keras.optimizers.SGD(.1):
      with self.assertRaisesRegex(
          ValueError, "^optimizer=.*another graph or eagerly: expected one"):
        keras_graphs.KerasGraph(keras_graphs.layers).train(
            lambda other_optimizer=optimizer: other_optimizer)

  @level.gate
  def test_optimizer_for_any_graph(self):
    # The number in its name says only how many the process made before.
    keras.optimizers.SGD()
    make = optimizers.for_any_graph(keras.optimizers.SGD(.1, momentum=.5))
    for _ in range(2):
      graph = keras_graphs.KerasGraph(keras_graphs.layers)
      graph.minimize(make)
      # Before Keras 3.15 it was "SGD".
      self.assertIn("scope/sgd/iteration",
                    [name.replace("SGD", "sgd") for name in graph.names])
    make = optimizers.for_any_graph(keras.optimizers.SGD(.1, name="mine"))
    graph = keras_graphs.KerasGraph(keras_graphs.layers)
    graph.minimize(make)
    self.assertIn("scope/mine/iteration", graph.names)

  @level.gate
  def test_copies_of_optimizers(self):
    def muon():
      return keras.optimizers.Muon(.1, exclude_layers=["top"])

    for make_optimizer in muon, _OPTIMIZERS["loss scale"]:
      make = optimizers.for_any_graph(make_optimizer())
      first, second = (
          keras_graphs.KerasGraph(keras_graphs.functional) for _ in range(2))
      if make_optimizer is muon:
        keras_graphs.assert_close(keras_graphs.eager_weights(
            keras_graphs.functional, muon), first.train(make))
      else:
        first.minimize(make)
      second.minimize(make)
      self.assertEqual(first.names, second.names)
      self.assertFalse(
          [name for name in first.names if name.startswith("scope/adam_")])

  def test_optimizer_that_cannot_be_copied(self):
    class Schedule(keras.optimizers.schedules.LearningRateSchedule):

      def __call__(self, step):
        return .1

    decayed = keras.optimizers.AdamW()
    decayed.exclude_from_weight_decay(
        var_list=keras_graphs.functional().weights)
    for optimizer in (keras.optimizers.SGD(Schedule()),
                      keras.optimizers.SGD(lambda: .1), decayed):
      with self.assertRaisesRegex(
          ValueError, "^optimizer=.*cannot be copied: expected a function"):
        optimizers.for_any_graph(optimizer)

  @level.gate
  def test_names_without_weight_decay(self):
    def make_optimizer():
      optimizer = keras.optimizers.AdamW(.1, weight_decay=.5)
      optimizer.exclude_from_weight_decay(var_names=["bias", "gamma"])
      return optimizer

    expected = keras_graphs.eager_weights(
        keras_graphs.functional, make_optimizer)
    for make in (make_optimizer, optimizers.for_any_graph(make_optimizer())):
      # What is in the name of the builder does not count.
      graph = keras_graphs.KerasGraph(keras_graphs.functional, name="no_bias")
      keras_graphs.assert_close(expected, graph.train(make))


if __name__ == "__main__":
  absltest.main()

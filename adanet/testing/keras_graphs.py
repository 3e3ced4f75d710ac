# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Models of Keras 3, to train eagerly and in a graph of TensorFlow 1."""

import random
from typing import Any, Sequence

from adanet import tf_compat
from adanet.tf_compat import keras_scope
from adanet.tf_compat import optimizers
import numpy as np

v1 = tf_compat.v1

if tf_compat.HAS_KERAS_3:
  keras = tf_compat.keras_3

  class Counter(keras.layers.Layer):
    """Counts its calls twice, so that one count depends on the other."""

    def build(self, input_shape):
      del input_shape
      self.calls = self.add_weight(
          shape=(), initializer="zeros", trainable=False, dtype="int32")
      self.seen = keras.metrics.Mean()

    def call(self, inputs, training=False):
      if training:
        self.calls.assign_add(1)
        self.calls.assign(self.calls * 2)
        self.seen.update_state(inputs)
      return inputs

  class SharedSeeds(keras.layers.Layer):
    """Draws twice from one generator."""

    def __init__(self):
      super().__init__()
      self.seeds = keras.random.SeedGenerator(5)

    def call(self, inputs, training=False):
      if training:
        for _ in range(2):
          inputs = keras.random.dropout(inputs, .3, seed=self.seeds)
      return inputs

  class Embedding(keras.layers.Layer):
    """Has rows, of which a batch uses some: gradients are sparse."""

    def __init__(self):
      super().__init__()
      self.rows = keras.layers.Embedding(
          5, 4, embeddings_initializer=initializer(3))

    def call(self, inputs):
      return inputs + self.rows(keras.ops.cast(inputs[:, 0] > 0, "int32"))

  def layers(*more):
    """Returns a Sequential with some layers, from the same weights always."""
    return keras.Sequential([
        keras.layers.Dense(4, kernel_initializer=initializer(1)), *more,
        keras.layers.Dense(1, kernel_initializer=initializer(2))])

  def functional():
    inputs = keras.Input([3], name="x")
    # A bias before the normalization would have gradients of noise only, which
    # some optimizers scale up.
    hidden = keras.layers.Dense(
        4, use_bias=False, kernel_initializer=initializer(1))(inputs)
    hidden = keras.layers.BatchNormalization()(hidden)
    outputs = keras.layers.Dense(1, kernel_initializer=initializer(2))(hidden)
    return keras.Model(inputs, outputs)

  class Subclassed(keras.Model):
    """Makes its layers when it is made, and builds them when it is called."""

    def __init__(self):
      super().__init__()
      self.block = layers(keras.layers.BatchNormalization())
      self.top = keras.layers.Dense(1, kernel_initializer=initializer(3))

    def call(self, inputs, training=False):
      return self.top(self.block(inputs, training=training))

  def _frozen():
    layer = keras.layers.Dense(4, kernel_initializer=initializer(3))
    layer.trainable = False
    return layers(layer)

  def _frozen_later():
    model = layers(keras.layers.Dense(4, kernel_initializer=initializer(3)))
    model.build([None, 3])
    model.layers[0].trainable = False
    return model

  class Attention(keras.layers.Layer):
    """Each row attends to all of them."""

    def __init__(self):
      super().__init__()
      self.heads = keras.layers.MultiHeadAttention(
          2, 3, kernel_initializer=initializer(3))

    def call(self, inputs):
      return self.heads(inputs, inputs)

  MODELS = {
      "sequential": layers,
      "functional": functional,
      "subclassed": lambda: Subclassed(),
      "dropout": lambda: layers(keras.layers.Dropout(.3, seed=1)),
      "noise": lambda: layers(keras.layers.GaussianNoise(.3, seed=1)),
      "shared seeds": lambda: layers(SharedSeeds()),
      "counter": lambda: layers(Counter()),
      "spectral": lambda: layers(keras.layers.SpectralNormalization(
          keras.layers.Dense(4, kernel_initializer=initializer(3)))),
      "recurrent": lambda: layers(
          keras.layers.Reshape([2, 2]),
          keras.layers.LSTM(3, dropout=.3, recurrent_dropout=.2, seed=4,
                            kernel_initializer=initializer(3),
                            recurrent_initializer=initializer(4))),
      "masked": lambda: layers(
          keras.layers.Reshape([2, 2]), keras.layers.Masking(),
          keras.layers.Bidirectional(keras.layers.GRU(
              3, kernel_initializer=initializer(3),
              recurrent_initializer=initializer(4)))),
      "attention": lambda: layers(
          keras.layers.Reshape([2, 2]), Attention(),
          keras.layers.LayerNormalization(), keras.layers.Flatten()),
      "image": lambda: layers(
          keras.layers.Reshape([2, 2, 1]),
          keras.layers.RandomFlip("horizontal", seed=4),
          keras.layers.Conv2D(3, 2, padding="same", activation="relu",
                              kernel_initializer=initializer(3)),
          keras.layers.MaxPooling2D(), keras.layers.Flatten()),
      "constraint": lambda: layers(keras.layers.Dense(
          4, kernel_initializer=initializer(3),
          kernel_constraint="unit_norm")),
      "losses": lambda: layers(keras.layers.Dense(
          4, kernel_initializer=initializer(3), kernel_regularizer="l2",
          activity_regularizer="l2")),
      "embedding": lambda: layers(Embedding()),
      "frozen": _frozen,
      "frozen later": _frozen_later,
  }
else:
  MODELS = {"none": None}


def initializer(seed):
  return keras.initializers.GlorotUniform(seed=seed)


def batches(count=4):
  source = np.random.RandomState(7)
  return [(source.normal(size=[8, 3]).astype("f"),
           source.normal(size=[8, 1]).astype("f")) for _ in range(count)]


def eager_weights(make_model, make_optimizer):
  """Returns the weights of Keras's own training, and the optimizer's."""
  random.seed(1)
  model, optimizer = make_model(), make_optimizer()
  model.compile(optimizer, "mse", run_eagerly=True)
  for features, labels in batches():
    model.train_on_batch(features, labels)
  return [[v.numpy() for v in variables] for variables in (
      model.weights, optimizer.variables)]


class KerasGraph:
  """A model that is trained in a graph of TensorFlow 1."""

  def __init__(self, make_model, training=True, name="scope"):
    random.seed(1)
    self.scope = keras_scope.KerasScope(name)
    self.graph = v1.Graph()
    with self.graph.as_default(), self.scope.entered():
      self.features = v1.placeholder(v1.float32, [None, 3])
      self.labels = v1.placeholder(v1.float32, [None, 1])
      self.model = make_model()
      self.outputs = self.model(self.features, training=training)
      self.loss = v1.reduce_mean(v1.square(self.outputs - self.labels))

  @property
  def names(self):
    with self.graph.as_default():
      return [variable.op.name for variable in v1.global_variables()]

  def minimize(self, make_optimizer):
    """Returns the op of a step, and the optimizer."""
    with self.graph.as_default():
      updates = self.scope.updates(only_trainable=True)
      with self.scope.entered(), v1.control_dependencies(updates):
        optimizer = make_optimizer()
        step = optimizers.minimize(
            optimizer, v1.add_n([self.loss, *self.model.losses]),
            [variable for variable in v1.trainable_variables()
             if not self.scope.is_frozen(variable)])
      return v1.group(step, updates, self.scope.updates()), optimizer

  def train(self, make_optimizer, runs_outputs=False):
    """Returns the weights after training, and the optimizer's."""
    step, optimizer = self.minimize(make_optimizer)
    with self.graph.as_default():
      slots = [] if isinstance(optimizer, v1.train.Optimizer) else (
          optimizer.variables)
      tensors = [[v.value for v in variables]
                 for variables in (self.model.weights, slots)]
      with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        for features, labels in batches():
          feeds = {self.features: features, self.labels: labels}
          if runs_outputs:
            session.run(self.outputs, feeds)
          session.run(step, feeds)
        return session.run(tensors)


def assert_close(expected: Sequence[Sequence[Any]],
                 got: Sequence[Sequence[Any]]) -> None:
  """Fails unless lists of weights are the same, but for rounding."""
  for expected_list, got_list in zip(expected, got):
    assert len(expected_list) == len(got_list), (expected_list, got_list)
    for i, (value, other_value) in enumerate(zip(expected_list, got_list)):
      np.testing.assert_allclose(
          value, other_value, rtol=1e-5, atol=1e-5, err_msg=str(i))


def check_trains_as_eagerly(make_model: Any, make_optimizer: Any) -> None:
  """Fails unless a graph trains a model as Keras does."""
  assert_close(eager_weights(make_model, make_optimizer),
               KerasGraph(make_model).train(make_optimizer))

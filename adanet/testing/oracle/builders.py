# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Builders of small subnetworks, each with one feature of the interface.

Their variables start at values that follow from the builder's seed alone.
"""

import adanet
from adanet.testing.oracle import data
from adanet.testing.oracle import library
from adanet.tf_compat import v1 as tf


def variable(name, seed, *shape):
  """Returns a new variable that starts at values that follow from a seed."""
  return tf.get_variable(name, initializer=data.values((name, seed), *shape))


def sgd(learning_rate=.1):
  return tf.train.GradientDescentOptimizer(learning_rate)


def adam(learning_rate=.05):
  return tf.train.AdamOptimizer(learning_rate)


class Dense(adanet.subnetwork.Builder):
  """Builds a hidden layer and a linear layer of logits for each head."""

  def __init__(self, name="dense", seed=0, units=2, complexity=1.,
               optimizer=sgd, record=None, **kwargs):
    """Makes a builder.

    Args:
      name: str.
      seed: of any type; the variables' first values follow from it.
      units: int, the hidden ones.
      complexity: float.
      optimizer: a function that returns an optimizer.
      record: a function of a name and a tensor that returns a hook, or None.
      **kwargs: arguments of a subclass, kept in `options`.
    """
    self._name = name
    self._seed = seed
    self._units = units
    self._complexity = complexity
    self._optimizer = optimizer
    self._record = record
    self.options = kwargs

  @property
  def name(self):
    return self._name

  @property
  def seed(self):
    return self._seed, self._name

  def inputs(self, features, previous_ensemble):
    del previous_ensemble
    return features["x"]

  def hidden(self, inputs, training):
    del training
    weights = variable(
        "hidden_w", self.seed, inputs.shape.as_list()[-1], self._units)
    return tf.tanh(tf.matmul(inputs, weights) + variable(
        "hidden_b", self.seed, self._units))

  def logits(self, hidden, dimension, suffix=""):
    weights = variable(
        "logits_w" + suffix, self.seed, hidden.shape.as_list()[-1], dimension)
    return tf.matmul(hidden, weights) + variable(
        "logits_b" + suffix, self.seed, dimension)

  def extra(self, hidden):
    """Returns more arguments of `Subnetwork`."""
    del hidden
    return {}

  def build_subnetwork(self, features, logits_dimension, training,
                       iteration_step, summary, previous_ensemble=None):
    hidden = last_layer = self.hidden(
        self.inputs(features, previous_ensemble), training)
    if isinstance(logits_dimension, dict):
      logits = {
          head: self.logits(hidden, dimension, "_" + head)
          for head, dimension in sorted(logits_dimension.items())
      }
      last_layer = {head: hidden for head in logits}
    else:
      logits = self.logits(hidden, logits_dimension)
    summary.scalar("mean_hidden", tf.reduce_mean(hidden))
    return adanet.Subnetwork(
        last_layer=last_layer,
        logits=logits,
        complexity=self._complexity,
        **self.extra(hidden))

  def build_subnetwork_train_op(self, subnetwork, loss, var_list, labels,
                                iteration_step, summary, previous_ensemble):
    train_op = self._optimizer().minimize(loss, var_list=var_list)
    if self._record is None:
      return train_op
    return adanet.subnetwork.TrainOpSpec(
        train_op, chief_hooks=[self._record(self._name, loss)])


class Linear(Dense):
  """Builds no hidden layer."""

  def hidden(self, inputs, training):
    return tf.identity(inputs)


class TwoArguments(Dense):
  """Takes labels and config, and uses both."""

  def build_subnetwork(self, features, labels, logits_dimension, training,
                       iteration_step, summary, previous_ensemble, config):
    hidden = self.hidden(features["x"], training)
    if labels is not None:
      hidden += 0. * tf.reduce_sum(labels)
    return adanet.Subnetwork(
        hidden, self.logits(hidden, logits_dimension),
        complexity=float(config.model_dir.endswith(self._name)))


class Deeper(Dense):
  """Builds upon the last subnetwork of the previous ensemble.

  Option `through`: "shared", a function; or "persisted_tensors", a dict.
  """

  def inputs(self, features, previous_ensemble):
    if previous_ensemble is None:
      return features["x"]
    if self.options["through"] == "shared":
      last = previous_ensemble.weighted_subnetworks[-1].subnetwork
      return last.shared["extend"](features["x"])
    last = previous_ensemble.subnetworks[-1]
    return tf.concat(
        [last.persisted_tensors["hidden"],
         last.persisted_tensors["nested"]["double"]], axis=1)

  def extra(self, hidden):
    if self.options["through"] == "shared":
      return {
          "shared": {
              "extend": lambda x: tf.concat([tf.stop_gradient(hidden), x], 1),
              "units": self._units,
          }
      }
    hidden = tf.stop_gradient(hidden)
    return {
        "persisted_tensors": {
            "hidden": hidden,
            "nested": {"double": 2. * hidden},
        }
    }


class TrainingDependent(Dense):
  """Adds one to a hidden layer in training."""

  def hidden(self, inputs, training):
    hidden = super().hidden(inputs, training)
    return hidden + .5 if training else hidden


class Normalized(Dense):
  """Normalizes the hidden layer; the train op updates the moving averages."""

  def hidden(self, inputs, training):
    hidden = super().hidden(inputs, training)
    with tf.variable_scope("norm"):
      averages = [
          tf.get_variable(name, [self._units], trainable=False,
                          initializer=tf.constant_initializer(value))
          for name, value in (("mean", 0.), ("variance", 1.))
      ]
    if not training:
      return (hidden - averages[0]) * tf.math.rsqrt(averages[1] + .01)
    moments = tf.nn.moments(hidden, axes=[0])
    self._updates = [
        tf.assign(average, .8 * average + .2 * moment)
        for average, moment in zip(averages, moments)
    ]
    return (hidden - moments[0]) * tf.math.rsqrt(moments[1] + .01)

  def build_subnetwork_train_op(self, subnetwork, loss, var_list, labels,
                                iteration_step, summary, previous_ensemble):
    with tf.control_dependencies(self._updates):
      return self._optimizer().minimize(loss, var_list=var_list)


class Keras(Dense):
  """Builds Keras layers with names of their own."""

  def hidden(self, inputs, training):
    return self._layer("hidden", inputs, self._units, "tanh")

  def logits(self, hidden, dimension, suffix=""):
    return self._layer("logits" + suffix, hidden, dimension, None)

  def _layer(self, name, inputs, units, activation):
    kernel = data.values((name, self.seed), inputs.shape.as_list()[-1], units)
    return library.keras.layers.Dense(
        units,
        activation=activation,
        kernel_initializer=tf.constant_initializer(kernel),
        name=name)(inputs)


class Scoped(Dense):
  """Builds in name scopes and in a nested scope of variables."""

  def hidden(self, inputs, training):
    with tf.name_scope("outer"), tf.variable_scope("body"):
      with tf.name_scope("inner"):
        return super().hidden(inputs, training)


class GlobalStep(Dense):
  """Trains with the global step, which is the iteration's step here.

  Option `create`: whether to call `get_or_create_global_step`.
  """

  def build_subnetwork_train_op(self, subnetwork, loss, var_list, labels,
                                iteration_step, summary, previous_ensemble):
    if self.options.get("create"):
      global_step = tf.train.get_or_create_global_step()
    else:
      global_step = tf.train.get_global_step()
    learning_rate = tf.train.exponential_decay(
        .2, global_step, decay_steps=2, decay_rate=.7, staircase=True)
    return tf.train.GradientDescentOptimizer(learning_rate).minimize(
        loss, var_list=var_list, global_step=global_step)


class Decayed(Dense):
  """Decays the learning rate by the argument `iteration_step`."""

  def build_subnetwork_train_op(self, subnetwork, loss, var_list, labels,
                                iteration_step, summary, previous_ensemble):
    learning_rate = tf.train.exponential_decay(
        .2, iteration_step, decay_steps=3, decay_rate=.5)
    return tf.train.MomentumOptimizer(learning_rate, .9).minimize(
        loss, var_list=var_list)


class Worse(Dense):
  """Answers with large logits that hardly learn."""

  def logits(self, hidden, dimension, suffix=""):
    return 30. + super().logits(hidden, dimension, suffix)

  def build_subnetwork_train_op(self, subnetwork, loss, var_list, labels,
                                iteration_step, summary, previous_ensemble):
    return sgd(1e-6).minimize(loss, var_list=var_list)


class Hooked(Dense):
  """Adds hooks of a user to the train op.

  Options `hooks` and `chief_hooks`: functions that return a list of hooks.
  """

  def build_subnetwork_train_op(self, subnetwork, loss, var_list, labels,
                                iteration_step, summary, previous_ensemble):
    return adanet.subnetwork.TrainOpSpec(
        self._optimizer().minimize(loss, var_list=var_list),
        chief_hooks=self.options.get("chief_hooks", list)(),
        hooks=self.options.get("hooks", list)())


class Pruning(Dense):
  """Keeps some of the previous ensemble's subnetworks, the deprecated way.

  Option `keep`: a function from their number to the indices.
  """

  def prune_previous_ensemble(self, previous_ensemble):
    return self.options["keep"](len(previous_ensemble.weighted_subnetworks))


class MixtureWeights(Dense):
  """Trains the mixture weights itself, the deprecated way."""

  def build_mixture_weights_train_op(self, loss, var_list, logits, labels,
                                     iteration_step, summary):
    return sgd(.05).minimize(loss, var_list=var_list)


class LocalVariable(Dense):
  """Scales the inputs by a local variable that an op of its own sets."""

  def inputs(self, features, previous_ensemble):
    self._scale = tf.get_variable(
        "scale", initializer=tf.constant(1.), trainable=False,
        collections=[tf.GraphKeys.LOCAL_VARIABLES])
    return features["x"] * self._scale

  def extra(self, hidden):
    # The op itself, because the variables' initializer may run after it.
    with tf.control_dependencies([self._scale.initializer]):
      return {"local_init_ops": [tf.assign(self._scale, .5).op]}


class Reporting(Dense):
  """Reports hparams, attributes and metrics of all types."""

  def build_subnetwork(self, features, labels, logits_dimension, training,
                       iteration_step, summary, previous_ensemble=None):
    subnetwork = super().build_subnetwork(
        features, logits_dimension, training, iteration_step, summary,
        previous_ensemble)
    self._subnetwork = subnetwork
    self._labels = labels
    return subnetwork

  def build_subnetwork_report(self):
    last_layer = self._subnetwork.last_layer
    labels = tf.cast(self._labels, tf.float32)
    return adanet.subnetwork.Report(
        hparams={"units": self._units, "rate": .1, "kind": "dense",
                 "is_wide": self._units > 2},
        attributes={
            "float": tf.constant(.25) * self._units,
            "int": tf.constant(self._units),
            "string": tf.constant("of " + self._name),
            "bool": tf.constant(True),
        },
        metrics={
            "mean_layer": tf.metrics.mean(last_layer),
            "mean_error": tf.metrics.mean_absolute_error(
                labels, self._subnetwork.logits),
        })

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that layers and optimizers in a graph do what Keras 3 does eagerly.

`adanet/estimator:keras_3_test` has what follows for a search.
"""

import functools
import random
import subprocess
import sys
import unittest
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
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
          5, 4, embeddings_initializer=_initializer(3))

    def call(self, inputs):
      return inputs + self.rows(keras.ops.cast(inputs[:, 0] > 0, "int32"))

  def _layers(*more):
    """Returns a Sequential with some layers, from the same weights always."""
    return keras.Sequential([
        keras.layers.Dense(4, kernel_initializer=_initializer(1)), *more,
        keras.layers.Dense(1, kernel_initializer=_initializer(2))])

  def _functional():
    inputs = keras.Input([3], name="x")
    # A bias before the normalization would have gradients of noise only, which
    # some optimizers scale up.
    hidden = keras.layers.Dense(
        4, use_bias=False, kernel_initializer=_initializer(1))(inputs)
    hidden = keras.layers.BatchNormalization()(hidden)
    outputs = keras.layers.Dense(1, kernel_initializer=_initializer(2))(hidden)
    return keras.Model(inputs, outputs)

  class Subclassed(keras.Model):
    """Makes its layers when it is made, and builds them when it is called."""

    def __init__(self):
      super().__init__()
      self.block = _layers(keras.layers.BatchNormalization())
      self.top = keras.layers.Dense(1, kernel_initializer=_initializer(3))

    def call(self, inputs, training=False):
      return self.top(self.block(inputs, training=training))

  def _frozen():
    layer = keras.layers.Dense(4, kernel_initializer=_initializer(3))
    layer.trainable = False
    return _layers(layer)

  def _frozen_later():
    model = _layers(keras.layers.Dense(4, kernel_initializer=_initializer(3)))
    model.build([None, 3])
    model.layers[0].trainable = False
    return model

  _MODELS = {
      "sequential": _layers,
      "functional": _functional,
      "subclassed": lambda: Subclassed(),
      "dropout": lambda: _layers(keras.layers.Dropout(.3, seed=1)),
      "noise": lambda: _layers(keras.layers.GaussianNoise(.3, seed=1)),
      "shared seeds": lambda: _layers(SharedSeeds()),
      "counter": lambda: _layers(Counter()),
      "spectral": lambda: _layers(keras.layers.SpectralNormalization(
          keras.layers.Dense(4, kernel_initializer=_initializer(3)))),
      "recurrent": lambda: _layers(
          keras.layers.Reshape([2, 2]),
          keras.layers.LSTM(3, dropout=.3, recurrent_dropout=.2, seed=4,
                            kernel_initializer=_initializer(3),
                            recurrent_initializer=_initializer(4))),
      "constraint": lambda: _layers(keras.layers.Dense(
          4, kernel_initializer=_initializer(3),
          kernel_constraint="unit_norm")),
      "losses": lambda: _layers(keras.layers.Dense(
          4, kernel_initializer=_initializer(3), kernel_regularizer="l2",
          activity_regularizer="l2")),
      "embedding": lambda: _layers(Embedding()),
      "frozen": _frozen,
      "frozen later": _frozen_later,
  }
  _OPTIMIZERS = {
      "sgd": lambda: keras.optimizers.SGD(.1),
      "momentum": lambda: keras.optimizers.SGD(.1, momentum=.9, nesterov=True),
      "adam": lambda: keras.optimizers.Adam(.1),
      "schedule": lambda: keras.optimizers.Adam(
          keras.optimizers.schedules.ExponentialDecay(.1, 1, .5)),
      "clipnorm": lambda: keras.optimizers.Adam(.1, clipnorm=.1),
      "global clipnorm": lambda: keras.optimizers.Adam(
          .1, global_clipnorm=.1, amsgrad=True),
      "weight decay": lambda: keras.optimizers.AdamW(.1, weight_decay=.1),
      "average": lambda: keras.optimizers.RMSprop(
          .1, use_ema=True, ema_momentum=.5, ema_overwrite_frequency=2),
      "accumulation": lambda: keras.optimizers.Adagrad(
          .1, gradient_accumulation_steps=2),
      "loss scale": lambda: keras.optimizers.LossScaleOptimizer(
          keras.optimizers.Adam(.1), dynamic_growth_steps=2),
  }
else:
  _MODELS, _OPTIMIZERS = {"none": None}, {"none": None}


def _initializer(seed):
  return keras.initializers.GlorotUniform(seed=seed)


def _batches(count=4):
  source = np.random.RandomState(7)
  return [(source.normal(size=[8, 3]).astype("f"),
           source.normal(size=[8, 1]).astype("f")) for _ in range(count)]


def _eager_weights(make_model, make_optimizer):
  """Returns the weights of Keras's own training, and the optimizer's."""
  random.seed(1)
  model, optimizer = make_model(), make_optimizer()
  model.compile(optimizer, "mse", run_eagerly=True)
  for features, labels in _batches():
    model.train_on_batch(features, labels)
  return [[v.numpy() for v in variables] for variables in (
      model.weights, optimizer.variables)]


class _Graph:
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

  def train(self, make_optimizer, runs_outputs=False):
    """Returns the weights after training, and the optimizer's."""
    with self.graph.as_default():
      updates = self.scope.updates(only_trainable=True)
      with self.scope.entered(), v1.control_dependencies(updates):
        optimizer = make_optimizer()
        step = optimizers.minimize(
            optimizer, v1.add_n([self.loss, *self.model.losses]),
            [variable for variable in v1.trainable_variables()
             if not self.scope.is_frozen(variable)])
      step = v1.group(step, updates, self.scope.updates())
      slots = [] if isinstance(optimizer, v1.train.Optimizer) else (
          optimizer.variables)
      found = [[v.value for v in variables]
               for variables in (self.model.weights, slots)]
      with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        for features, labels in _batches():
          feeds = {self.features: features, self.labels: labels}
          if runs_outputs:
            session.run(self.outputs, feeds)
          session.run(step, feeds)
        return session.run(found)


@unittest.skipUnless(tf_compat.HAS_KERAS_3,
                     "Keras 3 needs TensorFlow 2.16 or later.")
class KerasScopeTest(parameterized.TestCase):

  def _assert_close(self, expected, got):
    for one, other in zip(expected, got):
      self.assertLen(other, len(one))
      for i, (value, other_value) in enumerate(zip(one, other)):
        np.testing.assert_allclose(
            value, other_value, rtol=1e-5, atol=1e-5, err_msg=str(i))

  @parameterized.named_parameters(*_MODELS.items())
  def test_model(self, make_model):
    make_optimizer = _OPTIMIZERS["sgd"]
    expected = _eager_weights(make_model, make_optimizer)
    # To look at the outputs changes nothing.
    self._assert_close(expected, _Graph(make_model).train(
        make_optimizer, runs_outputs=True))

  @parameterized.named_parameters(*_OPTIMIZERS.items())
  def test_optimizer(self, make_optimizer):
    self._assert_close(
        _eager_weights(_functional, make_optimizer),
        _Graph(_functional).train(make_optimizer))

  @parameterized.parameters(
      {"amsgrad": True}, {"weight_decay": .1}, {"clipnorm": .1},
      {"global_clipnorm": .1}, {"clipvalue": .05},
      {"use_ema": True, "ema_momentum": .5, "ema_overwrite_frequency": 2},
      {"loss_scale_factor": 8.}, {"gradient_accumulation_steps": 2},
      {"beta_1": .5, "beta_2": .9, "epsilon": .01})
  def test_argument_of_adam(self, **arguments):
    make = functools.partial(keras.optimizers.Adam, .1, **arguments)
    self._assert_close(
        _eager_weights(_functional, make), _Graph(_functional).train(make))

  def test_constraint_with_adam(self):
    self._assert_close(
        _eager_weights(_MODELS["constraint"], _OPTIMIZERS["adam"]),
        _Graph(_MODELS["constraint"]).train(_OPTIMIZERS["adam"]))

  @parameterized.parameters(
      ({}, True), ({"beta_1": .5, "beta_2": .98}, True),
      # In float32, 1 - beta would be something else.
      ({"beta_2": .9999}, False), ({"beta_1": 1. - 1e-8}, False),
      ({}, False, True))  # Keras adds up the gradients of replicas.
  def test_adam_has_an_op_for_each_variable(
      self, arguments, expected, has_strategy=False):
    graph = _Graph(_functional)
    with mock.patch.object(tf_compat.v2.distribute, "has_strategy",
                           return_value=has_strategy):
      graph.train(functools.partial(keras.optimizers.Adam, **arguments))
    self.assertEqual(
        len(graph.model.trainable_variables) if expected else 0,
        [op.type for op in graph.graph.get_operations()].count(
            "ResourceApplyAdam"))

  def test_adam_that_forgets_nothing(self):
    # Keras divides by 0, and so does what the graph computes.
    for make in (functools.partial(keras.optimizers.Adam, beta_1=1.),
                 functools.partial(keras.optimizers.Adam, beta_2=1.)):
      self._assert_close(
          _eager_weights(_functional, make), _Graph(_functional).train(make))

  def test_optimizer_of_tensorflow(self):
    expected = _eager_weights(_MODELS["spectral"], _OPTIMIZERS["sgd"])
    got = _Graph(_MODELS["spectral"]).train(
        lambda: v1.train.GradientDescentOptimizer(.1))
    self._assert_close(expected[:1], got)

  def test_optimizer_without_eager_execution(self):
    with mock.patch.object(
        tf_compat.v2, "executing_eagerly", return_value=False):
      _Graph(_layers).train(_OPTIMIZERS["adam"])
      for name in "average", "accumulation":
        with self.assertRaisesRegex(
            ValueError, "^optimizer=.*: gradient_accumulation_steps and .*"):
          _Graph(_layers).train(_OPTIMIZERS[name])

  def test_optimizer_of_other_variables(self):
    graph = _Graph(_layers)
    with graph.graph.as_default(), graph.scope.entered():
      with self.assertRaisesRegex(
          ValueError, r"^optimizer=.* depends on no variable of \['x:0'\]"):
        optimizers.minimize(keras.optimizers.SGD, graph.loss,
                            [v1.get_variable("x", [])])

  def test_optimizer_with_sparse_gradients(self):
    for make_optimizer in (_OPTIMIZERS["adam"], _OPTIMIZERS["global clipnorm"]):
      self._assert_close(
          _eager_weights(_MODELS["embedding"], make_optimizer),
          _Graph(_MODELS["embedding"]).train(make_optimizer))

  def test_names_are_the_same_whatever_was_made_before(self):
    def names(training=True):
      graph = _Graph(lambda: _layers(
          keras.layers.BatchNormalization(), keras.layers.Dropout(.5)),
                     training)
      if training:
        graph.train(_OPTIMIZERS["adam"])
      return graph.names

    keras.layers.Dense(1)
    first = names()
    self.assertContainsSubset(
        ["scope/sequential/dense/kernel", "scope/sequential/dense_1/bias",
         "scope/sequential/batch_normalization/moving_mean",
         "scope/seed_generator/seed_generator_state", "scope/adam/iteration",
         "scope/adam/sequential_dense_kernel_velocity"], first)
    before = keras.layers.Dense(1).name
    self.assertEqual(first, names())
    self.assertContainsSubset(names(training=False), first)
    # What the program makes elsewhere goes on with its own numbers.
    number = int(before.rpartition("_")[2])
    self.assertEqual(f"dense_{number + 1}", keras.layers.Dense(1).name)

  def test_an_op_takes_no_name_from_a_layer(self):
    def make(first):
      def model():
        if first:
          v1.nn.conv2d(v1.zeros([1, 1, 1, 1]), v1.zeros([1, 1, 1, 1]),
                       padding="SAME", name="Dense")
        return _layers()
      return _Graph(model).names

    self.assertEqual(make(False), make(True))

  def test_two_variables_with_one_path(self):
    def model():
      for _ in range(2):
        keras.layers.Dense(1, name="same").build([None, 3])
      return _layers()

    self.assertContainsSubset(["scope/same/kernel", "scope/same/kernel_1"],
                              _Graph(model).names)

  def test_random_functions_of_keras(self):
    # Their generator belongs to the process. Here each graph has its own.
    keras.random.normal([2])
    for _ in range(2):
      graph = _Graph(_layers)
      with graph.graph.as_default():
        with graph.scope.entered():
          noise = keras.random.normal([4]), keras.random.normal([4])
        updates = graph.scope.updates()
        with v1.Session() as session:
          session.run(v1.global_variables_initializer())
          found = []
          for _ in range(2):
            found += session.run(noise)
            session.run(updates)
      self.assertLen({tuple(one) for one in found}, 4)
    keras.random.normal([2])

  def test_nothing_is_assigned_without_updates(self):
    graph = _Graph(lambda: _layers(Counter()))
    types = {op.type for op in graph.graph.get_operations()
             if op.type.startswith("Assign") and "/Assign" not in op.name}
    self.assertEmpty(types)

  def _step(self, graph, runs=1):
    """Returns the weights before and after some runs of the updates."""
    with graph.graph.as_default(), v1.Session() as session:
      updates = graph.scope.updates()
      weights = [v.value for v in graph.model.weights]
      session.run(v1.global_variables_initializer())
      before = session.run(weights)
      for _ in range(runs):
        session.run(updates, {graph.features: _batches()[0][0]})
      return before, session.run(weights)

  def test_weights_of_a_file(self):
    def make():
      # See `_functional`: no bias is right before the normalization.
      return _layers(keras.layers.ReLU(), keras.layers.BatchNormalization(),
                     keras.layers.Dropout(.3, seed=1))

    saved = make()
    saved.compile("adam", "mse", jit_compile=False)
    for features, labels in _batches():
      saved.train_on_batch(features, labels)
    path = self.create_tempdir().full_path + "/model.keras"
    saved.save(path)
    weights = saved.get_weights()  # Which Keras does not know in a graph.

    def load():
      return keras.models.load_model(path)

    def load_weights():
      model = make()
      model(v1.zeros([1, 3]))
      model.load_weights(path)
      return model

    def set_weights():
      model = make()
      model.build([None, 3])
      model.set_weights(weights)
      return model

    for given in load, load_weights, set_weights:
      # Neither does evaluation change any, nor does it need an optimizer.
      graph = _Graph(given, training=False)
      for got in self._step(graph):
        self._assert_close([weights], [got])
      self.assertFalse([name for name in graph.names if "adam" in name])
      self.assertContainsSubset(graph.names, _Graph(given).names)

    def optimizer():
      return graph.model.optimizer

    # Both go on where the file ends, the optimizer's momentum too.
    graph = _Graph(load)
    got = graph.train(optimizer)
    self.assertLen([name for name in graph.names
                    if name.endswith("/iteration")], 1)
    loaded = load()  # Its masks begin anew.
    for features, labels in _batches():
      loaded.train_on_batch(features, labels)
    self._assert_close([[v.numpy() for v in variables] for variables in (
        loaded.weights, loaded.optimizer.variables)], got)

  def test_last_start_wins(self):
    def model():
      made = _layers()
      made.build([None, 3])
      for value in 1., 2.:
        made.layers[0].bias.assign(np.full([4], value))
      made.layers[1].kernel.assign(
          keras.ops.transpose(np.full([1, 4], 3., "f")))
      with v1.control_dependencies([v1.placeholder(v1.float32, [])]):
        made.layers[1].bias.assign([4.])
      bias = made.layers[0].bias.value
      self.assertEqual(bias.initializer.inputs[1].op.type, "Const")
      self.assertIs(bias.initial_value, bias.initializer.inputs[1])
      return made

    for weights in self._step(_Graph(model)):
      self.assertEqual([2., 3., 4.], [value.min() for value in weights[1:]])

  def test_a_layer_that_is_built_in_a_call(self):
    class Inner(keras.layers.Layer):

      def build(self, input_shape):
        del input_shape
        self.start = self.add_weight(shape=())
        self.start.assign(5.)

      def call(self, inputs):
        self.start.assign(7.)
        return inputs * self.start

    class Outer(keras.Model):

      def __init__(self):
        super().__init__()
        self.inner = Inner()

      def build(self, input_shape):
        del input_shape  # Else Keras calls it once, without assigning anything.

      def call(self, inputs):
        return self.inner(inputs)[:, :1]

    before, after = self._step(_Graph(Outer))
    self.assertEqual(([5.], [7.]), (before, after))

  def test_updates_that_are_no_constants(self):
    def model():
      made = _layers()
      made.build([None, 3])
      kernel = made.layers[0].kernel
      kernel.assign(keras.ops.ones_like(kernel))
      kernel.assign(kernel * 2.)
      return made

    before, after = self._step(_Graph(model), runs=3)
    np.testing.assert_array_equal(before[0], np.ones([3, 4]))
    np.testing.assert_array_equal(after[0], np.full([3, 4], 8.))

  def test_a_metric_that_assigns_a_constant(self):
    class Seen(keras.metrics.Metric):

      def __init__(self):
        super().__init__()
        self.seen = self.add_variable([], "zeros")

      def update_state(self):
        self.seen.assign(1.)

      def result(self):
        return self.seen

    def model():
      made = _layers()
      made.seen = Seen()
      made.seen.update_state()
      return made

    graph = _Graph(model)
    with graph.graph.as_default(), v1.Session() as session:
      updates = graph.scope.updates()
      session.run(v1.global_variables_initializer())
      values = []
      for _ in range(2):
        values.append(session.run(graph.model.seen.seen.value))
        session.run(updates)
    self.assertEqual([0., 1.], values)

  def test_start_after_a_call(self):
    # As eagerly, a later call reads the start value and not the call's.
    def model():
      made = _layers(keras.layers.BatchNormalization(momentum=.5))
      made(v1.zeros([8, 3]), training=True)
      made.layers[1].set_weights([np.full([4], 2.)] * 4)
      reads.append(made.layers[1].moving_mean + 0.)
      return made

    reads = []
    graph = _Graph(model, training=False)
    with v1.Session(graph=graph.graph) as session:
      with graph.graph.as_default():
        session.run(v1.global_variables_initializer())
      self.assertEqual([2.] * 4, session.run(reads[0]).tolist())
    before, after = self._step(graph)
    self.assertEqual(2., before[4][0])
    self.assertEqual(1., after[4][0])  # The first call moves it to 0.

  def test_loading_what_changes(self):
    def model():
      made = _layers()
      made.build([None, 3])
      made.set_weights([v.value * 1. for v in made.weights])
      return made

    with self.assertRaisesRegex(
        ValueError, "^scope/.*/kernel: set_weights assigns .* expected a con"):
      _Graph(model)

  def test_start_on_a_ps(self):
    def model():
      made = _layers()
      with v1.device("/job:ps/task:1"):
        made.build([None, 3])
      with v1.device("/job:worker"):
        made.set_weights([np.ones(v.shape) for v in made.weights])
      return made

    graph = _Graph(model)
    for variable in graph.model.weights:
      self.assertEqual("/job:ps/task:1",
                       variable.value.initializer.device)

  def test_no_file(self):
    with self.assertRaisesRegex(ValueError, "not found: filepath=none.keras"):
      _Graph(lambda: keras.models.load_model("none.keras"))

  def test_class_that_is_not_known(self):
    class Unknown(keras.layers.Layer):
      pass

    config = _layers(Unknown()).get_config()
    with self.assertRaisesRegex(
        ValueError, "^scope: .*Could not locate class 'Unknown'") as caught:
      _Graph(lambda: keras.Sequential.from_config(config))
    self.assertNotIn("{", str(caught.exception))

  def test_optimizer_of_an_h5_file(self):
    path = self.create_tempdir().full_path + "/model.h5"
    saved = _functional()
    saved.compile("adam", keras.losses.MeanSquaredError())
    saved.train_on_batch(*_batches()[0])
    saved.save(path)
    # Keras itself builds this optimizer for no variables.
    graph = _Graph(lambda: keras.models.load_model(path))
    with self.assertRaisesRegex(
        ValueError, "^optimizer=.* built for other variables.*compile=False"):
      graph.train(lambda: graph.model.optimizer)
    graph = _Graph(lambda: keras.models.load_model(path, compile=False))
    self._assert_close([[v.numpy() for v in saved.weights]],
                       [self._step(graph)[0]])

  @parameterized.named_parameters(
      ("branch", lambda assign: v1.cond(
          v1.placeholder(v1.bool, []), assign, lambda: 1.)),
      ("loop", lambda assign: tf_compat.v2.while_loop(
          lambda i: i < 3, lambda i: [assign() + i], [v1.constant(0.)])),
      ("function", lambda assign: tf_compat.v2.function(assign)()))
  def test_assignment_in_a(self, call):
    def model():
      made = _layers(Counter())
      made.build([None, 3])
      variable = made.layers[1].calls

      def assign():
        variable.assign(1)
        return v1.constant(1.)

      call(assign)
      return made

    graph = _Graph(model)
    with self.assertRaisesRegex(
        ValueError, "scope/.*counter/.* is assigned in a branch"):
      graph.train(_OPTIMIZERS["sgd"])

  def test_build_that_assigns_what_changes(self):
    class Drawing(keras.layers.Dense):

      def build(self, input_shape):
        super().build(input_shape)
        self.kernel.assign(v1.random_normal(self.kernel.shape))

    with self.assertRaisesRegex(
        ValueError, "scope/.*/kernel: build assigns .*random_normal.* expected "
        "a constant"):
      _Graph(lambda: _layers(Drawing(2)))

  @parameterized.parameters(
      (lambda model: keras.utils.clear_session(),
       "^scope: keras.utils.clear_session cannot .* leave it out"),
      (lambda model: model.get_weights(), "^scope: get_weights .* eagerly"),
      (lambda model: model.predict(np.zeros([1, 3])), "^scope: .* predict "),
      (lambda model: model(v1.zeros([1, 5])), "^scope: .*found shape=.1, 5."),
      # Around this error Keras puts some lines.
      (lambda model: _layers()({"a": v1.zeros([1]), "b": v1.zeros([1])}),
       r"^scope: Sequential.call\(\): Layer .* expects 1 input[^\n\x1b]*$"))
  def test_one_line(self, call, expected):
    def model():
      made = _functional()
      call(made)
      return made

    with self.assertRaisesRegex(ValueError, expected):
      _Graph(model)

  def test_errors_of_others(self):
    class Own(keras.layers.Layer):

      def call(self, inputs):
        raise KeyError("mine")

    with self.assertRaisesRegex(KeyError, "mine"):
      _Graph(lambda: _layers(Own()))
    with self.assertRaisesRegex(ValueError, "^mine$"):
      with v1.Graph().as_default(), keras_scope.KerasScope("scope").entered():
        raise ValueError("mine")

  def test_backend(self):
    # Only TensorFlow's is installed here.
    with mock.patch.object(keras.backend, "backend", return_value="jax"):
      with v1.Graph().as_default(), keras_scope.KerasScope("scope").entered():
        v1.get_variable("own", [])  # It uses no Keras.
      with self.assertRaisesRegex(
          ValueError, "^Keras has the backend 'jax': expected 'tensorflow'.* "
          "Set KERAS_BACKEND=tensorflow"):
        _Graph(_layers)

  def test_old_keras(self):
    with mock.patch.object(keras, "__version__", "3.6.0"):
      with self.assertRaisesRegex(
          ValueError, "^Keras is 3.6.0: expected 3.7 or later"):
        _Graph(_layers)

  def test_layers_of_another_graph(self):
    eager = _layers()
    eager(np.zeros([1, 3], "f"))
    for model, message in (
        (eager, "^scope: layer 'dense.*' uses the variable .*/kernel, which "
         "was made outside of the function and would train: .*, or freeze it"),
        (_Graph(_layers).model, "^scope: a layer, model or metric of Keras ")):
      with self.assertRaisesRegex(ValueError, message):
        _Graph(lambda made=model: made)

  def test_optimizer_that_is_applied_in_the_graph(self):
    graph = _Graph(_layers)
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
        _Graph(_layers).train(lambda made=optimizer: made)

  def test_optimizer_for_any_graph(self):
    # The number in its name says only how many the process made before.
    keras.optimizers.SGD()
    make = optimizers.for_any_graph(keras.optimizers.SGD(.1, momentum=.5))
    for _ in range(2):
      graph = _Graph(_layers)
      graph.train(make)
      # Before Keras 3.15 it was "SGD".
      self.assertIn("scope/sgd/iteration",
                    [name.replace("SGD", "sgd") for name in graph.names])
    make = optimizers.for_any_graph(keras.optimizers.SGD(.1, name="mine"))
    graph = _Graph(_layers)
    graph.train(make)
    self.assertIn("scope/mine/iteration", graph.names)


  def test_copies_of_optimizers(self):
    for make_optimizer in (
        _OPTIMIZERS["loss scale"],
        lambda: keras.optimizers.Muon(.1, exclude_layers=["top"])):
      make = optimizers.for_any_graph(make_optimizer())
      names = []
      for _ in range(2):
        graph = _Graph(_functional)
        self._assert_close(_eager_weights(_functional, make_optimizer),
                           graph.train(make))
        names.append(graph.names)
      self.assertEqual(*names)
      self.assertFalse(
          [name for name in names[0] if name.startswith("scope/adam_")])

  def test_optimizer_that_cannot_be_copied(self):
    class Schedule(keras.optimizers.schedules.LearningRateSchedule):

      def __call__(self, step):
        return .1

    decayed = keras.optimizers.AdamW()
    decayed.exclude_from_weight_decay(var_list=_functional().weights)
    for optimizer in (keras.optimizers.SGD(Schedule()),
                      keras.optimizers.SGD(lambda: .1), decayed):
      with self.assertRaisesRegex(
          ValueError, "^optimizer=.*cannot be copied: expected a function"):
        optimizers.for_any_graph(optimizer)

  @parameterized.parameters(False, True)
  def test_names_without_weight_decay(self, copied):
    def make_optimizer():
      optimizer = keras.optimizers.AdamW(.1, weight_decay=.5)
      optimizer.exclude_from_weight_decay(var_names=["bias", "gamma"])
      return optimizer

    # What is in the name of the builder does not count.
    self._assert_close(
        _eager_weights(_functional, make_optimizer),
        _Graph(_functional, name="no_bias").train(
            optimizers.for_any_graph(make_optimizer()) if copied
            else make_optimizer))


class OtherKerasTest(absltest.TestCase):

  def _run(self, program, **environ):
    """Returns what a program prints that begins with some imports.

    TensorFlow's own lines are left out, unless it fails.
    """
    begin = """if True:
        import os, sys
        os.environ.update({})
        from adanet import tf_compat
        from adanet.tf_compat import keras_scope
        v1 = tf_compat.v1
        def use(make):
          with v1.Graph().as_default():
            with keras_scope.KerasScope("scope").entered():
              make()(v1.zeros([2, 3]))
            return [v.op.name for v in v1.global_variables()]
        """.format(environ)
    done = subprocess.run(
        [sys.executable, "-c", begin + program], text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.stdout + (done.stderr if done.returncode else "")

  @unittest.skipIf(tf_compat.HAS_KERAS_3, "test_both_in_one_program has it.")
  def test_only_keras_2(self):
    self.assertEqual("['dense/kernel', 'dense/bias']\n", self._run("""
        print(use(lambda: tf_compat.keras.layers.Dense(1)))
        """))
    self.assertIn("Keras 3 needs TensorFlow 2.16 or later, and this is",
                  self._run("tf_compat.keras_3"))

  @unittest.skipUnless(tf_compat.HAS_KERAS_3,
                       "Keras 3 needs TensorFlow 2.16 or later.")
  def test_both_in_one_program(self):
    one = "['scope/dense/kernel', 'scope/dense/bias']"
    other = "['dense/kernel', 'dense/bias']"
    # With this variable TensorFlow itself imports tf_keras.
    for order, legacy, expected in (
        ("keras_3 keras keras_3", "0",
         f"{one} False True\n{other} True True\n{one} True True\n"),
        ("keras keras_3", "1",
         f"{other} True False\n{one} True True\n")):
      self.assertEqual(expected, self._run(f"""
        for name in "{order}".split():
          keras = getattr(tf_compat, name)
          print(use(lambda: keras.layers.Dense(1)), "tf_keras" in sys.modules,
                "keras" in sys.modules)
        """, TF_USE_LEGACY_KERAS=legacy))


if __name__ == "__main__":
  absltest.main()

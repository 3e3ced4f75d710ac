# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that layers and optimizers in a graph do what Keras 3 does eagerly.

`adanet/estimator:keras_3_test` has what follows for a search.
"""

import unittest
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet.testing import level
from adanet import tf_compat
from adanet.testing import keras_graphs
from adanet.tf_compat import keras_scope
import numpy as np

v1 = tf_compat.v1

if tf_compat.HAS_KERAS_3:
  keras = tf_compat.keras_3


@unittest.skipUnless(tf_compat.HAS_KERAS_3,
                     "Keras 3 needs TensorFlow 2.16 or later.")
class KerasScopeTest(parameterized.TestCase):

  @parameterized.named_parameters(level.first([*keras_graphs.MODELS.items()]))
  def test_model(self, make_model):
    make_optimizer = lambda: keras.optimizers.SGD(.1)
    expected = keras_graphs.eager_weights(make_model, make_optimizer)
    # To look at the outputs changes nothing.
    graph = keras_graphs.KerasGraph(make_model)
    keras_graphs.assert_close(
        expected, graph.train(make_optimizer, runs_outputs=True))

  @level.gate
  def test_names_are_the_same_whatever_was_made_before(self):
    def names(training=True):
      graph = keras_graphs.KerasGraph(lambda: keras_graphs.layers(
          keras.layers.BatchNormalization(), keras.layers.Dropout(.5)),
                     training)
      if training:
        graph.minimize(lambda: keras.optimizers.Adam(.1))
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
        return keras_graphs.layers()
      return keras_graphs.KerasGraph(model).names

    self.assertEqual(make(False), make(True))

  def test_two_variables_with_one_path(self):
    def model():
      for _ in range(2):
        keras.layers.Dense(1, name="same").build([None, 3])
      return keras_graphs.layers()

    self.assertContainsSubset(["scope/same/kernel", "scope/same/kernel_1"],
                              keras_graphs.KerasGraph(model).names)

  @level.gate
  def test_random_functions_of_keras(self):
    # Their generator belongs to the process. Here each graph has its own.
    keras.random.normal([2])
    for _ in range(2):
      graph = keras_graphs.KerasGraph(keras_graphs.layers)
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

  def test_embedding_reads_the_rows_of_the_batch(self):
    # The table may be on a parameter server.
    graph = keras_graphs.KerasGraph(keras_graphs.MODELS["embedding"])
    with graph.graph.as_default():
      table = graph.model.layers[1].rows.embeddings.value
      gradient, = v1.gradients(graph.loss, [table])
      self.assertIsInstance(gradient, v1.IndexedSlices)
      used = v1.graph_util.extract_sub_graph(
          graph.graph.as_graph_def(),
          [graph.loss.op.name, gradient.values.op.name])
    self.assertEqual(["ResourceGather"], [
        node.op for node in used.node if table.op.name in node.input])

  @level.gate
  def test_rows_of_a_variable_that_a_layer_assigns(self):
    class Rows(keras.layers.Layer):

      def build(self, input_shape):
        del input_shape
        self.rows = self.add_weight(shape=[2, 4], initializer="ones")

      def call(self, inputs, training=False):
        if training:
          self.rows.assign(self.rows * .5)
        return inputs + keras.ops.take(
            self.rows, keras.ops.cast(inputs[:, 0] > 0, "int32"), axis=0)

    keras_graphs.check_trains_as_eagerly(
        lambda: keras_graphs.layers(Rows()), lambda: keras.optimizers.SGD(.1))

  def test_nothing_is_assigned_without_updates(self):
    graph = keras_graphs.KerasGraph(
        lambda: keras_graphs.layers(keras_graphs.Counter()))
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
        session.run(updates, {graph.features: keras_graphs.batches()[0][0]})
      return before, session.run(weights)

  @level.gate
  def test_weights_of_a_file(self):
    def make():
      # See `functional`: no bias is right before the normalization.
      return keras_graphs.layers(
          keras.layers.ReLU(), keras.layers.BatchNormalization(),
                     keras.layers.Dropout(.3, seed=1))

    saved = make()
    saved.compile("adam", "mse", jit_compile=False)
    for features, labels in keras_graphs.batches():
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

    for given in load_weights, load:
      # Neither does evaluation change any, nor does it need an optimizer.
      graph = keras_graphs.KerasGraph(given, training=False)
      for got in self._step(graph):
        keras_graphs.assert_close([weights], [got])
      self.assertFalse([name for name in graph.names if "adam" in name])

    def optimizer():
      return graph.model.optimizer

    # Both go on where the file ends, the optimizer's momentum too.
    graph, evaluated = keras_graphs.KerasGraph(load), graph.names
    self.assertContainsSubset(evaluated, graph.names)
    got = graph.train(optimizer)
    self.assertLen([name for name in graph.names
                    if name.endswith("/iteration")], 1)
    loaded = load()  # Its masks begin anew.
    for features, labels in keras_graphs.batches():
      loaded.train_on_batch(features, labels)
    keras_graphs.assert_close([[v.numpy() for v in variables] for variables in (
        loaded.weights, loaded.optimizer.variables)], got)

  def test_last_start_wins(self):
    def model():
      made = keras_graphs.layers()
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

    for weights in self._step(keras_graphs.KerasGraph(model)):
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

    before, after = self._step(keras_graphs.KerasGraph(Outer))
    self.assertEqual(([5.], [7.]), (before, after))

  def test_updates_that_are_no_constants(self):
    def model():
      made = keras_graphs.layers()
      made.build([None, 3])
      kernel = made.layers[0].kernel
      kernel.assign(keras.ops.ones_like(kernel))
      kernel.assign(kernel * 2.)
      return made

    before, after = self._step(keras_graphs.KerasGraph(model), runs=3)
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
      made = keras_graphs.layers()
      made.seen = Seen()
      made.seen.update_state()
      return made

    graph = keras_graphs.KerasGraph(model)
    with graph.graph.as_default(), v1.Session() as session:
      updates = graph.scope.updates()
      session.run(v1.global_variables_initializer())
      values = []
      for _ in range(2):
        values.append(session.run(graph.model.seen.seen.value))
        session.run(updates)
    self.assertEqual([0., 1.], values)

  @level.gate
  def test_start_after_a_call(self):
    # As eagerly, a later call reads the start value and not the call's.
    def model():
      made = keras_graphs.layers(keras.layers.BatchNormalization(momentum=.5))
      made(v1.zeros([8, 3]), training=True)
      made.layers[1].set_weights([np.full([4], 2.)] * 4)
      reads.append(made.layers[1].moving_mean + 0.)
      return made

    reads = []
    graph = keras_graphs.KerasGraph(model, training=False)
    with v1.Session(graph=graph.graph) as session:
      with graph.graph.as_default():
        session.run(v1.global_variables_initializer())
      self.assertEqual([2.] * 4, session.run(reads[0]).tolist())
    before, after = self._step(graph)
    self.assertEqual(2., before[4][0])
    self.assertEqual(1., after[4][0])  # The first call moves it to 0.

  def test_loading_what_changes(self):
    def model():
      made = keras_graphs.layers()
      made.build([None, 3])
      made.set_weights([v.value * 1. for v in made.weights])
      return made

    with self.assertRaisesRegex(
        ValueError, "^scope/.*/kernel: set_weights assigns .* expected a con"):
      keras_graphs.KerasGraph(model)

  def test_start_on_a_ps(self):
    def model():
      made = keras_graphs.layers()
      with v1.device("/job:ps/task:1"):
        made.build([None, 3])
      with v1.device("/job:worker"):
        made.set_weights([np.ones(v.shape) for v in made.weights])
      return made

    graph = keras_graphs.KerasGraph(model)
    for variable in graph.model.weights:
      self.assertEqual("/job:ps/task:1",
                       variable.value.initializer.device)

  def test_no_file(self):
    with self.assertRaisesRegex(ValueError, "not found: filepath=none.keras"):
      keras_graphs.KerasGraph(lambda: keras.models.load_model("none.keras"))

  def test_class_that_is_not_known(self):
    class Unknown(keras.layers.Layer):
      pass

    config = keras_graphs.layers(Unknown()).get_config()
    with self.assertRaisesRegex(
        ValueError, "^scope: .*Could not locate class 'Unknown'") as caught:
      keras_graphs.KerasGraph(lambda: keras.Sequential.from_config(config))
    self.assertNotIn("{", str(caught.exception))

  @level.gate
  def test_optimizer_of_an_h5_file(self):
    path = self.create_tempdir().full_path + "/model.h5"
    saved = keras_graphs.functional()
    saved.compile("adam", keras.losses.MeanSquaredError())
    saved.train_on_batch(*keras_graphs.batches()[0])
    saved.save(path)
    # Keras itself builds this optimizer for no variables.
    graph = keras_graphs.KerasGraph(lambda: keras.models.load_model(path))
    with self.assertRaisesRegex(
        ValueError, "^optimizer=.* built for other variables.*compile=False"):
      graph.train(lambda: graph.model.optimizer)
    graph = keras_graphs.KerasGraph(
        lambda: keras.models.load_model(path, compile=False))
    keras_graphs.assert_close([[v.numpy() for v in saved.weights]],
                       [self._step(graph)[0]])

  @parameterized.named_parameters(
      ("branch", lambda assign: v1.cond(
          v1.placeholder(v1.bool, []), assign, lambda: 1.)),
      ("loop", lambda assign: tf_compat.v2.while_loop(
          lambda i: i < 3, lambda i: [assign() + i], [v1.constant(0.)])),
      ("function", lambda assign: tf_compat.v2.function(assign)()))
  def test_assignment_in_a(self, call):
    def model():
      made = keras_graphs.layers(keras_graphs.Counter())
      made.build([None, 3])
      variable = made.layers[1].calls

      def assign():
        variable.assign(1)
        return v1.constant(1.)

      call(assign)
      return made

    graph = keras_graphs.KerasGraph(model)
    with self.assertRaisesRegex(
        ValueError, "scope/.*counter/.* is assigned in a branch"):
      graph.train(lambda: keras.optimizers.SGD(.1))

  def test_build_that_assigns_what_changes(self):
    class Drawing(keras.layers.Dense):

      def build(self, input_shape):
        super().build(input_shape)
        self.kernel.assign(v1.random_normal(self.kernel.shape))

    with self.assertRaisesRegex(
        ValueError, "scope/.*/kernel: build assigns .*random_normal.* expected "
        "a constant"):
      keras_graphs.KerasGraph(lambda: keras_graphs.layers(Drawing(2)))

  @parameterized.parameters(
      (lambda model: keras.utils.clear_session(),
       "^scope: keras.utils.clear_session cannot .* leave it out"),
      (lambda model: model.get_weights(), "^scope: get_weights .* eagerly"),
      (lambda model: model.predict(np.zeros([1, 3])), "^scope: .* predict "),
      (lambda model: model(v1.zeros([1, 5])), "^scope: .*found shape=.1, 5."),
      # Around this error Keras puts some lines.
      (lambda model: keras_graphs.layers()(
          {"a": v1.zeros([1]), "b": v1.zeros([1])}),
       r"^scope: Sequential.call\(\): Layer .* expects 1 input[^\n\x1b]*$"))
  def test_one_line(self, call, expected):
    def model():
      made = keras_graphs.functional()
      call(made)
      return made

    with self.assertRaisesRegex(ValueError, expected):
      keras_graphs.KerasGraph(model)

  def test_errors_of_others(self):
    class Own(keras.layers.Layer):

      def call(self, inputs):
        raise KeyError("mine")

    with self.assertRaisesRegex(KeyError, "mine"):
      keras_graphs.KerasGraph(lambda: keras_graphs.layers(Own()))
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
        keras_graphs.KerasGraph(keras_graphs.layers)

  def test_old_keras(self):
    with mock.patch.object(keras, "__version__", "3.6.0"):
      with self.assertRaisesRegex(
          ValueError, "^Keras is 3.6.0: expected 3.7 or later"):
        keras_graphs.KerasGraph(keras_graphs.layers)

  def test_layers_of_another_graph(self):
    eager = keras_graphs.layers()
    eager(np.zeros([1, 3], "f"))
    for model, message in (
        (eager, "^scope: layer 'dense.*' uses the variable .*/kernel, which "
         "was made outside of the function and would train: .*, or freeze it"),
        (keras_graphs.KerasGraph(keras_graphs.layers).model,
         "^scope: a layer, model or metric of Keras ")):
      with self.assertRaisesRegex(ValueError, message):
        keras_graphs.KerasGraph(lambda made=model: made)


class OtherKerasTest(absltest.TestCase):

  @unittest.skipIf(tf_compat.HAS_KERAS_3, "test_both_in_one_program has it.")
  def test_only_keras_2(self):
    with self.assertRaisesRegex(
        ImportError, "Keras 3 needs TensorFlow 2.16 or later, and this is"):
      tf_compat.keras_3  # pylint: disable=pointless-statement

  @unittest.skipUnless(tf_compat.HAS_KERAS_3,
                       "Keras 3 needs TensorFlow 2.16 or later.")
  def test_both_in_one_program(self):
    found = []
    for keras in tf_compat.keras_3, tf_compat.keras, tf_compat.keras_3:
      with v1.Graph().as_default():
        with keras_scope.KerasScope("scope").entered():
          keras.layers.Dense(1)(v1.zeros([2, 3]))
        found.append([v.op.name for v in v1.global_variables()])
    one = ["scope/dense/kernel", "scope/dense/bias"]
    self.assertEqual([one, ["dense/kernel", "dense/bias"], one], found)


if __name__ == "__main__":
  absltest.main()

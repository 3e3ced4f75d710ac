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

_CASES = [("keras 3", None, "")]
if tf_compat.HAS_KERAS_3:
  keras = tf_compat.keras_3

  class _Branching(keras.layers.Layer):

    def call(self, inputs):
      return inputs * 2. if keras.ops.sum(inputs) > 0. else inputs

  class _Drawing(keras.layers.Dense):

    def build(self, input_shape):
      super().build(input_shape)
      self.kernel.assign(v1.random_normal(self.kernel.shape))

  def _adapted(unused_outside):
    layer = keras.layers.Normalization()
    layer.adapt(np.eye(3, dtype="f"))
    return keras_graphs.layers(layer)

  def _with_weights(unused_outside):
    model = keras_graphs.layers()
    model.build([None, 3])
    model.set_weights([np.ones(v.shape) for v in model.weights])
    return model

  def _words(unused_outside):
    layer = keras.layers.StringLookup()
    layer.adapt(np.array(["red"]))
    return layer

  # Of a name, a function of a layer that was made eagerly, and an error.
  _CASES = [
      ("outside", keras_graphs.layers, "EagerTensor"),
      ("adapted", _adapted, "is assigned"),
      ("vocabulary", _words, "eager"),
      ("weights", _with_weights, "/kernel is assigned"),
      ("drawn", lambda _: keras_graphs.layers(_Drawing(2)), "random_normal"),
      ("branch", lambda _: keras_graphs.layers(_Branching()), "Branching.call"),
      ("values", lambda outside: keras_graphs.layers(outside).get_weights(),
       "numpy"),
  ]


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
          samples = []
          for _ in range(2):
            samples += session.run(noise)
            session.run(updates)
      self.assertLen({tuple(sample) for sample in samples}, 4)
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
      keras_model = keras_graphs.layers()
      keras_model.seen = Seen()
      keras_model.seen.update_state()
      return keras_model

    graph = keras_graphs.KerasGraph(model)
    with graph.graph.as_default(), v1.Session() as session:
      updates = graph.scope.updates()
      session.run(v1.global_variables_initializer())
      values = []
      for _ in range(2):
        values.append(session.run(graph.model.seen.seen.value))
        session.run(updates)
    self.assertEqual([0., 1.], values)

  @parameterized.named_parameters(
      ("branch", lambda assign: v1.cond(
          v1.placeholder(v1.bool, []), assign, lambda: 1.)),
      ("loop", lambda assign: tf_compat.v2.while_loop(
          lambda i: i < 3, lambda i: [assign() + i], [v1.constant(0.)])),
      ("function", lambda assign: tf_compat.v2.function(assign)()))
  def test_assignment_in_a(self, call):
    def model():
      keras_model = keras_graphs.layers(keras_graphs.Counter())
      keras_model.build([None, 3])
      variable = keras_model.layers[1].calls

      def assign():
        variable.assign(1)
        return v1.constant(1.)

      call(assign)
      return keras_model

    graph = keras_graphs.KerasGraph(model)
    with self.assertRaisesRegex(
        ValueError, "scope/.*counter/.* is assigned in a branch"):
      graph.train(lambda: keras.optimizers.SGD(.1))

  @parameterized.named_parameters(*_CASES)
  def test_needs_eager_execution(self, make, expected):
    # Adapted, loaded, made outside, or not to be traced: one line names the
    # search that can train such a model.
    outside = keras.layers.Dense(4)
    outside(np.zeros([1, 4], "f"))
    outside.trainable = False
    with self.assertRaisesRegex(
        ValueError, rf"^scope: [^\n\x1b]*{expected}[^\n\x1b]*\Z") as caught:
      keras_graphs.KerasGraph(lambda: make(outside))
    self.assertIn("adanet.EnsembleSearch", str(caught.exception))

  def test_weights_of_a_file(self):
    saved = keras_graphs.layers()
    saved.build([None, 3])
    path = self.create_tempdir().full_path + "/model.keras"
    saved.save(path)
    with self.assertRaisesRegex(
        ValueError, "^scope: scope/dense[_0-9]*/kernel is assigned .*EnsembleSearch"):
      keras_graphs.KerasGraph(lambda: keras.models.load_model(path))

  def test_refused_weights_that_a_builder_does_without(self):
    # What is refused explains no other error.
    def model():
      with self.assertRaisesRegex(ValueError, "is assigned"):
        _with_weights(None)
      raise ValueError("mine")

    with self.assertRaisesRegex(ValueError, "^mine$"):
      keras_graphs.KerasGraph(model)

  @parameterized.parameters(
      (lambda model: model(v1.zeros([1, 5])), "^scope: .*found shape=.1, 5."),
      # Around this error Keras puts some lines.
      (lambda model: keras_graphs.layers()(
          {"a": v1.zeros([1]), "b": v1.zeros([1])}),
       r"^scope: [^\n\x1b]*expects 1 input[^\n\x1b]*$"),
      (lambda model: keras.utils.FeatureSpace({"a": "string_categorical"})(
          {"a": v1.constant(["b"])}), r"^scope: [^\n]*\.adapt[^\n]*\. A graph "
       "cannot adapt: take features such as string_hashed, or train .*Ensemble"
      ))
  def test_one_line(self, call, expected):
    def model():
      keras_model = keras_graphs.functional()
      call(keras_model)
      return keras_model

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
    model = keras_graphs.KerasGraph(keras_graphs.layers).model
    with self.assertRaisesRegex(ValueError, "^scope: .*adanet.EnsembleSearch"):
      keras_graphs.KerasGraph(lambda: model)


class OtherKerasTest(absltest.TestCase):

  @unittest.skipIf(tf_compat.HAS_KERAS_3, "test_both_in_one_program has it.")
  def test_only_keras_2(self):
    with self.assertRaisesRegex(
        ImportError, "Keras 3 needs TensorFlow 2.16 or later, and this is"):
      tf_compat.keras_3  # pylint: disable=pointless-statement

  @unittest.skipUnless(tf_compat.HAS_KERAS_3,
                       "Keras 3 needs TensorFlow 2.16 or later.")
  def test_both_in_one_program(self):
    names = []
    for keras in tf_compat.keras_3, tf_compat.keras, tf_compat.keras_3:
      with v1.Graph().as_default():
        with keras_scope.KerasScope("scope").entered():
          keras.layers.Dense(1)(v1.zeros([2, 3]))
        names.append([v.op.name for v in v1.global_variables()])
    keras_3_names = ["scope/dense/kernel", "scope/dense/bias"]
    self.assertEqual(
        [keras_3_names, ["dense/kernel", "dense/bias"], keras_3_names], names)


if __name__ == "__main__":
  absltest.main()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of networks that are functions or Keras models, without training.

A Keras model gets the features that Keras would give it.
"""

import types
import unittest

from absl.testing import absltest
from absl.testing import parameterized
from adanet import heads as heads_lib
from adanet import tf_compat
from adanet.estimator import auto_inputs
from adanet.estimator import auto_networks
from adanet.testing import level
from adanet.tf_compat import keras_scope

_FLAT = {"a": 1., "b": 2.}
_MORE = {"A": 5., "b": 2., "a": 1., "c": 7.}
_PQ = {"p": 1., "q": 2.}
_NESTED = {"x": [1., 2.], "y": 3.}
_IN_LIST = [{"a": 1., "b": 2., "A": 5.}, 3.]
_ERROR = "expected one"

# From the inputs of a model, by their names, to features, to what the model
# returns: the first input, ten times the second and a hundred times the third.
# They are in the order in which a structure is flattened. Of a pair, the second
# is what Keras of TensorFlow 1 does, which goes by the names of inputs.
_CASES = (
    ({"a": "p", "b": "q"}, (
        (_FLAT, (21., _ERROR)), (_MORE, (21., _ERROR)), ([1., 2.], 21.),
        ((1., 2.), 21.), (_PQ, (_ERROR, 21.)), ({"a": 1.}, _ERROR))),
    ({"a": "b", "b": "a"}, ((_FLAT, (21., 12.)), (_MORE, (21., 12.)))),
    ({"b": "a", "a": "b"}, ((_FLAT, (21., 12.)),)),
    ({"a": None, "b": None}, ((_FLAT, (21., _ERROR)), ([1., 2.], 21.))),
    (["a", "b"], ((_FLAT, 21.), (_MORE, 21.), ([1., 2.], 21.))),
    (("b", "a"), ((_FLAT, 12.), (_MORE, 12.), ((1., 2.), 21.))),
    ([None, None], (([1., 2.], 21.), (_FLAT, _ERROR))),
    ({"x": ["k", "l"], "y": "m"}, (
        (_NESTED, (321., _ERROR)), (_FLAT, _ERROR))),
    ([{"a": "k", "b": "l"}, "m"], ((_IN_LIST, 321.), (_FLAT, _ERROR))),
    ("a", ((_FLAT, 1.), ({"z": 1.}, 1.), (1., 1.), (_PQ, _ERROR),
           ({"z": 1., "weight": 9.}, 1.))),
    (["a"], ((_FLAT, 1.), ({"z": 1.}, 1.), ({"z": 1., "weight": 9.}, 1.))),
    ({"a": "p"}, ((_FLAT, (1., _ERROR)), ({"z": 1.}, 1.),
                  ({"z": 1., "weight": 9.}, 1.))),
    (["a", "weight"], (({"a": 1., "weight": 2.}, 21.),)),
    ("Sequential", (({"z": 1.}, 1.), ({"z": 1., "weight": 9.}, 1.), (1., 1.))),
    ("Sequential a", (
        (_FLAT, 1.), ({"z": 1.}, 1.), ({"z": 1., "weight": 9.}, 1.),
        (_PQ, _ERROR))),
)
_KERASES = [tf_compat.keras] + (
    [tf_compat.keras_3] if tf_compat.HAS_KERAS_3 else [])


class _TestCase(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.enter_context(tf_compat.v1.Graph().as_default())
    self.enter_context(tf_compat.v1.variable_scope("scope"))

  def _constants(self, features):
    return tf_compat.v2.nest.map_structure(
        lambda value: tf_compat.v1.constant([[value]]), features)

  def _function(self, function, features=1., training=True):
    network = auto_networks.FunctionNetwork(function, "owner")
    return network(self._constants(features), training)

  def _keras(self, make_model, features=1., training=True):
    network = auto_networks.KerasNetwork(make_model, "owner")
    return network(self._constants(features), training)

  def _run(self, tensors):
    tf = tf_compat.v1
    with tf.Session() as session:
      session.run(tf.global_variables_initializer())
      return tf_compat.v2.nest.map_structure(
          lambda value: value.ravel().tolist(), session.run(tensors))

  def _names(self):
    return [v.op.name for v in tf_compat.v1.trainable_variables()]


class FunctionTest(_TestCase):

  def _scaled(self, features, regularizer=None):
    return features * tf_compat.v1.get_variable(
        "w", [], initializer=tf_compat.v1.constant_initializer(2.),
        regularizer=regularizer)

  def test_logits_are_the_last_layer(self):
    outputs = self._function(self._scaled, 3.)
    self.assertIs(outputs.logits, outputs.last_layer)
    self.assertEqual([6.], self._run(outputs.logits))
    self.assertEqual(["scope/network/w"], self._names())
    self.assertIsNone(outputs.variables)

  def test_pair(self):
    outputs = self._function(lambda features: (features, features + 1.))
    self.assertEqual([[1.], [2.]],
                     self._run([outputs.last_layer, outputs.logits]))

  def test_heads(self):
    outputs = self._function(lambda features: {"a": features, "b": -features})
    self.assertEqual({"a": [1.], "b": [-1.]}, self._run(outputs.logits))
    self.assertIs(outputs.logits, outputs.last_layer)
    # The heads share a last layer.
    outputs = self._function(lambda features: (
        -features, {"a": features, "b": 2. * features}))
    self.assertEqual({"a": [-1.], "b": [-1.]}, self._run(outputs.last_layer))

  @parameterized.parameters(True, False)
  def test_training(self, training):
    outputs = self._function(
        lambda features, training: features * (2. if training else 3.),
        training=training)
    self.assertEqual([2. if training else 3.], self._run(outputs.logits))

  def test_regularization_and_updates_that_the_function_makes(self):
    tf = tf_compat.v1
    keys = tf.GraphKeys
    tf.add_to_collection(keys.REGULARIZATION_LOSSES, tf.constant(100.))
    tf.add_to_collection(keys.UPDATE_OPS, tf.no_op())
    updates = []

    def function(features):
      updates.append(tf.no_op())
      tf.add_to_collection(keys.UPDATE_OPS, updates[0])
      return self._scaled(features, tf_compat.keras.regularizers.l2(.5))

    outputs = self._function(function)
    self.assertEqual([[2.]], self._run(outputs.regularization))
    self.assertEqual(updates, outputs.updates)

  def test_calls_share_variables(self):
    network = auto_networks.FunctionNetwork(self._scaled, "owner")
    ones, twos = (network(self._constants(x), True).logits for x in (1., 2.))
    self.assertEqual([[2.], [4.]], self._run([ones, twos]))
    self.assertEqual(["scope/network/w"], self._names())

  @parameterized.parameters(True, False)
  def test_new_variables_at_the_second_call(self, trainable):
    network = auto_networks.FunctionNetwork(
        lambda features: features * tf_compat.v1.Variable(
            1., trainable=trainable), "owner")
    network(self._constants(1.), True)
    with self.assertRaisesRegex(
        ValueError, "^owner fails at its second call, .*variable") as caught:
      network(self._constants(1.), True)
    self.assertNotIn("\n", str(caught.exception))

  @parameterized.parameters(
      (None,), ([],), ({"a": None},), ((None, None),), ("text",))
  def test_no_logits(self, result):
    with self.assertRaisesRegex(ValueError, "^owner returned .*: expected log"):
      self._function(lambda features: result)


class _KerasTests:
  """Tests of both Kerases.

  Attributes:
    keras: module, that of one.
  """

  def _dense(self, **kwargs):
    return self.keras.layers.Dense(
        1, use_bias=False, kernel_initializer="ones", **kwargs)

  def _one_dense(self):
    """Returns a model whose logits are the features."""
    return self.keras.Sequential([self._dense()])

  def _normalizing(self):
    return self.keras.Sequential([
        self.keras.layers.BatchNormalization(momentum=.5),
        self.keras.layers.Dropout(1 - 1e-6),
        self._dense(kernel_regularizer=self.keras.regularizers.l2(3.)),
        self._dense(trainable=False)])

  def test_training(self):
    outputs = self._keras(self._normalizing, 4.)
    self.assertEqual([0.], self._run(outputs.logits))
    self.assertEqual([[3.]], self._run(outputs.regularization))
    normalization = "scope/sequential/batch_normalization/"
    names = [v.op.name for v in outputs.variables]
    self.assertEqual([normalization + "gamma", normalization + "beta",
                      "scope/sequential/dense/kernel"], names)
    self.assertContainsSubset(names, self._names())
    self._assert_updates(outputs, normalization + "moving_mean")

  def test_evaluation(self):
    outputs = self._keras(self._normalizing, 4., training=False)
    self.assertAlmostEqual(4., self._run(outputs.logits)[0], delta=.01)
    self.assertEqual(((), (), []), outputs[2:])

  def test_subclass(self):
    class Subclass(self.keras.Model):

      def __init__(self, layer):
        super().__init__()
        self.dense = layer

      def call(self, features):
        return {"last_layer": features["y"],
                "logits": self.dense(features["x"])}

    outputs = self._keras(
        lambda: Subclass(self._dense()), {"x": 3., "y": 5.})
    self.assertEqual([[5.], [3.]],
                     self._run([outputs.last_layer, outputs.logits]))
    self.assertEqual(["scope/subclass/dense/kernel"], self._names())


class KerasTest(_KerasTests, _TestCase):
  keras = tf_compat.keras

  def _functional(self):
    x = self.keras.Input([1], name="x")
    h = self._dense(activity_regularizer=self.keras.regularizers.l2(1.))(x)
    h = self.keras.layers.BatchNormalization()(h)
    return self.keras.Model(x, self._dense()(h))

  def _assert_updates(self, outputs, name):
    tf = tf_compat.v1
    mean = tf.global_variables()[2]
    self.assertEqual(name, mean.op.name)
    with tf.Session() as session:
      session.run(tf.global_variables_initializer())
      session.run(outputs.updates)
      self.assertEqual([2.], session.run(mean).tolist())

  def test_functional(self):
    outputs = self._keras(self._functional, {"x": 3.})
    # Neither depends on the placeholder that the model was made with.
    self.assertEqual([[9.]], self._run(outputs.regularization))
    self.assertLen(outputs.updates, 2)
    self._run(outputs.logits)
    self.assertEqual("scope/dense/kernel", self._names()[0])

  def test_training_reaches_the_layers_of_a_subclass(self):
    # Its call takes no argument training.
    class Subclass(self.keras.Model):

      def __init__(self):
        super().__init__()
        self.dropout = tf_compat.keras.layers.Dropout(1 - 1e-6)

      def call(self, features):
        return self.dropout(features)

    self.assertEqual([0.], self._run(self._keras(Subclass).logits))
    self.assertEqual(
        [1.], self._run(self._keras(Subclass, training=False).logits))

  def test_calls_share_variables(self):
    network = auto_networks.KerasNetwork(self._normalizing, "owner")
    calls = [network(self._constants(x), True) for x in (1., 2.)]
    self.assertLen(calls[0].updates, 2)
    self.assertLen(calls[1].updates, 2)
    self.assertNoCommonElements([u.name for u in calls[0].updates],
                                [u.name for u in calls[1].updates])
    self.assertLen(tf_compat.v1.global_variables(), 6)

  def test_names_do_not_depend_on_name_scopes(self):
    names = []
    for _ in range(2):
      # Each variable scope opens a new name scope: a, a_1.
      with tf_compat.v1.variable_scope("a", reuse=bool(names)):
        outputs = self._keras(self._one_dense)
      names.append(outputs.variables[0].op.name)
    self.assertStartsWith(names[0], "scope/a/")

  def test_model_that_was_made_before(self):
    models = [tf_compat.keras.Sequential([
        tf_compat.keras.layers.Dense(1, input_shape=[1])])]
    with tf_compat.v1.Graph().as_default():
      models.append(tf_compat.keras.Sequential([
          tf_compat.keras.layers.Dense(1, input_shape=[1])]))
    self._keras(lambda: models[0])  # It is of this graph.
    with self.assertRaisesRegex(
        ValueError, "^owner returned a model that was made before"):
      self._keras(lambda: models[1])

  def test_feature_columns(self):
    dense_features = getattr(tf_compat.keras.layers, "DenseFeatures", None)
    if dense_features is None:
      self.skipTest("This Keras has no DenseFeatures.")
    column = tf_compat.v1.feature_column.numeric_column("z")
    outputs = self._keras(
        lambda: tf_compat.keras.Sequential([
            dense_features([column]), self._dense()]), {"z": 3.})
    self.assertEqual([3.], self._run(outputs.logits))


@unittest.skipUnless(tf_compat.HAS_KERAS_3,
                     "Keras 3 needs TensorFlow 2.16 or later.")
class Keras3Test(_KerasTests, _TestCase):

  def setUp(self):
    super().setUp()
    self.keras = tf_compat.keras_3
    self._scope = keras_scope.KerasScope("scope")
    self.enter_context(self._scope.entered())

  def _assert_updates(self, outputs, name):
    self.assertEqual((), outputs.updates)
    # Two of the normalization, and one of the seed.
    self.assertLen(self._scope.updates(), 3)

  def test_evaluation(self):
    super().test_evaluation()
    self.assertEmpty(self._scope.updates())

  def test_model_that_was_made_before(self):
    with tf_compat.v1.Graph().as_default():
      model = self._normalizing()
      model.build([None, 1])
    with self.assertRaisesRegex(
        ValueError, "^owner returned a model that was made before"):
      self._keras(lambda: model)


class HeadsTest(parameterized.TestCase):
  """Which output of a model is for which head, by numbers for tensors."""

  def _by_head(self, result, names=None, heads=("a", "b")):
    return auto_networks.by_head(
        result, types.SimpleNamespace(output_names=names), heads, "owner")

  @parameterized.parameters(
      ([1, 2], ["a", "b"], {"a": 1, "b": 2}),
      ((1, 2), ["b", "a"], {"a": 2, "b": 1}),
      ([1, 2], ["other", "names"], {"a": 1, "b": 2}),
      ((1, 2), None, {"a": 1, "b": 2}),  # Of a subclass.
      ({"b": 2, "a": 1}, None, {"a": 1, "b": 2}),
      ((3, {"a": 1, "b": 2}), None, (3, {"a": 1, "b": 2})),
      ({"last_layer": 3, "logits": {"a": 1}}, None, [3, {"a": 1}]),
      ({"last_layer": 3, "logits": 1}, None, {"last_layer": 3, "logits": 1}))
  def test_outputs(self, result, names, expected):
    self.assertEqual(expected, self._by_head(result, names))

  def test_one_head(self):
    self.assertEqual(1, self._by_head([1], heads=()))
    self.assertEqual([3, 1], self._by_head(
        {"last_layer": 3, "logits": 1}, heads=()))

  @parameterized.parameters(
      (("a", "other"), ("a", "b")), (("a", "b", "c"), ("a", "b")),
      (("a", "b"), ("a", "b", "c")), (("x1", "x2", "x3"), ("a", "b")))
  def test_outputs_that_are_not_the_heads(self, names, heads):
    with self.assertRaisesRegex(
        ValueError,
        f"^owner: the model has the {len(names)} outputs {', '.join(names)}, "
        f"and the heads are {', '.join(heads)}: expected") as caught:
      self._by_head(list(names), names, heads)
    self.assertNotIn("\n", str(caught.exception))


def _model(keras, names):
  """Returns a model whose inputs have some names, in the same structure."""
  nest = tf_compat.v2.nest
  layers = keras.layers
  if str(names).startswith("Sequential"):
    named = [layers.InputLayer([1], name="a")] if names.endswith("a") else []
    return keras.Sequential(named + [layers.Activation("linear")])
  inputs = nest.map_structure(lambda name: keras.Input([1], name=name), names)
  outputs = [layers.Lambda(lambda x, i=i: x * 10.**i)(tensor)
             for i, tensor in enumerate(nest.flatten(inputs))]
  return keras.Model(
      inputs, layers.add(outputs) if len(outputs) > 1 else outputs[0])


class AutoInputsTest(parameterized.TestCase):

  def _check(self, keras, names, features, expected):
    """Asserts that a model returns a number, or fails."""
    v1 = tf_compat.v1
    with v1.Graph().as_default():
      model = _model(keras, names)
      tensors = tf_compat.v2.nest.map_structure(
          lambda value: v1.constant([[value]]), features)
      inputs = auto_inputs.ModelInputs(model, "owner", {"weight"})
      if expected is _ERROR:
        with self.assertRaisesRegex(
            ValueError, "^owner: the model has .*the features are"):
          inputs.of(tensors)
        return
      outputs = [model(inputs.of(tensors)) for _ in range(2)]
      with v1.Session() as session:
        self.assertEqual([[[expected]]] * 2,
                         [value.tolist() for value in session.run(outputs)])

  @parameterized.parameters(level.first(list(_CASES)))
  def test_as_keras(self, names, cases):
    for features, expected in cases:
      if isinstance(expected, tuple):
        expected = expected[tf_compat.IS_TENSORFLOW_1]
      for keras in _KERASES:
        with self.subTest(f"{keras.__name__}: {features}"):
          self._check(keras, names, features, expected)

  def test_sequential_of_two_features(self):
    for keras in _KERASES:
      with tf_compat.v1.Graph().as_default():
        inputs = auto_inputs.ModelInputs(
            _model(keras, "Sequential"), "owner", {"weight"})
      self.assertRegex(
          inputs.explained(_FLAT),
          "^owner: a Sequential model takes one feature, .* 'a', 'b': conc")
      for features in 1., [1., 2.], {"a": 1., "weight": 2.}:
        self.assertEqual("", inputs.explained(features))

  def test_weight_columns(self):
    column = tf_compat.v1.feature_column.numeric_column("c")
    for expected, head in (
        (set(), heads_lib.RegressionHead()),
        ({"w"}, heads_lib.MultiClassHead(3, weight_column="w")),
        ({"v", "c"}, heads_lib.MultiHead([
            heads_lib.RegressionHead(weight_column="v", name="1"),
            heads_lib.RegressionHead(weight_column=column, name="2"),
            heads_lib.RegressionHead(name="3")]))):
      self.assertEqual(expected, auto_inputs.weight_columns(head))


if __name__ == "__main__":
  absltest.main()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that a Keras model gets the features that Keras would give it."""

from absl.testing import absltest
from absl.testing import parameterized
from adanet import heads
from adanet import tf_compat
from adanet.estimator import auto_inputs
from adanet.testing import level

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


def _model(keras, names):
  """Returns a model whose inputs have some names, in the same structure."""
  nest = tf_compat.v2.nest
  layers = keras.layers
  if str(names).startswith("Sequential"):
    named = [layers.InputLayer([1], name="a")] if names.endswith("a") else []
    return keras.Sequential(named + [layers.Activation("linear")])
  inputs = nest.map_structure(lambda name: keras.Input([1], name=name), names)
  outputs = [layers.Lambda(lambda x, i=i: x * 10.**i)(one)
             for i, one in enumerate(nest.flatten(inputs))]
  return keras.Model(
      inputs, layers.add(outputs) if len(outputs) > 1 else outputs[0])


class AutoInputsTest(parameterized.TestCase):

  def _check(self, keras, names, features, expected):
    """Asserts that a model returns a number, or fails."""
    v1 = tf_compat.v1
    with v1.Graph().as_default():
      model = _model(keras, names)
      given = tf_compat.v2.nest.map_structure(
          lambda value: v1.constant([[value]]), features)
      inputs = auto_inputs.ModelInputs(model, "owner", {"weight"})
      if expected is _ERROR:
        with self.assertRaisesRegex(
            ValueError, "^owner: the model has .*the features are"):
          inputs.of(given)
        return
      found = [model(inputs.of(given)) for _ in range(2)]
      with v1.Session() as session:
        self.assertEqual([[[expected]]] * 2,
                         [value.tolist() for value in session.run(found)])

  @parameterized.parameters(level.first(list(_CASES), 3))
  def test_as_keras(self, names, cases):
    for features, expected in cases:
      if isinstance(expected, tuple):
        expected = expected[tf_compat.IS_TENSORFLOW_1]
      for keras in [tf_compat.keras] + (
          [tf_compat.keras_3] if tf_compat.HAS_KERAS_3 else []):
        with self.subTest(f"{keras.__name__}: {features}"):
          self._check(keras, names, features, expected)

  def test_sequential_of_two_features(self):
    for keras in [tf_compat.keras] + (
        [tf_compat.keras_3] if tf_compat.HAS_KERAS_3 else []):
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
        (set(), heads.RegressionHead()),
        ({"w"}, heads.MultiClassHead(3, weight_column="w")),
        ({"v", "c"}, heads.MultiHead([
            heads.RegressionHead(weight_column="v", name="1"),
            heads.RegressionHead(weight_column=column, name="2"),
            heads.RegressionHead(name="3")]))):
      self.assertEqual(expected, auto_inputs.weight_columns(head))


if __name__ == "__main__":
  absltest.main()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of how errors that the data cause are explained."""

import functools
import itertools
import unittest

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.core import user_input
import numpy as np

v1 = tf_compat.v1
_OWNER = "builder 'a' of iteration 0"
_SCOPE = "adanet/iteration_0/subnetwork_t0_a/"
_VALUES = {"word": [["red"], ["blue"]], "number": [["1.5"], ["2"]],
           "int": np.int64([[0], [2]]), "double": [[1.], [2.]],
           "float": np.float32([[1.], [2.]])}


def _features():
  return {name: v1.constant(
      value, v1.float64 if name == "double" else None, name=name)
          for name, value in _VALUES.items()}


def _lookup(keras, name, mode, **arguments):
  """Returns a layer that looks up, and the name of its feature."""
  if mode == "tf_idf":
    arguments["idf_weights"] = [.5, .25]
  integers = name == "IntegerLookup"
  return getattr(keras.layers, name)(
      vocabulary=[0, 1] if integers else ["red", "green"], output_mode=mode,
      **arguments), "int" if integers else "word"


_MODES = "one_hot", "multi_hot", "count", "tf_idf"


class BuilderTest(parameterized.TestCase):

  def _explained(self, build):
    """Returns the error of a function of the features, explained."""
    with v1.Graph().as_default():
      features = _features()
      with self.assertRaises(ValueError) as caught:
        with user_input.explained_in_builder(_OWNER, features, None):
          build(features)
    return str(caught.exception)

  def _assert_is_helpful(self, name, message):
    self.assertStartsWith(
        message, f"{_OWNER} cannot use keras.layers.{name} with this "
        "output_mode, because in a graph the layer does not know the size of "
        "its vocabulary: give it max_tokens, such as len(vocabulary) + 1, and "
        "pad_to_max_tokens=True\n")

  @parameterized.parameters(
      *itertools.product(["StringLookup", "IntegerLookup"], _MODES),
      *itertools.product(["TextVectorization"], _MODES[1:]))
  @unittest.skipUnless(tf_compat.HAS_KERAS_3, "Keras 2 has them, too.")
  def test_lookups_of_keras_3(self, name, mode):
    keras = tf_compat.keras_3
    lookup = functools.partial(_lookup, keras, name, mode)

    def in_model(features):
      layer, feature = lookup()
      inputs = keras.Input([1], dtype=features[feature].dtype.name)
      return keras.Model(inputs, layer(inputs))

    for build in (lambda f: lookup()[0](f[lookup()[1]]), in_model):
      self._assert_is_helpful(name, self._explained(build))
    # What the message proposes is equal to what the layer does elsewhere.
    layer, feature = lookup()
    expected = layer(tf_compat.v2.constant(_VALUES[feature]))
    with v1.Graph().as_default(), v1.Session() as session:
      padded = lookup(max_tokens=3, pad_to_max_tokens=True)[0](
          _features()[feature])
      session.run([v1.global_variables_initializer(), v1.tables_initializer()])
      found = session.run(padded)
    np.testing.assert_array_equal(expected, found)

  @unittest.skipUnless(tf_compat.HAS_KERAS_3, "Keras 2 has no such filter.")
  def test_lookup_of_keras_3_with_the_whole_traceback(self):
    keras = tf_compat.keras_3
    keras.config.disable_traceback_filtering()
    self.addCleanup(keras.config.enable_traceback_filtering)
    layer = functools.partial(_lookup, keras, "StringLookup", "multi_hot")
    self._assert_is_helpful("StringLookup", self._explained(
        lambda features: layer()[0](features["word"])))

  @parameterized.parameters("one_hot", "multi_hot")
  @unittest.skipIf(tf_compat.IS_TENSORFLOW_1, "Its layers are experiments.")
  def test_lookups_of_keras_2(self, mode):
    keras = (tf_compat if tf_compat.HAS_KERAS_3 else tf_compat.v2).keras
    self._assert_is_helpful("StringLookup", self._explained(
        lambda features: _lookup(keras, "StringLookup", mode)[0](
            features["word"])))

  @parameterized.named_parameters(
      ("add", lambda f: f["word"] + f["float"]),
      ("add_to", lambda f: f["float"] + f["word"]),
      ("concat", lambda f: v1.concat([f["number"], f["float"]], 1)),
      ("matmul", lambda f: v1.matmul(f["number"], f["float"])),
      ("multiply", lambda f: f["word"] * f["word"]),
      ("one_hot", lambda f: v1.one_hot(f["word"], 3)))
  def test_strings(self, build):
    self.assertStartsWith(
        self._explained(build),
        f"{_OWNER} cannot take strings, and the feature 'number', 'word' has "
        "them: make numbers of them, by tf.strings.to_number in input_fn or by "
        "a layer such as keras.layers.StringLookup, or leave it out\n")

  @parameterized.named_parameters(
      ("double", lambda f: f["double"] + f["float"], "'double', which is "
       "float64"),
      ("int", lambda f: v1.concat([f["int"], f["float"]], 1), "'int', which is "
       "int64"))
  def test_other_types(self, build, which):
    self.assertStartsWith(
        self._explained(build), f"{_OWNER} cannot take the type of the feature "
        f"{which}: cast it to float32 in input_fn\n")


def _empty_table(features):
  table = v1.lookup.StaticHashTable(
      v1.lookup.KeyValueTensorInitializer(["red"], [1]), -1)
  return table.lookup(features["word"])


class RunTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ("cast", lambda f: v1.cast(f["number"], v1.float32),
       "casts strings to numbers, and the feature 'number', 'word' has strings:"
       " make numbers of them, by tf.strings.to_number in input_fn or by a "
       "layer such as keras.layers.StringLookup after keras.Input"),
      ("word", lambda f: v1.strings.to_number(f["word"]),
       "makes numbers of the feature 'number', 'word', whose strings are none: "
       "give each string a number, in input_fn or by a layer such as "
       "keras.layers.StringLookup after keras.Input"),
      ("to_string", lambda f: v1.cast(f["int"], v1.string),
       "casts int64 to strings: take a layer such as "
       "keras.layers.IntegerLookup, or tf.strings.as_string in input_fn"),
      ("table", _empty_table,
       "looks up in a table without values: give the layer its vocabulary, as "
       "in keras.layers.StringLookup(vocabulary=[...])"))
  def test_first_line(self, build, expected):
    with v1.Graph().as_default(), v1.Session() as session:
      features = _features()
      with v1.name_scope(_SCOPE):
        # A placeholder, so that TensorFlow computes nothing beforehand.
        features = {name: v1.placeholder_with_default(value, value.shape)
                    for name, value in features.items()}
        result = build(features)
      with self.assertRaises(v1.errors.OpError) as caught:
        with user_input.explained_in_run(features):
          session.run(result)
    self.assertStartsWith(caught.exception.message, f"{_OWNER} {expected}")

  def test_error_of_the_program(self):
    with v1.Graph().as_default(), v1.Session() as session:
      features = _features()
      with self.assertRaises(v1.errors.OpError) as caught:
        with user_input.explained_in_run(features):
          session.run(v1.gather(features["int"], [7]))
    self.assertNotIn("The network", str(caught.exception))


if __name__ == "__main__":
  absltest.main()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A mistake of Keras users gets an answer in one line."""

import unittest

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet import tf_compat
from adanet.testing import data_frames
import numpy as np

keras = tf_compat.keras_3 if tf_compat.HAS_KERAS_3 else None

_ROWS = 40
_X = np.random.RandomState(1).randn(_ROWS, 4).astype(np.float32)
_Y = np.arange(_ROWS) % 3
_SPARSE = "sparse_categorical_crossentropy"


def _make(size=3, activation="softmax", **arguments):
  """Returns a function that makes a model, compiled if there are arguments."""

  def make():
    model = keras.Sequential([keras.layers.Dense(size, activation)])
    if arguments:
      model.compile(**arguments)
    return model

  return make


def _two_outputs():
  inputs = keras.Input([4])
  return keras.Model(inputs, [keras.layers.Dense(1, name="a")(inputs),
                              keras.layers.Dense(1, name="b")(inputs)])


def _two_inputs():
  left, right = keras.Input([4], name="left"), keras.Input([4], name="right")
  return keras.Model([left, right], keras.layers.Dense(3, "softmax")(
      keras.layers.Add()([left, right])))


def _fails():
  raise RuntimeError("no\nmodel")


def _of_argument(units):
  return _make(units)()


def _with(array, value):
  """Returns a copy of an array with another first value."""
  array = array.copy()
  array.flat[0] = value
  return array


def _dataset():
  return tf_compat.v2.data.Dataset.from_tensor_slices((_X, _Y)).batch(8)


class _NoSequence:
  """A PyDataset of Keras: it gives batches to Python."""

  def __len__(self):
    return 1

  def __getitem__(self, index):
    return _X, _Y


# Name: (arguments of EnsembleSearch, of fit, words of the answer).
_MISTAKES = {
    # Models.
    "model": ({"models": lambda: _make()()}, {},
              "models is a Keras model: expected a dict"),
    "model_of_dict": ({"models": lambda: {"a": _make()()}}, {},
                      "models['a'] is a Keras model: expected a function"),
    "no_models": ({"models": {}}, {}, "models={}: expected a dict"),
    "function": ({"models": _make()}, {},
                 "models is a function: expected a dict"),
    "model_name": ({"models": {"a b": _make()}}, {},
                   "models has the name 'a b': expected letters"),
    "model_number": ({"models": {"a": 3}}, {}, "models['a'] is 3: expected"),
    "function_of_units": ({"models": {"a": _of_argument}}, {},
                          "models['a']: the function needs the arguments "
                          "units"),
    "model_fails": ({"models": {"a": _fails}}, {},
                    "models['a'] fails to make its model: RuntimeError: no "
                    "model"),
    "no_model_made": ({"models": {"a": lambda: 3}}, {},
                      "models['a'] returned 3: expected a model"),
    "in_a_list": ({"models": [3]}, {}, "models['model_0'] is 3: expected"),
    # Arguments of compile.
    "loss": ({"loss": "mean_squarred_error"}, {},
             "loss='mean_squarred_error': expected the name of a loss"),
    "no_loss": ({"loss": None}, {},
                "loss=None: models['a'] is not compiled: expected a loss"),
    "two_losses": (
        {"loss": None, "models": {
            "a": _make(loss="mse"), "b": _make(loss="mae")}}, {},
        "models['a'] is compiled with 'mse', and models['b'] with 'mae'"),
    "metric": ({"metrics": ["acuracy"]}, {}, "metrics='acuracy': expected"),
    "optimizer": ({"optimizer": "adamm"}, {},
                  "optimizer='adamm': expected a name"),
    "loss_weights": ({"loss_weights": "a"}, {}, "loss_weights: got 'a'"),
    "losses_for_one_output": ({"loss": ["mse", "mae"]}, {},
                              "loss has 2 parts: expected one"),
    "too_few_losses": (
        {"models": {"a": _two_outputs}, "loss": {"a": "mse"}},
        {"y": [_Y, _Y]},
        "loss has the keys ['a']: expected a loss for each output of the "
        "models: a, b"),
    "jit_compile": ({"jit_compile": True}, {},
                    "EnsembleSearch has no argument jit_compile: give it to"),
    "seed": ({"seed": -1}, {}, "seed=-1: expected an int from 0"),
    "directory": ({"directory": 3}, {}, "directory=3: expected a path"),
    "no_directory": ({"directory": ""}, {},
                     "directory='': expected the path of a folder, or None. "),
    # Outputs.
    "logits": ({"models": {"a": _make(activation=None)}}, {},
               "models['a'] returns numbers that are not probabilities, and "
               "the loss sparse_categorical_crossentropy takes probabilities"),
    "relu": ({"models": {"a": _make(1, "relu")},
              "loss": "binary_crossentropy"}, {"x": _X * 9, "y": _Y % 2},
             "models['a'] returns numbers that are not probabilities"),
    "probabilities": (
        {"loss": lambda: keras.losses.SparseCategoricalCrossentropy(
            from_logits=True)}, {},
        "models['a'] returns probabilities, and the loss "
        "sparse_categorical_crossentropy has from_logits=True"),
    "other_outputs": (
        {"models": {"a": _make(1, None), "b": _two_outputs}, "loss": "mse"}, {},
        "models['b']: the model has the 2 outputs a, b"),
    # Labels.
    "no_y": ({}, {"y": None}, "y=None: expected the labels of x"),
    "strings": ({}, {"y": np.array(["cat", "dog"] * 20)},
                "y has strings, such as 'cat': expected numbers"),
    "rows": ({}, {"y": _Y[:9]}, "x has 40 rows and y has 9"),
    "class_of_3": ({}, {"y": _Y + 1},
                   "y has classes from 1 to 3, and models['a'] has 3 outputs: "
                   "the loss sparse_categorical_crossentropy expects integers "
                   "from 0 to 2"),
    "one_hot": ({}, {"y": np.eye(3)[_Y]},
                "y has the shape [n, 3], and models['a'] returns [n, 3]: the "
                "loss sparse_categorical_crossentropy expects classes"),
    "no_one_hot": ({"loss": "categorical_crossentropy"}, {},
                   "For classes as integers use "
                   "\"sparse_categorical_crossentropy\""),
    "size": ({"models": {"a": _make(4, None)}, "loss": "mse"},
             {"y": np.ones([_ROWS, 2])},
             "y has the shape [n, 2], and models['a'] returns [n, 4]"),
    "no_binary": ({"models": {"a": _make(1, "sigmoid")},
                   "loss": "binary_crossentropy"}, {},
                  "y has numbers from 0 to 2: the loss binary_crossentropy "
                  "expects 0 and 1"),
    "nan_in_y": ({"models": {"a": _make(1, None)}, "loss": "mse"},
                 {"y": _with(np.ones(_ROWS), np.nan)},
                 "y has NaN in 1 of 40 rows"),
    "labels_for_one_output": ({}, {"y": [_Y, _Y]},
                              "y has 2 arrays, and the models have one output"),
    "labels_of_wrong_names": (
        {"models": {"a": _two_outputs}, "loss": "mse"},
        {"y": {"a": _Y, "c": _Y}},
        "y: expected a dict with the keys ['a', 'b']"),
    # Inputs.
    "nan": ({}, {"x": _with(_X, np.nan)}, "x has NaN in 1 of 40 rows"),
    "infinity": ({}, {"x": _with(_X, np.inf)}, "x has infinity in 1 of 40"),
    "number": ({}, {"x": 3}, "x is 3: expected an array"),
    "no_rows": ({}, {"x": _X[:0], "y": _Y[:0]}, "x has no rows"),
    "dataset": ({}, {"x": _dataset},
                "x is a tf.data.Dataset: expected a function that makes"),
    "generator": ({}, {"x": iter([_X])}, "which Python reads: expected arrays"),
    "sequence": ({}, {"x": _NoSequence()},
                 "which Python reads: expected arrays"),
    "columns": ({}, {"x": _X[:, :0]},
                "x has the shape [40, 0]: expected a number"),
    "x_of_other_shape": (
        {"models": {"a": lambda: keras.Sequential([
            keras.Input([5]), keras.layers.Dense(3, "softmax")])}}, {},
        "models['a'] does not take x"),
    "missing_input": ({"models": {"a": _two_inputs}},
                      {"x": {"left": _X, "rigth": _X}},
                      "models['a']: the model has the inputs ['left', "
                      "'right']"),
    "frame_of_strings": (
        {}, {"x": data_frames.FrameLikePandas({"city": ["Rome", "Oslo"] * 20})},
        "x['city'] has strings, and the models take the data frame as one"),
    "frame_with_none": (
        {}, {"x": data_frames.FrameLikePandas({"city": [None, "Oslo"] * 20})},
        "x['city'] has 'Oslo' among its values"),
    "dates": ({}, {"x": np.zeros([_ROWS, 1], "datetime64[s]")},
              "x has the type datetime64[s]: expected numbers or text"),
    "function_and_y": ({}, {"x": lambda: _dataset},
                       "y: expected None where x is a function"),
    "function_alone": ({}, {"x": lambda: _dataset, "y": None},
                       "validation_data=None: expected a function"),
    "single_examples": (
        {}, {"x": lambda: lambda: _dataset().unbatch(), "y": None,
             "validation_data": lambda: _dataset},
        "x returned a tf.data.Dataset of single examples: expected batches"),
    "endless": ({}, {"x": lambda: lambda: _dataset().repeat(), "y": None,
                     "validation_data": lambda: _dataset},
                "x returned a tf.data.Dataset without an end"),
    "not_a_dataset": ({}, {"x": lambda: lambda: _X, "y": None,
                           "validation_data": lambda: _dataset},
                      "x returned a value of type ndarray: expected a tf.data"),
    # Other arguments of fit.
    "callbacks": ({}, {"callbacks": []}, "fit has no argument callbacks: each "
                  "network ends by patience"),
    "steps_per_epoch": ({}, {"steps_per_epoch": 9},
                        "fit has no argument steps_per_epoch: an epoch is all"),
    "misspelled": ({}, {"epoch": 9}, "fit has no argument epoch: its name is "
                   "epochs"),
    "epochs": ({}, {"epochs": 0}, "epochs=0: expected an int of at least 1"),
    "batch_size": ({}, {"batch_size": 3.5},
                   "batch_size=3.5: expected an int of at least 1"),
    "patience": ({}, {"patience": -1}, "patience=-1: expected an int"),
    "iterations": ({}, {"iterations": None},
                   "iterations=None: expected an int"),
    "max_seconds": ({}, {"max_seconds": 0}, "max_seconds=0: expected a number"),
    "verbose": ({}, {"verbose": 3}, "verbose=3: expected \"auto\", 0, 1 or 2"),
    "executor": ({}, {"executor": 2}, "executor=2: expected an object with"),
    "no_split": ({}, {"validation_split": 0},
                 "validation_split=0: expected more than 0, or validation"),
    "split": ({}, {"validation_split": 20},
              "validation_split=20: expected a number between 0 and 1"),
    "small_split": ({}, {"validation_split": .001},
                    "validation_split=0.001: holds out 0 of 40 rows"),
    "validation_data": ({}, {"validation_data": _X},
                        "validation_data is a value of type ndarray"),
    "validation_rows": ({}, {"validation_data": (_X, _Y[:9])},
                        "validation_data[0] has 40 rows and validation_data[1] "
                        "has 9"),
    "validation_shape": ({}, {"validation_data": (_X[:, :2], _Y)},
                         "validation_data[0] has rows of the shape [2], and x "
                         "of [4]"),
    "validation_classes": ({}, {"validation_data": (_X, _Y + 9)},
                           "validation_data[1] has classes from 9 to 11"),
    "both_weights": ({}, {"sample_weight": _Y, "class_weight": {0: 1.}},
                     "class_weight and sample_weight are both given"),
    "negative_weight": ({}, {"sample_weight": _Y - 1.},
                        "sample_weight has -1.0: expected weights of at least"),
    "weight_rows": ({}, {"sample_weight": _Y[:9]},
                    "x has 40 rows and sample_weight has 9"),
    "class_names": ({}, {"class_weight": {"0": 1.}},
                    "class_weight has the class '0': expected an int"),
    "class_weights_in_list": ({}, {"class_weight": [1., 2.]},
                              "class_weight is a value of type list: expected "
                              "a dict"),
    "class_weight_of_two": (
        {"models": {"a": _two_outputs}, "loss": "mse"},
        {"y": [_Y, _Y], "class_weight": {0: 1.}},
        "class_weight: expected None for models with several outputs"),
}


@unittest.skipUnless(tf_compat.HAS_KERAS_3,
                     "Keras 3 needs TensorFlow 2.16 or later.")
class EnsembleSearchMistakesTest(parameterized.TestCase):

  @parameterized.named_parameters(
      (name, *mistake) for name, mistake in _MISTAKES.items())
  def test_one_line(self, arguments, fit, expected):
    folder = self.create_tempdir().full_path
    arguments = dict({"models": {"a": _make()}, "loss": _SPARSE,
                      "directory": folder}, **arguments)
    fit = dict({"x": _X, "y": _Y, "epochs": 1, "verbose": 0}, **fit)
    # Values that need Keras or TensorFlow are made here.
    for given, name in ((arguments, "loss"), (arguments, "models"), (fit, "x"),
                        (fit, "validation_data")):
      value = given.get(name)
      if callable(value) and getattr(value, "__name__", "") in (
          "<lambda>", "_dataset"):
        given[name] = value()
    with self.assertRaises((TypeError, ValueError)) as caught:
      adanet.EnsembleSearch(**arguments).fit(**fit)
    message = str(caught.exception)
    self.assertIn(expected, message)
    self.assertLen(message.splitlines(), 1)
    self.assertNotIn("input_fn", message)
    self.assertEmpty(tf_compat.v1.io.gfile.listdir(folder))

  def test_message_of_a_graph_has_the_name_of_the_argument(self):
    keras = tf_compat.keras_3

    class Halved(keras.layers.Layer):

      def call(self, x):
        return x / 2 if x[0, 0] > 0 else x  # Works eagerly only.

    make = lambda: keras.Sequential([Halved(), keras.layers.Dense(3)])
    with self.assertRaisesRegex(Exception, r"models\['a'\].*Halved") as caught:
      adanet.EnsembleSearch(
          {"a": make}, keras.losses.SparseCategoricalCrossentropy(True),
          directory=self.create_tempdir().full_path).fit(
              _X, _Y, epochs=1, verbose=0)
    self.assertNotIn("candidate_pool", str(caught.exception))


if __name__ == "__main__":
  absltest.main()

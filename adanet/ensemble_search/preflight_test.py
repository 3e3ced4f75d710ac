# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A mistake gets an answer in one line before the first step."""

from concurrent import futures
import copy
import os
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import ensemble_search as package
from adanet import tf_compat
from adanet.ensemble_search import ensemble_search
from adanet.testing import level
import cloudpickle
import numpy as np

keras, tf = tf_compat.keras_3, tf_compat.v2
_ROWS = 40
_X = np.random.RandomState(1).randn(_ROWS, 4).astype(np.float32)
_Y = np.arange(_ROWS) % 3
_SPARSE = "sparse_categorical_crossentropy"


def _make(size=3, activation="softmax", **arguments):
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


class NeedsNoLabels(keras.Sequential):  # Keras makes a scope of its name.

  def train_step(self, data):
    return {"loss": keras.ops.mean(self(data[0]))}

  test_step = train_step


class BuildsLate(keras.Model):
  """Has a layer that only its step calls."""

  def __init__(self):
    super().__init__()
    self.last = keras.layers.Dense(3, "softmax")
    self.extra = keras.layers.Dense(1)

  def call(self, inputs):
    return self.last(inputs)

  def train_step(self, data):
    self.extra(data[0])
    return super().train_step(data)


def _fails():
  raise RuntimeError("no\nmodel")


def _with(array, value):
  array = array.astype("float32")
  array.flat[0] = value
  return array


def _dataset():
  return tf.data.Dataset.from_tensor_slices((_X, _Y)).batch(8)


def _stream(x, **fit):
  return dict({"x": x, "y": None, "validation_data": _dataset}, **fit)


def _of_layer(layer):
  return lambda: keras.Sequential([
      keras.Input([4]), layer, keras.layers.Dense(3, "softmax")])


def _draws():
  constant = np.random.default_rng().normal(size=[4, 3])
  return keras.Sequential([
      keras.layers.Lambda(lambda x: tf.nn.softmax(tf.matmul(x, constant)))])


def _with_bools():
  inputs = keras.Input([4])
  outputs = keras.layers.Dense(3, "softmax")(inputs)
  return keras.Model(inputs, [outputs, outputs > .5])


def _in_scope():
  with tf.distribute.OneDeviceStrategy("CPU:0").scope():
    return _make()()


class _WithoutBase(keras.callbacks.Callback):
  """Does not initialize its base class, as the callback of MLflow."""

  def __init__(self):  # pylint: disable=super-init-not-called
    pass

  def on_batch_end(self, batch, logs=None):
    pass


_DROPOUT = keras.layers.Dropout(.5)


class WithOuterDropout(keras.Model):
  """Has seeds of all networks, which no copy of the class can part."""

  def __init__(self):
    super().__init__()
    self.dropout = _DROPOUT
    self.last = keras.layers.Dense(3, "softmax")

  def call(self, inputs, training=False):
    return self.last(self.dropout(inputs, training=training))


_OUTER = keras.layers.Dense(4, name="outer")
_OUTER_MODEL = keras.Sequential([
    keras.Input([4]), keras.layers.Dense(3, "softmax", name="outer_model")])
# Name: (arguments of EnsembleSearch, of fit, words of the answer).
_MISTAKES = {
    "model": ({"models": _make()()}, {}, "models is a Keras model: expected a"),
    "no_models": ({"models": {}}, {}, "models is {}: expected a dict"),
    "function": ({"models": _make()}, {}, "models is a function: expected a"),
    "name": ({"models": {"a/b": _make()}}, {}, "models has the name 'a/b'"),
    "name_of_row": ({"models": {"ensemble": _make()}}, {},
                    "models has the name 'ensemble': expected a string"),
    "long_name": ({"models": {"a" * 99: _make()}}, {}, "of at most 80 bytes"),
    "no_folder": ({"directory": "/dev/null"}, {},
                  "Not a directory: '/dev/null/search.json'"),
    "not_to_write": ({"directory": "/proc/search"}, {},
                     "No such file or directory: '/proc/search"),
    "number": ({"models": {"a": 3}}, {}, "models['a'] is 3: expected"),
    "fails": ({"models": {"a": _fails}}, {},
              "models['a'] fails to make its model: RuntimeError: no model"),
    "returns": ({"models": {"a": lambda: 3}}, {},
                "models['a'] returned 3: expected a model"),
    "shared": ({"models": {"a": _of_layer(_OUTER), "b": _of_layer(_OUTER)}}, {},
               "/outer/kernel, which the function did not make: "),
    "outer": ({"models": {"a": _of_layer(_OUTER)}}, {},
              "/outer/kernel, which the function did not make: expected a layer "
              "that is made in the function, or trainable=False."),
    "draws": ({"models": {"a": _draws}}, {},
              "models['a'] makes another model each time: with the same"),
    "late": ({"models": {"a": BuildsLate}}, {},
             "models['a'] has variables that its train_step alone makes, such "),
    "no_loss": ({"loss": None}, {}, "loss=None: models['a'] is not compiled"),
    "no_compiled_loss": (
        {"loss": None, "models": {"a": _make(optimizer="adam")}}, {},
        "loss=None: models['a'] is compiled without a loss"),
    "two_losses": ({"loss": None, "models": {
        "a": _make(loss="mse"), "b": _make(loss="mae")}}, {
            "y": np.eye(3)[_Y]},
                   "loss=None: models['a'] is compiled with 'mse', and "),
    "jit": ({"jit_compile": True}, {}, "unexpected keyword argument 'jit_compile'"),
    "seed": ({"seed": -1}, {}, "seed=-1: expected an integer in [0, "),
    "directory": ({"directory": 3}, {}, "directory=3: expected the path"),
    "no_directory": ({"directory": ""}, {}, "directory='': expected the path"),
    "gcs": ({"directory": "gs://a/b"}, {}, "expected a folder of this machine"),
    "logits": ({"models": {"a": _make(activation=None)}}, {},
               "models['a'] returns numbers that are not probabilities"),
    "outputs": ({"models": {"a": _make(3), "b": _make(4)}}, {},
                "models['b'] returns [None, 4], and models['a'] [None, 3]"),
    "bools": ({"models": {"a": _with_bools}, "loss": [_SPARSE, None]}, {
        "y": [_Y, _Y]}, "models['a'] returns an output of the type bool"),
    "no_y": ({}, {"y": None},
             "y=None, and models['a'] needs labels: None values not"),
    "no_y_to_judge": ({"models": {"a": lambda: NeedsNoLabels(
        [keras.layers.Dense(3, "softmax")])}}, {"y": None},
                      "y=None, and loss and metrics need labels, such as x, "),
    "strings": ({}, {"y": np.array(["cat", "dog"] * 20)},
                "y has text, which Keras does not take: Give numbers, for "),
    "tensor_of_strings": ({}, {"y": tf.constant(["cat", "dog"] * 20)},
                          "y has text, which Keras does not take: Give"),
    "rows": ({}, {"y": _Y[:9]}, "x has 40 rows and y has 9"),
    "class_of_3": ({}, {"y": _Y + 1},
                   "loss or metrics cannot judge the outputs of models['a']"),
    "nan_in_y": ({"models": {"a": _make(1, None)}, "loss": "mse"},
                 {"y": _with(np.ones(_ROWS), np.nan)},
                 "y has NaN in 1 of 40 rows"),
    "nan_in_x_and_y": ({"models": {"a": _make(1, None)}, "loss": "mse"},
                       {"x": _with(_X, np.nan),
                        "y": _with(np.ones(_ROWS), np.nan)},
                       "y has NaN in 1 of 40 rows"),
    "a_number": ({}, {"x": 3}, "x is 3: expected an array"),
    "lists": ({}, {"x": [[1., 2.]] * 40}, "x[0][0] is 1.0: expected an array"),
    "no_rows": ({}, {"x": _X[:0], "y": _Y[:0]}, "x has no rows"),
    "generator": ({}, _stream(iter([_X])), "x is a generator, which can be"),
    "dates": ({}, {"x": np.zeros([_ROWS, 1], "datetime64[s]")},
              "x has the type datetime64[s], which Keras does not take"),
    "both": ({}, {"x": _dataset, "validation_data": _dataset},
             "y: expected None where x is a dataset"),
    "alone": ({}, {"x": _dataset, "y": None}, "validation_data is None: exp"),
    "examples": ({}, _stream(lambda: _dataset().unbatch()),
                 "x has arrays of [4] rows in a batch, or single examples"),
    "rows_of_batch": ({}, _stream(lambda: ((_X[:3], _Y[:2]) for _ in "ab")),
                      "x has arrays of [2, 3] rows in a batch"),
    "rows_of_held_out": ({}, _stream(
        _dataset, validation_data=lambda: ((_X[:3], _Y[:2]) for _ in "ab")),
                         "validation_data has arrays of [2, 3] rows"),
    "endless": ({}, _stream(lambda: _dataset().repeat()),
                "x is a tf.data.Dataset without an end"),
    "no_dataset": ({}, _stream(lambda: _X), "x returned a value of type"),
    "callbacks": ({}, {"callbacks": []}, "callbacks is []: expected a function"),
    "no_callbacks": ({}, {"callbacks": lambda: 1}, "callbacks returned 1: exp"),
    "of_batches": ({}, {"callbacks": lambda: [
        keras.callbacks.TerminateOnNaN()]}, "TerminateOnNaN has on_batch_end"),
    "of_batches_too": ({}, {"callbacks": lambda: [
        keras.callbacks.LambdaCallback(on_train_batch_begin=print)]},
                       "LambdaCallback has on_train_batch_begin"),
    "without_base": ({}, {"callbacks": lambda: [_WithoutBase()]},
                     "_WithoutBase has on_batch_end"),
    "often": ({}, {"callbacks": lambda name: [
        keras.callbacks.TensorBoard(name, update_freq=9)]}, "TensorBoard has"),
    "folds": ({}, {"folds": 1}, "folds=1: expected an integer of at"),
    "many_folds": ({}, {"folds": 41}, "folds=41: holds out 0 of 40 rows"),
    "folds_and_data": ({}, {"folds": 2, "validation_data": (_X, _Y)},
                       "folds and validation_data are both given"),
    "folds_of_dataset": ({}, _stream(_dataset, folds=2),
                         "folds: expected None where x is a dataset"),
    "fold_without_weight": ({}, {"folds": 40, "sample_weight": np.arange(40.)},
                            "The weights of all held-out rows in fold"),
    "members": ({}, {"max_members": 0}, "max_members=0: expected an int"),
    "epoch": ({}, {"epoch": 9}, "unexpected keyword argument 'epoch'"),
    "epochs": ({}, {"epochs": 0}, "epochs=0: expected an integer of at"),
    "batch_size": ({}, {"batch_size": 3.5}, "batch_size=3.5: expected an int"),
    "patience": ({}, {"patience": -1}, "patience=-1: expected an int"),
    "iterations": ({}, {"iterations": None}, "iterations=None: expected an"),
    "seconds": ({}, {"max_seconds": 0}, "max_seconds=0: expected a number"),
    "verbose": ({}, {"verbose": 3}, "verbose=3: expected \"auto\", 0, 1 or 2"),
    "strategy": ({"models": {"a": _in_scope}}, {},
                 "models['a'] makes its model in the scope of OneDeviceStrategy"),
    "no_split": ({}, {"validation_split": 0}, "validation_split=0: expected"),
    "split": ({}, {"validation_split": 20}, "validation_split=20: expected"),
    "monitor": ({"monitor": "auc", "mode": "max"}, {}, "monitor='auc': expected"),
    "no_mode": ({"monitor": "val_auc"}, {}, "mode=None and monitor='val_auc': "),
    "max": ({"mode": "max"}, {}, "mode='max' and monitor='val_loss': expected"),
    "mode": ({"mode": "auto"}, {}, "mode='auto' and monitor='val_loss': exp"),
    "no_metric": ({"monitor": "val_auc", "mode": "max"}, {},
                  "monitor='val_auc': the logs of models['a'] are 'val_loss': "),
    "parallel": ({}, {"parallel": 0}, "parallel=0: expected an integer of at"),
    "parallel_executor": (
        {}, {"parallel": 2, "executor": futures.ThreadPoolExecutor(1)},
        "parallel=2 and executor are both given: expected one of them"),
    "splitter": ({}, {"folds": mock.Mock(["split"])},
                 ": expected an integer of at least 2"),
    "pairs": ({}, {"folds": "ab"}, "folds[0]='a': expected pairs of arrays"),
    "no_pairs": ({}, {"folds": []}, "folds has no pairs: expected pairs of"),
    "floats": ({}, {"folds": [([.5], [1])]}, "folds[0]=([0.5], [1]): expected"),
    "masks": ({}, {"folds": [(_Y < 1, _Y > 0)]}, "folds[0]="),
    "empty_pair": ({}, {"folds": [([1, 2], [])]}, "folds[0]=([1, 2], []): exp"),
    "row_out_of_range": (
        {}, {"folds": [([1, 2], [3]), ([1, 2], [40])]},
        "folds[1] has the row 40: expected numbers from 0 to 39, and each row"),
    "row_below": ({}, {"folds": [([-1, 2], [3])]}, "folds[0] has the row -1"),
    "row_of_both": ({}, {"folds": [([1, 2], [2, 3])]},
                    "folds[0] has the row 2: expected numbers from 0 to 39"),
    "small": ({}, {"validation_split": .001}, "holds out 0 of 40 rows"),
    "held_out": ({}, {"validation_data": _X}, "validation_data is a value of"),
    "held_out_shape": ({}, {"validation_data": (_X[:, :2], _Y)},
                       "validation_data[0] has rows of [2], and x of [4]: "),
    "held_out_rows": ({}, {"validation_data": (_X, _Y[:9])},
                      "validation_data[0] has 40 rows and validation_data[1] "),
    "both_weights": ({}, {"sample_weight": _Y, "class_weight": {0: 1.}},
                     "class_weight and sample_weight are both given"),
    "negative": ({}, {"sample_weight": _Y - 1.}, "sample_weight has -1.0"),
    "no_weight": ({}, {"sample_weight": _Y * 0.},
                  "The weights of all held-out"),
    "weight_rows": ({}, {"sample_weight": _Y[:9]},
                    "x has 40 rows and sample_weight has 9"),
    "classes": ({}, {"class_weight": {"0": 1.}}, "class_weight is {'0': 1.0}: "),
    "class_list": ({}, {"class_weight": [1.]}, "class_weight is [1.0]: "),
    "class_weight_of_two": (
        {"models": {"a": _two_outputs}, "loss": "mse"},
        {"y": [_Y, _Y], "class_weight": {0: 1.}},
        "class_weight: expected None"),
}


# What Keras or Python says, with the model's name, and others of their kind.
_MORE = {
    "loss": ({"loss": "mean_squarred_error"}, {},
             "models['a']: Could not interpret loss identifier: mean_sq"),
    "monitor_of_model": (
        {"models": {"a": _make(optimizer="adam", loss=_SPARSE)},
         "metrics": ["accuracy"], "monitor": "val_accuracy", "mode": "max"}, {},
        "monitor='val_accuracy': the logs of models['a'] are 'val_loss': "),
    "metric": ({"metrics": ["acuracy"]}, {},
               "models['a']: Could not interpret metric"),
    "optimizer": ({"optimizer": "adamm"}, {},
                  "models['a']: Could not interpret optimizer"),
    "one_hot": ({"loss": "categorical_crossentropy"}, {}, "models['a']: "),
    "input": ({"models": {"a": lambda: keras.Sequential([
        keras.Input([5]), keras.layers.Dense(3, "softmax")])}}, {},
              "models['a']: "),
    "tokens": ({"models": {"a": lambda: keras.Sequential([
        keras.layers.Embedding(2, 3), keras.layers.Flatten(),
        keras.layers.Dense(3, "softmax")])}}, {"x": _Y[:, None]},
               "models['a']: indices["),
    "shape": ({"models": {"a": _two_outputs}, "loss": "mse"}, {},
              "models['a']: "),
    "two_of_a_class": ({"loss": None, "models": {
        "a": _make(loss=keras.losses.Huber(1.)),
        "b": _make(loss=keras.losses.Huber(2.))}}, {"y": np.eye(3)[_Y]},
                       "of other values, or with other loss_weights: give"),
    "two_loss_weights": ({"loss": None, "models": {
        name: _make(loss="mse", optimizer="adam", loss_weights=[weight])
        for name, weight in (("a", 1.), ("b", 2.))}}, {"y": np.eye(3)[_Y]},
                         "or with other loss_weights: give the loss"),
    "outer_again": ({"models": {"a": _of_layer(_OUTER)}}, {"iterations": 2},
                    "/outer/kernel, which the function did not"),
    "outer_in_folds": ({"models": {"a": _of_layer(_OUTER)}}, {"folds": 2},
                       "/outer/kernel, which the function did not"),
    "outer_model": ({"models": {"a": lambda: _OUTER_MODEL}}, {},
                    "models['a'] would train the variable sequential"),
    "outer_seeds": ({"models": {"a": WithOuterDropout}}, {"iterations": 2},
                    "of another call, and networks change it while they train"),
}


class MistakesTest(parameterized.TestCase):

  @parameterized.named_parameters(
      (name, *mistake) for name, mistake in (
          *_MISTAKES.items(), *level.first(list(_MORE.items()), 2)))
  def test_one_line(self, arguments, fit, expected):
    folder = self.create_tempdir().full_path
    arguments = dict({"models": {"a": _make()}, "loss": _SPARSE,
                      "directory": folder, "seed": 1}, **arguments)
    fit = dict({"x": _X, "y": _Y, "epochs": 1, "verbose": 0}, **fit)
    with self.assertRaises((OSError, TypeError, ValueError)) as caught:
      ensemble_search.EnsembleSearch(**arguments).fit(**fit)
    message = str(caught.exception)
    self.assertIn(expected, message)
    self.assertLen(message.splitlines(), 1)
    self.assertNotIn("networks", os.listdir(folder))

  def test_nan_that_a_model_can_take(self):
    make = lambda: keras.Sequential([
        keras.layers.Lambda(lambda x: tf.where(tf.math.is_nan(x), 0., x)),
        keras.layers.Dense(3, "softmax")])
    ensemble_search.EnsembleSearch(
        {"a": make}, _SPARSE, directory=self.create_tempdir().full_path).fit(
            _with(_X, np.nan), _Y, epochs=1, verbose=0)

  @parameterized.parameters(level.first([
      ("on_epoch_end", lambda model: model.compile("sgd", "mse")),
      ("on_epoch_begin", lambda model: model.make_train_function(force=True))]))
  def test_callback_that_makes_other_steps(self, hook, change):
    """Keras would train with the new steps, or fail."""
    def callbacks():
      callback = keras.callbacks.Callback()
      setattr(callback, hook, lambda epoch, logs=None: (
          epoch and change(callback.model)))
      return [callback]

    search = ensemble_search.EnsembleSearch(
        {"a": _make()}, _SPARSE, directory=self.create_tempdir().full_path)
    with self.assertRaisesRegex(
        ValueError, r"^models\['a'\] failed: ValueError: callbacks: a callback "
        "compiled the model, or called make_train_function, in epoch 2: "
        "expected this in on_train_begin"):
      search.fit(_X, _Y, epochs=3, verbose=0, callbacks=callbacks)

  def test_scope_of_a_strategy(self):
    search = ensemble_search.EnsembleSearch(
        {"a": _make()}, _SPARSE, directory=self.create_tempdir().full_path)
    with tf.distribute.MirroredStrategy(["CPU:0"]).scope():
      with self.assertRaisesRegex(
          ValueError, "^fit runs in the scope of MirroredStrategy: expected no "
          r"strategy of tf.distribute. Leave out strategy.scope\(\): adanet"):
        search.fit(_X, _Y)
    search.fit(_X, _Y, epochs=1, verbose=0)

  def test_label_out_of_range(self):
    """The first step says so; no network is selected."""
    search = ensemble_search.EnsembleSearch({"a": _make()}, _SPARSE)
    labels = np.where(np.arange(_ROWS) == 9, 3., _Y)
    with self.assertRaisesRegex(
        ValueError, "models.'a'. failed: InvalidArgumentError: Received a label"
        " value of 3 which is outside the valid range"):
      search.fit(_X, labels, validation_data=(_X, _Y), verbose=0)

  def test_without_keras_3(self):
    with mock.patch.object(tf_compat, "HAS_KERAS_3", False):
      search_class = package.EnsembleSearch
    with self.assertRaisesRegex(ValueError, "^EnsembleSearch needs Keras 3"):
      search_class(models={})

  def test_nothing_was_trained(self):
    search = ensemble_search.EnsembleSearch({"a": _make()}, _SPARSE)
    for name in ("model", "history", "members"):
      with self.assertRaisesRegex(ValueError, "^Nothing was trained yet"):
        getattr(search, name)

  @parameterized.parameters(
      ("predict", "predict"), ("evaluate", "evaluate"), ("score", "evaluate"),
      ("save", "save"), ("summary", "summary"), ("export", "export"))
  def test_name_of_the_model(self, name, expected):
    search = ensemble_search.EnsembleSearch({"a": _make()}, _SPARSE)
    self.assertFalse(hasattr(search, name))
    with self.assertRaisesRegex(
        AttributeError, f"^EnsembleSearch has no attribute '{name}': expected "
        rf"search\.model\.{expected}, "):
      getattr(search, name)

  def test_other_missing_names(self):
    search = ensemble_search.EnsembleSearch({"a": _make()}, _SPARSE)
    for name in ("no_name", "_repr_png_", "__len__"):
      with self.assertRaisesRegex(
          AttributeError, f"^'EnsembleSearch' object has no attribute '{name}'"):
        getattr(search, name)
    with mock.patch.object(
        search, "_trained_path", side_effect=AttributeError("inner")):
      with self.assertRaisesRegex(AttributeError, "^inner$"):
        _ = search.history
    for copied in (copy.copy(search), copy.deepcopy(search),
                   cloudpickle.loads(cloudpickle.dumps(search))):
      self.assertFalse(hasattr(copied, "predict"))


if __name__ == "__main__":
  absltest.main()

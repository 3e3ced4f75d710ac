# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests what a user of Keras writes first: it is right, or one line says how.
"""

import functools
import tempfile

from absl import logging
from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet import inputs
from adanet.testing import level
from adanet import tf_compat
import numpy as np

_X = np.random.RandomState(0).randn(40, 5).astype("float32")
_IDS = np.arange(40) % 3
_ONE_HOT = np.eye(3)[_IDS]
_WORDS = np.array(["a", "b", "c"])[_IDS]
_FROM_GENERATOR = r"return tf\.data\.Dataset\.from_generator"
_NUMPY = r"use adanet\.inputs\.numpy_input_fn\(x, y, shuffle=True\) to train"


def _keras():
  """Returns the Keras that comes with TensorFlow."""
  return (tf_compat.keras_3 if tf_compat.HAS_KERAS_3 else tf_compat.keras)


def _network(size):
  return _keras().Sequential([_keras().layers.Dense(size)])


def _data(x=_X, y=_IDS, **arguments):
  return inputs.numpy_input_fn(x, y, **{
      "batch_size": 8, "num_epochs": None, "shuffle": True, **arguments})


def _dataset(arrays=(_X, _IDS)):
  return tf_compat.v2.data.Dataset.from_tensor_slices(arrays)


def _batches():
  while True:
    yield _X, _IDS


def _tensors():
  return tf_compat.v1.constant(_X), tf_compat.v1.constant(_IDS[:30])


def _missing(pattern=None):
  """Is an input_fn of a file that is not there."""
  v1, data = tf_compat.v1, tf_compat.v2.data
  files = data.Dataset.list_files(pattern) if pattern else "/nowhere/x.csv"
  return data.TextLineDataset(files).map(
      lambda line: (v1.zeros([5]), v1.zeros([], v1.int32))).batch(8)


class _Sequence:
  """Stands for a `keras.utils.Sequence`, which Keras 3 calls PyDataset."""

  def __len__(self):
    return 5

  def __getitem__(self, index):
    return _X[8 * index:8 * index + 8], _IDS[8 * index:8 * index + 8]


class _Frame:
  """Stands for a `pandas.DataFrame`, which is not needed here."""
  columns = ["a", "b"]
  iloc = None


# What `train` is given, and what the line says.
_INPUTS = (
    ("one_hot", _data(y=_ONE_HOT), r"class ids \(argmax if they are one-hot\)"),
    ("words", _data(y=_WORDS), "Give it a label_vocabulary"),
    ("float_ids", _data(y=_IDS.astype("float32")), r"astype\('int64'\)"),
    ("ids_from_1", _data(y=_IDS + 1, shuffle=False),
     r"^labels: .* values from 0 to 2.*\[3\]"),
    ("no_labels", _data(y=None), r"a pair \(features, labels\)"),
    ("no_labels_in_dataset", lambda: _dataset(_X).batch(8), "labels, too"),
    ("rows", lambda: (_X, _IDS[:30]), "40 rows and labels has 30"),
    ("rows_of_tensors", _tensors, "30 rows, and the logits of the .* have 40"),
    ("array", _X, _NUMPY),
    ("pair", (_X, _IDS), _NUMPY),
    ("lists", lambda: (_X.tolist(), _IDS.tolist()), r"by numpy\.asarray"),
    ("frame", _Frame(), r"use adanet\.inputs\.pandas_input_fn\(x, y, shuffle="),
    ("generator", _batches(), _FROM_GENERATOR),
    ("generator_function", _batches, _FROM_GENERATOR),
    ("sequence", _Sequence(), _FROM_GENERATOR),
    ("sequence_class", _Sequence, _FROM_GENERATOR),
    ("function_of_function", lambda: _data(), "give this function itself"),
    ("function_of_x", lambda x: (x, _IDS), "needs the arguments x: expected a"),
    ("not_batched", _dataset, r"call batch\(\) on the dataset"),
    ("batched_twice", lambda: _dataset().repeat().batch(4).batch(2),
     r"Call batch\(\) once on the dataset"),
    ("weights", lambda: _dataset((_X, _IDS, _X[:, 0])).batch(8), "weight_column"),
    ("file", _missing, "^input_fn cannot read a file: /nowhere/x.csv; No such"),
    ("files", functools.partial(_missing, "/nowhere*"),
     r"^input_fn cannot read a file: No files matched pattern: /nowhere\*$"))

# Calls of an Estimator, and what the line says.
_CALLS = (
    ("callbacks", lambda e: e.train(_data(), callbacks=[]), "patience to stop"),
    ("epochs", lambda e: e.train(_data(), epochs=3),
     "train has no argument epochs: give the Estimator max_iteration_steps"),
    ("steps_per_epoch", lambda e: e.train(_data(), steps_per_epoch=3),
     "max_iteration_steps"),
    ("batch_size", lambda e: e.train(_data(), batch_size=3), "to numpy_input"),
    ("validation_split", lambda e: e.train(_data(), validation_split=.1),
     "give train a validation_input_fn"),
    ("validation_data", lambda e: e.train(_data(), validation_data=(_X, _IDS)),
     "give train a validation_input_fn"),
    ("class_weight", lambda e: e.train(_data(), class_weight={}),
     "weight_column"),
    ("verbose", lambda e: e.train(_data(), verbose=0), "to standard error"),
    ("several", lambda e: e.train(x=_X, y=_IDS, epochs=1),
     r"x, y, epochs: give a function as input_fn, [^;]*; give the Estimator "),
    ("unknown", lambda e: e.train(_data(), sheep=1), "has no argument sheep$"),
    ("arrays", lambda e: e.train(_X, _IDS), _NUMPY),
    ("evaluate_arrays", lambda e: e.evaluate(_X, _IDS), _NUMPY),
    ("evaluate_verbose", lambda e: e.evaluate(_data(), verbose=0),
     "evaluate has no argument verbose"),
    ("predict_array", lambda e: e.predict(_X), "shuffle=False to .* predict"),
    ("predict_batch_size", lambda e: e.predict(_data(), batch_size=3),
     "predict has no argument batch_size"),
    ("predict_file", lambda e: next(e.predict(_missing)), "cannot read a file"),
    ("validation_arrays", lambda e: e.train(
        _data(), validation_input_fn=(_X, _IDS)), _NUMPY),
    ("hooks", lambda e: e.train(
        _data(), hooks=[_keras().callbacks.EarlyStopping()]),
     "hooks must have only SessionRunHooks, got .* EarlyStopping"),
    ("fit", lambda e: e.fit(_X, _IDS, epochs=3), r"call train\(input_fn\)"),
    ("compile", lambda e: e.compile("adam", "mse"), "give the Estimator a head"),
    ("summary", lambda e: e.summary(), r"print\(estimator.history\(\)\)"),
    ("save", lambda e: e.save("x.keras"), "model_dir has all"),
    ("load_weights", lambda e: e.load_weights("x"), "with the same model_dir"),
    ("attribute", lambda e: e.sheep, "no attribute 'sheep'"))

# Arguments of an Estimator, and what the line says.
_ARGUMENTS = (
    ("head_name", dict(head="mse"), r"such as RegressionHead\(\) for \"mse\""),
    ("head_of_keras", dict(head=lambda: _keras().losses.MeanSquaredError()),
     r"BinaryClassHead\(\) for .*got a value of type MeanSquaredError$"),
    ("head_class", dict(head=adanet.heads.MultiClassHead), "Head: call it"),
    ("loss", dict(loss="mse"), "loss: give a head, such as adanet.heads.Regre"),
    ("metrics", dict(metrics=["accuracy"]), "metrics: give metric_fn"),
    ("epochs", dict(epochs=3), "epochs: give the Estimator max_iteration_ste"),
    ("metric", dict(metric_fn=lambda: _keras().metrics.MeanSquaredError()),
     "must be a function .*: make the metric in a function of labels"),
    ("metric_name", dict(metric_fn="accuracy"), "function that returns a dict"),
    ("no_model", dict(candidate_pool={}), "expected at least one model"),
    ("name", dict(candidate_pool={1: lambda: _network(3)}), "must be a str"),
    ("evaluator", dict(evaluator=_data()),
     r"must be an adanet.Evaluator\(input_fn\), .*type ArrayInput without"))


def _estimator(model_dir, classes=3, **arguments):
  return adanet.AutoEnsembleEstimator(**{
      "head": (adanet.heads.MultiClassHead(classes) if classes > 1 else
               adanet.heads.RegressionHead()),
      "candidate_pool": {"a": lambda: _network(classes)},
      "max_iteration_steps": 1, "max_iterations": 1, "model_dir": model_dir,
      **arguments})


class KerasWordsTest(parameterized.TestCase):

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls._trained = _estimator(
        tempfile.mkdtemp(dir=absltest.TEST_TMPDIR.value)).train(_data())

  def _estimator(self, **arguments):
    return _estimator(self.create_tempdir().full_path, **arguments)

  def _assert_line(self, line, call):
    with self.assertRaisesRegex(
        (AttributeError, TypeError, ValueError, tf_compat.v1.errors.OpError),
        line) as caught:
      call()
    self.assertNotIn("\n", str(caught.exception))

  @parameterized.named_parameters(level.first(list(_INPUTS), 2))
  def test_input(self, input_fn, line):
    self._assert_line(line, lambda: self._estimator().train(input_fn))

  @parameterized.named_parameters(*_CALLS)
  def test_call(self, call, line):
    self._assert_line(line, lambda: call(self._trained))

  @parameterized.named_parameters(*_ARGUMENTS)
  def test_argument(self, arguments, line):
    arguments = {
        name: value() if name in ("head", "metric_fn") and
        getattr(value, "__name__", "") == "<lambda>" else value
        for name, value in arguments.items()}
    self._assert_line(line, lambda: self._estimator(**arguments))

  def test_no_steps(self):
    self._assert_line("'max_iteration_steps'", lambda: (
        adanet.AutoEnsembleEstimator(
            adanet.heads.MultiClassHead(3), {"a": lambda: _network(3)})))

  def test_dataset_made_before(self):
    dataset = _dataset().batch(8)
    line = "make (the Dataset|it) in (a|the) function, because each graph needs"
    for call in (
        lambda: self._estimator().train(dataset),
        lambda: self._estimator().train(lambda: dataset),
        lambda: self._trained.evaluate(lambda: dataset),
        lambda: adanet.Evaluator(dataset)):
      self._assert_line(line, call)

  @parameterized.named_parameters(level.first([
      ("bytes", (100 * _X).astype("uint8"), _IDS[:, None], 3),
      ("ints", (10 * _X).astype("int64"), _IDS, 1),
      ("float64", _X.astype("float64"), _X[:, 0].astype("float64"), 1)]))
  def test_right(self, x, y, classes):
    estimator = self._estimator(classes=classes)
    if tf_compat.IS_TENSORFLOW_1 and x.dtype.kind != "f":  # As Keras has it.
      with self.assertRaisesRegex(
          ValueError, f"feature features, which is {x.dtype}: cast it to floa"):
        estimator.train(_data(x, y))
      return
    estimator.train(_data(x, y))
    once = _data(x, y, num_epochs=1, shuffle=False)
    self.assertIn("loss", estimator.evaluate(once))
    self.assertLen(list(estimator.predict(once)), 40)

  def test_tensors_made_before(self):
    tensors = tf_compat.v2.constant(_X), tf_compat.v2.constant(_IDS)
    evaluate = lambda: self._trained.evaluate(lambda: tensors)
    if tf_compat.IS_TENSORFLOW_1:  # Which has them in another graph.
      self._assert_line("a tensor that was made before: make it in", evaluate)
    else:
      self.assertIn("loss", evaluate())

  def test_another_search_in_its_model_dir(self):
    self._assert_line(
        "an empty model_dir", lambda: _estimator(
            self._trained.model_dir, classes=1, max_iterations=2).train(
                _data(), steps=1))

  def test_shuffled_predictions(self):
    for shuffle in True, False:
      with self.assertLogs("absl", "WARNING") as logged:
        self.assertLen(list(self._trained.predict(
            _data(y=None, num_epochs=1, shuffle=shuffle))), 40)
        logging.warning("one more")
      self.assertEqual(shuffle, "use shuffle=False" in "".join(logged.output))

  @level.gate
  def test_input_that_ends(self):
    with self.assertLogs("absl", "WARNING") as logged:
      self._estimator(max_iteration_steps=9).train(_data(num_epochs=1))
    self.assertIn("give num_epochs=None to numpy_input_fn",
                  "".join(logged.output))


if __name__ == "__main__":
  absltest.main()

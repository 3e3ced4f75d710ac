# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what an input_fn may return, and of what is read of it."""

import functools
import unittest

from absl.testing import absltest
from absl.testing import parameterized
from adanet import inputs
from adanet import tf_compat
from adanet.core import evaluator as evaluator_lib
from adanet.testing import builders
from adanet.training import input_fn as input_fn_lib
import numpy as np

v1 = tf_compat.v1
_FEATURES, _LABELS = builders.data()
_CONTEXT = v1.distribute.InputContext(1, 0)
_NOT_BATCHED = r"the labels have the shape \[\], .* call batch\(\) on the datas"


def _features():
  return {"x": v1.constant(_FEATURES)}


def _dataset():
  return v1.data.Dataset.from_tensor_slices(({"x": _FEATURES}, _LABELS))


class _Series:
  """Stands for a `pandas.Series`, of the labels."""

  iloc = None  # By which pandas is known.

  def __array__(self, dtype=None, copy=None):
    return np.array(_LABELS[:, 0], dtype)


def _call(input_fn, mode="train"):
  return input_fn_lib.call(input_fn, mode, tf_compat.RunConfig(), [_CONTEXT])


def _made_before(make):
  """Returns an input_fn of what was made in another graph."""
  with v1.Graph().as_default():
    made = make()
  return lambda: made


class CallTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ("no_labels", _features, "must return labels, too, as a pair .*, got di"),
      ("labels_none", lambda: (_features(), None),
       "must return labels, too, got None"),
      ("three", lambda: (_features(), 1, 2), "got 3 values. .*weight_column"),
      ("no_function", 3, "input_fn must be a function .*, got 3"),
      ("array", np.zeros([9, 3]), "got .* ndarray: .*numpy_input_fn"),
      ("none", lambda: None, "must return .features, labels. .*, got None"),
      ("function", lambda: _dataset, "give this function itself as input_fn"),
      ("iterator", lambda: iter([_features()]),
       "got .*list_iterator: .*from_generator"),
      ("lists", lambda: ({"x": [[1.], [2.]]}, [[1.], [2.]]),
       "the feature 'x' is a list of Python's values: .* numpy.asarray"),
      ("no_batch", lambda: _dataset().map(lambda x, y: (x, y[0])),
       _NOT_BATCHED),
      ("no_batch_of_features", lambda: (v1.constant(1.), v1.ones([2, 1])),
       r"the features have the shape \[\]"),
      ("tensor_made_before", _made_before(lambda: (v1.ones([2, 1]),) * 2),
       "returned a tensor that was made before: make it in the function"),
      ("dataset_made_before", _made_before(_dataset),
       "returned a tf.data.Dataset that was made before: make it in the func"),
      ("unknown_argument", lambda mode, rows, columns=3: None,
       "needs the arguments rows: expected a function of some of mode, config"),
      ("rows", lambda: ({"x": _FEATURES}, _LABELS[:5]),
       "^features.'x'. has 32 rows and labels has 5: expected as many in each"),
  )
  def test_bad_input(self, input_fn, message):
    with v1.Graph().as_default():
      with self.assertRaisesRegex(ValueError, message) as caught:
        _call(input_fn)
    self.assertNotRegex(str(caught.exception), r"\n|\d\.\d")  # Nor any data.

  @unittest.skipIf(tf_compat.IS_TENSORFLOW_1, "All tensors are of a graph.")
  def test_tensor_of_eager_execution(self):
    rows = v1.constant([0, 1])
    with v1.Graph().as_default():
      with self.assertRaisesRegex(
          ValueError, "^input_fn uses a layer, a table or a tensor that was "
          "made before: make it in the function.*get_vocabulary.*\n.*Eager"):
        _call(lambda: _dataset().batch(8).map(
            lambda x, y: (v1.gather(x["x"], rows), y)))

  def test_error_of_the_user(self):
    def input_fn():
      raise ValueError("mine")

    with v1.Graph().as_default():
      with self.assertRaisesRegex(ValueError, "^mine$"):
        _call(input_fn)

  def test_arguments(self):
    got = {}

    def input_fn(params, own, mode, input_context, config=None):
      got.update(params=params, mode=mode, input_context=input_context, own=own,
                 config=config)
      return _dataset().batch(8)

    with v1.Graph().as_default():
      _call(functools.partial(input_fn, own="mine", params=3))
    config = got.pop("config")
    self.assertIsInstance(config, tf_compat.RunConfig)
    self.assertEqual(dict(
        params=3, own="mine", mode="train", input_context=_CONTEXT), got)

  def test_features_alone_will_do_to_predict(self):
    with v1.Graph().as_default():
      self.assertIsNone(_call(_features, "infer").labels)

  # Arrays are a batch: again and again to train, and else once.
  @parameterized.parameters(("train", 3), ("eval", 1), ("infer", 1))
  def test_arrays(self, mode, expected):
    with v1.Graph().as_default(), v1.Session() as session:
      given = _call(lambda: ({"x": _FEATURES}, _LABELS), mode)
      session.run([v1.local_variables_initializer(), given.initializers])
      count = 0
      try:
        while count < 3:
          x, labels = session.run([given.features["x"], given.labels])
          np.testing.assert_array_equal(_FEATURES, x)
          np.testing.assert_array_equal(_LABELS, labels)
          count += 1
      except v1.errors.OutOfRangeError:
        pass
    self.assertEqual(expected, count)

  def test_series_of_pandas(self):
    with v1.Graph().as_default(), v1.Session() as session:
      given = _call(lambda: ({"x": _FEATURES}, _Series()))
      session.run([v1.local_variables_initializer(), given.initializers])
      np.testing.assert_array_equal(_LABELS[:, 0], session.run(given.labels))

  def test_arrays_beside_tensors(self):
    with v1.Graph().as_default(), v1.Session() as session:
      given = _call(lambda: ({"x": _FEATURES, "c": v1.constant(2.)}, _LABELS))
      self.assertEqual(2., session.run(given.features["c"]))
      np.testing.assert_array_equal(
          _FEATURES, session.run(given.features["x"]))

  @parameterized.named_parameters(
      ("repeat", lambda: _dataset().repeat().batch(8), True),
      ("prefetch", lambda: _dataset().repeat().batch(8).prefetch(2), True),
      ("constants", lambda: (_features(), v1.constant(_LABELS)), True),
      ("arrays", lambda: ({"x": _FEATURES}, _LABELS), False),
      ("arrays_without_end", inputs.numpy_input_fn(
          _FEATURES, _LABELS, shuffle=False, num_epochs=None), True),
      ("once", lambda: _dataset().batch(8), False),
      ("filter", lambda: _dataset().repeat().filter(
          lambda *unused: True).batch(8), False))  # It is not known.
  def test_is_endless(self, input_fn, expected):
    with v1.Graph().as_default(), v1.Session() as session:
      _call(input_fn, "eval")
      self.assertEqual(expected, evaluator_lib.is_endless(session))


class NotFiniteTest(parameterized.TestCase):

  def _names(self, features, labels, num_batches=None):
    def input_fn():
      return v1.data.Dataset.from_tensor_slices((features, labels)).batch(8)

    return input_fn_lib.not_finite(lambda: _call(input_fn, "eval"), num_batches)

  @parameterized.named_parameters(
      ("nothing", {"x": _FEATURES}, _LABELS, ""),
      ("feature", {"x": _FEATURES * np.inf, "y": _FEATURES, "s": ["a"] * 32},
       _LABELS, "the feature 'x'"),
      ("both", _FEATURES * np.inf, _LABELS * np.nan,
       "the features, the labels"),
      ("one_label", _FEATURES, {"a": _LABELS, "b": _LABELS * np.nan},
       "the label 'b'"))
  def test_names(self, features, labels, expected):
    self.assertEqual(expected, self._names(features, labels))

  @parameterized.parameters((None, "the labels"), (3, "the labels"), (2, ""))
  def test_reads_so_many_batches(self, num_batches, expected):
    labels = _LABELS.copy()
    labels[20] = np.nan  # In batch 2.
    self.assertEqual(expected, self._names(_FEATURES, labels, num_batches))

  def test_input_that_fails_has_none(self):
    self.assertEqual("", input_fn_lib.not_finite(lambda: _call(None), None))


if __name__ == "__main__":
  absltest.main()

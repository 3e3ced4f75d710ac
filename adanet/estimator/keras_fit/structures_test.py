# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of data as Keras users give it."""

import types

from absl.testing import absltest
from absl.testing import parameterized
from adanet.estimator.keras_fit import structures
from adanet.testing import data_frames
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
import hypothesis
from hypothesis import strategies as st
import numpy as np

_LABELS = st.lists(st.integers(0, 4), min_size=1, max_size=20)
_WEIGHTS = st.dictionaries(st.integers(0, 4), st.floats(0, 9, width=32))


class StructuresTest(parameterized.TestCase):

  def _assert_is(self, expected, found):
    self.assertEqual(type(expected), type(found))
    for one, other in zip(*(structures.named("x", value).items()
                            for value in (expected, found))):
      self.assertEqual(one[0], other[0])
      self.assertEqual(one[1].dtype, other[1].dtype)
      np.testing.assert_array_equal(one[1], other[1])

  @parameterized.named_parameters(
      ("float64", np.ones([2, 3]), np.ones([2, 3], np.float32)),
      ("int", np.ones([2], int), np.ones([2], int)),
      ("numbers", [1, 2], np.array([1, 2])),
      ("rows", [[1., 2.], [3., 4.]], np.array([[1, 2], [3, 4]], np.float32)),
      ("text", ["a", "bc"], np.array(["a", "bc"], object)),
      ("objects", np.array([1, 2.], object), np.array([1, 2], np.float32)),
      ("list", [np.ones(2, int), np.zeros([2, 1])],
       [np.ones(2, int), np.zeros([2, 1], np.float32)]),
      ("dict", {"a": np.ones(2, int)}, {"a": np.ones(2, int)}),
      ("series", data_frames.ColumnLikePandas([1, 2]), np.array([[1], [2]])),
      ("series_in_dict", {"a": data_frames.ColumnLikePandas([1, 2])},
       {"a": np.array([[1], [2]])}),
      ("frame", data_frames.FrameLikePandas({"a": [1, 2], "b": ["c", "d"]}),
       structures.Columns(a=np.array([[1], [2]]),
                          b=np.array([["c"], ["d"]]))))
  def test_read(self, value, expected):
    self._assert_is(expected, structures.read("x", value))

  @parameterized.named_parameters(
      ("nan", [1., np.nan], "x has NaN in 1 of 2 rows"),
      ("in_part", {"a": np.array([[1., np.inf], [1., 2.]])},
       r"x\['a'\] has infinity in 1 of 2 rows"),
      ("none", np.array([1, None], object), "x has NaN in 1 of 2 rows"),
      ("text_and_number", np.array(["a", 1], object),
       "x has 1 among its values"),
      ("missing_text", np.array(["a", np.nan], object),
       "x has nan among its values"),
      ("lengths", [[1, 2], [3]], "x "),
      ("columns", types.SimpleNamespace(columns=list("abab")),
       "x has the column 'a' 2 times: rename them"),
      ("empty_dict", {}, "x is empty"),
      ("empty_list", [], "x has no rows"),
      ("rows", [np.ones(2), np.ones(3)], r"x\[0\] has 2 rows and x\[1\] has 3"),
      ("complex", np.ones(2, complex), "x has the type complex128"),
      ("masked", np.ma.masked_array([1, 2], [True, False]),
       "x has masked values"),
      ("number", 3, "x is 3: expected an array"),
      ("str", "file.csv", "x is 'file.csv': expected an array"))
  def test_read_mistakes(self, value, expected):
    with self.assertRaisesRegex((TypeError, ValueError), "^" + expected) as e:
      structures.read("x", value)
    self.assertLen(str(e.exception).splitlines(), 1)

  @hypothesis.given(_LABELS, _WEIGHTS)
  def test_weights_of_classes(self, labels, weights):
    expected = [np.float32(weights.get(label, 1)) for label in labels]
    integers = np.array(labels)
    for y in (integers, integers[:, None], integers.astype(np.float32),
              np.eye(5)[integers]):
      self.assertEqual(expected,
                       structures.weights_of_classes(y, weights).tolist())

  @parameterized.named_parameters(
      ("other_values", np.array([1, 2])), ("other_type", np.array([1., 3.])),
      ("other_shape", np.array([[1], [3]])), ("list", [np.array([1, 3])]),
      ("key", {"a": np.array([1, 3])}), ("text", np.array(["1", "3"], object)))
  def test_digest(self, other):
    this = np.array([1, 3])
    self.assertEqual(structures.digest(this), structures.digest(this.copy()))
    self.assertNotEqual(structures.digest(this), structures.digest(other))

  def test_digest_of_text(self):
    digests = {structures.digest(np.array(value, object)) for value in (
        ["a", "bc"], ["ab", "c"], ["ä", "bc"], ["a", b"bc"])}
    self.assertLen(digests, 3)  # Text and its bytes are the same.

  def test_rows_of(self):
    for value in (np.arange(4), [np.arange(4)], {"a": np.arange(4)},
                  structures.Columns(a=np.arange(4))):
      found = structures.rows_of(value, [3, 1])
      self.assertEqual(type(value), type(found))
      self.assertEqual([[3, 1]], [
          one.tolist() for one in structures.named("x", found).values()])
    self.assertIsNone(structures.rows_of(None, [1]))


if __name__ == "__main__":
  absltest.main()

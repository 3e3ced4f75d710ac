# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the order of rows, and of arrays that are fed, by hand.

`adanet:inputs_test` has the input_fns.
"""

import sys

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.training import arrays
import numpy as np

v1 = tf_compat.v1


def _read(order, count):
  return [order.batch(number).tolist() for number in range(count)]


class OrderTest(parameterized.TestCase):

  # An epoch may end in the middle of a batch, or several times in one.
  @parameterized.parameters(
      (2, 1, [[5, 6], [7]]), (2, 2, [[5, 6], [7, 5], [6, 7]]),
      (3, 1, [[5, 6, 7]]), (7, 3, [[5, 6, 7, 5, 6, 7, 5], [6, 7]]),
      (9, 1, [[5, 6, 7]]))
  def test_batches(self, size, num_epochs, expected):
    order = arrays.Order(np.array([5, 6, 7]), size, num_epochs, None)
    self.assertEqual(len(expected), order.num_batches)
    self.assertEqual(expected, _read(order, len(expected)))

  def test_without_end(self):
    order = arrays.Order(np.array([5, 6, 7]), 2, None, None)
    self.assertEqual(sys.maxsize, order.num_batches)
    self.assertEqual([[5, 6], [7, 5], [6, 7], [5, 6]], _read(order, 4))
    self.assertEqual([5, 6], order.batch(3 * 10**9).tolist())

  def test_shuffled(self):
    rows = np.arange(20)
    order = arrays.Order(rows, 20, 5, 3)
    epochs = _read(order, 5)
    for epoch in epochs:
      self.assertCountEqual(range(20), epoch)
    self.assertLen(set(map(tuple, epochs + [list(range(20))])), 6)
    # In whatever order it is asked, also for what it does not keep.
    self.assertEqual(epochs[::-1], [
        order.batch(number).tolist() for number in (4, 3, 2, 1, 0)])
    self.assertEqual(epochs, _read(arrays.Order(rows, 20, 5, 3), 5))
    self.assertNotEqual(epochs, _read(arrays.Order(rows, 20, 5, 4), 5))
    self.assertEqual(list(range(20)), rows.tolist())

  @parameterized.parameters(None, 3)
  def test_first(self, seed):
    """The same rows in each epoch, and as many, from another one on."""
    epochs = _read(arrays.Order(np.arange(20), 20, None, seed), 3)
    self.assertEqual([epoch[15:] + epoch[:15] for epoch in epochs], _read(
        arrays.Order(np.arange(20), 20, None, seed, first=15), 3))

  def test_size_of_batches_does_not_change_the_order(self):
    order_by_20, order_by_7 = (
        sum(_read(order, order.num_batches), []) for order in (
            arrays.Order(np.arange(20), size, 2, 3) for size in (20, 7)))
    self.assertEqual(order_by_20, order_by_7)


class PlaceholdersTest(parameterized.TestCase):

  def _feeds(self, like, value):
    with v1.Graph().as_default():
      placeholders = arrays.Placeholders("x", like)
      return placeholders.features, placeholders.feeds(value)

  def test_one(self):
    feature, feeds = self._feeds(np.float32([[1., 2.]]), np.int8([[3, 4]] * 3))
    self.assertEqual([None, 2], feature.shape.as_list())
    (got, array), = feeds.items()
    self.assertIs(feature, got)
    self.assertEqual(np.float32, array.dtype)
    self.assertEqual([[3., 4.]] * 3, array.tolist())

  def test_by_name(self):
    features, feeds = self._feeds(
        {"a": np.float32([1.]), "b": np.array(["u"])},
        {"b": np.array(["v", "w"]), "a": np.float32([2., 3.])})
    self.assertEqual([2., 3.], feeds[features["a"]].tolist())
    self.assertEqual(["v", "w"], feeds[features["b"]].tolist())
    self.assertEqual(v1.string, features["b"].dtype)

  @parameterized.named_parameters(
      ("names", {"a": [1.]}, {"b": [1.]}, ValueError,
       r"expected x\['a'\], got x\['b'\]"),
      ("shape", [[1., 2.]], [[1., 2., 3.]], ValueError,
       r"x has the shape \[1, 3\]: expected \[None, 2\]"),
      ("rows", {"a": [1.], "b": [1.]}, {"a": [1.], "b": [1., 2.]}, ValueError,
       r"x\['a'\] has 1 rows and x\['b'\] has 2: expected as many in each"),
      ("no_rows", [1.], [], ValueError, "x has no rows"),
      ("text", [1.], ["a"], TypeError, "x has the type .*: expected float64"),
      ("float_for_int", [1], [1.5], TypeError,
       "x has the type float64: expected int64"))
  def test_bad_value(self, like, value, kind, message):
    like, value = (
        {key: np.array(item) for key, item in data.items()}
        if isinstance(data, dict) else np.array(data) for data in (like, value))
    with self.assertRaisesRegex(kind, message) as raised:
      self._feeds(like, value)
    self.assertNotIn("\n", str(raised.exception))


if __name__ == "__main__":
  absltest.main()

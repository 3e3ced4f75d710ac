# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Rows of arrays, by their numbers: read, batched, and put in orders."""

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.ensemble_search import data
from adanet.ensemble_search import rows as rows_lib
import numpy as np

tf = tf_compat.v2
_ROWS = np.arange(20, dtype="float32")[:, None]


def _split(seed=1):
  (split,), _ = data.split_data(
      _ROWS, _ROWS, 6, None, .2, None, None, None, seed)
  return split


class ArraySplitTest(absltest.TestCase):

  def test_orders(self):
    split = _split()
    self.assertLen(split.trained.numbers, 16)
    self.assertSequenceEqual(range(20), sorted(
        [*split.trained.numbers, *split.held_out.numbers]))
    orders = [split.order(epoch).tolist() for epoch in range(3)]
    for order in orders:
      self.assertEqual(split.trained.numbers.tolist(), sorted(order))
    self.assertLen(set(map(tuple, orders)), 3)
    self.assertEqual(orders, [
        _split().order(epoch).tolist() for epoch in range(3)])
    self.assertNotEqual(split.held_out.numbers.tolist(),
                        _split(2).held_out.numbers.tolist())

  def test_batches(self):
    """The last one is smaller, and those of a resumed epoch are left out."""
    split = _split()
    for start in range(4):
      rows = [batch.tolist() for _, numbers in split.chunks(5, start)
              for batch in numbers]
      order = split.order(5).tolist()
      self.assertEqual([order[:6], order[6:12], order[12:]][start:], rows)


class ReaderTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ("array", lambda x: x), ("tensor", tf.constant),
      ("sparse", tf.sparse.from_dense), ("ragged", tf.RaggedTensor.from_tensor))
  def test_rows(self, kind):
    x = np.arange(12, dtype="float32").reshape([6, 2])
    read = rows_lib.reader(kind(x))(tf.constant([4, 1, 4]))
    if isinstance(read, tf.SparseTensor):
      read = tf.sparse.to_dense(read)
    elif isinstance(read, tf.RaggedTensor):
      read = read.to_tensor()
    np.testing.assert_array_equal(x[[4, 1, 4]], read)

  @parameterized.parameters(
      (7, 3, [[[0, 1, 2], [3, 4, 5]], [[6]]]), (6, 3, [[[0, 1, 2], [3, 4, 5]]]),
      (2, 3, [[[0, 1]]]), (0, 3, []))
  def test_in_batches(self, count, size, expected):
    self.assertEqual(expected, [
        batch.tolist() for batch in rows_lib.in_batches(
            np.arange(count), size)])


class RowsTest(absltest.TestCase):

  def test_labels_and_layout(self):
    rows = rows_lib.Rows(
        ({"a": _ROWS}, 2 * _ROWS, np.arange(20.)), np.int32([3, 5, 4, 9]))
    self.assertLen(rows, 4)
    y, weights = rows.labels()
    np.testing.assert_array_equal([[6], [10], [8], [18]], y)
    np.testing.assert_array_equal([3, 5, 4, 9], weights)
    layout = rows.layout(2)
    self.assertEqual(2, layout.size)
    self.assertIsNone(rows.layout(3).size)
    self.assertEqual([[None, 1], [None, 1], [None]], [
        spec.shape.as_list() for spec in layout.specs])
    self.assertEqual(({"a": 1}, 2, 3), layout.pack([1, 2, 3]))
    selected = rows.select(np.int32([7]))
    self.assertIs(rows.tensors(), selected.tensors())
    self.assertEqual([7], selected.numbers.tolist())
    without = rows_lib.Rows((_ROWS,), np.int32([1]))
    self.assertEqual((None, None), without.labels())
    x, y, weights = rows_lib.first_batch(rows, 2)
    np.testing.assert_array_equal([[3], [5]], x["a"])
    np.testing.assert_array_equal([[6], [10]], y)
    np.testing.assert_array_equal([3, 5], weights)

  def test_labels_of_folds(self):
    parts = [rows_lib.Rows((_ROWS, _ROWS), np.int32(numbers)).labels()
             for numbers in ([1, 2], [9])]
    y, weights = rows_lib.join_labels(parts)
    np.testing.assert_array_equal([[1], [2], [9]], y)
    self.assertIsNone(weights)


if __name__ == "__main__":
  absltest.main()

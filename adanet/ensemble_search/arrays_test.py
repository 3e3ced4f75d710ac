# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Arrays of a user: what becomes of each kind, and what a digest tells."""

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.ensemble_search import arrays
import numpy as np
from scipy import sparse

tf = tf_compat.v2


class ReadTest(parameterized.TestCase):

  @parameterized.parameters(
      ("float64", "float32"), ("float16", "float32"), ("int64", "int64"),
      ("uint8", "uint8"), ("bool", "bool"))
  def test_types(self, dtype, expected):
    array = arrays.read("x", np.ones([3, 2], dtype))
    self.assertEqual(expected, array.dtype.name)
    self.assertEqual(expected, arrays.read(
        "x", tf.ones([3, 2], dtype)).dtype.name)

  def test_structures(self):
    x = arrays.read("x", {"a": np.ones([3, 1]), "b": [np.zeros([3])]})
    self.assertEqual(["a", "b"], list(x))
    self.assertIsInstance(x["b"], tuple)  # As Model.fit gives it to a model.
    self.assertIsNone(arrays.read("y", None))
    read = arrays.read("x", sparse.csr_matrix(np.eye(3)))
    np.testing.assert_array_equal(np.eye(3), tf.sparse.to_dense(read))

  def test_batch(self):
    x, y, weights = arrays.read_batch("", (
        np.ones([3, 2]), [np.ones([3]), np.ones([3])], np.ones([3])))
    self.assertEqual((3, 2), x.shape)
    self.assertLen(y, 2)
    self.assertLen(weights, 2)  # For both outputs.
    self.assertLen(arrays.read_batch("", (np.ones([3]), None, None)), 1)

  @parameterized.parameters(
      ((np.ones([3]), np.ones([2])), "x has 3 rows and y has 2"),
      ((np.ones([3]), np.ones([3]), -np.ones([3])), "sample_weight has -1.0"),
      ((np.ones([3]), np.ones([3]), [np.nan] * np.ones([3])),
       "sample_weight has nan"),
      ((np.float32(3), np.ones([3])), "x is"),
      (([1, 2, 3], np.ones([3])), r"x\[0\] is 1"),
      ((np.ma.masked_equal([1, 2], 1), np.ones([2])), "x has masked values"))
  def test_mistakes(self, batch, expected):
    with self.assertRaisesRegex((TypeError, ValueError), expected):
      arrays.read_batch("", batch)

  @parameterized.parameters(
      ([0, 2, 1],), ([[0], [2], [1]],), ([[1., 0, 0], [0, 0, 1], [0, 1, 0]],),
      ([.1, 1.9, 1.2],))
  def test_classes(self, y):
    np.testing.assert_array_equal([0, 2, 1], arrays.classes(np.array(y)))

  def test_no_classes(self):
    for y in (None, [np.ones([3])], np.ones([3, 2]), np.ones([3, 2, 1])):
      self.assertIsNone(arrays.classes(y))

  def test_class_weights(self):
    np.testing.assert_array_equal(np.float32([1, 5, .5]), arrays.class_weights(
        np.array([0, 2, 1]), {2: 5., 1: .5}))

  def test_digest(self):
    """Each value, shape, type and name counts."""
    x = np.arange(12.).reshape([6, 2])
    values = [x, x + (x == 3) * 1e-9, x.reshape([3, 4]), x.astype("float32"),
              {"a": x}, {"b": x}, tf.constant(["a", "bc"]),
              tf.constant(["ab", "c"]), tf.sparse.from_dense(x)]
    digests = list(map(arrays.digest, values))
    self.assertLen(set(digests), len(values))
    self.assertEqual(digests, list(map(arrays.digest, values)))
    self.assertStartsWith(digests[0], "[6, 2] ")

  def test_checksum(self):
    flat = [tf.constant([1., 2.]), tf.constant(["a"])]
    checksum = arrays.add_checksum(flat, 0)
    self.assertEqual(checksum, arrays.add_checksum(flat, 0))
    self.assertNotEqual(checksum, arrays.add_checksum(flat, 1))
    self.assertNotEqual(checksum, arrays.add_checksum(flat[::-1], 0))

  def test_not_finite(self):
    x = np.ones([4, 3])
    x[[1, 3], [0, 2]] = np.nan, np.inf
    argument, text, *columns, rows = next(iter(
        arrays.find_not_finite(({"a": x}, np.ones([4])))))
    self.assertEqual("x", argument)
    self.assertIn("x['a'] has NaN", text)
    self.assertIn("in columns 0, 2", " ".join([text, *columns]))
    self.assertSequenceEqual([1, 3], list(rows))
    self.assertEmpty(list(arrays.find_not_finite((np.ones([4, 3]),))))


if __name__ == "__main__":
  absltest.main()

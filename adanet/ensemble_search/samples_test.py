# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a directory keeps of the data is read as it was written."""

import os
from unittest import mock

from absl.testing import absltest
from adanet import log
from adanet import tf_compat
from adanet.ensemble_search import data
from adanet.ensemble_search import files
from adanet.ensemble_search import samples
import numpy as np

tf = tf_compat.v2
_X = np.arange(80, dtype="float32").reshape([40, 2])
_Y = np.arange(40)[:, None]


class SamplesTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self.directory = files.Directory(self.create_tempdir().full_path)

  def _write(self, x, y, sample_weight=None, folds=None):
    """Returns the splits of the data, and what search.json has of them."""
    splits = data.split_data(
        x, y, 8, None, .2, sample_weight, None, folds, 1)[0]
    content = samples.write(self.directory, splits)
    self.directory.write(content)
    return splits, self.directory.read()

  def test_folds(self):
    splits, content = self._write(
        {"a": _X, "b": tf.sparse.from_dense(_X)}, [_Y, _Y], np.ones(40), 2)
    layout, folds = samples.read_x(self.directory, content)
    self.assertLen(folds, 2)
    self.assertLen(layout.specs, 2)
    labels = samples.read_labels(self.directory, content)
    for split, x, (y, weights) in zip(splits, folds, labels):
      rows = split.held_out.numbers
      np.testing.assert_array_equal(_X[rows], x["a"])
      np.testing.assert_array_equal(_X[rows], tf.sparse.to_dense(x["b"]))
      self.assertLen(y, 2)
      np.testing.assert_array_equal(_Y[rows], y[1])
      np.testing.assert_array_equal(np.ones(20), weights[0])

  def test_ragged_rows_and_no_labels(self):
    x = tf.RaggedTensor.from_row_lengths(np.arange(60.), [1, 2] * 20)
    (split,), content = self._write(x, None)
    _, (actual,) = samples.read_x(self.directory, content)
    self.assertEqual(
        tf.gather(x, split.held_out.numbers).to_list(), actual.to_list())
    self.assertEqual([(None, None)],
                     samples.read_labels(self.directory, content))

  def test_damage(self):
    _, content = self._write(_X, _Y)
    for name in (files.SAMPLE, files.LABELS):
      os.truncate(self.directory.path / name, 50)
    for read in (samples.read_x, samples.read_labels):
      with self.assertRaisesRegex(files.DamagedFileError, "cannot be read"):
        read(self.directory, content)
    with mock.patch.object(log, "warning") as warning:
      samples.remove_damaged(self.directory)
    self.assertLen(warning.mock_calls, 2)
    self.assertFalse((self.directory.path / files.SAMPLE).exists())
    self.assertTrue((self.directory.path / files.ROWS).exists())


if __name__ == "__main__":
  absltest.main()

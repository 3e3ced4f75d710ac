# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of where the data of checkpoints lie.

`checkpoints_test` has checkpoints of many kinds that are cut anywhere.
"""

import os

from absl.testing import absltest
from adanet import tf_compat
from adanet.core import checkpoint_index
from adanet.testing import variables
import numpy as np


class CheckpointIndexTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self._prefix = os.path.join(self.create_tempdir().full_path, "model.ckpt")

  def test_entries(self):
    for number in 1., 2.:
      variables.save(self._prefix, {
          "a": np.full([3], 5, np.int64), "b": np.float32(number),
          "c": np.zeros([0], np.float32)})
      found = dict(checkpoint_index.entries(self._prefix))
      self.assertEqual([b"a", b"b", b"c"], sorted(found))
      self.assertEqual({0}, {entry.shard for entry in found.values()})
      self.assertEqual(24, found[b"a"].end)
      self.assertEqual(
          os.path.getsize(self._prefix + ".data-00000-of-00001"),
          max(entry.end for entry in found.values()))
      if number == 1.:
        before = found
    self.assertEqual(before[b"a"].sum, found[b"a"].sum)
    self.assertNotEqual(before[b"b"].sum, found[b"b"].sum)

  def test_part(self):
    v1 = tf_compat.v1
    with v1.Graph().as_default(), v1.Session() as session:
      v1.get_variable("a", initializer=v1.range(4.),
                      partitioner=v1.fixed_size_partitioner(2))
      session.run(v1.global_variables_initializer())
      v1.train.Saver().save(session, self._prefix)
    found = dict(checkpoint_index.entries(self._prefix))
    self.assertEqual(0, found.pop(b"a").sum)
    self.assertLen(found, 2)
    for key, entry in found.items():
      self.assertIn(b"\0", key)
      self.assertNotEqual(0, entry.sum)

  def test_not_complete(self):
    variables.save(self._prefix, {"a": np.float32(1.)})
    os.truncate(self._prefix + ".index", 60)
    with self.assertRaisesRegex(ValueError, "the index has no end"):
      list(checkpoint_index.entries(self._prefix))


if __name__ == "__main__":
  absltest.main()

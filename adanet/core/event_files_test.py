# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of files of events."""

import os

from absl.testing import absltest
from adanet import tf_compat
from adanet.core import event_files


class _FullDisk(event_files.EventFile):
  """Has no space."""

  def _open(self):
    raise RuntimeError("events.out; No space left on device")


class EventFileTest(absltest.TestCase):

  def _summary(self):
    v1 = tf_compat.v1
    return v1.Summary(value=[v1.Summary.Value(tag="a", simple_value=1.)])

  def test_writes(self):
    folder = self.create_tempdir().full_path
    file = event_files.EventFile(folder)
    self.assertEmpty(os.listdir(folder))
    file.start(3)
    file.add(self._summary(), 3)
    file.close()
    name, = os.listdir(folder)
    found = list(tf_compat.v1.train.summary_iterator(
        os.path.join(folder, name)))
    self.assertEqual([3, 3], [event.step for event in found[1:]])

  def test_full_disk(self):
    file = _FullDisk(self.create_tempdir().full_path)
    with self.assertLogs(level="WARNING") as logs:
      file.add(self._summary(), 1)
      file.add(self._summary(), 2)
      file.flush()
      file.close()
    self.assertLen(logs.output, 1)
    self.assertIn("the disk is full", logs.output[0])


if __name__ == "__main__":
  absltest.main()

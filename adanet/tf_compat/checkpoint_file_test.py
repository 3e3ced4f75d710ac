# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the file that names the checkpoints of a folder."""

import os
import shutil

from absl.testing import absltest
from adanet import tf_compat
from adanet.tf_compat import checkpoint_file


def _save(folder, *global_steps):
  """Saves checkpoints of some steps, as one run does."""
  tf = tf_compat.v1
  with tf.Graph().as_default(), tf.Session() as session:
    tf.get_variable("a", initializer=0.)
    session.run(tf.global_variables_initializer())
    saver = tf.train.Saver()
    for step in global_steps:
      saver.save(session, os.path.join(folder, "model.ckpt"), global_step=step)


class CheckpointFileTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self._folder = self.create_tempdir().full_path
    self._copy = self._folder + "_copy"

  def _paths(self, folder, *steps):
    return [os.path.join(folder, f"model.ckpt-{s}") for s in steps]

  def _assert_found(self, folder, latest, kept):
    self.assertEqual((latest, kept), (checkpoint_file.latest(folder),
                                      checkpoint_file.kept(folder)))

  def test_own(self):
    _save(self._folder, 1, 2)
    paths = self._paths(self._folder, 1, 2)
    self._assert_found(self._folder, paths[1], paths)

  def test_none(self):
    self._assert_found(self._folder, None, [])
    self.create_tempfile(os.path.join(self._folder, checkpoint_file.NAME), "")
    self._assert_found(self._folder, None, [])

  def test_copy(self):
    _save(self._folder, 1, 2)
    shutil.copytree(self._folder, self._copy)
    paths = self._paths(self._copy, 1, 2)
    self._assert_found(self._copy, paths[1], paths)

  def test_copy_of_the_file_alone(self):
    _save(self._folder, 1)
    os.mkdir(self._copy)
    shutil.copy(os.path.join(self._folder, checkpoint_file.NAME), self._copy)
    with self.assertLogs(level="WARNING") as logs:
      self._assert_found(self._copy, self._paths(self._folder, 1)[0], [])
    self.assertIn("another folder: " + self._folder, "".join(logs.output))

  def test_readable(self):
    pattern = os.path.join(self._folder, "a[b]", "c\\d", "e")
    os.makedirs(pattern)
    for folder in self._folder, pattern:
      _save(folder, 1)
      reader = checkpoint_file.reader(checkpoint_file.latest(folder))
      self.assertEqual(0., reader.get_tensor("a"))
    for same in self._folder + "/a?*]", "gs://a[b]/c":
      self.assertEqual(same + "/m", checkpoint_file.readable(same + "/m"))

  def test_deleted(self):
    _save(self._folder, 1, 2)
    os.remove(self._paths(self._folder, 2)[0] + ".index")
    self._assert_found(self._folder, self._paths(self._folder, 2)[0],
                       self._paths(self._folder, 1))


if __name__ == "__main__":
  absltest.main()

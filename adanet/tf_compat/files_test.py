# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of files that are written whole or not at all."""

import fnmatch
import os
from typing import Dict
from unittest import mock

from absl.testing import absltest
from adanet import tf_compat
from adanet.tf_compat import files


class FilesTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self._folder = os.path.join(self.create_tempdir().full_path, "new")
    self._path = os.path.join(self._folder, "a.txt")

  def test_text(self):
    self.assertIsNone(files.read_text(self._path))
    for text in ("old", "n\u00e9w\n", ""):
      files.write_text(self._path, text)
      self.assertEqual(text, files.read_text(self._path))
      self.assertEqual(["a.txt"], os.listdir(self._folder))

  @mock.patch.object(files.time, "sleep", lambda secs: None)
  def test_text_that_is_replaced_on_a_disk_of_the_network(self):
    files.write_text(self._path, "new")
    gfile, errors = tf_compat.v1.io.gfile, tf_compat.v1.errors
    stale = errors.AbortedError(None, None, "Stale file handle")
    file = gfile.GFile(self._path, "rb")
    with mock.patch.object(
        gfile, "GFile", side_effect=[stale, stale, file]):
      self.assertEqual("new", files.read_text(self._path))
    with mock.patch.object(
        gfile, "GFile", side_effect=stale), self.assertRaises(type(stale)):
      files.read_text(self._path)

  def test_real_path(self):
    os.symlink(self._folder, self._folder + "_link")
    self.assertEqual(
        os.path.realpath(self._folder),
        files.real_path(os.path.relpath(self._folder + "_link/../new/.")))
    self.assertEqual("gs://a/../b", files.real_path("gs://a/../b"))

  def test_what_is_no_text(self):
    with files.written_whole(self._path) as temporary:
      with open(temporary, "wb") as f:
        f.write(b"a\xff")
    self.assertEqual("a\ufffd", files.read_text(self._path))

  def test_json(self):
    kind = Dict[str, float]
    self.assertIsNone(files.read_json(self._path, kind))
    value = {"b": float("inf"), "a": 1.}
    files.write_json(self._path, kind, value)
    self.assertEqual(
        '{"b": "Infinity", "a": 1.0}', files.read_text(self._path))
    self.assertEqual(list(value.items()), list(
        files.read_json(self._path, kind).items()))
    self.assertIsNone(files.read_json(self._path, Dict[str, str]))

  def test_names(self):
    os.makedirs(os.path.join(self._folder, "b"))
    files.write_text(self._path, "")
    self.assertEqual(["a.txt", "b"], files.names(self._folder))
    self.assertEqual([], files.names(os.path.join(self._folder, "none")))

  def test_failed_write_leaves_the_old_file(self):
    files.write_text(self._path, "old")
    with self.assertRaisesRegex(ValueError, "stop"):
      with files.written_whole(self._path) as temporary:
        with open(temporary, "w") as f:
          f.write("new")
        raise ValueError("stop")
    self.assertEqual(["a.txt"], os.listdir(self._folder))
    self.assertEqual("old", files.read_text(self._path))

  def test_pattern_of_what_a_dead_process_leaves(self):
    gfile = tf_compat.v1.io.gfile
    with mock.patch.object(gfile, "rename", side_effect=OSError), \
         mock.patch.object(gfile, "remove"), self.assertRaises(OSError):
      files.write_text(self._path, "new")
    self.assertEqual(
        [False, True],
        [fnmatch.fnmatch(name, files.TEMPORARY_PATTERN)
         for name in ["a.txt"] + os.listdir(self._folder)])

  def test_remove_folder(self):
    folder = self.create_tempdir().full_path
    files.write_text(os.path.join(folder, "a", "b", "c"), "text")
    for _ in range(2):
      files.remove_folder(os.path.join(folder, "a"))
      self.assertEmpty(os.listdir(folder))


if __name__ == "__main__":
  absltest.main()

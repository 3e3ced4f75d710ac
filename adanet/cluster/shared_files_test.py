# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of whether all tasks see the same files."""

import os

from absl.testing import absltest
from adanet import tf_compat
from adanet.cluster import agreement
from adanet.cluster import shared_files
from adanet.testing import servers

_AGREEMENT = agreement.Agreement("job", 3, 0, ("a",), 1, 1, "", None)


class CheckTest(absltest.TestCase):

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls._cluster = servers.free_cluster(ps=1)
    cls._servers = servers.start(cls._cluster, "ps")

  def _run(self, path, generation):
    address = self._cluster["ps"][0]
    check = shared_files.Check(path, {"ps:0": address})
    with tf_compat.v1.Session(
        "grpc://" + address, graph=check.graph) as session:
      check.run(session, generation, delay_secs=0.)

  def test_same_file(self):
    file = agreement.AgreementFile(self.create_tempdir().full_path)
    file.write(_AGREEMENT)
    self._run(file.path, 3)

  def test_older_file(self):
    file = agreement.AgreementFile(self.create_tempdir().full_path)
    file.write(_AGREEMENT)
    with self.assertRaisesRegex(
        shared_files.SharedFilesError,
        r"ps:0 \(127.0.0.1:\d+\) does not see the chief's file .*agreement.json: "
        "it is an older one there, of generation 3"):
      self._run(file.path, 4)

  def test_no_file(self):
    with self.assertRaisesRegex(
        shared_files.SharedFilesError,
        "No such file or directory.* use a folder on a disk that they share"):
      self._run(os.path.join(self.create_tempdir().full_path, "none"), 1)


if __name__ == "__main__":
  absltest.main()

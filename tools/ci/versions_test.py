# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that every leg says what it consists of."""

import platform

from absl.testing import absltest
from tools.ci import readme
from tools.ci import versions


class VersionsTest(absltest.TestCase):

  def test_versions(self):
    found = versions.versions()
    self.assertEqual(list(readme.VERSIONS), list(found))
    self.assertEqual(platform.python_version(), found["Python"])
    for version in found.values():
      self.assertRegex(version, r"^\d+\.\d+\.\d")


if __name__ == "__main__":
  absltest.main()

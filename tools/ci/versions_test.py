# Copyright 2026 The adanet.distributed Authors. All Rights Reserved.
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     https://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.
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

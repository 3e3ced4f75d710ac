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
"""Tests that nothing goes past the one door to TensorFlow.

Every package has a target of this, from //tools/build_defs:python.bzl, which
sees the Python files of that package. Run by itself it sees the whole checkout.
"""

import os

from absl.testing import absltest
from tools.lint import one_door

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))

# The door itself, what asks for versions to report them, and texts to refuse.
_EXEMPT = ("adanet/tf_compat/", "benchmarks/versions.py",
           "tools/ci/versions.py", "tools/lint/one_door_test.py")


def _paths():
  """Yields the paths, from the root, of the Python files to look at."""
  for folder, folders, names in os.walk(_ROOT):
    folders[:] = [name for name in folders if not name.startswith(".")]
    for name in names:
      path = os.path.relpath(os.path.join(folder, name), _ROOT)
      if name.endswith(".py") and not path.startswith(_EXEMPT):
        yield path


class SourcesTest(absltest.TestCase):

  def test_one_door_to_tensorflow(self):
    paths = sorted(_paths())
    self.assertNotEmpty(paths)
    found = []
    for path in paths:
      with open(os.path.join(_ROOT, path), encoding="utf-8") as f:
        found += ["{}:{}: {}".format(path, line, wrong)
                  for line, wrong in one_door.find(f.read())]
    if found:
      self.fail("\n".join(found))


if __name__ == "__main__":
  absltest.main()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
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

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks every file of the source tree.

Bazel does not know these files as inputs of this test, so its target is tagged
to run each time, on this machine.
"""

import os

from absl.testing import absltest
import runfiles
from tools.lint import python_rules
from tools.lint import tensorflow_imports

_OTHER_PROJECT = "tools/consumer_test"

# tf_compat itself, what reports the version that runs, and texts to find.
_MAY_USE_TENSORFLOW = (
    "adanet/tf_compat/", "benchmarks/cluster.py", "benchmarks/program.py",
    "third_party/tensorflow_version_test.py",
    "tools/lint/tensorflow_imports_test.py")

_MAY_LOAD_PYTHON_RULES = ("tools/build_defs/python.bzl",)


class TreeTest(absltest.TestCase):

  def _check(self, check, suffixes, exempt):
    """Fails if a check finds something in the files with these suffixes."""
    # The runfile is a link into the source tree.
    workspace = os.path.realpath(
        runfiles.Create().Rlocation("adanet/WORKSPACE"))
    root = os.path.dirname(workspace)
    num_checked = 0
    found = []
    for folder, folders, names in os.walk(root):
      folders[:] = [name for name in folders if not name.startswith(".")]
      if folder == os.path.join(root, _OTHER_PROJECT):
        folders.clear()
      for name in names:
        path = os.path.relpath(os.path.join(folder, name), root)
        if name.endswith(suffixes) and not path.startswith(exempt):
          num_checked += 1
          with open(os.path.join(root, path), encoding="utf-8") as f:
            found += [f"{path}:{line}: {message}"
                      for line, message in check(f.read())]
    self.assertGreater(num_checked, 10)
    self.assertEqual("", "\n".join(found))

  def test_tensorflow_imports(self):
    self._check(tensorflow_imports.check, (".py",), _MAY_USE_TENSORFLOW)

  def test_python_rules(self):
    self._check(python_rules.check, ("BUILD", ".bzl"), _MAY_LOAD_PYTHON_RULES)


if __name__ == "__main__":
  absltest.main()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what a test is found to import."""

from absl.testing import absltest
from tools.lint import affected_tests

_FILES = {
    "adanet/__init__.py": "import importlib",
    "adanet/version.py": "",
    "adanet/near/__init__.py": "from adanet.near.leaf import Leaf",
    "adanet/near/leaf.py": "import os\nimport numpy as np",
    "adanet/near/branch.py": "from adanet.near import leaf as _leaf",
    "adanet/far/__init__.py": "from adanet.near import branch",
    "cases.py": "def f():\n  from adanet.near import Leaf",
}


class AffectedTestsTest(absltest.TestCase):

  def _imports(self, source):
    root = self.create_tempdir()
    for path, text in dict(_FILES, **{"a_test.py": source}).items():
      root.create_file(path, content=text)
    return affected_tests.imports(root.full_path, "a_test.py")

  def test_nothing_of_the_project(self):
    self.assertEmpty(self._imports("import os, numpy as np\nadanet = 1"))

  def test_module_without_the_package_around_it(self):
    self.assertCountEqual(["adanet/near/leaf.py"],
                          self._imports("from adanet.near import leaf"))
    self.assertCountEqual(["adanet/near/leaf.py"],
                          self._imports("import adanet.near.leaf"))

  def test_through_another_module(self):
    self.assertCountEqual(["adanet/near/branch.py", "adanet/near/leaf.py"],
                          self._imports("import adanet.near.branch as b"))

  def test_through_a_package(self):
    self.assertCountEqual(["adanet/near/__init__.py", "adanet/near/leaf.py"],
                          self._imports("from adanet import near"))

  def test_inside_a_function(self):
    self.assertCountEqual(
        ["cases.py", "adanet/near/__init__.py", "adanet/near/leaf.py"],
        self._imports("import cases"))

  def test_adanet_itself_imports_its_subpackages(self):
    self.assertCountEqual(
        set(_FILES) - {"cases.py", "adanet/version.py"},
        self._imports("import adanet"))


if __name__ == "__main__":
  absltest.main()

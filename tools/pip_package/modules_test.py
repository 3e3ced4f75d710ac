# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that the wheel has every module of the source tree.

A module that no dependency of the wheel's target reaches would be missing. Bazel
does not know the source tree as an input of this test, so its target is tagged
to run each time, on this machine.
"""

import os
import pathlib
import zipfile

from absl.testing import absltest
from adanet import version
import runfiles

_WHEEL = runfiles.Create().Rlocation(
    "adanet/tools/pip_package/adanet_distributed-{}-py3-none-any.whl".format(
        version.VERSION))

# What only the repository's own tests and pages need.
_NOT_PACKED = ("adanet/examples/", "adanet/testing/")


def _is_packed(path):
  """Whether a Python file of the source tree is one of the wheel."""
  return not (path.name.endswith("_test.py") or "testdata" in path.parts or
              path.as_posix().startswith(_NOT_PACKED))


def _tree():
  """Returns the Python files of the import package, below the root."""
  # The runfile is a link into the source tree.
  root = pathlib.Path(os.path.realpath(
      runfiles.Create().Rlocation("adanet/WORKSPACE"))).parent
  return [path.relative_to(root) for path in root.glob("adanet/**/*.py")]


class ModulesTest(absltest.TestCase):

  def test_wheel_has_every_module_of_the_tree(self):
    with zipfile.ZipFile(_WHEEL) as wheel:
      packed = [name for name in wheel.namelist()
                if name.endswith(".py")]
    self.assertCountEqual(
        [path.as_posix() for path in _tree() if _is_packed(path)], packed,
        "add what is missing to the deps of //adanet, where a user imports it, "
        "or of //tools/pip_package:package")


if __name__ == "__main__":
  absltest.main()

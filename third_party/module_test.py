# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Compares MODULE.bazel, which no Bazel here can run, with what does run."""

import ast
import re

from absl import flags
from absl.testing import absltest
import runfiles

flags.DEFINE_string("version", None, "The version of adanet.")


def _read(path):
  with open(runfiles.Create().Rlocation("adanet/" + path),
            encoding="utf-8") as f:
    return f.read()


def _call(function):
  """Returns the one call of a function in MODULE.bazel, as `(args, kwargs)`."""
  call, = (node for node in ast.walk(ast.parse(_read("MODULE.bazel")))
           if isinstance(node, ast.Call) and node.func.id == function)
  return ([a.id if isinstance(a, ast.Name) else ast.literal_eval(a)
           for a in call.args],
          {k.arg: ast.literal_eval(k.value) for k in call.keywords})


class ModuleTest(absltest.TestCase):

  def test_name_and_version(self):
    _, module = _call("module")
    self.assertEqual(
        {"name": "adanet", "version": flags.FLAGS.version}, module)

  def test_has_every_repository_that_the_build_names(self):
    used, _ = _call("use_repo")
    named = re.findall(r"@(adanet_\w+)//", _read("third_party/py/BUILD"))
    self.assertCountEqual(set(named) | {"adanet_python"}, used[1:])

  def test_registers_no_toolchain_for_other_projects(self):
    toolchains, options = _call("register_toolchains")
    self.assertEqual(["@adanet_python//:toolchain"], toolchains)
    self.assertEqual({"dev_dependency": True}, options)


if __name__ == "__main__":
  absltest.main()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Holds MODULE.bazel, which nothing here can run, against what does run."""

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


def _calls(function):
  """Returns MODULE.bazel's calls of a function, as (args, kwargs).

  Args:
    function: the function's name.
  """
  for node in ast.walk(ast.parse(_read("MODULE.bazel"))):
    if isinstance(node, ast.Call) and node.func.id == function:
      yield ([a.id if isinstance(a, ast.Name) else ast.literal_eval(a)
              for a in node.args],
             {k.arg: ast.literal_eval(k.value) for k in node.keywords})


class ModuleTest(absltest.TestCase):

  def test_name_and_version(self):
    (_, module), = _calls("module")
    self.assertEqual(
        {"name": "adanet", "version": flags.FLAGS.version}, module)

  def test_has_every_repository_that_the_build_names(self):
    (used, _), = _calls("use_repo")
    named = {"adanet_python"}
    for path in (".bazelrc", "third_party/py/BUILD"):
      named.update(re.findall(r"@(adanet_\w+)//", _read(path)))
    self.assertCountEqual(named, used[1:])

  def test_registers_no_toolchain_for_other_projects(self):
    (toolchains, options), = _calls("register_toolchains")
    self.assertEqual(["@adanet_python//:toolchain"], toolchains)
    self.assertEqual({"dev_dependency": True}, options)


if __name__ == "__main__":
  absltest.main()

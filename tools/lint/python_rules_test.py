# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the check on the source of Python rules."""

from absl.testing import absltest
from absl.testing import parameterized
from tools.lint import python_rules

_LOAD = 'load("//tools/build_defs:python.bzl", "py_library")\n'


class PythonRulesTest(parameterized.TestCase):

  @parameterized.parameters(
      _LOAD + 'py_library(name = "a")',
      'load("//tools/build_defs:python.bzl", lib = "py_test")\nlib(name = "a")',
      'py_wheel = rule(implementation = _impl)\n'
      'def py_macro(name, py_deps = []):\n'
      '    py_wheel(name = name, deps = py_deps)',
      'genrule(name = "py_data", cmd = "native.py_test")',
      "def _impl(ctx):\n    return [DefaultInfo()]",
  )
  def test_fine(self, source):
    self.assertEmpty(python_rules.check(source))

  @parameterized.parameters(
      ('py_library(\n    name = "a",\n)', 1, "py_library"),
      (_LOAD + 'py_test(name = "a")', 2, "py_test"),
      ("def _impl(ctx):\n    return ctx.attr.dep[PyInfo]", 2, "PyInfo"),
      ("\ntest = native.py_test", 2, "native.py_test"),
      ('load("@rules_python//python:defs.bzl", "py_test")', 1,
       "@rules_python//python:defs.bzl"),
      ('load("@bazel_tools//tools/python:toolchain.bzl", "py_runtime_pair")', 1,
       "@bazel_tools//tools/python:toolchain.bzl"),
  )
  def test_found(self, source, line, name):
    self.assertEqual(
        [(line, name + ": load it from //tools/build_defs:python.bzl")],
        python_rules.check(source))


if __name__ == "__main__":
  absltest.main()

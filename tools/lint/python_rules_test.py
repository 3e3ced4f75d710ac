# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the check that Python rules come from one file."""

from absl.testing import absltest
from absl.testing import parameterized
from tools.lint import python_rules


class PythonRulesTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ("rules", 'load("//tools/build_defs:python.bzl", "py_test")\n'
                'py_test(name = "a_test", srcs = ["a_test.py"])'),
      ("provider", 'load("@adanet//tools/build_defs:python.bzl", "PyInfo")\n'
                   'def _impl(ctx):\n'
                   '    return ctx.attr.deps[0][PyInfo].imports'),
      ("another_name", 'load("//tools/build_defs:python.bzl", lib = "py_test")'
                       '\nlib(name = "a")'),
      ("own_rule", 'py_wheel = rule(implementation = _impl)\n'
                   'def py_macro(name, py_deps = []):\n'
                   '    py_wheel(name = name, deps = py_deps)'),
      ("other_rules", 'genrule(name = "py_data", cmd = "native.py_test")'),
      ("other_providers", "def _impl(ctx):\n    return [DefaultInfo()]"),
  )
  def test_accepts(self, text):
    self.assertEmpty(python_rules.check(text))

  @parameterized.named_parameters(
      ("global_rule", 'py_library(\n    name = "a",\n)', 1,
       "py_library is not loaded"),
      ("global_provider", "def _impl(ctx):\n    return ctx.attr.dep[PyInfo]", 2,
       "PyInfo is not loaded"),
      ("native_call", 'def f(name):\n    native.py_test(name = name)', 2,
       "native.py_test"),
      ("native_value", "\ntest = native.py_test", 2, "native.py_test"),
      ("rules_python", 'load("@rules_python//python:defs.bzl", "py_test")\n'
                       'py_test(name = "a")', 1,
       "loads from @rules_python//python:defs.bzl"),
      ("bazel_tools", 'load("@bazel_tools//tools/python:toolchain.bzl", '
                      '"py_runtime_pair")', 1,
       "loads from @bazel_tools//tools/python:toolchain.bzl"),
      ("another_rule_loaded",
       'load("//tools/build_defs:python.bzl", "py_library")\n'
       'py_library(name = "a")\npy_test(name = "b")', 3,
       "py_test is not loaded"),
  )
  def test_finds(self, text, line, message):
    finding, = python_rules.check(text)
    self.assertEqual(line, finding.line)
    self.assertStartsWith(finding.message, message)
    self.assertEndsWith(
        finding.message, ": load it from //tools/build_defs:python.bzl.")


if __name__ == "__main__":
  absltest.main()

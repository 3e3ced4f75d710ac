# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The Python rules of every BUILD file here, so that a change is in one place.

They come from rules_python. With Bazel 4, //third_party/bazel:repositories.bzl
makes a rules_python of Bazel's own rules.
"""

load(
    "@rules_python//python:defs.bzl",
    _PyInfo = "PyInfo",
    _py_binary = "py_binary",
    _py_library = "py_library",
    _py_test = "py_test",
)

PyInfo = _PyInfo
py_binary = _py_binary
py_library = _py_library
py_test = _py_test

def py_package_test(name, srcs, deps, timeout = "long", **kwargs):
    """Makes one test of several files of a package, which run in one process.

    So TensorFlow, which takes longer to import than most cases to run, is
    imported once. `--test_filter=scopes_test` runs the cases of one file.

    A case that forks fails behind one that has made a session of TensorFlow.

    Args:
      name: such as "package_test".
      srcs: list of files of tests.
      deps: list of what all files import, and //third_party/py:absl.
      timeout: what many files take on a slow machine.
      **kwargs: other arguments of the `py_test`.
    """
    package = native.package_name().replace("/", ".")
    py_test(
        name = name,
        timeout = timeout,
        srcs = srcs + ["//tools/build_defs:together.py"],
        main = "//tools/build_defs:together.py",
        args = [package + "." + src[:-len(".py")] for src in srcs],
        deps = deps,
        **kwargs
    )

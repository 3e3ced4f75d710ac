# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The Python rules of every BUILD file here, so that a change is in one place.

They come from rules_python. Up to Bazel 7 they are in Bazel too, and under
Bazel 4 //third_party/bazel:repositories.bzl makes a rules_python of those.

A package that uses one gets the test `sources_test`, of every Python file in
it, so that no file can be forgotten. (tools/lint/python_rules.py finds a rule
from elsewhere.)
"""

load(
    "@rules_python//python:defs.bzl",
    _PyInfo = "PyInfo",
    _py_binary = "py_binary",
    _py_library = "py_library",
    _py_test = "py_test",
)

PyInfo = _PyInfo

# Where TensorFlow may be imported and asked for its version.
_ONE_DOOR = "adanet/tf_compat"

def _sources_test():
    name = "sources_test"
    if native.package_name() == _ONE_DOOR or native.existing_rule(name):
        return
    _py_test(
        name = name,
        size = "small",
        srcs = ["//tools/lint:sources_test.py"],
        data = native.glob(["**/*.py"]),
        main = "//tools/lint:sources_test.py",
        deps = [
            "//third_party/py:absl",
            "//tools/lint:one_door",
        ],
    )

def py_binary(name, **kwargs):
    """The py_binary of rules_python.

    Args:
      name: its name.
      **kwargs: the attributes of that rule.
    """
    _py_binary(name = name, **kwargs)
    _sources_test()

def py_library(name, **kwargs):
    """The py_library of rules_python.

    Args:
      name: its name.
      **kwargs: the attributes of that rule.
    """
    _py_library(name = name, **kwargs)
    _sources_test()

def py_test(name, **kwargs):
    """The py_test of rules_python.

    Args:
      name: its name.
      **kwargs: the attributes of that rule.
    """
    _py_test(name = name, **kwargs)
    _sources_test()

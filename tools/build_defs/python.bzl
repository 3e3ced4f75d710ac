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

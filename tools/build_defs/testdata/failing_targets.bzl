# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Targets that fail the analysis, and a test of each."""

load("//tools/build_defs:analysis_failure_test.bzl", "analysis_failure_test")
load("//tools/build_defs:py_wheel.bzl", "py_package", "py_wheel")
load("//tools/build_defs:python.bzl", "py_binary", "py_library")

_PACKAGE = "tools.build_defs.testdata.console"
_OUTSIDE = "other/outside.py"

def _failing_package(name, packages = [_PACKAGE], **library):
    """Declares a library and a package of it."""
    py_library(
        name = name + "_library",
        srcs = ["console/__init__.py"],
        **library
    )
    py_package(
        name = name,
        packages = packages,
        tags = ["manual"],
        deps = [name + "_library"],
    )

def failing_targets(name):
    """Declares all targets and tests.

    Args:
      name: string, the name of a suite of these tests.
    """
    messages = {
        "another_name": "conso: tools/build_defs/testdata/console/__init__.py",
        "elsewhere": "'LICENSE': expected 'licenses/...'.",
        "testonly": "depends on testonly target",
        "two_packages": "packages: name exactly one.",
    }
    _failing_package("another_name", ["tools.build_defs.testdata.conso"])
    _failing_package("testonly", testonly = True)
    _failing_package("two_packages", [_PACKAGE, "tools.build_defs.other"])
    py_wheel(
        name = "elsewhere",
        distribution = "elsewhere",
        extra_distinfo_files = {"LICENSE": "LICENSE"},
        python_requires = ">=3.7",
        summary = "A wheel with a file elsewhere.",
        tags = ["manual"],
        version = "1",
        deps = [":package"],
    )

    # Each way from a library to a file outside of the package.
    py_library(name = "library", srcs = [_OUTSIDE])
    py_binary(name = "binary", srcs = [_OUTSIDE], main = _OUTSIDE)
    native.filegroup(name = "filegroup", srcs = [_OUTSIDE])
    native.alias(name = "alias", actual = _OUTSIDE)
    native.genrule(name = "genrule", outs = ["other/new.py"], cmd = "touch $@")
    ways = {"by_deps": {"deps": [":library"]}}
    for data in ["alias", "binary", "filegroup", "genrule", "library", _OUTSIDE]:
        ways["by_" + data] = {"data": [data]}
    for way, attributes in ways.items():
        _failing_package(way, **attributes)
        messages[way] = _PACKAGE + ": tools/build_defs/testdata/other/"

    for target, message in messages.items():
        analysis_failure_test(
            name = target + "_test",
            message = message,
            target = target,
        )
    native.test_suite(name = name, tests = [m + "_test" for m in messages])

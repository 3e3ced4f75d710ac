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

def py_tiered_test(name, srcs, quick, shard_count = None, tags = [], **kwargs):
    """Makes a large test of all cases, and a medium one of some of them.

    `test //...` runs the medium one, which has a case of each behaviour;
    `test --config=all //...` runs the large one in its place.

    Args:
      name: that of the large test, such as "nan_test". The other one is then
        "nan_quick_test".
      srcs: list with the file of the test.
      quick: list of the names of cases, such as "NanTest.test_all_nan", or of
        classes.
      shard_count: in how many parts the large test runs.
      tags: of both.
      **kwargs: other arguments of both.
    """
    py_test(
        name = name,
        size = "large",
        srcs = srcs,
        shard_count = shard_count,
        tags = tags,
        **kwargs
    )
    py_test(
        name = name[:-len("test")] + "quick_test",
        srcs = srcs,
        main = srcs[0],
        args = quick,
        tags = tags + ["quick"],
        **kwargs
    )

def py_together_test(name, cases, whole = [], tags = []):
    """Makes a medium test that runs cases of several files in one process.

    So TensorFlow, which takes longer to import than most cases to run, is
    imported once. The tests of the files are large: `test //...` runs this one,
    `test --config=all //...` runs those in its place.

    A case that forks fails behind one that has made a session of TensorFlow.

    `.ci/run` runs `whole_` and the name, whole files in one process, in place of
    `alone_` and the name, the tests of these files.

    Args:
      name: such as "quick_test".
      cases: list of tests of this package, such as "scopes_test", or some of
        their classes or cases, such as "nan_test.NanTest.test_all_nan".
      whole: list of further tests that may run in one process, behind those
        that `cases` has whole.
      tags: of the test of whole files, such as "versions".
    """
    _py_together_test(name, cases, "medium", ["quick"])
    files = [case for case in cases if "." not in case] + whole
    if files:
        _py_together_test("whole_" + name, files, "large", ["manual"] + tags)
        native.test_suite(
            name = "alone_" + name,
            tags = ["manual"],
            tests = [":" + file for file in files],
        )

def _py_together_test(name, cases, size, tags):
    package = native.package_name().replace("/", ".")
    tests = {case.split(".")[0]: None for case in cases}
    py_test(
        name = name,
        size = size,
        # Many files take their time on a slow machine.
        timeout = "eternal" if size == "large" else None,
        srcs = ["//tools/build_defs:together.py"],
        main = "//tools/build_defs:together.py",
        args = [package + "." + case for case in cases],
        tags = tags,
        deps = [":" + test for test in tests] + ["//third_party/py:absl"],
    )

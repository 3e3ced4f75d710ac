# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A macro for benchmarks, each a small program that answers one question."""

load("//tools/build_defs:python.bzl", "py_binary", "py_library")
load("//tools/build_defs:tensorflow_versions.bzl", "tf1_15_binary", "tf2_15_binary")

_BINARIES = {
    "tf1_15": tf1_15_binary,
    "tf2_15": tf2_15_binary,
}

def benchmark(
        name,
        others = ["tf2_15"],
        peer = "//third_party/py:adanet_peer",
        deps = [],
        program_deps = []):
    """Declares the program <name>, which measures all sides and reports.

    It runs some of the sides as <name>_<version>, the same program on another
    version of TensorFlow. Not part of //..., which would fetch that version.

    Args:
      name: its name; the program is <name>.py.
      others: the other versions: "tf2_15", "tf1_15".
      peer: the AdaNet that it compares this project with, as data.
      deps: those that not every benchmark needs.
      program_deps: those that only the program needs: tests do not fetch them.
    """
    py_library(
        name = "_" + name,
        srcs = [name + ".py"],
        deps = [
            ":program",
            ":timing",
            "//adanet/distributed:placement",
            "//adanet/distributed/plan",
            "//adanet/tf_compat",
            "//third_party/py:tensorflow",
        ] + deps,
    )
    py_binary(
        name = "_{}_side".format(name),
        srcs = [name + ".py"],
        data = [peer],
        main = name + ".py",
        tags = ["manual"],
        deps = [":_" + name],
    )
    for version in others:
        _BINARIES[version](
            name = "{}_{}".format(name, version),
            binary = ":_{}_side".format(name),
            tags = ["manual"],
        )
    py_binary(
        name = name,
        srcs = [name + ".py"],
        data = [":{}_{}".format(name, version) for version in others],
        main = name + ".py",
        tags = ["manual"],
        visibility = ["//visibility:public"],
        deps = [":_" + name] + program_deps,
    )

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A macro for the benchmarks that compare placement with AdaNet's."""

load("//tools/build_defs:python.bzl", "py_binary", "py_library")
load("//tools/build_defs:tensorflow_versions.bzl", "tf2_15_binary")

def benchmark(name):
    """Declares the program <name>, which measures all sides and reports.

    It runs the sides on TensorFlow 2.15 as <name>_tf2_15, the same program. Not
    part of //..., which would fetch that version.

    Args:
      name: its name; the program is <name>.py.
    """
    py_library(
        name = "_" + name,
        srcs = [name + ".py"],
        deps = [
            ":program",
            "//adanet/distributed:placement",
            "//adanet/distributed/plan",
            "//adanet/tf_compat",
            "//third_party/py:tensorflow",
        ],
    )
    py_binary(
        name = "_{}_side".format(name),
        srcs = [name + ".py"],
        data = ["//third_party/py:adanet_peer"],
        main = name + ".py",
        tags = ["manual"],
        deps = [":_" + name],
    )
    tf2_15_binary(
        name = name + "_tf2_15",
        binary = ":_{}_side".format(name),
        tags = ["manual"],
    )
    py_binary(
        name = name,
        srcs = [name + ".py"],
        data = [":{}_tf2_15".format(name)],
        main = name + ".py",
        tags = ["manual"],
        deps = [":_" + name],
    )

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A macro for benchmarks, each a small program that answers one question."""

load("//tools/build_defs:python.bzl", "py_binary", "py_library")
load("//tools/build_defs:tensorflow_versions.bzl", "tf2_15_binary")

def benchmark(name, deps):
    """Declares the program <name>, which measures and shows.

    Its sides run each in a process of its own, one of them the same program on
    TensorFlow 2.15, <name>_tf2_15. Not part of //..., which would fetch 2.15.

    Args:
      name: its name; the program is <name>.py.
      deps: of the latter, beside :program.
    """
    py_library(
        name = "_" + name,
        srcs = [name + ".py"],
        deps = deps + [":program"],
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
        visibility = ["//visibility:public"],
        deps = [":_" + name],
    )

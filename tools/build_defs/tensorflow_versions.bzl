# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Rules for programs that have their own TensorFlow version.

A program that is built by one of these runs on that version's Python, with that
version's packages, whichever version the command line chooses.
"""

load("//third_party/py:tensorflow_versions.bzl", "DEFAULT_VERSION")

_TENSORFLOW_VERSION = "//third_party/py:tensorflow_version"

def _version_binary_impl(ctx):
    binary = ctx.attr.binary[0][DefaultInfo]
    executable = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.symlink(
        output = executable,
        target_file = binary.files_to_run.executable,
        is_executable = True,
    )
    return [DefaultInfo(
        executable = executable,
        runfiles = ctx.runfiles([executable]).merge(binary.default_runfiles),
    )]

def _version_binary(version_transition, doc):
    return rule(
        implementation = _version_binary_impl,
        attrs = {
            "binary": attr.label(
                cfg = version_transition,
                doc = "A `py_binary`.",
                executable = True,
                mandatory = True,
            ),
            "_allowlist_function_transition": attr.label(
                default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
            ),
        },
        doc = doc,
        executable = True,
    )

def _default_version_impl(_settings, _attr):
    return {_TENSORFLOW_VERSION: DEFAULT_VERSION}

default_version_binary = _version_binary(
    version_transition = transition(
        implementation = _default_version_impl,
        inputs = [],
        outputs = [_TENSORFLOW_VERSION],
    ),
    doc = "A `py_binary`, built for the default TensorFlow version.",
)

def _tf2_15_impl(_settings, _attr):
    return {_TENSORFLOW_VERSION: "2.15"}

tf2_15_binary = _version_binary(
    version_transition = transition(
        implementation = _tf2_15_impl,
        inputs = [],
        outputs = [_TENSORFLOW_VERSION],
    ),
    doc = "A `py_binary`, built for TensorFlow 2.15.",
)

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Rules for programs that run on one leg's Python, whatever leg is built."""

_EXTRA_TOOLCHAINS = "//command_line_option:extra_toolchains"
_PLATFORM_SUFFIX = "//command_line_option:platform_suffix"

# As in .bazelrc; label by flag.
_TF2_15_PACKAGES = {
    "//third_party/py:absl": "@adanet_pypi_tf2_15//:absl_py",
    "//third_party/py:matplotlib": "@adanet_pypi_tf2_15//:matplotlib",
    "//third_party/py:numpy": "@adanet_pypi_tf2_15//:numpy",
    "//third_party/py:rich": "@adanet_pypi_tf2_15//:rich",
    "//third_party/py:runfiles": "@adanet_pypi_tf2_15//:bazel_runfiles",
    "//third_party/py:six": "@adanet_pypi_tf2_15//:six",
    "//third_party/py:tensorflow": "@adanet_pypi_tf2_15//:tensorflow",
}

def _default_leg_impl(_settings, _attr):
    return {_EXTRA_TOOLCHAINS: []}

_default_leg = transition(
    implementation = _default_leg_impl,
    inputs = [],
    outputs = [_EXTRA_TOOLCHAINS],
)

def _tf2_15_impl(_settings, _attr):
    return dict(
        {
            _EXTRA_TOOLCHAINS: ["@adanet_python_tf2_15//:toolchain"],
            _PLATFORM_SUFFIX: "-tf2_15",
        },
        **{flag: Label(label) for flag, label in _TF2_15_PACKAGES.items()}
    )

_tf2_15 = transition(
    implementation = _tf2_15_impl,
    inputs = [],
    outputs = [_EXTRA_TOOLCHAINS, _PLATFORM_SUFFIX] + _TF2_15_PACKAGES.keys(),
)

def _leg_binary_impl(ctx):
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

def _leg_binary(leg, doc):
    return rule(
        implementation = _leg_binary_impl,
        attrs = {
            "binary": attr.label(
                cfg = leg,
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

default_leg_binary = _leg_binary(
    leg = _default_leg,
    doc = """A `py_binary`, built for the default leg's Python.

What it depends on must then run on that Python: packages of another leg that
are Python alone do.
""",
)

tf2_15_binary = _leg_binary(
    leg = _tf2_15,
    doc = "A `py_binary`, built for TensorFlow 2.15, its Python and packages.",
)

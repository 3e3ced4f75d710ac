# Copyright 2026 The adanet.distributed Authors. All Rights Reserved.
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     https://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""A rule for tools that run on the default leg's Python whatever the leg."""

def _default_leg_impl(_settings, _attr):
    return {"//command_line_option:extra_toolchains": []}

_default_leg = transition(
    implementation = _default_leg_impl,
    inputs = [],
    outputs = ["//command_line_option:extra_toolchains"],
)

def _default_leg_binary_impl(ctx):
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

default_leg_binary = rule(
    implementation = _default_leg_binary_impl,
    attrs = {
        "binary": attr.label(
            cfg = _default_leg,
            doc = "A `py_binary`.",
            executable = True,
            mandatory = True,
        ),
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
    },
    doc = """A `py_binary`, built for the default leg's Python.

What it depends on must then run on that Python: packages of another leg that
are Python alone do.
""",
    executable = True,
)

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
"""A rule that packs py_library targets into a wheel.

Its attributes are named as those of rules_python's `py_wheel`.
"""

load("//tools/build_defs:python.bzl", "PyInfo")

def _package_path(ctx, source):
    """Returns where a source lies in the wheel; fails outside the package."""
    if not source.short_path.startswith(ctx.attr.package + "/"):
        fail("%s reaches %s, and a wheel of %s has no place for it: keep it " %
             (ctx.label, source.short_path, ctx.attr.package) +
             "out of the deps.")
    return source.short_path

def _py_wheel_impl(ctx):
    transitive = depset(transitive = [
        dep[PyInfo].transitive_sources
        for dep in ctx.attr.deps
    ])
    sources = [
        source
        for source in transitive.to_list()
        if source.owner.workspace_name == ctx.label.workspace_name
    ]
    wheel = ctx.actions.declare_file("{}-{}-{}-{}-{}.whl".format(
        ctx.attr.distribution.replace("-", "_"),
        ctx.attr.version,
        ctx.attr.python_tag,
        ctx.attr.abi,
        ctx.attr.platform,
    ))
    description = ctx.actions.declare_file(ctx.label.name + ".json")
    ctx.actions.write(description, json.encode_indent(struct(
        package = ctx.attr.package,
        files = {_package_path(ctx, s): s.path for s in sources},
        license_file = ctx.file.license_file.path,
        project = {
            "name": ctx.attr.distribution,
            "version": ctx.attr.version,
            "description": ctx.attr.summary,
            "readme": ctx.file.description_file.path,
            "license": ctx.attr.license,
            "classifiers": ctx.attr.classifiers,
            "requires-python": ctx.attr.python_requires,
            "dependencies": ctx.attr.requires,
            "optional-dependencies": ctx.attr.extra_requires,
        },
    )))
    ctx.actions.run(
        executable = ctx.executable._make_wheel,
        arguments = [description.path, wheel.path],
        inputs = sources + [
            description,
            ctx.file.description_file,
            ctx.file.license_file,
        ],
        outputs = [wheel],
        mnemonic = "PyWheel",
        progress_message = "Packing %s" % wheel.basename,
    )
    return [DefaultInfo(
        files = depset([wheel]),
        runfiles = ctx.runfiles([wheel]),
    )]

py_wheel = rule(
    implementation = _py_wheel_impl,
    doc = """Packs the sources of its deps, and of theirs, into a wheel.

Sources of other repositories stay out: name them in `requires`. A test cannot
get in, because what is testonly cannot be in the deps.
""",
    attrs = {
        "abi": attr.string(default = "none"),
        "classifiers": attr.string_list(),
        "deps": attr.label_list(mandatory = True, providers = [PyInfo]),
        "description_file": attr.label(
            allow_single_file = True,
            doc = "A Markdown file.",
            mandatory = True,
        ),
        "distribution": attr.string(
            doc = "The name on the package index.",
            mandatory = True,
        ),
        "extra_requires": attr.string_list_dict(
            doc = "Name of an extra -> its requirements.",
        ),
        "license": attr.string(doc = "An SPDX expression.", mandatory = True),
        "license_file": attr.label(allow_single_file = True, mandatory = True),
        "package": attr.string(
            doc = "The import package; every source lies below it.",
            mandatory = True,
        ),
        "platform": attr.string(default = "any"),
        "python_requires": attr.string(mandatory = True),
        "python_tag": attr.string(default = "py3"),
        "requires": attr.string_list(doc = "As in Requires-Dist."),
        "summary": attr.string(mandatory = True),
        "version": attr.string(mandatory = True),
        "_make_wheel": attr.label(
            cfg = "exec",
            default = Label("//tools/build_defs:make_wheel"),
            executable = True,
        ),
    },
)

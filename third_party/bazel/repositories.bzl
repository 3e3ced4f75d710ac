# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Repositories that Bazel's own tools would download.

Bazel 4 fetches a few repositories of rules from the network, and this project
loads its Python rules from one, as newer versions of Bazel require. Bazel 4 has
all these rules built in, so a repository with a `defs.bzl` that names them is
enough. A workspace that declares the real one first keeps it.
"""

load("@bazel_tools//tools/build_defs/repo:utils.bzl", "maybe")

_PUBLIC_PACKAGE = "package(default_visibility = [\"//visibility:public\"])\n"

def _native_rules_repository_impl(ctx):
    ctx.file("BUILD", _PUBLIC_PACKAGE)
    ctx.file(ctx.attr.folder + "/BUILD", _PUBLIC_PACKAGE)
    ctx.file(ctx.attr.folder + "/defs.bzl", "".join([
        "{0} = native.{0}\n".format(rule)
        for rule in ctx.attr.rules
    ]))

_native_rules_repository = repository_rule(
    implementation = _native_rules_repository_impl,
    doc = "A repository whose `<folder>:defs.bzl` names native rules.",
    attrs = {
        "folder": attr.string(mandatory = True),
        "rules": attr.string_list(mandatory = True),
    },
)

# A .bzl file that defines `PyInfo` cannot read the built-in `PyInfo`, so this
# is a separate file.
_NATIVE_PROVIDERS = "NativePyInfo = PyInfo\n"

_PYTHON_RULES = """\
load("@bazel_tools//tools/python:toolchain.bzl", _pair = "py_runtime_pair")
load(":native_providers.bzl", "NativePyInfo")

PyInfo = NativePyInfo
py_binary = native.py_binary
py_library = native.py_library
py_runtime = native.py_runtime
py_runtime_pair = _pair
py_test = native.py_test
"""

def _python_rules_repository_impl(ctx):
    ctx.file("BUILD", _PUBLIC_PACKAGE)
    ctx.file("python/BUILD", _PUBLIC_PACKAGE)
    ctx.file("python/native_providers.bzl", _NATIVE_PROVIDERS)
    ctx.file("python/defs.bzl", _PYTHON_RULES)

_python_rules_repository = repository_rule(
    implementation = _python_rules_repository_impl,
    doc = "The part of rules_python that //tools/build_defs:python.bzl loads.",
)

def _coverage_tools_repository_impl(ctx):
    ctx.file("report_generator.sh", "#!/bin/sh\n", executable = True)
    ctx.file("BUILD", _PUBLIC_PACKAGE + """
sh_binary(
    name = "coverage_report_generator",
    srcs = ["report_generator.sh"],
)
""")

_coverage_tools_repository = repository_rule(
    implementation = _coverage_tools_repository_impl,
    doc = "Every test names a coverage report generator; this one is empty.",
)

def bazel_tools_repositories():
    """Declares what Bazel 4's own tools and this project's rules load."""
    maybe(
        _native_rules_repository,
        name = "rules_cc",
        folder = "cc",
        rules = [
            "cc_binary",
            "cc_import",
            "cc_library",
            "cc_proto_library",
            "cc_test",
            "cc_toolchain",
            "cc_toolchain_suite",
            "objc_library",
        ],
    )
    maybe(
        _native_rules_repository,
        name = "rules_java",
        folder = "java",
        rules = [
            "java_binary",
            "java_import",
            "java_library",
            "java_proto_library",
            "java_runtime",
            "java_toolchain",
        ],
    )
    maybe(
        _native_rules_repository,
        name = "rules_proto",
        folder = "proto",
        rules = [
            "proto_lang_toolchain",
            "proto_library",
        ],
    )
    maybe(
        _python_rules_repository,
        name = "rules_python",
    )
    maybe(
        _coverage_tools_repository,
        name = "remote_coverage_tools",
    )

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The repositories of repositories.bzl, for MODULE.bazel.

In a file of its own, because Bazel 4 has no `module_extension`.
"""

load("//third_party:repositories.bzl", "python_repositories")

def _adanet_impl(_module_ctx):
    python_repositories()

adanet = module_extension(
    implementation = _adanet_impl,
    doc = "Pythons, and the packages that adanet's targets import.",
)

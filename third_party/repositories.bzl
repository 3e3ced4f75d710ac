# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a workspace that builds adanet's targets declares."""

load("//third_party/bazel:repositories.bzl", "bazel_tools_repositories")
load(
    "//third_party/py:repositories.bzl",
    "pip_packages",
    "tensorflow_repositories",
)

def adanet_repositories():
    """Declares the repositories that adanet's targets come from."""
    bazel_tools_repositories()
    python_repositories()

def python_repositories():
    """Declares Pythons and packages, for any version of Bazel."""
    tensorflow_repositories()
    pip_packages(
        name = "adanet_reference",
        requirements = "@adanet//third_party/py:adanet_reference.txt",
        tensorflow_version = "1.15",
    )
    pip_packages(
        name = "adanet_peer",
        requirements = "@adanet//third_party/py:adanet_peer.txt",
        tensorflow_version = "2.15",
    )
    for name in ("docs", "lint", "notebook", "publish", "ray", "tuner"):
        pip_packages(
            name = "adanet_pypi_" + name,
            requirements = "@adanet//third_party/py:%s.txt" % name,
        )

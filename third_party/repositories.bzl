# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a workspace that builds adanet's targets declares."""

load("//third_party/bazel:repositories.bzl", "bazel_tools_repositories")
load(
    "//third_party/py:repositories.bzl",
    "pip_packages",
    "python_toolchain",
)

# Name of a leg -> what its repositories' names end in, and its requirements.
_LEGS = {
    "tf1_15": ("_tf1_15", "@adanet//third_party/py:tf1_15.txt"),
    "tf2_15": ("_tf2_15", "@adanet//third_party/py:tf2_15.txt"),
    "tf2_21": ("", "@adanet//:requirements.txt"),
}

def adanet_repositories():
    """Declares the repositories that adanet's targets come from."""
    bazel_tools_repositories()
    python_repositories()

def python_repositories():
    """Declares those of them that no release of Bazel has."""
    for leg, (suffix, requirements) in _LEGS.items():
        python_toolchain(
            name = "adanet_python" + suffix,
            leg = leg,
        )
        pip_packages(
            name = "adanet_pypi" + suffix,
            leg = leg,
            requirements = requirements,
            substitutes = {"tensorflow": "tensorflow_cpu"},
        )
    pip_packages(
        name = "adanet_reference",
        leg = "tf1_15",
        requirements = "@adanet//third_party/py:adanet_reference.txt",
    )
    pip_packages(
        name = "adanet_peer",
        leg = "tf2_15",
        requirements = "@adanet//third_party/py:adanet_peer.txt",
    )
    pip_packages(
        name = "adanet_pypi_publish",
        leg = "tf2_21",
        requirements = "@adanet//third_party/py:publish.txt",
    )
    pip_packages(
        name = "adanet_pypi_docs",
        leg = "tf2_21",
        requirements = "@adanet//third_party/py:docs.txt",
    )
    pip_packages(
        name = "adanet_pypi_lint",
        leg = "tf2_21",
        requirements = "@adanet//third_party/py:lint.txt",
    )

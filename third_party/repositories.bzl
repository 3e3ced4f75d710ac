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
"""What a workspace that builds adanet's targets declares."""

load("//third_party/bazel:repositories.bzl", "bazel_tools_repositories")
load(
    "//third_party/py:repositories.bzl",
    "pip_packages",
    "python_toolchain",
)

# The versions that requirements.txt is locked for.
_PYTHON_VERSIONS = [
    "3.10",
    "3.11",
    "3.12",
    "3.13",
]

def adanet_repositories():
    """Declares the repositories that adanet's targets come from."""
    bazel_tools_repositories()
    python_toolchain(
        name = "adanet_python",
        python_versions = _PYTHON_VERSIONS,
    )
    pip_packages(
        name = "adanet_pypi",
        python_versions = _PYTHON_VERSIONS,
        requirements = "@adanet//:requirements.txt",
        substitutes = {"tensorflow": "tensorflow_cpu"},
    )

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
"""The versions of what a benchmark measures, to report them."""

import platform

import numpy as np

_VERSION_OF_PACKAGE = {
    "adanet": "__version__",
    "adanet.distributed": "VERSION",
}


def versions(package):
  """Returns dict from a package to its version.

  Args:
    package: str, "adanet.distributed" for this project, or "adanet" where that
      is imported in its place.
  """
  from adanet import tf_compat  # pylint: disable=g-import-not-at-top
  from adanet import version  # pylint: disable=g-import-not-at-top
  return {
      package: getattr(version, _VERSION_OF_PACKAGE[package]),
      "TensorFlow": tf_compat.v1.VERSION,
      "NumPy": np.__version__,
      "Python": platform.python_version(),
  }

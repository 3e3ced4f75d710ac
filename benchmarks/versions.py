# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
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

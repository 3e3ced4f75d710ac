# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Prints, as JSON, the versions that the leg which runs this consists of."""

import json
import platform
import sys

from adanet import tf_compat
import numpy as np

def versions():
  """Returns a dict from what the leg consists of to its version."""
  keras = tf_compat.keras
  if not hasattr(keras, "__version__"):  # In 2.15 the package behind has one.
    keras = sys.modules[keras.Model.__module__.split(".")[0]]
  return {
      "TensorFlow": tf_compat.v1.VERSION,
      "Python": platform.python_version(),
      "NumPy": np.__version__,
      "Keras": keras.__version__,
  }


if __name__ == "__main__":
  print(json.dumps(versions()))

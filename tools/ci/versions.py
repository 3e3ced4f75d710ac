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

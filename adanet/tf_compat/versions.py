# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The versions of TensorFlow and of Keras, to write down."""

import sys
from typing import Dict

from adanet.tf_compat import _tensorflow


def loaded() -> Dict[str, str]:
  """Returns the version of TensorFlow, and of each Keras that is loaded."""
  versions = {name: getattr(sys.modules.get(name), "__version__", None)
              for name in ("keras", "tf_keras")}
  return dict({name: str(version) for name, version in versions.items()
               if version}, tensorflow=_tensorflow.v1.VERSION)

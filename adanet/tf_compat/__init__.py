# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The one door to TensorFlow: its versions are asked about here alone.

Attributes:
  v1: the module `tensorflow.compat.v1`, the one name under which TensorFlow
    1.15 and every 2.x have graphs and sessions.
  v2: the module `tensorflow.compat.v2`, as `v1` for what came with TensorFlow
    2; 1.15 has most of it too.
  keras: the Keras that works in a graph of TensorFlow 1: `tf.keras` before
    TensorFlow 2.16, the package `tf_keras` after, which a target that uses it
    names in its deps.
  STANDARD_PS_OPS: frozenset of str, the types of the ops that hold variables,
    for a device function. TensorFlow's own list, public in no version.
  eager_device: a function that returns the device of the eager scope, which no
    version tells but by way of a tensor.

Each of these loads TensorFlow when it is first read; importing this module, and
making a `RunConfig`, does not.
"""

from adanet.tf_compat import _tensorflow
from adanet.tf_compat.run_config import RunConfig
from adanet.tf_compat.run_config import TaskType


def __getattr__(name):
  value = globals()[name] = getattr(_tensorflow, name)
  return value

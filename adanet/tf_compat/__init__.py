# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""TensorFlow for programs that run on all supported versions.

For example::

    from adanet.tf_compat import keras, v1 as tf

Attributes:
  v1: the module `tensorflow.compat.v1`, with graphs and sessions on TensorFlow
    1.15 and all 2.x.
  v2: the module `tensorflow.compat.v2`, for features of TensorFlow 2.
    TensorFlow 1.15 has most of the features.
  keras: Keras 2: `tf.keras` before TensorFlow 2.16, and the package `tf_keras`
    on later versions. A Bazel target that uses `keras` needs the package in the
    deps.
  keras_3: Keras 3, the package `keras`. An ImportError before TensorFlow 2.16.
  HAS_KERAS_3: bool, whether Keras 3 works with this TensorFlow.
  STANDARD_PS_OPS: frozenset of str, the types of the ops that hold variables,
    for a device function; a private list of TensorFlow.
  IS_TENSORFLOW_1: bool, whether this is TensorFlow 1.15.

The first read of an attribute loads TensorFlow. Importing this module and
making a `RunConfig` do not load TensorFlow. `metric_op` converts a Keras metric
to a metric of TensorFlow 1.
"""

from typing import Any, FrozenSet, TYPE_CHECKING

from adanet.tf_compat import _tensorflow
from adanet.tf_compat import optimizers
from adanet.tf_compat import tensorflow_internals
from adanet.tf_compat.metrics import metric_op
from adanet.tf_compat.run_config import default_session_config
from adanet.tf_compat.run_config import RunConfig
from adanet.tf_compat.run_config import TaskType

__all__ = ["RunConfig", "TaskType", "default_session_config", "metric_op",
           "optimizers"]

if TYPE_CHECKING:
  v1: Any
  v2: Any
  keras: Any
  keras_3: Any
  HAS_KERAS_3: bool
  STANDARD_PS_OPS: FrozenSet[str]
  IS_TENSORFLOW_1: bool
else:

  def __getattr__(name):
    value = globals()[name] = (
        tensorflow_internals.variable_ops() if name == "STANDARD_PS_OPS" else
        _tensorflow.__getattr__(name))
    return value

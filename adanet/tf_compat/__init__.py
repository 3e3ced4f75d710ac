# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""All access to TensorFlow: only this package knows about its versions.

Attributes:
  v1: the module `tensorflow.compat.v1`. TensorFlow 1.15 and every 2.x have
    graphs and sessions under this name.
  v2: the module `tensorflow.compat.v2`, for features of TensorFlow 2.
    TensorFlow 1.15 has most of it.
  keras: Keras 2, which every version of TensorFlow has: `tf.keras` before
    TensorFlow 2.16, and the package `tf_keras` since. A target that uses it
    names that package in its deps.
  keras_3: Keras 3, the package `keras`. An ImportError before TensorFlow 2.16.
  HAS_KERAS_3: bool, whether Keras 3 works with this TensorFlow.
  STANDARD_PS_OPS: frozenset of str, the types of the ops that hold variables,
    for a device function. It is TensorFlow's own list, which is not public.
  IS_TENSORFLOW_1: bool, whether this is TensorFlow 1.15.

Each of these loads TensorFlow when it is first read. Importing this module and
making a `RunConfig` do not. `metric_op` makes a Keras metric one of TensorFlow
1.
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

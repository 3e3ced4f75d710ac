# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A RunConfig for `tf.estimator`, on versions of TensorFlow that have it."""

import inspect
from typing import Any

from adanet.tf_compat import _tensorflow


def estimator_run_config(config: Any) -> Any:
  """Returns a RunConfig that an estimator of `tf.estimator` takes.

  Args:
    config: `tf_compat.RunConfig` or `tf.estimator.RunConfig`.

  Returns:
    A `tf.estimator.RunConfig` with the same values, of which the cluster comes
    from `TF_CONFIG`. Since TensorFlow 2.16 there is none: then `config`.
  """
  estimator = getattr(_tensorflow.v1, "estimator", None)
  run_config = getattr(estimator, "RunConfig", None)
  if run_config is None or isinstance(config, run_config):
    return config
  return run_config(**{
      name: getattr(config, name)
      for name in inspect.signature(run_config.__init__).parameters
      if name != "self" and hasattr(config, name)})

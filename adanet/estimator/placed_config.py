# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Finds the model_dir of an Estimator, and the RunConfig that has it."""

import os
import tempfile
from typing import Any

from adanet import log as logging
from adanet import tf_compat
from adanet.estimator import user_folder
from adanet.tf_compat import checkpoint_file
from adanet.tf_compat import files


def placed_config(config: Any, model_dir: Any) -> Any:
  """Returns a RunConfig that has the model_dir, a new one if need be.

  Args:
    config: RunConfig or None.
    model_dir: a path or None.

  Raises:
    ValueError: they do not fit, or `model_dir` is no folder for checkpoints.
    TypeError: `model_dir` is no path.
  """
  config = config if config is not None else tf_compat.RunConfig()
  if not hasattr(config, "model_dir") or isinstance(config, type):
    raise ValueError(
        f"config must be an adanet.tf_compat.RunConfig, got {config!r}")
  for name in ("train_distribute", "eval_distribute", "device_fn"):
    if getattr(config, name, None) is not None:
      raise ValueError(
          f"config.{name} must be None, got {getattr(config, name)!r}: "
          "placement_strategy says which worker builds what, and a builder may "
          "use tf.device")
  given = user_folder.absolute("model_dir", model_dir)
  configured = user_folder.absolute("config.model_dir", config.model_dir)
  if None not in (given, configured) and given != configured:
    raise ValueError(
        "model_dir must equal config.model_dir where both are set, got "
        f"{model_dir!r} and {config.model_dir!r}")
  model_dir = given or configured
  if model_dir is None:
    if config.num_worker_replicas != 1 or config.num_ps_replicas:
      raise ValueError(
          "model_dir=None: expected a folder that all tasks of the cluster see. "
          "Set it in the RunConfig, or with adanet-launch --model_dir.")
    model_dir = tempfile.mkdtemp()
    logging.warning("model_dir is not set: the model goes to %s.", model_dir)
  if files.names(os.path.join(model_dir, "networks")):
    raise ValueError(
        f"model_dir={model_dir!r} has a search of EnsembleSearch, which an "
        "Estimator would overwrite. Use another folder.")
  if config.num_ps_replicas and not checkpoint_file.is_readable(model_dir):
    # They may be on machines without the link of `checkpoint_file.readable`.
    raise ValueError(
        f"model_dir={model_dir!r}: expected a path without [ and \\ on a "
        "cluster with parameter servers, because TensorFlow reads the name of "
        "a checkpoint as a pattern. Use another folder.")
  return config.replace(model_dir=model_dir)

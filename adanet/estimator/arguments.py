# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks the user's arguments of the Estimator: one line for each mistake."""

import os
import tempfile
from typing import Any, Iterable, Optional, Sequence, Tuple

from adanet import checks
from adanet import log as logging
from adanet import messages
from adanet import tf_compat
from adanet.tf_compat import checkpoint_file
from adanet.tf_compat import files

_Several = Optional[Iterable[Any]]


def _described(value, *methods):
  """Returns a value for a message, with advice for a class."""
  is_class = isinstance(value, type) and all(
      hasattr(value, method) for method in methods)
  return messages.describe(value) + ": call it" * is_class


def check_name(name: Any) -> None:
  """Raises a TypeError unless the name of an evaluation is a string or None."""
  if name is not None and not isinstance(name, str):
    raise TypeError(f"name must be a string or None, got {name!r}")


def check_object(name: str, value: Any, methods: Sequence[str],
                 expected: str) -> None:
  """Raises a ValueError unless an object has some methods."""
  if isinstance(value, type) or not all(
      callable(getattr(value, method, None)) for method in methods):
    raise ValueError(
        f"{name} must be {expected}, got {_described(value, *methods)}")


_OBJECTS = {
    "head": (["create_estimator_spec"],
             "of adanet.heads, such as RegressionHead() for \"mse\", "
             "MultiClassHead(n_classes) for "
             "\"sparse_categorical_crossentropy\" and BinaryClassHead() for "
             "\"binary_crossentropy\", or of tf.estimator"),
    "subnetwork_generator": (["generate_candidates"],
                             "an adanet.subnetwork.Generator"),
    "report_materializer": (["input_fn", "materialize_subnetwork_reports"],
                            "an adanet.ReportMaterializer"),
    "replay_config": (["get_best_ensemble_index"], "an adanet.replay.Config"),
    "placement_strategy": (["with_config"],
                           "a PlacementStrategy of adanet.distributed"),
    "global_step_combiner_fn": (["__call__"], "a function"),
}


def check_objects(**values: Any) -> None:
  """Raises a ValueError unless arguments of `adanet.Estimator` are objects.

  Of the arguments, which are given by name, only two may not be None.
  """
  for name, value in values.items():
    if value is not None or name in ("head", "subnetwork_generator"):
      check_object(name, value, *_OBJECTS[name])


def check_function(name: str, value: Any, expected: str) -> None:
  """Raises a ValueError unless a value can be called."""
  if not callable(value):
    raise ValueError(
        f"{name} must be a function {expected}, got {_described(value)}")


def checked(name: str, values: _Several, method: str, expected: str
           ) -> Tuple[Any, ...]:
  """Returns values as a tuple, each of which has a method; () for None.

  Raises:
    TypeError: they are no sequence, or one has no such method.
  """
  try:
    values = () if values is None else tuple(values)
  except TypeError:
    raise TypeError(f"{name} must be a sequence of {expected}, got "
                    f"{_described(values)}") from None
  for value in values:
    if isinstance(value, type) or not callable(getattr(value, method, None)):
      raise TypeError(
          f"{name} must have only {expected}, got "
          f"{_described(value, method)}")
  return values


def checked_hooks(values: _Several) -> Tuple[Any, ...]:
  """Returns hooks as a tuple, after checking them."""
  return checked("hooks", values, "before_run", "SessionRunHooks")


def checked_listeners(values: _Several) -> Tuple[Any, ...]:
  """Returns saving listeners as a tuple, after checking them."""
  return checked("saving_listeners", values, "after_save",
                 "CheckpointSaverListeners")


def absolute_folder(name: str, value: Any) -> Optional[str]:
  """Returns the path of a folder of checkpoints, which holds after a `chdir`.

  A "~" is expanded, because a shell does not expand it in --model_dir=~/model.

  Raises:
    TypeError: it is no path.
    ValueError: it is empty, or TensorFlow cannot read checkpoints there.
  """
  path = checks.check_folder(name, value)
  if path is None:
    return None
  if "://" not in path:
    return os.path.abspath(os.path.expanduser(path))
  if not checkpoint_file.is_readable(path):
    raise ValueError(
        f"{name}={path!r}: expected a URL without [ and \\, because TensorFlow "
        "reads the name of a checkpoint as a pattern. Use another folder.")
  return path


def placed_config(config: Any, model_dir: Any) -> Any:
  """Returns a RunConfig that has the model_dir, a new one if both are None.

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
  argument_dir = absolute_folder("model_dir", model_dir)
  configured = absolute_folder("config.model_dir", config.model_dir)
  if None not in (argument_dir, configured) and argument_dir != configured:
    raise ValueError(
        "model_dir must equal config.model_dir where both are set, got "
        f"{model_dir!r} and {config.model_dir!r}")
  model_dir = argument_dir or configured
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

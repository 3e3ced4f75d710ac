# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The inputs of adanet-plan: a TF_CONFIG, and the strategy of a user."""

import importlib
import inspect
import json
import os
import sys

from adanet import distributed
from adanet import tf_compat
from adanet.console import command
from adanet.distributed import _arguments


def error_text(error):
  """Returns an exception as text, with its type."""
  return f"{type(error).__name__}: {error}"


def _folder():
  """Returns the folder that the user is in."""
  # `bazel run` starts programs in another folder.
  return os.environ.get("BUILD_WORKING_DIRECTORY") or os.getcwd()


def _read_tf_config(path):
  """Returns the bytes of a file, or of standard input for "-"."""
  if path == "-":
    if sys.stdin is None:
      raise OSError("standard input is closed")
    return sys.stdin.buffer.read()
  with open(os.path.join(_folder(), path), "rb") as f:
    return f.read()


def shape_of_tf_config(path=None):
  """Returns `(num_workers, num_ps, chief)` of the cluster in a `TF_CONFIG`.

  The chief counts as a worker. Its job is "chief" or "master".

  Args:
    path: str, a file, or "-" for standard input; None for the variable of the
      environment, which must be set.

  Raises:
    BadInput: the file cannot be read, or is no `TF_CONFIG` of a cluster.
  """
  source = "" if path is None else f"--tf_config={path}: "
  try:
    tf_config = (os.environ["TF_CONFIG"] if path is None else
                 _read_tf_config(path))
    if isinstance(tf_config, bytes):
      tf_config = tf_config.decode("utf-8")
    tf_config = json.loads(tf_config)
  except OSError as e:
    raise command.BadInput(
        f"{source}{e.strerror or e}: expected a file with a TF_CONFIG.") from e
  except ValueError as e:
    raise command.BadInput(
        f"{source}TF_CONFIG must be a JSON object: {e}.") from e
  try:
    config = tf_compat.RunConfig.for_chief(tf_config)
  except Exception as e:  # pylint: disable=broad-except
    raise command.BadInput(f"{source}{e}.") from e
  return config.num_worker_replicas, config.num_ps_replicas, config.task_type


def parse_weights(flag, num_subnetworks):
  """Returns the numbers of --costs or --sizes as a tuple; None for none."""
  if flag.value is None:
    return None
  try:
    weights = tuple(map(_parse_weight, flag.value.split(",")))
  except ValueError:
    weights = ()
  if len(weights) != num_subnetworks:
    raise command.BadInput(
        f"--{flag.name}={flag.value}: expected "
        f"{_arguments.numbers_in_range(num_subnetworks)}"
        f"{' with commas between them' * (num_subnetworks != 1)}, one for each "
        "subnetwork.")
  return weights


def parse_weight(flag):
  """Returns the number of --ensemble_cost; None for none."""
  if flag.value is None:
    return None
  try:
    return 0 if float(flag.value) == 0 else _parse_weight(flag.value)
  except ValueError as e:
    raise command.BadInput(
        f"--{flag.name}={flag.value}: expected 0, or a number "
        f"{_arguments.RANGE}.") from e


def _parse_weight(text):
  """Returns a number that a plan takes, or raises a ValueError."""
  number = float(text)
  if not _arguments.LEAST <= number <= _arguments.MOST:
    raise ValueError(text)
  return int(text) if text.strip().isdigit() else number


def load_strategy(name):
  """Returns a `PlacementStrategy` of the user, "module:Class".

  The module may be in the user's folder. The class is called without arguments.
  """
  source = "--strategy=" + name
  module_name, _, class_name = name.partition(":")
  if not module_name or not class_name:
    raise command.BadInput(
        source + ": expected round_robin, replication, balanced or "
        "module:Class.")
  try:
    sys.path.insert(0, _folder())
    module = importlib.import_module(module_name)
  except (Exception, SystemExit) as e:  # pylint: disable=broad-except
    raise command.BadInput(f"{source}: cannot import {module_name}: "
                           f"{error_text(e)}") from e
  strategy_class = getattr(module, class_name, None)
  if not (inspect.isclass(strategy_class) and
          issubclass(strategy_class, distributed.PlacementStrategy)):
    raise command.BadInput(
        f"{source}: expected a subclass of PlacementStrategy in "
        f"{getattr(module, '__file__', module_name)}.")
  try:
    return strategy_class()
  except (Exception, SystemExit) as e:  # pylint: disable=broad-except
    raise command.BadInput(
        f"{source}: cannot call {class_name} without arguments: "
        f"{error_text(e)}") from e

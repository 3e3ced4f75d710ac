# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks of a caller's input: arguments, and a config's attributes."""

import collections
import collections.abc
import fractions
import math
import numbers

from adanet import checks
from adanet import messages


#: The least and the most of a cost or a size in a plan, whose times and ratios
#: are floats.
LEAST, MOST = 1e-100, 1e100
RANGE = f"from {LEAST:g} to {MOST:g}"


def _as_python(value):
  """Returns a number as an int, float or Fraction."""
  if isinstance(value, numbers.Integral):
    return int(value)
  return (fractions.Fraction if isinstance(value, numbers.Rational) else float)(
      value)


def check_weight(name, value, expected, may_be_zero=False, in_plan=False):
  """Returns a cost or size as an int, float or Fraction, after checking it.

  Args:
    expected: the valid values in words, for the error.
    may_be_zero: whether 0 is valid.
    in_plan: whether the range is [LEAST, MOST], and not all positive numbers.
  """
  def is_valid(number):
    weight = _as_python(number)  # NumPy's small types have no LEAST and MOST.
    return may_be_zero and weight == 0 or (
        LEAST <= weight <= MOST if in_plan else 0 < weight < math.inf)

  return _as_python(checks.check_number(name, value, is_valid, expected))


def check_weights(name, value, expected, count=None):
  """Returns costs or sizes as a tuple; else as `check_weight`.

  `count` says how many there must be. None: at least one.
  """
  message = f"{name}={messages.describe(value)}: expected {expected}."
  try:
    if isinstance(value, (
        str, bytes, collections.abc.Mapping, collections.abc.Set)):
      raise TypeError  # No numbers, or in no order.
    value = tuple(value)
  except TypeError:
    raise TypeError(message) from None
  if not value or count not in (None, len(value)):
    raise ValueError(message)
  return tuple(
      check_weight(f"{name}[{i}]", number, "a finite number greater than 0")
      for i, number in enumerate(value))


def numbers_in_range(count):
  """Returns what a plan expects as costs or sizes, for an error."""
  return f"{messages.count(count, 'number')} {RANGE}"


def check_weights_of_plan(name, value, num_subnetworks):
  """As `check_weights`, for a number in [LEAST, MOST] for each subnetwork."""
  checked = check_weights(
      name, value, f"{numbers_in_range(num_subnetworks)}, one for each "
      "subnetwork", num_subnetworks)
  return tuple(
      check_weight(f"{name}[{i}]", weight, f"a number {RANGE}", in_plan=True)
      for i, weight in enumerate(checked))


#: A plan asks each worker about every subnetwork.
MAX_WORKERS = 20000
_MAX_PAIRS = 10**7


def check_cluster(num_workers, num_subnetworks):
  """Raises a ValueError if a cluster is too large for a plan."""
  source = f"num_workers={num_workers}"
  if num_workers > MAX_WORKERS:
    raise ValueError(f"{source}: expected at most {MAX_WORKERS:,} workers.")
  if num_workers * num_subnetworks > _MAX_PAIRS:
    raise ValueError(
        f"{source}, num_subnetworks={num_subnetworks}: expected at most "
        f"{_MAX_PAIRS:,} pairs of a worker and a subnetwork.")


def check_num_subnetworks(num_subnetworks):
  """Returns the number of subnetworks as an int, after checking it."""
  return checks.check_count("num_subnetworks", num_subnetworks)


def check_subnetwork(num_subnetworks, subnetwork_index):
  """Returns the number and the index as ints, after checking them."""
  if type(num_subnetworks) is type(subnetwork_index) is int and (
      0 <= subnetwork_index < num_subnetworks):
    return num_subnetworks, subnetwork_index  # Asked most often.
  num_subnetworks = check_num_subnetworks(num_subnetworks)
  return num_subnetworks, checks.check_count(
      "subnetwork_index", subnetwork_index, 0, num_subnetworks)


def _incomplete(config, attributes):
  """Returns the error for a config that lacks an attribute."""
  return TypeError(
      f"config={messages.describe(config)}: expected an object with "
      f"{attributes}, as a RunConfig has.")


class TaskConfig(collections.namedtuple("TaskConfig", [
    "num_worker_replicas", "num_ps_replicas", "global_id_in_cluster",
    "is_chief", "task_type", "task_id"])):
  """The attributes of a `RunConfig` that tell one worker from another."""
  __slots__ = ()

  def __getattr__(self, name):
    raise AttributeError(
        f"config.{name}: expected only "
        f"config.{', config.'.join(self._fields)}. A strategy of your own is "
        "asked as each worker, and these are all that is known of another "
        "worker.")


def read_worker(config):
  """Returns `(num_workers, worker_index)` of a `RunConfig`, as ints."""
  if type(config) is TaskConfig:  # A plan's, which is right, and reads often.
    return config[0], config[2]
  try:
    num_workers = config.num_worker_replicas
    worker_index = config.global_id_in_cluster
  except AttributeError as e:
    raise _incomplete(
        config, "num_worker_replicas and global_id_in_cluster") from e
  if worker_index is None:
    # An evaluator is outside the cluster, and TensorFlow's RunConfig counts no
    # workers for it. It decides as the first worker does.
    return checks.check_count("config.num_worker_replicas", num_workers, 0), 0
  num_workers = checks.check_count("config.num_worker_replicas", num_workers)
  if getattr(config, "task_type", None) == "worker":
    # TensorFlow counts an evaluator, too, where the cluster names it.
    worker_index = min(config.task_id + 1, checks.check_count(
        "config.global_id_in_cluster", worker_index, 0))
  return num_workers, checks.check_count(
      "config.global_id_in_cluster", worker_index, 0, num_workers)


def read_num_ps(config):
  """Returns the number of parameter servers of a `RunConfig`, as an int."""
  try:
    num_ps = config.num_ps_replicas
  except AttributeError as e:
    raise _incomplete(config, "num_ps_replicas") from e
  return checks.check_count("config.num_ps_replicas", num_ps, 0)

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The specs of `adanet.train_and_evaluate`, with `tf.estimator`'s arguments."""

import collections
from typing import Any, Callable, Iterable, Optional

from adanet import checks
from adanet.core import user_input
from adanet.estimator import arguments

_InputFn = Callable[..., Any]
_Several = Optional[Iterable[Any]]


def _checked_exporters(exporters):
  """Returns exporters as a tuple, after checking that their names differ."""
  if hasattr(exporters, "export"):
    exporters = [exporters]
  exporters = arguments.checked(
      "exporters", exporters, "export",
      "exporters, such as an adanet.estimator.exporters.LatestExporter")
  names = [getattr(exporter, "name", None) for exporter in exporters]
  for name, exporter in zip(names, exporters):
    if not name or not isinstance(name, str):
      raise ValueError(
          "the name of an exporter must be a string that is not empty, got "
          f"{name!r} of {exporter!r}")
    if names.count(name) > 1:
      raise ValueError(
          f"exporters must have different names, got {name!r} "
          f"{names.count(name)} times: each writes to a folder of its name")
  return exporters


class TrainSpec(
    collections.namedtuple(
        "TrainSpec", ["input_fn", "max_steps", "hooks", "saving_listeners"])):
  """How to train, with the arguments of `tf.estimator.TrainSpec`.

  For example::

      train_spec = adanet.TrainSpec(train_input_fn, max_steps=3000)

  Attributes:
    input_fn: function that returns the input, see `adanet.Estimator.train`.
    max_steps: int, the global step at which training ends. With None, training
      ends after the Estimator's `max_iterations` or with the input.
    hooks: tuple of `SessionRunHook`, for the chief and each worker.
    saving_listeners: tuple of `CheckpointSaverListener`, for the chief.
  """

  def __new__(cls, input_fn: _InputFn, max_steps: Optional[int] = None,
              hooks: _Several = None,
              saving_listeners: _Several = None) -> "TrainSpec":
    """Makes a spec.

    Raises:
      TypeError: `input_fn` is no function, `max_steps` is not an integer, or an item
        of `hooks` or `saving_listeners` has another type.
      ValueError: `max_steps` is less than 1.
    """
    user_input.check_input_fn(input_fn, TypeError)
    checks.check_count("max_steps", max_steps, or_none=True)
    return super().__new__(
        cls, input_fn, max_steps, arguments.checked_hooks(hooks),
        arguments.checked_listeners(saving_listeners))


class EvalSpec(
    collections.namedtuple("EvalSpec", [
        "input_fn", "steps", "name", "hooks", "exporters", "start_delay_secs",
        "throttle_secs"])):
  """How to evaluate and export, with the arguments of `tf.estimator.EvalSpec`.

  For example::

      eval_spec = adanet.EvalSpec(
          test_input_fn, steps=None, exporters=exporters.BestExporter(
              serving_input_receiver_fn=serving_input_receiver_fn))

  Attributes:
    input_fn: function that returns the input, see `adanet.Estimator.evaluate`.
    steps: int, the number of batches; None for all of the input.
    name: str, distinguishes evaluations in TensorBoard, or None.
    hooks: tuple of `SessionRunHook`.
    exporters: tuple of exporters of `adanet` or `tf.estimator`, all called
      after each evaluation. The argument may also be a single exporter.
    start_delay_secs: float, the seconds that an evaluator task waits at the
      start.
    throttle_secs: float, the least number of seconds between the starts of two
      evaluations. The last checkpoint is always evaluated.
  """

  def __new__(cls, input_fn: _InputFn, steps: Optional[int] = 100,
              name: Optional[str] = None, hooks: _Several = None,
              exporters: Any = None, start_delay_secs: float = 120,
              throttle_secs: float = 600) -> "EvalSpec":
    """Makes a spec.

    Raises:
      TypeError: `input_fn` is no function, `steps` is not an integer, `name` is
        no str, or another number has another type.
      ValueError: `steps` is less than 1, `start_delay_secs` or `throttle_secs`
        is negative, or an exporter has no name or the name of another exporter.
    """
    user_input.check_input_fn(input_fn, TypeError)
    checks.check_count("steps", steps, or_none=True)
    arguments.check_name(name)
    for argument, value in (("start_delay_secs", start_delay_secs),
                            ("throttle_secs", throttle_secs)):
      checks.check_number(argument, value, lambda v: v >= 0,
                          "a number of at least 0")
    return super().__new__(
        cls, input_fn, steps, name,
        arguments.checked_hooks(hooks),
        _checked_exporters(exporters), start_delay_secs, throttle_secs)


def _adopted(argument, value, spec, optional=()):
  """Returns an adanet spec with the attributes of any spec."""
  if isinstance(value, spec):
    return value
  needed = [name for name in spec._fields if name not in optional]
  if not all(hasattr(value, name) for name in needed):
    raise TypeError(
        f"{argument} must be an adanet.{spec.__name__}, or a "
        f"tf.estimator.{spec.__name__}, got {value!r}")
  return spec(**{name: getattr(value, name) for name in spec._fields
                 if hasattr(value, name)})


def train_spec(value: Any) -> TrainSpec:
  """Returns a `TrainSpec` for an `adanet` or `tf.estimator` `TrainSpec`.

  Raises:
    TypeError: `value` lacks an attribute of a `TrainSpec`.
  """
  # The TrainSpec of TensorFlow 1.15 has no saving_listeners.
  return _adopted("train_spec", value, TrainSpec, ["saving_listeners"])


def eval_spec(value: Any) -> EvalSpec:
  """Returns an `EvalSpec` for an `adanet` or `tf.estimator` `EvalSpec`.

  Raises:
    TypeError: `value` lacks an attribute of an `EvalSpec`.
  """
  return _adopted("eval_spec", value, EvalSpec)

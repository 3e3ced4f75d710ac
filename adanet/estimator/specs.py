# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What `adanet.train_and_evaluate` is told, as `tf.estimator` has it."""

import collections
import typing

from adanet.training import arrays
from adanet.training import input as input_lib

_InputFn = typing.Callable[..., typing.Any]
_Several = typing.Optional[typing.Iterable[typing.Any]]


def check_number(name: str, value: typing.Any,
                 is_good: typing.Callable[[typing.Any], bool],
                 expected: str) -> None:
  """Raises a TypeError or ValueError unless a number is as expected."""
  message = f"{name} must be {expected}, got {value!r}"
  try:
    good = is_good(value)
  except TypeError:
    raise TypeError(message) from None
  if not good:
    raise ValueError(message)


def check_count(name: str, value: typing.Any) -> None:
  """Raises an error unless a value is a whole number > 0, such as 1e3, or None.
  """
  if value is not None:
    check_number(name, value, lambda v: v > 0 and v % 1 == 0,
                 "a whole number > 0, or None")


def _checked(name, values, method, expected):
  """Returns values as a tuple, each of which has a method.

  Args:
    name: str, the argument.
    values: what was given for it.
    method: str, the name of the method.
    expected: str, what each value must be.
  """
  try:
    values = () if values is None else tuple(values)
  except TypeError:
    raise TypeError(f"{name} must be a sequence of {expected}, got "
                    f"{arrays.described(values)}") from None
  for value in values:
    if not callable(getattr(value, method, None)):
      raise TypeError(f"{name} must have only {expected}, got "
                      f"{arrays.described(value)}")
  return values


def _checked_exporters(exporters):
  """Returns exporters as a tuple, with names of which none is there twice."""
  if hasattr(exporters, "export"):
    exporters = [exporters]
  exporters = _checked(
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


def checked_hooks(values: _Several) -> typing.Tuple[typing.Any, ...]:
  """Returns hooks as a tuple, after checking them."""
  return _checked("hooks", values, "before_run", "SessionRunHooks")


def checked_listeners(values: _Several) -> typing.Tuple[typing.Any, ...]:
  """Returns saving listeners as a tuple, after checking them."""
  return _checked("saving_listeners", values, "after_save",
                  "CheckpointSaverListeners")


class TrainSpec(
    collections.namedtuple(
        "TrainSpec", ["input_fn", "max_steps", "hooks", "saving_listeners"])):
  """How to train. Its arguments are those of `tf.estimator.TrainSpec`.

  Attributes:
    input_fn: function that returns the input, see `adanet.Estimator.train`.
    max_steps: int, the global step at which training ends; None: it ends by the
      Estimator's `max_iterations`, or with the input.
    hooks: tuple of `SessionRunHook`, for the chief and each worker.
    saving_listeners: tuple of `CheckpointSaverListener`, for the chief.
  """

  def __new__(cls, input_fn: _InputFn, max_steps: typing.Optional[int] = None,
              hooks: _Several = None,
              saving_listeners: _Several = None) -> "TrainSpec":
    input_lib.check_input_fn(input_fn, TypeError)
    check_count("max_steps", max_steps)
    return super().__new__(
        cls, input_fn, max_steps, checked_hooks(hooks),
        checked_listeners(saving_listeners))


class EvalSpec(
    collections.namedtuple("EvalSpec", [
        "input_fn", "steps", "name", "hooks", "exporters", "start_delay_secs",
        "throttle_secs"])):
  """How to evaluate and export, as `tf.estimator.EvalSpec` has it.

  Attributes:
    input_fn: function that returns the input, see `adanet.Estimator.evaluate`.
    steps: int, how many batches; None for all of the input.
    name: str, distinguishes evaluations in TensorBoard, or None.
    hooks: tuple of `SessionRunHook`.
    exporters: tuple of exporters, each called after each evaluation. One of
      them, instead of a sequence, may be given. They may be those of
      `tf.estimator`.
    start_delay_secs: float, how long an evaluator task waits at its start.
    throttle_secs: float, how long it is at least from the start of an
      evaluation to that of the next one. The last checkpoint is evaluated in
      any case.
  """

  def __new__(cls, input_fn: _InputFn, steps: typing.Optional[int] = 100,
              name: typing.Optional[str] = None, hooks: _Several = None,
              exporters: typing.Any = None, start_delay_secs: float = 120,
              throttle_secs: float = 600) -> "EvalSpec":
    input_lib.check_input_fn(input_fn, TypeError)
    check_count("steps", steps)
    if name is not None and not isinstance(name, str):
      raise TypeError(f"name must be a string or None, got {name!r}")
    for argument, value in (("start_delay_secs", start_delay_secs),
                            ("throttle_secs", throttle_secs)):
      check_number(argument, value, lambda v: v >= 0, "a number >= 0")
    return super().__new__(
        cls, input_fn, steps, name,
        checked_hooks(hooks),
        _checked_exporters(exporters), start_delay_secs, throttle_secs)


def _adopted(argument, value, spec, optional=()):
  """Returns a spec of ours with the attributes of a spec."""
  if isinstance(value, spec):
    return value
  needed = [name for name in spec._fields if name not in optional]
  if not all(hasattr(value, name) for name in needed):
    raise TypeError(
        f"{argument} must be an adanet.{spec.__name__}, or a "
        f"tf.estimator.{spec.__name__}, got {value!r}")
  return spec(**{name: getattr(value, name) for name in spec._fields
                 if hasattr(value, name)})


def train_spec(value: typing.Any) -> TrainSpec:
  """Returns a `TrainSpec` for one of ours, or for that of `tf.estimator`.

  Args:
    value: what was given for the argument `train_spec`.

  Raises:
    TypeError: it is neither.
  """
  # That of TensorFlow 1.15 has no saving_listeners.
  return _adopted("train_spec", value, TrainSpec, ["saving_listeners"])


def eval_spec(value: typing.Any) -> EvalSpec:
  """Returns an `EvalSpec` for one of ours, or for that of `tf.estimator`.

  Args:
    value: what was given for the argument `eval_spec`.

  Raises:
    TypeError: it is neither.
  """
  return _adopted("eval_spec", value, EvalSpec)

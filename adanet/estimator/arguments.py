# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks the user's arguments of the Estimator: one line for each mistake."""

from typing import Any, Callable, Iterable, Optional, Sequence, Tuple

from adanet.core import user_input

_Several = Optional[Iterable[Any]]


def _described(value, *methods):
  """Returns a value for a message; names a class given for its object."""
  if not isinstance(value, type):
    return user_input.described(value)
  fits = all(hasattr(value, method) for method in methods)
  return f"the class {value.__name__}" + (": call it" if fits else "")


def check_number(name: str, value: Any,
                 is_good: Callable[[Any], bool],
                 expected: str) -> None:
  """Raises a TypeError or ValueError unless a number is as expected."""
  message = f"{name} must be {expected}, got {value!r}"
  try:
    good = is_good(value)
  except TypeError:
    raise TypeError(message) from None
  if not good:
    raise ValueError(message)


def check_count(name: str, value: Any) -> None:
  """Raises an error unless a value is a whole number > 0, such as 1e3, or None.
  """
  if value is not None:
    check_number(name, value, lambda v: v > 0 and v % 1 == 0,
                 "a whole number > 0, or None")


def check_name(name: Any) -> None:
  """Raises a TypeError unless the name of an evaluation is a string or None."""
  if name is not None and not isinstance(name, str):
    raise TypeError(f"name must be a string or None, got {name!r}")


def check_object(name: str, value: Any, methods: Sequence[str],
                 expected: str) -> None:
  """Raises a ValueError unless an object has some methods.

  Args:
    name: str, the argument.
    value: the user's argument.
    methods: the names of the methods.
    expected: str, what the object must be.
  """
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

  Args:
    **values: the arguments by name. Only two of them may not be None.
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
  """Returns values as a tuple, each of which has a method.

  Args:
    name: str, the argument.
    values: the user's argument; None for nothing.
    method: str, the name of the method.
    expected: str, what each value must be.

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

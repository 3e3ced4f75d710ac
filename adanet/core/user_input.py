# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Describes a value given in place of an input_fn, and the right value."""

import collections.abc
import numbers
from typing import Any, Type


def described(value: Any) -> str:
  """Returns a value for a message: its type, if it may be long."""
  if value is None or isinstance(value, (bool, numbers.Number)):
    return repr(value)
  if isinstance(value, str) and len(value) < 50:
    return repr(value)
  return f"a value of type {type(value).__name__}"


def is_read_by_python(value: Any) -> bool:
  """Whether a value gives batches to Python: a generator, a Keras Sequence."""
  return hasattr(value, "__next__") or (
      hasattr(value, "__getitem__") and not hasattr(value, "dtype") and
      not isinstance(value, (str, collections.abc.Mapping, list, tuple)) and
      not hasattr(value, "columns"))


def _instead(value):
  """Returns the text to write instead of a value that is no input_fn, or ""."""
  if hasattr(value, "element_spec"):
    return ": make the Dataset in a function, because each graph needs one"
  name = None
  if hasattr(value, "columns"):
    name = "pandas_input_fn"
  elif hasattr(value, "__array__") or isinstance(value, (dict, list, tuple)):
    name = "numpy_input_fn"
  if name:
    return (f": use adanet.inputs.{name}(x, y, shuffle=True) to train, and "
            "shuffle=False to evaluate and to predict")
  return from_generator() if is_read_by_python(value) else ""


def from_generator() -> str:
  """Returns how a value that Python reads becomes an input, for a message."""
  return (": return tf.data.Dataset.from_generator(...) of its batches from a "
          "function")


def check_input_fn(input_fn: Any, error: Type[Exception] = ValueError) -> None:
  """Raises an error unless there is a function.

  Args:
    input_fn: the value that a user gave as one.
    error: class of the error.
  """
  if not callable(input_fn):
    raise error(
        "input_fn must be a function that returns (features, labels) or a "
        f"tf.data.Dataset, got {described(input_fn)}{_instead(input_fn)}")


class EmptyInputError(ValueError):
  """The input has no batch to train on or to evaluate.

  For example::

      try:
        estimator.evaluate(input_fn)
      except adanet.EmptyInputError as error:
        print(error)
  """


def empty_input_error(what: str) -> EmptyInputError:
  """Returns the error of an input without a batch.

  Args:
    what: str, the reader of the input: "evaluate".
  """
  return EmptyInputError(
      f"{what}: the input has no batch. Check what input_fn reads: missing "
      "files, a filter that keeps nothing, drop_remainder with fewer examples "
      "than a batch, or a generator that was read before")

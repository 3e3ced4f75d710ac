# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks of what a caller passed, with an error that says what to pass."""

import numbers


def show(value):
  """Returns a value as a short line for an error, whatever its `repr` does."""
  try:
    text = " ".join(repr(value).split())
  except Exception:  # pylint: disable=broad-except
    text = object.__repr__(value)
  return text if len(text) <= 200 else text[:200] + "..."


def check_integer(name, value, at_least, below=None):
  """Returns an argument as an int, after checking its type and range.

  Args:
    name: str, the argument's name, for the error.
    value: the argument. NumPy's integers are integers, booleans are not.
    at_least: int, the lowest value allowed.
    below: int, one more than the highest value allowed; None for no limit.

  Returns:
    int. (A NumPy integer would make `in range(...)` take linear time.)

  Raises:
    TypeError: `value` is not an integer.
    ValueError: `value` is out of range.
  """
  # The class is found faster than what it is an instance of, and first: the
  # usual argument is an int, and in range.
  is_integer = value.__class__ is int or (
      isinstance(value, numbers.Integral) and not isinstance(value, bool))
  if is_integer and value >= at_least and (below is None or value < below):
    return int(value)
  expected = ("an integer of at least {}".format(at_least) if below is None else
              "an integer in [{}, {})".format(at_least, below))
  message = "{}={}: expected {}.".format(name, show(value), expected)
  raise ValueError(message) if is_integer else TypeError(message)

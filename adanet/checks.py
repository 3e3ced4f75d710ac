# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The rules of a count, a number, rows and a folder: a line per mistake."""

import numbers
import os
from typing import Any, Callable, Mapping, Optional

from adanet import messages


def check_count(name: str, value: Any, least: int = 1,
                below: Optional[int] = None, or_none: bool = False) -> Any:
  """Returns an argument as an int, after checking its type and range.

  NumPy's integers are integers; booleans, and floats such as 1e3, are not. (A
  NumPy integer would make `in range(...)` take linear time.)

  Args:
    least: the least valid integer.
    below: the least integer that is too large; None for no limit.
    or_none: whether None is valid, too.

  Returns:
    An int of Python; None for None.

  Raises:
    TypeError: `value` is not an integer.
    ValueError: `value` is out of range.
  """
  is_integer = type(value) is int or (
      isinstance(value, numbers.Integral) and not isinstance(value, bool))
  if is_integer and value >= least and (below is None or value < below):
    return int(value)
  if or_none and value is None:
    return None
  expected = (f"an integer of at least {least}" if below is None else
              f"an integer in [{least}, {below})")
  raise (ValueError if is_integer else TypeError)(
      f"{name}={messages.describe(value)}: expected {expected}"
      f"{', or None' if or_none else ''}.")


def check_number(name: str, value: Any, is_valid: Callable[[Any], bool],
                 expected: str) -> Any:
  """Returns an argument, after checking that it is a valid number.

  NumPy's numbers are numbers, booleans are not.

  Args:
    is_valid: returns whether a number is valid.
    expected: the valid values in words, for the error.

  Raises:
    TypeError: `value` is not a real number.
    ValueError: `value` is not valid.
  """
  is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
  if is_number and is_valid(value):
    return value
  raise (ValueError if is_number else TypeError)(
      f"{name}={messages.describe(value)}: expected {expected}.")


def check_rows(counts: Mapping[str, int]) -> int:
  """Returns the number of rows that all arrays have.

  Args:
    counts: the number of rows of each array, by a name for the error.

  Raises:
    ValueError: the arrays have no rows, or different numbers of rows.
  """
  (first, rows), *others = counts.items()
  for name, count in others:
    if count != rows:
      raise ValueError(f"{first} has {rows} rows and {name} has {count}: "
                       "expected as many in each.")
  if not rows:
    raise ValueError(f"{first} has no rows.")
  return rows


def check_folder(name: str, value: Any, or_none: bool = True) -> Any:
  """Returns the path of a folder as a str, as the user wrote it.

  Args:
    or_none: whether None is valid, too.

  Returns:
    The path; None for None.

  Raises:
    TypeError: `value` is no path.
    ValueError: `value` is empty.
  """
  if or_none and value is None:
    return None
  expected = "the path of a folder" + ", or None" * or_none
  try:
    path = os.fsdecode(value)
  except TypeError:
    raise TypeError(f"{name}={messages.describe(value)}: expected {expected}."
                    ) from None
  if not path:
    raise ValueError(
        f"{name}={value!r}: expected {expected}. Is a variable of the shell "
        "not set? For the current folder give \".\".")
  return path

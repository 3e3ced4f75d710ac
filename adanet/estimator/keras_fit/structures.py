# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Data as `Model.fit` takes it: arrays, dicts and lists of them, data frames.
"""

import hashlib
import numbers
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from adanet.core import user_input
from adanet.training import arrays
import numpy as np


class Columns(dict):
  """The columns of a data frame, by their names: arrays of shape [n, 1]."""


Structure = Union[np.ndarray, List[np.ndarray], Dict[str, np.ndarray]]
"""An array with a row for each example, or several with as many rows."""

_EXPECTED = ("expected an array, a dict or a list of arrays, a DataFrame or "
             "Series of pandas, or a function that returns a tf.data.Dataset")
ALONE = ""
"""The name of an array that is alone."""


def described(value: Any) -> str:
  """Returns a description of a wrong value in place of data, and the fix."""
  if hasattr(value, "element_spec"):
    return ("a tf.data.Dataset: expected a function that makes and returns it, "
            "because each graph needs its own")
  if hasattr(value, "toarray"):
    return "a sparse matrix: expected a dense array, such as x.toarray()"
  if user_input.is_read_by_python(value):
    return (f"{user_input.described(value)}, which Python reads: expected "
            "arrays, or a function that returns tf.data.Dataset."
            "from_generator(...) of its batches")
  return f"{user_input.described(value)}: {_EXPECTED}"


def _of_objects(name, array):
  """Returns an array of objects as one of text or of numbers."""
  values = list(array.flat)
  is_text = [isinstance(value, (str, bytes)) for value in values]
  if all(is_text):
    return array
  if not any(is_text):
    try:
      return array.astype(np.float32)
    except (TypeError, ValueError):
      is_text = [not isinstance(value, numbers.Number) for value in values]
  odd = values[is_text.index(not is_text[0]) if len(set(is_text)) > 1 else 0]
  raise ValueError(
      f"{name} has {user_input.described(odd)} among its values: expected "
      "numbers in all, or text in all. Fill what is missing.")


def _array(name: str, value: Any) -> np.ndarray:
  """Returns an array as it goes into a graph.

  Raises:
    TypeError: it is no array, or TensorFlow has no such type.
    ValueError: it has NaN, or no rows.
  """
  if not hasattr(value, "__array__") or hasattr(value, "toarray"):
    raise TypeError(f"{name} is {described(value)}.")
  if np.ma.is_masked(value):
    raise ValueError(f"{name} has masked values: give them a value, for "
                     "example with numpy.ma.filled.")
  array = np.asarray(value)
  if not array.ndim:
    raise ValueError(f"{name} is a single value: expected a row for each "
                     "example.")
  if len(array) and not array.size:
    raise ValueError(f"{name} has the shape {list(array.shape)}: expected a "
                     "number or a text in each row.")
  if array.dtype.kind == "O":
    array = _of_objects(name, array)
  if array.dtype.kind not in "fiubSUO":
    raise TypeError(
        f"{name} has the type {array.dtype}: expected numbers or text. Make "
        "numbers of it, for example with astype('float32').")
  if array.dtype.kind == "f":
    array = np.asarray(array, np.float32)  # As Keras does.
    if not np.isfinite(array).all():
      what = "NaN" if np.isnan(array).any() else "infinity"
      raise ValueError(
          f"{name} has {what} in "
          f"{int((~np.isfinite(array.reshape(len(array), -1))).any(1).sum())} "
          f"of {len(array)} rows: expected finite numbers. Leave these rows "
          "out, or fill them, for example with numpy.nan_to_num.")
  return array


def _part(name, value):
  """Returns an array; of a Series as Keras does, in two dimensions."""
  is_series = hasattr(value, "iloc") and not hasattr(value, "columns")
  array = _array(name, value)
  return array[:, None] if is_series else array


def read(name: str, value: Any) -> Structure:
  """Returns data that a user gives as arrays.

  Floats become float32, and a Series and the columns of a data frame get a
  second dimension of size 1, as in Keras.

  Args:
    name: str, the argument, for messages.
    value: see `Structure`; or pandas data.

  Raises:
    TypeError: it is something else.
    ValueError: it has NaN, no rows, or not as many in each array.
  """
  if isinstance(value, Mapping):
    found: Structure = {
        key: _part(f"{name}[{key!r}]", one) for key, one in value.items()}
  elif hasattr(value, "columns"):
    found = Columns({
        key: _part(f"{name}[{key!r}]", one)
        for key, one in arrays.columns(name, value).items()})
  elif isinstance(value, (list, tuple)) and any(
      hasattr(one, "__array__") and np.ndim(one) for one in value):
    found = [_part(f"{name}[{i}]", one) for i, one in enumerate(value)]
  elif isinstance(value, (list, tuple)):
    found = _array(name, _of_list(name, value))
  else:
    found = _part(name, value)
  if not named(name, found):
    raise ValueError(f"{name} is empty: {_EXPECTED}.")
  check_rows({name: found})
  return found


def _of_list(name, value):
  """Returns the array of a list of numbers or text."""
  try:
    if not any(isinstance(one, str) for one in value):
      return np.asarray(value)
    return np.asarray(value, object)
  except ValueError:
    raise ValueError(f"{name} is a list whose parts have several lengths: "
                     f"{_EXPECTED}.") from None


def named(name: str, value: Structure) -> Dict[str, np.ndarray]:
  """Returns the arrays of a structure, by their names in messages."""
  if isinstance(value, dict):
    return {f"{name}[{key!r}]": one for key, one in value.items()}
  if isinstance(value, list):
    return {f"{name}[{i}]": one for i, one in enumerate(value)}
  return {name: value}


def check_rows(given: Mapping[str, Optional[Structure]]) -> int:
  """Returns how many rows all arrays have.

  Args:
    given: dict from the name of an argument to its structure; None is skipped.

  Raises:
    ValueError: they have no rows, or not as many in each.
  """
  flat: Dict[str, np.ndarray] = {}
  for name, value in given.items():
    if value is not None:
      flat.update(named(name, value))
  return arrays.check_rows(flat)


def check_labels(name: str, value: Structure) -> None:
  """Checks that labels are numbers.

  Raises:
    ValueError: they are text.
  """
  for key, array in named(name, value).items():
    if array.dtype.kind in "SUO":
      example = array.flat[:1].tolist()[0]
      raise ValueError(
          f"{key} has strings, such as {example!r}: expected numbers. "
          "Make classes of them, for example with "
          "np.unique(y, return_inverse=True)[1].")


def checked_weights(name: str, value: Any) -> Structure:
  """Returns weights of examples: numbers of at least 0.

  Raises:
    TypeError: they are no arrays.
    ValueError: they have NaN, or negative numbers, or are text.
  """
  weights = read(name, value)
  check_labels(name, weights)
  for key, array in named(name, weights).items():
    if (array < 0).any():
      raise ValueError(f"{key} has {array[array < 0].flat[0]}: expected "
                       "weights of at least 0.")
  floats = lambda array: np.asarray(array, np.float32)
  if isinstance(weights, dict):
    return {key: floats(one) for key, one in weights.items()}
  if isinstance(weights, list):
    return [floats(one) for one in weights]
  weights = floats(weights)
  return weights[:, 0] if weights.ndim == 2 and weights.shape[1] == 1 else (
      weights)


def check_class_weight(value: Any) -> None:
  """Checks weights of classes.

  Raises:
    TypeError: they are no dict.
    ValueError: a class is no int, or a weight is not a number of at least 0.
  """
  if not isinstance(value, Mapping):
    raise TypeError(
        f"class_weight is {user_input.described(value)}: expected a dict from "
        "class to weight, such as {0: 1., 1: 5.}.")
  for label, weight in value.items():
    if isinstance(label, bool) or not isinstance(label, (int, np.integer)):
      raise ValueError(f"class_weight has the class {label!r}: expected an "
                       "int.")
    if isinstance(weight, bool) or not isinstance(
        weight, (int, float, np.number)) or not 0 <= weight < float("inf"):
      raise ValueError(f"class_weight[{label}]={weight!r}: expected a finite "
                       "number of at least 0.")


def weights_of_classes(y: np.ndarray, class_weight: Mapping[int, float]
                      ) -> np.ndarray:
  """Returns the weight of each example, as Keras does: 1 for other classes.

  Args:
    y: array of shape [n] or [n, 1] with classes, or [n, k] of one-hot rows.
    class_weight: dict from class to weight.
  """
  if y.ndim > 1:
    y = y[:, 0] if y.shape[1] == 1 else y.argmax(1)
  classes, numbers = np.unique(np.round(y).astype(int), return_inverse=True)
  weights = np.array([class_weight.get(int(one), 1.) for one in classes],
                     np.float32)
  return weights[numbers.reshape(-1)]


def digest(value: Structure) -> str:
  """Returns the digest of all that is in a structure, with its shapes."""
  result = hashlib.sha256()
  for name, array in named(type(value).__name__, value).items():
    result.update(f"{name}/{array.dtype}/{array.shape}".encode())
    if array.dtype.kind == "O":
      for one in array.flat:
        data = one.encode() if isinstance(one, str) else one
        result.update(b"%d:" % len(data) + data)
    else:
      result.update(np.ascontiguousarray(array).data)
  return result.hexdigest()[:20]


def shapes(value: Structure) -> str:
  """Returns the shapes of a structure in words: "[1437, 64]"."""
  parts = [list(array.shape) for array in named("", value).values()]
  return ", ".join(map(str, parts[:3])) + (
      f" and {len(parts) - 3} more" if len(parts) > 3 else "")


def rows_of(value: Optional[Structure], rows: Sequence[int]) -> Any:
  """Returns some rows of a structure, or of None."""
  if isinstance(value, dict):
    return type(value)({key: one[rows] for key, one in value.items()})
  if isinstance(value, list):
    return [one[rows] for one in value]
  return None if value is None else value[rows]

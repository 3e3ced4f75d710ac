# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Data frames of pandas as dicts of columns, for models with several inputs.

In contrast to the other modules, this module can be imported by Python 3.7.
"""

from collections.abc import Mapping
from typing import Any, Dict

from adanet import messages
import numpy as np

# By the beginning of the name of a type.
_ADVICE = {
    "datetime64": "{}.dt.dayofyear",
    "timedelta64": "{}.dt.total_seconds()",
    "bytes": "{}.str.decode(\"utf-8\")",
    "": "{0}.astype(\"float32\") or {0}.astype(str)",
}


def columns(frame: Any) -> Dict[str, np.ndarray]:
  """Returns the columns of a data frame as a dict of arrays.

  Keras takes the dict where a model has an input for each column.
  `EnsembleSearch.fit` makes the same dict of a frame that has text or
  categories, so a frame is served by::

      search.fit(frame, y)
      search.model.predict(adanet.columns(frame))

  Each array has the shape `[rows]`, and its type depends on that of the column
  alone:

  * Numbers and booleans keep their type. Nullable types become those of NumPy:
    `Int64` becomes `int64`. A missing value of `Float64` becomes NaN.
  * Text is an array of `str`, for an input with `dtype="string"`.
  * A category is its value: a number, a boolean or text.

  Fill missing values before, in the same way for `fit` and `predict`::

      frame = frame.assign(
          city=frame["city"].fillna("missing"),
          age=frame["age"].fillna(frame["age"].median()))

  Args:
    frame: `pandas.DataFrame`; the index is left out.

  Raises:
    TypeError: `frame` is no `DataFrame`, or a column has anything else, such as
      dates.
    ValueError: two columns have the same name, a name is no str, or a column
      other than of floats has missing values.
  """
  if not is_frame(frame):
    raise TypeError(f"frame is {messages.describe(frame)}: expected a "
                    "pandas.DataFrame. "
                    f"{advise_polars('frame', frame)}".rstrip())
  return read_columns("frame", frame)


def is_frame(value: Any) -> bool:
  """Returns whether a value is a `DataFrame` of pandas."""
  return hasattr(value, "iloc") and hasattr(value, "columns")


def advise_polars(name: str, value: Any) -> str:
  """Returns how polars makes arrays of a frame; "" for anything else."""
  if type(value).__module__.partition(".")[0] != "polars":
    return ""
  return ("For polars, give {column.name: column.to_numpy() for column in "
          f"{name}}}.")


def is_series(value: Any) -> bool:
  """Returns whether a value is a Series of pandas."""
  return hasattr(value, "iloc") and not hasattr(value, "columns")


def is_number(dtype: Any) -> bool:
  """Returns whether a type is of numbers or booleans, nullable or not."""
  return dtype.kind in "fiubc"


def read_columns(name: str, frame: Any) -> Dict[str, np.ndarray]:
  """Returns `columns` of a frame that has a `name` in messages."""
  for key, is_again in zip(frame.columns, frame.columns.duplicated()):
    if is_again or not isinstance(key, str):
      raise ValueError(
          f"{name} has a column named {key!r}: expected a str, and each name "
          f"once. Give for example {name}.rename(columns=str).")
  return dict(zip(frame.columns, _read_each(name, frame)))


def read_matrix(name: str, frame: Any) -> np.ndarray:
  """Returns a frame of numbers alone as one array."""
  array = np.asarray(frame)
  # As of booleans beside floats, or of nullable types.
  return np.column_stack(_read_each(name, frame)) if (
      array.dtype.kind == "O") else array


def _read_each(name, frame):
  return [_read_column(f"{name}[{key!r}]", frame.iloc[:, i])
          for i, key in enumerate(frame.columns)]


def _read_column(name, column):
  """Returns a column as an array of numbers or of text."""
  # The type of a category is that of its values.
  dtype = getattr(column.dtype, "categories", column).dtype
  array = np.asarray(column)
  if dtype.kind in "iubcO":  # Floats are NaN.
    check_missing(name, column, array, _advise_filling(
        name, array[~column.isna()]))
  wrong, advice = "" if is_number(dtype) else dtype.name, ""
  if dtype.kind == "O":
    wrong = next((type(value).__name__ for value in array
                  if not isinstance(value, str)), "")
    advice = "{}.infer_objects()" if _are_numbers(array) else ""
  if wrong:
    advice = advice or next(text for start, text in _ADVICE.items()
                            if wrong.startswith(start))
    kind = "objects" if dtype.kind == "O" else "values"
    raise TypeError(
        f"{name} has {kind} of the type {wrong}: expected numbers, booleans, "
        f"text or categories of these. Give for example {advice.format(name)}.")
  return array


def check_missing(name: str, value: Any, array: np.ndarray,
                  advice: str = "Fill these values, or leave out these rows."
                 ) -> None:
  """Raises a ValueError if `value` has missing objects.

  Args:
    name, advice: for the message.
    value: a column, a frame or an array; `array` is its array of NumPy.
  """
  missing = np.reshape(value.isna() if hasattr(value, "isna") else [
      part is None or isinstance(part, float) and part != part
      for part in array.flat], [len(array), -1])
  rows = missing.any(1)
  if rows.any():
    raise ValueError(
        f"{name} has missing values in {rows.sum()} of {len(rows)} rows: "
        f"expected a value in each row. {advice}")


def _advise_filling(name, values):
  """Returns how to fill a column, of which `values` are not missing."""
  filled = (".convert_dtypes().astype(\"float32\"), in which missing values "
            "are NaN" if _are_numbers(values) else
            ".astype(object).fillna(\"missing\").astype(str)")
  return f"Give for example {name}{filled}."


def _are_numbers(values):
  return all(isinstance(value, (int, float, np.number, np.bool_))
             for value in values)


def name_arrays(name: str, structure: Any) -> Dict[str, Any]:
  """Returns the arrays of a structure by their names in messages."""
  if structure is None:
    return {}
  if not isinstance(structure, (Mapping, list, tuple)):
    return {name: structure}
  items = (structure.items() if isinstance(structure, Mapping) else
           enumerate(structure))
  return {key: array for part, inner in items
          for key, array in name_arrays(f"{name}[{part!r}]", inner).items()}


def check_frames(x: Any, y: Any, sample_weight: Any, held_out: Any) -> None:
  """Checks the names of rows and columns, where data have such names.

  Raises:
    ValueError: the columns of `held_out`, the `validation_data`, have another
      order than the columns of `x` or `y`, or frames and series that belong
      together have other rows, or another order of rows.
  """
  names = ("x", "y", "sample_weight")
  held_out_names = tuple(f"validation_data[{i}]" for i in range(3))
  parts = (x, y, sample_weight)
  held_out_parts = held_out if isinstance(held_out, (list, tuple)) else ()
  _check_index(names, parts)
  _check_index(held_out_names, held_out_parts)
  for name, part, held_out_name, held_out_part in zip(
      names, parts, held_out_names, held_out_parts):
    frames = name_arrays("", part)
    for key, frame in name_arrays("", held_out_part).items():
      expected, columns = (list(getattr(value, "columns", ()))
                           for value in (frames.get(key), frame))
      # A single column, such as of labels, may have any name.
      if len(expected) > 1 and columns and columns != expected:
        raise ValueError(
            f"{held_out_name}{key} has the columns "
            f"{', '.join(map(str, columns))}, and {name}{key} "
            f"{', '.join(map(str, expected))}: expected the same columns in "
            f"the same order, such as those of frame[{name}{key}.columns].")


def _check_index(names, parts):
  """Raises a ValueError if an index contradicts the first index.

  An index without a common label says nothing, and neither does the numbering
  from 0 that a frame has by default.
  """
  indexes = [(key, list(array.index)) for name, part in zip(names, parts)
             for key, array in name_arrays(name, part).items()
             if hasattr(array, "iloc")]
  for name, index in indexes[1:]:
    first_name, first = indexes[0]
    if index == first or len(index) != len(first):
      continue
    common = len({*index} & {*first})
    numbers = list(range(len(index)))
    if common == len({*index}) or common and numbers not in (index, first):
      raise ValueError(
          f"{name} and {first_name} have {common} of {len(index)} labels of "
          "their index in common, in another order: expected the same rows in "
          f"the same order. Give {name}.loc[{first_name}.index], or "
          "reset_index(drop=True) of both if rows belong together by position.")

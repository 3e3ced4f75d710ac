# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Data frames of pandas as dicts of columns, for models with several inputs.

In contrast to the other modules, this module can be imported by Python 3.7.
"""

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
                    "pandas.DataFrame.")
  return read_columns("frame", frame)


def is_frame(value: Any) -> bool:
  """Returns whether a value is a `DataFrame` of pandas."""
  return hasattr(value, "iloc") and hasattr(value, "columns")


def is_number(dtype: Any) -> bool:
  """Returns whether a type is of numbers or booleans, nullable or not."""
  return dtype.kind in "fiubc"


def read_columns(name: str, frame: Any) -> Dict[str, np.ndarray]:
  """Returns `columns` of a frame that has a `name` in messages."""
  for key in frame.columns:
    if not isinstance(key, str):
      raise ValueError(f"{name} has a column named {key!r}: expected a str. "
                       f"Give {name}.rename(columns=str).")
  for key in frame.columns[frame.columns.duplicated()]:
    raise ValueError(f"{name} has two columns named {key!r}: expected a name "
                     "of its own for each column.")
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
  array, missing = np.asarray(column), np.asarray(column.isna())
  wrong = "" if is_number(dtype) else dtype.name
  if dtype.kind == "O":
    wrong = next((type(value).__name__ for value in array[~missing]
                  if not isinstance(value, str)), "")
  if wrong:
    advice = next(text for start, text in _ADVICE.items()
                  if wrong.startswith(start))
    raise TypeError(
        f"{name} has values of the type {wrong}: expected numbers, booleans, "
        f"text or categories of these. Give for example {advice.format(name)}.")
  if missing.any() and dtype.kind != "f":
    advice = ("astype(object).fillna(\"missing\")" if dtype.kind == "O" else
              "astype(\"float32\"), in which missing values are NaN")
    raise ValueError(
        f"{name} has missing values in {missing.sum()} of {len(missing)} rows: "
        f"expected a value in each row. Give for example {name}.{advice}.")
  return array

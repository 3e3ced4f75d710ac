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
# By the class of polars.
_ADVICE_OF_POLARS = {
    "DataFrame": "{{column.name: column.to_numpy() for column in {}}}",
    "LazyFrame": "{}.collect()",
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
  """Returns how polars makes arrays of a value; "" if it is not of polars."""
  kind = type(value)
  if kind.__module__.partition(".")[0] != "polars" or (
      kind.__name__ not in _ADVICE_OF_POLARS):
    return ""
  return ("For polars, give "
          f"{_ADVICE_OF_POLARS[kind.__name__].format(name)}.")


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
  if missing.any() and dtype.kind in "iubcO":
    check_missing(name, missing, advise_filling(name, dtype, array[~missing]))
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


def check_missing(name: str, missing: np.ndarray, advice: str) -> None:
  """Raises a ValueError if values are missing.

  Args:
    name: str, for the message.
    missing: bool array, whether a value is missing.
    advice: str, the end of the message.
  """
  rows = missing.reshape(len(missing), -1).any(1)
  if rows.any():
    raise ValueError(
        f"{name} has missing values in {rows.sum()} of {len(rows)} rows: "
        f"expected a value in each row. {advice}")


def advise_filling(name: str, dtype: Any, values: np.ndarray) -> str:
  """Returns how to fill the missing values of a column of pandas.

  Args:
    name: str, for the message.
    dtype: the type of the column.
    values: array of the values that are not missing.
  """
  if is_number(dtype):
    filled = ".astype(\"float32\"), in which missing values are NaN"
  elif len(values) and _are_numbers(values):
    # Floats do not take pandas.NA from objects.
    filled = (".convert_dtypes().astype(\"float32\"), in which missing values "
              "are NaN")
  else:
    are_text = all(isinstance(value, str) for value in values)
    filled = ".astype(object).fillna(\"missing\")" + (
        "" if are_text else ".astype(str)")
  return f"Give for example {name}{filled}."


def _are_numbers(values):
  return all(isinstance(value, (int, float, np.number, np.bool_))
             for value in values)

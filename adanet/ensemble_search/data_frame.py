# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The leaderboard as a data frame. Needs pandas, imported at first use."""

from collections.abc import Callable
import numbers
from typing import Any


def build_leaderboard(rows: list[dict[str, Any]],
                      format_value: Callable[[str, Any], str]) -> Any:
  """Returns a data frame, which a notebook shows with formatted values.

  Frames that are computed from the leaderboard, and its copies, are plain ones:
  their columns may mean something else.

  Args:
    rows: list of dicts from column to value.
    format_value: function from a column and a value to text.

  Raises:
    ModuleNotFoundError: pandas is not installed.
  """
  import pandas  # pylint: disable=g-import-not-at-top

  frame = pandas.DataFrame(rows)

  def show(column):
    if column.name not in frame:  # The user's.
      return column
    # NaN is a value where a network diverged.
    has_nan = column.name.startswith("val_")
    return column.map(lambda value: format_value(
        column.name, None if pandas.isna(value) and not has_nan else value))

  class Leaderboard(pandas.DataFrame):
    """A data frame that a notebook shows with formatted values."""

    def _repr_html_(self):
      return self.apply(show)._repr_html_()

    def __reduce_ex__(self, protocol):
      return pandas.DataFrame(self).__reduce_ex__(protocol)

  return Leaderboard(frame.astype({
      name: "Int64" for name in frame
      if _lacks_whole_numbers([row[name] for row in rows])}))


def _lacks_whole_numbers(values):
  """Returns whether whole numbers and None are all that a column has."""
  present = [value for value in values if value is not None]
  return len(present) < len(values) and all(
      isinstance(value, numbers.Integral) and not isinstance(value, bool)
      for value in present)

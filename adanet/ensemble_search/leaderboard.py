# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The leaderboard of a `SearchHistory`: rows, text and a data frame."""

import itertools
import math
import numbers
from typing import Any

from adanet import messages

# pylint: disable=g-import-not-at-top
_HEADINGS = {"best_epoch": "best epoch", "predict_seconds": "predict"}
# The columns of the leaderboard after values and weight: how to read a network,
# the cell of several networks - the sum over the networks that are "used" or
# "trained", or a constant - and the text of a value.
_COLUMNS: dict[str, tuple] = {
    "best_epoch": (lambda network: network.best_epoch, None, str),
    "epochs": (lambda network: len(network.epochs), None, str),
    "parameters": (lambda network: network.parameters, "used", "{:,}".format),
    "predict_seconds": (lambda network: network.predict_seconds, "used",
                        lambda secs: f"{1000 * secs:.1f} ms"),
    "seconds": (lambda network: network.seconds, "trained", "{:.1f}".format),
    "ended": (lambda network: network.ended, "",
              lambda text: messages.shorten(text, 60)),
}
#: How a network ended whose function is missing.
MISSING = "not in models"


def list_rows(history: Any) -> list[dict[str, Any]]:
  """Returns the rows of a `SearchHistory` as dicts from column to value."""
  rows: list[dict[str, Any]] = []
  if history.ensemble:
    used = [network for network in history.networks
            if network.values and network.weight]
    rows.append({"name": "ensemble", **history.ensemble, "weight": 1.,
                 **_sum_columns(used, history.networks)})

  def rank(member):
    return (any(network.error for network in member.networks),
            math.isnan(member.values[history.monitor]),
            bool(history.ensemble) and member.weight is None,
            not member.has_all_folds, *history.place(member.values))

  for member in sorted(history.members, key=rank):
    rows += _rows_of_member(member)
  for column, values in _further_columns(history).items():
    for row in rows:
      row[column] = values.get(row["name"])
  names = dict.fromkeys(
      ["name", history.monitor, "weight", *itertools.chain(*rows)])
  return [{name: row.get(name) for name in names} for row in rows]


def _rows_of_member(member):
  """Returns the rows of a member: of its mean with folds, and its networks."""
  rows = []
  if member.folds > 1:
    ended = MISSING if member.networks[0].ended == MISSING else ""
    rows.append({
        "name": member.name, **member.values, "weight": member.weight,
        **_sum_columns(member.networks, member.networks), "ended": ended})
  for network in member.networks:
    if network.values or network.error or network.ended == MISSING:
      cells = {column: read_cell(network)
               for column, (read_cell, *_) in _COLUMNS.items()}
      rows.append({
          "name": network.name, **dict.fromkeys(member.values, math.nan),
          **network.values, "weight": network.weight, **cells})
  return rows


def _further_columns(history):
  """Returns the columns that few searches have, by the name of the row."""
  columns = {}
  if history.is_by_fold:
    columns["folds"] = {member.name: f"{member.num_judged} of {member.folds}"
                        for member in history.members}
  losses = {network.name: (network.own_val_loss, network.values["val_loss"])
            for network in history.networks
            if network.values and network.own_val_loss is not None}
  if any(abs(loss - own) > 1e-4 * abs(own) for own, loss in losses.values()):
    columns["own_val_loss"] = {name: own for name, (own, _) in losses.items()}
  for member in history.members:
    for network in member.networks:
      for name, value in network.hyperparameters.items():
        columns.setdefault("params_" + name, {}).update(
            {network.name: value, member.name: value})
  return columns


def _sum_columns(used, trained):
  """Returns the cells of `_COLUMNS` for the mean of several networks."""
  networks = {"used": used, "trained": trained}
  return {column: sum(map(read, networks[total])) if total else total
          for column, (read, total, _) in _COLUMNS.items()}


def _join_hyperparameters(row):
  """Returns a row of the leaderboard with all hyperparameters in one column."""
  names = [name for name in row if name.startswith("params_")]
  text = " ".join(
      f"{name.removeprefix('params_')}={_format_value(name, row[name])}"
      for name in names if row[name] is not None)
  return {name: value for name, value in row.items() if name not in names} | (
      {"hyperparameters": text} if names else {})


def list_cells(rows: list[dict[str, Any]]) -> list[list[str]]:
  """Returns rows of the leaderboard as text, after a row of headings."""
  rows = list(map(_join_hyperparameters, rows))
  if not rows:
    return []
  return [[_HEADINGS.get(name, name) for name in rows[0]]] + [
      [_format_value(name, value) for name, value in row.items()]
      for row in rows]


def _format_value(name, value):
  """Returns a value of a column of the leaderboard as text."""
  if value is None:
    return ""
  if name in _COLUMNS:
    return _COLUMNS[name][-1](value)
  if isinstance(value, numbers.Integral) or not isinstance(value, numbers.Real):
    return str(value)
  return format(value, ".2f" if name == "weight" else ".4g")


def to_frame(rows: list[dict[str, Any]]) -> Any:
  """Returns a data frame, which a notebook shows with formatted values.

  Frames that are computed from the leaderboard, and its copies, are plain ones:
  their columns may mean something else.
  """
  import pandas

  frame = pandas.DataFrame(rows)

  def show(column):
    if column.name not in frame:  # The user's.
      return column
    # NaN is a value where a network diverged.
    has_nan = column.name.startswith("val_")
    return column.map(lambda value: _format_value(
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


def format_number(value: float | None) -> str:
  """Returns a value as the lines of a search have it."""
  return "-" if value is None else f"{value:.4g}"

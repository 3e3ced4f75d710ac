# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a search did: its networks with their curves, its ensemble, pictures."""

import io
from typing import Any, Dict, NamedTuple

from adanet import typed_json
from adanet.ensemble_search import files

# Tables need Rich, and pictures Matplotlib: imported when they are asked for.
# pylint: disable=g-import-not-at-top
_WIDTH = 100  # Characters of a line on a page.
_VALUES = Dict[str, float]
_HEADINGS = {"best_epoch": "best epoch", "predict_seconds": "predict"}


class NetworkHistory(NamedTuple):
  """A network that has ended, or trains.

  Attributes:
    name: str, "deep", "deep (2)" in the second iteration, or "deep, fold 3 of
      5".
    member: str, its name without the fold.
    function: str, the name of its function.
    iteration: int, from 0.
    fold: int, from 0; None without folds.
    epochs: tuple with the logs of each epoch, as `Model.fit` has them: `loss`,
      `val_loss` and metrics.
    best_epoch: int, from 1, whose values the network has; 0 before the first.
    ended: str, why it trains no further; "" while it does.
    seconds: float, how long it trained.
    parameters: int, those of its model.
    predict_seconds: float, about how long it takes to predict 1,000 rows.
    weight: float, that in the ensemble; None before there is one.
    values: dict with what the search's loss and metrics say of the network on
      its held-out rows: `val_loss`, and for example `val_accuracy`.
  """
  name: str
  member: str
  function: str
  iteration: int
  fold: int | None
  epochs: tuple[dict[str, float], ...]
  best_epoch: int
  ended: str
  seconds: float
  parameters: int
  predict_seconds: float
  weight: float | None
  values: dict[str, float]

  @property
  def own_val_loss(self) -> float | None:
    """`val_loss` by which it ended: with penalties, or of another loss."""
    return (self.epochs[self.best_epoch - 1]["val_loss"] if self.best_epoch
            else None)


class MemberHistory(NamedTuple):
  """What can be a member of an ensemble: with folds, the mean of networks.

  Attributes:
    name: str, "deep", or "deep (2)" in the second iteration.
    weight: float, that in the ensemble.
    values: dict with what the search's loss and metrics say on all held-out
      rows; each network predicts those of its own fold.
    networks: tuple of `NetworkHistory`, one of each fold.
  """
  name: str
  weight: float
  values: dict[str, float]
  networks: tuple[NetworkHistory, ...]


class SearchHistory(NamedTuple):
  """The history of a search. `str` of it is the leaderboard as plain text.

  Attributes:
    directory: str, where it was.
    networks: tuple of `NetworkHistory`, in the order of training.
    members: tuple of `MemberHistory`, also of those with the weight 0; empty
      before there is an ensemble.
    ensemble: dict with what the loss and the metrics say of the ensemble on
      held-out rows; empty before there is one.
  """
  directory: str
  networks: tuple[NetworkHistory, ...]
  members: tuple[MemberHistory, ...]
  ensemble: dict[str, float]

  def leaderboard(self) -> Any:
    """Returns a row for the ensemble, and one for each network, best first.

    With folds, each function has a row, and its networks are below it.

    Columns: `name`; `val_loss` and metrics, judged alike in each row;
    `weight`; `best_epoch`, `epochs`; `parameters`; `predict_seconds`, about
    what a `predict` of 1,000 rows takes; `seconds` of training; `ended`; and
    `own_val_loss` where that of a network's own training is another.

    Returns:
      A `pandas.DataFrame` where pandas is installed, else a list of dicts.
    """
    rows = self.rows()
    try:
      import pandas
    except ModuleNotFoundError:
      return rows
    return pandas.DataFrame(rows)

  def rows(self) -> list[dict[str, Any]]:
    """Returns the rows of the leaderboard."""
    known = [one for one in self.networks if one.values]
    rows: list[dict[str, Any]] = []
    if self.ensemble:
      rows.append(_row_of_several("ensemble", self.ensemble, 1., [
          one for one in known if one.weight], self.networks))
    # NaN is behind all.
    for member in sorted(self.members, key=lambda one: (
        one.values["val_loss"] != one.values["val_loss"],
        one.values["val_loss"])):
      if len(member.networks) > 1:
        rows.append(_row_of_several(
            member.name, member.values, member.weight, member.networks,
            member.networks))
      rows += [{
          "name": one.name, **one.values, "weight": one.weight,
          "best_epoch": one.best_epoch, "epochs": len(one.epochs),
          "parameters": one.parameters, "predict_seconds": one.predict_seconds,
          "seconds": one.seconds, "ended": one.ended} for one in member.networks]
    own = {one.name: one.own_val_loss for one in known
           if one.own_val_loss is not None}
    if any(abs(one.values["val_loss"] - own[one.name]) > 1e-4 * abs(
        own[one.name]) for one in known if one.name in own):
      for row in rows:
        row["own_val_loss"] = own.get(row["name"])
    return rows

  def cells(self) -> list[list[str]]:
    """Returns the rows of the leaderboard as text, their headings first."""
    rows = self.rows()
    if not rows:
      return []
    return [[_HEADINGS.get(name, name) for name in rows[0]]] + [
        [_cell(name, value) for name, value in row.items()] for row in rows]

  def __str__(self) -> str:
    from rich import console as rich_console
    output = io.TextIOWrapper(io.BytesIO(), "utf-8")
    self.show(rich_console.Console(
        file=output, width=_WIDTH, color_system=None))
    output.seek(0)
    return output.read()

  def show(self, console: Any) -> None:
    """Prints the leaderboard to a `rich.console.Console`."""
    from rich import text as rich_text
    from adanet.console import wording
    from adanet.console import tables
    cells = [[wording.printable(text) for text in line]
             for line in self.cells()]
    tables.print_parts(console, tables.new_tables(
        console, cells, lambda cell: "bold" if cell == "ensemble" else ""
    ) if cells else [rich_text.Text("No network has ended.")])

  def to_json_dict(self) -> dict[str, Any]:
    """Returns a value for `json.dumps`, with the leaderboard.

    NaN is the string "NaN".
    """
    return _finite({
        "networks": [one._asdict() for one in self.networks],
        "members": [{**one._asdict(), "networks": [
            network.name for network in one.networks]} for one in self.members],
        "ensemble": self.ensemble, "leaderboard": self.rows()})

  def html(self) -> str:
    """Returns the leaderboard and the picture, for a part of a page."""
    from adanet.console import tables
    shown = tables.to_html(self.show, _WIDTH)
    picture = io.BytesIO()
    from adanet.ensemble_search import picture as picture_lib
    picture_lib.write(self, picture, "svg")
    svg = picture.getvalue().decode()
    return (f'<div>{shown}<div style="overflow-x:auto">'
            f"{svg[svg.index('<svg'):]}</div></div>")

  def _repr_html_(self) -> str | None:
    """Shows the search in a notebook, which shows its text for None."""
    try:
      return self.html()
    except ModuleNotFoundError:
      return None

  def picture(self, path: str) -> None:
    """Draws a picture, as `plot` does."""
    self.plot(path)

  def plot(self, path: Any = None) -> Any:
    """Draws the curves of val_loss, the ensemble's weights and the leaderboard.

    Args:
      path: the file to write, .svg, .png or .pdf; None for none.

    Returns:
      A `matplotlib.figure.Figure`.

    Raises:
      ModuleNotFoundError: Matplotlib is not installed.
      ValueError: the path has another ending.
    """
    from adanet.ensemble_search import picture
    return picture.plot(self, path)


def _row_of_several(name, values, weight, used, trained):
  """Returns a row of the leaderboard for what is made of several networks."""
  return {"name": name, **values, "weight": weight, "best_epoch": None,
          "epochs": None, "parameters": sum(one.parameters for one in used),
          "predict_seconds": sum(one.predict_seconds for one in used),
          "seconds": sum(one.seconds for one in trained), "ended": ""}


def _finite(value):
  """Returns a value of JSON with text for numbers that JSON does not have."""
  if isinstance(value, dict):
    return {key: _finite(one) for key, one in value.items()}
  if isinstance(value, (list, tuple)):
    return list(map(_finite, value))
  return typed_json.to_json(float, value) if isinstance(value, float) else value


def _cell(name: str, value: Any) -> str:
  """Returns a value of the leaderboard as text."""
  if value is None:
    return ""
  if name in ("epochs", "best_epoch") or isinstance(value, str):
    return str(value)
  if name == "parameters":
    return f"{value:,}"
  if name == "seconds":
    return f"{value:.1f}"
  if name == "predict_seconds":
    return f"{1000 * value:.1f} ms"
  return f"{value:.2f}" if name == "weight" else f"{value:.4g}"


def content(networks: list[list[tuple[files.Key, dict[str, float]]]],
            weights: Any, values: list[dict[str, float]],
            ensemble: dict[str, float]) -> dict[str, Any]:
  """Returns what `ensemble.json` has of a selection.

  Args:
    networks: list with the networks of each member, and what was judged.
    weights: those of the members.
    values: list with what was judged of each member.
    ensemble: what was judged of the ensemble.
  """
  to_json = lambda one: typed_json.to_json(_VALUES, one)
  return {"ensemble": to_json(ensemble), "members": [
      {"weight": weight, "values": to_json(value), "networks": [
          {"network": list(key), "values": to_json(judged)}
          for key, judged in some]}
      for some, weight, value in zip(networks, weights, values)]}


def keys(found: dict[str, Any]) -> list[files.Key]:
  """Returns the networks that `ensemble.json` has."""
  return [files.Key(*one["network"]) for member in found["members"]
          for one in member["networks"]]


def members(found: dict[str, Any]
           ) -> list[tuple[str, float, list[files.Key]]]:
  """Returns name, weight and networks of an ensemble's members."""
  result = []
  for one in found["members"]:
    some = keys({"members": [one]})
    if one["weight"]:
      result.append((some[0].member, one["weight"], some))
  return result


def read(path: str) -> SearchHistory:
  """Returns the history of a search, from its directory."""
  directory = files.Directory(path)
  found = directory.ensemble() or {"members": [], "ensemble": {}}
  from_json = lambda one: typed_json.from_json(_VALUES, one)
  judged = {files.Key(*one["network"]): (
      member["weight"] / len(member["networks"]), from_json(one["values"]))
            for member in found["members"] for one in member["networks"]}
  networks = {}
  for key in directory.keys():
    record = directory.folder(key).running()
    if record is None:
      continue
    networks[key] = NetworkHistory(
        key.name, key.member, key.function, key.iteration,
        key.fold if key.folds > 1 else None, tuple(record.epochs),
        record.best_epoch, record.ended, record.seconds, record.parameters,
        record.predict_seconds, *judged.get(key, (None, {})))
  known = []
  for one in found["members"]:
    some = keys({"members": [one]})
    known.append(MemberHistory(
        some[0].member, one["weight"], from_json(one["values"]),
        tuple(networks[key] for key in some)))
  return SearchHistory(path, tuple(networks.values()), tuple(known),
                       from_json(found["ensemble"]))

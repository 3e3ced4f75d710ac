# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The history of a search: networks with learning curves, ensemble, pictures.
"""

import io
import json
import math
from typing import Any, NamedTuple

from adanet.ensemble_search import files

# Tables need Rich and pictures Matplotlib, both imported at first use.
# pylint: disable=g-import-not-at-top
_WIDTH = 100  # Characters of a line on a page.
_HEADINGS = {"best_epoch": "best epoch", "predict_seconds": "predict"}


class NetworkHistory(NamedTuple):
  """A network that has ended or still trains.

  For example::

      for network in search.history.networks:
        print(network.name, network.best_epoch, network.values.get("val_loss"))

  Attributes:
    name: str, such as "deep", "deep (2)" in the second iteration, or "deep,
      fold 3 of 5".
    member: str, the name without the fold.
    function: str, the name of the function that builds the network.
    iteration: int, from 0.
    fold: int, from 0; None without folds.
    epochs: tuple with the logs of each epoch as in `Model.fit`: `loss`,
      `val_loss` and metrics.
    best_epoch: int, from 1, the epoch whose weights the network has; 0 before
      the end of the first epoch.
    ended: str, the reason why training ended; "" while the network trains.
    seconds: float, the training time.
    parameters: int, the number of parameters of the model.
    predict_seconds: float, the approximate time to predict 1,000 rows.
    weight: float, the weight in the ensemble; None without an ensemble.
    values: dict with the search's loss and metrics on the held-out rows of the
      network, such as `val_loss` and `val_accuracy`.
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
    """`val_loss` of the best epoch, by the model's own loss with penalties."""
    return (self.epochs[self.best_epoch - 1]["val_loss"] if self.best_epoch
            else None)


class MemberHistory(NamedTuple):
  """A possible member of the ensemble: a network, or the mean of its folds.

  For example::

      for member in search.history.members:
        print(member.name, member.weight, member.values["val_loss"])

  Attributes:
    name: str, such as "deep", or "deep (2)" in the second iteration.
    weight: float, the weight in the ensemble.
    values: dict with the search's loss and metrics on all held-out rows. With
      folds, each network predicts the rows of its own fold.
    networks: tuple of `NetworkHistory`, one per fold.
  """
  name: str
  weight: float
  values: dict[str, float]
  networks: tuple[NetworkHistory, ...]


class SearchHistory(NamedTuple):
  """The history of a search. `str(history)` is the leaderboard as plain text.

  For example::

      history = search.history
      print(history)
      history.plot("search.svg")

  Attributes:
    directory: str, the folder of the search.
    networks: tuple of `NetworkHistory`, in the order of training.
    members: tuple of `MemberHistory`, including members of weight 0; empty
      without an ensemble.
    ensemble: dict with the loss and the metrics of the ensemble on the held-out
      rows; empty without an ensemble.
  """
  directory: str
  networks: tuple[NetworkHistory, ...]
  members: tuple[MemberHistory, ...]
  ensemble: dict[str, float]

  def leaderboard(self) -> Any:
    """Returns a row for the ensemble and a row for each network, best first.

    With folds, each function has a row, followed by the rows of its networks.

    Columns: `name`; `val_loss` and metrics, computed alike in all rows;
    `weight`; `best_epoch`; `epochs`; `parameters`; `predict_seconds`, the
    approximate time to predict 1,000 rows; `seconds` of training; `ended`; and
    `own_val_loss` where the loss of a network's own training differs.

    Returns:
      A `pandas.DataFrame` where pandas is installed, otherwise a list of dicts.
    """
    rows = self.rows()
    try:
      import pandas
    except ModuleNotFoundError:
      return rows
    return pandas.DataFrame(rows)

  def rows(self) -> list[dict[str, Any]]:
    """Returns the rows of the leaderboard as dicts from column to value."""
    known = [one for one in self.networks if one.values]
    rows: list[dict[str, Any]] = []
    if self.ensemble:
      rows.append(_row_of_several("ensemble", self.ensemble, 1., [
          one for one in known if one.weight], self.networks))
    # NaN sorts last.
    for member in sorted(self.members, key=lambda one: (
        math.isnan(one.values["val_loss"]), one.values["val_loss"])):
      if len(member.networks) > 1:
        rows.append(_row_of_several(
            member.name, member.values, member.weight, member.networks,
            member.networks))
      rows += [{
          "name": one.name, **one.values, "weight": one.weight,
          "best_epoch": one.best_epoch, "epochs": len(one.epochs),
          "parameters": one.parameters, "predict_seconds": one.predict_seconds,
          "seconds": one.seconds, "ended": one.ended}
               for one in member.networks]
    own = {one.name: one.own_val_loss for one in known
           if one.own_val_loss is not None}
    if any(abs(one.values["val_loss"] - own[one.name]) > 1e-4 * abs(
        own[one.name]) for one in known if one.name in own):
      for row in rows:
        row["own_val_loss"] = own.get(row["name"])
    return rows

  def cells(self) -> list[list[str]]:
    """Returns the rows of the leaderboard as text, after a row of headings."""
    rows = self.rows()
    if not rows:
      return []
    return [[_HEADINGS.get(name, name) for name in rows[0]]] + [
        [_cell(name, value) for name, value in row.items()] for row in rows]

  def __str__(self) -> str:
    from rich import console as rich_console
    output = io.StringIO()
    self.show(rich_console.Console(
        file=output, width=_WIDTH, color_system=None))
    return output.getvalue()

  def show(self, console: Any) -> None:
    """Prints the leaderboard to a `rich.console.Console`."""
    from rich import text as rich_text
    from adanet.console import wording
    from adanet.console import tables
    cells = [list(map(wording.printable, line)) for line in self.cells()]
    tables.print_parts(console, tables.new_tables(
        console, cells, lambda cell: "bold" if cell == "ensemble" else ""
    ) if cells else [rich_text.Text("No network has ended.")])

  def to_json_dict(self) -> dict[str, Any]:
    """Returns the history with the leaderboard as a value for `json.dumps`.

    NaN becomes the string "NaN".
    """
    text = json.dumps({
        "networks": [one._asdict() for one in self.networks],
        "members": [{**one._asdict(), "networks": [
            network.name for network in one.networks]} for one in self.members],
        "ensemble": self.ensemble, "leaderboard": self.rows()})
    return json.loads(text, parse_constant=str)

  def html(self) -> str:
    """Returns the leaderboard and the picture as a fragment of HTML.

    Raises:
      ModuleNotFoundError: Rich or Matplotlib is not installed.
    """
    from adanet.console import tables
    from adanet.ensemble_search import picture
    shown = tables.to_html(self.show, _WIDTH)
    svg = picture.svg(self)
    return (f'<div>{shown}<div style="overflow-x:auto">'
            f"{svg[svg.index('<svg'):]}</div></div>")

  def _repr_html_(self) -> str | None:
    """Shows the search in a notebook; None makes the notebook show the text."""
    try:
      return self.html()
    except ModuleNotFoundError:
      return None

  def picture(self, path: str) -> None:
    """Draws a picture to a file. See `plot`."""
    self.plot(path)

  def plot(self, path: Any = None) -> Any:
    """Draws the curves of val_loss, the ensemble's weights and the leaderboard.

    Args:
      path: the file to write, with the extension .svg, .png or .pdf. None to
        write no file.

    Returns:
      A `matplotlib.figure.Figure`.

    Raises:
      ModuleNotFoundError: Matplotlib is not installed.
      ValueError: `path` has another extension.
    """
    from adanet.ensemble_search import picture
    return picture.plot(self, path)


def _row_of_several(name, values, weight, used, trained):
  """Returns the row of the leaderboard for the mean of several networks."""
  return {"name": name, **values, "weight": weight, "best_epoch": None,
          "epochs": None, "parameters": sum(one.parameters for one in used),
          "predict_seconds": sum(one.predict_seconds for one in used),
          "seconds": sum(one.seconds for one in trained), "ended": ""}


def _cell(name: str, value: Any) -> str:
  """Returns a value of the leaderboard as text."""
  if value is None:
    return ""
  if name in ("epochs", "best_epoch") or isinstance(value, str):
    return str(value)
  if name == "predict_seconds":
    return f"{1000 * value:.1f} ms"
  return format(value, {
      "parameters": ",", "seconds": ".1f", "weight": ".2f"}.get(name, ".4g"))


def read(path: str) -> SearchHistory:
  """Returns the history of the search in a directory.

  Raises:
    ValueError: a network of the ensemble has no files any more.
  """
  directory = files.Directory(path)
  found = directory.read(files.ENSEMBLE) or {"members": [], "values": {}}
  judged = {files.Key(*one["network"]): (
      member["weight"] / len(member["networks"]), one["values"])
            for member in found["members"] for one in member["networks"]}
  networks = {}
  for key in directory.keys():
    record = directory.folder(key).running()
    if record is not None:
      networks[key] = NetworkHistory(
          key.name, key.member, key.function, key.iteration,
          key.fold if key.folds > 1 else None, tuple(record.epochs),
          record.best_epoch, record.ended, record.seconds, record.parameters,
          record.predict_seconds, *judged.get(key, (None, {})))
  members = []
  for one in found["members"]:
    keys = [files.Key(*network["network"]) for network in one["networks"]]
    for key in keys:
      if key not in networks:
        raise ValueError(f"directory={path!r} lacks the network {key.name!r}: "
                         "call fit again, which trains it anew.")
    members.append(MemberHistory(
        keys[0].member, one["weight"], one["values"],
        tuple(networks[key] for key in keys)))
  return SearchHistory(
      path, tuple(networks.values()), tuple(members), found["values"])

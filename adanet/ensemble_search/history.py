# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The history of a search, its leaderboard and picture.

Needs no TensorFlow: `adanet-report` shows a directory, too. Tables need Rich,
pictures Matplotlib and data frames pandas, each imported at first use.
"""

import io
import itertools
import json
import math
import numbers
from typing import Any, NamedTuple

from adanet import messages
from adanet.ensemble_search import candidates
from adanet.ensemble_search import files
from adanet.ensemble_search import records

# pylint: disable=g-import-not-at-top
_WIDTH = 100  # Characters of a line.
_PAGE_WIDTH = 10_000  # A page and the cell of a notebook scroll a wide table.
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
_MISSING = "not in models"  # How a network ended whose function is missing.


class NetworkHistory(NamedTuple):
  """A network that has ended or still trains.

  For example::

      for network in search.history.networks:
        print(network.name, network.best_epoch, network.values.get("val_loss"))

  Attributes:
    name: str, such as "deep", "deep (2)" in the second iteration, "deep #7" for
      a trial, or "deep, fold 3 of 5".
    member: str, the name without the fold.
    function: str, the name of the function that builds the network.
    iteration: int, from 0.
    fold: int, from 0; None without folds.
    epochs: tuple with the logs of each epoch as in `Model.fit`: `loss`,
      `val_loss` and metrics.
    best_epoch: int, from 1, the epoch whose weights the network has; 0 before
      the end of the first epoch.
    ended: str, the reason why training ended, such as "failed: NaN in
      dense/kernel after epoch 1"; "" while the network trains.
    seconds: float, the training time.
    parameters: int, the number of parameters of the model.
    predict_seconds: float, the approximate time to predict 1,000 rows.
    weight: float, the weight in the ensemble; None without an ensemble, and of
      a network that the ensemble cannot have: it has failed, its function is
      missing in `models`, or with finalists, it is of none.
    values: dict with the search's loss and metrics on the held-out rows of the
      network, such as `val_loss` and `val_accuracy`.
    hyperparameters: dict, those of the trial; empty for a function that takes
      no trial.
    trial: int, the number of the trial, from 1; 0 for a function that takes no
      trial.
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
  hyperparameters: dict[str, Any] = {}
  trial: int = 0

  @property
  def error(self) -> str:
    """Why the network failed, as in `ended`; "" if it did not."""
    return (self.ended.removeprefix(records.FAILED)
            if self.ended.startswith(records.FAILED) else "")

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
    weight: float, the weight in the ensemble; None as of a network.
    values: dict with the search's loss and metrics on all held-out rows. With
      folds, each network predicts the rows of its own fold.
    networks: tuple of `NetworkHistory`, one per fold that has trained.
    folds: int, the number of folds; 1 without folds.
  """
  name: str
  weight: float | None
  values: dict[str, float]
  networks: tuple[NetworkHistory, ...]
  folds: int = 1

  @property
  def num_judged(self) -> int:
    """The number of folds whose networks have ended."""
    return sum(bool(network.values) for network in self.networks)

  @property
  def has_all_folds(self) -> bool:
    """Whether `values` are on the rows of all folds, and not of the first."""
    return self.num_judged == self.folds


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
    monitor: str, the value by which the search compares, such as "val_loss".
    mode: "min" or "max", whether less or more is better.
  """
  directory: str
  networks: tuple[NetworkHistory, ...]
  members: tuple[MemberHistory, ...]
  ensemble: dict[str, float]
  monitor: str = "val_loss"
  mode: str = "min"

  def leaderboard(self) -> Any:
    """Returns a row for the ensemble and a row for each network, best first.

    With folds, each function has a row, followed by the rows of its networks.

    Columns: `name`; the monitored value; `weight`; `val_loss` and metrics,
    computed alike in all rows; `best_epoch`; `epochs`; `parameters`;
    `predict_seconds`, the approximate time to predict 1,000 rows; `seconds` of
    training; `ended`; `folds`, such as "1 of 5", where `finalists` alone have
    trained all folds, and these come first; `own_val_loss` where the loss of a
    network's own training
    differs; and `params_rate` for a hyperparameter `rate`. Whole numbers that a
    row lacks are in a column of the type `Int64`.

    Returns:
      A `pandas.DataFrame` where pandas is installed, which a notebook shows
      with the numbers of `print(history)`; otherwise a list of dicts.
    """
    rows = self.rows()
    try:
      return _to_frame(rows)
    except ModuleNotFoundError:
      return rows

  def rows(self) -> list[dict[str, Any]]:
    """Returns the rows of the leaderboard as dicts from column to value."""
    judged = [network for network in self.networks if network.values]
    rows: list[dict[str, Any]] = []
    if self.ensemble:
      rows.append({
          "name": "ensemble", **self.ensemble, "weight": 1., **_sum_columns(
              [network for network in judged if network.weight],
              self.networks)})
    for member in sorted(self.members, key=lambda member: (
        any(network.error for network in member.networks),
        math.isnan(member.values[self.monitor]),
        bool(self.ensemble) and member.weight is None,
        not member.has_all_folds, *self.place(member.values))):
      if member.folds > 1:
        rows.append({
            "name": member.name, **member.values, "weight": member.weight,
            **_sum_columns(member.networks, member.networks),
            "ended": _MISSING if member.networks[0].ended == _MISSING else ""})
      rows += [{
          "name": network.name, **dict.fromkeys(member.values, math.nan),
          **network.values, "weight": network.weight,
          **{column: read(network)
             for column, (read, *_) in _COLUMNS.items()}}
               for network in member.networks
               if network.values or network.error or (
                   network.ended == _MISSING)]
    if self.is_by_fold:
      folds = {member.name: f"{member.num_judged} of {member.folds}"
               for member in self.members}
      for row in rows:
        row["folds"] = folds.get(row["name"], "")
    own = {network.name: network.own_val_loss for network in judged
           if network.own_val_loss is not None}
    if any(abs(network.values["val_loss"] - own[network.name]) > 1e-4 * abs(
        own[network.name]) for network in judged if network.name in own):
      for row in rows:
        row["own_val_loss"] = own.get(row["name"])
    hyperparameters = {name: network.hyperparameters for member in self.members
                       for network in member.networks
                       for name in (network.name, member.name)}
    for name in dict.fromkeys(itertools.chain(*hyperparameters.values())):
      for row in rows:
        row["params_" + name] = hyperparameters.get(row["name"], {}).get(name)
    names = dict.fromkeys(
        ["name", self.monitor, "weight", *itertools.chain(*rows)])
    return [{name: row.get(name) for name in names} for row in rows]

  @property
  def is_by_fold(self) -> bool:
    """Whether members are compared by the rows of the first fold alone."""
    return any(member.num_judged and not member.has_all_folds
               for member in self.members)

  def summary(self) -> str:
    """Returns in a line what has trained, and the value of the ensemble."""
    states = {
        "failed": sum(bool(network.error) for network in self.networks),
        "unfinished": sum(network.ended in ("", records.TIME)
                          for network in self.networks)}
    text = ", ".join(
        f"{number} {state}" for state, number in states.items() if number)
    size = sum(bool(member.weight) for member in self.members)
    return messages.count(len(self.networks), "network") + (
        f" ({text})" if text else "") + ", " + (
            f"ensemble of {size}: {self.monitor} "
            f"{format_number(self.ensemble[self.monitor])}"
            if self.ensemble else "no ensemble yet")

  def place(self, values: dict[str, float]) -> tuple:
    """Returns a key that sorts the best values first, and NaN last."""
    cost = records.Monitor(self.monitor, self.mode).cost(values)
    loss = values["val_loss"]
    return (math.isnan(values[self.monitor]), cost, math.isnan(loss), loss)

  def cells(self) -> list[list[str]]:
    """Returns the rows of the leaderboard as text, after a row of headings."""
    rows = list(map(_join_hyperparameters, self.rows()))
    if not rows:
      return []
    return [[_HEADINGS.get(name, name) for name in rows[0]]] + [
        [_format_value(name, value) for name, value in row.items()]
        for row in rows]

  def __str__(self) -> str:
    from rich import console as rich_console
    output = io.StringIO()
    self.show(rich_console.Console(
        file=output, width=_WIDTH, color_system=None, force_terminal=False,
        force_jupyter=False))
    return output.getvalue()

  def show(self, console: Any) -> None:
    """Prints the leaderboard to a `rich.console.Console`."""
    from rich import text as rich_text
    from adanet.console import wording
    from adanet.console import tables
    cells = [list(map(wording.printable, line)) for line in self.cells()]
    tables.print_parts(console, tables.new_tables(
        console, cells, lambda cell: "bold" if cell == "ensemble" else ""
    ) if cells else [rich_text.Text("No network has finished.")])

  def to_json_dict(self) -> dict[str, Any]:
    """Returns the history with the leaderboard as a value for `json.dumps`.

    NaN becomes the string "NaN".
    """
    text = json.dumps({
        "networks": [network._asdict() for network in self.networks],
        "members": [{**member._asdict(), "networks": [
            network.name for network in member.networks]}
                    for member in self.members],
        "ensemble": self.ensemble, "leaderboard": self.rows()})
    return json.loads(text, parse_constant=str)

  def html(self) -> str:
    """Returns the leaderboard and the picture as a page of HTML.

    Raises:
      ModuleNotFoundError: Rich or Matplotlib is not installed.
    """
    from adanet.console import page
    return page.whole(self.directory, self._fragment())

  def _fragment(self):
    from adanet.console import drawing
    from adanet.console import page
    from adanet.ensemble_search import picture
    return page.fragment(
        self.show, _PAGE_WIDTH, drawing.to_svg(picture.draw(self)))

  def _repr_html_(self) -> str | None:
    """Shows the search in a notebook; None makes the notebook show the text."""
    try:
      return self._fragment()
    except ModuleNotFoundError:
      return None

  def picture(self, path: str) -> None:
    """Draws a picture to a file. See `plot`."""
    self.plot(path)

  def plot(self, path: Any = None) -> Any:
    """Draws the curves of the networks and their weights.

    The curves are of the monitored value. Values far from all others, such as
    those of first epochs, are outside of the frame, and the caption says so.
    Trials have another picture: the best value so far against the number of the
    trial.

    Args:
      path: the file to write, with the extension .svg, .png or .pdf. None to
        write no file.

    Returns:
      A `matplotlib.figure.Figure`.

    Raises:
      ModuleNotFoundError: Matplotlib is not installed.
      ValueError: `path` has another extension.
    """
    from adanet.console import drawing
    from adanet.ensemble_search import picture
    figure = picture.draw(self)
    if path is not None:
      drawing.save(figure, path)
    return figure


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


def _format_value(name, value):
  """Returns a value of a column of the leaderboard as text."""
  if value is None:
    return ""
  if name in _COLUMNS:
    return _COLUMNS[name][-1](value)
  if isinstance(value, (str, numbers.Integral)):
    return str(value)
  return format(value, ".2f" if name == "weight" else ".4g")


def _to_frame(rows):
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


def read(path: str) -> SearchHistory:
  """Returns the history of the search in a directory."""
  directory = files.Directory(path)
  content = directory.read() or {}
  ensemble = directory.read_ensemble() or {"weights": {}, "values": {}}
  networks, members = [], []
  for candidate in candidates.CandidateStore(directory):
    weight = ensemble["weights"].get(candidate.name)
    own = []
    for key in candidate.keys():
      record = directory.folder(key).read_record()
      if record is not None:
        values = candidate.values.get(key.fold, {})
        share = (weight / ensemble["folds"] if weight is not None and
                 key.fold < ensemble["folds"] else None)
        own.append(NetworkHistory(
            key.name, key.member, key.function, key.iteration,
            key.fold if key.folds > 1 else None, tuple(record.epochs),
            record.best_epoch, record.ended if key.function in content.get(
                "models", [key.function]) else _MISSING,
            record.seconds, record.parameters, record.predict_seconds, share,
            values, candidate.hyperparameters or {}, key.trial))
    networks += own
    is_complete = candidate.all_values or (
        content.get("finalists") is not None and 0 in candidate.values)
    if own and (is_complete or candidate.error):
      members.append(MemberHistory(
          candidate.name, weight, candidate.best_known, tuple(own),
          candidate.folds))
  names = [name for member in members for name in member.values] or [
      "val_loss", directory.monitor().name]
  # What has failed has no values.
  members = [member if member.values else member._replace(
      values=dict.fromkeys(names, math.nan)) for member in members]
  return SearchHistory(path, tuple(networks), tuple(members),
                       ensemble["values"], *directory.monitor())


def describe(path: str | None) -> str:
  """Returns in a line what a directory has; never an error.

  Args:
    path: str, the directory of a search; None before the search has one.
  """
  if path is None:
    return "nothing has trained yet"
  try:
    text = ("nothing has trained yet" if files.Directory(path).read() is None
            else read(path).summary())
  except Exception as error:
    text = messages.one_line(error)
  return f"{path!r}: {text}"


def format_number(value: float | None) -> str:
  """Returns a value as the lines of a search have it."""
  return "-" if value is None else f"{value:.4g}"

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The history of a search, its leaderboard and picture.

Needs no TensorFlow: `adanet-report` shows a directory, too. Tables need Rich,
pictures Matplotlib and data frames pandas, each imported at first use.
"""

import io
import json
import math
from typing import Any, NamedTuple

from adanet import messages
from adanet.ensemble_search import candidates
from adanet.ensemble_search import files
from adanet.ensemble_search import leaderboard
from adanet.ensemble_search import records

# pylint: disable=g-import-not-at-top
_WIDTH = 100  # Characters of a line.
_PAGE_WIDTH = 10_000  # A page and the cell of a notebook scroll a wide table.
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
      return leaderboard.to_frame(rows)
    except ModuleNotFoundError:
      return rows

  def rows(self) -> list[dict[str, Any]]:
    """Returns the rows of the leaderboard as dicts from column to value."""
    return leaderboard.list_rows(self)

  @property
  def is_by_fold(self) -> bool:
    """Whether members are compared by the rows of the first fold alone."""
    return any(member.num_judged and not member.has_all_folds
               for member in self.members)

  def summary(self) -> str:
    """Returns in a line what has trained, and the value of the ensemble."""
    failed = sum(bool(network.error) for network in self.networks)
    states = [f"{failed} failed"] if failed else []
    if self.num_unfinished:
      states.append(f"{self.num_unfinished} unfinished")
    text = messages.count(len(self.networks), "network")
    if states:
      text += f" ({', '.join(states)})"
    if not self.ensemble:
      return text + ", no ensemble yet"
    return (f"{text}, ensemble of {self.num_used}: {self.monitor} "
            f"{leaderboard.format_number(self.ensemble[self.monitor])}")

  @property
  def num_unfinished(self) -> int:
    """The number of networks that the next `fit` continues."""
    return sum(network.ended in ("", records.TIME) for network in self.networks)

  @property
  def num_used(self) -> int:
    """The number of members whose weight is not 0."""
    return sum(bool(member.weight) for member in self.members)

  def place(self, values: dict[str, float]) -> tuple:
    """Returns a key that sorts the best values first, and NaN last."""
    cost = records.Monitor(self.monitor, self.mode).cost(values)
    loss = values["val_loss"]
    return (math.isnan(values[self.monitor]), cost, math.isnan(loss), loss)

  def cells(self) -> list[list[str]]:
    """Returns the rows of the leaderboard as text, after a row of headings."""
    return leaderboard.list_cells(self.rows())

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


def read(path: str) -> SearchHistory:
  """Returns the history of the search in a directory."""
  directory = files.Directory(path)
  content = directory.read() or {}
  ensemble = directory.read_ensemble() or {"weights": {}, "values": {}}
  functions = content.get("models")
  has_finals = content.get("finalists") is not None
  # What has failed has no values.
  no_values = dict.fromkeys(ensemble["values"] or [
      "val_loss", directory.monitor().name], math.nan)
  networks: list[NetworkHistory] = []
  members = []
  for candidate in candidates.CandidateStore(directory):
    weight = ensemble["weights"].get(candidate.name)
    is_missing = functions is not None and candidate.function not in functions
    own = []
    for key in candidate.keys():
      record = directory.folder(key).read_record()
      if record is not None:
        is_used = weight is not None and key.fold < ensemble["folds"]
        own.append(NetworkHistory(
            name=key.name, member=key.member, function=key.function,
            iteration=key.iteration, fold=key.fold if key.folds > 1 else None,
            epochs=tuple(record.epochs), best_epoch=record.best_epoch,
            ended=leaderboard.MISSING if is_missing else record.ended,
            seconds=record.seconds, parameters=record.parameters,
            predict_seconds=record.predict_seconds,
            weight=weight / ensemble["folds"] if is_used else None,
            values=candidate.values.get(key.fold, {}),
            hyperparameters=candidate.hyperparameters or {}, trial=key.trial))
    networks += own
    if own and (candidate.all_values or candidate.error or (
        has_finals and 0 in candidate.values)):
      members.append(MemberHistory(
          candidate.name, weight, candidate.best_known or no_values, tuple(own),
          candidate.folds))
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

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The history of a search as a value, and its leaderboard."""

from typing import Any, Dict, Iterator, List, NamedTuple, Optional

from adanet.history import overview
from adanet.history import records

# Tables need Rich and pictures Matplotlib, both imported at first use.
# pylint: disable=g-import-not-at-top
_PAGE_WIDTH = 100  # Characters of a line.


class Row(NamedTuple):
  """A candidate ensemble, or a trained network.

  For example::

      best = adanet.report("digits").leaderboard()[:1]
      print(best)

  Attributes:
    name: str.
    kind: str, "ensemble" or "network".
    iteration: int, the iteration of the training; for an ensemble, the last
      iteration with the ensemble as a candidate.
    won: bool, whether an ensemble won the iteration, or whether a network is
      part of the last winner.
    metric: str, the name of `value`.
    value: float, the compared value of an ensemble; for a network, the head's
      loss of the network alone on the evaluator's data, which is known only
      with fitted ensembles. None if unknown.
    networks: int, the number of networks.
    weight: float, the weight of a network in the last winner: 0 for a network
      outside the last winner, and None without mixture weights.
    train_loss: float, the loss of a network's last step; None if unknown.
    steps: int, the training steps of a network; 0 if not trained.
    global_step: int, the global step at the end of the iteration.
    seconds: float, the duration of the iteration, or of a network's steps.
    weights: dict from the networks of an ensemble to the mean absolute weights,
      each None without mixture weights.
  """
  name: str
  kind: str
  iteration: int
  won: bool
  metric: str
  value: Optional[float]
  networks: int = 1
  weight: Optional[float] = None
  train_loss: Optional[float] = None
  steps: Optional[int] = None
  global_step: Optional[int] = None
  seconds: Optional[float] = None
  weights: Dict[str, Optional[float]] = {}


class History(records.Records):
  """The history of a search. `str(history)` is the tables as plain text.

  For example::

      history = adanet.report("digits")
      print(history)
      print([record.winner for record in history.iterations])
      history.picture("search.svg")

  Attributes:
    model_dir: str, the folder of the search.
    iterations: tuple of `IterationRecord` of the ended iterations, in order.
    tasks: tuple of `TaskRecord`, in the order of iterations and tasks,
      including an iteration that has not ended.
    evaluations: tuple of `EvaluationRecord`, in the order of global steps.
    undecided: `UndecidedRecord` if training ended before the last iteration had
      a winner; otherwise None.
    end: `EndRecord` with the reason for the end of training; None while
      training continues, and after training was killed.
  """
  __slots__ = ()

  def table(self) -> str:
    """Returns tables as plain text.

    The tables have at most 80 columns, or fewer if the terminal or the
    environment variable `COLUMNS` has fewer, as in a task of adanet-launch.

    Raises:
      ModuleNotFoundError: Rich is not installed.
    """
    from adanet.history import table
    return table.text(self)

  def show(self, console: Any) -> None:
    """Prints the tables to a `rich.console.Console`."""
    from adanet.history import table
    table.show(self, console)

  def __str__(self) -> str:
    return self.table()

  def leaderboard(self) -> Any:
    """Returns a row for each candidate and each network, the last winner first.

    Within an iteration, the winner comes first, then all other ensembles in the
    order of their values, then the networks trained in the iteration. An
    ensemble that was a candidate of several iterations has only a row in the
    last iteration.

    Returns:
      A `pandas.DataFrame` where pandas is installed, otherwise a list of dicts.
      The columns are the attributes of `Row`.
    """
    table = [row._asdict() for row in rows(self)]
    try:
      import pandas
    except ModuleNotFoundError:
      return table
    return pandas.DataFrame(table)

  def to_json_dict(self) -> Dict[str, Any]:
    """Returns the history with the leaderboard as a value for `json.dumps`.

    NaN becomes the string "NaN".
    """
    return dict(super().to_json_dict(), leaderboard=[
        records.to_json(row) for row in rows(self)])

  def html(self) -> str:
    """Returns the tables and the picture as a page of HTML.

    Raises:
      ModuleNotFoundError: Rich or Matplotlib is not installed.
    """
    from adanet.console import page
    return page.whole(self.model_dir, self._fragment())

  def _fragment(self):
    from adanet.console import drawing
    from adanet.console import page
    from adanet.history import picture
    return page.fragment(
        self.show, _PAGE_WIDTH, drawing.to_svg(picture.draw(self)))

  def _repr_html_(self) -> Optional[str]:
    """Shows the search in a notebook; None makes the notebook show the text."""
    try:
      return self._fragment()
    except ModuleNotFoundError:
      return None

  def picture(self, path: str) -> None:
    """Draws a picture of the work of each task, the losses, and the weights.

    The output is deterministic for a version of Matplotlib.

    Args:
      path: str, the file to write, with the extension .svg, .png or .pdf.

    Raises:
      ModuleNotFoundError: Matplotlib is not installed.
      OSError: the file cannot be written.
      ValueError: `path` has another extension.
    """
    from adanet.console import drawing
    from adanet.history import picture
    drawing.save(picture.draw(self), path)


def rows(search: records.Records) -> List[Row]:
  """Returns a row for each candidate and network. See `History.leaderboard`."""
  by_name: Dict[str, Row] = {}
  for record in reversed(search.iterations):
    for candidate in overview.best_first(record):
      by_name.setdefault(candidate.name, Row(
          candidate.name, "ensemble", record.iteration,
          candidate.name == record.winner, record.metric_name, candidate.value,
          len(candidate.subnetworks), global_step=record.global_step,
          seconds=record.seconds,
          weights=dict(zip(candidate.subnetworks, candidate.weights))))
    for row in _networks(record, search.final):
      by_name.setdefault(row.name, row)
  return list(by_name.values())


def _networks(record: records.IterationRecord,
              final: Optional[records.CandidateRecord]) -> Iterator[Row]:
  """Yields the rows of the networks of an iteration, the best first."""
  members = dict(zip(final.subnetworks, final.weights)) if final else {}
  for name, network in overview.networks_best_first(record).items():
    yield Row(
        name, "network", record.iteration, name in members, "loss",
        network.held_out_loss, weight=members.get(name, 0.),
        train_loss=network.loss, steps=network.steps,
        global_step=record.global_step, seconds=network.seconds)

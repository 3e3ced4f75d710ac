# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The history of a search, as one value."""

import os
from typing import Any, Dict, Optional

from adanet.history import records

# Tables need Rich, and pictures Matplotlib: imported when they are asked for.
# pylint: disable=g-import-not-at-top


class History(records.Records):
  """The history of a search. `str` of it is its tables as plain text.

  Attributes:
    model_dir: str, where it was.
    iterations: tuple of `IterationRecord`, the ended ones, in order.
    tasks: tuple of `TaskRecord`, in the order of iterations and tasks, also of
      an iteration that has not ended.
    evaluations: tuple of `EvaluationRecord`, in the order of their steps.
    undecided: `UndecidedRecord`, if training reached its last step before
      the last iteration had a winner; or None.
    end: `EndRecord`, why training ended; None while it goes on, or if it was
      killed.
  """
  __slots__ = ()

  def table(self) -> str:
    """Returns tables as plain text.

    They have at most 80 columns, and fewer if the terminal or the environment
    variable `COLUMNS` has fewer, as in a task of adanet-launch.

    Raises:
      ModuleNotFoundError: Rich is not installed.
    """
    from adanet.history import table
    return table.text(self)

  def __str__(self) -> str:
    return self.table()

  def leaderboard(self) -> Any:
    """Returns a row for each candidate and each network, the last winner first.

    Within an iteration, the winner is followed by the other ensembles in the
    order of their values, and then by the networks that trained in it. The
    previous ensemble has a row of its last iteration only.

    Returns:
      A `pandas.DataFrame` where pandas is installed, else a list of dicts. The
      columns are the attributes of `adanet.history.leaderboard.Row`.
    """
    from adanet.history import leaderboard
    rows = [row._asdict() for row in leaderboard.rows(self)]
    try:
      import pandas
    except ModuleNotFoundError:
      return rows
    return pandas.DataFrame(rows)

  def to_json_dict(self) -> Dict[str, Any]:
    """Returns a value for `json.dumps`, with the leaderboard.

    NaN is the string "NaN".
    """
    from adanet.history import leaderboard
    return dict(super().to_json_dict(), leaderboard=[
        records.to_json(row) for row in leaderboard.rows(self)])

  def html(self) -> str:
    """Returns the tables and the picture as a page of HTML.

    Raises:
      ModuleNotFoundError: Rich or Matplotlib is not installed.
    """
    from adanet.history import table
    return table.html_page(self)

  def _repr_html_(self) -> Optional[str]:
    """Shows the search in a notebook, which shows its text for None."""
    try:
      from adanet.history import table
      return table.html_fragment(self)
    except ModuleNotFoundError:
      return None

  def picture(self, path: str) -> None:
    """Draws a picture: the work of each task, losses, and weights.

    The same Matplotlib writes the same bytes.

    Args:
      path: str, the file to write: .svg, .png or .pdf.

    Raises:
      ModuleNotFoundError: Matplotlib is not installed.
      OSError: the file cannot be written.
      ValueError: the path has another ending.
    """
    from adanet.history import picture
    picture.write(self, os.fspath(path))


Report = History  # Its first name, which `adanet.subnetwork.Report` has, too.

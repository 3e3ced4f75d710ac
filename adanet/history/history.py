# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The history of a search as a value."""

import os
from typing import Any, Dict, Optional

from adanet.history import records

# Tables need Rich and pictures Matplotlib, both imported at first use.
# pylint: disable=g-import-not-at-top


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
      The columns are the attributes of `adanet.history.leaderboard.Row`.
    """
    from adanet.history import leaderboard
    rows = [row._asdict() for row in leaderboard.rows(self)]
    try:
      import pandas
    except ModuleNotFoundError:
      return rows
    return pandas.DataFrame(rows)

  def to_json_dict(self) -> Dict[str, Any]:
    """Returns the history with the leaderboard as a value for `json.dumps`.

    NaN becomes the string "NaN".
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
    """Shows the search in a notebook; None makes the notebook show the text."""
    try:
      from adanet.history import table
      return table.html_fragment(self)
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
    from adanet.history import picture
    picture.write(self, os.fspath(path))

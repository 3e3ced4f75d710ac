# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a search did, as one value."""

import os
import typing
from typing import Any, Dict, Optional, Tuple

from adanet.history import records

# Tables need Rich, and pictures Matplotlib: imported when they are asked for.


class Report(typing.NamedTuple):
  """What a search did. `str` of it is its tables as plain text.

  Attributes:
    model_dir: str, where it was.
    iterations: tuple of `IterationRecord`, those that ended, in order.
    tasks: tuple of `TaskRecord`, in the order of iterations and tasks. They are
      those of an iteration that has not ended, too.
    evaluations: tuple of `EvaluationRecord`, in the order of their steps.
  """
  model_dir: str
  iterations: Tuple[records.IterationRecord, ...] = ()
  tasks: Tuple[records.TaskRecord, ...] = ()
  evaluations: Tuple[records.EvaluationRecord, ...] = ()

  @property
  def final(self) -> Optional[records.CandidateRecord]:
    """The ensemble that won the last iteration, or None."""
    return self.iterations[-1].winning if self.iterations else None

  @property
  def seconds(self) -> Optional[float]:
    """How long the iterations took together; None if it is not known."""
    seconds = [record.seconds for record in self.iterations
               if record.seconds is not None]
    return sum(seconds) if seconds else None

  def table(self) -> str:
    """Returns tables as plain text.

    They have at most 80 columns, and fewer if the terminal or the environment
    variable `COLUMNS` has fewer, as in a task of adanet-launch.

    Raises:
      ModuleNotFoundError: Rich is not installed.
    """
    from adanet.history import table  # pylint: disable=g-import-not-at-top
    return table.text(self)

  def __str__(self) -> str:
    return self.table()

  def picture(self, path: str) -> None:
    """Draws a picture: who trained what, losses, and weights.

    The same Matplotlib writes the same bytes.

    Args:
      path: str, the file to write: .svg, .png or .pdf.

    Raises:
      ModuleNotFoundError: Matplotlib is not installed.
      OSError: the file cannot be written.
      ValueError: the path has another ending.
    """
    from adanet.history import picture  # pylint: disable=g-import-not-at-top
    picture.write(self, os.fspath(path))

  def to_json_dict(self) -> Dict[str, Any]:
    """Returns what `json.dumps` takes. NaN is the string "NaN"."""
    return {
        "version": records.JSON_VERSION,
        "model_dir": self.model_dir,
        "iterations": [records.to_json(record) for record in self.iterations],
        "tasks": [records.to_json(record) for record in self.tasks],
        "evaluations": [records.to_json(record) for record in self.evaluations],
    }

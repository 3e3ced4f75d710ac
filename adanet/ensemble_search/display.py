# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Shows how far a search is, on a terminal, in a notebook or as lines."""

from collections.abc import Iterator
import contextlib
import os
import sys
import threading
import time
from typing import Any

from adanet import log
from adanet import messages
from adanet.ensemble_search import history as history_lib
from adanet.ensemble_search import leaderboard
from adanet.ensemble_search import records

# pylint: disable=g-import-not-at-top
_format_number = leaderboard.format_number
_SECS_BETWEEN_DRAWINGS = .2


class SearchDisplay:
  """Shows how far a search is: a row a network on a terminal, elsewhere lines.

  Threads may report.
  """

  def __init__(self, verbose: Any, monitor: str, exits: contextlib.ExitStack):
    """Begins to draw, if there is a terminal or a notebook.

    `monitor` is the log to show.
    """
    self._verbose = verbose
    self._lock = threading.Lock()
    self._rows: dict[records.NetworkKey, list[str]] = {}
    self._last_drawing = 0.
    self._monitor = monitor
    self._live: Any = None
    self._drawn: Any = None
    if verbose not in ("auto", 1):
      return
    if log.is_notebook():
      from adanet.console import page
      self._drawn = page.Cell()
    elif sys.stderr is not None and sys.stderr.isatty():
      from rich import console
      from rich import live
      self._live = self._drawn = exits.enter_context(live.Live(
          console=console.Console(stderr=True), auto_refresh=False,
          transient=True))

  def line(self, text: str) -> None:
    """Shows a line."""
    if not self._verbose:
      return
    if self._live is not None:
      self._live.console.print(text, highlight=False, markup=False)
    else:
      log.print_line(text)

  def begin(self, path: str, splits: list, functions: int) -> None:
    """Shows what will train."""
    rows = getattr(splits[0], "trained", None)
    parts = [messages.count(functions, "model")]
    if rows is not None:
      parts.append(f"{len(rows):,} rows")
    parts.append(f"{len(splits[0].held_out):,} held out")
    if len(splits) > 1:
      parts.append(f"in each of {len(splits)} folds")
    below = os.path.relpath(path)
    self.line(f"{', '.join(parts)}; directory "
              f"{path if below.startswith(os.pardir) else below}")

  def epoch(self, key: records.NetworkKey, record: records.NetworkRecord
           ) -> None:
    """Shows an epoch of a network."""
    with self._lock:
      cells = [key.name, f"epoch {len(record.epochs)}",
               f"{self._monitor} "
               f"{_format_number(record.epochs[-1][self._monitor])}",
               f"best {_format_number(record.best_value(self._monitor))}",
               f"{record.seconds:.1f} s"]
      if self._verbose == 2:
        self.line("  ".join(cells))
      if record.ended:
        self._rows.pop(key, None)
      else:
        self._rows[key] = cells
      self._draw()

  def network(self, key: records.NetworkKey, record: records.NetworkRecord
             ) -> None:
    """Shows that a network has ended."""
    with self._lock:
      self._rows.pop(key, None)
      reason = (record.error or record.late_error).rstrip(".")
      epoch = f" in epoch {record.failed_epoch}" if record.failed_epoch else ""
      if record.error:
        log.warning(
            "%s failed%s: %s. The search goes on; fit trains it again when "
            "called again.", key.name, epoch, reason)
      elif reason:
        log.warning(
            "%s failed%s: %s. The search goes on with epoch %d; fit trains it "
            "on when called again.", key.name, epoch, reason,
            record.best_epoch)
      else:
        self.line(
            f"{key.name}: {self._monitor} "
            f"{_format_number(record.best_value(self._monitor))} at epoch "
            f"{record.best_epoch} of {len(record.epochs)} "
            f"({record.ended}), {record.seconds:.1f} s")
      self._draw(True)

  def _draw(self, at_once=False):
    now = time.monotonic()
    if self._drawn is None or not (
        at_once or now - self._last_drawing > _SECS_BETWEEN_DRAWINGS):
      return
    self._last_drawing = now
    from rich import table as rich_table
    from adanet.console import tables
    grid = rich_table.Table.grid(padding=(0, 2, 0, 0))
    for cells in self._rows.values():
      tables.add_row(grid, *cells)
    self._drawn.update(grid, refresh=True)

  def end(self, history: history_lib.SearchHistory, is_stopped: bool) -> None:
    """Shows the ensemble."""
    if is_stopped:
      self.line(f"max_seconds is over; unfinished networks: "
                f"{history.num_unfinished}. All training so far is saved: call "
                "fit again to resume.")
    if not history.ensemble:
      return
    monitor = history.monitor
    best = history.rows()[1]
    value, best_value = history.ensemble[monitor], best[monitor]
    change = 100 * (value / best_value - 1) if best_value else 0
    gain = ""
    if history.num_used > 1 and history.mode == "max" and change > 0:
      gain = f" ({change:.1f} % more)"
    elif history.num_used > 1 and history.mode == "min" and change < 0:
      gain = f" ({-change:.1f} % less)"
    kind = "model" if history.networks[0].fold is not None else "network"
    self.line(
        f"ensemble of {history.num_used}: {monitor} {_format_number(value)}, "
        f"best {kind} {best['name']} {_format_number(best_value)}{gain}")


@contextlib.contextmanager
def display(verbose: Any, monitor: str) -> Iterator[SearchDisplay]:
  """Yields a `SearchDisplay`, which leaves the terminal as it was."""
  with contextlib.ExitStack() as exits:
    yield SearchDisplay(verbose, monitor, exits)

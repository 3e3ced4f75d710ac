# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Shows how far a search is: a row a network on a terminal, elsewhere lines."""

from collections.abc import Iterator
import contextlib
import os
import sys
import threading
import time
from typing import Any

from adanet.console import tables
from adanet.ensemble_search import files
from adanet.ensemble_search import history as history_lib

_SECS_BETWEEN_DRAWINGS = .2
_CELL_WIDTH = 100


def _number(value):
  return "-" if value is None else f"{value:.4g}"


def _seconds(secs):
  return (f"{secs:.1f} s" if secs < 60 else
          f"{int(secs // 60)}:{secs % 60:02.0f}")


def _is_notebook() -> bool:
  ipython = sys.modules.get("IPython")
  return hasattr(ipython and ipython.get_ipython(), "kernel")


class SearchDisplay:
  """Shows what happens. Threads may report."""

  def __init__(self, verbose: Any, exits: contextlib.ExitStack):
    """Begins to draw, if there is a terminal or a notebook."""
    self._verbose = verbose
    self._lock = threading.Lock()
    self._rows: dict[files.Key, list[str]] = {}
    self._drawn = 0.
    self._live: Any = None
    self._handle: Any = None
    if verbose not in ("auto", 1):
      return
    if _is_notebook():
      self._handle = False
    elif sys.stderr is not None and sys.stderr.isatty():
      from rich import console  # pylint: disable=g-import-not-at-top
      from rich import live  # pylint: disable=g-import-not-at-top
      self._live = exits.enter_context(live.Live(
          console=console.Console(stderr=True), auto_refresh=False,
          transient=True))

  def line(self, text: str) -> None:
    """Shows a line."""
    if not self._verbose:
      return
    if self._live is not None:
      self._live.console.print(text, highlight=False, markup=False)
    elif sys.stderr is not None:
      with contextlib.suppress(OSError, ValueError):
        print(text, file=sys.stderr, flush=True)

  def began(self, path: str, data: list, functions: int) -> None:
    """Shows what will train."""
    rows = getattr(data[0], "trained", None)
    parts = [f"{functions} model{'s' * (functions != 1)}"]
    if rows is not None:
      parts.append(f"{len(rows):,} rows")
    parts.append(f"{len(data[0].held_out):,} held out")
    if len(data) > 1:
      parts.append(f"in each of {len(data)} folds")
    below = os.path.relpath(path)
    self.line(f"{', '.join(parts)}; directory "
              f"{path if below.startswith(os.pardir) else below}")

  def epoch(self, key: files.Key, record: files.NetworkRecord) -> None:
    """Shows an epoch of a network."""
    with self._lock:
      cells = [key.name, f"epoch {len(record.epochs)}",
               f"val_loss {_number(record.epochs[-1]['val_loss'])}",
               f"best {_number(record.best_loss)}", _seconds(record.seconds)]
      if self._verbose == 2:
        self.line("  ".join(cells))
      if record.ended:
        self._rows.pop(key, None)
      else:
        self._rows[key] = cells
      self._draw()

  def network(self, key: files.Key, record: files.NetworkRecord) -> None:
    """Shows that a network has ended."""
    with self._lock:
      self._rows.pop(key, None)
      self.line(
          f"{key.name}: val_loss {_number(record.best_loss)} at epoch "
          f"{record.best_epoch} of {len(record.epochs)} "
          f"({record.ended}), {_seconds(record.seconds)}")
      self._draw(True)

  def _draw(self, at_once=False):
    now = time.monotonic()
    if (self._live is None and self._handle is None) or not (
        at_once or now - self._drawn > _SECS_BETWEEN_DRAWINGS):
      return
    self._drawn = now
    from rich import table as rich_table  # pylint: disable=g-import-not-at-top
    grid = rich_table.Table.grid(padding=(0, 2, 0, 0))
    for cells in self._rows.values():
      tables.add_row(grid, *cells)
    if self._live is not None:
      self._live.update(grid, refresh=True)
      return
    from IPython import display  # pylint: disable=g-import-not-at-top
    shown = display.HTML(tables.to_html(
        lambda console: console.print(grid), _CELL_WIDTH))
    if self._handle:
      self._handle.update(shown)
    else:
      self._handle = display.display(shown, display_id=True)

  def ended(self, found: history_lib.SearchHistory, is_stopped: bool) -> None:
    """Shows the ensemble."""
    if is_stopped:
      left = sum(not one.ended for one in found.networks)
      self.line(f"max_seconds is over; networks that have not ended: {left}. "
                "What was trained is saved: call fit again to go on.")
    if not found.ensemble:
      return
    best = found.rows()[1]
    loss = found.ensemble["val_loss"]
    gain = 100 * (1 - loss / best["val_loss"]) if best["val_loss"] else 0
    count = sum(bool(one.weight) for one in found.members)
    kind = "model" if found.networks[0].fold is not None else "network"
    self.line(
        f"ensemble of {count}: val_loss {_number(loss)}, best {kind} "
        f"{best['name']} {_number(best['val_loss'])}" + (
            f" ({gain:.1f} % less)" if count > 1 and gain > 0 else ""))


@contextlib.contextmanager
def shown(verbose: Any) -> Iterator[SearchDisplay]:
  """Yields a `SearchDisplay`, which leaves the terminal as it was."""
  with contextlib.ExitStack() as exits:
    yield SearchDisplay(verbose, exits)

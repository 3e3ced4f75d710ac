# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Draws the progress of training on a terminal, or in a notebook.

    Iteration 2 (3 of 5), step 2350, 412 steps/s, 0:16 left (search: about 1:04)
    t2_1_layer     ━━━━━━━━━━━━━━╺━━━━━━━━━━━━━━━━━━━━━━━  350/1000  loss 0.2172
    t2_2_layers    ━━━━━━━━━━━━━━╺━━━━━━━━━━━━━━━━━━━━━━━  350/1000  loss 0.1983
    t2_1_layer..   ━━━━━━━━━━━━━━╺━━━━━━━━━━━━━━━━━━━━━━━  350/1000  loss 0.1764
    t2_2_layers..  ━━━━━━━━━━━━━━╺━━━━━━━━━━━━━━━━━━━━━━━  350/1000  loss 0.1602
"""

import contextlib
import logging as std_logging
import math
import sys
import time
from typing import Any, Iterator, List, Optional, Sequence, TextIO

from absl import logging
from adanet.console import page
from adanet.core import events
from adanet.progress import event_text
from rich import console as rich_console
from rich import live as rich_live
from rich import progress_bar as rich_progress_bar
from rich import table as rich_table
from rich import text as rich_text

_SECS_BETWEEN_DRAWINGS = .1
_MAX_ROWS = 12  # Of subnetworks, and of ensembles.
_MIN_NAME_WIDTH = 12
_MIN_BAR_WIDTH = 8
_GAP = 2


class _Console(rich_console.Console):
  """A console that never hides the cursor.

  A process that is killed cannot show it again.
  """

  def show_cursor(self, show: bool = True) -> bool:
    del show  # Unused.
    return False


def _shown(names: Sequence[str], progress: events.Progress,
           max_rows: int) -> List[str]:
  """Returns the names that have a row: the candidates with the least loss."""
  def key(name):
    loss = progress.losses.get(name)
    return math.inf if loss is None or math.isnan(loss) else loss
  best = set(sorted(names, key=key)[:max_rows])
  return [name for name in names if name in best]


def _cell(text):
  return rich_text.Text(text, no_wrap=True, overflow="crop")


class LiveProgress:
  """A context manager that draws events, and leaves the terminal as it was."""

  def __init__(self, stream: TextIO):
    """Draws nothing yet.

    Args:
      stream: a terminal, or the output of a notebook's cell.
    """
    self._is_cell = not stream.isatty()
    self._console = _Console(
        file=stream, force_terminal=True) if not self._is_cell else _Console(
            file=stream, width=page.CELL_WIDTH, force_jupyter=False)
    self._stream = stream
    self._live: Any = None  # `rich.live.Live` or `page.Cell`.
    self._exits = contextlib.ExitStack()
    self._text = event_text.EventText()
    self._progress: Optional[events.Progress] = None
    self._next_drawing = 0.

  def __enter__(self) -> "LiveProgress":
    return self

  def __exit__(self, *exc_info: Any) -> None:
    self._stop()

  def report(self, event: events.Event) -> None:
    """Draws an event."""
    try:
      self._report(event)
    except OSError:  # The terminal is gone. Training goes on without it.
      self._console = _Console(quiet=True)
      self._stop()

  def _report(self, event):
    began = self._text.began
    self._text.take(event)
    if isinstance(event, events.Progress):
      self._progress = event
      now = time.monotonic()
      if now >= self._next_drawing:
        self._next_drawing = now + _SECS_BETWEEN_DRAWINGS
        self._draw(event)
      return
    if isinstance(event, events.IterationBegan):
      if began and began.iteration_number == event.iteration_number:
        return  # Further tasks of a cluster train in it.
      self._progress = None
    elif isinstance(event, (events.IterationEnded, events.TrainingEnded)):
      self._stop()
    if self._is_line(event):
      self._console.print(
          self._text.line(event), style=self._style(event), highlight=False,
          markup=False)

  def _is_line(self, event):
    if isinstance(event, (
        events.CheckpointSaved, events.Joined, events.Working)):
      return False
    # That one has done all its steps is seen in its row.
    return not (isinstance(event, events.Stopped) and event.is_complete)

  def _style(self, event):
    is_nan = isinstance(event, events.Stopped) and event.is_nan
    return "yellow" if is_nan else None

  def _draw(self, event: events.Progress) -> None:
    if self._console.quiet:
      return
    if self._live is None and self._is_cell:
      self._live = page.Cell()
    elif self._live is None:
      self._live = self._exits.enter_context(
          rich_live.Live(
              console=self._console, auto_refresh=False,
              redirect_stdout=sys.stdout.isatty(),
              redirect_stderr=self._stream is sys.stderr))
      self._exits.enter_context(_handlers_follow(self._stream))
    self._live.update(self._drawing(event), refresh=True)

  def _stop(self):
    """Draws the last state, and gives the terminal back."""
    try:
      if self._live is not None and self._progress is not None:
        self._draw(self._progress)
    except OSError:
      self._console = _Console(quiet=True)
    self._live = None
    try:
      self._exits.close()
    except OSError:
      pass

  def _drawing(self, progress: events.Progress) -> rich_console.Group:
    width, height = self._console.size
    began = self._text.began
    names = list(progress.steps)
    # The header, two lines for hidden rows, and the line of the cursor.
    max_rows = max(1, min(_MAX_ROWS, (height - 4) // 2))
    ensembles = [n for n in names if began and n in began.ensembles]
    subnetworks = [n for n in names if n not in ensembles]
    parts: List[Any] = [rich_text.Text(
        ", ".join(self._text.heading(progress)), style="bold", no_wrap=True,
        overflow="ellipsis")]
    groups = [(noun, group, _shown(group, progress, max_rows))
              for noun, group in (("subnetworks", subnetworks),
                                  ("ensembles", ensembles)) if group]
    rows = self._rows(
        progress, [name for _, _, shown in groups for name in shown], width)
    for noun, group, shown in groups:
      table = rich_table.Table.grid(padding=(0, _GAP, 0, 0))
      for _ in shown:
        table.add_row(*next(rows))
      parts.append(table)
      if len(shown) < len(group):
        parts.append(rich_text.Text(
            f"... and {len(group) - len(shown)} more {noun}",
            style="dim", no_wrap=True, overflow="crop"))
    return rich_console.Group(*parts)

  def _rows(self, progress: events.Progress, names: Sequence[str],
            width: int) -> Iterator[List[Any]]:
    """Yields the cells of each name; in a column all have the same width."""
    began, short = self._text.began, self._text.names.short
    max_steps = began.max_steps if began else None
    steps = [f"step {step}" if max_steps is None else f"{step}/{max_steps}"
             for step in map(progress.steps.__getitem__, names)]
    step_width = max(map(len, steps))
    longest = max(len(short(name)) for name in names)
    losses = ["" if loss is None else f"loss {loss:.4g}"
              for loss in map(progress.losses.get, names)]
    left = width - step_width - max(map(len, losses)) - 2 * _GAP
    name_width = min(longest, max(_MIN_NAME_WIDTH, left * 3 // 5))
    bar_width = left - name_width - _GAP
    has_bar = max_steps is not None and bar_width >= _MIN_BAR_WIDTH
    if not has_bar:
      name_width = min(longest, max(_MIN_NAME_WIDTH // 2, left))
    for name, step_text, loss_text in zip(names, steps, losses):
      cells: List[Any] = [
          _cell(short(name, name_width).ljust(name_width))]
      if max_steps is not None and has_bar:
        cells.append(rich_progress_bar.ProgressBar(
            total=max_steps, completed=min(progress.steps[name], max_steps),
            width=bar_width))
      yield cells + [_cell(step_text.rjust(step_width)), _cell(loss_text)]


@contextlib.contextmanager
def _handlers_follow(stream: TextIO) -> Iterator[None]:
  """Lets log lines appear above the drawing.

  `rich` replaces sys.stderr meanwhile. Handlers of the log hold the old one.

  Args:
    stream: the stream that `rich` has replaced.
  """
  handlers: List[Any] = [logging.get_absl_handler().python_handler]
  for logger in (std_logging.getLogger(), std_logging.getLogger("tensorflow")):
    handlers.extend(logger.handlers)
  handlers = [h for h in handlers if getattr(h, "stream", None) is stream]
  for handler in handlers:
    handler.stream = sys.stderr
  try:
    yield
  finally:
    for handler in handlers:
      handler.stream = stream

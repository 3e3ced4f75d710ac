# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The picture of a report. It needs Matplotlib.

Above: a row for the tasks that did the same, and a column for each iteration
with the networks that trained. Below: the losses of the candidates, and the
weights of the ensemble at the end. A builder has one color everywhere.
"""

import re
from typing import Dict, List, Optional, Sequence, Tuple

from adanet.console import drawing
from adanet.console import wording
from adanet.history import overview
from adanet.history import records
from adanet import messages
from matplotlib import figure as figure_lib

_MAX_ROWS, _MAX_COLUMNS = 24, 30
_MAX_CELLS = 6  # Of a task in an iteration.
_MAX_WEIGHTS = 15
_HOLDS_VARIABLES = "#CCCCCC"
# Inches.
_LEFT, _TASKS_WIDTH, _ROW_HEIGHT = 1.6, 7.2, .26
_CURVES_LEFT, _CURVES_WIDTH, _HEIGHT = .8, 3.8, 2.8
_WEIGHTS_LEFT, _WEIGHTS_WIDTH = 8., 1.2
_NAME_WIDTH = 1.3


def _kind(name: str) -> str:
  """Returns the builder's name of a subnetwork's."""
  return re.sub(r"^t\d+_", "", name)


class _Picture:
  """Draws one search on a page."""

  def __init__(self, search: records.Records):
    self._search = search
    self._page = drawing.Page(_WEIGHTS_LEFT + _WEIGHTS_WIDTH + .95)
    self._ensembles = overview.ensembles_of(search)
    kinds = dict.fromkeys(
        _kind(name) for names in
        [record.subnetworks for record in search.iterations] +
        [c.subnetworks for r in search.iterations for c in r.candidates] +
        [task.trained for task in search.tasks]
        for name in names if name not in self._ensembles)
    self._colors: Dict[str, str] = dict(zip(
        kinds, drawing.pick_colors(len(kinds))))

  def draw(self) -> figure_lib.Figure:
    """Draws everything."""
    page = self._page
    page.text(overview.result(self._search), 10, 3, fontweight="bold")
    page.text(self._search.model_dir, 8, 2, color=drawing.SMALL_PRINT)
    page.skip(.3)
    if self._search.tasks:
      self._draw_tasks()
    if self._search.iterations:
      self._draw_candidates()
      self._draw_weights()
      page.skip(_HEIGHT + .5)
    return page.finish()

  def _draw_tasks(self) -> None:
    """Draws a row for the tasks that did the same."""
    groups = overview.grouped(overview.tasks_of(self._search), _MAX_ROWS)
    numbers = sorted({record.iteration for record in self._search.tasks})
    title = "Who trained what, by iteration"
    if len(numbers) > _MAX_COLUMNS:
      title += f": the last {_MAX_COLUMNS}"
      numbers = numbers[-_MAX_COLUMNS:]
    height = _ROW_HEIGHT * len(groups)
    axes = self._page.axes(_LEFT, self._page.y, _TASKS_WIDTH, height, title)
    axes.set(xlim=(0, len(numbers)), ylim=(len(groups) - .5, -.5))
    axes.set_xticks([i + .5 for i in range(len(numbers))])
    axes.set_xticklabels(numbers)
    drawing.name_rows(axes, map(overview.name_of, groups), _NAME_WIDTH)
    for row, group in enumerate(groups):
      for column, number in enumerate(numbers):
        cells = self._cells(group, number)
        for i, (texts, color) in enumerate(cells):
          width = .96 / len(cells)
          x = column + .02 + i * width
          axes.barh(row, width, .86, left=x, color=color)
          axes.text(
              x + width / 2, row, drawing.fit(
                  width * _TASKS_WIDTH / len(numbers) - .04, 7, *texts),
              fontsize=7, ha="center", va="center",
              color=drawing.text_color_on(color))
    self._page.skip(height + .65)

  def _cells(self, group: Sequence[overview.TaskSummary], number: int
            ) -> List[Tuple[Sequence[str], str]]:
    """Returns the work of tasks in an iteration: texts and a color each.

    The first text that fits is shown. The tasks did the same, or nearly so if
    there are many.
    """
    record = group[0].records.get(number)
    if record is None:
      return []
    if not record.trained:
      return [(("holds variables", "holds", " "), _HOLDS_VARIABLES)
             ] if group[0].kind == "ps" else []
    names = [name for name in record.trained if name not in self._ensembles]
    count = messages.count(len(names), "subnetwork")
    if any(set(task.records[number].trained) != set(record.trained)
           for task in group if number in task.records):
      return [((f"{count} each", f"{len(names)} each"), drawing.BAR)]
    cells: List[Tuple[Sequence[str], str]] = [
        ((f"{_kind(name)}: {messages.count(record.trained[name], 'step')}",
          _kind(name)), self._colors[_kind(name)]) for name in names]
    if len(cells) > _MAX_CELLS:
      cells = [((count, str(len(cells))), drawing.BAR)]
    ensembles = len(record.trained) - len(names)
    if ensembles:
      text = messages.count(ensembles, "ensemble")
      cells.append(((f"{text}: {messages.count(record.steps, 'step')}", text,
                     str(ensembles)), drawing.ENSEMBLE))
    return cells

  def _draw_candidates(self) -> None:
    """Draws the candidates in the colors of their newest subnetworks."""
    dots: Dict[str, List[Tuple[float, float]]] = {}
    winners = []
    for record in self._search.iterations:
      gap = min(.08, .5 / (len(record.candidates) or 1))
      for i, candidate in enumerate(record.candidates):
        for value in overview.finite([candidate.value]):
          newest = (candidate.subnetworks or ("",))[-1]
          is_new = newest.startswith(f"t{record.iteration}_")
          # Side by side, because values may be equal.
          x = record.iteration + (i - (len(record.candidates) - 1) / 2) * gap
          dots.setdefault(_kind(newest) if is_new else "", []).append(
              (x, value))
          if candidate.name == record.winner:
            winners.append((x, value))
    colors = {**self._colors, "": drawing.OTHER}
    metric = self._search.iterations[-1].metric_name
    drawing.draw_curves(
        self._page.axes(_CURVES_LEFT, self._page.y, _CURVES_WIDTH, _HEIGHT,
                        f"Candidates, by {metric}"),
        [drawing.Curve(kind or "no new subnetwork", colors[kind], (), points)
         for kind, points in dots.items()] +
        [drawing.Curve("winner", "#222222", winners, winners, 8)], "iteration")

  def _draw_weights(self) -> None:
    """Draws the weights of the ensemble at the end."""
    final = self._search.final
    if final is None or not final.subnetworks:
      return
    weights: Sequence[Optional[float]] = final.weights or (
        None,) * len(final.subnetworks)
    rows = list(zip(final.subnetworks, weights))[:_MAX_WEIGHTS]
    sizes = [sum(map(abs, overview.finite([weight]))) for _, weight in rows]
    axes = self._page.axes(
        _WEIGHTS_LEFT, self._page.y, _WEIGHTS_WIDTH,
        min(_HEIGHT, _ROW_HEIGHT * len(rows)), "Mean weights at the end")
    drawing.draw_bars(
        axes, sizes, ["no weight" if weight is None else f"{weight:.3g}"
                      for _, weight in rows],
        [self._colors[_kind(name)] for name, _ in rows], max(sizes) or 1.)
    drawing.name_rows(axes, [name for name, _ in rows], _NAME_WIDTH)
    if len(final.subnetworks) > len(rows):
      axes.set_xlabel(f"and {len(final.subnetworks) - len(rows)} more",
                      fontsize=8)


@drawing.default_style()
def draw(search: records.Records) -> figure_lib.Figure:
  """Returns a figure, which is in no window and not pyplot's."""
  return _Picture(wording.all_printable(search)).draw()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The picture of a report. It needs Matplotlib.

Above: a row for each task, and a column for each iteration with the networks it
trained. Below: the losses of the candidates, and the weights of the ensemble
that won at the end. The same builder has the same color everywhere.
"""

import io
import re
from typing import Any, Dict, List, Optional, Sequence, Tuple

from adanet.console import page as page_lib
from adanet.console import wording
from adanet.history import overview
from adanet.history import records
from adanet import messages
from adanet.progress import event_text
from matplotlib import figure as figure_lib

#: The endings of files that can be written.
FORMATS = ("pdf", "png", "svg")

# Of the part about tasks.
_MAX_ROWS = 24
_MAX_COLUMNS = 30
_MAX_CELLS = 6  # Of a task in an iteration.
_WIDTH = 7.2  # Inches, of all iterations.
_MAX_COLUMN_WIDTH = 2.6
_ROW_HEIGHT = 0.26
_BAR_WIDTH = 0.55
_PS_COLOR = "#CCCCCC"

# Of the parts below.
_HEIGHT = 2.3
_AXES_WIDTH = 4.2
_MAX_WEIGHTS = 15
_MEMBERS_WIDTH = 2.6
_MAX_NAMED_COLORS = 12
_MAX_NAMED_WINNERS = 5
_OTHER = "#999999"


def _kind(name: str) -> str:
  """Returns the builder's name of a subnetwork's."""
  return re.sub(r"^t\d+_", "", name)


def _fitting(texts: Sequence[str], width: float, size: float) -> str:
  """Returns the first text that fits, or the last one without its middle."""
  for text in texts:
    if page_lib.text_width(text, size) <= width:
      return text
  for length in range(len(texts[-1]) - 1, 4, -1):
    text = event_text.cut(texts[-1], length)
    if page_lib.text_width(text, size) <= width:
      return text
  return ""


class _Picture:
  """Draws one search on a page."""

  def __init__(self, search: records.Records):
    self._search = search
    self._page = page_lib.Page()
    self._legend = page_lib.Legend(self._page)
    self._ensembles = overview.ensembles_of(search)
    kinds = dict.fromkeys(
        _kind(name) for names in
        [record.subnetworks for record in search.iterations] +
        [c.subnetworks for r in search.iterations for c in r.candidates] +
        [task.trained for task in search.tasks]
        for name in names if name not in self._ensembles)
    self._colors: Dict[str, str] = dict(zip(
        kinds, page_lib.subnetwork_colors(len(kinds))))

  def _color(self, name: str) -> str:
    if name in self._ensembles:
      return page_lib.ENSEMBLE
    return self._colors.get(_kind(name), _OTHER)

  def draw(self) -> figure_lib.Figure:
    """Draws everything."""
    page = self._page
    y = page_lib.MARGIN
    # As wide as the tasks, before lines are broken.
    page.right = page_lib.MARGIN + 9.5
    y = page.paragraph(page_lib.MARGIN, y, overview.result(self._search), 3, 11,
                       fontweight="bold")
    y = page.paragraph(page_lib.MARGIN, y + .04, self._search.model_dir, 2, 8,
                       color=page_lib.SMALL_PRINT) + .2
    if self._search.tasks:
      y = self._draw_tasks(y) + .25
    if self._search.iterations:
      y = self._draw_results(y) + .2
    self._add_legend()
    return page.cut(self._legend.draw(y))

  def _heading(self, x: float, y: float, text: str) -> float:
    """Writes a heading; returns the y below it."""
    self._page.text(x, y + .1, text, 9, fontweight="bold")
    return y + .3

  def _add_legend(self):
    if len(self._colors) <= _MAX_NAMED_COLORS:
      for kind, color in self._colors.items():
        self._legend.add(kind, facecolor=color)
    else:
      self._legend.add_note("Each builder has a color.")
    if any(name in self._ensembles for task in self._search.tasks
           for name in task.trained):
      self._legend.add("ensembles", facecolor=page_lib.ENSEMBLE)

  # Tasks.

  def _draw_tasks(self, y: float) -> float:
    """Draws the networks that each task trained; returns the y below."""
    page = self._page
    tasks = overview.tasks_of(self._search)
    groups = [[task] for task in tasks]
    if len(groups) > _MAX_ROWS:
      groups = overview.grouped(tasks, _MAX_ROWS)
    numbers = sorted({record.iteration for record in self._search.tasks})
    left_out = len(numbers) - _MAX_COLUMNS
    numbers = numbers[-_MAX_COLUMNS:]
    y = self._heading(page_lib.MARGIN, y, "Who trained what, by iteration" + (
        f": the last {_MAX_COLUMNS}" if left_out > 0 else ""))
    names = [overview.name_of(group) for group in groups]
    left = page_lib.MARGIN + .1 + max(
        page_lib.text_width(name, 8) for name in names)
    width = min(_MAX_COLUMN_WIDTH, _WIDTH / len(numbers))
    right = left + width * len(numbers) + .15
    for i, number in enumerate(numbers):
      page.text(left + (i + .5) * width, y + .08,
                ("iteration {}" if width > .8 else "{}").format(number), 8,
                ha="center")
    self._draw_bars(right, y, "steps/s", page_lib.SPEED_BAR, [
        [task.speed for task in group] for group in groups])
    self._draw_bars(right + _BAR_WIDTH + .45, y, "MB", page_lib.LOAD_BAR, [
        [task.megabytes for task in group] for group in groups])
    y += .22
    for name, group in zip(names, groups):
      page.text(left - .1, y + _ROW_HEIGHT / 2, name, 8, ha="right")
      for i, number in enumerate(numbers):
        self._draw_cells(left + i * width + .02, y + .02, width - .04,
                         group, number)
      y += _ROW_HEIGHT
    self._legend.add_note(
        "steps/s: of a task's training loop. MB: of the variables that a task "
        "builds or, for a ps, holds.")
    return y

  def _draw_bars(self, x: float, y: float, heading: str, color: str,
                 groups: Sequence[Sequence[Optional[float]]]) -> None:
    """Draws a bar for the first value of each group, and writes their span."""
    self._page.text(x, y + .08, heading, 8)
    largest = max(values[0] or 0. for values in groups)
    for row, values in enumerate(groups):
      if values[0]:
        top = y + .22 + row * _ROW_HEIGHT
        length = _BAR_WIDTH * values[0] / largest
        self._page.rectangle(x, top + .07, length, _ROW_HEIGHT - .14,
                             facecolor=color)
        self._page.text(
            x + length + .04, top + _ROW_HEIGHT / 2,
            overview.span(values, page_lib.format_number), 7)

  def _cells(self, group: Sequence[overview.TaskSummary], number: int
            ) -> List[Tuple[Sequence[str], str]]:
    """Returns the work of tasks in an iteration, as their cells.

    Args:
      group: tasks that did the same, or nearly so where there are many.
      number: int, the iteration's.

    Returns:
      List of (texts, color). The first text that fits is shown.
    """
    record = group[0].records.get(number)
    if record is None:
      return []
    if not record.trained:
      return [(("holds variables", "holds"), _PS_COLOR)
             ] if group[0].kind == "ps" else []
    if any(set(task.records[number].trained) != set(record.trained)
           for task in group if number in task.records):
      texts = ["{} each".format(messages.count(
          len(record.trained), "subnetwork")), f"{len(record.trained)} each"]
      return [(texts, page_lib.SPEED_BAR)]
    cells: List[Tuple[Sequence[str], str]] = []
    for name, steps in record.trained.items():
      if name not in self._ensembles:
        cells.append((
            [_kind(name) + ": " + messages.count(steps, "step"), _kind(name)],
            self._color(name)))
    number_of_ensembles = len(record.trained) - len(cells)
    if len(cells) > _MAX_CELLS:
      cells = [([messages.count(len(cells), "subnetwork"), str(len(cells))],
                page_lib.SPEED_BAR)]
    if number_of_ensembles:
      text = messages.count(number_of_ensembles, "ensemble")
      cells.append(([text + ": " + messages.count(record.steps, "step"), text,
                     str(number_of_ensembles)], page_lib.ENSEMBLE))
    return cells

  def _draw_cells(self, x: float, y: float, width: float,
                  group: Sequence[overview.TaskSummary], number: int) -> None:
    page = self._page
    height = _ROW_HEIGHT - .04
    cells = self._cells(group, number)
    page.rectangle(x, y, width, height, facecolor=page_lib.EMPTY_CELL)
    for i, (texts, color) in enumerate(cells):
      cell_width = width / len(cells)
      page.rectangle(
          x + i * cell_width, y, cell_width - .01, height, facecolor=color,
          gid=f"{group[0].kind}-{group[0].index or 0}-iteration-{number}-{i}")
      page.text(x + (i + .5) * cell_width, y + height / 2,
                _fitting(texts, cell_width - .06, 7), 7, ha="center",
                color=page_lib.text_color_on(color))

  # Results.

  def _draw_results(self, y: float) -> float:
    """Draws the losses and the weights; returns the y below."""
    below = self._draw_values(y)
    return max(below, self._draw_weights(
        page_lib.MARGIN + .6 + _AXES_WIDTH + .5, y))

  def _draw_values(self, y: float) -> float:
    page = self._page
    compared = [r for r in self._search.iterations
                if overview.finite([c.value for c in r.candidates])]
    metric = self._search.iterations[-1].metric_name
    y = self._heading(
        page_lib.MARGIN, y, f"Candidates, by {metric}")
    if not compared:
      return page.paragraph(
          page_lib.MARGIN, y, "No values are known.", 1, 8)
    axes = page.axes(page_lib.MARGIN + .6, y, _AXES_WIDTH, _HEIGHT)
    values = overview.finite([c.value for r in compared for c in r.candidates])
    page_lib.scale_values(axes, values)
    numbers = [record.iteration for record in compared]
    for record in compared:
      self._draw_candidates(axes, record, len(compared) <= _MAX_NAMED_WINNERS)
    winners = [(r.iteration, value) for r in compared if r.winning
               for value in overview.finite([r.winning.value])]
    axes.plot(*zip(*winners) if winners else ([], []), color="#222222",
              linewidth=1, zorder=1, gid="winners")
    # With room for the name of the last winner.
    axes.set_xlim(min(numbers) - .5, max(numbers) + .5 + .1 * len(numbers) * (
        len(compared) <= _MAX_NAMED_WINNERS))
    step = max(1, len(numbers) // 10)
    axes.set_xticks(numbers[::step])
    axes.margins(y=.12)  # For the names of the highest ones.
    axes.set_xlabel("iteration", fontsize=8)
    axes.grid(axis="y", color="#E5E5E5", linewidth=.6)
    axes.set_axisbelow(True)
    return y + _HEIGHT + .5

  def _draw_candidates(self, axes: Any, record: records.IterationRecord,
                       names_winners: bool) -> None:
    """Draws the candidates of an iteration in the colors of their newest."""
    number = len(record.candidates)
    gap = min(.08, .5 / number)
    names = overview.names_of(record)
    for i, candidate in enumerate(record.candidates):
      if not overview.finite([candidate.value]):
        continue
      newest = candidate.subnetworks[-1:]
      is_new = newest and re.match(f"t{record.iteration}_", newest[0])
      is_winner = candidate.name == record.winner
      # Side by side, because values may be equal. The winner is in the middle.
      x = record.iteration + (0 if is_winner else (i - (number - 1) / 2) * gap)
      axes.plot(
          [x], [candidate.value], linestyle="none",
          marker="*" if is_winner else "o" if is_new else "D",
          markersize=13 if is_winner else 5,
          markerfacecolor=self._color(newest[0]) if newest else _OTHER,
          markeredgecolor="black" if is_winner else "white",
          markeredgewidth=.7, zorder=3 if is_winner else 2,
          gid=f"iteration-{record.iteration}-candidate-{i}")
      if is_winner and names_winners:
        axes.annotate(
            names.short(candidate.name, 16).replace("$", r"\$"),
            (x, candidate.value), xytext=(8, 5),
            textcoords="offset points", fontsize=7.5)
    self._legend.add_note(
        "A star is the candidate that won. The color of a candidate is that of "
        "its newest subnetwork. A diamond is the ensemble of the iteration "
        "before.")

  def _draw_weights(self, x: float, y: float) -> float:
    page = self._page
    final = self._search.final
    if final is None or not final.subnetworks:
      return y
    y = self._heading(x, y, "The ensemble at the end: mean weights")
    weights = final.weights or (None,) * len(final.subnetworks)
    rows = list(zip(final.subnetworks, weights))
    most = max(map(abs, overview.finite(weights)), default=0.) or 1.
    left = x + .1 + min(2., max(
        page_lib.text_width(name, 8) for name, _ in rows[:_MAX_WEIGHTS]))
    for i, (name, weight) in enumerate(rows[:_MAX_WEIGHTS]):
      page.text(left - .1, y + .1, _fitting([name], 2., 8), 8, ha="right")
      length = .02
      for known in overview.finite([weight]):
        length = max(length, 1.6 * abs(known) / most)
      page.rectangle(left, y + .02, length, .16, facecolor=self._color(name),
                     gid=f"weight-{i}")
      page.text(left + length + .05, y + .1,
                "no weight" if weight is None else f"{weight:.3g}", 7.5)
      y += .22
    if len(rows) > _MAX_WEIGHTS:
      page.text(left, y + .1, f"and {len(rows) - _MAX_WEIGHTS} more", 8)
      y += .22
    return self._draw_members(x, y + .1) + .1

  def _draw_members(self, x: float, y: float) -> float:
    """Draws a bar for each iteration with the members of its fitted winner."""
    page = self._page
    fits = [(record.iteration, record.fit.members)
            for record in self._search.iterations if record.fit is not None]
    if not fits:
      return y
    y = self._heading(x, y, "The members of each iteration's winner")
    for number, members in fits[-_MAX_WEIGHTS:]:
      page.text(x + .25, y + .1, str(number), 8, ha="right")
      left = x + .35
      unit = _MEMBERS_WIDTH / sum(map(abs, members.values()))
      for name, weight in members.items():
        width, color = unit * abs(weight), self._color(name)
        page.rectangle(left, y + .02, max(width - .01, .01), .16,
                       facecolor=color, gid=f"iteration-{number}-{name}")
        page.text(left + width / 2, y + .1, _fitting([name], width - .06, 7), 7,
                  ha="center", color=page_lib.text_color_on(color))
        left += width
      y += .22
    return y


def draw(search: records.Records) -> figure_lib.Figure:
  """Returns a figure, which is in no window and not pyplot's."""
  with page_lib.default_style():
    return _Picture(wording.all_printable(search)).draw()


def svg(search: records.Records) -> str:
  """Returns the picture as an element of a page of HTML."""
  output = io.BytesIO()
  page_lib.write(draw(search), output, "svg")
  text = output.getvalue().decode("utf-8")
  return text[text.index("<svg"):]


def write(search: records.Records, path: str) -> None:
  """Writes the picture of a search; see `Report.picture`."""
  ending = path.rpartition(".")[2].lower()
  if ending not in FORMATS or "." not in path:
    raise ValueError(f"path={path!r}: expected a file that ends with "
                     f"{' or '.join(('.' + name for name in FORMATS))}.")
  figure = draw(search)
  with open(path, "wb") as f:
    page_lib.write(figure, f, ending)

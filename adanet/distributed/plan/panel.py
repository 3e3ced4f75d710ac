# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The panel of one plan: the common part, and the panel of a small cluster.

The panel of a large cluster is in `picture.py`.
"""

import collections
import math

from adanet.console import page as page_lib
from adanet.console import wording
from adanet.distributed.plan import groups
from adanet import messages

#: A panel with more subnetworks does not name each of them.
MAX_NAMED_ROWS = 40
#: A cluster with more workers and parameter servers together is large.
MAX_COLUMNS = 36

# Inches.
COLUMN_WIDTH = 0.4
STRIP_HEIGHT = 0.34
SPEED_WIDTH = 0.9
_PS_GAP = 0.55  # With room for the labels of the load.
_FOOT_HEIGHT = 0.3
_CELL_GAP = 0.02

#: The largest values of a panel, or of all panels of a page: the speed of a
#: subnetwork, the load of a parameter server, and the cells of a heat map.
Scale = collections.namedtuple("Scale", "speed load cell_speed cell_share")


def named_row_height(num_rows):
  """Returns the height of a row that has a name, in inches."""
  return 0.3 if num_rows <= 12 else 0.22


class Panel:
  """The common part. A subclass draws the workers and parameter servers.

  Attributes:
    page, legend: the `Page` to draw on and its `Legend`.
    plan: a `PlacementPlan`.
    names_rows: bool, whether each subnetwork has a row and a name.
    row_height, height: floats, in inches, of a row and of all rows.
    strip_y, top: floats, the y of the ensemble's row and of the first
      subnetwork's. None until drawing begins.
    largest: the `Scale` of this panel alone.
    scale: the `Scale` of the page. None until drawing begins.
  """

  column_names_height = 0.  # Inches.

  def __init__(self, page, legend, plans, number, worker_names, num_rows,
               row_height, columns_width, speed_colors):
    """Measures the panel of plans that differ in their strategies only.

    `number` is the place of the first of them among all plans, and
    `columns_width` the width of all columns in inches.
    """
    self.page = page
    self.legend = legend
    self.plan = plans[0]
    self.names_rows = self.plan.num_subnetworks <= MAX_NAMED_ROWS
    self.row_height = row_height
    self.height = num_rows * row_height
    self.scale = self.strip_y = self.top = self._heading_y = None
    self._number = number
    self._plans = plans
    self._worker_names = worker_names or wording.worker_names(
        self.plan.num_workers)
    self._problems = [
        problem for plan in plans
        for problem in plan.problems(self._worker_names)]
    self._figures = self.plan.figures()
    self._speed_colors = speed_colors
    self.largest = Scale(
        max(filter(math.isfinite, [
            self.plan.effective_speeds().max(), self.plan.ensemble_speed()])),
        self._figures["max_load_per_ps"] or 0., cell_speed=0., cell_share=0.)
    # With room for a mark, so that the columns of several panels are in line.
    self._columns_x = page_lib.MARGIN + 0.08 + page_lib.text_width(
        f"! subnetwork {self.plan.num_subnetworks}", 8, "bold")
    page.right = max(page.right, self._columns_x + columns_width + SPEED_WIDTH)

  def draw_workers(self, x):
    """Draws the workers; returns the x on their right."""
    raise NotImplementedError

  def draw_ps(self, x):
    """Draws the parameter servers; called only if there are any."""
    raise NotImplementedError

  def gid(self, *parts):
    """Returns the name of an artist."""
    return "-".join(map(str, ("plan", self._number) + parts))

  def with_problem(self, *kinds):
    """Returns the set of indices that the problems of some kinds name."""
    return {i for p in self._problems if p.kind in kinds for i in p.indices}

  def row_y(self, row):
    """Returns the y of the middle of a row."""
    return self.top + (row + 0.5) * self.row_height

  def draw(self, y, scale):
    """Draws everything below a y; returns the y below the panel."""
    self.scale = scale
    y = self._draw_title(y)
    self._heading_y = y + 0.24
    self.strip_y = self._heading_y + 0.14 + self.column_names_height
    self.top = self.strip_y + STRIP_HEIGHT + 0.06
    self._draw_row_names()
    x = self.draw_workers(self._columns_x) + 0.15
    unit = ("1 is one worker that trains nothing else"
            if self.plan.costs is None else
            "steps in the time that one worker takes for a cost of 1")
    self.legend.add_note(
        f"speed: {unit}. A step of the ensembles is one of all of them. "
        "Training time is 1 / the lowest speed.")
    x = max(self.draw_heading(x, "speed"), self.draw_speeds(x))
    if self.plan.num_ps and self.plan.ps_groups is None:
      self.draw_heading(x + _PS_GAP, "parameter servers: not known")
      self.legend.add_note("not known: the strategy does not say which "
                           "parameter servers it uses.")
    elif self.plan.num_ps:
      self.legend.add_note(
          "load: {} if every worker takes one step. Assumes {}bytes spread "
          "evenly.".format(*(
              ("how many subnetworks a parameter server sends",
               "equally large subnetworks, and ") if self.plan.sizes is None
              else ("what a parameter server sends, in the unit of the sizes,",
                    ""))))
      self.draw_ps(x + _PS_GAP)
    return self._draw_problems(self.top + self.height + _FOOT_HEIGHT)

  def draw_heading(self, x, text):
    """Writes above the columns; returns the x on the right."""
    return x + self.page.text(x, self._heading_y, text, fontweight="bold")

  def draw_speeds(self, x):
    """Draws the speed of each subnetwork; returns the x on the right."""
    rows = [(self.strip_y + STRIP_HEIGHT / 2, self.plan.ensemble_speed(),
             page_lib.ENSEMBLE, self.gid("ensemble", "speed"))]
    rows += [
        (self.row_y(i), speed, self._speed_colors[i],
         self.gid("subnetwork", i, "speed"))
        for i, speed in enumerate(self.plan.effective_speeds())]
    return max([x + SPEED_WIDTH] + [self._draw_speed(x, *row) for row in rows])

  def _draw_speed(self, x, y, speed, color, gid):
    """Draws a speed in a row; returns the x on its right."""
    text, text_x = "untrained", x
    if math.isinf(speed):
      text = "without steps"
    elif speed:
      length = 0.5 * speed / self.scale.speed
      text, text_x = page_lib.format_number(speed), x + length + 0.05
      self.page.rectangle(
          x, y - 0.06, length, 0.12, facecolor=color, gid=gid)
    return text_x + self.page.text(
        text_x, y, text, 7.5, **page_lib.problem_style(not speed))

  def _draw_title(self, y):
    plan = self.plan
    x = page_lib.MARGIN
    title = " and ".join(dict.fromkeys(p.strategy for p in self._plans))
    y = self.page.paragraph(x, y, title, 3, 11, fontweight="bold")
    shape = wording.cluster_text(
        plan.num_workers, plan.num_ps, plan.num_subnetworks)
    shape = (f"{len(self._plans)} equal plans of {shape}"
             if len(self._plans) > 1 else "A" + shape[1:])
    shape += "".join(
        f", {noun} {', '.join(map(page_lib.format_number, weights))}"
        for noun, weights in plan.given_weights().items())
    y = self.page.paragraph(x, y + 0.04, shape, 2, 9)
    figures = self._figures
    time = figures["training_time"]
    facts = "{}, wasted training {} of {:,}, at most {} on a task".format(
        "training never ends" if time is None else
        "training time " + page_lib.format_number(time),
        page_lib.format_number(figures["wasted_training"]),
        plan.num_workers,
        messages.count(
            f"{figures['max_subnetworks_per_worker']:,}", "subnetwork"))
    if figures["fetches"]:
      facts += f", fetches per step {figures['fetches']:,}"
    return self.page.paragraph(
        x, y + 0.02, facts, 2, 8,
        color=page_lib.PROBLEM if time is None else page_lib.SMALL_PRINT)

  def _draw_row_names(self):
    x = self._columns_x - 0.08
    is_slow = any(p.kind == "slow_ensembles" for p in self._problems)
    self.page.text(
        x, self.strip_y + STRIP_HEIGHT / 2, "! " * is_slow + "ensemble",
        ha="right", **page_lib.problem_style(is_slow))
    if not self.names_rows:
      self.page.text(x - 0.5, self.top + self.height / 2, "subnetwork",
                     rotation=90, ha="center")
      return
    untrained = self.with_problem("untrained_subnetworks")
    for i in range(self.plan.num_subnetworks):
      mark = "! " if i in untrained else ""
      self.page.text(x, self.row_y(i), f"{mark}subnetwork {i}",
                     ha="right", **page_lib.problem_style(i in untrained))

  def _draw_problems(self, y):
    """Returns the y below the messages."""
    for message in dict.fromkeys(p.message for p in self._problems):
      self.page.text(page_lib.MARGIN, y + page_lib.LINE_HEIGHT / 2, "!", 9,
                     **page_lib.problem_style(True))
      y = self.page.paragraph(
          page_lib.MARGIN + 0.14, y, message, 4, 8) + 0.04
    return y + 0.1


class SmallPanel(Panel):
  """Has a column for each worker and parameter server, in the rows' colors."""

  column_names_height = 0.24

  def __init__(self, page, legend, plans, number, worker_names, colors):
    """Measures the panel; `colors` has one for each subnetwork."""
    plan = plans[0]
    k = plan.num_subnetworks
    super().__init__(
        page, legend, plans, number, worker_names, k, named_row_height(k),
        (plan.num_workers + plan.num_ps) * COLUMN_WIDTH, colors)
    self._colors = colors

  def _draw_cell(self, x, y, height, **kwargs):
    self.page.rectangle(
        x + _CELL_GAP, y, COLUMN_WIDTH - 2 * _CELL_GAP, height, **kwargs)

  def _draw_column(self, x, name, has_problem):
    """Draws an empty column and its name."""
    self.page.text(
        x + COLUMN_WIDTH / 2, self.strip_y - 0.12,
        name + ("!" if has_problem else ""), 7.5, ha="center",
        **page_lib.problem_style(has_problem))
    self._draw_cell(x, self.top, self.height, facecolor=page_lib.EMPTY_CELL)

  def draw_workers(self, x):
    right = self.draw_heading(x, "workers")
    overloaded = self.with_problem("overloaded_workers")
    for w in range(self.plan.num_workers):
      # "chief" or "master", and then the indices of the workers beside it.
      job, _, index = self._worker_names[w].partition(":")
      self._draw_column(x, w and index or job, w in overloaded)
      self._draw_worker(x, w, self.plan.worker(w))
      x += COLUMN_WIDTH
    return max(x, right)

  def _draw_worker(self, x, w, group):
    style = {"facecolor": page_lib.EMPTY_CELL}
    if group.builds_ensemble:
      style = {"facecolor": page_lib.ENSEMBLE}
      self.legend.add("builds the ensemble", **style)
      style["gid"] = self.gid("worker", w, "ensemble")
    self._draw_cell(x, self.strip_y, STRIP_HEIGHT, **style)
    self._draw_part(x, self.strip_y + STRIP_HEIGHT / 2,
                    group.ensemble_fraction, page_lib.ENSEMBLE)
    fractions = group.time_fractions(self.plan.costs)
    for i in group.subnetworks:
      color = self._colors[i]
      if i in fractions:
        does, style = "trains", {"facecolor": color}
        self.legend.add("builds and trains a subnetwork", **style)
      else:
        does, style = "runs", page_lib.runs_forward_style(color)
        self.legend.add("builds a subnetwork to run it forward only", **style)
      self._draw_cell(
          x, self.top + i * self.row_height + 0.015, self.row_height - 0.03,
          gid=self.gid("worker", w, does, i), **style)
      self._draw_part(x, self.row_y(i), fractions.get(i, 0), color)

  def _draw_part(self, x, y, fraction, color):
    """Writes a fraction of a worker's time, unless it is all or nothing."""
    if 0 < fraction < 1:
      share = groups.format_fraction(fraction)
      self.legend.add("share of the worker's time", share, facecolor=color)
      self.page.text(x + COLUMN_WIDTH / 2, y, share, 7, ha="center",
                     color=page_lib.text_color_on(color))

  def draw_ps(self, x):
    self.draw_heading(x, "parameter servers")
    with_problem = self.with_problem("unused_ps", "overloaded_ps")
    load_y = self.top + self.height + 0.12
    loads = self.plan.load_per_ps()
    # Loads may be bytes, and the columns are narrow.
    unit = 10.**math.floor(math.log10(loads.max() or 1.))
    unit = 1. if .01 <= unit <= 1000 else unit
    self.page.text(
        x - 0.05, load_y,
        "load" if unit == 1 else f"load / {unit:g}", 7.5, ha="right")
    for p, load in enumerate(loads / unit):
      self._draw_column(x, str(p), p in with_problem)
      middle = x + COLUMN_WIDTH / 2
      self.page.text(
          middle, load_y, "<0.01" if 0 < load < .01 else
          page_lib.format_number(load), 7.5, ha="center",
          **page_lib.problem_style(p in with_problem))
      for i in self.plan.parameter_server(p).subnetworks:
        style = {"diameter": 0.6 * self.row_height,
                 "facecolor": self._colors[i]}
        self.legend.add("holds variables of a subnetwork", **style)
        self.page.circle(middle, self.row_y(i),
                         gid=self.gid("ps", p, "serves", i), **style)
      x += COLUMN_WIDTH

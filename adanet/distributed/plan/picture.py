# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Pictures of placements, for a design review. They need Matplotlib::

    rounds = plan.PlacementPlan(
        RoundRobinStrategy(), num_workers=8, num_ps=4, num_subnetworks=3)
    with open("rounds.svg", "wb") as f:
      picture.write([rounds], f, "svg")

A column is a worker or a parameter server, and a row is a subnetwork. A darker
blue is a larger part of the worker's time. In a large cluster, a cell is the
largest part of several workers and subnetworks.
"""

import math
from typing import BinaryIO, Iterable, Optional, Sequence

from adanet.console import drawing
from adanet.console import wording
from adanet.distributed.plan import groups
from adanet.distributed.plan import value
from adanet import messages
from matplotlib import cm
from matplotlib import colors as colors_lib
from matplotlib import figure as figure_lib
from matplotlib import ticker

import numpy as np

#: The formats of `write`.
FORMATS = ("png", "svg")

_MAX_NAMED_ROWS, _MAX_NAMED_COLUMNS, _MAX_NAMED_PS = 40, 24, 12
# Inches. A cell has at least two pixels.
_LEFT, _SPEED_WIDTH, _STRIP_HEIGHT, _CELL_WIDTH = 1.3, .7, .3, .4
_MAX_HEIGHT, _MAX_WIDTH, _MAX_PS_WIDTH = 4.2, 6., 3.
_MAX_ROWS, _MAX_COLUMNS, _MAX_PS_COLUMNS = 300, 432, 216

_RUNS = 1e-9  # A subnetwork that runs forward only: less than any part.
_ENSEMBLES = colors_lib.ListedColormap([drawing.ENSEMBLE])
_PARTS = colors_lib.LinearSegmentedColormap.from_list(
    "parts", cm.Blues(np.linspace(.3, 1, 256)))
_PARTS.set_under("#F7DDA9")


class _Map:
  """The work of tasks in cells, each of which may be several tasks.

  A cell has the largest amount of its tasks, at most 1, and 0 for nothing.
  """

  def __init__(self, num_rows, num_columns, max_columns):
    self._shape = num_rows, num_columns
    self._widths = -(-num_rows // _MAX_ROWS), -(-num_columns // max_columns)
    self._cells = np.zeros([-(-size // width) for size, width in zip(
        self._shape, self._widths)])

  def put(self, subnetworks, tasks, amount=1.):
    """Raises cells to an amount."""
    place = np.ix_(*(np.unique(np.array(indices, np.int64) // width)
                     for indices, width in zip((subnetworks, tasks),
                                               self._widths)))
    self._cells[place] = np.maximum(self._cells[place], amount)

  def unit(self, dimension, noun):
    """Returns the meaning of the numbers of an axis."""
    width = self._widths[dimension]
    return noun + f", {width} in a cell" * (width > 1)

  def draw(self, axes, colors, has_names, first=0):
    """Draws the cells; the columns are counted from `first`."""
    rows, columns = self._shape
    height, width = np.multiply(self._cells.shape, self._widths)
    left = first - .5
    axes.imshow(
        np.ma.masked_equal(self._cells, 0), aspect="auto", cmap=colors,
        interpolation="nearest", vmin=2 * _RUNS, vmax=1,
        extent=(left, left + width, height - .5, -.5))
    # The last row and column may hold fewer.
    axes.set(xlim=(left, left + columns), ylim=(rows - .5, -.5))
    for i in range(1, max(self._shape) * has_names):
      axes.axvline(left + i, color="white", linewidth=2)
      axes.axhline(i - .5, color="white", linewidth=2)


def _label(axis, names, unit, problems=(), first=0):
  """Puts names on an axis, red for a problem, or numbers if names are None."""
  if names is None:
    axis.set_label_text(unit, fontsize=8)
    axis.set_major_locator(ticker.MaxNLocator(8, integer=True, min_n_ticks=1))
    axis.set_major_formatter(ticker.StrMethodFormatter("{x:,.0f}"))
    return
  axis.set_ticks(range(first, first + len(names)))
  axis.set_ticklabels(["! " * (i in problems) + drawing.plain(name)
                       for i, name in enumerate(names)])
  for i in problems:
    axis.get_ticklabels()[i].set(color=drawing.PROBLEM, fontweight="bold")


class _Panel:
  """The picture of plans that differ in their strategies only.

  Attributes:
    width: float, in inches.
    most: pair of float, the largest speed, and the largest load.
  """

  def __init__(self, plans, worker_names):
    self._strategies = dict.fromkeys(plan.strategy for plan in plans)
    self._plan = plan = plans[0]
    self._names = worker_names or wording.worker_names(plan.num_workers)
    self._problems = [problem for plan in plans
                      for problem in plan.problems(self._names)]
    k, m, n = plan.num_subnetworks, plan.num_workers, plan.num_ps
    self._has_rows = k <= _MAX_NAMED_ROWS
    self._has_columns = m <= _MAX_NAMED_COLUMNS
    self._has_ps = n <= _MAX_NAMED_PS
    self._height = (
        (.27 if k <= 12 else .2) * k if self._has_rows else _MAX_HEIGHT)
    self._widths = [
        max(.8, _CELL_WIDTH * size if has_names else most)
        for size, most, has_names in ((m, _MAX_WIDTH, self._has_columns),
                                      (n, _MAX_PS_WIDTH, self._has_ps))]
    self.width = _LEFT + sum(self._widths) + _SPEED_WIDTH + 1.9
    self.most = (
        max(filter(math.isfinite, [
            plan.effective_speeds().max(), plan.ensemble_speed()])),
        plan.figures()["max_load_per_ps"] or 0.)

  def _with_problem(self, *kinds):
    return {i for problem in self._problems if problem.kind in kinds
            for i in problem.indices}

  def draw(self, page, most):
    """Draws the panel; `most` is that of all panels."""
    self._draw_title(page)
    y = page.y + .25

    def add_axes(x, width, title):
      return (page.axes(x, y, width, _STRIP_HEIGHT, title),
              page.axes(x, y + _STRIP_HEIGHT + .06, width, self._height))

    x = _LEFT + self._widths[0] + .15
    self._draw_workers(*add_axes(
        _LEFT, self._widths[0],
        "workers" if self._has_columns else "chief (left) and workers"))
    self._draw_speeds(*add_axes(x, _SPEED_WIDTH, "speed"), most[0])
    if self._plan.ps_groups:
      load = drawing.format_number(self._plan.load_per_ps().max())
      self._draw_ps(*add_axes(x + _SPEED_WIDTH + .65, self._widths[1],
                              f"ps, load at most {load}"), most[1])
    page.skip(_STRIP_HEIGHT + self._height + .8)
    for message in dict.fromkeys(p.message for p in self._problems):
      page.text("! " + message, color=drawing.PROBLEM)
    page.skip(.3)

  def _draw_title(self, page):
    plan = self._plan
    page.text(" and ".join(self._strategies), 11, 3, fontweight="bold")
    page.text("A" + wording.cluster_text(
        plan.num_workers, plan.num_ps, plan.num_subnetworks)[1:] + "".join(
            f", {noun} {', '.join(map(drawing.format_number, weights))}"
            for noun, weights in plan.given_weights().items()), 9, 2)
    figures = plan.figures()
    facts = ", ".join("{} {}".format(
        name.replace("_", " "), "never ends" if figures[name] is None else
        drawing.format_number(figures[name])) for name in [
            "training_time", "wasted_training"] + [
                "fetches"] * bool(figures["fetches"]))
    if plan.num_ps and plan.ps_groups is None:
      facts += ", parameter servers: not known"
    page.text(facts, color=(drawing.SMALL_PRINT if plan.trains_everything else
                            drawing.PROBLEM))

  def _draw_workers(self, strip, axes):
    plan = self._plan
    ensembles = _Map(1, plan.num_workers, _MAX_COLUMNS)
    work = _Map(plan.num_subnetworks, plan.num_workers, _MAX_COLUMNS)
    for group in plan.worker_groups:
      ensembles.put([0], group.workers, float(group.builds_ensemble))
      work.put(group.subnetworks, group.workers, _RUNS)
      for i, part in group.time_fractions(plan.costs).items():
        work.put([i], group.workers, float(part))
    ensembles.draw(strip, _ENSEMBLES, self._has_columns, first=-1)
    work.draw(axes, _PARTS, self._has_columns and self._has_rows, first=-1)
    _label(strip.yaxis, ["ensemble"], "",
           [0] * bool(self._with_problem("slow_ensembles")))
    _label(axes.yaxis, [f"subnetwork {i}" for i in range(plan.num_subnetworks)]
           if self._has_rows else None, work.unit(0, "subnetwork"),
           self._with_problem("untrained_subnetworks"))
    # "chief" or "master", and then the indices of the workers beside it.
    jobs = [name.partition(":") for name in self._names]
    _label(axes.xaxis, [jobs[0][0]] + [index for _, _, index in jobs[1:]]
           if self._has_columns else None, work.unit(1, "worker"),
           self._with_problem("overloaded_workers"), first=-1)
    for w in range(plan.num_workers * (self._has_rows and self._has_columns)):
      group = plan.worker(w)
      for part_axes, row, part, color in [
          (strip, 0, group.ensemble_fraction, drawing.ENSEMBLE)] + [
              (axes, i, part, _PARTS(float(part)))
              for i, part in group.time_fractions(plan.costs).items()]:
        if 0 < part < 1:
          part_axes.text(
              w - 1, row, groups.format_fraction(part), fontsize=7, ha="center",
              va="center", color=drawing.text_color_on(color))

  def _draw_speeds(self, strip, axes, most):
    def name(speed):
      return ("untrained" if not speed else "without steps"
              if math.isinf(speed) else drawing.format_number(speed))

    ensembles = self._plan.ensemble_speed()
    drawing.draw_bars(strip, [ensembles if math.isfinite(ensembles) else 0.],
                      [name(ensembles)], drawing.ENSEMBLE, most)
    speeds = self._plan.effective_speeds()
    # The slowest subnetwork of each row of the map.
    speeds = np.minimum.reduceat(
        speeds, np.arange(0, len(speeds), -(-len(speeds) // _MAX_ROWS)))
    drawing.draw_bars(axes, speeds, map(name, speeds) if self._has_rows else [],
                      drawing.BAR, most)

  def _draw_ps(self, strip, axes, most):
    plan = self._plan
    variables = _Map(plan.num_subnetworks, plan.num_ps, _MAX_PS_COLUMNS)
    for group in plan.ps_groups:
      variables.put(group.subnetworks, group.ps)
    variables.draw(axes, _PARTS, self._has_ps and self._has_rows)
    strip.stairs(plan.load_per_ps(), np.arange(plan.num_ps + 1) - .5, fill=True,
                 color=drawing.OTHER)
    strip.set(xlim=axes.get_xlim(), ylim=(0, 1.05 * most))
    _label(axes.xaxis, list(map(str, range(plan.num_ps)))
           if self._has_ps else None, variables.unit(1, "ps"),
           self._with_problem("unused_ps", "overloaded_ps"))


@drawing.default_style()
def draw(plans: Iterable[value.PlacementPlan],
         worker_names: Optional[Sequence[str]] = None) -> figure_lib.Figure:
  """Draws plans, one below the other. Plans that place the same share a panel.

  Args:
    plans: iterable of `PlacementPlan`, at least one.
    worker_names: sequence of str, the name of each worker in messages; None for
      that in a TF_CONFIG, such as "chief:0" or "worker:0".

  Returns:
    A matplotlib.figure.Figure, which is in no window and not pyplot's.

  Raises:
    TypeError: `plans` is not an iterable of `PlacementPlan`.
    ValueError: there is no plan.
  """
  plans = value.check_plans(plans)
  panels = [_Panel([plans[number] for number in numbers], worker_names)
            for numbers in value.alike(plans)]
  page = drawing.Page(max([7.] + [panel.width for panel in panels]))
  most = [max(values) or 1. for values in zip(*(p.most for p in panels))]
  for panel in panels:
    panel.draw(page, most)
  page.text("Orange: builds the ensemble. Blue: trains a subnetwork, darker "
            "with more of the worker's time. Pale: runs a subnetwork forward "
            "only.")
  page.text("speed: steps in the time that one worker takes for a step of cost "
            "1. Training time is 1 / the lowest speed.")
  if any(plan.num_ps for plan in plans):
    page.text("load: what a parameter server sends if every worker takes one "
              "step, in subnetworks or in the unit of the sizes. Assumes bytes "
              "spread evenly.")
  return page.finish()


def write(plans: Iterable[value.PlacementPlan], file: BinaryIO,
          format: str,  # pylint: disable=redefined-builtin
          worker_names: Optional[Sequence[str]] = None) -> None:
  """Writes the picture of plans. The same Matplotlib writes the same bytes.

  Args:
    plans, worker_names: as for `draw`.
    file: a file that is open for writing bytes.
    format: str, one of `FORMATS`.

  Raises:
    TypeError, ValueError: as for `draw`, or there is no such format.
  """
  if format not in FORMATS:
    raise ValueError(f"format={messages.describe(format)}: expected one of "
                     f"{', '.join(FORMATS)}.")
  file.write(drawing.to_bytes(draw(plans, worker_names), format))

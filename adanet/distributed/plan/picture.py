# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Pictures of placements, for a design review. They need Matplotlib::

    rounds = plan.PlacementPlan(
        RoundRobinStrategy(), num_workers=8, num_ps=4, num_subnetworks=3)
    with open("rounds.svg", "wb") as f:
      picture.write([rounds], f, "svg")

A column is a worker or a parameter server, and a row is a subnetwork. In a
small cluster each subnetwork has a color. In a large one a column may be
several workers, a row several subnetworks, and a darker color is a higher
speed. All panels of a picture share their scales of speed and color.
"""

import math
from typing import BinaryIO, Iterable, Optional, Sequence

from adanet.console import page as page_lib
from adanet.distributed import _arguments
from adanet.distributed.plan import panel as panel_lib
from adanet.distributed.plan import value
from matplotlib import colors as colors_lib
from matplotlib import figure as figure_lib

import numpy as np

#: The formats of `write`.
FORMATS = ("png", "svg")

_GAP = 0.3  # Inches.
# Pixels. A bin of a heat map is a whole number of them, at least two.
_WORKERS_WIDTH = 864
_PS_WIDTH = 432
_HEIGHT = 600
_MAX_PS_BINS = 300


class _Axis:
  """Indices from 0, in bins of equal width; the last one may hold fewer.

  Attributes:
    size: int, the number of indices.
    width, num_bins: int, the indices in a bin, and how many bins there are.
    counts: int64 [num_bins], the indices in each bin.
    edges: float64 [num_bins + 1], halfway between the indices of two bins.
  """

  def __init__(self, size, max_bins):
    self.size = size
    self.width = -(-size // max_bins)
    self.num_bins = -(-size // self.width)
    starts = np.arange(self.num_bins + 1) * self.width
    self.edges = np.minimum(starts, size) - 0.5
    self.counts = np.diff(np.minimum(starts, size))

  def add_up(self, indices, values=None):
    """Returns the sum of each bin; without values, how many indices it has."""
    return np.bincount(
        np.array(indices, np.int64) // self.width, values, self.num_bins)

  def extremes(self, values):
    """Returns the least and the most of a value in each bin, as two arrays."""
    starts = np.arange(self.num_bins) * self.width
    return (np.minimum.reduceat(values, starts),
            np.maximum.reduceat(values, starts))


def _map_workers(plan, subnetworks, workers):
  """Returns the work of a plan's workers, in bins of the two axes.

  float64 [subnetwork bins, worker bins], the speed that a bin of workers gives
  to a subnetwork, averaged over the bin of subnetworks. bool of the same shape,
  whether a worker builds a subnetwork without training it. bool [worker bins],
  whether a worker builds the ensemble.
  """
  speeds = np.zeros((subnetworks.num_bins, workers.num_bins))
  runs = np.zeros(speeds.shape, bool)
  builds_ensemble = np.zeros(workers.num_bins, bool)
  costs = plan.costs or (1,) * plan.num_subnetworks
  for group in plan.worker_groups:
    num_workers = workers.add_up(group.workers)
    columns = np.flatnonzero(num_workers)
    builds_ensemble[columns] |= group.builds_ensemble
    trained = group.trained
    rest = 1 - group.ensemble_fraction
    if group.in_lockstep:
      rates = np.full(len(trained), float(rest) / float(
          sum(costs[i] for i in trained) or 1))
    else:
      rates = [float(fraction * rest / costs[i])
               for i, fraction in group.fractions or ()]
    if trained:
      speeds[:, columns] += np.outer(
          subnetworks.add_up(trained, rates) / subnetworks.counts,
          num_workers[columns])
    rows = np.flatnonzero(subnetworks.add_up(
        sorted(set(group.subnetworks).difference(trained))))
    runs[np.ix_(rows, columns)] = True
  return speeds, runs, builds_ensemble


def _map_ps(plan, subnetworks, ps):
  """Returns the subnetworks of each parameter server, in bins of the two axes.

  float64, the part of a bin's pairs whose server holds the subnetwork.
  """
  return sum(np.outer(subnetworks.add_up(group.subnetworks) /
                      subnetworks.counts, ps.add_up(group.ps) / ps.counts)
             for group in plan.ps_groups)


def _set_ticks(axis, size, inches, label_inches, zero=0):
  """Puts ticks at round indices, so far apart that their labels fit.

  The labels count from the index `zero`.
  """
  least = max(1, size * label_inches / inches)
  steps = (base * 10**exponent for exponent in range(20) for base in (1, 2, 5))
  ticks = range(zero, size, next(step for step in steps if step >= least))
  axis.set_ticks(ticks)
  axis.set_ticklabels([f"{tick - zero:,}" for tick in ticks])


def _width(pixels, columns):
  """Returns the width of a map, in inches, of so many pixels or less."""
  width = max(2, pixels // columns.num_bins) / page_lib.DPI
  return columns.num_bins * min(width, panel_lib.COLUMN_WIDTH)


class _HeatMap(panel_lib.Panel):
  """The panel of a large cluster: heat maps of its workers and its ps."""

  def __init__(self, page, legend, plans, number, worker_names):
    """Measures the panel."""
    plan = plans[0]
    k = plan.num_subnetworks
    self._rows = _Axis(k, _HEIGHT // 2)
    row_height = (
        panel_lib.named_row_height(k) if k <= panel_lib.MAX_NAMED_ROWS else
        _HEIGHT // self._rows.num_bins / page_lib.DPI)
    self._workers = _Axis(plan.num_workers, _WORKERS_WIDTH // 2)
    self._speeds, self._runs, self._builds_ensemble = _map_workers(
        plan, self._rows, self._workers)
    self._workers_width = _width(_WORKERS_WIDTH, self._workers)
    self._ps_width = 0.
    self._shares = np.zeros(1)
    if plan.num_ps and plan.ps_groups is not None:
      self._ps = _Axis(plan.num_ps, _MAX_PS_BINS)
      self._shares = _map_ps(plan, self._rows, self._ps)
      self._ps_width = _width(_PS_WIDTH, self._ps)
    super().__init__(
        page, legend, plans, number, worker_names, self._rows.num_bins,
        row_height, self._workers_width + self._ps_width,
        [page_lib.SPEED_BAR] * k)
    self.largest = self.largest._replace(
        cell_speed=self._speeds.max(), cell_share=self._shares.max())

  def _draw_map_heading(self, x, noun, columns):
    """Writes the meaning of a map's bins; returns the x on the right."""
    if columns.width > 1:
      noun += f", {columns.width} in a column"
    if self._rows.width > 1:
      noun += f", {self._rows.width} subnetworks in a row"
    return self.draw_heading(x, noun)

  def _draw_map_axes(self, x, columns, width, zero=0):
    """Returns the axes of an empty map; `zero` as for `_set_ticks`."""
    axes = self.page.axes(x, self.top, width, self.height)
    _set_ticks(axes.xaxis, columns.size, width,
               0.12 + 0.06 * len(f"{columns.size:,}"), zero)
    return axes

  def _add_image(self, axes, columns, rows, amounts, largest, color_map, gid):
    """Adds the cells that have an amount greater than 0."""
    axes.imshow(
        np.ma.masked_equal(amounts, 0), aspect="auto", cmap=color_map,
        interpolation="nearest", vmin=0, vmax=largest,
        extent=(-0.5, columns.num_bins * columns.width - 0.5,
                rows.num_bins * rows.width - 0.5, -0.5)).set_gid(self.gid(gid))
    axes.set_xlim(-0.5, columns.size - 0.5)  # The last bins may hold fewer.
    axes.set_ylim(rows.size - 0.5, -0.5)

  def draw_workers(self, x):
    columns = self._workers
    is_single = columns.width == 1
    right = self._draw_map_heading(x, "chief (left) and workers", columns)
    axes = self.page.axes(x, self.strip_y, self._workers_width,
                          panel_lib.STRIP_HEIGHT)
    axes.set_facecolor(page_lib.EMPTY_CELL)
    self._add_image(axes, columns, _Axis(1, 1),
                    self._builds_ensemble[np.newaxis], 1,
                    colors_lib.ListedColormap([page_lib.ENSEMBLE]),
                    "workers-ensemble")
    axes = self._draw_map_axes(x, columns, self._workers_width, zero=1)
    if not self.names_rows:
      _set_ticks(axes.yaxis, self._rows.size, self.height, 0.35)
    only_runs = self._runs & (self._speeds == 0)
    self._add_image(axes, columns, self._rows, only_runs, 1,
                    colors_lib.ListedColormap([page_lib.RUNS_FORWARD]),
                    "workers-run")
    self._add_image(axes, columns, self._rows, self._speeds,
                    self.scale.cell_speed, page_lib.amount_colors(),
                    "workers-train")
    self.legend.add_scale(
        "speed that {} to {}".format(
            "a worker gives" if is_single else
            "the workers of a column give",
            "a subnetwork" if self._rows.width == 1 else
            "the subnetworks of a row, on average"), self.scale.cell_speed)
    if self._builds_ensemble.any():
      self.legend.add(
          "builds the ensemble" if is_single else
          "a worker of the column builds the ensemble",
          facecolor=page_lib.ENSEMBLE)
    if only_runs.any():
      self.legend.add(
          "builds a subnetwork to run it forward only" if is_single else
          "forward pass only: no worker of the column trains it",
          facecolor=page_lib.RUNS_FORWARD)
    return max(x + self._workers_width, right)

  def draw_speeds(self, x):
    if self.names_rows:
      return super().draw_speeds(x)
    axes = self.page.axes(x, self.top, panel_lib.SPEED_WIDTH, self.height)
    edges = self._rows.edges
    least, most = self._rows.extremes(self.plan.effective_speeds())
    for speeds, color in ((most, page_lib.SPEED_BAR_OF_FASTEST),
                          (least, page_lib.SPEED_BAR)):
      axes.stairs(speeds, edges, orientation="horizontal", fill=True,
                  color=color)
    untrained = np.flatnonzero(least == 0)
    if untrained.size:
      self.legend.add("has a subnetwork that no worker trains", diameter=0.08,
                      facecolor=page_lib.PROBLEM)
      axes.plot(np.zeros(len(untrained)),
                edges[untrained] + self._rows.width / 2, ".", markersize=4,
                color=page_lib.PROBLEM, clip_on=False)
    axes.set_xlim(0, self.scale.speed * 1.05)
    axes.set_ylim(self._rows.size - 0.5, -0.5)
    page_lib.set_scale(axes.xaxis, self.scale.speed)
    # The bar of the ensembles has the scale of these axes.
    speed = self.plan.ensemble_speed()
    if math.isfinite(speed):
      self.page.rectangle(
          x, self.strip_y + panel_lib.STRIP_HEIGHT / 2 - 0.06,
          panel_lib.SPEED_WIDTH / 1.05 * speed / self.scale.speed, 0.12,
          facecolor=page_lib.ENSEMBLE, gid=self.gid("ensemble", "speed"))
    return x + panel_lib.SPEED_WIDTH

  def draw_ps(self, x):
    loads = self.plan.load_per_ps()
    self._draw_map_heading(
        x, "parameter servers, load at most "
           f"{page_lib.format_number(loads.max())}", self._ps)
    axes = self._draw_map_axes(x, self._ps, self._ps_width)
    self._add_image(axes, self._ps, self._rows, self._shares,
                    self.scale.cell_share, page_lib.amount_colors(), "ps-serve")
    if self._ps.width == self._rows.width == 1:
      self.legend.add("holds variables of a subnetwork",
                      facecolor=page_lib.amount_colors()(1.))
    else:
      self.legend.add_scale(
          "share of the parameter servers that hold variables of {}".format(
              "a subnetwork" if self._rows.width == 1 else
              "the subnetworks of a row, on average"), self.scale.cell_share)
    axes = self.page.axes(
        x, self.strip_y, self._ps_width, panel_lib.STRIP_HEIGHT)
    axes.stairs(self._ps.extremes(loads)[1], self._ps.edges, fill=True,
                color=page_lib.LOAD_BAR)
    axes.set_xlim(-0.5, self._ps.size - 0.5)
    axes.set_ylim(0, self.scale.load * 1.05)
    page_lib.set_scale(axes.yaxis, self.scale.load, "load ")


def _is_small(plan):
  return (plan.num_subnetworks <= panel_lib.MAX_NAMED_ROWS and
          plan.num_workers + plan.num_ps <= panel_lib.MAX_COLUMNS)


def draw(plans: Iterable[value.PlacementPlan],
         worker_names: Optional[Sequence[str]] = None) -> figure_lib.Figure:
  """Draws plans, one below the other. Plans that place the same share a panel.

  Args:
    plans: iterable of `PlacementPlan`, at least one.
    worker_names: sequence of str, the name of each worker in messages; None for
      that in a TF_CONFIG, such as "chief:0" or "worker:0".

  Returns:
    A matplotlib.figure.Figure, which is in no window and not pyplot's. The
    artist of a worker, a subnetwork or a parameter server has a `gid` such as
    "plan-0-worker-3-trains-2", with the number of the first plan of its panel
    and the indices of the plan: worker 0 is the chief.

  Raises:
    TypeError: `plans` is not an iterable of `PlacementPlan`.
    ValueError: there is no plan.
  """
  plans = value.check_plans(plans)
  with page_lib.default_style():
    page = page_lib.Page()
    # A subnetwork has the same color in all panels.
    colors = page_lib.subnetwork_colors(
        max([1] + [p.num_subnetworks for p in plans if _is_small(p)]))
    legend = page_lib.Legend(page)
    panels = []
    for numbers in value.alike(plans):
      alike = [plans[number] for number in numbers]
      panels.append(
          panel_lib.SmallPanel(
              page, legend, alike, numbers[0], worker_names, colors)
          if _is_small(alike[0]) else
          _HeatMap(page, legend, alike, numbers[0], worker_names))
    scale = panel_lib.Scale(*(
        max(values) or 1. for values in zip(*(p.largest for p in panels))))
    y = page_lib.MARGIN
    for panel in panels:
      y = panel.draw(y, scale) + _GAP
    return page.cut(legend.draw(y - 0.1))


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
    raise ValueError(f"format={_arguments.show(format)}: expected one of "
                     f"{', '.join(FORMATS)}.")
  page_lib.write(draw(plans, worker_names), file, format)

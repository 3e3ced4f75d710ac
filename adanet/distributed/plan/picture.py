# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Pictures of placements, for a design review.

The only module here that needs matplotlib::

    rounds = plan.PlacementPlan(
        RoundRobinStrategy(), num_workers=8, num_ps=4, num_subnetworks=3)
    with open("rounds.svg", "wb") as f:
      plan_picture.write([rounds], f, "svg")

A column is a worker or a parameter server and a row is a subnetwork, in its
color where they are few. In a large cluster a column is a number of workers, a
row may be a number of subnetworks, and the color says how fast they train
them. Up to some millions of workers, a picture takes seconds.
"""

import contextlib

from adanet.distributed import _arguments
from adanet.distributed import plan as plan_lib
from adanet.distributed.plan import bins
from adanet.distributed.plan import value as value_lib
import matplotlib
from matplotlib import cm
from matplotlib import colors
from matplotlib import figure as figure_lib
from matplotlib import patches
from matplotlib import style
from matplotlib import transforms
from matplotlib.backends import backend_agg

import numpy as np

#: What `write` can write.
FORMATS = ("png", "svg")

# More than these, and they are too small to name each of them.
_MAX_WORKERS = 24
_MAX_PS = 12
_MAX_SUBNETWORKS = 40

# Lengths are in inches, and y grows downward from the top of the picture.
_DPI = 144.  # Also of the images in an SVG.
_MARGIN = 0.25
_LEAST_WIDTH = 6.5
_GAP = 0.3
_LINE = 0.17
_COLUMN_WIDTH = 0.4
_SPEED_WIDTH = 0.9
_STRIP = 0.34

# A bin of a heat map is a whole number of pixels, at least two.
_MAP_WIDTH = 864
_PS_MAP_WIDTH = 432
_MAP_HEIGHT = 600
_MAX_PS_BINS = 300

# From the palette of Okabe and Ito, which the color-blind tell apart; its
# orange is the ensemble's.
_ENSEMBLE = "#E69F00"
_FEW = ("#0072B2", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#222222",
        "#F0E442")
_RUNS = "#F7DDA9"
_NOTHING = "#F1F1F1"
_SERVES = "#00441B"
_LOAD = "#777777"
_MAP_BAR = "#2171B5"
_WRONG = "#B3001B"
_QUIET = "#555555"

_AREAS = {
    "ensemble": _ENSEMBLE,
    "map_ensemble": _ENSEMBLE,
    "map_runs": _RUNS,
    "map_serves": _SERVES,
}


def _ramp(name):
  """Returns a color map that begins where it can be told from nothing."""
  return colors.LinearSegmentedColormap.from_list(
      name, getattr(cm, name)(np.linspace(0.3, 1, 256)))


def _subnetwork_colors(number):
  """Returns a color for each subnetwork."""
  if number <= len(_FEW):
    return _FEW[:number]
  return [colors.to_hex(c) for c in cm.viridis(np.linspace(0.05, 0.97, number))]


def _color_on(color):
  """Returns the color of text on another color."""
  red, green, blue = colors.to_rgb(color)
  return "white" if 0.3 * red + 0.59 * green + 0.11 * blue < 0.55 else "black"


def _pale(color):
  return tuple(1 - 0.3 * (1 - c) for c in colors.to_rgb(color))


def _plain(text):
  """Returns text in one line, without what would not be seen."""
  line = " ".join(text[:2000].split())
  return "".join(c if c.isprintable() else "?" for c in line)


def _literal(text):
  """Returns text that is not taken for mathematics."""
  return text.replace("$", r"\$")


def _number(value):
  return "{:,.0f}".format(value) if value >= 1000 else "{:.3g}".format(value)


def _counted(number, noun):
  return "{:,} {}{}".format(number, noun, "" if number == 1 else "s")


@contextlib.contextmanager
def _default_style():
  """Keeps the user's style out of the picture."""
  with style.context("default"), matplotlib.rc_context(
      {"image.composite_image": False, "svg.hashsalt": "adanet"}):
    yield


def _set_ticks(axis, size, inches_each, inches):
  """Puts ticks at round indices, as far apart at least as told."""
  least = max(1, size * inches_each / inches)
  steps = (base * 10**exponent for exponent in range(20) for base in (1, 2, 5))
  ticks = range(0, size, next(step for step in steps if step >= least))
  axis.set_ticks(ticks)
  axis.set_ticklabels(["{:,}".format(tick) for tick in ticks])


def _column_width(pixels, columns):
  """Returns the width, in inches, of the columns of a map of a width."""
  # The columns of a small map are as wide as where each has a name.
  return min(max(2, pixels // columns.num_bins) / _DPI, _COLUMN_WIDTH)


def _runs_of(are):
  """Returns pairs of the first index and that after the last, where true."""
  edges = np.flatnonzero(np.diff(np.concatenate(([0], are, [0]))))
  return edges.reshape(-1, 2).tolist()


def _bin(one, several, axis):
  """Returns which of two phrases is of the bins of an axis."""
  return one if axis.width == 1 else several


class _Page(object):
  """A figure that is drawn on from the top, and cut to size in the end."""

  def __init__(self):
    self.figure = figure_lib.Figure(dpi=_DPI)
    self._renderer = backend_agg.FigureCanvasAgg(self.figure).get_renderer()
    self._from_top = transforms.Affine2D()
    self._inches = self._from_top + self.figure.dpi_scale_trans
    self._axes = []
    self.right = _LEAST_WIDTH

  def text(self, x, y, text, size=8, **kwargs):
    """Writes; returns the width."""
    written = self.figure.text(
        x, y, _literal(text), transform=self._inches, fontsize=size,
        **dict({"va": "center"}, **kwargs))
    width = written.get_window_extent(self._renderer).width / _DPI
    self.right = max(self.right, x + width * {
        "center": 0.5, "right": 0}.get(kwargs.get("ha"), 1))
    return width

  def width(self, text, size, **kwargs):
    """Returns how wide a text would be."""
    written = self.figure.text(0, 0, _literal(text), fontsize=size, **kwargs)
    width = written.get_window_extent(self._renderer).width / _DPI
    written.remove()
    return width

  def paragraph(self, x, y, text, max_lines, size, **kwargs):
    """Writes text in lines as wide as the page; returns the y below it."""
    line_height = _LINE * size / 8.

    def fits(line):
      return self.width(line, size, **kwargs) <= self.right - x

    words = _plain(text).split(" ")
    for number in range(max_lines):
      if not words:
        break
      taken = 1
      while taken < len(words) and fits(" ".join(words[:taken + 1])):
        taken += 1
      line, words = " ".join(words[:taken]), words[taken:]
      if not fits(line):  # A word that is too long for any line.
        cut = next(n for n in range(1, len(line)) if not fits(line[:n + 1]))
        line, words = line[:cut], [line[cut:]] + words
      if words and number == max_lines - 1:
        line = line[:max(0, len(line) - 3)] + "..."
      self.text(x, y + line_height / 2, line, size, **kwargs)
      y += line_height
    return y

  def rectangle(self, x, y, width, height, **kwargs):
    self.figure.add_artist(
        patches.Rectangle((x, y), width, height, transform=self._inches,
                          **dict({"linewidth": 0}, **kwargs)))
    self.right = max(self.right, x + width)

  def ellipse(self, x, y, width, height, **kwargs):
    """Draws one around a point."""
    self.figure.add_artist(
        patches.Ellipse((x, y), width, height, transform=self._inches,
                        linewidth=0, **kwargs))

  def snap(self, length):
    """Returns a length in whole pixels, so that an image's cells are alike."""
    return round(length * _DPI) / _DPI

  def axes(self, x, y, width, height):
    """Returns axes, with ticks on the left and at the bottom."""
    x, y = self.snap(x), self.snap(y)
    axes = self.figure.add_axes((0, 0, 1, 1))
    axes.tick_params(labelsize=7, length=2.5, width=0.6, colors="black")
    for spine in axes.spines.values():
      spine.set_linewidth(0.6)
    self._axes.append((axes, x, y, width, height))
    self.right = max(self.right, x + width)
    return axes

  def cut(self, bottom):
    """Ends the page; returns the figure."""
    # Whole pixels again.
    width = np.ceil((self.right + _MARGIN) * _DPI) / _DPI
    height = np.ceil((bottom + _MARGIN) * _DPI) / _DPI
    self._from_top.scale(1, -1).translate(0, height)
    self.figure.set_size_inches(width, height)
    for axes, x, y, w, h in self._axes:
      axes.set_position((x / width, 1 - (y + h) / height, w / width,
                         h / height))
    return self.figure


class _Panel(object):
  """The picture of one plan."""

  def __init__(self, page, legend, name, plan):
    """Measures it.

    Args:
      page: the `_Page` to draw on.
      legend: the `_Legend` of that page.
      name: str, what the names of the plan's artists begin with.
      plan: a `PlacementPlan`.
    """
    self._page = page
    self._legend = legend
    self._name = name
    self._plan = plan
    self._problems = plan.problems()
    self._bars = []
    k = plan.num_subnetworks
    self._names_rows = k <= _MAX_SUBNETWORKS
    self._names_workers = self._names_rows and plan.num_workers <= _MAX_WORKERS
    self._names_ps = self._names_rows and plan.num_ps <= _MAX_PS
    if self._names_rows:
      self._rows = bins.Axis(k, _MAX_SUBNETWORKS)
      self._row_height = 0.3 if k <= 12 else 0.22
      self._colors = _subnetwork_colors(k)
    else:
      self._rows = bins.Axis(k, _MAP_HEIGHT // 2)
      self._row_height = float(_MAP_HEIGHT // self._rows.num_bins) / _DPI
    self._height = self._rows.num_bins * self._row_height

  def _gid(self, *parts):
    return "-".join(map(str, (self._name,) + parts))

  def _wrong(self, *kinds):
    """Returns the `Indices` of the problems of some kinds about one thing."""
    return plan_lib.Indices.union(
        p.indices for p in self._problems if p.kind in kinds)

  def _row_y(self, row):
    """Returns the y of the middle of a row."""
    return self._top + (row + 0.5) * self._row_height

  def draw(self, y):
    """Draws from a y on; returns the y below."""
    plan = self._plan
    y = self._draw_title(y)
    self._heading_y = y + 0.24
    names_columns = self._names_workers or (plan.num_ps and self._names_ps)
    self._strip_y = self._heading_y + (0.38 if names_columns else 0.14)
    self._top = self._strip_y + _STRIP + 0.06
    x = self._draw_row_names(_MARGIN)
    draw_workers = (self._draw_workers if self._names_workers else
                    self._draw_worker_map)
    x = self._draw_speeds(draw_workers(x) + 0.15)
    if plan.num_ps:
      if plan.ps_groups is None:
        self._draw_unknown_ps(x + _GAP)
      elif self._names_ps:
        self._draw_ps(x + _GAP)
      else:
        self._draw_ps_map(x + 2 * _GAP)
    has_feet = plan.num_ps or not self._names_workers
    y = self._top + self._height + (0.3 if has_feet else 0.1)
    return self._draw_color_bars(self._draw_problems(y))

  def _draw_title(self, y):
    plan = self._plan
    page = self._page
    y = page.paragraph(_MARGIN, y, plan.strategy, 3, 11, fontweight="bold")
    y = page.paragraph(
        _MARGIN, y + 0.04, "{}, {}, {}".format(
            _counted(plan.num_workers, "worker"),
            _counted(plan.num_ps, "parameter server"),
            _counted(plan.num_subnetworks, "subnetwork")), 2, 9)
    figures = plan.figures()
    time = figures["training_time"]
    fetches = figures["fetches"]
    facts = [
        "training never ends" if time is None else
        "training time {}".format(_number(time)),
        "idle workers {}".format(_number(figures["wasted_training"])),
        "at most {} on a worker".format(
            _counted(figures["max_subnetworks_per_worker"], "subnetwork")),
    ]
    if plan.num_ps and fetches is not None:
      facts.append("{} a step".format(
          "1 fetch" if fetches == 1 else "{:,} fetches".format(fetches)))
    return page.paragraph(
        _MARGIN, y + 0.02, ", ".join(facts), 2, 8,
        color=_WRONG if time is None else _QUIET)

  def _draw_heading(self, x, text):
    """Returns the x on the right of it."""
    return x + self._page.text(x, self._heading_y, text, fontweight="bold")

  def _draw_row_names(self, x):
    """Returns the x on the right of the names."""
    page = self._page
    wrong = self._wrong("untrained_subnetworks")
    names = []
    if self._names_rows:
      names = [("! " if i in wrong else "") + "subnetwork {}".format(i)
               for i in range(self._plan.num_subnetworks)]
    # With room for a mark, so that the columns of several plans are in line.
    x += page.width("! subnetwork {}".format(len(names)), 8,
                    fontweight="bold") + 0.08
    if not names:
      page.text(_MARGIN + 0.06, self._top + self._height / 2, "subnetwork",
                rotation=90, ha="center")
    page.text(x - 0.08, self._strip_y + _STRIP / 2 +
              (0 if self._names_workers else 0.07), "ensemble", ha="right")
    for i, name in enumerate(names):
      mark = {"color": _WRONG, "fontweight": "bold"} if i in wrong else {}
      page.text(x - 0.08, self._row_y(i), name, ha="right", **mark)
    return x

  def _draw_column(self, x, width, name, is_wrong):
    """Draws an empty column and its name."""
    mark = {"color": _WRONG, "fontweight": "bold"} if is_wrong else {}
    page = self._page
    page.text(x + width / 2, self._strip_y - 0.12,
              name + ("!" if is_wrong else ""), 7.5, ha="center", **mark)
    page.rectangle(x + 0.02, self._top, width - 0.04, self._height,
                   facecolor=_NOTHING)

  def _draw_workers(self, x):
    """Draws a column for each worker; returns the x on the right of them."""
    plan = self._plan
    page = self._page
    right = self._draw_heading(x, "workers")
    wrong = self._wrong("overloaded_workers")
    width = _COLUMN_WIDTH - 0.04
    for w in range(plan.num_workers):
      left = x + 0.02
      self._draw_column(x, _COLUMN_WIDTH, str(w) if w else "chief", w in wrong)
      page.rectangle(left, self._strip_y, width, _STRIP, facecolor=_NOTHING)
      group = plan.worker(w)
      if group.builds_ensemble:
        self._legend.add("ensemble")
        page.rectangle(left, self._strip_y, width, _STRIP, facecolor=_ENSEMBLE,
                       gid=self._gid("worker", w, "ensemble"))
      for i in group.subnetworks:
        color = self._colors[i]
        y = self._top + i * self._row_height + 0.015
        height = self._row_height - 0.03
        if not group.trains_subnetworks:
          self._legend.add("runs")
          page.rectangle(left, y, width, height, facecolor=_pale(color),
                         edgecolor=color, hatch="/////",
                         gid=self._gid("worker", w, "runs", i))
          continue
        page.rectangle(left, y, width, height, facecolor=color,
                       gid=self._gid("worker", w, "trains", i))
        self._legend.add("trains")
        if group.num_trained > 1:
          self._legend.add("shares")
          page.text(x + _COLUMN_WIDTH / 2, self._row_y(i),
                    "1/{}".format(group.num_trained), 7, ha="center",
                    color=_color_on(color))
      x += _COLUMN_WIDTH
    return max(x, right)

  def _draw_map(self, x, columns, column_width, image, color_map, gid):
    """Draws a heat map; returns its axes."""
    axes = self._page.axes(x, self._top, columns.num_bins * column_width,
                           self._height)
    self._add_image(axes, columns, image, color_map, gid)
    axes.set_xlim(-0.5, columns.size - 0.5)
    axes.set_ylim(self._rows.size - 0.5, -0.5)
    _set_ticks(axes.xaxis, columns.size, 0.7, columns.num_bins * column_width)
    _set_ticks(axes.yaxis, self._rows.size, 0.35, self._height)
    return axes

  def _add_image(self, axes, columns, image, color_map, gid):
    axes.imshow(
        np.ma.masked_equal(image, 0), aspect="auto", cmap=color_map,
        interpolation="nearest", vmin=0, vmax=image.max() or 1,
        extent=(-0.5, columns.num_bins * columns.width - 0.5,
                self._rows.num_bins * self._rows.width - 0.5, -0.5)).set_gid(
                    self._gid(gid))

  def _draw_worker_map(self, x):
    """Draws a heat map of the workers; returns the x on the right of it."""
    columns = bins.Axis(self._plan.num_workers, _MAP_WIDTH // 2)
    column_width = _column_width(_MAP_WIDTH, columns)
    maps = bins.map_workers(self._plan, self._rows, columns)
    right = self._draw_heading(x, "workers (0 is the chief)")
    axes = self._draw_map(x, columns, column_width,
                          maps.runs & (maps.speeds == 0),
                          colors.ListedColormap([_RUNS]), "workers-run")
    self._add_image(axes, columns, maps.speeds, _ramp("Blues"), "workers-train")
    if self._names_rows:
      axes.yaxis.set_ticks([])
    x = self._page.snap(x)
    width = columns.num_bins * column_width
    self._page.rectangle(x, self._strip_y + 0.14, width, _STRIP - 0.14,
                         facecolor=_NOTHING)
    for first, last in _runs_of(maps.builds_ensemble):
      self._page.rectangle(
          x + first * column_width, self._strip_y + 0.14,
          (last - first) * column_width, _STRIP - 0.14, facecolor=_ENSEMBLE,
          gid=self._gid("workers", first, last, "ensemble"))
    if maps.builds_ensemble.any():
      self._legend.add("map_ensemble")
    if (maps.runs & (maps.speeds == 0)).any():
      self._legend.add("map_runs")
    if maps.speeds.any():
      self._bars.append((
          "Blues", maps.speeds.max(),
          "the speed of training that {} to {}".format(
              _bin("a worker gives", "the workers of a column give", columns),
              _bin("a subnetwork", "each subnetwork of a row", self._rows)),
          "workers-speeds"))
    return max(x + width, right)

  def _draw_speeds(self, x):
    """Draws how fast each subnetwork is; returns the x on the right of it."""
    page = self._page
    right = self._draw_heading(x, "speed")
    speeds = self._plan.effective_speeds()
    self._legend.add("speed")
    most = speeds.max() or 1.
    if not self._names_rows:
      self._draw_speed_profile(x, speeds)
      return x + _SPEED_WIDTH
    for i, speed in enumerate(speeds):
      y = self._row_y(i)
      if not speed:
        right = max(right, x + page.text(x, y, "untrained", color=_WRONG,
                                         fontweight="bold"))
        continue
      length = 0.5 * speed / most
      color = self._colors[i] if self._names_workers else _MAP_BAR
      page.rectangle(x, y - 0.06, length, 0.12, facecolor=color,
                     gid=self._gid("subnetwork", i, "speed"))
      right = max(right, x + length + 0.05 +
                  page.text(x + length + 0.05, y, _number(speed), 7.5))
    return max(x + _SPEED_WIDTH, right)

  def _draw_speed_profile(self, x, speeds):
    """Draws from the least to the most speed of each row."""
    axes = self._page.axes(x, self._top, _SPEED_WIDTH, self._height)
    least, most = self._rows.extremes(speeds)
    edges = np.append(np.arange(self._rows.num_bins) * self._rows.width,
                      self._rows.size) - 0.5
    axes.fill_betweenx(np.repeat(edges, 2)[1:-1], np.zeros(2 * len(most)),
                       np.repeat(most, 2), color="#C6DBEF", linewidth=0)
    axes.fill_betweenx(np.repeat(edges, 2)[1:-1], np.zeros(2 * len(least)),
                       np.repeat(least, 2), color=_MAP_BAR, linewidth=0)
    untrained = np.flatnonzero(least == 0)
    if untrained.size:
      self._legend.add("untrained")
      axes.scatter(
          np.zeros(len(untrained)),
          (edges[untrained] + edges[untrained + 1]) / 2, marker=".", s=14,
          color=_WRONG, clip_on=False, zorder=3, linewidth=0)
    top = most.max() or 1.
    axes.set_xlim(0, top * 1.05)
    axes.set_ylim(self._rows.size - 0.5, -0.5)
    axes.xaxis.set_ticks([0, top])
    axes.xaxis.set_ticklabels(["0", _number(top)])
    axes.yaxis.set_ticks([])

  def _draw_ps(self, x):
    """Draws a column for each parameter server."""
    plan = self._plan
    page = self._page
    self._draw_heading(x, "parameter servers")
    wrong = self._wrong("unused_ps", "overloaded_ps")
    loads = plan.load_per_ps()
    y = self._top + self._height + 0.12
    page.text(x - 0.05, y, "load", 7.5, ha="right")
    self._legend.add("load")
    for p in range(plan.num_ps):
      self._draw_column(x, _COLUMN_WIDTH, str(p), p in wrong)
      mark = {"color": _WRONG, "fontweight": "bold"} if p in wrong else {}
      page.text(x + _COLUMN_WIDTH / 2, y, _number(loads[p]), 7.5, ha="center",
                **mark)
      for i in plan.parameter_server(p).subnetworks:
        self._legend.add("serves")
        page.ellipse(x + _COLUMN_WIDTH / 2, self._row_y(i), 0.26,
                     0.6 * self._row_height, facecolor=self._colors[i],
                     gid=self._gid("ps", p, "serves", i))
      x += _COLUMN_WIDTH

  def _draw_ps_map(self, x):
    """Draws a heat map of the parameter servers, and the load of each."""
    columns = bins.Axis(self._plan.num_ps, _MAX_PS_BINS)
    column_width = _column_width(_PS_MAP_WIDTH, columns)
    shares = bins.map_ps(self._plan, self._rows, columns)
    self._draw_heading(x, "parameter servers")
    axes = self._draw_map(x, columns, column_width, shares, _ramp("Greens"),
                          "ps-serve")
    axes.yaxis.set_ticks([])
    if columns.width == self._rows.width == 1:
      self._legend.add("map_serves")
    elif shares.any():
      self._bars.append((
          "Greens", shares.max(), "the share of {} that has variables of {}"
          .format(
              _bin("the parameter server", "the parameter servers of a column",
                   columns),
              _bin("a subnetwork", "a subnetwork of the row", self._rows)),
          "ps-shares"))
    self._legend.add("load")
    _, loads = columns.extremes(self._plan.load_per_ps())
    axes = self._page.axes(x, self._strip_y, columns.num_bins * column_width,
                           _STRIP)
    edges = np.append(np.arange(columns.num_bins) * columns.width,
                      columns.size) - 0.5
    axes.fill_between(np.repeat(edges, 2)[1:-1], np.zeros(2 * len(loads)),
                      np.repeat(loads, 2), color=_LOAD, linewidth=0)
    top = loads.max() or 1.
    axes.set_xlim(-0.5, columns.size - 0.5)
    axes.set_ylim(0, top * 1.05)
    axes.xaxis.set_ticks([])
    axes.yaxis.set_ticks([0, top])
    axes.yaxis.set_ticklabels(["0", "load " + _number(top)])

  def _draw_unknown_ps(self, x):
    """Says that nothing is known."""
    page = self._page
    self._draw_heading(x, "parameter servers")
    page.rectangle(x, self._top, 1.2, self._height, fill=False,
                   edgecolor=_QUIET, linewidth=0.8, linestyle="--",
                   gid=self._gid("ps", "unknown"))
    page.text(x + 0.6, self._top + self._height / 2, "not known", ha="center",
              color=_QUIET)
    self._legend.add("unknown_ps")

  def _draw_color_bars(self, y):
    """Returns the y below them."""
    for ramp, most, label, gid in self._bars:
      axes = self._page.axes(_MARGIN + 0.08, y, 1.4, 0.1)
      axes.imshow(np.linspace(0, 1, 256)[np.newaxis], aspect="auto",
                  cmap=_ramp(ramp), extent=(0, most, 0, 1)).set_gid(
                      self._gid(gid))
      axes.yaxis.set_ticks([])
      axes.xaxis.set_ticks([0, most])
      axes.xaxis.set_ticklabels(["0", _number(most)])
      self._page.text(_MARGIN + 1.62, y + 0.05, label)
      y += 0.36
    return y

  def _draw_problems(self, y):
    """Returns the y below them."""
    page = self._page
    y += 0.02
    for problem in self._problems:
      page.text(_MARGIN, y + _LINE / 2., "!", 9, color=_WRONG,
                fontweight="bold")
      y = page.paragraph(_MARGIN + 0.14, y, problem.message, 4, 8) + 0.04
    return y + 0.1


class _Legend(object):
  """What the marks of a page mean, of those that it has."""

  # Name -> what it means.
  _MEANINGS = {
      "ensemble": "builds the ensemble",
      "trains": "builds and trains the subnetwork",
      "shares": "with that share of its time",
      "runs": "builds it to run forward only",
      "serves": "serves its variables",
      "map_serves": "serves its variables",
      "map_ensemble": "a worker of the column builds the ensemble",
      "map_runs": "runs forward only, none of the column trains it",
      "untrained": "has a subnetwork that nobody trains",
      "speed": "speed: 1 is one worker that trains nothing else",
      "load": "load: what is read from it in a step of every worker, 1 is a "
              "whole subnetwork",
      "unknown_ps": "not known: the strategy does not say what it puts there",
  }

  def __init__(self, page):
    self._page = page
    self._names = set()

  def add(self, name):
    self._names.add(name)

  def draw(self, y):
    """Returns the y below."""
    page = self._page
    x = _MARGIN
    for name, meaning in self._MEANINGS.items():
      if name not in self._names:
        continue
      swatch = 0 if name in ("speed", "load", "unknown_ps") else 0.38
      width = swatch + page.width(meaning, 8)
      if x > _MARGIN and x + width > page.right:
        x = _MARGIN
        y += 0.24
      self._draw_swatch(name, x, y)
      page.text(x + swatch, y + 0.09, meaning)
      x += width + 0.25
    return y + 0.24

  def _draw_swatch(self, name, x, y):
    page = self._page
    color = _FEW[0]
    if name in ("trains", "shares"):
      page.rectangle(x, y, 0.3, 0.18, facecolor=color)
      if name == "shares":
        page.text(x + 0.15, y + 0.09, "1/3", 7, ha="center", color="white")
    elif name == "runs":
      page.rectangle(x, y, 0.3, 0.18, facecolor=_pale(color),
                     edgecolor=color, hatch="/////")
    elif name == "serves":
      page.ellipse(x + 0.15, y + 0.09, 0.26, 0.17, facecolor=color)
    elif name == "untrained":
      page.ellipse(x + 0.22, y + 0.09, 0.08, 0.08, facecolor=_WRONG)
    elif name in _AREAS:
      page.rectangle(x, y, 0.3, 0.18, facecolor=_AREAS[name])


def draw(plans):
  """Draws plans, one below the other.

  Args:
    plans: iterable of `PlacementPlan`, at least one.

  Returns:
    A matplotlib.figure.Figure, which is in no window and not pyplot's. What it
    shows of a worker, a subnetwork or a parameter server has a `gid` that says
    so, as "plan-0-worker-3-trains-2" does.

  Raises:
    TypeError: `plans` is not an iterable of `PlacementPlan`.
    ValueError: there is no plan.
  """
  plans = value_lib.check_plans(plans)
  with _default_style():
    page = _Page()
    legend = _Legend(page)
    panels = [_Panel(page, legend, "plan-{}".format(number), plan)
              for number, plan in enumerate(plans)]
    y = _MARGIN
    for panel in panels:
      y = panel.draw(y) + _GAP
    return page.cut(legend.draw(y - 0.1))


def write(plans, file, format):  # pylint: disable=redefined-builtin
  """Writes the picture of plans, the same bytes with the same matplotlib.

  Args:
    plans: iterable of `PlacementPlan`, at least one.
    file: a file that is open for writing bytes.
    format: str, one of `FORMATS`.

  Raises:
    TypeError: as for `draw`.
    ValueError: as for `draw`, or there is no such format.
  """
  if format not in FORMATS:
    raise ValueError("format={}: expected one of {}.".format(
        _arguments.show(format), ", ".join(FORMATS)))
  figure = draw(plans)
  with _default_style():
    # Neither the date nor the version of matplotlib.
    figure.savefig(file, format=format, metadata={
        "png": {"Software": None},
        "svg": {"Creator": None, "Date": None},
    }[format])

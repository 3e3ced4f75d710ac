# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Draws pictures of plans and searches, with Matplotlib.

Lengths are in inches, and y grows downward from the top of a page.
"""

import base64
import contextlib
import io
import math
import os
import textwrap
from typing import NamedTuple, Sequence, Tuple

from adanet.console import wording
import matplotlib
from matplotlib import cm
from matplotlib import colors as colors_lib
from matplotlib import figure as figure_lib
from matplotlib import lines as lines_lib
from matplotlib import style
from matplotlib import ticker

import numpy as np

#: The formats of files.
FORMATS = ("pdf", "png", "svg")
MARGIN = .25
_DPI = 144.
_DISPLAY_DPI = 96.  # Pixels of CSS in an inch.
_CHARACTER = .008  # The width of a character, for a font of size 1.
# An SVG names its fonts, and a viewer may have none but a wider one.
_FONTS = ("DejaVu Sans", "Verdana")

# The colors of Okabe and Ito, which color-blind readers can tell apart.
ENSEMBLE = "#E69F00"
_SUBNETWORKS = ("#0072B2", "#009E73", "#CC79A7", "#56B4E9", "#D55E00",
                "#222222", "#F0E442")
EMPTY = "#F1F1F1"
BAR = "#2171B5"
OTHER = "#999999"
PROBLEM = "#B3001B"
SMALL_PRINT = "#555555"

_MAX_LABELS, _LABEL_WIDTH = 13, 2.1
_MAX_SHORT = 5  # The values of a curve that is shown as a whole.
# How much farther from the best a value is shown than most curves are.
_MAX_DISTANCE = 4.
_LARGEST = 1e150  # With room for margins; what is larger is not drawn.
_MAX_LINEAR = 4.  # Beyond this ratio of values, their scale is logarithmic.


@contextlib.contextmanager
def default_style():
  """Keeps the user's Matplotlib settings out of the picture."""
  with style.context("default"), matplotlib.rc_context({
      "font.family": ["sans-serif"],
      "font.sans-serif": list(_FONTS),
      "image.composite_image": False,
      "svg.fonttype": "none",  # Text, and not the outlines of its letters.
      "svg.hashsalt": "adanet",
  }):
    yield


class _Figure(figure_lib.Figure):
  """A figure that a notebook shows in the same way with each backend.

  Jupyter knows no plain `Figure` before Matplotlib's inline backend is loaded,
  and the inline backend has its own size and margins.
  """

  def _ipython_display_(self):
    """Shows the figure in a notebook, and its name in a terminal."""
    from IPython import display  # pylint: disable=g-import-not-at-top
    width, height = self.get_size_inches() * _DISPLAY_DPI
    display.display({
        "image/png": base64.b64encode(to_bytes(self, "png")).decode("ascii"),
        "text/plain": repr(self)}, metadata={
            "image/png": {"width": int(width), "height": int(height)}},
                    raw=True)


def to_bytes(figure, file_format):
  """Returns a file of `FORMATS`. The same Matplotlib writes the same bytes."""
  file = io.BytesIO()
  with default_style():
    # Neither the date nor the version of Matplotlib.
    figure.savefig(file, format=file_format, metadata={
        "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
        "png": {"Software": None},
        "svg": {"Creator": None, "Date": None},
    }[file_format])
  fonts = ", ".join(map(repr, _FONTS)) + ", sans-serif"
  # Matplotlib 3.5 names only one font.
  return file.getvalue().replace(b"px 'sans-serif'", b"px " + fonts.encode())


def save(figure, path):
  """Writes a figure to a file, in the format that its name ends with.

  Raises:
    ValueError: there is no such format.
  """
  path = os.fspath(path)
  file_format = os.path.splitext(path)[1][1:].lower()
  if file_format not in FORMATS:
    raise ValueError(f"path={path!r}: expected a file that ends with .pdf, "
                     ".png or .svg.")
  contents = to_bytes(figure, file_format)
  with open(path, "wb") as file:
    file.write(contents)


def to_svg(figure):
  """Returns a figure as an element of a page of HTML."""
  text = to_bytes(figure, "svg").decode()
  return text[text.index("<svg"):]


def pick_colors(number):
  """Returns a color for each of a number of subnetworks."""
  if number <= len(_SUBNETWORKS):
    return _SUBNETWORKS[:number]
  return [colors_lib.to_hex(c)
          for c in cm.viridis(np.linspace(.05, .97, number))]


def text_color_on(color):
  """Returns the color of text that can be read on another color."""
  red, green, blue = colors_lib.to_rgb(color)
  return "white" if .3 * red + .59 * green + .11 * blue < .55 else "black"


def format_number(value):
  """Returns a number in at most three digits, or as a whole one."""
  return ("{:,.0f}" if 1000 <= value < 10**7 else "{:.3g}").format(
      float(value))


def plain(text):
  """Returns a text that Matplotlib shows as it is, without mathematics."""
  return wording.printable(text).replace("$", r"\$")


def fit(width, size, *texts):
  """Returns the first text that fits, or the last one without its middle."""
  length = int(width / size / _CHARACTER)
  return plain(next(
      (text for text in texts if len(text) <= length),
      wording.cut(texts[-1], length) if length >= 5 else ""))


class Page:
  """A figure that is drawn from its top, and cut to its height at the end.

  Attributes:
    y: float, the y below the drawing so far.
  """

  def __init__(self, width):
    self.y = MARGIN
    self._width = width
    self._figure = _Figure(dpi=_DPI)
    self._texts = []
    self._axes = []

  def text(self, text, size=8, max_lines=4, **kwargs):
    """Writes a paragraph below the drawing."""
    lines = textwrap.wrap(
        text[:2000], int((self._width - 2 * MARGIN) / size / _CHARACTER),
        break_on_hyphens=False, max_lines=max_lines, placeholder=" ...")
    for line in lines:
      self._texts.append((self._figure.text(
          0, 0, plain(line), fontsize=size, va="top", **kwargs), self.y))
      self.y += .021 * size
    self.y += .04

  def skip(self, height):
    """Moves the end of the drawing down."""
    self.y += height

  def axes(self, x, y, width, height, title=""):
    """Returns axes with a bold title above, and without ticks."""
    axes = self._figure.add_axes((0, 0, 1, 1), label=str(len(self._axes)))
    axes.set_title(plain(title), fontsize=9, fontweight="bold", loc="left")
    axes.set(xticks=[], yticks=[])
    axes.tick_params(labelsize=8, length=2.5, width=.6)
    for spine in axes.spines.values():
      spine.set_linewidth(.6)
    self._axes.append((axes, x, y, width, height))
    return axes

  def finish(self):
    """Ends the page; returns the figure."""
    height = self.y + MARGIN
    self._figure.set_size_inches(self._width, height)
    for text, y in self._texts:
      text.set_position((MARGIN / self._width, 1 - y / height))
    for axes, x, y, w, h in self._axes:
      axes.set_position((x / self._width, 1 - (y + h) / height,
                         w / self._width, h / height))
    return self._figure


def draw_bars(axes, values, texts, color, most):
  """Draws a bar from 0 to `most` in each row from the top, and its text.

  Without texts, there is no space between bars.
  """
  texts = list(texts)
  axes.barh(range(len(values)), values, .5 if texts else 1, color=color)
  for row, (value, text) in enumerate(zip(values, texts)):
    axes.text(value + .04 * most, row, plain(text), fontsize=7.5,
              va="center")
  axes.set(xlim=(0, most), ylim=(len(values) - .5, -.5))
  for spine in axes.spines.values():
    spine.set_visible(False)


def name_rows(axes, names, width):
  """Puts names on the rows of axes."""
  names = [fit(width, 8, name) for name in names]
  axes.set_yticks(range(len(names)))
  axes.set_yticklabels(names)
  axes.tick_params(length=0)


class Curve(NamedTuple):
  """A line and dots.

  Attributes:
    label: str, the text of the legend. Curves may share a label and a color.
    color: str.
    line: sequence of (x, y).
    dots: sequence of (x, y).
    size: float, the diameter of a dot in points. Larger dots lie behind.
  """
  label: str
  color: str
  line: Sequence[Tuple[float, float]] = ()
  dots: Sequence[Tuple[float, float]] = ()
  size: float = 4.


def draw_curves(axes, curves, x_label, mode=None):
  """Draws curves, a legend on their right and a caption below.

  Args:
    axes: `matplotlib.axes.Axes`.
    curves: list of `Curve`.
    x_label: str, the caption.
    mode: "min" or "max", whether less or more is better. Then values far from
      all others are outside of the frame, and caption and legend say so. None
      to show all values.
  """
  for curve in reversed(curves):  # The first curves are on top.
    for points, marker in (curve.line, "-"), (curve.dots, "o"):
      axes.plot(*(zip(*points) if points else ((), ())), marker,
                markersize=curve.size, color=curve.color, linewidth=1.1,
                zorder=2 + (marker == "o") / curve.size)
  series = [[y for _, y in curve.line or curve.dots] for curve in curves]
  _set_limits(axes, mode, *_choose_limits(mode, series))
  lowest, highest = axes.get_ylim()
  values = [y for values in series for y in values if math.isfinite(y)]
  outside = ("above" if any(y > highest for y in values) else
             "below" if any(y < lowest for y in values) else "")
  handles = {}
  for label in dict.fromkeys(curve.label for curve in curves):
    alike = [curve for curve in curves if curve.label == label]
    values = [y for curve in alike for _, y in curve.dots or curve.line
              if math.isfinite(y)]
    note = "" if any(lowest <= y <= highest for y in values) else (
        f", {outside} the frame" if values else ", no value")
    handles[label + note] = lines_lib.Line2D(
        [], [], color=alike[0].color, markersize=alike[0].size,
        linewidth=1.1 * any(curve.line for curve in alike),
        marker="o" if any(curve.dots for curve in alike) else "")
  labels = list(handles)[:_MAX_LABELS]
  artists = [handles[label] for label in labels]
  if len(handles) > len(labels):
    labels.append(f"and {len(handles) - len(labels)} more")
    artists.append(lines_lib.Line2D([], [], linestyle="none"))
  # Matplotlib leaves out labels that begin with "_".
  axes.legend(artists, [" " * label.startswith("_") + fit(
      _LABEL_WIDTH, 8, label) for label in labels], loc="upper left",
              bbox_to_anchor=(1.01, 1), fontsize=8, frameon=False,
              borderaxespad=0)
  numbers = [round(x) for curve in curves
             for x, _ in (*curve.line, *curve.dots)]
  axes.xaxis.set_major_locator(ticker.MaxNLocator(
      10, integer=True, min_n_ticks=1))
  axes.set_xlim(min(numbers, default=1) - .5, max(numbers, default=1) + .5)
  axes.set_xlabel(x_label + (
      f"; values {outside} the frame are not shown" if outside else ""),
                  fontsize=8, color=SMALL_PRINT)


def _choose_limits(mode, series):
  """Returns the lowest and the highest value to show.

  First epochs and failed networks are often so far from all other values that
  these look alike. So the limits leave out the first third of each curve, and
  what is much farther from the best value than the median curve.

  Args:
    mode: "min" or "max", whether less or more is better; None to leave out
      nothing.
    series: list with the values of each curve.
  """
  sign = -1 if mode == "max" else 1
  costs = [sign * values[np.abs(values) < _LARGEST]
           for values in (np.array(values, float) for values in series)]
  costs = [values for values in costs if len(values)]
  if not costs:
    return 0., 1.
  best, worst = min(map(min, costs)), max(map(max, costs))
  last = worst
  if mode:
    distances = [np.append(
        values[len(values) // 3 if len(values) > _MAX_SHORT else 0:],
        min(values)) - best for values in costs]
    limit = _MAX_DISTANCE * sorted(map(max, distances))[len(distances) // 2]
    distances = np.concatenate(distances)
    room = max(distances[distances <= limit]) or worst - best
    values = np.concatenate(costs)
    last = max(values[values - best <= room])
  return sorted((sign * best, sign * last))


def _set_limits(axes, mode, lowest, highest):
  """Chooses the scale of an axis y, and limits around two values."""
  axes.yaxis.set_major_locator(ticker.MaxNLocator(5))
  if mode != "max" and highest > _MAX_LINEAR * lowest > 1 / _LARGEST:
    axes.set_yscale("log")
    digits = (1, 2, 3, 5) if highest < 100 * lowest else (1,)
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=digits))
    axes.yaxis.set_minor_locator(ticker.NullLocator())
    margin = (highest / lowest)**.06
    axes.set_ylim(lowest / margin, highest * margin)
  elif highest > lowest:
    margin = .06 * (highest - lowest)
    axes.set_ylim(lowest - margin, highest + margin)
  # Without an offset or a factor above the axis.
  axes.yaxis.set_major_formatter(ticker.StrMethodFormatter("{x:.6g}"))

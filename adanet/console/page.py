# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The page of a picture: text, shapes and axes in inches, and its legend.

Lengths are in inches, and y grows downward from the top of the page.
"""

import base64
import contextlib
import functools
import io
import textwrap

from adanet.console import wording
import matplotlib
from matplotlib import cm
from matplotlib import colors as colors_lib
from matplotlib import figure as figure_lib
from matplotlib import font_manager
from matplotlib import patches
from matplotlib import style
from matplotlib import ticker
from matplotlib import transforms
from matplotlib.backends import backend_agg

import numpy as np

#: Pixels in an inch, also of the images in an SVG.
DPI = 144.
_DISPLAY_DPI = 96.  # Pixels of CSS in an inch.
MARGIN = 0.25
LINE_HEIGHT = 0.17
_LEAST_WIDTH = 6.5
# Beyond this ratio of values, their scale is logarithmic.
_MAX_RATIO = 30.
# An SVG names its fonts, and a viewer may have none but a wider one.
_FONTS = ("DejaVu Sans", "Verdana")
_FONT_ROOM = 1.04

# The colors of Okabe and Ito, which color-blind readers can tell apart.
ENSEMBLE = "#E69F00"
_SUBNETWORKS = ("#0072B2", "#009E73", "#CC79A7", "#56B4E9", "#D55E00",
                "#222222", "#F0E442")
EMPTY_CELL = "#F1F1F1"
RUNS_FORWARD = "#F7DDA9"
SPEED_BAR = "#2171B5"
SPEED_BAR_OF_FASTEST = "#C6DBEF"
LOAD_BAR = "#777777"
PROBLEM = "#B3001B"
SMALL_PRINT = "#555555"


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


def name_fonts(svg):
  """Names all fonts in the bytes of an SVG: Matplotlib 3.5 names only one."""
  fonts = ", ".join(map(repr, _FONTS)) + ", sans-serif"
  return svg.replace(b"px 'sans-serif'", b"px " + fonts.encode())


def write(figure, file, format):  # pylint: disable=redefined-builtin
  """Writes a figure. The same Matplotlib writes the same bytes.

  Args:
    figure: a matplotlib.figure.Figure.
    file: a file that is open for writing bytes.
    format: str, "pdf", "png" or "svg".
  """
  written = io.BytesIO()
  with default_style():
    # Neither the date nor the version of Matplotlib.
    figure.savefig(written, format=format, metadata={
        "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
        "png": {"Software": None},
        "svg": {"Creator": None, "Date": None},
    }[format])
  contents = written.getvalue()
  file.write(name_fonts(contents) if format == "svg" else contents)


def amount_colors():
  """Returns the color map of all heat maps; its least differs from nothing."""
  return colors_lib.LinearSegmentedColormap.from_list(
      "amounts", cm.Blues(np.linspace(0.3, 1, 256)))


def subnetwork_colors(number):
  """Returns a color for each of a number of subnetworks."""
  if number <= len(_SUBNETWORKS):
    return _SUBNETWORKS[:number]
  return [colors_lib.to_hex(c)
          for c in cm.viridis(np.linspace(0.05, 0.97, number))]


def text_color_on(color):
  """Returns the color of text that can be read on another color."""
  red, green, blue = colors_lib.to_rgb(color)
  return "white" if 0.3 * red + 0.59 * green + 0.11 * blue < 0.55 else "black"


def runs_forward_style(color):
  """Returns the arguments for the cell of a worker that does not train."""
  pale = tuple(1 - 0.3 * (1 - c) for c in colors_lib.to_rgb(color))
  return {"facecolor": pale, "edgecolor": color, "hatch": "/////"}


def problem_style(is_problem):
  """Returns the arguments for a text that may name a problem."""
  return {"color": PROBLEM, "fontweight": "bold"} if is_problem else {}


@functools.lru_cache(maxsize=1000)
def text_width(text, size, fontweight="normal"):
  """Returns the width of a text, with room for another font."""
  font = font_manager.FontProperties(size=size, weight=fontweight)
  renderer = backend_agg.RendererAgg(1, 1, DPI)
  width, _, _ = renderer.get_text_width_height_descent(text, font, False)
  return _FONT_ROOM * width / DPI


def format_number(value):
  """Returns a number in at most three digits, or as a whole one."""
  return ("{:,.0f}" if 1000 <= value < 10**7 else "{:.3g}").format(
      float(value))


def set_scale(axis, largest, name=""):
  """Puts ticks at the ends of a scale that begins at 0."""
  axis.set_ticks([0, largest])
  axis.set_ticklabels(["0", name + format_number(largest)])


def scale_values(axes, values):
  """Chooses the scale of an axis y: logarithmic if its values differ much.

  Args:
    axes: `matplotlib.axes.Axes`.
    values: list of float, finite, at least one.
  """
  locator = ticker.MaxNLocator(5)
  if min(values) > 0 and max(values) > _MAX_RATIO * min(values):
    axes.set_yscale("log")
    locator = ticker.LogLocator()
  axes.yaxis.set_major_locator(locator)


class PictureFigure(figure_lib.Figure):
  """A figure that a notebook shows in the same way with each backend.

  Jupyter knows no plain `Figure` before Matplotlib's inline backend is loaded,
  and the inline backend has its own size and margins.
  """

  def _ipython_display_(self):
    """Shows the figure in a notebook, and its name in a terminal."""
    from IPython import display  # pylint: disable=g-import-not-at-top
    image = io.BytesIO()
    write(self, image, "png")
    width, height = self.get_size_inches() * _DISPLAY_DPI
    display.display({
        "image/png": base64.b64encode(image.getvalue()).decode("ascii"),
        "text/plain": repr(self)}, metadata={
            "image/png": {"width": int(width), "height": int(height)}},
                    raw=True)


class Page:
  """A figure that is drawn from its top, and cut to its size at the end.

  Attributes:
    right: float, the x of the right end of the drawing so far.
  """

  def __init__(self):
    self._figure = PictureFigure(dpi=DPI)
    self._from_top = transforms.Affine2D()
    # `bbox_inches="tight"` of Matplotlib moves no other transform.
    self._inches = self._from_top + self._figure.transFigure
    self._axes = []
    self.right = _LEAST_WIDTH

  def text(self, x, y, text, size=8, ha="left", fontweight="normal", **kwargs):
    """Writes one line, its middle at y; returns its width."""
    self._figure.text(
        x, y, text.replace("$", r"\$"),  # It is no mathematics.
        transform=self._inches, fontsize=size, fontweight=fontweight, ha=ha,
        va="center", **kwargs)
    width = text_width(text, size, fontweight)
    self.right = max(
        self.right, x + width * {"left": 1, "center": 0.5, "right": 0}[ha])
    return width

  def paragraph(self, x, y, text, max_lines, size, **kwargs):
    """Writes lines about as wide as the page; returns the y below them."""
    text = wording.printable(" ".join(text[:2000].split()))
    width = text_width(text, size, kwargs.get("fontweight", "normal"))
    lines = textwrap.wrap(
        text, max(9, int(len(text) * (self.right - x) / (width or 1))),
        break_on_hyphens=False, max_lines=max_lines, placeholder=" ...")
    line_height = LINE_HEIGHT * size / 8.
    for number, line in enumerate(lines):
      self.text(x, y + (number + 0.5) * line_height, line, size, **kwargs)
    return y + len(lines) * line_height

  def rectangle(self, x, y, width, height, **kwargs):
    """Draws a rectangle, its upper left corner at a point."""
    self._figure.add_artist(
        patches.Rectangle((x, y), width, height, transform=self._inches,
                          **dict({"linewidth": 0}, **kwargs)))
    self.right = max(self.right, x + width)

  def circle(self, x, y, diameter, **kwargs):
    """Draws a circle around a point."""
    self._figure.add_artist(
        patches.Circle((x, y), diameter / 2, transform=self._inches,
                       linewidth=0, **kwargs))

  def axes(self, x, y, width, height):
    """Returns axes without ticks, at whole pixels, as images need them."""
    x, y = round(x * DPI) / DPI, round(y * DPI) / DPI
    axes = self._figure.add_axes((0, 0, 1, 1))
    axes.set_xticks([])
    axes.set_yticks([])
    axes.tick_params(labelsize=7, length=2.5, width=0.6, colors="black")
    for spine in axes.spines.values():
      spine.set_linewidth(0.6)
    self._axes.append((axes, x, y, width, height))
    self.right = max(self.right, x + width)
    return axes

  def cut(self, bottom):
    """Ends the page below a y; returns the figure."""
    width = np.ceil((self.right + MARGIN) * DPI) / DPI
    height = np.ceil((bottom + MARGIN) * DPI) / DPI
    self._from_top.scale(1 / width, -1 / height).translate(0, 1)
    self._figure.set_size_inches(width, height)
    for axes, x, y, w, h in self._axes:
      axes.set_position((x / width, 1 - (y + h) / height, w / width,
                         h / height))
    return self._figure


class Legend:
  """Explains the marks of a page, in the order in which they are added."""

  def __init__(self, page):
    self._page = page
    self._marks = {}
    self._scales = {}
    self._notes = {}

  def add(self, meaning, text="", diameter=None, **style):
    """Adds a rectangle or a circle, unless one of that meaning is there."""
    self._marks.setdefault(meaning, (text, diameter, style))

  def add_scale(self, meaning, largest):
    """Adds the scale of `amount_colors`, from 0 to the largest."""
    self._scales[meaning] = largest

  def add_note(self, text):
    """Adds a note, unless it is there."""
    self._notes[text] = None

  def draw(self, y):
    """Draws it; returns the y below."""
    page = self._page
    for meaning, largest in self._scales.items():
      axes = page.axes(MARGIN + 0.08, y, 1.4, 0.1)
      axes.imshow(np.linspace(0, 1, 256)[np.newaxis], aspect="auto",
                  cmap=amount_colors(), extent=(0, largest, 0, 1))
      set_scale(axes.xaxis, largest)
      page.text(MARGIN + 1.62, y + 0.05, meaning)
      y += 0.36
    x = MARGIN
    for meaning, (text, diameter, style_of_mark) in self._marks.items():
      width = 0.38 + text_width(meaning, 8)
      if x > MARGIN and x + width > page.right:
        x = MARGIN
        y += 0.24
      if diameter:
        page.circle(x + 0.15, y + 0.09, diameter, **style_of_mark)
      else:
        page.rectangle(x, y, 0.3, 0.18, **style_of_mark)
      if text:
        page.text(x + 0.15, y + 0.09, text, 7, ha="center",
                  color=text_color_on(style_of_mark["facecolor"]))
      page.text(x + 0.38, y + 0.09, meaning)
      x += width + 0.25
    y += 0.27
    for note in self._notes:
      y = page.paragraph(MARGIN, y, note, 4, 8) + 0.04
    return y

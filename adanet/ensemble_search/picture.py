# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Draws a search: curves of val_loss, weights, and the leaderboard."""

import io
import os
from typing import Any

from adanet.console import page as page_lib
import numpy as np

_FORMATS = ("pdf", "png", "svg")
_MAX_CURVES = 12


def plot(history: Any, path: Any = None) -> Any:
  """Returns a figure; see `SearchHistory.plot`."""
  with page_lib.default_style():
    figure = _drawn(history)
  if path is not None:
    kind = os.path.splitext(os.fspath(path))[1][1:].lower()
    if kind not in _FORMATS:
      raise ValueError(f"path={os.fspath(path)!r}: expected an ending of "
                       ".svg, .png or .pdf.")
    with open(path, "wb") as file:
      page_lib.write(figure, file, kind)
  return figure


def svg(history: Any) -> str:
  """Returns the picture as a page of SVG."""
  file = io.BytesIO()
  page_lib.write(plot(history), file, "svg")
  return file.getvalue().decode()


def _drawn(history):
  page = page_lib.Page()
  left = page_lib.MARGIN
  page.text(left, left, "val_loss of each epoch", 10, fontweight="bold")
  groups = _groups(history)
  shown = groups[:_MAX_CURVES]
  colors = page_lib.subnetwork_colors(max(1, len(shown)))
  top = left + .2
  axes = page.axes(left + .45, top, 4.2, 2.4)
  curves = [(one, color) for (_, some), color in zip(shown, colors)
            for one in some]
  finite = [logs["val_loss"] for one, _ in curves for logs in one.epochs
            if np.isfinite(logs["val_loss"])]
  for one, color in curves:
    values = [logs["val_loss"] for logs in one.epochs]
    epochs = np.arange(1, len(values) + 1)
    axes.plot(epochs, values, color=color, linewidth=1.1)
    if one.best_epoch:
      axes.plot([one.best_epoch], [values[one.best_epoch - 1]], "o",
                color=color, markersize=4)
  if finite:
    page_lib.scale_values(axes, finite)
    longest = max(len(one.epochs) for one, _ in curves)
    axes.set_xlim(.5, longest + .5)
    axes.set_xticks(sorted({1, *np.linspace(1, longest, 5).astype(int)}))
  if history.ensemble:
    axes.axhline(history.ensemble["val_loss"], color=page_lib.ENSEMBLE,
                 linewidth=1.6, linestyle="--")
  x = left + 4.9
  y = top + .08
  if history.ensemble:
    page.rectangle(x, y - .02, .25, .04, facecolor=page_lib.ENSEMBLE)
    page.text(x + .32, y, f"ensemble {history.ensemble['val_loss']:.4g}")
    y += .22
  for (name, some), color in zip(shown, colors):
    page.circle(x + .12, y, .1, facecolor=color)
    width = page.text(x + .32, y, name)
    weight = sum(one.weight or 0 for one in some)
    if weight:
      page.text(x + .42 + width, y, f"weight {weight:.2f}", 7,
                color=page_lib.SMALL_PRINT)
    y += .19
  if len(groups) > len(shown):
    page.text(x, y, f"... and {len(groups) - len(shown)} more", 7,
              color=page_lib.SMALL_PRINT)
  bottom = max(y, top + 2.4) + .25
  page.text(left + .45 + 2.1, bottom - .02, "epoch; a dot is the best one", 7,
            ha="center", color=page_lib.SMALL_PRINT)
  return page.cut(_table(page, history, bottom + .3))


def _groups(history):
  """Returns names and networks of members, which have a color: best first."""
  groups = {}
  for one in history.networks:
    if one.epochs:
      groups.setdefault(one.member, []).append(one)
  return sorted(groups.items(), key=lambda group: (
      -sum(one.weight or 0 for one in group[1]),
      np.mean([one.values.get("val_loss", np.inf) for one in group[1]])))


def _table(page, history, y):
  """Draws the leaderboard; returns the y below."""
  cells = history.cells()[:26]
  if not cells:
    return y
  page.text(page_lib.MARGIN, y, "Leaderboard", 10, fontweight="bold")
  y += .25
  names = cells[0]
  widths = [max(page_lib.text_width(line[i], 7.5, "bold") for line in cells)
            for i in range(len(names))]
  for number, line in enumerate(cells):
    x = page_lib.MARGIN
    weight = "bold" if number < 2 else "normal"
    for i, (text, width) in enumerate(zip(line, widths)):
      if names[i] in ("name", "ended"):
        page.text(x, y, text, 7.5, fontweight=weight)
      else:
        page.text(x + width, y, text, 7.5, ha="right", fontweight=weight)
      x += width + .18
    y += page_lib.LINE_HEIGHT
  return y

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The picture of a search: curves, trials, weights and the leaderboard.

Needs Matplotlib, imported at first use.
"""

import math

# pylint: disable=g-import-not-at-top
_MAX_CURVES, _MAX_ROWS = 12, 25


def draw(history):
  """Returns a figure with curves, weights and the leaderboard."""
  from adanet.console import page as page_lib
  import numpy as np
  page = page_lib.Page()
  left = page_lib.MARGIN
  monitor = history.monitor
  page.text(left, left, f"{monitor} of each epoch", 10, fontweight="bold")
  groups = _group_by_member(history)
  colors = page_lib.subnetwork_colors(max(1, len(groups[:_MAX_CURVES])))
  top = left + .2
  axes = page.axes(left + .45, top, 4.2, 2.4)
  curves = [(network, color) for (_, networks), color in zip(groups, colors)
            for network in networks]
  finite = [logs[monitor] for network, _ in curves for logs in network.epochs
            if np.isfinite(logs[monitor])]
  for network, color in curves:
    values = [logs[monitor] for logs in network.epochs]
    axes.plot(np.arange(1, len(values) + 1), values, color=color, linewidth=1.1)
    if network.best_epoch:
      axes.plot([network.best_epoch], [values[network.best_epoch - 1]], "o",
                color=color, markersize=4)
  if finite:
    page_lib.scale_values(axes, finite)
    longest = max(len(network.epochs) for network, _ in curves)
    axes.set_xlim(.5, longest + .5)
    axes.set_xticks(sorted({1, *np.linspace(1, longest, 5).astype(int)}))
  if history.ensemble:
    axes.axhline(history.ensemble[monitor], color=page_lib.ENSEMBLE,
                 linewidth=1.6, linestyle="--")
  x, y = left + 4.9, top + .08
  if history.ensemble:
    page.rectangle(x, y - .02, .25, .04, facecolor=page_lib.ENSEMBLE)
    page.text(x + .32, y, f"ensemble {history.ensemble[monitor]:.4g}")
    y += .22
  for (name, networks), color in zip(groups, colors):
    page.circle(x + .12, y, .1, facecolor=color)
    width = page.text(x + .32, y, name)
    weight = sum(network.weight or 0 for network in networks)
    if weight:
      page.text(x + .42 + width, y, f"weight {weight:.2f}", 7,
                color=page_lib.SMALL_PRINT)
    y += .19
  if len(groups) > len(colors):
    page.text(x, y, f"... and {len(groups) - len(colors)} more", 7,
              color=page_lib.SMALL_PRINT)
  bottom = max(y, top + 2.4) + .25
  page.text(left + .45 + 2.1, bottom - .02, "epoch; a dot is the best one", 7,
            ha="center", color=page_lib.SMALL_PRINT)
  return page.cut(_draw_table(
      page, history, _draw_trials(page, history, bottom + .3)))


def _draw_trials(page, history, y):
  """Draws the best value so far of the trials of each function.

  Returns the y below.
  """
  from adanet.console import page as page_lib
  import numpy as np
  trials = {}  # Of each function: numbers and values.
  for member in history.members:
    network = member.networks[0]
    if network.trial:
      trials.setdefault(network.function, {})[network.trial] = (
          member.values[history.monitor])
  if not trials:
    return y
  left = page_lib.MARGIN
  page.text(left, y, f"Best {history.monitor} after each trial", 10,
            fontweight="bold")
  axes = page.axes(left + .45, y + .2, 4.2, 1.5)
  best = (np.fmax if history.mode == "max" else np.fmin).accumulate
  bests = []
  for i, ((name, values), color) in enumerate(zip(
      trials.items(), page_lib.subnetwork_colors(len(trials)))):
    numbers = sorted(values)
    own = np.array([values[number] for number in numbers], float)
    axes.plot(numbers, own, "o", color=color, markersize=2.5, alpha=.5)
    axes.step(numbers, best(own), color=color, where="post", linewidth=1.4)
    bests += [value for value in own if np.isfinite(value)]
    page.circle(left + 4.9 + .12, y + .28 + .19 * i, .1, facecolor=color)
    page.text(left + 4.9 + .32, y + .28 + .19 * i, name)
  if bests:
    page_lib.scale_values(axes, bests)
  last = max(max(values) for values in trials.values())
  axes.set_xlim(.5, last + .5)
  axes.set_xticks(sorted({1, *np.linspace(1, last, 5).astype(int)}))
  page.text(left + .45 + 2.1, y + 1.93, "trial; a dot is its own value", 7,
            ha="center", color=page_lib.SMALL_PRINT)
  return y + max(1.95, .28 + .19 * len(trials)) + .3



def _group_by_member(history):
  """Returns names and networks of members, which have a color: best first."""
  groups = {}
  for network in history.networks:
    if network.epochs:
      groups.setdefault(network.member, []).append(network)
  return sorted(groups.items(), key=lambda group: (
      -sum(network.weight or 0 for network in group[1]),
      sum(history.place(network.values)[1] if network.values else math.inf
          for network in group[1]) / len(group[1])))


def _draw_table(page, history, y):
  """Draws the leaderboard; returns the y below."""
  from adanet.console import page as page_lib
  cells = history.cells()[:_MAX_ROWS + 1]
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
      if names[i] in ("name", "ended", "hyperparameters"):
        page.text(x, y, text, 7.5, fontweight=weight)
      else:
        page.text(x + width, y, text, 7.5, ha="right", fontweight=weight)
      x += width + .18
    y += page_lib.LINE_HEIGHT
  return y

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The picture of a search: curves, trials, weights and the leaderboard.

Needs Matplotlib, imported at first use.
"""

import math

# pylint: disable=g-import-not-at-top
_MAX_CURVES, _MAX_ROWS = 12, 25
# Of the axes, in inches, and the x of their legend.
_LEFT, _WIDTH, _HEIGHT, _TRIALS_HEIGHT, _LEGEND = .7, 4.2, 2.4, 1.5, 5.15
_MAX_SHORT = 5  # The epochs of a curve that is shown as a whole.
# How much farther from the best a value is shown than most networks are.
_MAX_DISTANCE = 4.
_MAX_LINEAR = 4.  # Beyond this ratio of values, their scale is logarithmic.


def draw(history, has_table=True):
  """Returns a figure with curves, weights and perhaps the leaderboard."""
  from adanet.console import page as page_lib
  import numpy as np
  page = page_lib.Page()
  left = page_lib.MARGIN
  monitor = history.monitor
  page.text(left, left, f"{monitor} of each epoch", 10, fontweight="bold")
  groups = _group_by_member(history)
  colors = page_lib.subnetwork_colors(max(1, len(groups[:_MAX_CURVES])))
  top = left + .2
  axes = page.axes(_LEFT, top, _WIDTH, _HEIGHT)
  curves, bests = [], {}  # The values of a curve; the best ones of a name.
  for (name, networks), color in zip(groups, colors):
    for network in networks:
      values = [logs[monitor] for logs in network.epochs]
      curves.append(values)
      axes.plot(np.arange(1, len(values) + 1), values, color=color,
                linewidth=1.1, gid=f"curve-{network.name}")
      if network.best_epoch:
        best = values[network.best_epoch - 1]
        bests.setdefault(name, []).append(best)
        axes.plot([network.best_epoch], [best], "o", color=color, markersize=4,
                  zorder=3)
  if history.ensemble:
    curves.append([history.ensemble[monitor]])
    axes.axhline(history.ensemble[monitor], color=page_lib.ENSEMBLE,
                 linewidth=1.6, linestyle="--", zorder=1)
  outside = _scale_values(axes, history.mode, curves)
  _scale_numbers(axes, max(map(len, curves), default=1))
  x, y = _LEGEND, top + .08
  if history.ensemble:
    page.rectangle(x, y - .02, .25, .04, facecolor=page_lib.ENSEMBLE)
    page.text(x + .32, y, f"ensemble {history.ensemble[monitor]:.4g}")
    y += .22
  lowest, highest = axes.get_ylim()
  for (name, networks), color in zip(groups, colors):
    page.circle(x + .12, y, .1, facecolor=color)
    width = page.text(x + .32, y, name)
    weight = sum(network.weight or 0 for network in networks)
    notes = [f"weight {weight:.2f}"] if weight else []
    finite = [best for best in bests.get(name, []) if np.isfinite(best)]
    if not any(lowest <= best <= highest for best in finite):
      notes.append(f"{outside} the frame" if finite else "no value")
    page.text(x + .42 + width, y, ", ".join(notes), 7,
              color=page_lib.SMALL_PRINT)
    y += .19
  if len(groups) > len(colors):
    page.text(x, y, f"... and {len(groups) - len(colors)} more", 7,
              color=page_lib.SMALL_PRINT)
  caption = _draw_caption(
      page, top + _HEIGHT, "epoch; a dot is the best one", outside)
  y = _draw_trials(page, history, max(y, caption) + .3)
  return page.cut(_draw_table(page, history, y) if has_table else y - .3)


def _scale_values(axes, mode, series):
  """Chooses the scale of an axis y, and limits that show differences.

  First epochs and failed networks are often so far from all other values that
  these look alike. So the limits leave out the first third of each curve, and
  what is much farther from the best value than the median curve.

  Args:
    axes: `matplotlib.axes.Axes`.
    mode: "min" or "max", whether less or more is better.
    series: list with the values of each curve.

  Returns:
    str, "above" or "below" if values are outside of the limits there, or "".
  """
  from matplotlib import ticker
  import numpy as np
  sign = 1 if mode == "min" else -1
  costs = [sign * values[np.isfinite(values)]
           for values in map(np.array, series)]
  costs = [values for values in costs if len(values)]
  axes.yaxis.set_major_locator(ticker.MaxNLocator(5))
  # Without an offset or a factor above the axis.
  axes.yaxis.set_major_formatter(ticker.StrMethodFormatter("{x:.6g}"))
  if not costs:
    return ""
  best, worst = min(map(min, costs)), max(map(max, costs))
  distances = [np.append(
      values[len(values) // 3 if len(values) > _MAX_SHORT else 0:],
      min(values)) - best for values in costs]
  limit = _MAX_DISTANCE * np.quantile(
      [max(values) for values in distances], .5, method="higher")
  distances = np.concatenate(distances)
  room = max(distances[distances <= limit]) or worst - best
  if not room:
    return ""
  lowest, highest = sorted((sign * best, sign * (best + room)))
  if mode == "min" and highest > _MAX_LINEAR * lowest > 0:
    axes.set_yscale("log")
    digits = (1, 2, 3, 5) if highest < 100 * lowest else (1,)
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=digits))
    axes.yaxis.set_major_formatter(ticker.StrMethodFormatter("{x:.6g}"))
    axes.yaxis.set_minor_locator(ticker.NullLocator())
    margin = (highest / lowest)**.06
    axes.set_ylim(lowest / margin, highest * margin)
  else:
    axes.set_ylim(lowest - .06 * room, highest + .06 * room)
  if worst <= best + room:
    return ""
  return "above" if mode == "min" else "below"


def _scale_numbers(axes, last):
  """Puts ticks on an axis x of the numbers from 1 to `last`."""
  import numpy as np
  axes.set_xlim(.5, last + .5)
  axes.set_xticks(sorted({1, *np.linspace(1, last, 5).astype(int)}))


def _draw_caption(page, y, text, outside):
  """Writes below axes what they show; returns the y below."""
  from adanet.console import page as page_lib
  page.text(
      _LEFT + _WIDTH / 2, y + .3, text + (
          f"; values {outside} the frame are not shown" if outside else ""),
      7, ha="center", color=page_lib.SMALL_PRINT)
  return y + .35


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
  axes = page.axes(_LEFT, y + .2, _WIDTH, _TRIALS_HEIGHT)
  best = (np.fmax if history.mode == "max" else np.fmin).accumulate
  for i, ((name, values), color) in enumerate(zip(
      trials.items(), page_lib.subnetwork_colors(len(trials)))):
    numbers = sorted(values)
    own = np.array([values[number] for number in numbers], float)
    axes.plot(numbers, own, "o", color=color, markersize=2.5, alpha=.5)
    axes.step(numbers, best(own), color=color, where="post", linewidth=1.4)
    page.circle(_LEGEND + .12, y + .28 + .19 * i, .1, facecolor=color)
    page.text(_LEGEND + .32, y + .28 + .19 * i, name)
  outside = _scale_values(
      axes, history.mode,
      [[value] for values in trials.values() for value in values.values()])
  _scale_numbers(axes, max(map(max, trials.values())))
  caption = _draw_caption(
      page, y + .2 + _TRIALS_HEIGHT, "trial; a dot is its own value", outside)
  return max(caption, y + .28 + .19 * len(trials)) + .3


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

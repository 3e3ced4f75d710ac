# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The picture of a search: curves and trials. It needs Matplotlib."""

import math

from adanet.console import drawing
import numpy as np

_MAX_COLORS = 11
_WIDTH = 8.3
_LEFT, _CURVES_WIDTH, _HEIGHT, _TRIALS_HEIGHT = .7, 4.6, 3.2, 1.8  # Inches.


@drawing.default_style()
def draw(history):
  """Returns a figure with the curves of a `SearchHistory` and its trials."""
  page = drawing.Page(_WIDTH)
  _draw_epochs(page, history)
  _draw_trials(page, history)
  return page.finish()


def _draw_epochs(page, history):
  """Draws the values of each epoch, in a color for each member."""
  monitor = history.monitor
  members = _group_by_member(history)
  curves = []
  colors = drawing.pick_colors(min(_MAX_COLORS, len(members)))
  for i, (name, networks) in enumerate(members):
    weight = sum(network.weight or 0 for network in networks)
    label = f"{name}, weight {weight:.2f}" if weight else name
    color = drawing.OTHER
    if i < len(colors):
      color = colors[i]
    else:
      label = f"{len(members) - len(colors)} more"
    for network in networks:
      points = [(epoch, logs[monitor])
                for epoch, logs in enumerate(network.epochs, 1)]
      best = network.best_epoch
      curves.append(drawing.Curve(
          label, color, points, points[best - 1:best] if best else ()))
  if history.ensemble:
    value = history.ensemble[monitor]
    last = max(len(network.epochs) for network in history.networks)
    # Of some length, even for one epoch.
    curves.insert(0, drawing.Curve(
        f"ensemble {value:.4g}", drawing.ENSEMBLE,
        [(.6, value), (last + .4, value)]))
  axes = page.axes(_LEFT, page.y + .2, _CURVES_WIDTH, _HEIGHT,
                   f"{monitor} of each epoch")
  drawing.draw_curves(
      axes, curves, "epoch; a dot is the best one", history.mode)
  page.skip(_HEIGHT + .7)


def _draw_trials(page, history):
  """Draws the best value so far of the trials of each function."""
  trials = {}  # Of each function: numbers and values.
  for member in history.members:
    network = member.networks[0]
    if network.trial:
      # All by the same rows.
      values = network.values if history.is_by_fold else member.values
      trials.setdefault(network.function, {})[network.trial] = values.get(
          history.monitor, math.nan)
  if not trials:
    return
  best = (np.fmax if history.mode == "max" else np.fmin).accumulate
  curves = []
  for (name, values), color in zip(
      trials.items(), drawing.pick_colors(len(trials))):
    numbers, own = zip(*sorted(values.items()))
    curves.append(drawing.Curve(name, color, list(zip(numbers, best(own)))))
    curves += [drawing.Curve(name, color, (), [point])
               for point in zip(numbers, own)]
  axes = page.axes(_LEFT, page.y + .2, _CURVES_WIDTH, _TRIALS_HEIGHT,
                   f"Best {history.monitor} after each trial" + (
                       ", on fold 1" if history.is_by_fold else ""))
  drawing.draw_curves(axes, curves, "trial; a dot is its own value",
                      history.mode)
  page.skip(_TRIALS_HEIGHT + .7)


def _group_by_member(history):
  """Returns names and networks of members, which have a color: best first."""
  groups = {}
  for network in history.networks:
    if network.epochs:
      groups.setdefault(network.member, []).append(network)

  def cost(network):
    if not network.values:
      return math.inf
    is_nan, cost, *_ = history.place(network.values)
    return math.inf if is_nan else cost

  return sorted(groups.items(), key=lambda group: (
      -sum(network.weight or 0 for network in group[1]),
      sum(map(cost, group[1])) / len(group[1])))

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The part of a report's picture with the checks of each network.

There is a small picture for each iteration, all with the same scales: a curve
for each network, the head's loss on the evaluator's data by the network's
steps, and a star at its best check.
"""

import math
from typing import Any, Callable, List, Sequence, Tuple

from adanet.console import page as page_lib
from adanet.history import records
from adanet.history import summary
from matplotlib import ticker

_MAX_ITERATIONS = 6
_IN_A_ROW = 3
_WIDTH = 2.95
_HEIGHT = 1.9
_GAP = .15
_LEFT = .6  # Of the first axes: the numbers of the losses.
_BELOW = .55
_MANY = 12  # Networks whose marks are small.
_MAX_MARKS = 40  # Checks of a curve of which each has a mark.
_LARGEST = 1e100  # Beyond it, and below its inverse, Matplotlib overflows.
_MAX_RATIO = 5.  # So that the bends at the best checks can be seen.
_MAX_DECADES = 3  # In which there are numbers between the powers of ten.
_ROOM = .08  # Of the height, for stars at its ends.
# A network that diverges must not flatten the curves of the rest.
_MAX_OF_BEST = 100.


def _points(network: records.SubnetworkRecord) -> List[Tuple[int, float]]:
  """Returns the steps and losses of the checks whose loss is finite."""
  return [(check.step, 0. if abs(check.loss) < 1 / _LARGEST else
           max(-_LARGEST, min(check.loss, _LARGEST)))
          for check in network.checks if math.isfinite(check.loss)]


def _limits(checked: Sequence[records.SubnetworkRecord]) -> Tuple[float, float]:
  """Returns the least and the greatest loss to show; (0, 1) if none is known.
  """
  losses = [loss for network in checked for _, loss in _points(network)]
  if not losses:
    return 0., 1.
  greatest_best = max(min(loss for _, loss in _points(network))
                      for network in checked if _points(network))
  top = max(losses)
  if greatest_best > 0:
    top = min(top, _MAX_OF_BEST * greatest_best)
  return min(losses), top


def _draw_network(axes: Any, network: records.SubnetworkRecord, gid: str,
                  color: str, is_member: bool, is_one_of_many: bool) -> None:
  """Draws the curve of a network, its best check, and a loss like NaN."""
  points = _points(network)
  axes.plot(*zip(*points) if points else ([], []), color=color,
            linewidth=1.8 if is_member else .9, zorder=3 if is_member else 2,
            marker="o", gid=gid, markersize=0 if (
                is_one_of_many or len(points) > _MAX_MARKS) else 1.8)
  for step, loss in points:
    if step == network.best_step:
      axes.plot(
          [step], [loss], linestyle="none", marker="*",
          markersize=7 if is_one_of_many else 11, markerfacecolor=color,
          markeredgecolor="black" if is_member else "white",
          markeredgewidth=.7, zorder=5 if is_member else 4, gid=gid + "-best")
  for check in network.checks:
    if not math.isfinite(check.loss):
      axes.plot([check.step], [.97], color=color, linestyle="none", marker="x",
                markersize=6, markeredgewidth=1.5, zorder=4,
                transform=axes.get_xaxis_transform(), gid=gid + "-not-finite")


def _draw_iteration(axes: Any, record: records.IterationRecord,
                    color_of: Callable[[str], str]) -> None:
  """Draws the curves of an iteration's networks."""
  checked = [(name, network) for name, network in record.subnetworks.items()
             if network.checks]
  members = record.winning.subnetworks if record.winning else ()
  for name, network in checked:
    _draw_network(
        axes, network, f"checks-{name}", color_of(name), name in members,
        len(checked) > _MANY)
  axes.set_title(f"iteration {record.iteration}", fontsize=8, pad=3)
  axes.grid(axis="y", color="#E5E5E5", linewidth=.6)
  axes.set_axisbelow(True)


def draw(page: page_lib.Page, legend: page_lib.Legend, y: float,
         iterations: Sequence[records.IterationRecord],
         color_of: Callable[[str], str]) -> float:
  """Draws the checks of the last iterations that have any.

  Args:
    page: the `Page`.
    legend: the `Legend`.
    y: float, the top.
    iterations: the records of all iterations.
    color_of: returns the color of a network, given by its name.

  Returns:
    The y below; the top, if there was no check.
  """
  with_checks = [record for record in iterations if any(
      network.checks for network in record.subnetworks.values())]
  if not with_checks:
    return y
  shown = with_checks[-_MAX_ITERATIONS:]
  checked = [network for record in shown
             for network in record.subnetworks.values() if network.checks]
  bottom, top = _limits(checked)
  last_step = max(network.checks[-1].step for network in checked)
  page.text(
      page_lib.MARGIN, y + .1, "Networks, by the loss of their checks" + (
          f": the last {len(shown)} iterations"
          if len(shown) < len(with_checks) else ""), 9, fontweight="bold")
  y += .5
  for i, record in enumerate(shown):
    row, column = divmod(i, _IN_A_ROW)
    axes = page.axes(
        page_lib.MARGIN + _LEFT + column * (_WIDTH + _GAP),
        y + row * (_HEIGHT + _BELOW), _WIDTH, _HEIGHT)
    page_lib.scale_values(axes, [bottom, top], _MAX_RATIO)
    _draw_iteration(axes, record, color_of)
    _set_limits(axes, bottom, top, last_step)
    if column:
      axes.tick_params(axis="y", which="both", left=False, labelleft=False)
    if i + _IN_A_ROW >= len(shown):
      axes.set_xlabel("step of the network", fontsize=8)
  _add_notes(legend, checked, top)
  return y + math.ceil(len(shown) / _IN_A_ROW) * (_HEIGHT + _BELOW)


def _set_limits(axes: Any, bottom: float, top: float, last_step: int) -> None:
  """Sets the scales, with room for stars at their ends."""
  if axes.get_yscale() == "log":
    decades = math.log10(top) - math.log10(bottom)
    room = 10**(_ROOM * decades)
    axes.set_ylim(bottom / room, top * room)
    if decades < _MAX_DECADES:
      axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1., 2., 5.)))
      axes.yaxis.set_major_formatter(ticker.FormatStrFormatter("%g"))
      axes.yaxis.set_minor_locator(ticker.NullLocator())
  else:
    room = _ROOM * (top - bottom or abs(top) or 1.)
    axes.set_ylim(bottom - room, top + room)
  axes.set_xlim(0, 1.04 * last_step)
  axes.xaxis.set_major_locator(ticker.MaxNLocator(5, integer=True))


def _add_notes(legend, checked, top):
  """Explains the marks that were drawn."""
  legend.add_note(
      "A curve is the loss of a network on the evaluator's data, and the star "
      "on it the best check, whose values the network has. Thick curves are "
      "those of the ensemble that won.")
  losses = [check.loss for network in checked for check in network.checks]
  if not all(map(math.isfinite, losses)):
    legend.add_note("A cross at the top is a loss that is not finite.")
  if max(summary.finite(losses), default=top) > top:
    legend.add_note("A curve that leaves at the top has greater losses.")

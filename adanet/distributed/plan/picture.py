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

from typing import BinaryIO, Iterable, Optional, Sequence

from adanet.console import page as page_lib
from adanet.distributed import _arguments
from adanet.distributed.plan import heat_map
from adanet.distributed.plan import panel as panel_lib
from adanet.distributed.plan import value
from matplotlib import figure as figure_lib

#: The formats of `write`.
FORMATS = ("png", "svg")

_GAP = 0.3  # Inches.


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
          heat_map.HeatMap(page, legend, alike, numbers[0], worker_names))
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

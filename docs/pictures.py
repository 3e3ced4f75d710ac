# Copyright 2026 The adanet.distributed Authors. All Rights Reserved.
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     https://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""Draws what the documentation shows of placement, from the real planner.

Every square is asked of a `PlacementPlan`, so a picture cannot say something
else than the strategies do.
"""

import os

from adanet.distributed import placement
from adanet.distributed import plan as plan_lib
from matplotlib import figure

# From the palette of Okabe and Ito, which the colour-blind tell apart. Words in
# the squares say the same, for print without colour.
_TRAINS = ("#0072B2", "white", "trains")
_RUNS = ("#BFE3F7", "black", "runs")
_ENSEMBLE = ("#E69F00", "black", "ensemble")
_HOLDS = ("#009E73", "white", "variables")
_NOTHING = ("#F2F2F2", "black", "")

_SQUARE = (0.95, 0.42)  # Inches.


def _draw_squares(axes, rows, columns, squares, title, num_rows):
  """Draws a table of coloured squares.

  Args:
    axes: matplotlib's `Axes`.
    rows: list of str, the names of the rows.
    columns: list of str, the names of the columns.
    squares: list, for each row, of list of (colour, colour of the text, text).
    title: str.
    num_rows: int, of the tallest table beside it: all squares are alike.
  """
  for y, row in enumerate(squares):
    for x, (colour, text_colour, text) in enumerate(row):
      axes.barh(y, 1, height=1, left=x, color=colour, edgecolor="white",
                linewidth=2)
      axes.text(x + 0.5, y, text, color=text_colour, ha="center", va="center",
                fontsize=9)
  axes.set_xlim(0, len(columns))
  axes.set_ylim(num_rows - 0.5, -0.5)
  axes.set_xticks([x + 0.5 for x in range(len(columns))], columns)
  axes.set_yticks(range(len(rows)), rows)
  axes.xaxis.tick_top()
  axes.tick_params(length=0, labelsize=9)
  for spine in axes.spines.values():
    spine.set_visible(False)
  axes.set_title(title, fontsize=10, fontweight="bold", pad=14)


def _worker_squares(plan, worker_index):
  """Returns the squares of one worker: each subnetwork, then the ensemble."""
  owned = plan.worker(worker_index)
  builds = _TRAINS if owned.trains_subnetworks else _RUNS
  squares = [builds if i in owned.subnetworks else _NOTHING
             for i in range(plan.num_subnetworks)]
  return squares + [_ENSEMBLE if owned.builds_ensemble else _NOTHING]


def _draw_workers(axes, plan, title, num_rows):
  """Draws who builds and trains what."""
  _draw_squares(
      axes, ["chief"] +
      ["worker {}".format(w) for w in range(1, plan.num_workers)],
      ["subnet {}".format(i) for i in range(plan.num_subnetworks)] +
      ["ensemble"],
      [_worker_squares(plan, w) for w in range(plan.num_workers)], title,
      num_rows)


def _draw_ps(axes, plan, title, num_rows):
  """Draws on which parameter servers each subnetwork's variables live."""
  _draw_squares(
      axes, ["ps {}".format(p) for p in range(plan.num_ps)],
      ["subnet {}".format(i) for i in range(plan.num_subnetworks)],
      [[_HOLDS if i in plan.parameter_server(p).subnetworks else _NOTHING
        for i in range(plan.num_subnetworks)] for p in range(plan.num_ps)],
      title, num_rows)


def _draw(path, draw, plans):
  """Draws plans side by side.

  Args:
    path: str, the PNG to write.
    draw: `_draw_workers` or `_draw_ps`.
    plans: list of pairs of a title and a `PlacementPlan`.
  """
  ps = draw is _draw_ps
  rows = max(p.num_ps if ps else p.num_workers for _, p in plans)
  columns = plans[0][1].num_subnetworks + (0 if ps else 1)
  width, height = _SQUARE
  drawing = figure.Figure(
      figsize=(len(plans) * (columns * width + 0.9), rows * height + 0.8),
      layout="constrained")
  drawing.get_layout_engine().set(wspace=0.06)
  all_axes = drawing.subplots(1, len(plans), squeeze=False)[0]
  for axes, (title, plan) in zip(all_axes, plans):
    draw(axes, plan, title, rows)
  # Without the version of matplotlib, the same picture is the same file.
  drawing.savefig(path, dpi=144, metadata={"Software": None})


def _plan(strategy, num_workers=4, num_ps=0, num_subnetworks=3):
  return plan_lib.PlacementPlan(strategy, num_workers, num_ps, num_subnetworks)


def draw_all(folder):
  """Draws every picture of the documentation.

  Args:
    folder: str, where to, as `<name>.png`.
  """
  round_robin = placement.RoundRobinStrategy()
  pictures = {
      "strategies": (_draw_workers, [
          ("ReplicationStrategy", _plan(placement.ReplicationStrategy())),
          ("RoundRobinStrategy", _plan(round_robin)),
      ]),
      "two_rounds": (_draw_workers, [
          ("4 workers: one round", _plan(round_robin)),
          ("8 workers: two rounds", _plan(round_robin, num_workers=8)),
      ]),
      "partial_round": (_draw_workers, [
          ("drop_remainder=False", _plan(round_robin, num_workers=6)),
          ("drop_remainder=True",
           _plan(placement.RoundRobinStrategy(drop_remainder=True),
                 num_workers=6)),
      ]),
      "no_whole_round": (_draw_workers, [
          ("drop_remainder=False", _plan(round_robin, num_workers=3)),
          ("drop_remainder=True",
           _plan(placement.RoundRobinStrategy(drop_remainder=True),
                 num_workers=3)),
      ]),
      "parameter_servers": (_draw_ps, [
          ("5 parameter servers", _plan(round_robin, num_ps=5)),
          ("2 parameter servers", _plan(round_robin, num_ps=2)),
          ("5, not dedicated",
           _plan(placement.RoundRobinStrategy(
               dedicate_parameter_servers=False), num_ps=5)),
      ]),
  }
  for name, (draw, plans) in pictures.items():
    _draw(os.path.join(folder, name + ".png"), draw, plans)

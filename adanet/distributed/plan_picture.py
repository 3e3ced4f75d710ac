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
"""A picture of placements, for a design review.

It needs matplotlib, which nothing else here does::

    with open("plan.svg", "wb") as f:
      plan_picture.write([plan], f, "svg")
"""

import collections.abc

from adanet.distributed import _arguments
from adanet.distributed import plan as plan_lib
import matplotlib
from matplotlib import figure as figure_lib
from matplotlib import style
from matplotlib.backends import backend_agg
from matplotlib.backends import backend_svg

import numpy as np

#: What `write` can write.
FORMATS = ("png", "svg")


def _check_plans(plans):
  """Returns plans as a tuple, after checking that they are."""
  expected = "a list of PlacementPlan, at least one"
  if isinstance(plans, collections.abc.Iterable):
    plans = tuple(plans)
    if plans and all(isinstance(p, plan_lib.PlacementPlan) for p in plans):
      return plans
    if not plans:
      raise ValueError("plans={}: expected {}.".format(plans, expected))
  raise TypeError("plans={}: expected {}.".format(
      _arguments.show(plans), expected))


def draw(plans):
  """Draws plans, one below the other.

  Args:
    plans: iterable of `PlacementPlan`, at least one.

  Returns:
    A matplotlib.figure.Figure, which belongs to no window and not to pyplot.

  Raises:
    TypeError: `plans` is not an iterable of `PlacementPlan`.
    ValueError: there is no plan.
  """
  plans = _check_plans(plans)
  figure = figure_lib.Figure(figsize=(8, 4 * len(plans)))
  for axes, plan in zip(figure.subplots(len(plans), squeeze=False)[:, 0],
                        plans):
    workers = min(plan.num_workers, 100)
    axes.imshow(
        np.array([[i in plan.worker(w).subnetworks for w in range(workers)]
                  for i in range(min(plan.num_subnetworks, 100))]),
        aspect="auto")
    axes.set_title(plan.strategy)
  return figure


def write(plans, file, format):  # pylint: disable=redefined-builtin
  """Writes the picture of plans, the same bytes with the same matplotlib.

  Args:
    plans: iterable of `PlacementPlan`, at least one.
    file: a file that is open for writing bytes.
    format: str, one of `FORMATS`.

  Raises:
    TypeError, ValueError: as for `draw`.
    ValueError: there is no such format.
  """
  if format not in FORMATS:
    raise ValueError("format={}: expected one of {}.".format(
        _arguments.show(format), ", ".join(FORMATS)))
  figure = draw(plans)
  with style.context("default"), matplotlib.rc_context(
      {"svg.hashsalt": "adanet"}):
    if format == "svg":
      backend_svg.FigureCanvasSVG(figure).print_svg(
          file, metadata={"Date": None})
    else:
      backend_agg.FigureCanvasAgg(figure).print_png(
          file, metadata={"Software": None})

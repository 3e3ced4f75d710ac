# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the pictures of plans: what they say, and that it can be read."""

import collections
import io
import itertools
import re
import sys
from xml.etree import ElementTree

from absl.testing import absltest
from absl.testing import parameterized
from adanet.console import wording
from adanet.distributed import placement
from adanet.distributed import plan as plan_lib
from adanet.distributed.plan import picture as plan_picture
from adanet.testing import answers as answers_lib
from adanet.testing import level
import hypothesis
from hypothesis import strategies as st
from matplotlib import text
import numpy as np

_plan = plan_lib.PlacementPlan
_REPLICATION = placement.ReplicationStrategy()
_ROUND_ROBIN = placement.RoundRobinStrategy()
_DROP = placement.RoundRobinStrategy(drop_remainder=True)
_BALANCED = placement.BalancedStrategy()
_BALANCED_CHIEF = placement.BalancedStrategy(num_ensemble_workers=0)
_SILENT = answers_lib.OwnDevices()
_NOT_DEDICATED = placement.RoundRobinStrategy(dedicate_parameter_servers=False)


class _Lopsided(placement.RoundRobinStrategy):
  """Puts everything on the first parameter server. Has any name."""

  def __init__(self, name="Lopsided()"):
    super().__init__()
    self._name = name

  def __repr__(self):
    return self._name

  def subnetwork_parameter_servers(self, num_subnetworks, subnetwork_index):
    return [0]


def _draw(*shapes):
  return plan_picture.draw([_plan(*shape) for shape in shapes])


def _written(plans, file_format):
  file = io.BytesIO()
  plan_picture.write(plans, file, file_format)
  return file.getvalue()


def _panels(figure):
  """Returns the axes of each panel: ensembles and work, speeds, ps."""
  panels = []
  for axes in figure.axes:
    if "workers" in axes.get_title(loc="left"):
      panels.append([])
    panels[-1].append(axes)
  return panels


def _boxes(figure):
  """Returns pairs of a visible text and its box, in pixels."""
  figure.draw_without_rendering()
  hidden = []  # Ticks outside of the axes have labels, too.
  for axes in figure.axes:
    for axis in axes.xaxis, axes.yaxis:
      least, most = sorted(axis.get_view_interval())
      hidden += [tick.label1 for tick in axis.get_major_ticks()
                 if not least <= tick.get_loc() <= most]
  return [(t, t.get_window_extent()) for t in figure.findobj(text.Text)
          if t.get_visible() and t.get_text().strip() and t not in hidden]


def _texts(figure):
  return [t.get_text() for t, _ in _boxes(figure)]


def _cells(plan):
  """Returns what the maps of a plan show: ensembles, work and variables."""
  m, n, k = plan.num_workers, plan.num_ps, plan.num_subnetworks
  ensembles, work, variables = np.zeros((1, m)), np.zeros((k, m)), np.zeros(
      (k, n))
  for w in range(m):
    owned = plan.worker(w)
    ensembles[0, w] = owned.builds_ensemble
    for i in owned.subnetworks:
      work[i, w] = owned.time_fractions(plan.costs).get(i, 1e-9)
  for p in range(n):
    variables[plan.parameter_server(p).subnetworks, p] = 1
  return [ensembles, work, variables][:2 + bool(n)]


def _images(figure):
  return [image for axes in figure.axes for image in axes.images]


class PlanPictureTest(parameterized.TestCase):

  @hypothesis.settings(max_examples=level.number(5, 15))
  @hypothesis.given(
      st.sampled_from([_REPLICATION, _ROUND_ROBIN, _DROP, _NOT_DEDICATED,
                       _BALANCED, _BALANCED_CHIEF]),
      st.integers(1, 30), st.integers(0, 15), st.integers(1, 50))
  def test_every_cell_is_of_the_plan(self, strategy, m, n, k):
    plan = _plan(strategy, m, n, k)
    figure = plan_picture.draw([plan])
    for cells, image in itertools.zip_longest(_cells(plan), _images(figure)):
      np.testing.assert_allclose(
          cells, image.get_array().filled(0), atol=1e-12)
    panel, = _panels(figure)
    np.testing.assert_allclose(
        [plan.ensemble_speed(), *plan.effective_speeds()],
        [bar.get_width() for axes in panel[2:4] for bar in axes.patches])

  @parameterized.parameters(level.first([_BALANCED, _ROUND_ROBIN]))
  def test_cell_of_many_workers_is_their_largest_part(self, strategy):
    plan = _plan(strategy, 1000, 400, 678)
    image = _images(plan_picture.draw([plan]))[1]
    cells = np.pad(_cells(plan)[1], ((0, 0), (0, 2)))
    # A row is three subnetworks, and a column three workers, the last one one.
    np.testing.assert_allclose(
        cells.reshape(226, 3, 334, 3).max((1, 3)), image.get_array().filled(0),
        atol=1e-12)
    self.assertEqual([-1.5, 1000.5, 677.5, -.5], list(image.get_extent()))
    self.assertEqual((-1.5, 998.5), image.axes.get_xlim())
    for label in ("worker, 3 in a cell", "subnetwork, 3 in a cell",
                  "ps, 2 in a cell", "chief (left) and workers"):
      self.assertIn(label, _texts(image.figure))

  def test_writes_fractions(self):
    figure = _draw(
        (placement.BalancedStrategy((1, 2, 4.5)), 5, 2, 3, None, (10, 20, 45)))
    written = collections.Counter(_texts(figure))
    # The ensembles are the first 2.5 of a line of 10. Four speeds are 0.5.
    self.assertEqual(
        {"1/2": 1, "1/4": 3, "3/4": 1, "0.5": 4, "1": 2},
        {number: written[number]
         for number in ("1/2", "1/4", "3/4", "0.5", "1")})
    text_of_figure = " ".join(_texts(figure))
    for expected in ("costs 1, 2, 4.5, ensemble cost 2.5, sizes 10, 20, 45",
                     "the unit of the size",
                     "one worker takes for a step of cost 1."):
      self.assertIn(expected, text_of_figure)
    # In lockstep, a step of each takes as long as it costs.
    written = collections.Counter(_texts(_draw(
        (_REPLICATION, 2, 0, 3, (1, 2, 4), None, 3))))
    self.assertEqual(
        {"3/10": 2, "1/10": 2, "1/5": 2, "2/5": 2, "0.2": 4},
        {number: written[number]
         for number in ("3/10", "1/10", "1/5", "2/5", "0.2")})
    self.assertIn("ensemble cost 3", " ".join(written))

  @parameterized.parameters(level.first([8, 60]))
  def test_panels_have_the_same_scales(self, m):
    shape = m, 3, m - 1
    panels = _panels(_draw((_BALANCED,) + shape, (_ROUND_ROBIN,) + shape))
    most = max(bar.get_width() for panel in panels
               for axes in panel[2:4] for bar in axes.patches)
    for panel in panels:
      for axes in panel[2:4]:
        self.assertEqual((0, most), axes.get_xlim())
    self.assertLen({panel[4].get_ylim() for panel in panels}, 1)

  @parameterized.parameters(level.first([(8, 4, 3), (88, 20, 7)]))
  def test_equal_plans_are_drawn_once(self, *shape):
    # If their parameter servers are not known, they are drawn apart.
    figure = _draw(*((s,) + shape for s in (
        _ROUND_ROBIN, _REPLICATION, _DROP, _SILENT, _SILENT)))
    self.assertEqual([6, 6, 4, 4], list(map(len, _panels(figure))))
    texts = " ".join(_texts(figure))
    self.assertIn(f"{_ROUND_ROBIN} and {_DROP}", texts)
    self.assertEqual(2, texts.count("parameter servers: not known"))

  @parameterized.parameters(level.first([
      (_ROUND_ROBIN, 6, 3, 3, ["! 4"]),
      (_DROP, 4, 3, 5, ["! subnetwork 3", "! subnetwork 4"]),
      (_Lopsided(), 7, 3, 6, ["! ensemble", "! 0", "! 1", "! 2"]),
      (_ROUND_ROBIN, 50, 0, 60, ["! ensemble"]),
  ], 3))
  def test_marks_problems(self, strategy, m, n, k, marked):
    plan = _plan(strategy, m, n, k)
    texts = _texts(plan_picture.draw([plan]))
    self.assertEqual(marked, [t for t in texts if re.fullmatch(
        "! ([a-z]+ )?([0-9]+|ensemble)", t)])
    for problem in plan.problems():
      self.assertIn(problem.message, " ".join(texts))

  def test_names_a_master(self):
    texts = _texts(plan_picture.draw(
        [_plan(_REPLICATION, 2, 1, 1)], wording.worker_names(2, "master")))
    self.assertContainsSubset(["master", "0"], texts)
    self.assertIn("master:0, worker:0 build the ensembles; one is enough.",
                  " ".join(texts))

  @parameterized.parameters(level.first([
      [[(_ROUND_ROBIN, 4, 2, 3), (_DROP, 4, 2, 6), (_REPLICATION, 6, 4, 3)]],
      [[(_ROUND_ROBIN, 100, 20, 7), (_REPLICATION, 100, 20, 7)]],
      [[(_ROUND_ROBIN, 2000, 300, 300), (_REPLICATION, 2000, 1, 1000)]],
      [[(_ROUND_ROBIN, 3, 5, 40), (_SILENT, 60, 2, 50)]],
      [[(_Lopsided(), 3, 5, 3), (_Lopsided(), 30, 50, 3)]],
      [[(_BALANCED, 9, 9, 7, [10**i for i in range(7)],
         [7**i * 1e6 for i in range(7)]), (_BALANCED_CHIEF, 3, 2, 12)]],
      [[(placement.BalancedStrategy([.1 * i**2 for i in range(1, 13)]),
         20, 9, 12, None, [8**i for i in range(12)]),
        (placement.BalancedStrategy(lambda k: range(1, k + 1)), 2000, 300, 90,
         None, [1e12] * 90)]],
      [[(_Lopsided("a strategy of many words " * 30), 2, 2, 2),
        (_Lopsided("from $1 to $2"), 2, 2, 1)]],
  ]))
  def test_can_be_read(self, shapes):
    figure = _draw(*shapes)
    width, height = figure.canvas.get_width_height()
    boxes = []
    for t, box in _boxes(figure):
      # Another font may be a little wider.
      room = 0.03 * box.width * (t.get_rotation() == 0)
      on_left = {"left": 0, "center": 0.5, "right": 1}[t.get_ha()]
      box.x0, box.x1 = box.x0 - on_left * room, box.x1 + (1 - on_left) * room
      self.assertTrue(
          0 <= box.x0 and box.x1 <= width and 0 <= box.y0 and box.y1 <= height,
          f"{t.get_text()!r} leaves the figure")
      self.assertGreaterEqual(t.get_fontsize(), 7)
      boxes.append((t.get_text(), box))
    for (a, box), (b, other) in itertools.combinations(boxes, 2):
      # Of the height of a line, a third is for letters that few words have.
      gap = 0.15 * min(box.height, other.height)
      self.assertFalse(
          box.x0 < other.x1 and other.x0 < box.x1 and
          box.y0 + gap < other.y1 and other.y0 + gap < box.y1,
          f"{a!r} and {b!r} overlap")

  @parameterized.parameters(level.first([(8, 4, 3), (37, 0, 41)]))
  def test_text_of_svg_can_be_searched(self, *shape):
    plan = _plan(_DROP, *shape)
    svg = ElementTree.fromstring(_written([plan], "svg"))
    texts = [e for e in svg.iter() if e.tag.endswith("}text")]
    self.assertCountEqual(_texts(plan_picture.draw([plan])),
                          ["".join(e.itertext()) for e in texts])
    for e in texts:
      self.assertRegex(e.get("style"),
                       r"'DejaVu Sans', 'Verdana', sans-serif(;|$)")

  @parameterized.parameters(
      (TypeError, "png", [None],
       "plans=(None,): expected an iterable of PlacementPlan."),
      (ValueError, "pdf", [_plan(_ROUND_ROBIN, 4, 2, 3)],
       "format='pdf': expected one of png, svg."),
      (ValueError, ["png"], [_plan(_ROUND_ROBIN, 4, 2, 3)],
       "format=['png']: expected one of png, svg."),
  )
  def test_refuses(self, error, file_format, plans, message):
    with self.assertRaisesRegex(error, "^" + re.escape(message)):
      _written(plans, file_format)

  def test_imports_neither_pyplot_nor_tensorflow(self):
    _written([_plan(_ROUND_ROBIN, 4, 2, 3)], "png")
    self.assertNotIn("matplotlib.pyplot", sys.modules)
    self.assertNotIn("tensorflow", sys.modules)


if __name__ == "__main__":
  absltest.main()

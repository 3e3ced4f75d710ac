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
import matplotlib
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


def _named(figure, pattern):
  """Returns pairs of an artist whose gid has a pattern, and the match."""
  artists = figure.findobj(lambda a: a.get_gid())
  matches = [(a, re.search(pattern, a.get_gid())) for a in artists]
  return [(a, match) for a, match in matches if match]


def _boxes(figure):
  """Returns pairs of a visible text and its box, in pixels."""
  figure.draw_without_rendering()
  return [(t, t.get_window_extent()) for t in figure.findobj(text.Text)
          if t.get_visible() and t.get_text().strip()]


def _texts(figure):
  return [t.get_text() for t, _ in _boxes(figure)]


def _cells(plan):
  """Returns the gids that the picture of a small plan must have."""
  cells = []
  for w in range(plan.num_workers):
    owned = plan.worker(w)
    if owned.builds_ensemble:
      cells.append(f"plan-0-worker-{w}-ensemble")
    cells.extend("plan-0-worker-{}-{}-{}".format(
        w, "trains" if i in owned.trained else "runs", i)
                 for i in owned.subnetworks)
  for p in range(plan.num_ps):
    cells.extend(f"plan-0-ps-{p}-serves-{i}"
                 for i in plan.parameter_server(p).subnetworks)
  return cells + ["plan-0-ensemble-speed"] + [
      f"plan-0-subnetwork-{i}-speed"
      for i in np.flatnonzero(plan.effective_speeds())]


class PlanPictureTest(parameterized.TestCase):

  @hypothesis.settings(max_examples=level.number(5, 15))
  @hypothesis.given(
      st.sampled_from([_REPLICATION, _ROUND_ROBIN, _DROP, _NOT_DEDICATED,
                       _BALANCED, _BALANCED_CHIEF]),
      st.integers(1, 9), st.integers(0, 5), st.integers(1, 8))
  def test_every_cell_is_of_the_plan(self, strategy, m, n, k):
    self.assertCountEqual(
        _cells(_plan(strategy, m, n, k)),
        [a.get_gid() for a, _ in _named(_draw((strategy, m, n, k)), "")])

  def test_cells_are_at_their_names_in_their_colors(self):
    figure = _draw((_ROUND_ROBIN, 8, 4, 3))
    names = [(t.get_text(), box.x0 + box.x1, box.y0 + box.y1)
             for t, box in _boxes(figure)]
    colors = collections.defaultdict(set)
    for artist, match in _named(figure, r"(worker|ps)-(\d+)-(\w+)-(\d+)$"):
      job, column, does, row = match.groups()
      box = artist.get_window_extent()
      row_y, = (y for name, _, y in names if name == "subnetwork " + row)
      self.assertAlmostEqual(box.y0 + box.y1, row_y, delta=8)
      if job == "worker":
        column = str(int(column) - 1) if int(column) else "chief"
      self.assertTrue(any(name == column and abs(
          box.x0 + box.x1 - x) < 6 for name, x, _ in names))
      if does != "runs":
        colors[row].add(artist.get_facecolor())
    self.assertEqual([1, 1, 1], [len(c) for c in colors.values()])

  @parameterized.parameters(level.first([40, 7]))
  def test_no_two_subnetworks_have_the_same_color(self, k):
    cells = _named(_draw((_ROUND_ROBIN, 1, 0, k)), "trains")
    self.assertLen({artist.get_facecolor() for artist, _ in cells}, k)

  @parameterized.parameters(level.first([
      (_BALANCED, 50, 20, 60), (_ROUND_ROBIN, 100, 20, 7), (_DROP, 30, 90, 60),
      (_REPLICATION, 25, 13, 3), (_BALANCED_CHIEF, 50, 20, 60)]))
  def test_heat_map_is_of_the_plan(self, strategy, m, n, k):
    plan = _plan(strategy, m, n, k)
    speeds, runs = np.zeros((2, k, m))
    for w in range(m):
      owned = plan.worker(w)
      runs[owned.subnetworks, w] = 1
      for i, fraction in owned.time_fractions(plan.costs).items():
        speeds[i, w] = fraction
        runs[i, w] = 0
    expected = {
        "workers-train": speeds, "workers-run": runs,
        "workers-ensemble": [[plan.worker(w).builds_ensemble
                              for w in range(m)]],
        "ps-serve": [[p in plan.subnetwork(i).ps for p in range(n)]
                     for i in range(k)]}
    np.testing.assert_allclose(speeds.sum(1), plan.effective_speeds())
    for artist, match in _named(plan_picture.draw([plan]), "(workers|ps)-.*"):
      np.testing.assert_allclose(
          np.array(expected.pop(match.group()), float),
          artist.get_array().filled(0), atol=1e-12)
    self.assertEmpty(expected)

  @parameterized.parameters(level.first([_BALANCED, _ROUND_ROBIN]))
  def test_heat_map_of_many_workers_adds_up(self, strategy):
    shape = strategy, 1000, 0, 678
    (artist, _), = _named(_draw(shape), "workers-train")
    # A row is the mean of its three subnetworks. The last column has only one
    # of three workers.
    np.testing.assert_allclose(
        _plan(*shape).effective_speeds().reshape(-1, 3).mean(1),
        artist.get_array().filled(0).sum(1))
    self.assertEqual([-0.5, 3 * 334 - 0.5, 677.5, -0.5], list(artist.get_extent()))
    self.assertEqual((-0.5, 999.5), artist.axes.get_xlim())

  def test_writes_fractions(self):
    figure = _draw(
        (placement.BalancedStrategy((1, 2, 4.5)), 5, 2, 3, None, (10, 20, 45)))
    written = collections.Counter(_texts(figure))
    # The ensembles are the first 2.5 of a line of 10. Four speeds are 0.5.
    self.assertEqual(
        {"1/2": 1, "1/4": 3 + 1, "3/4": 1, "0.5": 4, "1": 2},
        {number: written[number]
         for number in ("1/2", "1/4", "3/4", "0.5", "1")})
    text_of_figure = " ".join(_texts(figure))
    for expected in ("costs 1, 2, 4.5, ensemble cost 2.5, sizes 10, 20, 45",
                     "the unit of the size",
                     "one worker takes for a cost of 1."):
      self.assertIn(expected, text_of_figure)
    # In lockstep, a step of each takes as long as it costs.
    written = collections.Counter(_texts(_draw(
        (_REPLICATION, 2, 0, 3, (1, 2, 4), None, 3))))
    self.assertEqual(
        {"3/10": 2 + 1, "1/10": 2, "1/5": 2, "2/5": 2, "0.2": 4},
        {number: written[number]
         for number in ("3/10", "1/10", "1/5", "2/5", "0.2")})
    self.assertIn("ensemble cost 3", " ".join(written))

  @parameterized.parameters((1e9, "load / 1e+09", "2"), (1e-9, "load / 1e-09", "2"),
                            (100, "load", "200"))
  def test_loads_are_short(self, size, *expected):
    texts = _texts(_draw((_ROUND_ROBIN, 3, 1, 1, None, [size / 1.5])))
    self.assertContainsSubset(expected, texts)

  @parameterized.parameters(level.first([8, 60]))
  def test_speed_of_ensembles_has_the_scale_of_the_others(self, m):
    shape = _BALANCED, m, 0, m - 1
    figure = _draw(shape, (_ROUND_ROBIN,) + shape[1:])
    (balanced, _), (round_robin, _) = _named(figure, "ensemble-speed")
    self.assertAlmostEqual(
        _plan(*shape).ensemble_speed() / balanced.get_width(),
        3 / (m - 1) / round_robin.get_width())
    maps = [artist for artist, _ in _named(figure, "workers-train")]
    self.assertLen({artist.get_clim() for artist in maps}, int(m == 60))
    if m == 8:
      for bar, _ in _named(figure, r"plan-0-subnetwork-\d-speed"):
        self.assertAlmostEqual(balanced.get_width(), bar.get_width())

  @parameterized.parameters(level.first([(8, 4, 3), (88, 20, 7)]))
  def test_equal_plans_are_drawn_once(self, *shape):
    # If their parameter servers are not known, they are drawn apart.
    figure = _draw(*((s,) + shape for s in (
        _ROUND_ROBIN, _REPLICATION, _DROP, _SILENT, _SILENT)))
    self.assertEqual({"plan-0", "plan-1", "plan-3", "plan-4"},
                     {match.group() for _, match in _named(figure, r"plan-\d")})
    self.assertIn(f"{_ROUND_ROBIN} and {_DROP} 2 equal plans of",
                  " ".join(_texts(figure)))

  @parameterized.parameters(level.first([
      (_ROUND_ROBIN, 6, 3, 3, ["4!"]),
      (_DROP, 4, 3, 5, ["! subnetwork 3", "! subnetwork 4"]),
      (_Lopsided(), 7, 3, 6, ["! ensemble", "0!", "1!", "2!"]),
      (_ROUND_ROBIN, 50, 0, 60, ["! ensemble"]),
  ], 3))
  def test_marks_problems(self, strategy, m, n, k, marked):
    plan = _plan(strategy, m, n, k)
    texts = _texts(plan_picture.draw([plan]))
    self.assertEqual(marked, [t for t in texts if re.search(r"\d!|! ", t)])
    for problem in plan.problems():
      self.assertIn(problem.message, " ".join(texts))

  def test_names_a_master(self):
    texts = _texts(plan_picture.draw(
        [_plan(_REPLICATION, 2, 1, 1)], wording.worker_names(2, "master")))
    self.assertContainsSubset(["master", "0"], texts)
    self.assertIn("master:0, worker:0 build the ensembles; one is enough.",
                  " ".join(texts))

  @parameterized.parameters(level.first([
      (_ROUND_ROBIN, 7, 2, 6, [0, 1, 3, 4]),
      (_REPLICATION, 7, 0, 6, [0, 2]),
      (_SILENT, 4, 2, 3, [0, 1, 5]),
      (_DROP, 30, 9, 60, [0, 1, 3, 4, 6, 7]),
  ], 3))
  def test_legend_has_what_is_there(self, strategy, m, n, k, expected):
    meanings = ("builds the ensemble", "run it forward only",
                "share of the worker's time", "holds variables",
                "bytes spread evenly", "parameter servers: not known",
                "that no worker trains", "speed that a worker gives")
    figure = _draw((strategy, m, n, k))
    texts = " ".join(_texts(figure))
    self.assertEqual(expected, [
        i for i, meaning in enumerate(meanings) if meaning in texts])
    self.assertEqual(3 in expected, bool(_named(figure, "ps-.*serve")))

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

  @parameterized.product(
      file_format=level.first(plan_picture.FORMATS[::-1]),
      shape=level.first([(4, 2, 3), (37, 1, 2)]))
  def test_writes_the_same_bytes_in_any_style(self, file_format, shape):
    plan = _plan(_ROUND_ROBIN, *shape)
    expected = _written([plan], file_format)
    self.assertStartsWith(
        expected, {"png": b"\x89PNG\r\n", "svg": b"<?xml"}[file_format])
    with matplotlib.rc_context({"font.size": 20, "lines.linewidth": 9,
                                "axes.facecolor": "red", "figure.dpi": 30,
                                "savefig.dpi": 50, "svg.hashsalt": "other",
                                "font.family": "serif"}):
      style = dict(matplotlib.rcParams)
      self.assertEqual(expected, _written([plan], file_format))
      self.assertEqual(style, dict(matplotlib.rcParams))

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
    if shape[0] == 8:
      self.assertContainsSubset(_cells(plan), [e.get("id") for e in svg.iter()])

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

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the pictures of plans: what they say, and that it can be read."""

import collections
import io
import itertools
import re
import sys
import tracemalloc
from xml.etree import ElementTree

from absl.testing import absltest
from absl.testing import parameterized
from adanet.distributed import placement
from adanet.distributed import plan as plan_lib
from adanet.distributed.plan import picture as plan_picture
import hypothesis
from hypothesis import strategies as st
import matplotlib
from matplotlib import image
from matplotlib import text
import numpy as np

# The same examples in every run, written nowhere, however long one takes.
hypothesis.settings.register_profile(
    "hermetic", database=None, deadline=None, derandomize=True)
hypothesis.settings.load_profile("hermetic")

_REPLICATION = placement.ReplicationStrategy()
_ROUND_ROBIN = placement.RoundRobinStrategy()
_DROP = placement.RoundRobinStrategy(drop_remainder=True)
_NOT_DEDICATED = placement.RoundRobinStrategy(dedicate_parameter_servers=False)


class _Silent(placement.RoundRobinStrategy):
  """Does not say what it puts on parameter servers."""

  def subnetwork_devices(self, num_subnetworks, subnetwork_index):
    return super().subnetwork_devices(num_subnetworks, subnetwork_index)


class _Lopsided(placement.RoundRobinStrategy):
  """Puts everything on the first parameter server."""

  def subnetwork_parameter_servers(self, num_subnetworks, subnetwork_index):
    return [0]


class _Named(placement.RoundRobinStrategy):
  """Has a name that is hard to draw."""

  def __init__(self, name):
    super().__init__()
    self._name = name

  def __repr__(self):
    return self._name


def _plan(strategy, num_workers, num_ps, num_subnetworks):
  return plan_lib.PlacementPlan(strategy, num_workers, num_ps, num_subnetworks)


def _written(plans, file_format):
  file = io.BytesIO()
  plan_picture.write(plans, file, file_format)
  return file.getvalue()


def _gids(figure):
  return [a.get_gid() for a in figure.findobj(lambda a: a.get_gid())]


def _image(figure, gid):
  found, = figure.findobj(
      lambda a: isinstance(a, image.AxesImage) and a.get_gid() == gid)
  return found.get_array().filled(0)


def _texts(figure):
  """Returns the texts that can be seen, once it is drawn."""
  figure.canvas.draw()
  return [t for t in figure.findobj(text.Text)
          if t.get_visible() and t.get_text().strip()]


def _sentences(figure):
  return " ".join(t.get_text() for t in _texts(figure))


def _cells(plan, name="plan-0"):
  """Returns the gids that a plan's picture must have."""
  cells = []
  for w in range(plan.num_workers):
    owned = plan.worker(w)
    if owned.builds_ensemble:
      cells.append("{}-worker-{}-ensemble".format(name, w))
    does = "trains" if owned.trains_subnetworks else "runs"
    cells.extend("{}-worker-{}-{}-{}".format(name, w, does, i)
                 for i in owned.subnetworks)
  for p in range(plan.num_ps):
    cells.extend("{}-ps-{}-serves-{}".format(name, p, i)
                 for i in plan.parameter_server(p).subnetworks)
  cells.extend("{}-subnetwork-{}-speed".format(name, i)
               for i, speed in enumerate(plan.effective_speeds()) if speed)
  return cells


# Small clusters, large ones, and those in which only some parts are large.
_SHAPES = (
    ("4x3", _ROUND_ROBIN, 4, 2, 3),
    ("8x3", _ROUND_ROBIN, 8, 4, 3),
    ("7x6_without_ps", _ROUND_ROBIN, 7, 0, 6),
    ("24x8", _ROUND_ROBIN, 24, 12, 8),
    ("25x8", _ROUND_ROBIN, 25, 13, 8),
    ("100x7", _ROUND_ROBIN, 100, 20, 7),
    ("10000x300", _ROUND_ROBIN, 10000, 300, 300),
    ("10000x300_few_ps", _REPLICATION, 10000, 1, 300),
    ("1x1", _ROUND_ROBIN, 1, 0, 1),
    ("1x1_ps", _ROUND_ROBIN, 1, 1, 1),
    ("3x40", _ROUND_ROBIN, 3, 5, 40),
    ("3x41", _ROUND_ROBIN, 3, 5, 41),
    ("1x100", _ROUND_ROBIN, 1, 1, 100),
    ("many_ps", _ROUND_ROBIN, 4, 300, 3),
    ("some_ps", _ROUND_ROBIN, 4, 13, 1),
    ("replication", _REPLICATION, 4, 2, 3),
    ("replication_loads", _REPLICATION, 24, 7, 40),
    ("not_dedicated", _NOT_DEDICATED, 30, 300, 60),
    ("untrained", _DROP, 4, 3, 6),
    ("many_untrained", _DROP, 30, 5, 60),
    ("not_known", _Silent(), 5, 2, 3),
    ("not_known_one", _Silent(), 1, 2, 1),
    ("not_known_large", _Silent(), 60, 2, 50),
    ("lopsided", _Lopsided(), 3, 5, 3),
    ("lopsided_large", _Lopsided(), 30, 50, 3),
    ("long_name", _Named("Strategy" * 60), 4, 2, 3),
    ("long_words", _Named("a strategy of many words " * 30), 2, 2, 2),
    ("mathematics", _Named("$x_1$ and $\\frac$"), 2, 2, 2),
)


class PlanPictureTest(parameterized.TestCase):

  @hypothesis.settings(max_examples=25)
  @hypothesis.given(
      st.sampled_from([_REPLICATION, _ROUND_ROBIN, _DROP, _NOT_DEDICATED]),
      st.integers(1, 9), st.integers(0, 5), st.integers(1, 8))
  def test_every_cell_is_of_the_plan(self, strategy, m, n, k):
    plan = _plan(strategy, m, n, k)
    self.assertCountEqual(_cells(plan), _gids(plan_picture.draw([plan])))

  def test_cells_are_where_their_names_are(self):
    figure = plan_picture.draw([_plan(_ROUND_ROBIN, 8, 4, 3)])
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    names = {}
    for t in _texts(figure):
      names.setdefault(t.get_text(), []).append(t.get_window_extent(renderer))
    checked = 0
    for artist in figure.findobj(lambda a: a.get_gid()):
      match = re.match(r"plan-0-(worker|ps)-(\d+)-\w+-(\d+)$", artist.get_gid())
      if not match:
        continue
      job, column, row = match.groups()
      box = artist.get_window_extent(renderer)
      row_name, = names["subnetwork " + row]
      self.assertAlmostEqual(
          (box.y0 + box.y1) / 2, (row_name.y0 + row_name.y1) / 2, delta=4)
      column_names = names["chief" if job == "worker" and column == "0" else
                           column]
      middles = [(n.x0 + n.x1) / 2 for n in column_names]
      self.assertLess(min(abs(m - (box.x0 + box.x1) / 2) for m in middles), 3)
      checked += 1
    self.assertEqual(2 * 3 + 6 + 4, checked)

  def test_color_is_the_subnetworks(self):
    figure = plan_picture.draw([_plan(_ROUND_ROBIN, 8, 4, 3)])
    colors = {}
    for artist in figure.findobj(lambda a: a.get_gid()):
      match = re.search(r"-(trains|serves)-(\d+)$", artist.get_gid())
      if match:
        colors.setdefault(match.group(2), set()).add(artist.get_facecolor())
    self.assertEqual([1, 1, 1], [len(c) for c in colors.values()])
    self.assertLen(set.union(*colors.values()), 3)

  @parameterized.parameters(7, 8, 40)
  def test_no_two_subnetworks_have_the_same_color(self, k):
    figure = plan_picture.draw([_plan(_ROUND_ROBIN, 1, 0, k)])
    self.assertLen({a.get_facecolor() for a in figure.findobj(
        lambda a: "trains" in (a.get_gid() or ""))}, k)

  @parameterized.parameters(
      (_ROUND_ROBIN, 100, 20, 7),
      (_ROUND_ROBIN, 30, 5, 60),
      (_DROP, 30, 90, 60),
      (_REPLICATION, 25, 13, 3),
  )
  def test_heat_map_is_of_the_plan(self, strategy, m, n, k):
    plan = _plan(strategy, m, n, k)
    speeds, runs = np.zeros((2, k, m))
    serves = np.zeros((k, n))
    for w in range(m):
      owned = plan.worker(w)
      for i in owned.subnetworks:
        if owned.trains_subnetworks:
          speeds[i, w] = 1. / owned.num_trained
        else:
          runs[i, w] = 1
    for p in range(n):
      serves[list(plan.parameter_server(p).subnetworks), p] = 1
    figure = plan_picture.draw([plan])
    np.testing.assert_allclose(speeds, _image(figure, "plan-0-workers-train"))
    np.testing.assert_array_equal(runs, _image(figure, "plan-0-workers-run"))
    if n > 12 or k > 40:
      np.testing.assert_array_equal(serves, _image(figure, "plan-0-ps-serve"))
    ensemble = [range(int(a), int(b)) for a, b in re.findall(
        r"plan-0-workers-(\d+)-(\d+)-ensemble", " ".join(_gids(figure)))]
    self.assertEqual([w for w in range(m) if plan.worker(w).builds_ensemble],
                     list(itertools.chain.from_iterable(ensemble)))

  def test_columns_of_a_heat_map_are_at_their_workers(self):
    plan = _plan(_ROUND_ROBIN, 1000, 0, 50)  # Three a column, one in the last.
    figure = plan_picture.draw([plan])
    axes = figure.axes[0]
    self.assertEqual((-0.5, 999.5), axes.get_xlim())
    speeds = _image(figure, "plan-0-workers-train")
    left, right, _, _ = axes.images[-1].get_extent()
    for w in range(1000):
      column = int((w - left) / (right - left) * speeds.shape[1])
      owned = plan.worker(w)
      if owned.trains_subnetworks:
        self.assertTrue(all(speeds[i, column] for i in owned.subnetworks), w)

  def test_writes_the_numbers(self):
    plan = _plan(_ROUND_ROBIN, 11, 4, 3)
    written = collections.Counter(
        t.get_text() for t in _texts(plan_picture.draw([plan])))
    # Worker 9 trains two of the three, and the parameter servers 0 and 1 are
    # subnetwork 0's. The column 6 has its number too.
    self.assertEqual([(0, 2), (1,)],
                     [tuple(plan.worker(w).subnetworks) for w in (9, 10)])
    self.assertEqual([2.5, 3, 2.5], plan.effective_speeds().tolist())
    self.assertEqual([3, 3, 6, 6], plan.load_per_ps().tolist())
    self.assertEqual(2, written["1/2"])
    self.assertEqual(2, written["2.5"])
    self.assertEqual(2 + 1, written["6"])
    # Twice a column's number, twice a load, and a speed.
    self.assertEqual(2 + 2 + 1, written["3"])

  def test_adds_up_in_a_large_cluster(self):
    plan = _plan(_ROUND_ROBIN, 12345, 0, 678)
    speeds = _image(plan_picture.draw([plan]), "plan-0-workers-train")
    self.assertLess(speeds.size, 300000)
    # A row is the mean of its three subnetworks.
    np.testing.assert_allclose(
        plan.effective_speeds().reshape(-1, 3).mean(1), speeds.sum(1))

  def test_several(self):
    plans = [_plan(_ROUND_ROBIN, 6, 3, 3), _plan(_REPLICATION, 2, 0, 2)]
    figure = plan_picture.draw(iter(plans))
    self.assertCountEqual(
        _cells(plans[0]) + _cells(plans[1], "plan-1"), _gids(figure))
    titles = [t for t in _texts(figure)
              if t.get_text() in [p.strategy for p in plans]]
    self.assertEqual([p.strategy for p in plans],
                     [t.get_text() for t in titles])
    renderer = figure.canvas.get_renderer()
    above, below = [t.get_window_extent(renderer).y0 for t in titles]
    self.assertGreater(above, below)

  @parameterized.parameters(
      (_ROUND_ROBIN, 6, 3, 3, ["5!"]),
      (_DROP, 4, 3, 6,
       ["! subnetwork 3", "! subnetwork 4", "! subnetwork 5"]),
      (_Lopsided(), 7, 3, 6, ["0!", "1!", "2!"]),
      (_ROUND_ROBIN, 7, 2, 6, []),
  )
  def test_marks_what_is_wrong(self, strategy, m, n, k, marked):
    plan = _plan(strategy, m, n, k)
    figure = plan_picture.draw([plan])
    self.assertEqual(marked, [
        t.get_text() for t in _texts(figure)
        if "!" in t.get_text() and t.get_text() != "!"])
    for problem in plan.problems():
      self.assertIn(problem.message, _sentences(figure))

  @parameterized.parameters(
      (_ROUND_ROBIN, 7, 2, 6, ["builds the ensemble", "run forward only",
                               "serves its variables"]),
      (_REPLICATION, 7, 0, 6, ["builds the ensemble", "share of its time"]),
      (_Silent(), 4, 2, 3, ["builds the ensemble", "run forward only",
                            "does not say what it puts there"]),
      (_DROP, 30, 1, 60, ["serves its variables", "runs forward only",
                          "builds the ensemble", "that nobody trains",
                          "the speed of training that a worker gives"]),
  )
  def test_legend_has_what_is_there(self, strategy, m, n, k, expected):
    meanings = ("builds the ensemble", "share of its time", "run forward only",
                "serves its variables", "runs forward only",
                "that nobody trains", "does not say what it puts there",
                "the speed of training that a worker gives")
    sentences = _sentences(plan_picture.draw([_plan(strategy, m, n, k)]))
    self.assertCountEqual(expected, [m for m in meanings if m in sentences])

  def test_without_ps_there_is_nothing_of_them(self):
    sentences = _sentences(plan_picture.draw([_plan(_ROUND_ROBIN, 4, 0, 3)]))
    self.assertEqual(1, sentences.count("parameter server"))
    self.assertIn("0 parameter servers", sentences)
    self.assertNotIn("load", sentences)

  def test_not_known_is_not_nothing(self):
    figure = plan_picture.draw([_plan(_Silent(), 4, 2, 3)])
    self.assertIn("plan-0-ps-unknown", _gids(figure))
    self.assertEmpty([g for g in _gids(figure) if "serves" in g])
    self.assertIn("not known", _sentences(figure))

  @parameterized.named_parameters(*_SHAPES)
  def test_can_be_read(self, *shape):
    self._assert_can_be_read([_plan(*shape)])

  def test_can_be_read_together(self):
    self._assert_can_be_read([_plan(*shape[1:]) for shape in _SHAPES[:6]])

  def _assert_can_be_read(self, plans):
    figure = plan_picture.draw(plans)
    texts = _texts(figure)
    renderer = figure.canvas.get_renderer()
    boxes = [t.get_window_extent(renderer) for t in texts]
    width, height = figure.canvas.get_width_height()
    for t, box in zip(texts, boxes):
      self.assertTrue(
          box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width and box.y1 <= height,
          "{!r} sticks out: {} of {} x {}".format(t.get_text(), box.extents,
                                                  width, height))
      self.assertGreaterEqual(t.get_fontsize(), 7)
    for (a, box), (b, other) in itertools.combinations(zip(texts, boxes), 2):
      # Of the height of a line, a third is for letters that few words have.
      gap = 0.15 * min(box.height, other.height)
      self.assertFalse(
          box.x0 < other.x1 and other.x0 < box.x1 and
          box.y0 + gap < other.y1 and other.y0 + gap < box.y1,
          "{!r} and {!r} overlap".format(a.get_text(), b.get_text()))

  @parameterized.product(
      file_format=plan_picture.FORMATS, shape=((8, 4, 3), (100, 20, 60)))
  def test_writes_the_same_bytes_whatever_the_style(self, file_format, shape):
    expected = _written([_plan(_ROUND_ROBIN, *shape)], file_format)
    with matplotlib.rc_context({"font.size": 20, "lines.linewidth": 9,
                                "axes.facecolor": "red", "figure.dpi": 30,
                                "savefig.dpi": 50, "svg.hashsalt": "other"}):
      style = dict(matplotlib.rcParams)
      self.assertEqual(
          expected, _written([_plan(_ROUND_ROBIN, *shape)], file_format))
      self.assertEqual(style, dict(matplotlib.rcParams))

  def test_svg(self):
    plan = _plan(_ROUND_ROBIN, 8, 4, 3)
    svg = ElementTree.fromstring(_written([plan], "svg"))
    self.assertEqual("{http://www.w3.org/2000/svg}svg", svg.tag)
    self.assertContainsSubset(_cells(plan), [e.get("id") for e in svg.iter()])

  def test_png(self):
    self.assertStartsWith(
        _written([_plan(_ROUND_ROBIN, 8, 4, 3)], "png"), b"\x89PNG\r\n")

  @parameterized.parameters(*plan_picture.FORMATS)
  def test_large_one_is_small_in_bytes_and_memory(self, file_format):
    plan = _plan(_ROUND_ROBIN, 999000, 300, 1000)
    tracemalloc.start()
    self.addCleanup(tracemalloc.stop)
    size = len(_written([plan], file_format))
    _, most = tracemalloc.get_traced_memory()
    self.assertLess(size, 10**6)
    self.assertLess(most, 100 * 10**6)

  @parameterized.parameters(
      (TypeError, "plans=3: expected an iterable of PlacementPlan.", 3),
      (TypeError, "plans=(None,): expected an iterable of PlacementPlan.",
       [None]),
      (ValueError, "plans=(): expected at least one PlacementPlan.", []),
  )
  def test_refuses_what_is_no_plans(self, error, message, plans):
    for refuses in (plan_picture.draw,
                    lambda p: plan_picture.write(p, io.BytesIO(), "svg")):
      with self.assertRaises(error) as refused:
        refuses(plans)
      self.assertEqual(message, str(refused.exception))

  def test_refuses_one_plan_that_is_in_no_list(self):
    plan = _plan(_ROUND_ROBIN, 4, 2, 3)
    with self.assertRaisesRegex(
        TypeError, r"^plans=PlacementPlan\(.*: expected an iterable of "
        r"PlacementPlan\.$"):
      plan_picture.draw(plan)

  @parameterized.parameters("pdf", "PNG", "", None, 3, (["png"],))
  def test_refuses_another_format(self, file_format):
    file = io.BytesIO()
    with self.assertRaises(ValueError) as refused:
      plan_picture.write([_plan(_ROUND_ROBIN, 4, 2, 3)], file, file_format)
    self.assertEqual(
        "format={!r}: expected one of png, svg.".format(file_format),
        str(refused.exception))
    self.assertEmpty(file.getvalue())

  def test_imports_neither_pyplot_nor_tensorflow(self):
    _written([_plan(_ROUND_ROBIN, 4, 2, 3)], "png")
    self.assertNotIn("matplotlib.pyplot", sys.modules)
    self.assertNotIn("tensorflow", sys.modules)


if __name__ == "__main__":
  absltest.main()

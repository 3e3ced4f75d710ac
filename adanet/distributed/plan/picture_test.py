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
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
import hypothesis
from hypothesis import strategies as st
import matplotlib
from matplotlib import image
from matplotlib import text
from matplotlib import transforms
import numpy as np

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


_plan = plan_lib.PlacementPlan


def _draw(strategy, *shape):
  return plan_picture.draw([_plan(strategy, *shape)])


def _written(plans, file_format):
  file = io.BytesIO()
  plan_picture.write(plans, file, file_format)
  return file.getvalue()


def _named(figure, pattern="."):
  """Returns the artists whose gid has a pattern, and the matches."""
  return [(a, re.search(pattern, a.get_gid()))
          for a in figure.findobj(lambda a: a.get_gid())
          if re.search(pattern, a.get_gid())]


def _gids(figure):
  return [artist.get_gid() for artist, _ in _named(figure)]


def _image(figure, gid):
  (found, _), = [(a, m) for a, m in _named(figure, gid + "$")
                 if isinstance(a, image.AxesImage)]
  return found.get_array().filled(0)


def _boxes(figure):
  """Returns pairs of a visible text and its box, in pixels."""
  figure.draw_without_rendering()
  return [(t, t.get_window_extent()) for t in figure.findobj(text.Text)
          if t.get_visible() and t.get_text().strip()]


def _texts(figure):
  return [t.get_text() for t, _ in _boxes(figure)]


def _cells(plan, number=0):
  """Returns the gids that the picture of a small plan must have."""
  cells = []
  for w in range(plan.num_workers):
    owned = plan.worker(w)
    if owned.builds_ensemble:
      cells.append("worker-{}-ensemble".format(w))
    does = "trains" if owned.trains_subnetworks else "runs"
    cells.extend(
        "worker-{}-{}-{}".format(w, does, i) for i in owned.subnetworks)
  for p in range(plan.num_ps):
    cells.extend("ps-{}-serves-{}".format(p, i)
                 for i in plan.parameter_server(p).subnetworks)
  cells.extend("subnetwork-{}-speed".format(i)
               for i, speed in enumerate(plan.effective_speeds()) if speed)
  return ["plan-{}-{}".format(number, cell) for cell in cells]


class PlanPictureTest(parameterized.TestCase):

  @hypothesis.settings(max_examples=15)
  @hypothesis.given(
      st.sampled_from([_REPLICATION, _ROUND_ROBIN, _DROP, _NOT_DEDICATED]),
      st.integers(1, 9), st.integers(0, 5), st.integers(1, 8))
  def test_every_cell_is_of_the_plan(self, strategy, m, n, k):
    plan = _plan(strategy, m, n, k)
    self.assertCountEqual(_cells(plan), _gids(plan_picture.draw([plan])))

  def test_cells_are_at_their_names_in_their_colors(self):
    figure = _draw(_ROUND_ROBIN, 8, 4, 3)
    boxes = _boxes(figure)
    colors = collections.defaultdict(set)
    cells = _named(figure, r"(worker|ps)-(\d+)-(\w+)-(\d+)$")
    self.assertLen(cells, 2 * 3 + 6 + 4)
    for artist, match in cells:
      job, column, does, row = match.groups()
      box = artist.get_window_extent()
      row_y, = [(b.y0 + b.y1) / 2 for t, b in boxes
                if t.get_text() == "subnetwork " + row]
      self.assertAlmostEqual((box.y0 + box.y1) / 2, row_y, delta=4)
      name = "chief" if job == "worker" and column == "0" else column
      self.assertTrue(any(
          t.get_text() == name and
          abs(b.x0 + b.x1 - box.x0 - box.x1) < 6 for t, b in boxes))
      if does != "runs":
        colors[row].add(artist.get_facecolor())
    self.assertEqual([1, 1, 1], [len(c) for c in colors.values()])
    self.assertLen(set.union(*colors.values()), 3)

  @parameterized.parameters(7, 40)
  def test_no_two_subnetworks_have_the_same_color(self, k):
    cells = _named(_draw(_ROUND_ROBIN, 1, 0, k), "trains")
    self.assertLen({artist.get_facecolor() for artist, _ in cells}, k)

  @parameterized.parameters(
      (_ROUND_ROBIN, 100, 20, 7),
      (_DROP, 30, 90, 60),
      (_REPLICATION, 25, 13, 3),
  )
  def test_heat_map_is_of_the_plan(self, strategy, m, n, k):
    plan = _plan(strategy, m, n, k)
    speeds, runs = np.zeros((2, k, m))
    serves = np.zeros((k, n))
    ensemble = [[plan.worker(w).builds_ensemble for w in range(m)]]
    for w in range(m):
      owned = plan.worker(w)
      if owned.trains_subnetworks:
        speeds[list(owned.subnetworks), w] = 1. / owned.num_trained
      else:
        runs[list(owned.subnetworks), w] = 1
    for p in range(n):
      serves[list(plan.parameter_server(p).subnetworks), p] = 1
    figure = plan_picture.draw([plan])
    for gid, expected in (("workers-train", speeds), ("workers-run", runs),
                          ("workers-ensemble", ensemble), ("ps-serve", serves)):
      np.testing.assert_allclose(expected, _image(figure, gid))

  def test_columns_of_a_heat_map_are_at_their_workers(self):
    plan = _plan(_ROUND_ROBIN, 1000, 0, 50)  # Three a column, one in the last.
    figure = plan_picture.draw([plan])
    (artist, _), = _named(figure, "workers-train")
    self.assertEqual((-0.5, 999.5), artist.axes.get_xlim())
    left, right, _, _ = artist.get_extent()
    speeds = _image(figure, "workers-train")
    for w in range(1000):
      column = int((w - left) / (right - left) * speeds.shape[1])
      owned = plan.worker(w)
      if owned.trains_subnetworks:
        self.assertTrue(all(speeds[i, column] for i in owned.subnetworks), w)

  def test_writes_the_numbers(self):
    plan = _plan(_ROUND_ROBIN, 11, 4, 3)
    written = collections.Counter(_texts(plan_picture.draw([plan])))
    # Worker 9 trains two of the three, and the parameter servers 0 and 1 are
    # subnetwork 0's. Columns have numbers too.
    self.assertEqual([2.5, 3, 2.5], plan.effective_speeds().tolist())
    self.assertEqual([3, 3, 6, 6], plan.load_per_ps().tolist())
    self.assertEqual(2 + 1, written["1/2"])  # One is in the legend.
    self.assertEqual(2, written["2.5"])
    self.assertEqual(2 + 1, written["6"])
    self.assertEqual(2 + 2 + 1, written["3"])

  def test_panels_share_one_scale(self):
    plans = [_plan(s, m, n, 3) for m, n in ((6, 3), (42, 20))
             for s in (_ROUND_ROBIN, _DROP, _REPLICATION)]
    figure = plan_picture.draw(iter(plans))
    bars = _named(figure, r"plan-(\d)-subnetwork-(\d)-speed")
    self.assertLen(bars, 3 * len(plans))
    lengths = [artist.get_width() / plans[int(match.group(1))]
               .effective_speeds()[int(match.group(2))]
               for artist, match in bars]
    np.testing.assert_allclose(lengths, lengths[0])
    maps = [artist for artist, _ in _named(figure, "workers-train")]
    self.assertLen(maps, 3)
    self.assertEqual({(0, 1)}, {artist.get_clim() for artist in maps})
    share = 1. / 3  # The same speed has the same color in all maps.
    self.assertLen({artist.to_rgba(share) for artist in maps}, 1)

  def test_speed_profiles_share_one_scale(self):
    figure = plan_picture.draw(
        [_plan(s, 30, 0, 60) for s in (_ROUND_ROBIN, _DROP)])
    speeds = [axes for axes in figure.axes
              if [t.get_text() for t in axes.get_xticklabels()] == ["0", "1"]]
    self.assertEqual([(0, 1.05)] * 2, [axes.get_xlim() for axes in speeds[:2]])

  @parameterized.parameters((8, 4, 3), (88, 20, 7))
  def test_equal_plans_are_drawn_once(self, *shape):
    plans = [_plan(s, *shape) for s in (_ROUND_ROBIN, _REPLICATION, _DROP)]
    figure = plan_picture.draw(plans)
    self.assertEqual({"plan-0", "plan-1"}, {g[:6] for g in _gids(figure)})
    sentences = " ".join(_texts(figure))
    self.assertIn("{} and {} (2 equal plans)".format(_ROUND_ROBIN, _DROP),
                  sentences)
    self.assertLess(sentences.index("2 equal"), sentences.index("Replication"))

  @parameterized.parameters(
      (_ROUND_ROBIN, 6, 3, 3, ["5!"]),
      (_DROP, 4, 3, 6,
       ["! subnetwork 3", "! subnetwork 4", "! subnetwork 5"]),
      (_Lopsided(), 7, 3, 6, ["0!", "1!", "2!"]),
      (_ROUND_ROBIN, 7, 2, 6, []),
  )
  def test_marks_problems(self, strategy, m, n, k, marked):
    plan = _plan(strategy, m, n, k)
    texts = _texts(plan_picture.draw([plan]))
    self.assertEqual(marked, [t for t in texts if re.search(r"\d!|! ", t)])
    for problem in plan.problems():
      self.assertIn(problem.message, " ".join(texts))

  @parameterized.parameters(
      (_ROUND_ROBIN, 7, 2, 6, [0, 1, 3, 4]),
      (_REPLICATION, 7, 0, 6, [0, 2]),
      (_Silent(), 4, 2, 3, [0, 1, 5]),
      (_DROP, 30, 9, 60, [0, 1, 3, 4, 6, 7]),
  )
  def test_legend_has_what_is_there(self, strategy, m, n, k, expected):
    meanings = ("builds the ensemble", "run it forward only",
                "share of the worker's time", "holds variables",
                "bytes of each spread evenly", "does not say",
                "that no worker trains", "speed that a worker gives")
    sentences = " ".join(_texts(_draw(strategy, m, n, k)))
    self.assertEqual(expected, [
        i for i, meaning in enumerate(meanings) if meaning in sentences])
    self.assertEqual(n > 0, "parameter servers" in sentences.replace(
        "0 parameter servers", ""))

  def test_not_known_is_not_nothing(self):
    figure = _draw(_Silent(), 4, 2, 3)
    self.assertIn("plan-0-ps-unknown", _gids(figure))
    self.assertEmpty(_named(figure, "serves"))
    self.assertIn("not known", _texts(figure))

  @parameterized.parameters(
      [[(_ROUND_ROBIN, 4, 2, 3), (_DROP, 4, 2, 6), (_REPLICATION, 6, 4, 3)]],
      [[(_ROUND_ROBIN, 100, 20, 7), (_REPLICATION, 100, 20, 7)]],
      [[(_NOT_DEDICATED, 30, 300, 60), (_DROP, 30, 300, 60)]],
      [[(_ROUND_ROBIN, 10000, 300, 300)]],
      [[(_REPLICATION, 10000, 1, 1000)]],
      [[(_ROUND_ROBIN, 1, 0, 1), (_ROUND_ROBIN, 1, 1, 1)]],
      [[(_ROUND_ROBIN, 3, 5, 40)]],
      [[(_ROUND_ROBIN, 3, 5, 41)]],
      [[(_Silent(), 1, 2, 1), (_Silent(), 60, 2, 50)]],
      [[(_Lopsided(), 3, 5, 3), (_Lopsided(), 30, 50, 3)]],
      [[(_Named("Strategy" * 60), 4, 2, 3)]],
      [[(_Named("a strategy of many words " * 30), 2, 2, 2)]],
      [[(_Named("$x_1$ and $\\frac$\n\0"), 2, 2, 2)]],
  )
  def test_can_be_read(self, shapes):
    figure = plan_picture.draw([_plan(*shape) for shape in shapes])
    boxes = []
    for t, box in _boxes(figure):
      # Another font may be a little wider.
      wider = 0.03 * box.width * (t.get_rotation() == 0)
      left = {"left": 0, "center": 0.5, "right": 1}[t.get_ha()]
      boxes.append((t, transforms.Bbox.from_extents(
          box.x0 - left * wider, box.y0, box.x1 + (1 - left) * wider, box.y1)))
    width, height = figure.canvas.get_width_height()
    for t, box in boxes:
      self.assertTrue(
          0 <= box.x0 and box.x1 <= width and 0 <= box.y0 and box.y1 <= height,
          "{!r} sticks out: {} of {} x {}".format(t.get_text(), box.extents,
                                                  width, height))
      self.assertGreaterEqual(t.get_fontsize(), 7)
    for (a, box), (b, other) in itertools.combinations(boxes, 2):
      # Of the height of a line, a third is for letters that few words have.
      gap = 0.15 * min(box.height, other.height)
      self.assertFalse(
          box.x0 < other.x1 and other.x0 < box.x1 and
          box.y0 + gap < other.y1 and other.y0 + gap < box.y1,
          "{!r} and {!r} overlap".format(a.get_text(), b.get_text()))

  @parameterized.product(
      file_format=plan_picture.FORMATS, shape=((4, 2, 3), (37, 1, 2)))
  def test_writes_the_same_bytes_in_any_style(self, file_format, shape):
    expected = _written([_plan(_ROUND_ROBIN, *shape)], file_format)
    with matplotlib.rc_context({"font.size": 20, "lines.linewidth": 9,
                                "axes.facecolor": "red", "figure.dpi": 30,
                                "savefig.dpi": 50, "svg.hashsalt": "other",
                                "font.family": "serif"}):
      style = dict(matplotlib.rcParams)
      self.assertEqual(
          expected, _written([_plan(_ROUND_ROBIN, *shape)], file_format))
      self.assertEqual(style, dict(matplotlib.rcParams))
    if file_format == "png":
      self.assertStartsWith(expected, b"\x89PNG\r\n")

  @parameterized.parameters((8, 4, 3), (37, 0, 41))
  def test_text_of_svg_can_be_searched(self, *shape):
    plan = _plan(_DROP, *shape)
    svg = ElementTree.fromstring(_written([plan], "svg"))
    texts = [e for e in svg.iter() if e.tag.endswith("}text")]
    self.assertCountEqual(_texts(plan_picture.draw([plan])),
                          ["".join(e.itertext()) for e in texts])
    for e in texts:
      self.assertRegex(e.get("style"),
                       r"'DejaVu Sans', '?Verdana'?, sans-serif(;|$)")
    if shape[0] == 8:
      self.assertContainsSubset(_cells(plan), [e.get("id") for e in svg.iter()])

  @parameterized.parameters(*plan_picture.FORMATS)
  def test_large_one_is_small_in_bytes_and_memory(self, file_format):
    plan = _plan(_ROUND_ROBIN, 999000, 300, 100)
    tracemalloc.start()
    self.addCleanup(tracemalloc.stop)
    size = len(_written([plan], file_format))
    _, most = tracemalloc.get_traced_memory()
    self.assertLess(size, 10**6)
    self.assertLess(most, 100 * 10**6)

  @parameterized.parameters(
      (TypeError, r"plans=3: expected an iterable of PlacementPlan\.", 3),
      (TypeError, r"plans=\(None,\): expected an iterable of PlacementPlan\.",
       [None]),
      (TypeError, r"plans=PlacementPlan\(.*\): expected an iterable of "
       r"PlacementPlan\.", _plan(_ROUND_ROBIN, 4, 2, 3)),
      (ValueError, r"plans=\(\): expected at least one PlacementPlan\.", []),
  )
  def test_refuses_what_is_no_plans(self, error, message, plans):
    for refuses in plan_picture.draw, lambda p: _written(p, "svg"):
      with self.assertRaisesRegex(error, "^" + message + "$"):
        refuses(plans)

  @parameterized.parameters("pdf", "PNG", None, (["png"],))
  def test_refuses_another_format(self, file_format):
    with self.assertRaisesRegex(ValueError, re.escape(
        "format={!r}: expected one of png, svg.".format(file_format))):
      _written([_plan(_ROUND_ROBIN, 4, 2, 3)], file_format)

  def test_imports_neither_pyplot_nor_tensorflow(self):
    _written([_plan(_ROUND_ROBIN, 4, 2, 3)], "png")
    self.assertNotIn("matplotlib.pyplot", sys.modules)
    self.assertNotIn("tensorflow", sys.modules)


if __name__ == "__main__":
  absltest.main()

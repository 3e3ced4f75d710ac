# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what all pictures share: files, texts, and the scale of curves."""

import math
import re

from absl.testing import absltest
from absl.testing import parameterized
from adanet.console import drawing
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
import hypothesis
from hypothesis import strategies as st
import matplotlib
import numpy as np


def _draw(mode, *curves, labels=None):
  """Returns the axes of curves, and the texts of their legend."""
  best = np.nanargmin if mode == "min" else np.nanargmax
  with drawing.default_style():
    page = drawing.Page(5.)
    axes = page.axes(1., page.y, 3., 2., "a $title$ of \x1b")
    drawing.draw_curves(axes, [drawing.Curve(
        labels[i] if labels else str(i), "black",
        list(enumerate(values, 1)), [(1 + best(values), values[best(values)])])
                               for i, values in enumerate(curves)], "x", mode)
    page.skip(2.3)
    page.finish()
  return axes, [text.get_text() for text in axes.get_legend().get_texts()]


def _curve(first, last, epochs):
  return list(last + (first - last) * np.exp(-np.arange(epochs) / 2))


_A, _B = _curve(9., .1, 30), _curve(8., .09, 20)
_C, _D = _curve(.2, .97, 20), _curve(.1, .96, 20)


class DrawingTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ("losses", "min", (_A, _B, [.08] * 2)),
      ("failed", "min", (_A, _B, [.08] * 2, [5., 1e9, math.inf, 1e12],
                         [9.] * 6)),
      ("worse", "min", (_A, _B, _curve(9., .3, 20))),
      ("negative", "min", ([a - 3 for a in _A], [b - 3.1 for b in _B])),
      ("accuracies", "max", (_C, _D, [.98] * 2)),
      ("at_random", "max", (_C, _D, [.1] * 6)))
  def test_curves_can_be_read(self, mode, curves):
    axes, labels = _draw(mode, *curves)
    outside = "above" if mode == "min" else "below"
    self.assertEqual(f"x; values {outside} the frame are not shown",
                     axes.get_xlabel())
    shown = axes.transData + axes.transAxes.inverted()
    best = min if mode == "min" else max
    heights = [shown.transform((1, best(filter(np.isfinite, curve))))[1]
               for curve in curves]
    self.assertGreater(abs(heights[0] - heights[1]), .02)
    for height in heights[:2]:
      self.assertBetween(height, .02, .98)
    # A curve without any value in the frame is named.
    for i, height in enumerate(heights):
      self.assertEqual(str(i) + f", {outside} the frame" * (not 0 < height < 1),
                       labels[i])

  @parameterized.parameters(
      ([1.],), ([1.] * 9,), ([math.nan, 1.],), ([.5, .7, .9],))
  def test_short_curves_are_shown_as_a_whole(self, values):
    axes, labels = _draw("max", values)
    self.assertEqual("x", axes.get_xlabel())
    self.assertEqual(["0"], labels)
    lowest, highest = axes.get_ylim()
    self.assertBetween(np.nanmin(values), lowest, highest)
    self.assertBetween(np.nanmax(values), lowest, highest)

  @parameterized.parameters(([math.inf],), ([1e-300, 1e300],), ([-1e308, 1.],))
  def test_values_that_no_scale_has(self, values):
    for mode in "min", "max":
      axes, _ = _draw(mode, values)
      axes.figure.draw_without_rendering()
      self.assertTrue(np.isfinite(axes.get_ylim()).all())

  def test_all_values_are_shown_without_a_mode(self):
    values = [1e-100, 3., 1e100]
    axes, labels = _draw(None, values)
    self.assertEqual(["0"], labels)
    lowest, highest = axes.get_ylim()
    for value in values:
      self.assertBetween(value, lowest, highest)

  @hypothesis.given(
      st.sampled_from(("min", "max", None)), st.lists(
          st.lists(st.floats(-3, 3), min_size=1, max_size=9), min_size=1,
          max_size=4))
  def test_values_outside_are_outside(self, mode, curves):
    hypothesis.assume(all(len(set(curve)) == len(curve) for curve in curves))
    axes, labels = _draw(mode, *curves)
    lowest, highest = axes.get_ylim()
    above, below = [any(is_outside(value) for curve in curves
                        for value in curve) for is_outside in (
        lambda value: value > highest, lambda value: value < lowest)]
    self.assertEqual((above, below), (
        "above the frame" in axes.get_xlabel(),
        "below the frame" in axes.get_xlabel()))
    for i, (curve, label) in enumerate(zip(curves, labels)):
      best = max(curve) if mode == "max" else min(curve)
      self.assertEqual(
          label == str(i), mode is None or lowest <= best <= highest, label)

  def test_labels(self):
    labels = ["_a", "$b$", "c" * 99, "d"] + [str(i) for i in range(10)]
    axes, texts = _draw("min", *[[1.]] * 14, labels=labels)
    self.assertEqual([" _a", r"\$b\$"], texts[:2])
    self.assertLess(len(texts[2]), 40)
    self.assertEqual(["8", "and 1 more"], texts[-2:])
    self.assertEqual(r"a \$title\$ of ?", axes.get_title(loc="left"))

  @parameterized.parameters(
      (.1, ""), (.2, "t0..g"), (.28, "t0_long"), (.4, r"a \$1 text"))
  def test_text_that_fits(self, width, expected):
    self.assertEqual(expected, drawing.fit(width, 5, "a $1 text", "t0_long"))

  @parameterized.parameters(*drawing.FORMATS)
  def test_same_bytes_whatever_the_user_sets(self, file_format):
    file = self.create_tempfile("a." + file_format.upper())
    settings = {"font.size": 20, "lines.linewidth": 9, "axes.facecolor": "red",
                "figure.dpi": 30, "savefig.dpi": 50, "svg.hashsalt": "other",
                "font.family": "serif"}
    contents = []
    for changed in {}, settings:
      with matplotlib.rc_context(changed):
        style = dict(matplotlib.rcParams)
        drawing.save(_draw("min", _A, _B)[0].figure, file.full_path)
        self.assertEqual(style, dict(matplotlib.rcParams))
      contents.append(file.read_bytes())
    self.assertEqual(*contents)
    self.assertStartsWith(contents[0], {
        "pdf": b"%PDF", "png": b"\x89PNG\r\n", "svg": b"<?xml"}[file_format])
    self.assertIsNone(re.search(b"20[0-9][0-9]-", contents[0]))

  @parameterized.parameters("a.jpg", "svg", "a", "")
  def test_other_endings(self, path):
    with self.assertRaisesRegex(ValueError, "^path='.*': expected a file that"):
      drawing.save(_draw("min", _A)[0].figure, path)


if __name__ == "__main__":
  absltest.main()

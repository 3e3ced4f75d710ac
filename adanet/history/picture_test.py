# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the picture of a report."""

import math

from absl.testing import absltest
from absl.testing import parameterized
from adanet.history import history as history_lib
from adanet.history import picture
from adanet.history import records
from adanet.testing import histories
from adanet.testing import level
from matplotlib import text as text_lib
import numpy as np

_BUILDERS = tuple(f"dnn_{i}" for i in range(30))


def _texts(figure):
  figure.draw_without_rendering()
  return [text.get_text() for text in figure.findobj(text_lib.Text)
          if text.get_visible()]


def _axes(figure, title):
  return next(axes for axes in figure.axes
              if axes.get_title(loc="left") == title)


class PictureTest(parameterized.TestCase):

  def test_says_who_trained_what(self):
    figure = picture.draw(histories.search())
    texts = _texts(figure)
    for text, number in (
        ("chief:0", 1), ("worker:2", 1), ("ps:0, 1", 1),
        ("3 ensembles: 1000 steps", 1), ("4 ensembles: 1000 steps", 2),
        ("linear: 1000 steps", 3), ("holds variables", 3),
        ("t1_2_layers", 1), ("0.333", 1), ("no new subnetwork", 1)):
      self.assertEqual(number, texts.count(text), text)
    tasks = _axes(figure, "Who trained what, by iteration")
    weights = _axes(figure, "Mean weights at the end")
    # A builder has the same color everywhere. worker:2 is the fourth row.
    color = weights.patches[0].get_facecolor()
    self.assertEqual({3}, {
        round(patch.get_y() + patch.get_height() / 2) for patch in tasks.patches
        if patch.get_facecolor() == color})
    np.testing.assert_allclose(
        [1 / 6, 1 / 3, 1 / 2], [bar.get_width() for bar in weights.patches])

  @parameterized.parameters(3, 1)
  def test_candidates_and_winners(self, iterations):
    search = histories.search()
    search = search._replace(iterations=search.iterations[:iterations])
    axes = _axes(picture.draw(search), "Candidates, by adanet_loss")
    drawn = [y for line in axes.lines for y in line.get_ydata()
             if line.get_marker() == "o" and line.get_color() != "#222222"]
    values = [[c.value for c in record.candidates]
              for record in search.iterations]
    self.assertCountEqual(sum(values, []), drawn)
    line, dots = [line for line in axes.lines if line.get_color() == "#222222"
                  and len(line.get_xdata())]
    self.assertEqual(list(map(min, values)), list(line.get_ydata()))
    # Also after one iteration, behind the dot of the candidate.
    self.assertEqual(list(map(min, values)), list(dots.get_ydata()))
    others = [line for line in axes.lines if line.get_marker() == "o"]
    self.assertEqual(max(others, key=lambda line: line.get_markersize()),
                     min(others, key=lambda line: line.get_zorder()))

  @level.gate
  def test_many_workers(self):
    figure = picture.draw(histories.search(10, 1000, 20, _BUILDERS))
    texts = _texts(figure)
    self.assertIn("worker:0 to 998", texts)
    self.assertIn("1 each", texts)
    width, height = figure.get_size_inches()
    self.assertLess(width, 12)
    self.assertLess(height, 9)

  @level.gate
  def test_many_iterations(self):
    figure = picture.draw(histories.search(100, 3, 1, ("a", "b")))
    self.assertIn("Who trained what, by iteration: the last 30",
                  _texts(figure))
    self.assertIn("and 85 more", _texts(figure))

  @parameterized.named_parameters(level.first([
      ("nothing", ()),
      ("no_values", (records.CandidateRecord("a", None, ("b",), (None,)),)),
      ("nan", (records.CandidateRecord("a", math.nan, ("b",), (math.inf,)),
               records.CandidateRecord("c", math.inf, (), ()))),
      ("large", (records.CandidateRecord("a", 1e100, ("b",), (1e100,)),
                 records.CandidateRecord("c", 1e-100, ("$b$",), (-1.,)))),
      ("names", (records.CandidateRecord("$\\x" * 40, 1., ("%$_^" * 40,)),))
  ]))
  def test_odd_records(self, candidates):
    report = history_lib.History("m", tuple(
        records.IterationRecord(i, candidates, "a") for i in range(2)), (
            records.TaskRecord("chief", 0, (), {"a": 0}),
            records.TaskRecord("worker:1", 2, (), {}, 0., 0)))
    report.picture(self.create_tempfile("a.svg").full_path)
    picture.draw(report._replace(tasks=()))
    picture.draw(report._replace(iterations=()))


if __name__ == "__main__":
  absltest.main()

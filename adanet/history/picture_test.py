# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the picture of a report."""

import math
import re

from absl.testing import absltest
from absl.testing import parameterized
from adanet.history import history as history_lib
from adanet.history import picture
from adanet.history import records
from adanet.testing import histories
from adanet.testing import level
import matplotlib

_BUILDERS = tuple(f"dnn_{i}" for i in range(30))


def _texts(figure):
  texts = [text.get_text() for text in figure.texts]
  for axes in figure.axes:
    texts += [text.get_text() for text in axes.texts]
  return texts


def _gids(figure):
  artists = figure.findobj(lambda artist: artist.get_gid() is not None)
  return [artist.get_gid() for artist in artists]


class PictureTest(parameterized.TestCase):

  def test_says_who_trained_what(self):
    figure = picture.draw(histories.search())
    texts, gids = _texts(figure), _gids(figure)
    for text, number in (
        ("chief:0", 1), ("worker:2", 1), ("ps:1", 1), ("iteration 2", 1),
        ("3 ensembles: 1000 steps", 1), ("4 ensembles: 1000 steps", 2),
        ("linear: 1000 steps", 3), ("holds variables", 6),
        ("t1_2_layers", 1), ("t1_2_layers..", 1), ("0.333", 1),
        ("Candidates, by adanet_loss", 1)):
      self.assertEqual(number, texts.count(text), text)
    for gid in ("worker-1-iteration-2-0", "iteration-2-candidate-3",
                "winners", "weight-2"):
      self.assertIn(gid, gids)
    colors = {artist.get_gid(): artist.get_facecolor()
              for artist in figure.artists + figure.patches
              if artist.get_gid()}
    # A builder has the same color everywhere.
    self.assertEqual(colors["worker-2-iteration-0-0"], colors["weight-0"])
    self.assertNotEqual(colors["worker-1-iteration-0-0"], colors["weight-0"])

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
    for ending in picture.FORMATS:
      report.picture(self.create_tempfile("a." + ending).full_path)
    picture.draw(report._replace(tasks=()))
    picture.draw(report._replace(iterations=()))

  @parameterized.parameters(level.first(sorted(picture.FORMATS)[::-1]))
  def test_same_bytes_whatever_the_user_sets(self, ending):
    file = self.create_tempfile("a." + ending)
    histories.search().picture(file.full_path)
    expected = file.read_bytes()
    with matplotlib.rc_context({"font.size": 30, "lines.linewidth": 9}):
      histories.search().picture(file.full_path)
    self.assertEqual(expected, file.read_bytes())
    self.assertIsNone(re.search(b"20[0-9][0-9]-", expected))

  @parameterized.parameters("a.jpg", "svg", "a", "")
  def test_other_endings(self, path):
    with self.assertRaisesRegex(ValueError, "^path='.*': expected a file that"):
      histories.search().picture(path)

  def test_ending_in_capitals(self):
    file = self.create_tempfile("a.PNG")
    history_lib.History("m").picture(file.full_path)
    self.assertStartsWith(file.read_bytes(), b"\x89PNG")


if __name__ == "__main__":
  absltest.main()

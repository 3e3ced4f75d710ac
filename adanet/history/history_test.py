# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the leaderboard and of the page, held against the records."""

import html
import re
from xml.dom import minidom

from absl.testing import absltest
from adanet.history import history as history_lib
from adanet.history import records
from adanet.testing import histories


def _text(page):
  """Returns the text of a page, without its picture."""
  tables = page[page.index("<pre"):page.index("</pre>")]
  return html.unescape(re.sub(r"<[^>]*>", "", tables))


def _contrast(color, background):
  """Returns the contrast of two colors, "#rrggbb", as WCAG 2.1 has it."""
  lights = []
  for code in color, background:
    parts = [int(code[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= .04045 else (
        (part + .055) / 1.055)**2.4 for part in parts)
    lights.append(.2126 * red + .7152 * green + .0722 * blue + .05)
  return max(lights) / min(lights)


class LeaderboardTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self.search = histories.search()

  def test_ensembles(self):
    leaderboard = history_lib.rows(self.search)
    last = self.search.iterations[-1]
    first = leaderboard[0]
    self.assertEqual((last.winner, True, last.winning.value),
                     (first.name, first.won, first.value))
    rows = [row for row in leaderboard if row.kind == "ensemble"]
    recorded = {}
    for record in self.search.iterations:
      for candidate in record.candidates:
        recorded[candidate.name] = candidate, record
    self.assertCountEqual(recorded, [row.name for row in rows])
    for row in rows:
      candidate, record = recorded[row.name]
      self.assertEqual(
          (record.iteration, record.winner == candidate.name, candidate.value,
           dict(zip(candidate.subnetworks, candidate.weights))),
          (row.iteration, row.won, row.value, row.weights))
    numbers = [row.iteration for row in leaderboard]
    self.assertEqual(sorted(numbers, reverse=True), numbers)

  def test_networks(self):
    candidate = records.CandidateRecord(
        "t0_all", .1, ("t0_c", "t0_b"), (.75, .25))
    iteration = records.IterationRecord(
        0, (candidate,), "t0_all", global_step=9, seconds=8., subnetworks={
            "t0_a": records.SubnetworkRecord(9, .2, held_out_loss=.01),
            "t0_b": records.SubnetworkRecord(
                9, .3, held_out_loss=.02, seconds=7.),
            "t0_c": records.SubnetworkRecord(9),
            "t0_d": records.SubnetworkRecord(0)})
    leaderboard = history_lib.rows(history_lib.History("m", (iteration,)))
    network = history_lib.Row("", "network", 0, False, "loss", None, weight=0.,
                              steps=9, global_step=9)
    self.assertEqual([
        network._replace(name="t0_b", won=True, value=.02, weight=.25,
                         train_loss=.3, seconds=7.),
        network._replace(name="t0_c", won=True, weight=.75),
        network._replace(name="t0_a", value=.01, train_loss=.2),
        network._replace(name="t0_d", steps=0)], leaderboard[1:])
    self.assertEqual("t0_all", leaderboard[0].name)

  def test_no_iteration_has_no_row(self):
    self.assertEqual([], history_lib.rows(history_lib.History("m")))

  def test_page_has_the_tables_and_the_picture(self):
    search = self.search._replace(model_dir="/tmp/<a> & b")
    page = search.html()
    self.assertIn("<title>/tmp/&lt;a&gt; &amp; b</title>", page)
    for record in search.iterations:
      self.assertIn(f"Iteration {record.iteration}", _text(page))
    picture = page[page.index("<svg"):page.index("</svg>") + len("</svg>")]
    self.assertNotEmpty(
        minidom.parseString(picture).getElementsByTagName("path"))
    # A notebook gets the same, in a part of its own page.
    self.assertIn(search._repr_html_(), page)

  def test_colors_of_the_page_suit_a_light_and_a_dark_theme(self):
    colors = set(re.findall(r"[^-]color: (#\w{6})", self.search._repr_html_()))
    self.assertLen(colors, 3)
    for color in colors:
      for background in "#ffffff", "#111111":  # Jupyter's.
        self.assertGreater(_contrast(color, background), 3.9, color)


if __name__ == "__main__":
  absltest.main()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the leaderboard and of the page, held against the records."""

import html
import re
from xml.dom import minidom

from absl.testing import absltest
from adanet.history import example
from adanet.history import leaderboard
from adanet.history import report as report_lib


def _text(page):
  """Returns the text of a page, without its picture."""
  tables = page[page.index("<pre"):page.index("</pre>")]
  return html.unescape(re.sub(r"<[^>]*>", "", tables))


class LeaderboardTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self.search = example.search()

  def test_rows_are_the_candidates_of_the_records(self):
    rows = leaderboard.rows(self.search)
    last = self.search.iterations[-1]
    self.assertEqual((last.winner, True, last.winning.value),
                     tuple(rows[0][key] for key in ("ensemble", "won", "value")))
    recorded = {}
    for record in self.search.iterations:
      for candidate in record.candidates:
        recorded[candidate.name] = candidate, record
    self.assertCountEqual(recorded, [row["ensemble"] for row in rows])
    for row in rows:
      candidate, record = recorded[row["ensemble"]]
      self.assertEqual(
          (record.iteration, record.winner == candidate.name, candidate.value,
           dict(zip(candidate.subnetworks, candidate.weights))),
          (row["iteration"], row["won"], row["value"], row["weights"]))
    numbers = [row["iteration"] for row in rows]
    self.assertEqual(sorted(numbers, reverse=True), numbers)

  def test_no_iteration_has_no_row(self):
    self.assertEqual([], leaderboard.rows(report_lib.History("m")))

  def test_page_has_the_tables_and_the_picture(self):
    search = self.search._replace(model_dir="/tmp/<a> & b")
    page = leaderboard.page(search)
    self.assertIn("<title>/tmp/&lt;a&gt; &amp; b</title>", page)
    for record in search.iterations:
      self.assertIn(f"Iteration {record.iteration}", _text(page))
    picture = page[page.index("<svg"):page.index("</svg>") + len("</svg>")]
    self.assertNotEmpty(minidom.parseString(picture).getElementsByTagName("path"))
    # A notebook gets the same, in a part of its own page.
    self.assertIn(search._repr_html_(), page)


if __name__ == "__main__":
  absltest.main()

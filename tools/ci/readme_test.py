# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the table of the legs, and of its place in README.md."""

from absl.testing import absltest
from absl.testing import parameterized
from tools.ci import readme
from tools.ci import results

_VERSIONS = {"TensorFlow": "2.21.0", "Python": "3.11.7", "NumPy": "2.4.6",
             "Keras": "2.21.0"}
_ROWS = [
    readme.Row("tf2_21", _VERSIONS, results.Counts(1234, 0, 5)),
    readme.Row("tf2_15", {}, results.Counts(0, 1, 0)),
    readme.Row("tf1_15", {}, None),
]
_TABLE = """\
| leg      | TensorFlow | Python | NumPy | Keras  | passed | failed | skipped |
| -------- | ---------- | ------ | ----- | ------ | -----: | -----: | ------: |
| `tf2_21` | 2.21.0     | 3.11.7 | 2.4.6 | 2.21.0 |   1234 |      0 |       5 |
| `tf2_15` | ?          | ?      | ?     | ?      |      0 |      1 |       0 |
| `tf1_15` | left out   |        |       |        |        |        |         |
"""
_README = "# Title\n\nà\n\n{}\n{}\n\n## Next\n".format(
    readme.BEGIN, readme.END)


def _with_counts(leg, *counts):
  return readme.Row(leg, {}, results.Counts(*counts))


class ReadmeTest(parameterized.TestCase):

  def test_table(self):
    self.assertEqual(_TABLE, readme.table(_ROWS))

  def test_update(self):
    expected = "# Title\n\nà\n\n{}\n{}\n\n{}{}\n\n## Next\n".format(
        readme.BEGIN, "Test cases on 2026-11-20:", _TABLE, readme.END)
    once = readme.update(_README, _ROWS, "2026-11-20")
    self.assertEqual(expected, once)
    other = readme.update(_README, _ROWS[:1], "2025-01-01")
    self.assertEqual(expected, readme.update(other, _ROWS, "2026-11-20"))

  @parameterized.named_parameters(
      ("same", _ROWS, []),
      ("other_versions", [_with_counts("tf2_21", 1234, 0, 5)], []),
      ("other_counts", [_with_counts("tf2_21", 1235, 0, 5)], ["tf2_21"]),
      ("fewer_digits", [_with_counts("tf2_21", 123, 0, 5)], ["tf2_21"]),
      ("was_left_out", [_with_counts("tf1_15", 1, 0, 0)], ["tf1_15"]),
      ("is_left_out", [readme.Row("tf2_21", {}, None)], []),
      ("new", [_with_counts("tf3_0", 1, 0, 0)], ["tf3_0"]),
  )
  def test_stale_legs(self, rows, expected):
    text = readme.update(_README, _ROWS, "2026-11-20")
    self.assertEqual(expected, readme.stale_legs(text, rows))

  def test_stale_where_there_is_no_table_yet(self):
    self.assertEqual(["tf2_21", "tf2_15"], readme.stale_legs(_README, _ROWS))

  @parameterized.named_parameters(
      ("none", "# Title\n"),
      ("no_end", readme.BEGIN + "\n"),
      ("no_begin", readme.END + "\n"),
      ("wrong_order", readme.END + "\n" + readme.BEGIN + "\n"),
      ("twice", _README + _README),
      ("begin_twice", readme.BEGIN + "\n" + _README),
      ("end_twice", _README + readme.END + "\n"),
      ("not_lines", readme.BEGIN + " " + readme.END),
  )
  def test_no_place_for_the_table(self, text):
    for call in (lambda: readme.check(text),
                 lambda: readme.update(text, _ROWS, "2026-11-20"),
                 lambda: readme.stale_legs(text, _ROWS)):
      with self.assertRaisesRegex(ValueError, "README.md: expected one line"):
        call()


if __name__ == "__main__":
  absltest.main()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the rules of a count, a number, rows and a folder."""

import fractions
import pathlib

from absl.testing import absltest
from absl.testing import parameterized
from adanet import checks
import numpy as np

_LEAST = "n={}: expected an integer of at least 2."
_NUMBER = "n={}: expected a positive number."
_FOLDER = "n={}: expected the path of a folder."


class ChecksTest(parameterized.TestCase):

  def _assert_refuses(self, error, message, call, *args, **kwargs):
    with self.assertRaises(error) as caught:
      call("n", *args, **kwargs)
    self.assertEqual(message, str(caught.exception))

  @parameterized.parameters(2, np.int64(3), np.uint8(4), 10**20)
  def test_count(self, value):
    count = checks.check_count("n", value, 2)
    self.assertIs(int, type(count))
    self.assertEqual(value, count)

  @parameterized.parameters(
      (1, ValueError, "1"), (np.int64(-1), ValueError, repr(np.int64(-1))),
      (2., TypeError, "2.0"), (1e3, TypeError, "1000.0"),
      (True, TypeError, "True"), ("3", TypeError, "'3'"),
      (None, TypeError, "None"), ([3] * 99, TypeError, "a value of type list"),
      (np.bool_(True), TypeError, repr(np.bool_(True))),
      (np.array(3), TypeError, "array(3)"))
  def test_no_count(self, value, error, text):
    self._assert_refuses(
        error, _LEAST.format(text), checks.check_count, value, 2)

  def test_count_below(self):
    self.assertEqual(3, checks.check_count("n", 3, 0, 4))
    self._assert_refuses(ValueError, "n=4: expected an integer in [0, 4).",
                         checks.check_count, 4, 0, 4)

  def test_count_or_none(self):
    self.assertIsNone(checks.check_count("n", None, or_none=True))
    self._assert_refuses(
        ValueError, "n=0: expected an integer of at least 1, or None.",
        checks.check_count, 0, or_none=True)

  @parameterized.parameters(
      1, .5, np.float32(.5), np.int8(1), fractions.Fraction(1, 3), float("inf"))
  def test_number(self, value):
    self.assertIs(value, checks.check_number(
        "n", value, lambda number: number > 0, "a positive number"))

  @parameterized.parameters(
      (0, ValueError, "0"), (float("nan"), ValueError, "nan"),
      (True, TypeError, "True"), ("1", TypeError, "'1'"),
      (None, TypeError, "None"), (1j, TypeError, "1j"))
  def test_no_number(self, value, error, text):
    self._assert_refuses(
        error, _NUMBER.format(text), checks.check_number, value,
        lambda number: number > 0, "a positive number")

  @parameterized.parameters(
      ({"x": 2, "y": 2}, None), ({"x": 2}, None), ({"x": 0}, "x has no rows."),
      ({"x": 2, "y": 2, "z": 3},
       "x has 2 rows and z has 3: expected as many in each."))
  def test_rows(self, counts, message):
    if message is None:
      self.assertEqual(2, checks.check_rows(counts))
    else:
      with self.assertRaises(ValueError) as caught:
        checks.check_rows(counts)
      self.assertEqual(message, str(caught.exception))

  def test_folder(self):
    for value in "a/b", b"a/b", pathlib.Path("a", "b"):
      self.assertEqual("a/b", checks.check_folder("n", value))
    self.assertIsNone(checks.check_folder("n", None))
    self._assert_refuses(
        TypeError, "n=3: expected the path of a folder, or None.",
        checks.check_folder, 3)
    self._assert_refuses(
        TypeError, _FOLDER.format("None"), checks.check_folder, None, False)
    self._assert_refuses(
        ValueError, _FOLDER.format("''") + " Is a variable of the shell not "
        "set? For the current folder give \".\".", checks.check_folder, "",
        False)


if __name__ == "__main__":
  absltest.main()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what messages say of values, errors, names, counts and times."""

from absl.testing import absltest
from absl.testing import parameterized
from adanet import messages
import numpy as np


class MessagesTest(parameterized.TestCase):

  @parameterized.parameters(
      ("a" * 200, "a" * 200), ("a" * 201, "a" * 200 + "..."))
  def test_shorten(self, text, expected):
    self.assertEqual(expected, messages.shorten(text))

  @parameterized.parameters(
      (None, "None"), (1.5, "1.5"), ("a", "'a'"), ([1, 2], "[1, 2]"),
      ("b" * 99, "'" + "b" * 59 + "..."), ([1] * 99, "a value of type list"),
      (np.zeros([2, 2]), "a value of type ndarray"), (int, "the class int"),
      (object(), "a value of type object"))
  def test_describe(self, value, text):
    self.assertEqual(text, messages.describe(value))

  @parameterized.parameters(
      (ValueError("a\n  b"), "a b"), (KeyError("a"), "a"),
      (ValueError(), "ValueError"),
      (ValueError("Detected at node a\n\nb\n\nwrong [[{{node c}}]]"), "wrong"),
      (ValueError("{{function_node a_device_/job:b}} c [Op:Mul]"), "c"),
      (ValueError(
          "Exception encountered when calling Crash.call().\n\n\x1b[1mNo "
          "memory.\x1b[0m\n\nArguments received by Crash.call():\n  • x=1"),
       "No memory. (in Crash.call())"),
      (ValueError("Could not automatically infer the shape. Error encountered:"
                  "\n\nNo memory."), "No memory."),
      (ValueError("c" * 9999), "c" * 2000 + "..."))
  def test_one_line(self, error, text):
    self.assertEqual(text, messages.one_line(error))

  @parameterized.parameters(
      ([], ""), (["a"], "a"), ("abc", "a, b, c"),
      ("abcde", "a, b, c and 2 more"))
  def test_list_names(self, names, text):
    self.assertEqual(text, messages.list_names(names))

  @parameterized.parameters(
      (0, "0 rows"), (1, "1 row"), ("1,000", "1,000 rows"))
  def test_count(self, number, text):
    self.assertEqual(text, messages.count(number, "row"))

  @parameterized.parameters(
      (0, "0:00"), (9.6, "0:10"), (59.5, "1:00"), (61, "1:01"),
      (3600, "1:00:00"), (360000, "100:00:00"))
  def test_duration(self, seconds, text):
    self.assertEqual(text, messages.duration(seconds))

  @parameterized.parameters((5.25, "5.25 s"), (59.9, "59.9 s"), (119.7, "2:00"))
  def test_short_duration(self, seconds, text):
    self.assertEqual(text, messages.short_duration(seconds))


if __name__ == "__main__":
  absltest.main()

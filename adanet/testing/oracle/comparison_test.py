# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of comparison."""

from absl.testing import absltest
from absl.testing import parameterized
from adanet.testing.oracle import comparison

_NAN = float("nan")


class ComparisonTest(parameterized.TestCase):

  @parameterized.parameters(
      ({"a": [1, 2.]}, {"a": [1, 2. + 1e-6]}),
      (1000., 1000.005),
      (_NAN, _NAN),
      ("text", "text"),
      (None, None),
  )
  def test_equal(self, expected, actual):
    self.assertEmpty(comparison.differences(expected, actual, 1e-5))

  @parameterized.parameters(
      ({"a": 1}, {"a": 2}, "/a: expected 1, got 2"),
      ({"a": 1}, {}, "/a: missing, expected 1"),
      ({}, {"a": 1}, "/a: not expected, got 1"),
      ([1., [2.]], [1., [2.001]], "/1/0: expected 2.0, got 2.001"),
      ([1.], [1., 2.], ": expected [1.0], got [1.0, 2.0]"),
      (True, 1, ": expected True, got 1"),
      (0., _NAN, ": expected 0.0, got nan"),
      (_NAN, 0., ": expected nan, got 0.0"),
      ("one", "two", ": expected 'one', got 'two'"),
      ({"a": 1}, [1], ": expected {'a': 1}, got [1]"),
  )
  def test_different(self, expected, actual, line):
    self.assertEqual([line], comparison.differences(expected, actual, 1e-5))


if __name__ == "__main__":
  absltest.main()

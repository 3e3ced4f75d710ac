# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which cases of a test run at which level.

`test //...` runs a case of each behaviour, and `--config=gate` all cases. A
case that takes long, and shows in full what another case shows in part, is of
the gate:

  @level.gate
  def test_all_optimizers(self):

A file without any other case is a test of size "large" instead, which is of the
gate, too. Without Bazel, all cases run.
"""

import os
import unittest

_QUICK = os.environ.get("TEST_LEVEL") == "quick"

# Decorates a case, beneath its parameters, or a class.
gate = unittest.skipIf(_QUICK, "runs with --config=gate")


def number(at_quick, at_gate):
  """Returns how many examples this level tries, such as those of Hypothesis."""
  return at_quick if _QUICK else at_gate


def first(rows, count=1):
  """Returns the rows of a parameterized test that this level runs.

  Args:
    rows: list of all rows, those that `test //...` runs first.
    count: int, how many rows `test //...` runs.
  """
  return rows[:count] if _QUICK else rows

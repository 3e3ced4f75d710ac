# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Compares the figures of two runs of a setting."""

import math


def differences(expected, actual, tolerance, path=""):
  """Returns one line for each place where two values of JSON differ.

  Args:
    expected: a value of JSON.
    actual: another.
    tolerance: float. Two numbers are equal if they differ by at most this times
      the greater of 1 and both sizes.
    path: str, where the values are.

  Returns:
    A list of str.
  """
  if isinstance(expected, dict) and isinstance(actual, dict):
    lines = [
        f"{path}/{key}: missing, expected {_short(expected[key])}"
        for key in sorted(set(expected) - set(actual))
    ] + [
        f"{path}/{key}: not expected, got {_short(actual[key])}"
        for key in sorted(set(actual) - set(expected))
    ]
    for key in sorted(set(expected) & set(actual)):
      lines += differences(
          expected[key], actual[key], tolerance, f"{path}/{key}")
    return lines
  if isinstance(expected, list) and isinstance(actual, list):
    if len(expected) == len(actual):
      lines = []
      for i, (one, other) in enumerate(zip(expected, actual)):
        lines += differences(one, other, tolerance, "%s/%d" % (path, i))
      return lines
  elif _are_close(expected, actual, tolerance):
    return []
  return [f"{path}: expected {_short(expected)}, got {_short(actual)}"]


def _are_close(expected, actual, tolerance):
  if not {type(expected), type(actual)} <= {int, float}:
    return type(expected) is type(actual) and expected == actual
  if math.isnan(expected) or math.isinf(expected):
    return repr(float(expected)) == repr(float(actual))
  return abs(expected - actual) <= tolerance * max(
      1., abs(expected), abs(actual))


def _short(value):
  text = repr(value)
  return text if len(text) <= 200 else text[:200] + "..."

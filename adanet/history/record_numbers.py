# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks the numbers of a record that somebody may have changed."""

from typing import Any

_INT64 = range(-2**63, 2**63)
_MAX_SECONDS = 1e12  # 30,000 years.


def check(value: Any, name: str = "") -> None:
  """Checks all counts and times in a value.

  Args:
    value: of a record.
    name: str, its attribute.

  Raises:
    ValueError: an integer needs more than 64 bits, or a time is no number or
      longer than can be.
  """
  if hasattr(value, "_fields"):
    for field, of_field in value._asdict().items():
      check(of_field, field)
  elif isinstance(value, (dict, tuple)):
    for one in value.values() if isinstance(value, dict) else value:
      check(one, name)
  elif isinstance(value, int) and value not in _INT64:
    raise ValueError(f"{name} is {str(value)[:20]}..., not an integer of 64 "
                     "bits")
  elif isinstance(value, float) and name.endswith("seconds") and (
      not abs(value) < _MAX_SECONDS):
    raise ValueError(f"{name} is {value!r}, not a time in seconds")

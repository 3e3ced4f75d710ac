# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Text without the characters that a terminal acts on."""

from typing import Any


def printable(text: str) -> str:
  """Returns a text of the same length that any terminal and any page shows.

  Control characters, which may begin an escape sequence, and all else that is
  not to be seen become "?", and whitespace becomes spaces.
  """
  return "".join(c if c.isprintable() else " " if c.isspace() else "?"
                 for c in text)


def all_printable(value: Any) -> Any:
  """Returns a value in which each str is as `printable` returns it.

  Args:
    value: str, tuple, named tuple or dict of such values; or anything else,
      which is returned as it is.
  """
  if isinstance(value, str):
    return printable(value)
  if isinstance(value, dict):
    return {all_printable(key): all_printable(one)
            for key, one in value.items()}
  if isinstance(value, tuple):
    parts = map(all_printable, value)
    return (type(value)(*parts) if hasattr(value, "_fields") else
            tuple(parts))
  return value

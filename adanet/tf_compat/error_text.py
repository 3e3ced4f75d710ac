# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The text of errors, of TensorFlow's above all, as one line."""

import re

# What TensorFlow puts before the message of a session's error. Before those of
# other tasks it draws a ruler: "=====================".
_DEFINITIONS = re.compile(
    r"^Detected at node .*?^Node: [^\n]*\n", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(
    r"Graph execution error:|From /job:\S+:|\d+ root error\(s\) found\.")
_NUMBER = re.compile(r"^\(\d+\) ")
_WORD = re.compile(r"[^\W_]")


def first_line(error: BaseException) -> str:
  """Returns the first line of an error that says what is wrong.

  Rulers, headings and the lines of a program that made an op are left out.

  Args:
    error: an error of any kind.

  Returns:
    The line; the name of the error's type if there is none.
  """
  for line in _DEFINITIONS.sub("", str(error)).splitlines():
    line = _NUMBER.sub("", line.strip())
    if _WORD.search(line) and not _HEADING.fullmatch(line):
      return line
  return type(error).__name__

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The table of the legs: as text, and in README.md between two comments."""

import typing

from tools.ci import results

BEGIN = "<!-- .ci/run --update_readme writes from here: -->"
END = "<!-- to here. -->"

VERSIONS = ("TensorFlow", "Python", "NumPy", "Keras")
_COLUMNS = ("leg",) + VERSIONS + results.Counts._fields
_LEFT_OUT = "left out"


class Row(typing.NamedTuple):
  """One leg in a run of all legs.

  Attributes:
    leg: str, its name.
    versions: dict from the name of a package, or "Python", to its version;
      empty where they are not known.
    counts: results.Counts, or None for a leg that was left out.
  """
  leg: str
  versions: typing.Dict[str, str]
  counts: typing.Optional[results.Counts]


def _cells(row):
  name = "`{}`".format(row.leg)
  if row.counts is None:
    return [name, _LEFT_OUT] + [""] * (len(_COLUMNS) - 2)
  return ([name] + [row.versions.get(v, "?") for v in VERSIONS]
          + list(map(str, row.counts)))


def table(rows):
  """Returns the Markdown of a list of `Row`, with columns of even width."""
  lines = [list(_COLUMNS)] + [_cells(row) for row in rows]
  widths = [max(map(len, column)) for column in zip(*lines)]
  first_number = len(_COLUMNS) - len(results.Counts._fields)
  ruler = []
  for i, width in enumerate(widths):
    ruler.append("-" * (width - 1) + (":" if i >= first_number else "-"))
    for line in lines:
      line[i] = (line[i].rjust if i >= first_number else line[i].ljust)(width)
  lines.insert(1, ruler)
  return "".join("| {} |\n".format(" | ".join(line)) for line in lines)


def _split(text):
  """Returns what is before, between and after the two comments.

  Raises:
    ValueError: they are not there, once each and in this order.
  """
  before, begin, rest = text.partition(BEGIN + "\n")
  between, end, after = rest.partition(END + "\n")
  if not (begin and end) or text.count(BEGIN) != 1 or text.count(END) != 1:
    raise ValueError(
        "README.md: expected one line '{}' and below it one line '{}', and the "
        "table goes between them.".format(BEGIN, END))
  return before + begin, between, end + after


def check(text):
  """Raises ValueError where `text` has no place for the table."""
  _split(text)


def update(text, rows, date):
  """Returns the text of a README with another table in it.

  Args:
    text: str, with the two comments.
    rows: list of `Row`.
    date: str, when they were run.

  Raises:
    ValueError: the comments are not there, once each and in this order.
  """
  before, _, after = _split(text)
  return "{}Test cases on {}:\n\n{}{}".format(before, date, table(rows), after)


def stale_legs(text, rows):
  """Returns the names of the legs whose counts a README does not have.

  A leg that was left out says nothing about the README; nor does another
  machine's Python.

  Args:
    text: str, with the two comments.
    rows: list of `Row`.

  Raises:
    ValueError: the comments are not there, once each and in this order.
  """
  _, between, _ = _split(text)
  counts = {}
  for line in between.splitlines():
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    counts[cells[0]] = cells[-len(results.Counts._fields):]
  return [
      row.leg for row in rows
      if row.counts is not None
      and counts.get("`{}`".format(row.leg)) != list(map(str, row.counts))
  ]

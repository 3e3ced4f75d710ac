# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tables and texts: with colors on a terminal, as plain text elsewhere."""

import io

from rich import console as rich_console
from rich import table as rich_table
from rich import text as rich_text

# Wider than any line. Rich pads to the widest cell only.
_PLAIN_WIDTH = 10**7

def new_console(output):
  """Returns a `rich.console.Console` for a text stream, as a command has it."""
  # A user may give names that not every terminal can show.
  output.reconfigure(errors="backslashreplace")
  console = rich_console.Console(file=output)
  if not console.width:  # COLUMNS=0 means unknown.
    console.width = 80
  return console


def new_table(*columns):
  """Returns a table with named columns; a ">" before a name aligns it right."""
  table = rich_table.Table(header_style="bold cyan")
  for column in columns:
    name = column.lstrip(">")
    table.add_column(
        rich_text.Text(name), justify="right" if name != column else "left",
        overflow="fold")
  return table


def add_row(table, *cells, style=None):
  """Adds a row of str, in which brackets have no meaning for Rich."""
  table.add_row(*map(rich_text.Text, cells), style=style)


def new_tables(console, rows, style):
  """Returns tables that fit a terminal: each repeats the first column.

  Args:
    rows: list of lists of str, as long as each other. The first row is the
      heading, the first column text, and the rest are aligned right.
    style: function from a cell to its style, a str.
  """
  first, *columns = zip(*rows)
  parts, width = [], 0
  for column in columns:
    needed = max(map(len, column)) + 3  # Rich adds padding and a line.
    is_full = console.is_terminal and width + needed > console.width
    if is_full or not parts:
      parts.append([])
      width = max(map(len, first)) + 4
    parts[-1].append(column)
    width += needed
  tables = []
  for part in parts:
    table = new_table(first[0], *(">" + column[0] for column in part))
    for cells in list(zip(first, *part))[1:]:
      table.add_row(*(rich_text.Text(c, style=style(c)) for c in cells))
    tables.append(table)
  return tables


def print_parts(console, parts):
  """Prints tables and texts; as plain text with an empty line between them.

  Elsewhere the lines of the tables divide, and headings, which are bold, have an
  empty line before them.
  """
  if console.is_terminal:
    for i, part in enumerate(parts):
      is_heading = isinstance(part, rich_text.Text) and part.style == "bold"
      console.print("\n" * bool(i and is_heading), end="")
      console.print(part)
    return
  output = io.StringIO()
  # A console of its own, because the caller's may be 80 columns wide. In a
  # notebook, Rich would show the text in the cell and write nothing.
  plain = rich_console.Console(
      file=output, width=_PLAIN_WIDTH, color_system=None, force_terminal=False,
      force_jupyter=False)
  for i, part in enumerate(parts):
    if isinstance(part, rich_table.Table):
      part.box, part.pad_edge = None, False
    plain.print("\n" * bool(i), end="")
    plain.print(part, soft_wrap=isinstance(part, rich_text.Text))
  lines = [line.rstrip() for line in output.getvalue().splitlines()]
  console.print(rich_text.Text("\n".join(lines)), soft_wrap=True)

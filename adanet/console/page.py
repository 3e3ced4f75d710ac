# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Lays tables and pictures into HTML: a page, or the cell of a notebook."""

import html
import io
from typing import Any

from adanet.console import wording
from rich import console as rich_console
from rich import terminal_theme

#: The characters of a line in the cell of a notebook.
CELL_WIDTH = 100

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="color-scheme" content="light dark">
<title>{title}</title></head>
<body>
{content}
</body>
</html>
"""
# In greater lines, there are gaps in the frames of tables. Jupyter would wrap
# the lines of a wide table.
_HTML = ('<pre style="font-family:Menlo,Consolas,\'DejaVu Sans Mono\','
         'monospace;line-height:normal;white-space:pre;overflow-x:auto">'
         '{code}</pre>')
# Green and cyan that can be read on white and on black: a notebook has a light
# theme or a dark one.
_COLORS = terminal_theme.TerminalTheme(
    (255, 255, 255), (0, 0, 0),
    [(0, 0, 0), (192, 64, 64), (17, 138, 48), (140, 110, 0), (50, 110, 220),
     (160, 70, 170), (10, 135, 147), (128, 128, 128)])


def fragment(show, width, svg=""):
  """Returns the output of a function and a picture, for a part of a page.

  Args:
    show: function of a `rich.console.Console`.
    width: int, the characters of a line.
    svg: str, the picture.
  """
  console = rich_console.Console(
      file=io.StringIO(), record=True, width=width, force_terminal=True,
      color_system="truecolor", force_jupyter=False)
  show(console)
  tables = console.export_html(
      theme=_COLORS, inline_styles=True, code_format=_HTML)
  return f'<div>{tables}<div style="overflow-x:auto">{svg}</div></div>'


def whole(title, content):
  """Returns a whole page."""
  return _PAGE.format(
      title=html.escape(wording.printable(title)), content=content)


class Cell:
  """An output of a notebook's cell, which is drawn again and again."""

  _handle: Any = None

  def update(self, drawing: Any, refresh: bool = True) -> None:
    """Draws a renderable of Rich."""
    del refresh  # It always does.
    from IPython import display  # pylint: disable=g-import-not-at-top
    content = display.HTML(fragment(
        lambda console: console.print(drawing), CELL_WIDTH))
    if self._handle is None:
      self._handle = display.display(content, display_id=True)
    else:
      self._handle.update(content)

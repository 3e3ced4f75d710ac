# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A search as a web page, or as a part of one."""

import html

from adanet.console import tables as console_tables
from adanet.console import wording
from adanet.history import records
from adanet.history import table

_WIDTH = 100  # Characters of a line on a page.
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="color-scheme" content="light dark">
<title>{title}</title></head>
<body>
{content}
</body>
</html>
"""


def fragment(search: records.Records) -> str:
  """Returns the tables and the picture as HTML, for a part of a page."""
  from adanet.history import picture  # pylint: disable=g-import-not-at-top
  tables = console_tables.to_html(
      lambda console: table.show(search, console), _WIDTH)
  return (f'<div>{tables}<div style="overflow-x:auto">{picture.svg(search)}'
          "</div></div>")


def page(search: records.Records) -> str:
  """Returns a whole page of HTML."""
  return _PAGE.format(title=html.escape(
      wording.printable(search.model_dir)),
                      content=fragment(search))

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Reads the README and the pages, for the tests of what they say."""

import re
import textwrap

import runfiles

# The kind of a block and its lines, in Markdown and in reStructuredText.
_MARKDOWN = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_RST = re.compile(r"^\.\. code-block:: (\w+)\n\n((?:   .*\n|\n)+)",
                  re.MULTILINE)


def text(page):
  """Returns the text of a page, such as "docs/estimator.rst"."""
  with open(runfiles.Create().Rlocation("adanet/" + page),
            encoding="utf-8") as f:
    return f.read()


def blocks(page):
  """Returns list of (kind, text) of a page's blocks of code."""
  pattern = _MARKDOWN if page.endswith(".md") else _RST
  return [(kind or "text", textwrap.dedent(block).strip("\n") + "\n")
          for kind, block in pattern.findall(text(page) + "\n")]


def programs(page):
  """Yields (program, output) of a page's programs that show their output."""
  found = blocks(page)
  for (kind, program), (next_kind, output) in zip(found, found[1:]):
    if kind == "python" and next_kind == "text":
      yield program, output

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Reads the README and the pages, for the tests of what they say."""

import contextlib
import io
import os
import re
import textwrap
from unittest import mock

import runfiles

# Their programs need Keras 3.
KERAS_3 = (
    "docs/callbacks.rst", "docs/columns.rst", "docs/export.rst",
    "docs/getting_started.rst", "docs/hyperparameters.rst", "docs/keras.rst",
    "docs/keras_executors.rst", "docs/leaderboard.rst",
    "docs/more_compute.rst", "docs/scikit_learn.rst", "docs/serving.rst",
    "docs/stopping.rst", "docs/uncertainty.rst")
# Their programs start pools or Dask, or repeat those of the README: only
# `long_pages_test` runs them.
LONG = ("docs/executor.rst", "docs/getting_started.rst", "docs/keras.rst",
        "docs/keras_executors.rst")
# The page that others continue, and how many of its blocks of Python they need.
_TUTORIAL = "docs/getting_started.rst"
_CONTINUE = {"docs/estimator.rst": 1, "docs/export.rst": 2}

# The page with an executor of Ray, and the page with a table of Keras calls.
RAY, FROM_KERAS = "docs/dask_and_ray.rst", "docs/coming_from_keras.rst"

# The kind of a block and its lines, in Markdown and in reStructuredText.
_MARKDOWN = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_RST = re.compile(r"^\.\. code-block:: (\w+)\n\n((?:   .*\n|\n)+)",
                  re.MULTILINE)
# A row of a table that has code alone.
_ROW = re.compile(r"^   \* - ``(.*?)``\n     - ``(.*?)``\n",
                  re.MULTILINE | re.DOTALL)


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
  """Returns list of (program, output) of a page; the last one shows its output.
  """
  pairs = []
  all_blocks = blocks(page)
  for (kind, program), (next_kind, output) in zip(
      all_blocks, all_blocks[1:] + [("", "")]):
    if kind == "python":
      pairs.append((program, output if next_kind == "text" else ""))
  while pairs and not pairs[-1][1]:
    pairs.pop()
  return pairs


def executor_of_ray():
  """Returns the program that defines the executor of Ray."""
  program, = [block for kind, block in blocks(RAY) if kind == "python"]
  return program


def rows_from_keras():
  """Returns list of (code in Keras, code here), the rows of a table."""
  return [tuple(re.sub(r"([(\[]) ", r"\1", " ".join(code.split()))
                for code in row) for row in _ROW.findall(text(FROM_KERAS))]


def all_pages():
  """Returns the names of the README and of all pages of docs."""
  folder = os.path.dirname(runfiles.Create().Rlocation("adanet/docs/index.rst"))
  return ["README.md"] + sorted(
      "docs/" + name for name in os.listdir(folder) if name.endswith(".rst"))


def public_names():
  """Returns set of the names in adanet that pages have, with all their dots."""
  return {name for page in all_pages()
          for name in re.findall(r"\badanet(?:\.\w+)+", text(page))}


def imports():
  """Returns the statements of the pages' programs that import from adanet."""
  return sorted({
      line.strip() for page in all_pages() for kind, block in blocks(page)
      if kind == "python" for line in block.splitlines()
      if re.match(r"\s*from adanet\b.* import [^(]*$", line)})


def run(page):
  """Runs the programs of a page, each after the programs before it.

  Args:
    page: such as "docs/estimator.rst".

  Yields:
    (expected, printed) of each program.
  """
  variables = {"__name__": "__main__"}

  def execute(program):
    """Returns what a program prints."""
    printed = io.StringIO()
    with mock.patch.dict(os.environ), contextlib.redirect_stdout(printed):
      exec(compile(program, page, "exec"), variables)  # pylint: disable=exec-used
    return printed.getvalue()

  for program, _ in programs(_TUTORIAL)[:_CONTINUE.get(page, 0)]:
    execute(program)
  for program, expected in programs(page):
    yield expected, execute(program)

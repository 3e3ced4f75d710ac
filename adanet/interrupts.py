# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C ends a program or the cell of a notebook without a traceback."""

import contextlib
import sys
from typing import Iterator, List

from adanet import log


class Interrupted(KeyboardInterrupt):
  """Ctrl-C in an interactive Python; a notebook shows a single line."""

  def _render_traceback_(self) -> List[str]:
    return [": ".join(["KeyboardInterrupt", *map(str, self.args)])]


class ProgramInterrupted(KeyboardInterrupt, SystemExit):
  """Ctrl-C in a program.

  Ends the program without a traceback, with the exit status of a shell. A
  program may catch the error as any `KeyboardInterrupt`.
  """

  def __init__(self) -> None:
    SystemExit.__init__(self, 128 + 2)  # That of SIGINT.


def is_interactive() -> bool:
  """Returns whether a person types at the Python, as in a notebook.

  An interactive Python goes on after Ctrl-C, and ends at a SystemExit.
  """
  return hasattr(sys, "ps1")


def is_notebook() -> bool:
  """Returns whether this is the kernel of a notebook."""
  ipython = sys.modules.get("IPython")
  return hasattr(ipython and ipython.get_ipython(), "kernel")


@contextlib.contextmanager
def in_one_line(message: str) -> Iterator[None]:
  """Shows a message in place of the traceback of a `KeyboardInterrupt`."""
  try:
    yield
  except KeyboardInterrupt:
    if is_interactive():
      raise Interrupted(message) from None
    log.warning("%s", message)
    raise ProgramInterrupted from None

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C ends a program or the cell of a notebook without a traceback.

In IPython, so does an error of adanet's about an argument.
"""

import contextlib
import sys
import traceback
from typing import Iterator, List

from adanet import log

_RENDER = "_render_traceback_"  # What IPython calls to show an error.


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


@contextlib.contextmanager
def errors_in_one_line() -> Iterator[None]:
  """Lets IPython show a wrong argument in one line; `%tb` has the traceback.

  Errors of the user's functions, and errors that have a cause, keep their
  traceback.
  """
  try:
    yield
  except (TypeError, ValueError) as error:
    ipython = sys.modules.get("IPython")
    if ipython and ipython.get_ipython() and _is_of_adanet(error):
      _show_once_in_one_line(error)
    raise


def _is_of_adanet(error):
  *_, (frame, _) = traceback.walk_tb(error.__traceback__)
  package, _, _ = frame.f_globals.get("__name__", "").partition(".")
  return package == __name__.partition(".")[0] and error.__cause__ is None


def _show_once_in_one_line(error):
  def render():
    delattr(error, _RENDER)
    return "".join(
        traceback.format_exception_only(type(error), error)).splitlines()

  setattr(error, _RENDER, render)


@contextlib.contextmanager
def in_one_line(message: str) -> Iterator[None]:
  """Shows a message in place of the traceback of a `KeyboardInterrupt`.

  Errors are shown as in `errors_in_one_line`.
  """
  try:
    with errors_in_one_line():
      yield
  except KeyboardInterrupt:
    if is_interactive():
      raise Interrupted(message) from None
    log.warning("%s", message)
    raise ProgramInterrupted from None

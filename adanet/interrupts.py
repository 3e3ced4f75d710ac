# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C ends a program or the cell of a notebook without a traceback.

In IPython, so does an error of adanet's about an argument. SIGTERM, by which
Kubernetes and Slurm end a program, is as Ctrl-C.
"""

import contextlib
import multiprocessing
import signal
import sys
import threading
import traceback
from typing import Iterator, List

from adanet import log

_RENDER = "_render_traceback_"  # What IPython calls to show an error.


class Interrupted(KeyboardInterrupt):
  """Ctrl-C in an interactive Python; a notebook shows a single line."""

  def _render_traceback_(self) -> List[str]:
    return [": ".join(["KeyboardInterrupt", *map(str, self.args)])]


class ProgramInterrupted(KeyboardInterrupt, SystemExit):
  """Ctrl-C or SIGTERM in a program.

  Ends the program without a traceback, with the exit status of a shell. A
  program may catch the error as any `KeyboardInterrupt`.
  """

  def __init__(self, number: int = signal.SIGINT) -> None:
    """Takes the number of the signal."""
    SystemExit.__init__(self, 128 + number)


class _Terminated(KeyboardInterrupt):
  """SIGTERM in a program."""


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


def _raise_terminated(number, unused_frame):
  signal.signal(number, signal.SIG_IGN)  # A second signal would end the saving.
  raise _Terminated


@contextlib.contextmanager
def _handling_sigterm() -> Iterator[None]:
  """Raises a `KeyboardInterrupt` at SIGTERM, which would kill the program.

  A program with a handler of its own, an interactive Python and the worker of a
  pool stay as they are.
  """
  if (threading.current_thread() is not threading.main_thread() or
      multiprocessing.current_process().name != "MainProcess" or
      is_interactive() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL):
    yield
    return
  signal.signal(signal.SIGTERM, _raise_terminated)
  try:
    yield
  finally:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextlib.contextmanager
def in_one_line(message: str) -> Iterator[None]:
  """Shows a message in place of the traceback of a `KeyboardInterrupt`.

  SIGTERM is as Ctrl-C, with an exit status of its own. Errors are shown as in
  `errors_in_one_line`.
  """
  try:
    with errors_in_one_line(), _handling_sigterm():
      yield
  except KeyboardInterrupt as error:
    if is_interactive():
      raise Interrupted(message) from None
    log.warning("%s", message)
    raise ProgramInterrupted(signal.SIGTERM if isinstance(
        error, _Terminated) else signal.SIGINT) from None

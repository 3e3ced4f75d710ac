# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Logs to absl, and leaves Python's logging unchanged.

With the first line, `absl.logging` gives a root logger without handlers a
handler: `logging.basicConfig` of the program would then do nothing. The module
prints such a line, like lines of progress.
"""

import functools
import sys
from typing import Optional, TextIO

from absl import logging

DEBUG, INFO, WARNING = logging.DEBUG, logging.INFO, logging.WARNING


def is_notebook() -> bool:
  """Returns whether this is the kernel of a notebook."""
  ipython = sys.modules.get("IPython")
  return hasattr(ipython and ipython.get_ipython(), "kernel")


def stream() -> Optional[TextIO]:
  """Returns where lines go: standard error, or the output of a notebook's cell.

  A notebook shows standard error on red ground, as errors.
  """
  return sys.stdout if is_notebook() else sys.stderr


def print_line(line: str) -> None:
  """Prints a line, unless the stream is closed."""
  file = stream()
  if file is None:  # With None, print() would write to stdout.
    return
  try:
    print(line, file=file, flush=True)
  except (OSError, ValueError):  # The reader has gone. Training goes on.
    pass


def show(line: str) -> None:
  """Prints a line that says that the line is of adanet."""
  print_line("adanet: " + line)


def log(level: int, message: str, *args: object) -> None:
  """Writes a line to the log, or prints the line if the log has no handler."""
  logger = logging.get_absl_logger()
  standard = logging.converter.absl_to_standard(level)
  if logger.hasHandlers():
    logger.log(standard, message, *args)
  elif logger.isEnabledFor(standard):
    show(message % args if args else message)


debug = functools.partial(log, DEBUG)
info = functools.partial(log, INFO)
warning = functools.partial(log, WARNING)
error = functools.partial(log, logging.ERROR)


@functools.lru_cache(maxsize=None)
def warn_once(message: str, *args: object) -> None:
  """Logs a warning once per process."""
  warning(message, *args)


# The log names the line that calls these.
for _name in ("log", "warn_once"):
  logging.ABSLLogger.register_frame_to_skip(__file__, _name)

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Shows how far training is: on a terminal as it goes, elsewhere in the log.

    with progress.reporter() as report:
      report(events.IterationBegan(...))
      report(events.Progress(...))

On a terminal each subnetwork and each ensemble has a line with a bar. Elsewhere
`absl.logging` gets plain lines, and few of them.
"""

import contextlib
import sys
import time
from typing import Any, Iterator, Optional, TextIO

from absl import logging
from adanet.core import events
from adanet.estimator import event_text

_SECS_BETWEEN_LINES = 10


class _LogLines:
  """Writes events to the log."""

  def __init__(self, log_step_count_steps):
    self._log_step_count_steps = log_step_count_steps
    self._last_step = 0
    self._last_time = time.monotonic()

  def report(self, event: events.Event) -> None:
    """Logs an event; of the `Progress` ones, some."""
    if isinstance(event, events.IterationBegan):
      self._last_step = event.global_step
    if isinstance(event, events.Progress) and not self._is_due(event):
      return
    level = logging.INFO
    if isinstance(event, events.Stopped) and event.is_nan:
      level = logging.WARNING
    logging.log(level, "%s", event_text.message(event))

  def _is_due(self, event):
    now = time.monotonic()
    if (now - self._last_time < _SECS_BETWEEN_LINES or
        event.global_step - self._last_step < self._log_step_count_steps):
      return False
    self._last_step, self._last_time = event.global_step, now
    return True


def _live(stream: TextIO) -> Optional[Any]:
  """Returns the module that draws on a terminal; None if it cannot."""
  if not stream.isatty():
    return None
  try:
    from adanet.estimator import live_progress  # pylint: disable=g-import-not-at-top
  except ModuleNotFoundError as e:
    if (e.name or "").partition(".")[0] != "rich":
      raise
    return None
  return live_progress


@contextlib.contextmanager
def reporter(
    stream: Optional[TextIO] = None,
    log_step_count_steps: Optional[int] = 100) -> Iterator[events.Report]:
  """Shows events until its end, also an end by an exception.

  Args:
    stream: where to draw if it is a terminal; None for standard error.
    log_step_count_steps: int, how many steps there are at least between two
      lines of the log about progress. There are also at least 10 seconds
      between them. None for none of these lines.

  Yields:
    The function to call with each event.
  """
  stream = sys.stderr if stream is None else stream
  live = _live(stream)
  if live is not None:
    with live.LiveProgress(stream) as display:
      yield display.report
    return
  yield _LogLines(
      float("inf") if log_step_count_steps is None
      else log_step_count_steps).report

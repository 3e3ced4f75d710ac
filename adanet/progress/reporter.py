# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Shows how far training is: on a terminal as it goes, elsewhere as lines.

    with reporter.reporter() as report:
      report(events.IterationBegan(...))
      report(events.Progress(...))

On a terminal, and in a notebook, each subnetwork and each ensemble has a line
with a bar. Elsewhere there are plain lines, and few of them: in the log if it
shows such lines (`absl.logging.set_verbosity(absl.logging.INFO)`), and on
standard error if not.

Where the environment variable ADANET_EVENTS_FD is the number of an open pipe or
socket, each event is a line of JSON there, and nothing is shown but in the log:
that is left to the process at the other end.

    {"event": "Stopped", "iteration_number": 0, "name": "t0_linear", ...}
"""

import contextlib
import json
import os
import stat
import time
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, TextIO

from absl import logging
from adanet import log as log_lib
from adanet import messages
from adanet import typed_json
from adanet.core import events
from adanet.progress import event_text

#: The environment variable with the number of a file descriptor.
EVENTS_FD = "ADANET_EVENTS_FD"

_SECS_BETWEEN_LINES = 10

_ANY_EVENT: Any = events.Event
_KINDS: Dict[str, Any] = {
    kind.__name__: kind for kind in _ANY_EVENT.__args__}

# Is called with a level of `absl.logging` and a line.
Say = Callable[[int, str], None]


def to_json_line(event: events.Event) -> str:
  """Returns an event as one line, without its end."""
  kind = type(event)
  if _KINDS.get(kind.__name__) is not kind:
    raise TypeError(f"event={event!r}: expected one of adanet.core.events.")
  return json.dumps(
      dict({"event": kind.__name__}, **typed_json.to_json(kind, event)),
      allow_nan=False)


def from_json_line(line: str) -> events.Event:
  """Returns the event of a line.

  Raises:
    ValueError: the line is not from `to_json_line`.
  """
  try:
    content = typed_json.loads(line)
    name = content.pop("event", None)
    if not isinstance(name, str) or name not in _KINDS:
      raise ValueError(f"event is {name!r}, not one of {', '.join(_KINDS)}")
    return typed_json.from_json(_KINDS[name], content)
  except (ValueError, RecursionError) as e:
    raise ValueError(f"line={messages.shorten(repr(line))}: "
                     f"{messages.one_line(e)}. Expected an event of adanet."
                     ) from e


class _Lines:
  """Says events as lines."""

  def __init__(self, log_step_count_steps: Optional[int], say: Say):
    self._log_step_count_steps = (
        float("inf") if log_step_count_steps is None else log_step_count_steps)
    self._say = say
    self._text = event_text.EventText()
    self._last_steps: Mapping[str, int] = {}
    self._last_time = time.monotonic()

  def report(self, event: events.Event) -> None:
    """Says an event; of the `Progress` ones, some."""
    self._text.take(event)
    if isinstance(event, events.Working) or (
        isinstance(event, events.Stopped) and event.is_complete):
      return
    if isinstance(event, events.IterationBegan):
      self._last_steps = {}
    if isinstance(event, events.Progress) and not self._is_due(event):
      return
    is_nan = isinstance(event, events.Stopped) and event.is_nan
    self._say(logging.WARNING if is_nan else logging.INFO,
              self._text.line(event))

  def _is_due(self, event):
    now = time.monotonic()
    # Not the global step: ensembles may train on when that stands still.
    num_steps = max((step - self._last_steps.get(name, 0)
                     for name, step in event.steps.items()), default=0)
    if (now - self._last_time < _SECS_BETWEEN_LINES or
        num_steps < self._log_step_count_steps):
      return False
    self._last_steps, self._last_time = event.steps, now
    return True


class _Pipe:
  """Writes events to a file descriptor, while somebody reads them."""

  def __init__(self, descriptor: int):
    self._descriptor: Optional[int] = descriptor

  def report(self, event: events.Event) -> None:
    """Writes an event as a line."""
    if self._descriptor is None:
      return
    rest = (to_json_line(event) + "\n").encode("utf-8")
    try:
      while rest:
        rest = rest[os.write(self._descriptor, rest):]
    except OSError:  # The reader has gone. Training goes on.
      self._descriptor = None


def _pipe() -> Optional[_Pipe]:
  """Returns where the environment asks for events; None if it does not."""
  text = os.environ.get(EVENTS_FD)
  if not text:
    return None
  try:
    descriptor = int(text)
    mode = os.fstat(descriptor).st_mode
  except (OSError, OverflowError, ValueError):
    mode = 0
  # A program that a task starts inherits the variable, but not the descriptor:
  # the number may be that of any file there.
  if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
    return _Pipe(descriptor)
  log_lib.warning(
      "%s=%s: expected the number of an open pipe or socket. No events are "
      "written.", EVENTS_FD, text)
  return None


def tell(event: events.Event) -> None:
  """Writes an event for the process that asked for events, and shows nothing.
  """
  pipe = _pipe()
  if pipe:
    pipe.report(event)


def _live(stream: TextIO) -> Optional[Any]:
  """Returns the module that draws as it goes; None if it cannot."""
  if not stream.isatty() and not log_lib.is_notebook():
    return None
  try:
    from adanet.progress import live  # pylint: disable=g-import-not-at-top
  except ModuleNotFoundError as e:
    if (e.name or "").partition(".")[0] != "rich":
      raise
    return None
  return live


def log(level: int, line: str) -> None:
  """Writes a line to the log."""
  log_lib.log(level, "%s", line)


def log_or_print(level: int, line: str) -> None:
  """Writes a line to the log; if that shows warnings only, prints it.

  The log shows warnings only by default.
  """
  if level > logging.get_verbosity() == logging.WARNING:
    log_lib.show(line)
  else:
    log(level, line)


@contextlib.contextmanager
def reporter(
    stream: Optional[TextIO] = None,
    log_step_count_steps: Optional[int] = 100,
    say: Say = log_or_print) -> Iterator[events.Report]:
  """Yields a function that shows an event, until the end or an exception.

  Args:
    stream: where to draw if it is a terminal; None for `log.stream`.
    log_step_count_steps: int, how many steps there are at least between two
      lines about progress. There are also at least 10 seconds between them.
      None for none of these lines.
    say: is called with each line if nothing is drawn.
  """
  stream = log_lib.stream() if stream is None else stream
  pipe = _pipe()
  live = None if pipe or stream is None else _live(stream)
  if live is not None:
    with live.LiveProgress(stream) as display:
      yield display.report
    return
  lines = _Lines(log_step_count_steps, log if pipe else say)

  def report(event: events.Event) -> None:
    lines.report(event)
    if pipe:
      pipe.report(event)

  yield report

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""SIGTERM and Ctrl-C end a task, at once or after the current step."""

import contextlib
import signal
import threading
from typing import Any, Dict, Iterator, Optional

from adanet import interrupts

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class StopRequests:
  """Handles SIGTERM and SIGINT while the context is open.

      with StopRequests() as requests:
        while not requests.asked:
          with requests.deferred():
            step()
        save()
        requests.raise_asked()

  Only the main thread handles signals, because Python runs signal handlers
  there. In another thread, the context does nothing.

  Attributes:
    asked: the number of the first signal, or None.
  """

  def __init__(self) -> None:
    self.asked: Optional[int] = None
    self._num_deferred = 0
    self._old_handlers: Dict[int, Any] = {}

  def __enter__(self) -> "StopRequests":
    if threading.current_thread() is threading.main_thread():
      for number in _SIGNALS:
        self._old_handlers[number] = signal.signal(number, self._handle)
    return self

  def __exit__(self, *unused_error: Any) -> None:
    while self._old_handlers:
      number, handler = self._old_handlers.popitem()
      # None: it was not installed from Python, and cannot be from there.
      signal.signal(number, signal.SIG_DFL if handler is None else handler)

  def _handle(self, number, unused_frame):
    is_second = self.asked is not None
    if not is_second:
      self.asked = number
    if is_second or not self._num_deferred:
      _raise(number)

  @contextlib.contextmanager
  def deferred(self) -> Iterator[None]:
    """In this context, the first signal only sets `asked`; the second raises.

    The end of the context raises nothing: the caller calls `raise_asked`.
    """
    self._num_deferred += 1
    try:
      yield
    finally:
      self._num_deferred -= 1

  def raise_asked(self) -> None:
    """Raises the exception of the first signal, if there was a signal.

    Raises:
      KeyboardInterrupt: for SIGINT; a `ProgramInterrupted`, unless a person
        types at this Python.
      SystemExit: for SIGTERM; the exit status is 128 + 15, as in a shell.
    """
    if self.asked is not None:
      _raise(self.asked)


def _raise(number):
  if number == signal.SIGINT:
    raise (interrupts.Interrupted if interrupts.is_interactive() else
           interrupts.ProgramInterrupted)
  raise SystemExit(128 + number)

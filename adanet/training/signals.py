# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""SIGTERM and Ctrl-C: the end of a task, at once or after its step."""

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

  In a thread that is not the main one it does nothing: Python runs the
  handlers of signals in the main thread only.

  Attributes:
    asked: the number of the first signal that came; None: none came.
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
    """Within this, the first signal only sets `asked`; the second raises.

    Leaving it raises nothing: the caller calls `raise_asked` when it is ready.
    """
    self._num_deferred += 1
    try:
      yield
    finally:
      self._num_deferred -= 1

  def raise_asked(self) -> None:
    """Raises the exception of the signal, if one has come.

    Raises:
      KeyboardInterrupt: it was SIGINT. It is `ProgramInterrupted`, unless a
        person types at this Python.
      SystemExit: it was SIGTERM; the exit status is 128 + 15, as a shell's.
    """
    if self.asked is not None:
      _raise(self.asked)


def _raise(number):
  if number == signal.SIGINT:
    raise (interrupts.Interrupted if interrupts.is_interactive() else
           interrupts.ProgramInterrupted)
  raise SystemExit(128 + number)

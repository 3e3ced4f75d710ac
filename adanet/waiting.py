# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Waits that log the reason, and end."""

import time
from typing import Any, Callable, Optional

from adanet import log as logging
from adanet.tf_compat import files

_SPACE_SECS = 2.  # Between two tries to write to a disk that is full.

# When a wait is first mentioned, and how often from then on.
_FIRST_MESSAGE_SECS = 5.
_NEXT_MESSAGE_SECS = 30.


class WaitTimeoutError(RuntimeError):
  """The condition of a wait did not come true in time."""


class Wait:
  """A wait: a loop that asks for a condition, and pauses until it is true.

      wait = Wait(60., "start it")
      while not is_there():
        wait.pause(.05, lambda: "worker:1 (host:2222)")
      wait.done()
  """

  def __init__(self, timeout_secs: Optional[float], advice: str = "",
               clock: Callable[[], float] = time.monotonic,
               sleep: Callable[[float], None] = time.sleep,
               log: Callable[[str], None] = logging.warning) -> None:
    """The time begins now.

    Args:
      timeout_secs: how long to wait at most; None: without an end.
      advice: str, the remedy when the time is over.
    """
    self._timeout_secs = timeout_secs
    self._advice = advice
    self._clock = clock
    self._sleep = sleep
    self._log = log
    self._begin()

  def _begin(self):
    self._start = self._last_progress = self._clock()
    self._has_restarted = False
    self._next_message_time = self._start + _FIRST_MESSAGE_SECS
    self._last_message = None

  def pause(self, secs: float, message: Callable[[], str]) -> None:
    """Sleeps, but not beyond the end of the time.

    After 5 s, and then every 30 s, logs the reason of the wait.

    Args:
      message: returns the reason of the wait. Called only if needed, so the
        function may be slow.

    Raises:
      WaitTimeoutError: the time was over before the call. So the caller has
        asked once more after the last sleep.
    """
    start = self._clock()
    end = start + secs
    if self._timeout_secs is not None:
      over = self._last_progress + self._timeout_secs
      end = min(end, over)
      if start >= over:
        raise WaitTimeoutError("waited {:g} s {}for {}{}".format(
            self._timeout_secs, "without progress " * self._has_restarted,
            message(), self._advice and ": " + self._advice))
    while True:
      if self._clock() >= self._next_message_time:
        self._log_message(message())
      now = self._clock()
      if now >= end:
        return
      self._sleep(max(0., min(end, self._next_message_time) - now))

  def _log_message(self, message):
    self._last_message = message
    now = self._clock()
    while self._next_message_time <= now:
      self._next_message_time += _NEXT_MESSAGE_SECS
    text = f"Waiting for {message}: {now - self._start:.0f} s so far"
    if self._has_restarted:
      text += f", {now - self._last_progress:.0f} s without progress"
    if self._timeout_secs is not None:
      text += f", at most {self._timeout_secs:g} s"
    self._log(text + ".")

  def restart(self) -> None:
    """Begins the time again, because there was progress.

    The messages go on, because the condition is still not true.
    """
    self._has_restarted = True
    self._last_progress = self._clock()

  def done(self) -> None:
    """Ends the wait; logs the duration if the log has mentioned the wait.

    The next `pause` is part of a new wait, which begins now.
    """
    if self._last_message is not None:
      self._log(f"Waited {self._clock() - self._start:.0f} s for "
                f"{self._last_message}.")
    self._begin()


def wait_until_space(write: Callable[[], Any], wait: Wait, path: str) -> Any:
  """Returns the value of a function, called again while the disk is full.

  Args:
    path: str, a path on the disk, for messages.

  Raises:
    WaitTimeoutError: the disk is full for too long.
  """
  while True:
    try:
      result = write()
    except Exception as error:  # pylint: disable=broad-except
      if not files.is_disk_full(error):
        raise
      wait.pause(_SPACE_SECS, lambda: f"space on the full disk of {path}")
    else:
      wait.done()
      return result

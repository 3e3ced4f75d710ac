# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The waits of a task for its chief."""

import time
from typing import Callable, Dict

from adanet import log as logging
from adanet import waiting
from adanet.engines.cluster import addresses

_LOOK_SECS = 30.  # Between two looks at whether the chief is there.


class ChiefWatch:
  """Waits for a chief, without an end while the chief answers."""

  def __init__(self, chief: Dict[str, str], timeout_secs: float):
    """Looks at nothing yet.

    Args:
      chief: from the chief's name to its address.
      timeout_secs: float, how long to wait for a chief that does not answer.
    """
    self._chief = chief
    self._name = ", ".join("{} ({})".format(*task) for task in chief.items())
    self._timeout_secs = timeout_secs
    self._look_time = time.monotonic()
    self._is_silent = False

  def pause(self, what: str, level: int = logging.INFO
           ) -> Callable[[float], None]:
    """Returns the pause of a wait: a function of its seconds.

    Args:
      what: str, the act of the chief that this waits for.
      level: of messages while it answers: other tasks train then.
    """
    def log(line):
      logging.log(logging.WARNING if self._is_silent else level, "%s", line)

    wait = waiting.Wait(
        self._timeout_secs, "start it, or see what it prints", log=log)

    def look():
      self._look_time = time.monotonic()
      self._is_silent = bool(addresses.unreachable(self._chief))
      if not self._is_silent:
        wait.restart()

    def message():
      look()
      return "{}{} to {}".format(
          self._name, ", which does not answer," if self._is_silent else "",
          what)

    def pause(secs):
      # Before the wait is over, too.
      if time.monotonic() - self._look_time >= min(
          _LOOK_SECS, self._timeout_secs / 2):
        look()
      wait.pause(secs, message)

    return pause

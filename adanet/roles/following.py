# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the tasks that follow a chief share: how they learn what it announces.

They poll a board, and read the file of the agreement when that changes, and
once a second. Nobody asks the chief.
"""

import contextlib
import signal
import time
from typing import Callable, Iterator, Optional

from adanet import log as logging
from adanet.cluster import agreement as agreement_lib
from adanet.cluster import board as board_lib
from adanet.cluster import chief_watch
from adanet.cluster import connection as connection_lib
from adanet.cluster import decisions
from adanet.cluster import ended
from adanet.cluster import shared_files
from adanet.progress import reporter
from adanet.training import model as model_lib
from adanet.training import signals
from adanet.training import trainer

_FILE_SECS = 1.  # Between two reads of a file.


class Moved(Exception):  # pylint: disable=g-bad-exception-name
  """The chief has announced another generation."""


@contextlib.contextmanager
def opened(model: model_lib.Model, request: trainer.Request, name: str
          ) -> Iterator[trainer.Training]:
  """Opens what a task needs that follows, and ends it.

  Args:
    model: `Model`.
    request: `Request`.
    name: str, that of the task.

  Yields:
    `Training`.

  Raises:
    SystemExit: the job was stopped.
  """
  # The chief says how far all are.
  with signals.StopRequests() as stops, reporter.reporter(
      log_step_count_steps=model.config.log_step_count_steps,
      say=reporter.log) as report:
    try:
      yield trainer.Training(request, stops, report)
    except ended.StoppedError as stopped:
      logging.warning("%s ends: %s.", name, stopped)
      raise SystemExit(
          128 + (stops.asked or signal.SIGTERM)) from None


class Follower:
  """Sees what the chief announces.

  What looks at the file raises `ended.Over` or `ended.StoppedError` when the
  job has ended, and `shared_files.SharedFilesError` if the chief has another
  folder.
  """

  def __init__(self, connection: connection_lib.Connection):
    """Has seen nothing yet.

    Args:
      connection: `Connection` of this task.
    """
    self._connection = connection
    self._board = connection.own_board
    self._watch = chief_watch.ChiefWatch(
        connection.chief, connection.wait_timeout_secs)
    self._files = shared_files.VisibilityCheck(
        connection.config.model_dir, connection.job,
        lambda: self._board.model_dir(board_lib.CHIEF))
    self._poll_secs = decisions.poll_secs(
        connection.config.num_worker_replicas, len(connection.boards))
    self._announced = 0  # On the board, at the last look.
    self._look_time = 0.
    self._agreement: Optional[agreement_lib.Agreement] = None
    self._read_time = 0.

  def look_at_file(self) -> None:
    """Reads the agreement, at most once a second."""
    now = time.monotonic()
    if self._read_time and now - self._read_time < _FILE_SECS:
      return
    self._read_time = now
    agreed = self._agreement = self._connection.file.read()
    state = self._connection.job_state.after(agreed)
    reason = agreed.reason if agreed else ""
    if state == agreement_lib.State.OVER:
      raise ended.Over(reason)
    if state == agreement_lib.State.STOPPED:
      raise ended.StoppedError(reason)

  def look(self) -> Optional[agreement_lib.Agreement]:
    """Reads the board, and the file if the board has changed.

    Returns:
      The `Agreement` that is announced; None while there is none.
    """
    notice = self._board.read()
    if notice is not None and notice.announced != self._announced:
      self._announced = notice.announced
      self._read_time = 0.
    self.look_at_file()
    if notice is None or not notice.announced:
      return None  # The chief will announce another one.
    agreed = self._agreement
    if not self._files.check_seen(agreed, notice.announced):
      return None
    assert agreed is not None
    if agreed.is_training and agreed.generation == notice.announced:
      return agreed
    return None

  def raise_if_moved(self, generation: int) -> None:
    """Raises `Moved` if another generation is announced."""
    agreed = self.look()
    if agreed is not None and agreed.generation != generation:
      raise Moved()

  def look_for_move(self, generation: int) -> bool:
    """Looks, once a second, whether the board announces another generation.

    So it may be called after each step. It raises nothing.
    """
    now = time.monotonic()
    if now - self._look_time < _FILE_SECS:
      return False
    self._look_time = now
    notice = self._board.read()
    return notice is not None and notice.announced not in (0, generation)

  def look_for_variables(self, generation: int) -> bool:
    """Looks whether all variables of a generation have their values."""
    # Its own board first: all workers wait at the same time.
    return all(n is not None and n.ready == generation for n in (
        one.read() for one in [self._board] + list(self._connection.boards)))

  def pause(self, what: str, level: int = logging.INFO
           ) -> Callable[[float], None]:
    """Returns the pause of a wait for the chief; see `ChiefWatch.pause`."""
    return self._watch.pause(what, level)

  def wait_until_announced(
      self, generation: int, meanwhile: Callable[[], bool]
      ) -> agreement_lib.Agreement:
    """Waits for another agreement than that of a generation.

    Args:
      generation: int; 0 for none.
      meanwhile: called again and again; returns whether it did something.

    Raises:
      waiting.WaitTimeoutError: the chief is absent for too long.
    """
    pause = self.pause("begin what follows")
    while True:
      agreed = self.look()
      if agreed is not None and agreed.generation != generation:
        return agreed
      if meanwhile():
        pause = self.pause("begin what follows")
      pause(self._poll_secs)

  def wait_until_ready(self, generation: int) -> None:
    """Waits until all variables of a generation have their values.

    Raises:
      Moved: there is another generation.
      waiting.WaitTimeoutError: the chief is absent for too long.
    """
    pause = self.pause("give all variables their values")
    while True:
      self.raise_if_moved(generation)
      if self.look_for_variables(generation):
        return
      pause(self._poll_secs)

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""How the tasks that a chief leads learn its announcements.

The tasks poll a status board, and read the file of the job state when the board
changes, and once a second. No task asks the chief. While the chief answers, the
tasks wait for the chief without an end.

A parameter server only starts TensorFlow's server, which holds the variables,
and announces the model_dir.
"""

import contextlib
import signal
import time
from typing import Callable, Dict, Iterator, Optional

from adanet import log as logging
from adanet import waiting
from adanet.core import events
from adanet.engines.cluster import addresses
from adanet.engines.cluster import announcements
from adanet.engines.cluster import connection as connection_lib
from adanet.engines.cluster import jobs
from adanet.progress import reporter
from adanet.training import setup as setup_lib
from adanet.training import signals
from adanet.training import trainer

_FILE_SECS = 1.  # Between two reads of a file.
_LOOK_SECS = 30.  # Between two looks at whether the chief is there.
_SERVER_POLL_SECS = 1.
# How long the chief has to save when all tasks were asked to stop.
_STOP_SECS = 8.
# How long a parameter server stays when the job is over.
_LAST_SECS = 1.5
# How long it stays when it has another model_dir than the chief.
_MISTAKE_SECS = 15.
_FOLLOWED = "the chief has begun its next training"


class GenerationChanged(Exception):  # pylint: disable=g-bad-exception-name
  """The chief has announced another generation."""


@contextlib.contextmanager
def opened(setup: setup_lib.SearchSetup, request: trainer.Request, name: str
          ) -> Iterator[trainer.Training]:
  """Opens the signals and the reporter of the task with a name.

  Raises:
    SystemExit: the job was stopped.
  """
  # The chief says how far all are.
  with signals.StopRequests() as stops, reporter.reporter(
      log_step_count_steps=setup.config.log_step_count_steps,
      say=reporter.log) as report:
    try:
      yield trainer.Training(request, stops, report)
    except jobs.StoppedError as stopped:
      logging.warning("%s ends: %s.", name, stopped)
      raise SystemExit(
          128 + (stops.asked or signal.SIGTERM)) from None


def poll_secs(num_workers: int, num_ps: int) -> float:
  """Returns how long a worker waits between two reads of a board, in s.

  A parameter server answers at most 1,000 reads a second.

  Args:
    num_workers: int, the tasks that train.
    num_ps: int, the parameter servers. Each serves a part of the workers.
  """
  return max(.02, num_workers / max(num_ps, 1) / 1000.)


class ChiefWatch:
  """Waits for a chief, without an end while the chief answers."""

  def __init__(self, chief: Dict[str, str], timeout_secs: float):
    """Looks at nothing yet.

    Args:
      chief: from the chief's name to its address.
      timeout_secs: float, how long to wait for a chief that does not answer.
    """
    self._chief = chief
    self._name = connection_lib.named(chief)
    self._timeout_secs = timeout_secs
    self._look_time = time.monotonic()
    self._is_silent = False

  def pause(self, what: str, level: int = logging.INFO
           ) -> Callable[[float], None]:
    """Returns the pause of a wait: a function of a number of seconds.

    Args:
      what: str, the act of the chief to wait for.
      level: the level of messages while the chief answers, as training goes on.
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


class ChiefClient:
  """Sees the chief's announcements.

  Methods that look at the file raise `jobs.JobFinished` or
  `jobs.StoppedError` at the end of the job, and
  `announcements.SharedFilesError` if the chief has another folder.
  """

  def __init__(self, connection: connection_lib.Connection):
    """Has seen nothing yet."""
    self._connection = connection
    self._board = connection.own_status_board
    # See `ChiefWatch.pause`.
    self.pause = ChiefWatch(
        connection.chief, connection.wait_timeout_secs).pause
    self._files = announcements.VisibilityCheck(
        connection.config.model_dir, connection.job,
        lambda: self._board.model_dir(announcements.CHIEF))
    self._poll_secs = poll_secs(
        connection.config.num_worker_replicas, len(connection.status_boards))
    self._announced = 0  # On the board, at the last look.
    self._look_time = 0.
    self._job_state: Optional[jobs.JobState] = None
    self._read_time = 0.

  def look_at_file(self) -> None:
    """Reads the job state, at most once a second."""
    now = time.monotonic()
    if self._read_time and now - self._read_time < _FILE_SECS:
      return
    self._read_time = now
    job_state = self._job_state = self._connection.file.read()
    state = self._connection.job_watch.after(job_state)
    if self._connection.job.is_followed_by(job_state):
      reason = _FOLLOWED
    else:
      reason = job_state.reason if job_state else ""
    if state == jobs.State.OVER:
      raise jobs.JobFinished(reason)
    if state == jobs.State.STOPPED:
      raise jobs.StoppedError(reason)

  def look(self) -> Optional[jobs.JobState]:
    """Reads the board, and the file if the board has changed.

    Returns:
      The announced `JobState`; None while no `JobState` is announced.
    """
    status = self._board.read()
    if status is not None and status.is_followed:
      raise jobs.JobFinished(_FOLLOWED)
    if status is not None and status.announced != self._announced:
      self._announced = status.announced
      self._read_time = 0.
    self.look_at_file()
    if status is None or not status.announced:
      return None  # The chief will announce another one.
    job_state = self._job_state
    if not self._files.check_seen(job_state, status.announced):
      return None
    assert job_state is not None
    if job_state.is_training and job_state.generation == status.announced:
      return job_state
    return None

  def raise_if_changed(self, generation: int) -> None:
    """Raises `GenerationChanged` if another generation is announced."""
    job_state = self.look()
    if job_state is not None and job_state.generation != generation:
      raise GenerationChanged()

  def look_for_change(self, generation: int) -> bool:
    """Looks, once a second, whether the board announces another generation.

    So the method may be called after each step. It raises nothing.
    """
    now = time.monotonic()
    if now - self._look_time < _FILE_SECS:
      return False
    self._look_time = now
    status = self._board.read()
    return status is not None and (
        status.is_followed or status.announced not in (0, generation))

  def look_for_variables(self, generation: int) -> bool:
    """Looks whether all variables of a generation have values."""
    # Its own board first: all workers wait at the same time.
    return all(n is not None and n.ready == generation for n in (
        board.read()
        for board in [self._board] + list(self._connection.status_boards)))

  def wait_until_announced(
      self, generation: int, meanwhile: Callable[[], bool]
      ) -> jobs.JobState:
    """Waits for the job state of another generation.

    Args:
      generation: int; 0 for no generation.
      meanwhile: called again and again; returns True after doing work.

    Raises:
      waiting.WaitTimeoutError: the chief is absent for too long.
    """
    pause = self.pause("begin what follows")
    while True:
      job_state = self.look()
      if job_state is not None and job_state.generation != generation:
        return job_state
      if meanwhile():
        pause = self.pause("begin what follows")
      pause(self._poll_secs)

  def wait_until_ready(self, generation: int) -> None:
    """Waits until all variables of a generation have values.

    Raises:
      GenerationChanged: there is another generation.
      waiting.WaitTimeoutError: the chief is absent for too long.
    """
    pause = self.pause("give all variables their values")
    while True:
      self.raise_if_changed(generation)
      if self.look_for_variables(generation):
        return
      pause(self._poll_secs)


def run_parameter_server(
    setup: setup_lib.SearchSetup, request: trainer.Request) -> None:
  """Serves until training is over."""
  with contextlib.closing(connection_lib.connect(
      setup.config, request.wait_timeout_secs)) as connection, (
          opened(setup, request, connection.name)) as training:
    serve(connection, training.stops,
          lambda: training.report(events.Working(connection.name)))


def serve(connection: connection_lib.Connection, stops: signals.StopRequests,
          report_working: Callable[[], None] = lambda: None) -> None:
  """Serves until the job is over.

  When all tasks get a signal, the chief must still be able to save the
  variables. So a signal ends a parameter server when the chief is gone, or a
  while later.

  Args:
    connection: `Connection`.
    stops: `StopRequests`.
    report_working: called when the server is ready.

  Raises:
    KeyboardInterrupt, SystemExit: a signal asked for it.
    jobs.StoppedError: the job was stopped.
    waiting.WaitTimeoutError: the chief is absent for too long.
  """
  client = ChiefClient(connection)
  report_working()
  with stops.deferred():
    try:
      pause = client.pause("end the job", logging.DEBUG)
      is_told = False
      while stops.asked is None:
        is_told = is_told or connection.own_status_board.write_model_dir(
            announcements.SERVER, connection.model_dir)
        client.look()  # It raises when the job is over.
        pause(_SERVER_POLL_SECS)
      end = time.monotonic() + _STOP_SECS
      while (time.monotonic() < end and
             not addresses.unreachable(connection.chief)):
        client.look_at_file()
        time.sleep(.1)
    except (jobs.JobFinished, jobs.StoppedError) as ending:
      # Workers look once a second. TensorFlow 1.15 does not tell one that is
      # in a step that its parameter server has gone.
      time.sleep(_LAST_SECS)
      if isinstance(ending, jobs.StoppedError):
        raise
      logging.info("%s ends: %s.", connection.name, ending)
      return
    except announcements.SharedFilesError:
      # All other tasks see it too, as long as this task serves.
      end = time.monotonic() + _MISTAKE_SECS
      while stops.asked is None and time.monotonic() < end:
        time.sleep(.1)
      raise
  stops.raise_asked()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A parameter server: holds variables until the job is over.

The server of TensorFlow does that by itself. This task starts it, sees when the
chief ends the job, and says where it has its files.
"""

import contextlib
import time
from typing import Callable

from adanet import log as logging
from adanet.core import events
from adanet.engines.cluster import addresses
from adanet.engines.cluster import announcements
from adanet.engines.cluster import chief_client
from adanet.engines.cluster import connection as connection_lib
from adanet.engines.cluster import jobs
from adanet.training import setup as setup_lib
from adanet.training import signals
from adanet.training import trainer

_POLL_SECS = 1.
# How long the chief has to save when all tasks were asked to stop.
_STOP_SECS = 8.
# How long this task stays when the job is over.
_LAST_SECS = 1.5
# How long it stays when it has another model_dir than the chief.
_MISTAKE_SECS = 15.


def train(setup: setup_lib.SearchSetup, request: trainer.Request) -> None:
  """Serves until training is over."""
  with contextlib.closing(connection_lib.connect(
      setup.config, request.wait_timeout_secs)) as connection, (
          chief_client.opened(setup, request, connection.name)) as training:
    serve(connection, training.stops,
          lambda: training.report(events.Working(connection.name)))


def serve(connection: connection_lib.Connection, stops: signals.StopRequests,
          report_working: Callable[[], None] = lambda: None) -> None:
  """Serves until the job is over.

  A signal that all tasks get must not take the variables from a chief that
  saves them. So it ends this task when the chief is gone, or a while later.

  Args:
    connection: `Connection`.
    stops: `StopRequests`.
    report_working: called when it serves.

  Raises:
    KeyboardInterrupt, SystemExit: a signal asked for it.
    jobs.StoppedError: the job was stopped.
    waiting.WaitTimeoutError: the chief is absent for too long.
  """
  client = chief_client.ChiefClient(connection)
  report_working()
  with stops.deferred():
    try:
      _wait_until_asked_to_stop(connection, client, stops)
      _wait_until_chief_is_gone(connection, client)
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


def _wait_until_asked_to_stop(connection, client, stops):
  """Looks once a second, which raises when the job is over."""
  pause = client.pause("end the job", logging.DEBUG)
  is_told = False
  while stops.asked is None:
    is_told = is_told or connection.own_status_board.write_model_dir(
        announcements.SERVER, connection.model_dir)
    client.look()
    pause(_POLL_SECS)


def _wait_until_chief_is_gone(connection, client):
  """Lets the chief save its last checkpoint."""
  chief = connection.chief
  end = time.monotonic() + _STOP_SECS
  while time.monotonic() < end and not addresses.unreachable(chief):
    client.look_at_file()
    time.sleep(.1)

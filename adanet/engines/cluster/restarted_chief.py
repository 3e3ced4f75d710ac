# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Whether a chief that starts finds its job over, or its program further on."""

import time
from typing import Optional

from adanet.engines.cluster import addresses
from adanet.engines.cluster import connection as connection_lib
from adanet.engines.cluster import job_state as job_state_lib

_FILE_SECS = 1.  # Between two reads of a file.
# How long a chief waits for parameter servers if the job seems to be over. They
# will know by then.
_OVER_SECS = 35.


def is_followed(connection: connection_lib.Connection,
                job_state: Optional[job_state_lib.JobState]) -> bool:
  """Returns whether the chief was restarted in a later job of its program.

  Args:
    connection: `Connection`.
    job_state: `JobState` in the file; None for none.
  """
  job = connection.job
  if job.is_followed_by(job_state) and (
      connection.job_watch.after(job_state) == job_state_lib.State.OVER):
    return True
  # A later job begins when this one is over. While it is not, a stopped server
  # must not delay this chief: a signal would lose what the workers train.
  may_be_over = job.is_followed_by(job_state) or (
      job_state is not None and job.is_of(job_state) and
      job_state.state == job_state_lib.State.OVER)
  return may_be_over and connection.is_followed()


def wait_until_known_to_be_over(connection: connection_lib.Connection,
                                max_steps: Optional[int]) -> bool:
  """Returns whether the chief was restarted after the end of its job.

  Or in a later job. A new job may have the same id as one that is over. Then
  parameter servers run, or start soon. So this waits for them for a while.

  Args:
    connection: `Connection`.
    max_steps: int or None, of the request.
  """
  end = time.monotonic() + _OVER_SECS
  while True:
    job_state = connection.file.read()
    if (connection.job_watch.after(job_state) == job_state_lib.State.OVER or
        is_followed(connection, job_state)):
      return True
    is_own = connection.job.is_of(job_state)
    if (job_state is None or job_state.state != job_state_lib.State.OVER or
        not (is_own or connection.job.is_followed_by(job_state)) or
        is_own and job_state.max_steps != max_steps or
        time.monotonic() >= end or
        len(addresses.unreachable(connection.servers)) <
        len(connection.servers)):
      return False
    time.sleep(_FILE_SECS)

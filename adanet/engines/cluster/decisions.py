# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""How a task reacts to lost servers and to restarts, by small values.

Nothing here is about the candidates of a search.
"""

from typing import Optional, Sequence

from adanet.engines.cluster import job_state as job_state_lib

# How often a step may fail for the same reason while all parameter servers have
# their variables. Then the servers are not the cause.
MAX_FAILURES = 3

# Names in `tf.errors` of errors that a lost, stopped or restarted parameter
# server causes.
_LOST = frozenset([
    "AbortedError", "CancelledError", "DeadlineExceededError",
    "FailedPreconditionError", "InternalError", "NotFoundError",
    "UnavailableError", "UnknownError"])


class StepTimeoutError(RuntimeError):
  """A step takes longer than it may."""


def may_be_lost(error: BaseException) -> bool:
  """Returns whether an error may be that of a lost parameter server."""
  return any(kind.__name__ in _LOST for kind in type(error).__mro__)


def may_reconnect(error: BaseException, num_failures: int) -> bool:
  """Returns whether another session may help after an error of one.

  Args:
    error: the error.
    num_failures: int, how many attempts in a row failed, this one included, with
      no step between them, or for the same reason after as many steps, while
      all parameter servers had their variables.
  """
  return may_be_lost(error) and num_failures <= MAX_FAILURES


def pause_secs(num_failures: int) -> float:
  """Returns how long to wait after an error before another session, in s.

  A task that was refused, as a worker that is started again refuses at first,
  is not asked again for about 1 s by gRPC, and then for 1.6 times as long each
  time: github.com/grpc/grpc/blob/master/doc/connection-backoff.md.

  Args:
    num_failures: see `may_reconnect`.
  """
  return 0. if num_failures <= 1 else 2.**(num_failures - 1)


def have_lost(ready: Sequence[Optional[int]], generation: int) -> bool:
  """Returns whether a parameter server has lost its variables.

  Args:
    ready: for each parameter server the generation of its variables, 0 for
      none; None for one that does not answer.
    generation: int, the generation that trains.
  """
  return any(one not in (None, generation) for one in ready)


def may_take_over(job_state: job_state_lib.JobState,
              now: job_state_lib.JobState) -> bool:
  """Returns whether a chief that starts may train on in a generation.

  Whether the parameter servers still have the variables is checked apart.

  Args:
    job_state: the `JobState` that it finds.
    now: the one that it would write.
  """
  return job_state.is_training and job_state._replace(
      reason="", written=0.) == now._replace(reason="", written=0.)


def poll_secs(num_workers: int, num_ps: int) -> float:
  """Returns how long a worker waits between two reads of its board, in s.

  A parameter server answers at most 1,000 of them a second.

  Args:
    num_workers: int, the tasks that train.
    num_ps: int, the parameter servers, among which they are divided.
  """
  return max(.02, num_workers / max(num_ps, 1) / 1000.)

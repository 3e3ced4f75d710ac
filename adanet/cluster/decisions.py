# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a task does next: pure functions of small values."""

import enum
import typing

from adanet.cluster import agreement as agreement_lib

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


class Next(enum.Enum):
  """What a task does after an error."""
  RECONNECT = "opens a session again"
  RESTORE = "restores the last checkpoint"
  FAIL = "ends with the error"


def may_be_lost(error: BaseException) -> bool:
  """Returns whether an error may be that of a lost parameter server."""
  return any(kind.__name__ in _LOST for kind in type(error).__mro__)


def after_error(error: BaseException, num_failures: int) -> Next:
  """Returns what to do after an error of a session.

  Args:
    error: the error.
    num_failures: int, how many attempts in a row failed with no step between
      them, this one included, while all parameter servers had their variables.
  """
  if not may_be_lost(error) or num_failures > MAX_FAILURES:
    return Next.FAIL
  return Next.RECONNECT


def on_boards(ready: typing.Sequence[typing.Optional[int]],
              generation: int) -> typing.Optional[Next]:
  """Returns what the chief does, by what the parameter servers have.

  Args:
    ready: for each parameter server the generation whose variables it has, 0
      for none; None for one that does not answer.
    generation: int, the generation that trains.

  Returns:
    RECONNECT if all have kept their variables, RESTORE if one has lost them,
    None if that is not known yet.
  """
  if any(found not in (None, generation) for found in ready):
    return Next.RESTORE
  return None if None in ready else Next.RECONNECT


def may_go_on(agreed: agreement_lib.Agreement,
              now: agreement_lib.Agreement) -> bool:
  """Returns whether a chief that starts may take over what was agreed.

  Whether the parameter servers still have the variables is another question.

  Args:
    agreed: the `Agreement` that it finds.
    now: the one that it would write.
  """
  return agreed.is_training and agreed._replace(
      reason="", written=0.) == now._replace(reason="", written=0.)


def poll_secs(num_workers: int, num_ps: int) -> float:
  """Returns how long a worker waits between two reads of its board, in s.

  A parameter server answers at most 1,000 of them a second.

  Args:
    num_workers: int, the tasks that train.
    num_ps: int, the parameter servers, among which they are divided.
  """
  return max(.02, num_workers / max(num_ps, 1) / 1000.)

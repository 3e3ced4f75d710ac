# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Decides why the training of an iteration ends, for every engine.

    ending      of a loop, from the `Standing` between two steps
    of_parts    of an iteration, from the endings of an executor's parts
    of_search   of an iteration, from the last checkpoint

All functions are pure: no clock, session or file.

An `Ending` says why an iteration stopped training. Why no other iteration
follows a decided iteration (`max_iterations`, `patience`, `max_seconds`) is a
separate list in `search/loop`: no engine needs those reasons, and each reason
is a sentence with numbers.
"""

import enum
from typing import Iterable, NamedTuple, Optional


class Ending(enum.Enum):
  """Why a loop ended. A loop trains an iteration, a share or a part.

  The search chooses a winner only after ITERATION_OVER.
  """
  ITERATION_OVER = "the iteration is over"
  STOP_ASKED = "a hook or a saving listener asked for a stop"
  MAX_STEPS = "it reached the number of steps that were asked for"
  TIME_IS_UP = "its max_seconds are over"
  INPUT_ENDED = "the input ended"
  SIGNAL = "a signal asked for a stop"


class Standing(NamedTuple):
  """The state of an iteration between two steps of a loop.

  Attributes:
    is_stop_asked: whether a hook or a saving listener asked for a stop.
    is_signaled: whether a signal asked for a stop.
    is_at_max_steps: whether the global step is at least `max_steps`.
    is_late: whether `max_seconds` are over.
    trains_subnetworks: whether a subnetwork of this task still trains.
    awaits_others: whether ensembles of this task wait for subnetworks of other
      tasks.
    catches_up: whether ensembles of this task have taken fewer steps than the
      subnetworks, and still train.
    outlasts: whether the ensembles of a part still train, because a subnetwork
      of another part may.
    is_chief: whether this task decides when the iteration is over.
    input_ended: whether the input of this task has ended.
    all_done: whether all subnetworks and ensembles of the iteration are at the
      limit of steps or stopped.
    has_begun: whether an awaited subnetwork has taken a step, or no subnetwork
      is awaited.
  """
  is_stop_asked: bool = False
  is_signaled: bool = False
  is_at_max_steps: bool = False
  is_late: bool = False
  trains_subnetworks: bool = False
  awaits_others: bool = False
  catches_up: bool = False
  outlasts: bool = False
  is_chief: bool = True
  input_ended: bool = False
  all_done: bool = True
  has_begun: bool = True


def is_over(standing: Standing) -> bool:
  """Returns whether this task has nothing left to train or to wait for.

  A worker whose input has ended does not wait.
  """
  if standing.trains_subnetworks:
    return False
  if standing.input_ended and not standing.is_chief:
    return True
  return not (standing.awaits_others or standing.catches_up or
              standing.outlasts)


def ending(standing: Standing) -> Optional[Ending]:
  """Returns why a loop ends; None if another step follows.

  A stop, a signal and the limits of a call come before the end of the
  iteration: a later call then continues, or decides.
  """
  if standing.is_stop_asked:
    return Ending.STOP_ASKED
  if standing.is_signaled:
    return Ending.SIGNAL
  if standing.is_at_max_steps and not standing.catches_up:
    return Ending.MAX_STEPS
  if standing.is_late:
    return Ending.TIME_IS_UP
  if not is_over(standing):
    return None
  if not standing.has_begun or standing.input_ended and not standing.all_done:
    return Ending.INPUT_ENDED
  return Ending.ITERATION_OVER


def of_parts(endings: Iterable[Ending]) -> Ending:
  """Returns why an iteration ended, from the endings of the parts.

  The iteration is over when all parts are over. Of the other endings, the first
  in the order of `Ending` counts.
  """
  other_endings = set(endings) - {Ending.ITERATION_OVER}
  return next((reason for reason in Ending if reason in other_endings),
              Ending.ITERATION_OVER)


def of_search(ending_of_engine: Ending, global_step: int,
              max_steps: Optional[int]) -> Ending:
  """Returns why an iteration ended, when the last checkpoint is known.

  The workers of a cluster may have reached `max_steps` before the checkpoint.
  Then no winner is chosen, as if the chief had reached the step.

  Args:
    ending_of_engine: `Ending` that the engine returned.
    global_step: int, of the last checkpoint.
    max_steps: int, the `max_steps` of the call, or None.
  """
  if max_steps is not None and global_step >= max_steps:
    return Ending.MAX_STEPS
  return ending_of_engine

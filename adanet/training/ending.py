# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Why the training of an iteration ends: decided here, for every engine.

    ending      of a loop, from what the loop knows between two steps
    of_parts    of an iteration whose parts an executor has trained
    of_search   of an iteration, when the search has its last checkpoint

All functions are pure: no clock, session or file.
"""

import enum
from typing import Dict, Iterable, Mapping, NamedTuple, Optional


class Ending(enum.Enum):
  """Why a loop ended, of what its process trains: all, a share or a part.

  The search chooses a winner after ITERATION_OVER alone.
  """
  ITERATION_OVER = "the iteration is over"
  STOP_ASKED = "a hook or a saving listener asked for a stop"
  MAX_STEPS = "it reached the number of steps that were asked for"
  TIME_IS_UP = "its max_seconds are over"
  INPUT_ENDED = "the input ended"
  SIGNAL = "a signal asked for a stop"


class Standing(NamedTuple):
  """What a loop knows of its iteration between two steps.

  Attributes:
    is_stop_asked: whether a hook or a saving listener asked for a stop.
    is_signaled: whether a signal asked for a stop.
    is_at_max_steps: whether the global step is `max_steps`, or beyond.
    is_late: whether `max_seconds` are over.
    trains_subnetworks: whether a subnetwork trains on here.
    awaits_others: whether ensembles here wait for subnetworks that other tasks
      train.
    catches_up: whether ensembles train on here until they are as far as their
      subnetworks.
    outlasts: whether the ensembles of a part train on, because a subnetwork of
      another part may.
    is_chief: whether this task finds out when the iteration is over.
    input_ended: whether the input of this task has ended.
    all_done: whether all that train in the iteration have their steps or were
      stopped.
    has_begun: whether a subnetwork that this task waits for has taken a step,
      or there is none.
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
  """Returns whether nothing is left to train here, or to wait for.

  A worker whose input has ended waits for nobody.
  """
  if standing.trains_subnetworks:
    return False
  if standing.input_ended and not standing.is_chief:
    return True
  return not (standing.awaits_others or standing.catches_up or
              standing.outlasts)


def ending(standing: Standing) -> Optional[Ending]:
  """Returns why a loop ends; None if it takes another step.

  A stop, a signal and the limits of a call come before the end of the
  iteration: a later call then goes on, or decides.
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
  """Returns why an iteration ended, of the endings of its parts.

  The iteration is over when all of its parts are. Of other endings, the first
  in the order of `Ending` counts.
  """
  other_endings = set(endings) - {Ending.ITERATION_OVER}
  return next((reason for reason in Ending if reason in other_endings),
              Ending.ITERATION_OVER)


def done_of_part(ending_of_part: Ending, steps: Mapping[str, int], runs: int
                ) -> Dict[str, int]:
  """Returns the builders of a part that train no further, with their steps.

  Args:
    ending_of_part: `Ending` of the part.
    steps: dict from each builder of the part to its steps.
    runs: int, how many steps the part took.
  """
  return {name: step for name, step in steps.items()
          if ending_of_part == Ending.ITERATION_OVER or step < runs}


def ended_too_early(ending_of_part: Ending, runs: int,
                    presumed: Mapping[str, int], done: Mapping[str, int]
                   ) -> bool:
  """Returns whether a part took a builder of another part for further.

  A part ends at `max_steps` as if all other builders trained as long.

  Args:
    ending_of_part: `Ending` of the part.
    runs: int, how many steps the part took.
    presumed: dict from builders that the part knew as done to their steps.
    done: dict from the builders of other parts that are done to their steps.
  """
  return ending_of_part == Ending.MAX_STEPS and any(
      step < min(runs, presumed.get(name, runs)) for name, step in done.items())


def of_search(ending_of_engine: Ending, global_step: int,
              max_steps: Optional[int]) -> Ending:
  """Returns why an iteration ended, when its last checkpoint is known.

  The workers of a cluster may have reached `max_steps` before the checkpoint:
  then no winner is chosen, as if the chief had seen the step itself.

  Args:
    ending_of_engine: `Ending` that the engine returned.
    global_step: int, of the last checkpoint.
    max_steps: int, the `max_steps` of the call, or None.
  """
  if max_steps is not None and global_step >= max_steps:
    return Ending.MAX_STEPS
  return ending_of_engine

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The events that training reports while it runs: values, for any display."""

from typing import NamedTuple
from typing import Callable, Dict, Optional, Tuple, Union

from adanet.core import selection


class IterationBegan(NamedTuple):
  """The graph of an iteration is built, and its training begins.

  Attributes:
    iteration_number: int, from 0.
    subnetworks: tuple of str, the names of the subnetworks that train.
    ensembles: tuple of str, the names of the candidates.
    max_steps: int, how many steps each one trains; None if the input decides.
    global_step: int, the global step now.
    num_iterations: int, after how many iterations training ends, or None.
    last_step: int, the global step at which training ends, or None.
  """
  iteration_number: int
  subnetworks: Tuple[str, ...]
  ensembles: Tuple[str, ...]
  max_steps: Optional[int]
  global_step: int
  num_iterations: Optional[int] = None
  last_step: Optional[int] = None


class Resumed(NamedTuple):
  """Training goes on from a checkpoint.

  Attributes:
    iteration_number: int, the iteration of the checkpoint.
    global_step: int, the global step at which training goes on: that of the
      checkpoint, but see `saved_step`.
    checkpoint: str, its path.
    saved_step: int, the global step of the checkpoint, where training goes on
      with variables that parameter servers have kept. Other tasks may have
      trained these since. None otherwise.
  """
  iteration_number: int
  global_step: int
  checkpoint: str
  saved_step: Optional[int] = None


class Progress(NamedTuple):
  """How far an iteration is.

  Attributes:
    iteration_number: int.
    global_step: int.
    steps: dict from the name of a subnetwork or ensemble to its own step.
    losses: dict from such a name to the loss of its last step; None if it is
      not known.
    steps_per_second: float, since the last such event; None if not known.
    seconds_left: float, until the iteration ends; None if not known.
  """
  iteration_number: int
  global_step: int
  steps: Dict[str, int]
  losses: Dict[str, Optional[float]]
  steps_per_second: Optional[float] = None
  seconds_left: Optional[float] = None


def at_limit(step: int) -> str:
  """Returns why what has done its `max_iteration_steps` trains no further."""
  return f"Training complete after {step} steps."


class Stopped(NamedTuple):
  """A subnetwork or ensemble trains no further in this iteration.

  Attributes:
    iteration_number: int.
    name: str, its name.
    reason: str, why: one sentence.
    is_complete: bool, whether it is done: it did all its steps.
    is_nan: bool, whether the reason is that a loss of it is NaN.
  """
  iteration_number: int
  name: str
  reason: str
  is_complete: bool = False
  is_nan: bool = False


class CheckpointSaved(NamedTuple):
  """A checkpoint is complete.

  Attributes:
    path: str, its prefix.
    global_step: int.
  """
  path: str
  global_step: int


class IterationEnded(NamedTuple):
  """An iteration has a winner.

  Attributes:
    iteration_number: int.
    choice: a `selection.Choice`, the winner.
    seconds: float, how long the iteration took, in all processes that led it.
    metric_name: str, the value that the candidates were compared by.
    fit: a `selection.Fit`, if the winner is a fitted ensemble; or None.
  """
  iteration_number: int
  choice: selection.Choice
  seconds: float
  metric_name: str = "adanet_loss"
  fit: Optional[selection.Fit] = None


class IterationUndecided(NamedTuple):
  """Training ends at its last step, before the iteration has a winner.

  Attributes:
    iteration_number: int.
    global_step: int.
    choice: a `selection.Choice`, the ensemble that answers until then; None if
      an evaluator finds it each time.
    metric_name: str, the value that the candidates are compared by.
    untrained: tuple of str, the networks that have trained no step.
  """
  iteration_number: int
  global_step: int
  choice: Optional[selection.Choice]
  metric_name: str = "adanet_loss"
  untrained: Tuple[str, ...] = ()


class TrainingEnded(NamedTuple):
  """Training is over, or is interrupted.

  Attributes:
    global_step: int.
    reason: str, why: one sentence.
  """
  global_step: int
  reason: str


class Joined(NamedTuple):
  """A task was asked to train, to serve or to evaluate, and begins with it.

  Attributes:
    model_dir: str, the folder of the search, absolute.
    job_number: int, how often the task's program has begun to train, in this
      life of the task. It is the same in all tasks.
  """
  model_dir: str
  job_number: int = 1


class Working(NamedTuple):
  """A task took its first step, or serves, or waits for checkpoints.

  From now on it makes sense to start the task again if it dies.

  Attributes:
    task: str, such as "worker:1".
  """
  task: str


Event = Union[IterationBegan, Resumed, Progress, Stopped, CheckpointSaved,
              IterationEnded, IterationUndecided, TrainingEnded, Joined, Working]

# Training calls it with each event.
Report = Callable[[Event], None]

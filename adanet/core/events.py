# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The events that training reports: values, for any display."""

from typing import NamedTuple
from typing import Callable, Dict, Optional, Tuple, Union

from adanet.core import selection


class IterationBegan(NamedTuple):
  """The graph of an iteration is built, and training begins.

  Attributes:
    subnetworks: tuple of str, the names of the training subnetworks.
    max_steps: int, the steps of each subnetwork; None if the input decides.
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
    global_step: int, the global step at which training goes on: the step of the
      checkpoint, but see `saved_step`.
    saved_step: int, the global step of the checkpoint, if training goes on with
      variables that parameter servers have kept, and that other tasks may have
      trained further. None otherwise.
  """
  iteration_number: int
  global_step: int
  checkpoint: str
  saved_step: Optional[int] = None


class Progress(NamedTuple):
  """How far an iteration is.

  Attributes:
    steps: dict from the name of a subnetwork or ensemble to the step.
    losses: dict from such a name to the loss of the last step; None if unknown.
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
  """Returns the reason of an end after `max_iteration_steps`."""
  return f"Training complete after {step} steps."


class Stopped(NamedTuple):
  """A subnetwork or ensemble trains no further in an iteration.

  Attributes:
    reason: str, a sentence.
    is_complete: bool, whether all steps are done.
    is_nan: bool, whether a loss was NaN.
  """
  iteration_number: int
  name: str
  reason: str
  is_complete: bool = False
  is_nan: bool = False


class CheckpointSaved(NamedTuple):
  """A checkpoint is complete."""
  path: str
  global_step: int


class IterationEnded(NamedTuple):
  """An iteration has a winner.

  Attributes:
    seconds: float, how long the iteration took, in all leading processes.
    fit: a `selection.Fit`, if the winner is a fitted ensemble; or None.
  """
  iteration_number: int
  choice: selection.Choice
  seconds: float
  metric_name: str = "adanet_loss"
  fit: Optional[selection.Fit] = None


class IterationUndecided(NamedTuple):
  """Training ends at the last step, before the iteration has a winner.

  Attributes:
    choice: a `selection.Choice`, the ensemble that answers until then; None if
      an evaluator chooses at each request.
    untrained: tuple of str, the networks that have trained no step.
  """
  iteration_number: int
  global_step: int
  choice: Optional[selection.Choice]
  metric_name: str = "adanet_loss"
  untrained: Tuple[str, ...] = ()


class TrainingEnded(NamedTuple):
  """Training is over, or is interrupted."""
  global_step: int
  reason: str


class Joined(NamedTuple):
  """A task begins to train, to serve or to evaluate.

  Attributes:
    model_dir: str, the folder of the search, absolute.
    job_number: int, how often the task's program has begun to train since the
      start of the task. The same in all tasks.
  """
  model_dir: str
  job_number: int = 1


class Working(NamedTuple):
  """A task took the first step, or serves, or waits for checkpoints.

  From now on, a restart of the task makes sense if the task dies.

  Attributes:
    task: str, such as "worker:1".
  """
  task: str


Event = Union[IterationBegan, Resumed, Progress, Stopped, CheckpointSaved,
              IterationEnded, IterationUndecided, TrainingEnded, Joined, Working]

# Training calls it with each event.
Report = Callable[[Event], None]

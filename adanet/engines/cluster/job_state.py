# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The chief's announcements to all tasks of its job, in one small file.

    <model_dir>/cluster/agreement.json

The chief writes the file before each iteration and after each restore, and when
training ends. All other tasks read it and follow it.
"""

import enum
import json
import math
import os
import time
from typing import Callable, Dict, NamedTuple, Optional, Tuple, Union

from adanet import typed_json
from adanet.tf_compat import files

NumberPerBuilder = Tuple[Union[int, float], ...]
"""A positive number for each builder."""


class JobStateError(ValueError):
  """A file that should have a job state does not."""


class State(enum.Enum):
  """How far a job is."""
  TRAINING = "training"
  OVER = "over"
  STOPPED = "stopped"  # It goes on when it is started again.


class JobState(NamedTuple):
  """The state that all tasks of a job must share.

  Attributes:
    job: str, the id of the job. A file of another job is not for this one.
    generation: int, greater with each restore and each iteration.
    iteration: int, the number of the iteration that trains.
    builders: tuple of str, the names of its builders, in order.
    num_workers: int, how many tasks train, the chief included.
    num_ps: int, how many parameter servers there are.
    strategy: str, the placement strategy.
    max_steps: int, the global step at which training ends; None: no limit.
    state: `State` of the job.
    reason: str, why it is in this state.
    written: float, when the file was written, in seconds since the epoch.
    costs: the cost of a step of each builder's subnetwork, where the strategy
      asks for measured costs: nanoseconds, or the builders' own numbers. None
      if it does not ask.
    sizes: the bytes of its variables, under the same conditions.
    ensemble_cost: the nanoseconds of a step of all ensembles, where they were
      measured with the costs; 0 if there are fitted ones only.
    search: dict from the name of an argument to the text of its value, for what
      all tasks must have alike.
  """
  job: str
  generation: int
  iteration: int
  builders: Tuple[str, ...]
  num_workers: int
  num_ps: int
  strategy: str
  max_steps: Optional[int]
  state: State = State.TRAINING
  reason: str = ""
  written: float = 0.
  costs: Optional[NumberPerBuilder] = None
  sizes: Optional[NumberPerBuilder] = None
  ensemble_cost: Optional[Union[int, float]] = None
  search: Dict[str, str] = {}

  @property
  def is_training(self) -> bool:
    """Whether training goes on; otherwise all tasks leave."""
    return self.state == State.TRAINING

  def to_json(self) -> str:
    """Returns the text of its file."""
    return json.dumps(typed_json.to_json(JobState, self), sort_keys=True)

  @classmethod
  def from_json(cls, text: str, path: str) -> "JobState":
    """Returns the job state that a file has.

    Args:
      text: str, the content of the file.
      path: str, the file, for error messages.

    Raises:
      JobStateError: the text is not one that `to_json` writes.
    """
    try:
      content = typed_json.loads(text)
      job_state = typed_json.from_json(cls, content, skips_unknown=True)
      job_state._check(set(content))
      return job_state
    except ValueError as e:
      raise JobStateError(
          f"{path}: {e}. Expected what the chief of a cluster writes. Remove "
          "the file, and start the job again.") from e

  def _check(self, names):
    """Checks the conditions that the types do not express.

    Args:
      names: set of str, which values are in the file.

    Raises:
      ValueError: a value is absent or out of range.
    """
    for name, value in self._asdict().items():
      # Older files have no measurements, and no search.
      if name in ("costs", "sizes"):
        if value is not None and not (
            len(value) == len(self.builders) and
            all(0 < number < math.inf for number in value)):
          raise ValueError(f"{name} is {list(value)}, not a number > 0 for "
                           f"each of the {len(self.builders)} builders")
      elif name == "ensemble_cost":
        if value is not None and not 0 <= value < math.inf:
          raise ValueError(f"{name} is {value}, not a number >= 0")
      elif name not in names and name != "search":
        raise ValueError(f"it lacks {name}")
      elif isinstance(value, int) and value < 0:
        raise ValueError(f"{name} is {value}, not an integer >= 0")


class JobStateFile:
  """The file of the job state in a `model_dir`."""

  def __init__(
      self, model_dir: str, clock: Callable[[], float] = time.time) -> None:
    """Reads nothing: the folder need not exist.

    Args:
      model_dir: str.
      clock: returns the seconds since the epoch.
    """
    self._path = os.path.join(model_dir, "cluster", "agreement.json")
    self._clock = clock

  @property
  def path(self) -> str:
    return self._path

  def read(self) -> Optional[JobState]:
    """Returns the job state; None if there is no file.

    Raises:
      JobStateError: the file is corrupt.
      tf.errors.OpError: the file cannot be read.
    """
    text = files.read_text(self._path)
    return None if text is None else JobState.from_json(text, self._path)

  def write(self, job_state: JobState) -> None:
    """Writes the file whole, with the time of now as `written`.

    Raises:
      tf.errors.OpError: the file cannot be written.
    """
    files.write_text(
        self._path, job_state._replace(written=self._clock()).to_json())

  def announce(self, job: str, num_workers: int, num_ps: int,
               max_steps: Optional[int], state: State = State.TRAINING,
               reason: str = "") -> int:
    """Changes the state of a job, and keeps the other values of its file.

    Args:
      job: str, the id of the job.
      num_workers: int.
      num_ps: int.
      max_steps: int, or None.
      state: `State`.
      reason: str, why.

    Returns:
      The new generation.
    """
    current = self.read()
    if current is None or current.job != job:
      current = JobState(job, current.generation if current else 0, 0, (),
                         num_workers, num_ps, "", max_steps)
    self.write(current._replace(
        generation=current.generation + 1, max_steps=max_steps, state=state,
        reason=reason))
    return current.generation + 1

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the chief announces to all tasks of its job, in one small file.

    <model_dir>/cluster/agreement.json

The chief writes the file before each iteration and after each restore, and when
training ends. All other tasks read it and follow it.
"""

import json
import os
import time
import typing
from typing import Any, Callable, Dict, Optional, Tuple, Union

from adanet.tf_compat import files

_TRAINING = "training"
_STATES = (_TRAINING, "over", "stopped")

Figures = Tuple[Union[int, float], ...]
"""A positive number for each builder."""


class AgreementError(ValueError):
  """A file that should have an agreement does not."""


class Agreement(typing.NamedTuple):
  """What all tasks of a job must know alike.

  Attributes:
    job: str, the id of the job. A file of another job is not for this one.
    generation: int, greater with each restore and each iteration.
    iteration: int, the number of the iteration that trains.
    builders: tuple of str, the names of its builders, in order.
    num_workers: int, how many tasks train, the chief included.
    num_ps: int, how many parameter servers there are.
    strategy: str, the placement strategy.
    max_steps: int, the global step at which training ends; None: no limit.
    state: str, "training", "over" or "stopped".
    reason: str, why it is in this state.
    written: float, when the file was written, in seconds since the epoch.
    costs: what a step of each builder's subnetwork costs, where the strategy
      asks for measured costs: nanoseconds, or what the builders say. None if it
      does not ask.
    sizes: likewise the bytes of its variables.
  """
  job: str
  generation: int
  iteration: int
  builders: Tuple[str, ...]
  num_workers: int
  num_ps: int
  strategy: str
  max_steps: Optional[int]
  state: str = _TRAINING
  reason: str = ""
  written: float = 0.
  costs: Optional[Figures] = None
  sizes: Optional[Figures] = None

  @property
  def is_training(self) -> bool:
    """Whether training goes on; otherwise all tasks leave."""
    return self.state == _TRAINING

  def to_json(self) -> str:
    """Returns the text of its file."""
    return json.dumps(self._asdict(), sort_keys=True)

  @classmethod
  def from_json(cls, text: str, path: str) -> "Agreement":
    """Returns the agreement that a file has.

    Args:
      text: str, what is in the file.
      path: str, the file, for error messages.

    Raises:
      AgreementError: the text is not one that `to_json` writes.
    """
    try:
      content = json.loads(text)
    except ValueError as e:
      raise _error(path, f"not JSON: {e}") from e
    if not isinstance(content, dict):
      raise _error(path, f"{content!r} is not an object")
    values: Dict[str, Any] = {}
    for name, (holds, expected) in _CHECKS.items():
      if name not in content and name not in _NEW:
        raise _error(path, f"{name!r} is missing")
      value = values[name] = content.get(name)
      if not holds(value):
        raise _error(path, f"{name!r} is {value!r}, not {expected}")
      if isinstance(value, list):
        values[name] = tuple(value)
    for name in _NEW:
      if values[name] and len(values[name]) != len(values["builders"]):
        raise _error(path, f"{name!r} has {len(values[name])} numbers for "
                           f"{len(values['builders'])} builders")
    return cls(**values)


def _is_str(value: Any) -> bool:
  return isinstance(value, str)


def _is_count(value: Any) -> bool:
  return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _are_figures(value: Any) -> bool:
  return value is None or isinstance(value, list) and bool(value) and all(
      isinstance(n, (int, float)) and not isinstance(n, bool) and
      0 < n < float("inf") for n in value)


_STR = (_is_str, "a string")
_COUNT = (_is_count, "an integer >= 0")
_FIGURES = (_are_figures, "a list of numbers > 0 or null")

# Older files do not have these.
_NEW = ("costs", "sizes")

# Attribute -> what must hold, and the same in words.
_CHECKS = {
    "job": _STR,
    "generation": _COUNT,
    "iteration": _COUNT,
    "builders": (lambda value: isinstance(value, list) and all(
        map(_is_str, value)), "a list of strings"),
    "num_workers": _COUNT,
    "num_ps": _COUNT,
    "strategy": _STR,
    "max_steps": (lambda value: value is None or _is_count(value),
                  "an integer >= 0 or null"),
    "state": (lambda value: value in _STATES,
              f"one of {', '.join(map(repr, _STATES))}"),
    "reason": _STR,
    "written": (lambda value: _is_count(value) or isinstance(value, float),
                "a number"),
    "costs": _FIGURES,
    "sizes": _FIGURES,
}


def _error(path, problem):
  return AgreementError(
      f"{path}: {' '.join(problem.split())}. Expected what the chief of a "
      "cluster writes. Remove the file, and start the job again.")


class AgreementFile:
  """The file of the agreement in a `model_dir`."""

  def __init__(
      self, model_dir: str, clock: Callable[[], float] = time.time) -> None:
    """Takes the folder, which need not exist.

    Args:
      model_dir: str.
      clock: returns the seconds since the epoch.
    """
    self._path = os.path.join(model_dir, "cluster", "agreement.json")
    self._clock = clock

  @property
  def path(self) -> str:
    return self._path

  def read(self) -> Optional[Agreement]:
    """Returns the agreement; None if there is no file.

    Raises:
      AgreementError: the file is corrupt.
      tf.errors.OpError: the file cannot be read.
    """
    text = files.read_text(self._path)
    return None if text is None else Agreement.from_json(text, self._path)

  def write(self, agreement: Agreement) -> None:
    """Writes the file whole, with the time of now as `written`.

    Raises:
      tf.errors.OpError: the file cannot be written.
    """
    files.write_text(
        self._path, agreement._replace(written=self._clock()).to_json())

  def announce(self, job: str, num_workers: int, num_ps: int,
               max_steps: Optional[int], state: str = _TRAINING,
               reason: str = "") -> int:
    """Changes the state of a job, and keeps what else its agreement says.

    Args:
      job: str, the id of the job.
      num_workers: int.
      num_ps: int.
      max_steps: int, or None.
      state: str, see `Agreement`.
      reason: str, see `Agreement`.

    Returns:
      The new generation.
    """
    found = self.read()
    if found is None or found.job != job:
      found = Agreement(job, found.generation if found else 0, 0, (),
                        num_workers, num_ps, "", max_steps)
    self.write(found._replace(
        generation=found.generation + 1, max_steps=max_steps, state=state,
        reason=reason))
    return found.generation + 1

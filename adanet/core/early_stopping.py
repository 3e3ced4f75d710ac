# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Data that are held out say when a network of an iteration is done.

The public `adanet.EarlyStopping`, and the rule: which check of a network is the
best one, which one is a gain, and when the network ends. It is pure: numbers in
and numbers out.
"""

import dataclasses
import math
import numbers
from typing import NamedTuple, Optional, Tuple

#: The ends of names in a checkpoint: a network's `NetworkChecks` as JSON, and
#: the value of each of its variables at the best check.
STORED = CHECKS, AT_BEST = "/checks", "/at_best_check"


@dataclasses.dataclass(frozen=True)
class EarlyStopping:
  """When a network of an iteration is done, by the evaluator's data.

  After each `every_steps` of its steps, and at its last one, a network is
  checked: the head's loss of its logits on the evaluator's data, without
  regularization. Of all checks, the one with the least loss is the best. After
  `patience` checks in a row without a gain the network ends, while others train
  on. When it ends, it has the values of its best check. So
  `max_iteration_steps` is a limit that may be far too large.

  As `keras.callbacks.EarlyStopping` with `restore_best_weights=True`, but one
  for each of the networks that train side by side.

  Attributes:
    every_steps: int, how many steps of a network are between two checks.
    patience: int, after how many checks in a row without a gain it ends.
    min_delta: float, a check is a gain if its loss is below that of the best
      check before by more than this.

  Raises:
    ValueError: a number makes no sense.
  """
  every_steps: int = 100
  patience: int = 5
  min_delta: float = 0.

  def __post_init__(self):
    for name in ("every_steps", "patience"):
      value = getattr(self, name)
      if not _is_number(value) or value < 1 or value % 1:
        raise ValueError(f"EarlyStopping({name}={value!r}): expected a whole "
                         "number > 0")
      object.__setattr__(self, name, int(value))
    if not _is_number(self.min_delta) or not 0 <= self.min_delta < math.inf:
      raise ValueError(f"EarlyStopping(min_delta={self.min_delta!r}): expected "
                       "a finite number >= 0")

  def is_due(self, step: int) -> bool:
    """Returns whether a network is checked after one of its steps."""
    return step % self.every_steps == 0

  def left(self, checks: "NetworkChecks") -> int:
    """Returns how many checks without a gain a network has left."""
    if checks.checks and not math.isfinite(checks.checks[-1].loss):
      return 0
    return max(0, self.patience - checks.without_gain(self.min_delta))

  def why_ended(self, checks: "NetworkChecks") -> str:
    """Returns why a network ends with its last check; "" if it does not."""
    if self.left(checks) > 0:
      return ""
    last = checks.checks[-1]
    if not math.isfinite(last.loss):
      return f"The loss of its check at step {last.step} is {last.loss:g}"
    count = ("1 check" if self.patience == 1 else
             f"{self.patience} checks in a row")
    return f"{count} without a gain, at step {last.step}"

  def standing(self, checks: "NetworkChecks") -> "CheckedLoss":
    """Returns how a network stands that was checked at least once."""
    best = checks.best
    return CheckedLoss(
        checks.checks[-1].loss, best and best.loss, best and best.step,
        0 if checks.ended else self.left(checks))


class HeldOutCheck(NamedTuple):
  """A check of a network.

  Attributes:
    step: int, how often the network was trained before.
    loss: float, the head's on the evaluator's data.
  """
  step: int
  loss: float


class NetworkChecks(NamedTuple):
  """All checks of a network in an iteration.

  Attributes:
    checks: tuple of `HeldOutCheck`, in their order.
    ended: str, why the network trains no further; "" while it does.
    data: str, the digest of the data of the checks; "" if it is unknown.
  """
  checks: Tuple[HeldOutCheck, ...] = ()
  ended: str = ""
  data: str = ""

  @property
  def best(self) -> Optional[HeldOutCheck]:
    """The check with the least loss, of equal ones the first.

    None if no loss is finite.
    """
    return min((check for check in self.checks if math.isfinite(check.loss)),
               key=lambda check: check.loss, default=None)

  def without_gain(self, min_delta: float) -> int:
    """Returns how many checks since the last gain there are.

    Args:
      min_delta: see `EarlyStopping`.
    """
    best, count = math.inf, 0
    for _, loss in self.checks:
      count = 0 if loss < best - min_delta else count + 1
      if math.isfinite(loss):
        best = min(best, loss)
    return count

  def checked(self, check: HeldOutCheck) -> "NetworkChecks":
    """Returns these checks and a further one."""
    return self._replace(checks=self.checks + (check,))


class CheckedLoss(NamedTuple):
  """How a network stands, for who looks at training.

  Attributes:
    last: float, the loss of its last check.
    best: float, that of its best check; None if none was finite.
    best_step: int, the step of that; or None.
    left: int, how many checks without a gain it has left; 0 if it has ended.
  """
  last: float
  best: Optional[float]
  best_step: Optional[int]
  left: int


def _is_number(value):
  return isinstance(value, numbers.Real) and not isinstance(value, bool)

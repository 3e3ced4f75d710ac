# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which candidate wins an iteration: a pure function of names and values."""

import dataclasses
import math
import operator
from typing import Any, Callable, Dict, Iterable, NamedTuple, Optional
from typing import Sequence, Tuple


_ADVICE = "Lower the learning rate, or check the data for NaN."


class AllNaNError(ValueError):
  """No ensemble can win, because the loss or metric of each one is NaN.

  Where training ends with it, it is a `tf.train.NanLossDuringTrainingError`,
  too.
  """


def all_nan_error(number: int, names: Iterable[str],
                  advice: str = "") -> AllNaNError:
  """Returns the error of an iteration that has only such ensembles.

  Args:
    number: int, the iteration's.
    names: of the ensembles.
    advice: str, a sentence in place of the usual one, if the reason is known.
  """
  return AllNaNError(
      f"iteration {number}: the loss of every ensemble is NaN: "
      f"{', '.join(sorted(names))}. {advice.strip() or _ADVICE}")


@dataclasses.dataclass(frozen=True)
class Choice:
  """The candidate that won an iteration, and why.

  Attributes:
    index: int, where it is among all candidates.
    name: str, its name.
    value: float, its loss or metric; None if none was needed.
    next_best: str, the name of the best one that it was compared with; None if
      there is no such one, or an `objective_fn` of a user chose.
    margin: float, how much worse its value is; never negative.
      None without `next_best`.
    compared: int, how many candidates were compared, this one included.
    is_previous: bool, whether it is the ensemble of the previous iteration.
    nan: tuple of str, the names of the candidates that have the value NaN.
    reason: str, why nothing was compared; "" if it is clear.
  """
  index: int
  name: str
  value: Optional[float] = None
  next_best: Optional[str] = None
  margin: Optional[float] = None
  compared: int = 1
  is_previous: bool = False
  nan: Tuple[str, ...] = ()
  reason: str = ""

  def message(self, metric_name: str = "adanet_loss",
              verb: str = "won") -> str:
    """Returns one line: the winner, its value and its margin."""
    line = f"{self.name} {verb}"
    if self.value is not None:
      line += f" with {metric_name} {self.value:.6g}"
    if self.next_best is not None and self.margin is not None:
      line += ", {} {}, the next best of {} candidates".format(
          f"{self.margin:.3g} better than" if self.margin
          else "as good as", self.next_best, self.compared)
    elif self.compared > 1:
      line += f": objective_fn chose it of {self.compared} candidates"
    else:
      line += ": " + (self.reason or "it is the only candidate" +
                      " with a value" * bool(self.nan))
    if self.nan:
      line += "; NaN: " + ", ".join(self.nan)
    line += "."
    if self.is_previous:
      line += (" It is the ensemble of the previous iteration: the ensemble "
               "did not grow.")
    return line


class Fit(NamedTuple):
  """An ensemble that was fitted when all networks had trained.

  Attributes:
    members: dict from the name of each member, such as "t0_linear", to its
      weight.
    loss: float, the head's loss of the ensemble on the evaluator's data.
    num_networks: int, of how many networks it was made.
    best_network: str, which of them alone has the least loss.
    best_loss: float, that loss.
  """
  members: Dict[str, float]
  loss: float
  num_networks: int
  best_network: str
  best_loss: float

  def message(self) -> str:
    """Returns one line: the gain of the ensemble over one network."""
    return (f"The ensemble of {len(self.members)} of {self.num_networks} "
            f"networks has loss {self.loss:.4g}, the best network alone "
            f"({self.best_network}) {self.best_loss:.4g}.")


def preset(names: Sequence[str], index: int, reason: str) -> Choice:
  """Returns the choice of a candidate that needs no comparison.

  Raises:
    ValueError: there is no such candidate.
  """
  if not 0 <= index < len(names):
    raise ValueError(
        f"index={index!r} ({reason}): expected one of the {len(names)} "
        f"candidates, from 0: {', '.join(names)}.")
  return Choice(index, names[index], reason=reason)


def _chosen(objective_fn, indices, numbers):
  """Returns the one of some indices that a user's function chooses by value."""
  values = [numbers[i] for i in indices]
  chosen = objective_fn(values)
  try:
    position = operator.index(chosen)
  except TypeError:
    position = -1
  if not 0 <= position < len(values):
    raise ValueError(
        f"objective_fn of the evaluator returned {chosen!r}: expected the "
        f"index of one of the values {values}")
  return indices[position]


def choose(
    names: Sequence[str], values: Sequence[float], maximize: bool = False,
    previous: Optional[int] = None, force_grow: bool = False,
    objective_fn: Optional[Callable[[Sequence[float]], Any]] = None,
    advice: str = "") -> Choice:
  """Returns the candidate with the best value. A NaN never wins.

  Of equal values, the first one wins.

  Args:
    names: sequence of str, the names of the candidates.
    values: sequence of float, the loss or metric of each.
    maximize: bool, whether the greatest value is the best, not the least.
    previous: int, the index of the previous ensemble; None if it is not among
      the candidates.
    force_grow: bool, whether the previous ensemble cannot win.
    objective_fn: function from the values of possible winners to the index of
      the best one, in place of `maximize`; None for that. If it chooses a NaN,
      it is asked again, without the NaNs.
    advice: see `all_nan_error`.

  Raises:
    AllNaNError: the value of every candidate that could win is NaN.
    ValueError: no candidate can win, or `objective_fn` returns no index.
  """
  numbers = [float(value) for value in values]
  allowed = [i for i in range(len(names)) if not (force_grow and i == previous)]
  if not allowed:
    raise ValueError(
        "names={!r}: expected at least one candidate{}. The ensemble "
        "strategies made none.".format(
            list(names),
            " other than the previous ensemble, because force_grow is set"
            if names else ""))
  ranked = sorted(
      (i for i in allowed if not math.isnan(numbers[i])),
      key=lambda i: -numbers[i] if maximize else numbers[i])
  if not ranked:
    raise AllNaNError(
        "No ensemble can win, because the value of each one is NaN: "
        f"{', '.join((names[i] for i in allowed))}. {advice.strip() or _ADVICE}"
    )
  best = ranked[0]
  if objective_fn is not None and len(ranked) > 1:
    best = _chosen(objective_fn, allowed, numbers)
    if math.isnan(numbers[best]):
      best = _chosen(objective_fn, sorted(ranked), numbers)
  choice = Choice(
      index=best, name=names[best], value=numbers[best], compared=len(ranked),
      is_previous=best == previous,
      nan=tuple(names[i] for i in allowed if math.isnan(numbers[i])))
  if len(ranked) == 1:
    if len(allowed) == 1 < len(names):
      return dataclasses.replace(
          choice, reason="it is the only candidate that could, because "
          "force_grow is set")
    return choice
  if objective_fn is not None:
    return choice
  second = ranked[1]
  equal = numbers[second] == numbers[best]  # The same infinity has no margin.
  return dataclasses.replace(
      choice, next_best=names[second],
      margin=0. if equal else abs(numbers[second] - numbers[best]))

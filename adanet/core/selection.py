# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Chooses the winner of an iteration: a pure function of names and values."""

import dataclasses
import math
import operator
from typing import Any, Callable, Dict, Iterable, NamedTuple, Optional
from typing import Sequence, Tuple


_ADVICE = "Lower the learning rate, or check the data for NaN."


class AllNaNError(ValueError):
  """No ensemble can win, because the loss or metric of all ensembles is NaN.

  An AllNaNError that ends training is also a
  `tf.train.NanLossDuringTrainingError`. For example::

      try:
        estimator.train(input_fn)
      except adanet.AllNaNError as error:
        print(error)
  """


def all_nan_error(number: int, names: Iterable[str],
                  advice: str = "") -> AllNaNError:
  """Returns the error of an iteration in which all losses are NaN.

  Args:
    advice: str, a sentence for a known reason, in place of the usual advice.
  """
  return AllNaNError(
      f"iteration {number}: the loss of every ensemble is NaN: "
      f"{', '.join(sorted(names))}. {advice.strip() or _ADVICE}")


@dataclasses.dataclass(frozen=True)
class Choice:
  """The winner of an iteration, and the reason.

  Attributes:
    index: int, the index of the winner among all candidates.
    value: float, the loss or metric of the winner; None if not needed.
    next_best: str, the name of the next best candidate; None without another
      compared candidate, and if a user's `objective_fn` chose the winner.
    margin: float, at least 0, the difference between the values of the next
      best candidate and the winner. None without `next_best`.
    compared: int, the number of compared candidates, including the winner.
    is_previous: bool, whether the winner is the previous ensemble.
    nan: tuple of str, the names of the candidates with the value NaN.
    reason: str, the reason to compare no candidates, or "".
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
    """Returns a line with the winner, the value and the margin."""
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
  """An ensemble that was fitted after all networks trained.

  Attributes:
    members: dict from the name of each member, such as "t0_linear", to the
      weight.
    loss: float, the head's loss of the ensemble on the evaluator's data.
    num_networks: int, the number of networks to select from.
    best_network: str, the name of the single network with the least loss.
    best_loss: float, the loss of `best_network`.
  """
  members: Dict[str, float]
  loss: float
  num_networks: int
  best_network: str
  best_loss: float

  def message(self) -> str:
    """Returns a line with the losses of the ensemble and the best network."""
    return (f"The ensemble of {len(self.members)} of {self.num_networks} "
            f"networks has loss {self.loss:.4g}, the best network alone "
            f"({self.best_network}) {self.best_loss:.4g}.")


def preset(names: Sequence[str], index: int, reason: str) -> Choice:
  """Returns the choice of a candidate without a comparison.

  Raises:
    ValueError: `index` is not the index of a candidate.
  """
  if not 0 <= index < len(names):
    raise ValueError(
        f"index={index!r} ({reason}): expected one of the {len(names)} "
        f"candidates, from 0: {', '.join(names)}.")
  return Choice(index, names[index], reason=reason)


def _chosen(objective_fn, indices, numbers):
  """Returns the index that a user's function chooses by the values."""
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
  """Returns the `Choice` of the best candidate. A NaN never wins.

  The first candidate wins a tie.

  Args:
    maximize: bool, whether the greatest value is the best, not the least.
    previous: int, the index of the previous ensemble; None if the previous
      ensemble is no candidate.
    force_grow: bool, whether to exclude the previous ensemble.
    objective_fn: function from the values of possible winners to the index of
      the best value, or None to use `maximize`. If the function chooses a NaN,
      the function is called again without NaNs.

  Raises:
    AllNaNError: the values of all possible winners are NaN.
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

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Decides the winner of an iteration, from names and numbers alone.

The engine returns unknown values of candidates, and fits ensembles.
"""

import dataclasses
import math
from typing import Any, Dict, NamedTuple, Optional

from adanet import log as logging
from adanet.core import architecture as architecture_lib
from adanet.core import iteration as iteration_lib
from adanet.core import selection
from adanet.engines import engine as engine_lib
from adanet import messages
from adanet.training import fitting
from adanet.training import setup as setup_lib
from adanet.training import trained as trained_lib
import numpy as np


class Winner(NamedTuple):
  """The candidate that won an iteration.

  Attributes:
    choice: `Choice`.
    architectures: dict from the name of each known candidate to the
      `Architecture`.
    values: dict from the names of candidates to the compared values; None if no
      value was needed.
    fits: dict from the name of each fitted candidate to the `Fit`.
    variables: dict from the names of the winner's own variables to the values,
      if the winner was fitted now: no checkpoint has the variables yet.
    network_losses: dict from the name of each possible member of a fitted
      candidate to the head's loss of the network alone, on the same data.
  """
  choice: selection.Choice
  architectures: Dict[str, architecture_lib.Architecture]
  values: Optional[Dict[str, float]] = None
  fits: Dict[str, selection.Fit] = {}
  variables: Dict[str, Any] = {}
  network_losses: Dict[str, float] = {}

  @property
  def name(self) -> str:
    return self.choice.name

  @property
  def architecture(self) -> architecture_lib.Architecture:
    """The `Architecture` of the winner."""
    return self.architectures[self.name]


# Rules.


_OF_EVALUATORS = ("input_fn", "metric_name", "objective_fn", "evaluate")


def check_evaluator(evaluator: Any, min_delta: float = 0.) -> None:
  """Checks that a user's evaluator has the methods of an evaluator.

  Raises:
    ValueError: a method is missing, or the values cannot be subtracted.
  """
  missing = [] if evaluator is None else [
      name for name in _OF_EVALUATORS if getattr(evaluator, name, None) is None]
  if missing:
    raise ValueError(
        "evaluator must be an adanet.Evaluator(input_fn), or have "
        f"{', '.join(_OF_EVALUATORS)}, got {messages.describe(evaluator)} "
        f"without {', '.join(missing)}")
  if min_delta and evaluator and "objective_fn" in _objective(evaluator):
    raise ValueError(
        f"min_delta={min_delta!r}: expected 0 with the evaluator's own "
        "objective_fn, which says what is better, not by how much")


def check_fitted(search: iteration_lib.Search, rules: setup_lib.Rules) -> None:
  """Checks that there is data to fit ensembles to.

  Raises:
    ValueError: there is no such data.
  """
  for ensembler in search.ensemblers:
    if iteration_lib.is_fitted(ensembler) and rules.evaluator is None:
      raise ValueError(
          f"evaluator=None: expected an adanet.Evaluator with the ensembler "
          f"{ensembler.name!r}, which is fitted to its data. Give it an "
          "input_fn of examples that are not trained on")


def _objective(evaluator):
  """Returns the arguments of `selection.choose` that define the best."""
  if not evaluator:
    return {}
  objective_fn = evaluator.objective_fn
  # Only of these is it known which value is the next best.
  if objective_fn is np.nanargmin or objective_fn is np.nanargmax:
    return {"maximize": objective_fn is np.nanargmax}
  return {"objective_fn": objective_fn}


def is_improvement(rules: setup_lib.Rules, value: float, best: float) -> bool:
  """Returns whether a winner is better than the best earlier winner."""
  objective = _objective(rules.evaluator)
  if "objective_fn" in objective:
    return int(objective["objective_fn"]([best, value])) == 1
  if objective.get("maximize"):
    return value > best + rules.min_delta
  return value < best - rules.min_delta


# The winner.


def preset(rules: setup_lib.Rules, number: int) -> trained_lib.Preset:
  """Returns the rule by which a candidate wins without a comparison."""
  index = None
  if rules.replay_config:
    index = rules.replay_config.get_best_ensemble_index(number)
  if rules.patience is not None:
    # Patience needs the value of each winner. Without an evaluator, a candidate
    # that is alone has none: its moving average is not computed.
    return trained_lib.Preset(index, 0 if rules.evaluator else 1)
  return trained_lib.Preset(index, 2 if rules.force_grow and number else 1)


def candidates_with_nan(candidates: trained_lib.Candidates) -> Dict[str, str]:
  """Returns a dict from each candidate with NaN to a variable with NaN.

  Fitted candidates are not in the dict, because such subnetworks are left out.
  """
  with_nan: Dict[str, str] = {}
  for name, architecture in candidates.architectures.items():
    for part in [name] + ["t{}_{}".format(*member)
                          for member in architecture.subnetworks]:
      if name not in candidates.fitted and part in candidates.not_finite:
        with_nan.setdefault(name, candidates.not_finite[part])
  return with_nan


def _counts_as_nan(rules, candidates, name):
  """Returns whether a candidate cannot win, as far as training has shown."""
  return name in candidates_with_nan(candidates) or (
      not rules.evaluator and math.isnan(candidates.averages.get(name, 0.)))


def choose(rules: setup_lib.Rules, candidates: trained_lib.Candidates,
           engine: engine_lib.Engine,
           fits: Optional[fitting.Fits] = None) -> Winner:
  """Returns the winner of an iteration.

  Args:
    rules: `Rules`.
    candidates: `Candidates`.
    engine: `Engine`, which returns unknown values.
    fits: `Fits`, if known.

  Raises:
    selection.AllNaNError: no candidate has a number as value.
    ValueError: a fitted ensembler, or the data, is not as expected.
  """
  names = list(candidates.architectures)
  rule = preset(rules, candidates.number)
  choice = rule.choice(names)
  if choice is not None and rule.replayed is None and (
      _counts_as_nan(rules, candidates, choice.name)):
    raise selection.all_nan_error(candidates.number, [choice.name])
  values: Optional[Dict[str, float]] = None
  if not candidates.fitted or (
      choice is not None and choice.name not in candidates.fitted):
    fits = fitting.Fits()
  else:
    fits = fits or engine.fits(candidates)
    values = fits.values
    if choice is not None and len(names) > 1:
      if choice.name not in fits.fitted:
        raise selection.all_nan_error(candidates.number, [choice.name])
      choice = dataclasses.replace(choice, value=values[choice.name])
    else:
      choice = None  # One that is alone has a value now, too.
  if choice is None:
    if len(names) > len(candidates.fitted):
      values = dict(engine.values(candidates) if rules.evaluator else
                    candidates.averages, **(values or {}))
    choice, values = _compared(rules, candidates, values or {}, engine)
  fitted = fits.fitted
  return Winner(
      choice, dict(candidates.architectures, **{
          name: ensemble.architecture for name, ensemble in fitted.items()}),
      values, {name: ensemble.fit for name, ensemble in fitted.items()},
      fits.variables.get(choice.name, {}),
      {name: loss for ensemble in fitted.values()
       for name, loss in ensemble.network_losses.items()})


def _compared(rules, candidates, values, engine):
  """Returns the `Choice` by values, and the values with NaN counted."""
  names = list(candidates.architectures)
  with_nan = candidates_with_nan(candidates)
  values = dict(values, **dict.fromkeys(with_nan, math.nan))
  known = [values.get(name, math.nan) for name in names]
  unexplained = [name for name, value in zip(names, known)
                 if math.isnan(value) and name not in with_nan]
  advice = engine.nan_in_evaluator_input() if unexplained else ""
  if advice:
    logging.warning("Iteration %d: the value of %s is NaN.%s",
                    candidates.number, ", ".join(unexplained), advice)
  return selection.choose(
      names, known, previous=0 if candidates.previous else None,
      force_grow=rules.force_grow, advice=advice,
      **_objective(rules.evaluator)), values

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Finds the best candidate of an iteration, and makes its reports."""

import contextlib
import dataclasses
import math
import tempfile
from typing import (Any, Callable, ContextManager, Dict, Iterable, List,
                    NamedTuple, Optional, Sequence, Tuple)

from adanet import log as logging
from adanet.core import architecture as architecture_lib
from adanet.core import checkpoints
from adanet.core import iteration as iteration_lib
from adanet.core import selection
from adanet.core import user_input
from adanet.training import fitting
from adanet.training import library as library_lib
from adanet.training import model as model_lib
import numpy as np


class Contest(NamedTuple):
  """The candidates of an iteration, and what they are compared by.

  Attributes:
    number: int, the iteration's.
    architectures: dict from the name of each candidate to its `Architecture`,
      in their order; of one that is fitted, with all that it may have.
    previous: str, the name of the first one if it is the previous ensemble; or
      None.
    values: function that returns a dict from the names of those that took part
      in the training to their values: the metric of the evaluator, or the
      moving average of the loss. It is called if the rules do not say who wins.
    not_finite: function that returns dict from the name of each subnetwork and
      ensemble of the iteration that counts as NaN, whatever its loss, to a
      variable of it that has NaN.
    fitted: tuple of `Planned`, those that are fitted now.
    library: function that returns a context manager of the `Library` with all
      networks. It is called if something is to be fitted.
  """
  number: int
  architectures: Dict[str, architecture_lib.Architecture]
  previous: Optional[str]
  values: Callable[[], Dict[str, float]]
  not_finite: Callable[[], Dict[str, str]]
  fitted: Tuple[iteration_lib.Planned, ...]
  library: Callable[[], ContextManager[library_lib.Library]]


class Winner(NamedTuple):
  """The best candidate of an iteration.

  Attributes:
    choice: `Choice`.
    architectures: dict from the name of each candidate that is known to its
      `Architecture`.
    values: dict from the names of candidates to what they were compared by;
      None if nothing was compared.
    fits: dict from the name of each fitted candidate to its `Fit`.
    variables: dict from the names of the winner's own variables to their
      values, if it was fitted now: no checkpoint has them yet.
    network_losses: dict from the name of each network that a fitted candidate
      could have to the head's loss of that one alone, on the same data.
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
    """Of which subnetworks it is."""
    return self.architectures[self.name]


_OF_EVALUATORS = ("input_fn", "metric_name", "objective_fn", "evaluate")


def check_evaluator(evaluator: Any, min_delta: float = 0.) -> None:
  """Checks that a user's evaluator has what is asked of it.

  Args:
    evaluator: what a user gave as one, or None.
    min_delta: float, by how much a winner must be better to be a gain.

  Raises:
    ValueError: it lacks something, or has no values of which to subtract.
  """
  missing = [] if evaluator is None else [
      name for name in _OF_EVALUATORS if getattr(evaluator, name, None) is None]
  if missing:
    raise ValueError(
        "evaluator must be an adanet.Evaluator(input_fn), or have "
        f"{', '.join(_OF_EVALUATORS)}, got {user_input.described(evaluator)} "
        f"without {', '.join(missing)}")
  if min_delta and evaluator and "objective_fn" in _objective(evaluator):
    raise ValueError(
        f"min_delta={min_delta!r}: expected 0 with the evaluator's own "
        "objective_fn, which says what is better, not by how much")


def preset(rules: model_lib.Rules, names: Sequence[str], number: int,
           previous: Optional[str]) -> Optional[selection.Choice]:
  """Returns the winner where nothing needs to be compared, or None.

  Args:
    rules: `Rules`.
    names: of the candidates.
    number: int, the iteration's.
    previous: str, the name of the first one if it is the previous ensemble; or
      None.
  """
  if rules.replay_config:
    index = rules.replay_config.get_best_ensemble_index(number)
    if index is not None:
      return selection.preset(names, index, "replay_config says so")
  # `patience` asks for the value of each winner. One that is alone has no moving
  # average.
  needs_value = rules.patience is not None
  if len(names) == 1 and not (needs_value and rules.evaluator):
    return selection.preset(names, 0, "it is the only candidate")
  if not needs_value and rules.force_grow and previous and len(names) == 2:
    return selection.preset(
        names, 1, "it is the only new candidate, and force_grow is set")
  return None


def averages(iteration: iteration_lib.Iteration,
             checkpoint: Optional[str]) -> List[float]:
  """Returns the moving averages of the candidates' AdaNet losses.

  That of one which has not trained yet is infinite: it never wins.

  Args:
    iteration: see `contest`.
    checkpoint: see `contest`.
  """
  names = [c.average.value.op.name for c in iteration.candidates]
  if checkpoint is None:
    return [0.] * len(names)
  steps = [c.step.op.name for c in iteration.new_candidates]
  values = checkpoints.values(checkpoint, names + steps)
  has_trained = [True] * iteration.has_previous + [
      values[step] > 0 for step in steps]
  return [float(values[name]) if trained else math.inf
          for name, trained in zip(names, has_trained)]


def not_finite(iteration: iteration_lib.Iteration,
               checkpoint: Optional[str]) -> Dict[str, str]:
  """Returns what of an iteration has variables with NaN; see `Contest`.

  A relu may hide it from the loss. What an earlier iteration trained does not
  change any more.
  """
  if checkpoint is None:
    return {}
  variables = {spec.name: spec.variables for spec in iteration.subnetworks}
  variables.update(
      (c.name, c.variables) for c in iteration.new_candidates)
  found = {name: checkpoints.not_finite(checkpoint, of_spec)
           for name, of_spec in variables.items()}
  return {name: variable for name, variable in found.items()
          if variable is not None}


def broken(candidates: "Contest") -> Dict[str, str]:
  """Returns the candidates that count as NaN, each with a variable of NaN.

  Fitted ones are not among them: they leave out such subnetworks.

  Args:
    candidates: `Contest`.
  """
  parts = candidates.not_finite()
  fitted = {one.name for one in candidates.fitted}
  found: Dict[str, str] = {}
  for name, architecture in candidates.architectures.items():
    for part in [name] + ["t{}_{}".format(*member)
                          for member in architecture.subnetworks]:
      if name not in fitted and part in parts:
        found.setdefault(name, parts[part])
  return found


def evaluated(model: model_lib.Model, number: int,
              checkpoint: Optional[str],
              watched: Callable[[Any], Any] =
              lambda session: session) -> Dict[str, Any]:
  """Evaluates the candidates of an iteration, or of a part of it.

  Args:
    model: `Model`, with an evaluator.
    number: int, the iteration's.
    checkpoint: see `contest`.
    watched: function from the session to the one that the evaluator gets.

  Returns:
    dict from the name of each candidate to the evaluator's metric.

  Raises:
    ValueError: the evaluator returns too few values, or too many.
  """
  evaluator = model.rules.evaluator
  if not any(map(trains, model.search.ensemblers)):
    return {}
  with model.graph(evaluator.input_fn, "eval", number) as built:
    metrics = {
        c.name: dict(c.metrics, adanet_loss=c.adanet_loss_metric())
        for c in built.iteration.candidates}
    if not metrics:  # Nothing would ever end the input.
      return {}
    with model.session(built, checkpoint) as (session, _):
      values = evaluator.evaluate(watched(session), list(metrics.values()))
  if len(values) != len(metrics):
    raise ValueError(f"evaluator={evaluator!r} returned {values!r}: expected "
                     f"one value for each of the {len(metrics)} candidates")
  return dict(zip(metrics, values))


def trains(ensembler: Any) -> bool:
  """Returns whether an ensembler's ensembles take part in the training."""
  return not iteration_lib.is_fitted(ensembler)


def _objective(evaluator):
  """Returns the arguments of `selection.choose` that say what is the best."""
  objective_fn = evaluator.objective_fn
  # Only of these is it known which value is the next best.
  if objective_fn is np.nanargmin or objective_fn is np.nanargmax:
    return {"maximize": objective_fn is np.nanargmax}
  return {"objective_fn": objective_fn}


def gains(rules: model_lib.Rules, value: float, best: float) -> bool:
  """Returns whether a winner is better than the best one before.

  Args:
    rules: `Rules`, with `min_delta`.
    value: float, what it was compared by.
    best: float, likewise of the best winner before.
  """
  objective = _objective(rules.evaluator) if rules.evaluator else {}
  if "objective_fn" in objective:
    return int(objective["objective_fn"]([best, value])) == 1
  if objective.get("maximize"):
    return value > best + rules.min_delta
  return value < best - rules.min_delta


def contest(model: model_lib.Model, iteration: iteration_lib.Iteration,
            checkpoint: Optional[str]) -> Contest:
  """Returns the contest of an iteration's candidates.

  Args:
    model: `Model`.
    iteration: `Iteration` of any graph that has the candidates.
    checkpoint: str, the prefix of the checkpoint that has their values; None
      for the initial ones.
  """
  def values():
    if model.rules.evaluator:
      return evaluated(model, iteration.number, checkpoint)
    return dict(zip((c.name for c in iteration.candidates),
                    averages(iteration, checkpoint)))

  @contextlib.contextmanager
  def library():
    with tempfile.TemporaryDirectory() as folder:
      library_lib.record(model, iteration.number, checkpoint, folder)
      yield library_lib.read(folder)

  return contest_of(
      iteration, values, library,
      lambda: not_finite(iteration, checkpoint))


def contest_of(
    iteration: iteration_lib.Iteration,
    values: Callable[[], Dict[str, float]],
    library: Callable[
        [], ContextManager[library_lib.Library]],
    not_finite: Callable[[], Dict[str, str]]) -> Contest:
  """Returns the contest of an iteration, with what others find.

  Args:
    iteration: `Iteration`.
    values: see `Contest`.
    library: see `Contest`.
    not_finite: see `Contest`.
  """
  return Contest(
      iteration.number, iteration.architectures,
      iteration.previous.name if iteration.previous else None, values,
      not_finite, iteration.fitted, library)


def needs_library(choice: Optional[selection.Choice],
                  iteration: iteration_lib.Iteration) -> bool:
  """Returns whether something is to be fitted.

  Args:
    choice: what `preset` returned.
    iteration: `Iteration`.
  """
  names = {one.name for one in iteration.fitted}
  return bool(names) if choice is None else choice.name in names


def check_fitted(search: iteration_lib.Search, rules: model_lib.Rules) -> None:
  """Checks that there is data to fit ensembles to.

  Raises:
    ValueError: there is none.
  """
  for ensembler in search.ensemblers:
    if iteration_lib.is_fitted(ensembler) and rules.evaluator is None:
      raise ValueError(
          f"evaluator=None: expected an adanet.Evaluator with the ensembler "
          f"{ensembler.name!r}, which is fitted to its data. Give it an "
          "input_fn of examples that are not trained on")


def winner(model: model_lib.Model, candidates: Contest) -> Winner:
  """Returns which candidate wins an iteration.

  Args:
    model: `Model`.
    candidates: `Contest`.

  Raises:
    selection.AllNaNError: there is none whose value is a number.
    ValueError: a fitted ensembler, or its data, is not as expected.
  """
  rules, names = model.rules, list(candidates.architectures)
  choice = preset(rules, names, candidates.number, candidates.previous)
  found: Dict[str, fitting.Fitted] = {}
  values: Optional[Dict[str, float]] = None
  variables: Dict[str, Dict[str, Any]] = {}
  if candidates.fitted and (choice is None or any(
      one.name == choice.name for one in candidates.fitted)):
    found, judged = _fitted(model, candidates)
    values, variables = judged.values, judged.variables
    if choice is not None and len(names) > 1:  # A replay.
      if choice.name not in found:
        raise selection.all_nan_error(candidates.number, [choice.name])
      choice = dataclasses.replace(choice, value=values[choice.name])
    else:
      choice = None  # Also one that is alone has a value now.
  if choice is None:
    values = dict(candidates.values() if len(names) > len(
        candidates.fitted) else {}, **(values or {}))
    values.update(dict.fromkeys(broken(candidates), math.nan))
    figures = [values.get(name, math.nan) for name in names]
    choice = selection.choose(
        names, figures, previous=0 if candidates.previous else None,
        force_grow=rules.force_grow,
        advice=_advice(model, candidates, dict(zip(names, figures))),
        **(_objective(rules.evaluator) if rules.evaluator else {}))
  architectures = dict(candidates.architectures, **{
      name: one.architecture for name, one in found.items()})
  return Winner(
      choice, architectures, values,
      {name: one.fit for name, one in found.items()},
      variables.get(choice.name, {}),
      {name: loss for one in found.values()
       for name, loss in one.network_losses.items()})


def _advice(model, candidates, values):
  """Warns of candidates that may be NaN because the evaluator's data has NaN.

  Returns:
    A sentence of what has NaN; empty for nothing, or if no candidate is NaN but
    for its variables.
  """
  explained = broken(candidates)
  names = [name for name, value in values.items()
           if math.isnan(value) and name not in explained]
  advice = model.not_finite_of_evaluator() if names else ""
  if advice:
    logging.warning("Iteration %d: the value of %s is NaN.%s",
                    candidates.number, ", ".join(names), advice)
  return advice


def _fitted(model, candidates):
  """Fits what is to be fitted, and evaluates it.

  Returns:
    Dict from a name to a `Fitted`, and `Judged`.
  """
  check_fitted(model.search, model.rules)
  number, previous = candidates.number, candidates.previous
  has_trained = any(map(trains, model.search.ensemblers))
  with candidates.library() as library:
    found = fitting.fit(model, number, candidates.fitted, library,
                        candidates.not_finite())
    return found, fitting.judge(
        model, number, candidates.fitted, found, library,
        candidates.architectures[previous] if previous else None,
        # Beside ensembles that train, it is evaluated as they are.
        None if has_trained else previous)


def materialized_reports(
    model: model_lib.Model, number: int, checkpoint: str,
    included: Sequence[str],
    watched: Callable[[Any], Any] =
    lambda session: session) -> List[Any]:
  """Returns the `MaterializedReport`s of an iteration, or of a part of it.

  Args:
    model: `Model`, with a report_materializer.
    number: int, the iteration's.
    checkpoint: str, the prefix of the iteration's last checkpoint.
    included: the names of the builders that are in the winner.
    watched: function from the session to the one that the materializer gets.
  """
  materializer = model.report_materializer
  with model.graph(materializer.input_fn, "eval", number) as built:
    with model.session(built, checkpoint) as (session, _):
      return materializer.materialize_subnetwork_reports(
          watched(session), number, built.iteration.reports, list(included))


def joined_reports(
    parts: Iterable[Sequence[Any]],
    builder_names: Iterable[str]) -> List[Any]:
  """Returns the reports of all parts, that of the previous ensemble first.

  Args:
    parts: the `MaterializedReport`s of each part. What several parts have is
      taken from the first one.
    builder_names: of all builders, in the order of their reports.
  """
  found: Dict[str, Any] = {}
  for reports in parts:
    for report in reports:
      found.setdefault(report.name, report)
  return [found[name] for name in ("previous_ensemble", *builder_names)
          if name in found]

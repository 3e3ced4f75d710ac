# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Finds the best candidate of an iteration, and materializes its reports."""

import typing

from adanet import tf_compat
from adanet.core import architecture as architecture_lib
from adanet.core import checkpoints
from adanet.core import iteration as iteration_lib
from adanet.core import selection
from adanet.training import model as model_lib
import numpy as np


class Winner(typing.NamedTuple):
  """What is found at the end of an iteration.

  Attributes:
    choice: `Choice`.
    architecture: `Architecture` of the candidate that won.
    values: what all candidates were compared by; None if nothing was compared.
  """
  choice: selection.Choice
  architecture: architecture_lib.Architecture
  values: typing.Optional[typing.Sequence[float]] = None


_OF_EVALUATORS = ("input_fn", "metric_name", "objective_fn", "evaluate")


def check_evaluator(evaluator: typing.Any) -> None:
  """Checks that a user's evaluator has what is asked of it.

  Raises:
    ValueError: it lacks something.
  """
  missing = [] if evaluator is None else [
      name for name in _OF_EVALUATORS if getattr(evaluator, name, None) is None]
  if missing:
    raise ValueError(
        "evaluator must be an adanet.Evaluator, or have "
        f"{', '.join(_OF_EVALUATORS)}, got {evaluator!r} without "
        f"{', '.join(missing)}")


class Rules(typing.NamedTuple):
  """How a winner is found. See `adanet.Estimator` for the attributes."""
  evaluator: typing.Any
  replay_config: typing.Any
  force_grow: bool

  @property
  def metric_name(self) -> str:
    """What candidates are compared by."""
    return self.evaluator.metric_name if self.evaluator else "adanet_loss"


def preset(rules: Rules, names: typing.Sequence[str], number: int,
           has_previous: bool) -> typing.Optional[selection.Choice]:
  """Returns the winner where nothing needs to be compared, or None.

  Args:
    rules: `Rules`.
    names: the names of the candidates.
    number: int, the iteration's.
    has_previous: whether the first candidate is the previous ensemble.
  """
  if rules.replay_config:
    index = rules.replay_config.get_best_ensemble_index(number)
    if index is not None:
      return selection.preset(names, index, "replay_config says so")
  if len(names) == 1:
    return selection.preset(names, 0, "it is the only candidate")
  if rules.force_grow and has_previous and len(names) == 2:
    return selection.preset(
        names, 1, "it is the only new candidate, and force_grow is set")
  return None


def averages(session: typing.Any,
             iteration: iteration_lib.Iteration) -> typing.List[float]:
  """Returns the moving averages of the candidates' AdaNet losses."""
  return session.run([c.average.value for c in iteration.candidates])


def saved_averages(checkpoint: str,
                   iteration: iteration_lib.Iteration) -> typing.List[float]:
  """Returns the moving averages that a checkpoint has.

  Args:
    checkpoint: str, its prefix.
    iteration: `Iteration`.
  """
  names = [c.average.value.op.name for c in iteration.candidates]
  values = checkpoints.values(checkpoint, names)
  return [float(values[name]) for name in names]


def candidate_names(
    iteration: iteration_lib.Iteration) -> typing.List[str]:
  """Returns the names of an iteration's candidates."""
  return [c.spec.name for c in iteration.candidates]


def _objective(evaluator):
  """Returns the arguments of `selection.choose` that say what is the best."""
  objective_fn = evaluator.objective_fn
  # Only of these is it known which value is the next best.
  if objective_fn is np.nanargmin or objective_fn is np.nanargmax:
    return {"maximize": objective_fn is np.nanargmax}
  return {"objective_fn": objective_fn}


def _evaluate(model, rules, number, checkpoint):
  """Returns the `Winner` by the evaluator's metric."""
  with model.graph(rules.evaluator.input_fn, "eval", number) as built:
    iteration = built.iteration
    metrics = [
        dict(c.spec.metrics,
             adanet_loss=tf_compat.v1.metrics.mean(c.spec.adanet_loss))
        for c in iteration.candidates]
    names = candidate_names(iteration)
    choice = preset(rules, names, number, iteration.has_previous)
    values = None
    if choice is None:
      with model.session(built, checkpoint) as (session, _):
        values = rules.evaluator.evaluate(session, metrics)
      choice = selection.choose(
          names, values, previous=0 if iteration.has_previous else None,
          force_grow=rules.force_grow, **_objective(rules.evaluator))
    return Winner(
        choice, iteration.candidates[choice.index].spec.architecture, values)


def by_evaluator(
    model: model_lib.Model, rules: Rules, number: int,
    checkpoint: typing.Optional[str]) -> typing.Optional[int]:
  """Returns the best candidate's index by replay or evaluator, or None.

  Args:
    model: `Model`.
    rules: `Rules`.
    number: int, the iteration's.
    checkpoint: str, the prefix of the checkpoint, or None.
  """
  if rules.replay_config and not rules.evaluator:
    index = rules.replay_config.get_best_ensemble_index(number)
    if index is not None:
      return index
  if rules.evaluator:
    return _evaluate(model, rules, number, checkpoint).choice.index
  return None


def winner(
    model: model_lib.Model, rules: Rules, iteration: iteration_lib.Iteration,
    averages_at_end: typing.Sequence[float], checkpoint: str) -> Winner:
  """Returns which candidate wins an iteration whose training is over.

  Args:
    model: `Model`.
    rules: `Rules`.
    iteration: the `Iteration` that was trained.
    averages_at_end: the moving averages of its candidates.
    checkpoint: str, the prefix of its last checkpoint.

  Raises:
    selection.AllNaNError: there is none whose value is a number.
  """
  names = candidate_names(iteration)
  choice = preset(rules, names, iteration.number, iteration.has_previous)
  if choice is None and rules.evaluator:
    return _evaluate(model, rules, iteration.number, checkpoint)
  values = None
  if choice is None:
    values = averages_at_end
    choice = selection.choose(
        names, values, previous=0 if iteration.has_previous else None,
        force_grow=rules.force_grow)
  return Winner(
      choice, iteration.candidates[choice.index].spec.architecture, values)


def write_reports(
    model: model_lib.Model, materializer: typing.Any, number: int,
    architecture: architecture_lib.Architecture, checkpoint: str) -> None:
  """Materializes the reports of an iteration and stores them.

  Args:
    model: `Model`, with a report_store.
    materializer: `adanet.ReportMaterializer`.
    number: int, the iteration's.
    architecture: the winner's.
    checkpoint: str, the prefix of the iteration's last checkpoint.
  """
  with model.graph(materializer.input_fn, "eval", number) as built:
    with model.session(built, checkpoint) as (session, _):
      found = materializer.materialize_subnetwork_reports(
          session, number, built.iteration.reports,
          list(architecture.subnetworks_of(number)))
  assert model.report_store is not None
  model.report_store.write(number, found)

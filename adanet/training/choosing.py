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
  """The best candidate of an iteration.

  Attributes:
    choice: `Choice`.
    spec: that of the candidate.
    values: what all candidates were compared by; None if nothing was compared.
  """
  choice: selection.Choice
  spec: typing.Any
  values: typing.Optional[typing.Sequence[float]] = None

  @property
  def architecture(self) -> architecture_lib.Architecture:
    """Of which subnetworks the candidate is."""
    return self.spec.architecture


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


def candidate_names(
    iteration: iteration_lib.Iteration) -> typing.List[str]:
  """Returns the names of an iteration's candidates."""
  return [c.spec.name for c in iteration.candidates]


def _preset(rules, names, number, previous):
  """Returns the winner where nothing needs to be compared, or None."""
  if rules.replay_config:
    index = rules.replay_config.get_best_ensemble_index(number)
    if index is not None:
      return selection.preset(names, index, "replay_config says so")
  if len(names) == 1:
    return selection.preset(names, 0, "it is the only candidate")
  if rules.force_grow and previous == 0 and len(names) == 2:
    return selection.preset(
        names, 1, "it is the only new candidate, and force_grow is set")
  return None


def _averages(iteration, checkpoint):
  """Returns the moving averages of the candidates' AdaNet losses."""
  names = [c.average.value.op.name for c in iteration.candidates]
  if checkpoint is None:
    return [0.] * len(names)
  values = checkpoints.values(checkpoint, names)
  return [float(values[name]) for name in names]


def _evaluated(model, number, checkpoint):
  """Returns the evaluator's metric of each candidate."""
  evaluator = model.rules.evaluator
  with model.graph(evaluator.input_fn, "eval", number) as built:
    metrics = [
        dict(c.spec.metrics,
             adanet_loss=tf_compat.v1.metrics.mean(c.spec.adanet_loss))
        for c in built.iteration.candidates]
    with model.session(built, checkpoint) as (session, _):
      return evaluator.evaluate(session, metrics)


def _objective(evaluator):
  """Returns the arguments of `selection.choose` that say what is the best."""
  objective_fn = evaluator.objective_fn
  # Only of these is it known which value is the next best.
  if objective_fn is np.nanargmin or objective_fn is np.nanargmax:
    return {"maximize": objective_fn is np.nanargmax}
  return {"objective_fn": objective_fn}


def winner(model: model_lib.Model, iteration: iteration_lib.Iteration,
           checkpoint: typing.Optional[str]) -> Winner:
  """Returns which candidate wins an iteration, by the model's rules.

  Args:
    model: `Model`.
    iteration: `Iteration` of any graph that has all candidates.
    checkpoint: str, the prefix of the checkpoint that has their values; None
      for the initial ones.

  Raises:
    selection.AllNaNError: there is none whose value is a number.
  """
  rules, names = model.rules, candidate_names(iteration)
  previous = 0 if iteration.has_previous else None
  choice, values = _preset(rules, names, iteration.number, previous), None
  if choice is None:
    if rules.evaluator:
      values = _evaluated(model, iteration.number, checkpoint)
      objective = _objective(rules.evaluator)
    else:
      values, objective = _averages(iteration, checkpoint), {}
    choice = selection.choose(
        names, values, previous=previous, force_grow=rules.force_grow,
        **objective)
  return Winner(choice, iteration.candidates[choice.index].spec, values)


def best(model: model_lib.Model, iteration: iteration_lib.Iteration,
         checkpoint: typing.Optional[str]) -> Winner:
  """Returns which candidate answers: the best so far.

  As in AdaNet, the previous ensemble is compared too, unless an evaluator
  compares.

  Args:
    model: see `winner`.
    iteration: see `winner`.
    checkpoint: see `winner`.
  """
  if not model.rules.evaluator:
    model = model._replace(rules=model.rules._replace(force_grow=False))
  return winner(model, iteration, checkpoint)


def write_reports(
    model: model_lib.Model, number: int,
    architecture: architecture_lib.Architecture, checkpoint: str) -> None:
  """Materializes the reports of an iteration and stores them.

  Args:
    model: `Model`, with a report_materializer.
    number: int, the iteration's.
    architecture: the winner's.
    checkpoint: str, the prefix of the iteration's last checkpoint.
  """
  materializer = model.report_materializer
  with model.graph(materializer.input_fn, "eval", number) as built:
    with model.session(built, checkpoint) as (session, _):
      found = materializer.materialize_subnetwork_reports(
          session, number, built.iteration.reports,
          list(architecture.subnetworks_of(number)))
  assert model.report_store is not None
  model.report_store.write(number, found)

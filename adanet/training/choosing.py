# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Finds the best candidate of an iteration, and makes its reports."""

import typing

from adanet import tf_compat
from adanet.core import architecture as architecture_lib
from adanet.core import checkpoints
from adanet.core import ensembles
from adanet.core import iteration as iteration_lib
from adanet.core import selection
from adanet.training import model as model_lib
import numpy as np


class Contest(typing.NamedTuple):
  """The candidates of an iteration, and what they are compared by.

  Attributes:
    number: int, the iteration's.
    architectures: dict from the name of each candidate to its `Architecture`,
      in their order.
    has_previous: whether the first one is the previous ensemble.
    values: function that returns the value of each candidate: the metric of
      the evaluator, or the moving average of its loss. It is called if the
      rules do not say who wins.
    not_finite: function that returns dict from the name of each candidate that
      counts as NaN, whatever its value, to a variable of it that has NaN.
  """
  number: int
  architectures: typing.Dict[str, architecture_lib.Architecture]
  has_previous: bool
  values: typing.Callable[[], typing.Sequence[float]]
  not_finite: typing.Callable[[], typing.Dict[str, str]] = dict


class Winner(typing.NamedTuple):
  """The best candidate of an iteration.

  Attributes:
    choice: `Choice`.
    architecture: of which subnetworks the candidate is.
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


def preset(rules: model_lib.Rules, names: typing.Sequence[str], number: int,
           has_previous: bool) -> typing.Optional[selection.Choice]:
  """Returns the winner where nothing needs to be compared, or None.

  Args:
    rules: `Rules`.
    names: those of the candidates.
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


def averages(iteration: iteration_lib.Iteration,
             checkpoint: typing.Optional[str]) -> typing.List[float]:
  """Returns the moving averages of the candidates' AdaNet losses.

  Args:
    iteration: see `contest`.
    checkpoint: see `contest`.
  """
  names = [c.average.value.op.name for c in iteration.candidates]
  if checkpoint is None:
    return [0.] * len(names)
  values = checkpoints.values(checkpoint, names)
  return [float(values[name]) for name in names]


def _not_finite(iteration, checkpoint):
  """Returns which new candidates have variables with NaN; see `Contest`.

  A relu may hide it from the loss. What an earlier iteration trained does not
  change any more.
  """
  def first(variables):
    return checkpoints.not_finite(checkpoint, variables)

  found = {spec.builder.name: first(spec.variables)
           for spec in iteration.subnetworks}
  broken = {}
  for spec in (c.spec for c in iteration.new_candidates):
    names = [first(spec.variables)] + [
        found[name] for name in spec.architecture.subnetworks_of(
            iteration.number)]
    broken.update((spec.name, name) for name in names if name is not None)
  return broken


def evaluated(model: model_lib.Model, number: int,
              checkpoint: typing.Optional[str],
              watched: typing.Callable[[typing.Any], typing.Any] =
              lambda session: session) -> typing.Dict[str, typing.Any]:
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
  with model.graph(evaluator.input_fn, "eval", number) as built:
    metrics = {
        c.spec.name: dict(
            c.spec.metrics,
            adanet_loss=tf_compat.v1.metrics.mean(c.spec.adanet_loss))
        for c in built.iteration.candidates}
    if not metrics:  # Nothing would ever end the input.
      return {}
    with model.session(built, checkpoint) as (session, _):
      values = evaluator.evaluate(watched(session), list(metrics.values()))
  if len(values) != len(metrics):
    raise ValueError(f"evaluator={evaluator!r} returned {values!r}: expected "
                     f"one value for each of the {len(metrics)} candidates")
  return dict(zip(metrics, values))


def _objective(evaluator):
  """Returns the arguments of `selection.choose` that say what is the best."""
  objective_fn = evaluator.objective_fn
  # Only of these is it known which value is the next best.
  if objective_fn is np.nanargmin or objective_fn is np.nanargmax:
    return {"maximize": objective_fn is np.nanargmax}
  return {"objective_fn": objective_fn}


def contest(model: model_lib.Model, iteration: iteration_lib.Iteration,
            checkpoint: typing.Optional[str]) -> Contest:
  """Returns the contest of an iteration's candidates.

  Args:
    model: `Model`.
    iteration: `Iteration` of any graph that has the candidates.
    checkpoint: str, the prefix of the checkpoint that has their values; None
      for the initial ones.
  """
  def values():
    if model.rules.evaluator:
      return list(evaluated(model, iteration.number, checkpoint).values())
    return averages(iteration, checkpoint)

  return Contest(
      iteration.number,
      {c.spec.name: c.spec.architecture for c in iteration.candidates},
      iteration.has_previous, values,
      lambda: {} if checkpoint is None else _not_finite(iteration, checkpoint))


def winner(rules: model_lib.Rules, candidates: Contest) -> Winner:
  """Returns which candidate wins an iteration.

  Args:
    rules: `Rules`.
    candidates: `Contest`.

  Raises:
    selection.AllNaNError: there is none whose value is a number.
  """
  names = list(candidates.architectures)
  choice, values = preset(
      rules, names, candidates.number, candidates.has_previous), None
  if choice is None:
    broken = candidates.not_finite()
    values = [float("nan") if name in broken else value
              for name, value in zip(names, candidates.values())]
    choice = selection.choose(
        names, values, previous=0 if candidates.has_previous else None,
        force_grow=rules.force_grow,
        **(_objective(rules.evaluator) if rules.evaluator else {}))
  return Winner(choice, candidates.architectures[choice.name], values)


def best(model: model_lib.Model, iteration: iteration_lib.Iteration,
         checkpoint: typing.Optional[str]) -> ensembles.EnsembleSpec:
  """Returns the candidate that answers: the best so far.

  As in AdaNet, the previous ensemble is compared too, unless an evaluator
  compares.

  Args:
    model: see `contest`.
    iteration: see `contest`.
    checkpoint: see `contest`.

  Raises:
    selection.AllNaNError: there is none whose value is a number.
  """
  rules = model.rules
  if not rules.evaluator:
    rules = rules._replace(force_grow=False)
  found = winner(rules, contest(model, iteration, checkpoint))
  return iteration.candidates[found.choice.index].spec


def materialized_reports(
    model: model_lib.Model, number: int, checkpoint: str,
    included: typing.Sequence[str],
    watched: typing.Callable[[typing.Any], typing.Any] =
    lambda session: session) -> typing.List[typing.Any]:
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
    parts: typing.Iterable[typing.Sequence[typing.Any]],
    builder_names: typing.Iterable[str]) -> typing.List[typing.Any]:
  """Returns the reports of all parts, that of the previous ensemble first.

  Args:
    parts: the `MaterializedReport`s of each part. What several parts have is
      taken from the first one.
    builder_names: those of all builders, in the order of their reports.
  """
  found: typing.Dict[str, typing.Any] = {}
  for reports in parts:
    for report in reports:
      found.setdefault(report.name, report)
  return [found[name] for name in ("previous_ensemble", *builder_names)
          if name in found]

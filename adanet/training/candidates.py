# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The values of an iteration's candidates, evaluated in the current process."""

import math
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional
from typing import Sequence

from adanet import tf_compat
from adanet.core import checkpoints
from adanet.core import evaluator as evaluator_lib
from adanet.core import iteration as iteration_lib
from adanet.training import held_out_pass
from adanet.training import setup as setup_lib
from adanet.training import trained as trained_lib
import numpy as np

_Watched = Callable[[Any], Any]


def of_iteration(iteration: iteration_lib.Iteration, checkpoint: Optional[str]
                ) -> trained_lib.Candidates:
  """Returns the candidates of an iteration at a checkpoint.

  Args:
    iteration: `Iteration` of any graph with the candidates.
    checkpoint: str, the prefix; None for initial values.
  """
  return trained_lib.Candidates(
      iteration.number, checkpoint, iteration.architectures,
      iteration.previous.name if iteration.previous else None,
      tuple(ensemble.name for ensemble in iteration.fitted),
      _averages(iteration, checkpoint), _not_finite(iteration, checkpoint))


def _averages(iteration, checkpoint):
  """Returns the moving averages of the losses; see `Candidates`."""
  if checkpoint is None:
    return dict.fromkeys((c.name for c in iteration.candidates), 0.)
  names = [c.average.value.op.name for c in iteration.candidates]
  steps = [c.step.op.name for c in iteration.new_candidates]
  values = checkpoints.values(checkpoint, names + steps)
  has_trained = [True] * iteration.has_previous + [
      values[step] > 0 for step in steps]
  return {
      c.name: float(values[name]) if trained else math.inf
      for c, name, trained in zip(iteration.candidates, names, has_trained)}


def _not_finite(iteration, checkpoint):
  """Returns the networks and ensembles with NaN; see `Candidates`.

  A relu may hide NaN from the loss. Variables of an earlier iteration do not
  change any more.
  """
  if checkpoint is None:
    return {}
  variables = {spec.name: spec.variables for spec in (
      *iteration.subnetworks, *iteration.new_candidates)}
  first = {name: checkpoints.not_finite(checkpoint, of_spec)
           for name, of_spec in variables.items()}
  return {name: variable for name, variable in first.items()
          if variable is not None}


def needs_all(asked: Any) -> bool:
  """Returns whether all candidates are to be evaluated together.

  A method of a user's own may compare them. Ours looks at each by itself.

  Args:
    asked: evaluator or report materializer, or None.
  """
  for kind, method in (
      (evaluator_lib.Evaluator, "evaluate"),
      (evaluator_lib.ReportMaterializer, "materialize_subnetwork_reports")):
    if isinstance(asked, kind):
      return getattr(type(asked), method) is not getattr(kind, method)
  return asked is not None


class Comparison(NamedTuple):
  """Values of candidates, for a comparison.

  Attributes:
    values: dict from the name of each candidate to the evaluator's metric.
    metric_name: str, the name of the metric.
    data: float, a figure of the evaluated examples; None if unknown.
  """
  values: Dict[str, float]
  metric_name: str = ""
  data: Optional[float] = None

  def may_be_compared_with(self, other: "Comparison") -> bool:
    """Returns whether the other values are of the same metric and examples."""
    if self.data is None or other.data is None:  # One has nothing to compare.
      return True
    return self.metric_name == other.metric_name and bool(np.isclose(
        self.data, other.data, rtol=1e-4, equal_nan=True))


def values(setup: setup_lib.SearchSetup, number: int, checkpoint: Optional[str]
          ) -> Dict[str, float]:
  """Returns the values of `compared`."""
  return compared(setup, number, checkpoint).values


def compared(setup: setup_lib.SearchSetup, number: int,
             checkpoint: Optional[str],
             watched: _Watched = lambda session: session) -> Comparison:
  """Evaluates the trained candidates of an iteration, or of a part.

  Args:
    setup: `SearchSetup`, with an evaluator.
    checkpoint: str, the prefix of the checkpoint; None for initial values.
    watched: function from the session to the evaluator's session.

  Raises:
    ValueError: the evaluator returns too few values, or too many.
  """
  evaluator = setup.rules.evaluator
  if all(map(iteration_lib.is_fitted, setup.search.ensemblers)):
    return Comparison({})
  with setup.graph(evaluator.input_fn, "eval", number) as built:
    metrics = {
        c.name: dict(c.metrics, adanet_loss=c.adanet_loss_metric())
        for c in built.iteration.candidates}
    if not metrics:  # Nothing would ever end the input.
      return Comparison({})
    evaluated = list(metrics.values())
    if not needs_all(evaluator):
      evaluated.append({evaluator.metric_name: _data_metric(built.task)})
    with setup.session(built, checkpoint) as (session, _):
      results = evaluator.evaluate(watched(session), evaluated)
  if len(results) != len(evaluated):
    raise ValueError(f"evaluator={evaluator!r} returned {results!r}: expected "
                     f"one value for each of the {len(metrics)} candidates")
  values_of = list(map(float, results))
  return Comparison(dict(zip(metrics, values_of)), evaluator.metric_name,
                    None if needs_all(evaluator) else values_of[-1])


def _data_metric(task):
  """Returns a metric of the features and labels alone, a mean of squares."""
  v1 = tf_compat.v1
  squares = []
  for tensor in held_out_pass.components(task):
    if tensor.dtype == v1.string:
      tensor = v1.strings.to_hash_bucket_fast(tensor, 2**16)
    if tensor.dtype.is_integer or tensor.dtype.is_floating or (
        tensor.dtype.is_bool):
      squares.append(v1.reduce_mean(v1.square(v1.cast(tensor, v1.float32))))
  return v1.metrics.mean(v1.add_n(squares) if squares else v1.constant(0.))


def reports(setup: setup_lib.SearchSetup, number: int,
            checkpoint: Optional[str], included: Sequence[str],
            watched: _Watched = lambda session: session) -> List[Any]:
  """Returns the `MaterializedReport`s of an iteration, or of a part.

  Args:
    setup: `SearchSetup`, with a report_materializer.
    checkpoint: str, the prefix of the iteration's last checkpoint.
    included: the names of the builders in the winner.
    watched: function from the session to the materializer's session.
  """
  materializer = setup.report_materializer
  with setup.graph(materializer.input_fn, "eval", number) as built:
    with setup.session(built, checkpoint) as (session, _):
      return materializer.materialize_subnetwork_reports(
          watched(session), number, built.iteration.reports, list(included))


def merged_reports(parts: Iterable[Sequence[Any]],
                   builder_names: Iterable[str]) -> List[Any]:
  """Returns the reports of all parts; the previous ensemble's report is first.

  Args:
    parts: the `MaterializedReport`s of each part. The first part with a report
      of a name counts.
    builder_names: the names of all builders, in the order of the reports.
  """
  merged: Dict[str, Any] = {}
  for part in parts:
    for report in part:
      merged.setdefault(report.name, report)
  return [merged[name] for name in ("previous_ensemble", *builder_names)
          if name in merged]

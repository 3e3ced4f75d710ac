# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A search and an iteration: values, with handles on a graph."""

from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence
from typing import Tuple

from adanet import ensemble as ensemble_lib
from adanet.core import architecture as architecture_lib
from adanet.core import ensembles
from adanet.core import fingerprint
from adanet.core import subnetworks
from adanet.distributed import placement


class Search(NamedTuple):
  """A search: the same in all iterations.

  See `adanet.Estimator` for the attributes.
  """
  head: Any
  generator: Any
  ensemblers: Sequence[Any]
  strategies: Sequence[Any]
  metric_fn: Any
  max_iteration_steps: Optional[int]
  adanet_loss_decay: float
  replicate_ensemble_in_training: bool
  debug: bool
  enable_ensemble_summaries: bool
  enable_subnetwork_summaries: bool
  global_step_combiner_fn: Callable[[List[Any]], Any]
  exports: ensembles.ExportOptions


class Planned(NamedTuple):
  """A new ensemble of an iteration, built here or not.

  Attributes:
    builder_names: tuple of str, the builders of the new subnetworks.
    architecture: `Architecture`. A fitted ensemble may have fewer subnetworks.
    fitted_by: the `FittedEnsembler` that fits the ensemble when all networks
      have trained; None for an ensemble that takes part in the training.
  """
  name: str
  builder_names: Tuple[str, ...]
  architecture: architecture_lib.Architecture
  fitted_by: Any = None


class Iteration(NamedTuple):
  """Handles on the graph of an iteration.

  Attributes:
    builder_names: tuple of str, the names of all builders of the iteration,
      even of builders that this worker does not build.
    base_global_step: int, the global step when the iteration began.
    subnetworks: tuple of `SubnetworkSpec`, the subnetworks that the worker
      builds.
    candidates: tuple of `EnsembleSpec` that may win, without fitted ensembles;
      empty for a worker without ensembles. From iteration 1 on, the first is
      the previous ensemble, unless all new ensembles are fitted: then training
      does not need the previous ensemble.
    previous: `EnsembleSpec` of the previous ensemble; None for none. If not
      needed, the spec has a name, an architecture and builders, `ensemble` is
      None, and the graph has no part of the previous ensemble.
    leaves_out_earlier: whether earlier iterations have networks, and the graph
      has none of the networks.
    current_iteration: the variable that has `number` in a checkpoint.
    reports: dict from a builder's name, or "previous_ensemble", to a `Report`;
      only an evaluation has them.
    summaries: list of the `ScopedSummary` to write in training.
    has_previous: whether the first candidate is the previous ensemble.
    planned: tuple of `Planned`, all new ensembles of the iteration in their
      order; empty for a worker without ensembles.
    builder_costs: tuple with the `cost` of each builder of the iteration; None
      for a builder without a cost.
    graphs: dict of the graphs of all subnetworks that were built, for a
      `SearchFingerprint`.
  """
  number: int
  builder_names: Tuple[str, ...]
  base_global_step: int
  share: placement.Share
  subnetworks: Tuple[subnetworks.SubnetworkSpec, ...]
  candidates: Tuple[ensembles.EnsembleSpec, ...]
  previous: Optional[ensembles.EnsembleSpec]
  leaves_out_earlier: bool
  global_step: Any
  current_iteration: Any
  local_init_ops: List[Any]
  reports: Dict[str, Any]
  summaries: List[Any]
  has_previous: bool
  planned: Tuple[Planned, ...]
  builder_costs: Tuple[Optional[float], ...]
  graphs: Dict[str, fingerprint.Graph]

  @property
  def architectures(self) -> Dict[str, architecture_lib.Architecture]:
    """The architectures of all candidates, built here or not, by name."""
    by_name = {}
    if self.previous is not None:
      by_name[self.previous.name] = self.previous.architecture
    by_name.update(
        (ensemble.name, ensemble.architecture) for ensemble in self.planned)
    return by_name

  @property
  def fitted(self) -> Tuple[Planned, ...]:
    """The ensembles to fit when all networks have trained."""
    return tuple(
        ensemble for ensemble in self.planned if ensemble.fitted_by is not None)

  @property
  def new_candidates(self) -> Tuple[ensembles.EnsembleSpec, ...]:
    """The candidates to train: all but the previous ensemble."""
    return self.candidates[int(self.has_previous):]

  @property
  def steps(self) -> Dict[str, Any]:
    """The variables of steps, by the name of the trained part."""
    return {spec.name: spec.step
            for spec in self.subnetworks + self.new_candidates}


def is_fitted(ensembler: Any) -> bool:
  """Returns whether an ensembler is fitted when all networks have trained."""
  return isinstance(ensembler, ensemble_lib.FittedEnsembler)


def builds_on_ensembles(ensembler: Any) -> bool:
  """Returns whether an ensembler builds on ensembles of earlier iterations.

  A fitted ensembler needs only the networks of earlier ensembles, unless a user
  overrides `build_ensemble`.
  """
  return not is_fitted(ensembler) or (
      type(ensembler).build_ensemble is not
      ensemble_lib.FittedEnsembler.build_ensemble)

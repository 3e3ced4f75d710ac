# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Builds the parts of an iteration's graph: subnetworks and ensembles.

The current iteration and earlier iterations have the same parts.
"""

import collections.abc
import itertools
import os
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence
from typing import Tuple

from adanet import ensemble as ensemble_lib
from adanet import tf_compat
from adanet.core import architecture as architecture_lib
from adanet.core import ensembles
from adanet.core import fingerprint
from adanet.core import iteration as iteration_lib
from adanet.core import scoped_summary
from adanet.core import subnetworks

Reports = Tuple[List[Any], List[Any]]


class EarlierWinner(NamedTuple):
  """The winner of an earlier iteration.

  Attributes:
    spec: `EnsembleSpec`. If the graph does not need the ensemble, `ensemble` is
      None, and the spec has no subnetworks.
    networks: the `SubnetworkSpec`s of the winner's iteration in the graph.
  """
  spec: ensembles.EnsembleSpec
  networks: Sequence[subnetworks.SubnetworkSpec] = ()


def ensemble_name(number: int, candidate_name: str, ensembler_name: str) -> str:
  """Returns the name of an ensemble of an iteration."""
  return f"t{number}_{candidate_name}_{ensembler_name}"


def is_previous(architecture: architecture_lib.Architecture, number: int,
                before: Optional[architecture_lib.Architecture],
                fitted: Sequence[str]) -> bool:
  """Returns whether the previous ensemble won an iteration again.

  A fitted ensemble may have new weights for old subnetworks alone. A new fitted
  ensemble has one more replay index than the previous ensemble.

  Args:
    architecture: `Architecture` of the iteration's winner.
    before: `Architecture` of the previous ensemble, or None.
  """
  if before is None or architecture.subnetworks_of(number):
    return False
  return len(architecture.replay_indices) <= len(before.replay_indices) or (
      architecture.ensembler_name not in fitted)


class GraphParts:
  """Builds parts in the default graph.

  Attributes:
    graphs: dict of the graphs of the subnetworks that were built so far, for a
      `SearchFingerprint`.
    fitted: the names of the search's fitted ensemblers.
  """

  def __init__(self, search: iteration_lib.Search,
               task: subnetworks.LearningTask, config: Any, strategy: Any,
               reports: Callable[[int], Reports]):
    """Builds nothing yet. See `building.build` for the arguments."""
    self.search = search
    self.task = task
    self.graphs: Dict[str, fingerprint.Graph] = {}
    self.fitted = tuple(ensembler.name for ensembler in search.ensemblers
                        if iteration_lib.is_fitted(ensembler))
    self._config = config
    self._strategy = strategy
    self._strategy_before = strategy.for_earlier_iterations()
    self._reports = reports

  # The builders and candidates of an iteration.

  def generate(self, number: int,
               previous: Optional[EarlierWinner]) -> List[Any]:
    """Returns the builders of an iteration, from the generator.

    Args:
      previous: the winner before; None if the generator does not ask for it.
    """
    generate = self.search.generator.generate_candidates
    of_previous, of_all = self._reports(number)
    arguments = subnetworks.answered(
        generate, dict(
            iteration_number=number, previous_ensemble_reports=of_previous,
            all_reports=of_all),
        previous.spec.ensemble if previous else None, config=self._config)
    candidates = generate(**arguments)
    if candidates is not None and not isinstance(
        candidates, collections.abc.Iterable):
      raise ValueError(
          f"iteration {number}: generate_candidates must return a list of "
          f"builders, got {candidates!r}")
    builders = list(candidates or ())
    subnetworks.check_names(builders, number)
    return builders

  def candidates(self, builders: Sequence[Any],
                 previous: Optional[EarlierWinner]) -> List[Any]:
    """Returns the candidates of all strategies."""
    candidates: List[Any] = []
    for strategy in self.search.strategies:
      strategy_candidates = strategy.generate_ensemble_candidates(
          builders, previous.spec.builders if previous else None)
      if not isinstance(strategy_candidates, collections.abc.Iterable):
        raise ValueError(
            f"generate_ensemble_candidates of {strategy!r} must return a list "
            f"of adanet.ensemble.Candidate, got {strategy_candidates!r}")
      candidates += strategy_candidates
    for candidate in candidates:
      if not hasattr(candidate, "subnetwork_builders"):
        raise ValueError(
            "ensemble_strategies must make an adanet.ensemble.Candidate each, "
            f"got {candidate!r}")
    return candidates

  def named(self, choices: Sequence[Any], name: str, kind: Tuple[str, str],
            number: int) -> Any:
    """Returns the builder, ensembler or candidate with a name.

    Args:
      choices: all builders, ensemblers or candidates.
      kind: the word for a choice, and the source of choices, for the error.
    """
    for choice in choices:
      if choice.name == name:
        return choice
    raise ValueError(
        f"iteration {number}: model_dir {self._config.model_dir!r} needs the "
        f"{kind[0]} {name!r}, and {kind[1]} has none of this name: use the "
        "search that wrote this model_dir, or another model_dir")

  def ensembler_of(self, architecture: architecture_lib.Architecture,
                   number: int) -> Any:
    """Returns the ensembler of an iteration's winner."""
    return self.named(
        self.search.ensemblers, architecture.ensembler_name,
        ("ensembler", "ensemblers"), number)

  def combined(self, architecture: architecture_lib.Architecture, number: int,
               builders: Sequence[Any], previous: Optional[EarlierWinner]
              ) -> Tuple[Any, ensembles.Combination]:
    """Returns the ensembler and the `Combination` of an architecture.

    `builders` are the iteration's builders in the architecture.
    """
    ensembler = self.ensembler_of(architecture, number)
    if iteration_lib.is_fitted(ensembler):
      members = set(architecture.subnetworks)
      before = previous.spec.architecture.subnetworks if previous else ()
      return ensembler, ensembles.Combination(
          architecture.ensemble_candidate_name, tuple(builders), tuple(
              i for i, member in enumerate(before) if member in members))
    candidate = self.named(
        self.candidates(builders, previous),
        architecture.ensemble_candidate_name,
        ("candidate", "ensemble_strategies"), number)
    return ensembler, ensembles.combination(
        candidate, previous.spec if previous else None, fitted=False)

  def builders_of(self, architecture: architecture_lib.Architecture,
                  number: int, generated: Sequence[Any]) -> List[Any]:
    """Returns an architecture's builders of an iteration."""
    return [self.named(generated, name, ("builder", "the generator"), number)
            for name in architecture.subnetworks_of(number)]

  # Parts of the graph.

  def summary(self, namespace: str, name: str, enabled: bool) -> Any:
    """Returns an `adanet.Summary` of a subnetwork or an ensemble."""
    return scoped_summary.ScopedSummary(
        namespace, name, skip=not (enabled and self.task.training))

  def subnetwork(self, builders: Sequence[Any], index: int, number: int,
                 previous: Optional[EarlierWinner],
                 frozen: bool) -> subnetworks.SubnetworkSpec:
    """Builds the subnetwork of a builder."""
    builder = builders[index]
    name = f"t{number}_{builder.name}"
    replicated = self.search.replicate_ensemble_in_training
    strategy = self._strategy_before if frozen else self._strategy
    first = fingerprint.num_ops()
    training = self.task.training and (replicated or not frozen)
    with strategy.subnetwork_devices(len(builders), index):
      spec = subnetworks.build_subnetwork(
          builder, name, number, self.task,
          self.summary("subnetwork", name, not frozen and
                       self.search.enable_subnetwork_summaries),
          previous.spec.ensemble if previous else None,
          self._config.replace(model_dir=os.path.join(
              self._config.model_dir, "assets", name)),
          frozen=frozen and not (replicated and self.task.training),
          training=training)
    subnetwork = spec.subnetwork
    self.graphs[fingerprint.key(name, training)] = fingerprint.ops(
        [subnetwork.last_layer, subnetwork.logits], first)
    return spec

  def ensemble(self, combined: ensembles.Combination, ensembler: Any,
               number: int, index: int,
               specs: Sequence[subnetworks.SubnetworkSpec],
               previous: Optional[EarlierWinner],
               frozen: bool) -> ensembles.EnsembleSpec:
    """Builds the ensemble of a `Combination`.

    Args:
      index: int, the index among the candidates of the iteration.
    """
    name = ensemble_name(number, combined.candidate_name, ensembler.name)
    # One that is fitted has no train op: only its networks may be replicated.
    replicated = self.search.replicate_ensemble_in_training and (
        not iteration_lib.is_fitted(ensembler))
    return ensembles.build_ensemble(
        combined, ensembler, name, number, index, self.task, specs,
        previous.spec if previous else None,
        self.summary("ensemble", name, not frozen and
                     self.search.enable_ensemble_summaries),
        self.search.exports,
        frozen=frozen and not (replicated and self.task.training),
        training=self.task.training and (replicated or not frozen))

  def average(self, name: str, tensor: Any = None,
              summary: Any = None) -> ensembles.MovingAverage:
    """Makes the moving average of a candidate's AdaNet loss.

    Args:
      tensor: the AdaNet loss; None for an average that is only read.
      summary: the candidate's `adanet.Summary`, if the tensor is given.
    """
    with tf_compat.v1.variable_scope("candidate_" + name):
      average = ensembles.moving_average(
          tensor, self.search.adanet_loss_decay, self.task.training)
      if average.update is not None:
        with summary.current_scope():
          summary.scalar(
              "adanet_loss/adanet/adanet_weighted_ensemble", average.update)
      return average


History = Sequence[Tuple[int, architecture_lib.Architecture]]
Members = Sequence[Tuple[int, str]]


class _Latest(NamedTuple):
  """The latest winner, and the number of the winner's iteration."""
  number: int
  name: str
  architecture: architecture_lib.Architecture


def latest(history: History, fitted: Sequence[str]) -> Optional[_Latest]:
  """Returns the latest winner of a history, or None."""
  winner: Optional[_Latest] = None
  for number, architecture in history:
    if winner is not None and is_previous(
        architecture, number, winner.architecture, fitted):
      winner = winner._replace(architecture=architecture)
    else:
      winner = _Latest(number, ensemble_name(
          number, architecture.ensemble_candidate_name,
          architecture.ensembler_name), architecture)
  return winner


def _spec(name, ensemble, architecture, builders, networks):
  return ensembles.EnsembleSpec(
      name, ensemble, architecture, builders, networks, step=None,
      iteration_step=None, summary=None)


def of_members(name: str, architecture: architecture_lib.Architecture,
               builders: Sequence[Any],
               networks: Sequence[Any]) -> ensembles.EnsembleSpec:
  """Returns an ensemble with members only, without weights.

  A fitted ensemble of the next iteration asks which networks to keep.
  """
  return _spec(name, ensemble_lib.ComplexityRegularized(
      [ensemble_lib.WeightedSubnetwork(subnetwork=network)
       for network in networks], None, None, networks),
               architecture, tuple(builders), tuple(networks))


class EarlierWinners:
  """The winners before an iteration, in the default graph."""

  def __init__(self, parts: GraphParts, history: History):
    self._parts = parts
    self._history = history
    self._latest = latest(history, parts.fitted)
    self._generated: Dict[int, List[Any]] = {}

  def needs_ensembles(self) -> bool:
    """Returns whether the search needs the ensembles, whatever is built."""
    search = self._parts.search
    return subnetworks.asks_for_previous(
        search.generator.generate_candidates) or any(
            map(iteration_lib.builds_on_ensembles, search.ensemblers))

  # As AdaNet does.

  def built_all(self) -> Optional[EarlierWinner]:
    """Builds all winners; returns the latest winner, or None."""
    previous = None
    for number, architecture in self._history:
      previous = self._rebuild(architecture, number, previous)
    return previous

  def _rebuild(self, architecture, number, previous):
    """Builds an iteration's winner again, unchanged."""
    parts = self._parts
    if is_previous(
        architecture, number,
        previous.spec.architecture if previous else None, parts.fitted):
      return previous._replace(
          spec=previous.spec._replace(architecture=architecture))
    builders = parts.builders_of(
        architecture, number, parts.generate(number, previous))
    ensembler, combined = parts.combined(
        architecture, number, builders, previous)
    with tf_compat.v1.variable_scope(f"iteration_{number}"):
      if previous:
        parts.average(previous.spec.name)
      specs = [parts.subnetwork(builders, i, number, previous, frozen=True)
               for i in range(len(builders))]
      spec = parts.ensemble(combined, ensembler, number, 0, specs, previous,
                            frozen=True)
      if not iteration_lib.is_fitted(ensembler):
        parts.average(spec.name)
    return EarlierWinner(
        spec._replace(architecture=architecture), specs)

  # Without the ensembles of earlier iterations.

  def known(self) -> Optional[EarlierWinner]:
    """Returns the latest winner with builders only, or None."""
    if self._latest is None:
      return None
    architecture = self._latest.architecture
    return EarlierWinner(_spec(
        self._latest.name, None, architecture,
        tuple(self._builder(member) for member in architecture.subnetworks),
        ()))

  def _builder(self, member):
    """Returns the builder of a member."""
    number, name = member
    if number not in self._generated:
      self._generated[number] = self._parts.generate(number, None)
    return self._parts.named(self._generated[number], name,
                             ("builder", "the generator"), number)

  def can_build(self, kept: Members) -> bool:
    """Returns whether some members can be built by themselves."""
    return not any(
        subnetworks.builder_asks(self._builder(member)) for member in kept)

  def built_members(self, kept: Members) -> EarlierWinner:
    """Builds some members of the latest winner; returns only such members."""
    if not kept:
      known = self.known()
      assert known is not None
      return known
    assert self._latest is not None
    specs: List[Any] = []
    for number, members in itertools.groupby(kept, lambda member: member[0]):
      with tf_compat.v1.variable_scope(f"iteration_{number}"):
        specs += self._build(number, [name for _, name in members])
    return EarlierWinner(of_members(
        self._latest.name,
        self._latest.architecture._replace(subnetworks=tuple(kept)),
        [spec.builder for spec in specs],
        [spec.subnetwork for spec in specs]), specs)

  def built_latest(self) -> EarlierWinner:
    """Builds the latest winner, unchanged, and no other networks."""
    assert self._latest is not None
    parts, (number, _, architecture) = self._parts, self._latest
    own = architecture.subnetworks_of(number)
    kept = [
        member for member in architecture.subnetworks if member[0] != number]
    before = self.built_members(kept) if kept else None
    with tf_compat.v1.variable_scope(f"iteration_{number}"):
      specs = self._build(number, own)
      spec = parts.ensemble(
          ensembles.Combination(
              architecture.ensemble_candidate_name,
              tuple(spec.builder for spec in specs), tuple(range(len(kept)))),
          parts.ensembler_of(architecture, number), number, 0, specs, before,
          frozen=True)
    return EarlierWinner(
        spec._replace(architecture=architecture), specs)

  def _build(self, number, names):
    """Builds some subnetworks in the scope of an iteration."""
    builders = [self._builder((number, name)) for name in names]
    return [self._parts.subnetwork(builders, i, number, None, frozen=True)
            for i in range(len(builders))]

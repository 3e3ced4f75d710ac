# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The winners of earlier iterations, as far as an iteration needs them.

AdaNet builds each of them again, the first one first: a builder may build upon
the ensemble before it, and that ensemble trains along as a candidate. Where all
ensembles are fitted and no function of the user's asks for that ensemble, its
name, its architecture and its builders are enough to train. To answer, there
are its members, each by itself.
"""

import itertools
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from adanet import ensemble as ensemble_lib
from adanet import tf_compat
from adanet.core import architecture as architecture_lib
from adanet.core import asking
from adanet.core import ensembles
from adanet.core import graph_parts
from adanet.core import iteration as iteration_lib

History = Sequence[Tuple[int, architecture_lib.Architecture]]
Members = Sequence[Tuple[int, str]]


class _Latest(NamedTuple):
  """The latest winner, by name.

  Attributes:
    number: int, the iteration that made it.
    name: str.
    architecture: `Architecture`.
  """
  number: int
  name: str
  architecture: architecture_lib.Architecture


def latest(history: History, fitted: Sequence[str]) -> Optional[_Latest]:
  """Returns the latest winner of a history, or None.

  Args:
    history: see `building.build`.
    fitted: the names of the ensemblers that are fitted.
  """
  winner: Optional[_Latest] = None
  for number, architecture in history:
    if winner is not None and graph_parts.is_previous(
        architecture, number, winner.architecture, fitted):
      winner = winner._replace(architecture=architecture)
    else:
      winner = _Latest(number, graph_parts.ensemble_name(
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
  """Returns an ensemble of which there are the members only, without weights.

  A fitted ensemble that is built upon it asks which networks it keeps.

  Args:
    name: str.
    architecture: `Architecture` of these members.
    builders: of the members, in their order.
    networks: the `Subnetwork` of each.
  """
  return _spec(name, ensemble_lib.ComplexityRegularized(
      [ensemble_lib.WeightedSubnetwork(subnetwork=network)
       for network in networks], None, None, networks),
               architecture, tuple(builders), tuple(networks))


class EarlierWinners:
  """The winners before an iteration, in the default graph."""

  def __init__(self, parts: graph_parts.GraphParts, history: History):
    """Builds nothing yet.

    Args:
      parts: `GraphParts` of the graph.
      history: see `building.build`.
    """
    self._parts = parts
    self._history = history
    self._latest = latest(history, parts.fitted)
    self._generated: Dict[int, List[Any]] = {}

  def needs_ensembles(self) -> bool:
    """Returns whether the search needs the ensembles, whatever is built."""
    search = self._parts.search
    return asking.asks_for_previous(
        search.generator.generate_candidates) or any(
            map(iteration_lib.builds_on_ensembles, search.ensemblers))

  # As AdaNet does.

  def built_all(self) -> Optional[graph_parts.EarlierWinner]:
    """Builds all winners, and returns the latest one; None without one."""
    previous = None
    for number, architecture in self._history:
      previous = self._rebuild(architecture, number, previous)
    return previous

  def _rebuild(self, architecture, number, previous):
    """Builds an iteration's winner again, as it was."""
    parts = self._parts
    if graph_parts.is_previous(
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
    return graph_parts.EarlierWinner(
        spec._replace(architecture=architecture), specs)

  # Without their ensembles.

  def known(self) -> Optional[graph_parts.EarlierWinner]:
    """Returns the latest winner with its builders only; None without one."""
    if self._latest is None:
      return None
    architecture = self._latest.architecture
    return graph_parts.EarlierWinner(_spec(
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
    return not any(asking.builder_asks(self._builder(one)) for one in kept)

  def built_members(self, kept: Members) -> graph_parts.EarlierWinner:
    """Builds some members of the latest winner; returns it with these only.

    Args:
      kept: the names of the members.
    """
    if not kept:
      known = self.known()
      assert known is not None
      return known
    assert self._latest is not None
    specs: List[Any] = []
    for number, some in itertools.groupby(kept, lambda member: member[0]):
      with tf_compat.v1.variable_scope(f"iteration_{number}"):
        specs += self._build(number, [name for _, name in some])
    return graph_parts.EarlierWinner(of_members(
        self._latest.name,
        self._latest.architecture._replace(subnetworks=tuple(kept)),
        [spec.builder for spec in specs],
        [spec.subnetwork for spec in specs]), specs)

  def built_latest(self) -> graph_parts.EarlierWinner:
    """Builds the latest winner, as it was, of its members alone."""
    assert self._latest is not None
    parts, (number, _, architecture) = self._parts, self._latest
    own = architecture.subnetworks_of(number)
    kept = [one for one in architecture.subnetworks if one[0] != number]
    before = self.built_members(kept) if kept else None
    with tf_compat.v1.variable_scope(f"iteration_{number}"):
      specs = self._build(number, own)
      spec = parts.ensemble(
          ensembles.Combination(
              architecture.ensemble_candidate_name,
              tuple(spec.builder for spec in specs), tuple(range(len(kept)))),
          parts.ensembler_of(architecture, number), number, 0, specs, before,
          frozen=True)
    return graph_parts.EarlierWinner(
        spec._replace(architecture=architecture), specs)

  def _build(self, number, names):
    """Builds some subnetworks of an iteration in its scope."""
    builders = [self._builder((number, name)) for name in names]
    return [self._parts.subnetwork(builders, i, number, None, frozen=True)
            for i in range(len(builders))]

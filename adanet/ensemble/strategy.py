# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The combinations of subnetworks to try in an iteration."""

import abc
import collections
from typing import Any, Iterable, List, Optional


class Candidate(
    collections.namedtuple("Candidate", [
        "name", "subnetwork_builders", "previous_ensemble_subnetwork_builders"
    ])):
  """A combination of subnetworks.

  For example::

      adanet.ensemble.Candidate("first_two", subnetwork_builders[:2], None)

  Attributes:
    name: str, unique in the iteration.
    subnetwork_builders: tuple of the `Builder` objects of this iteration.
    previous_ensemble_subnetwork_builders: tuple of the `Builder` objects to
      keep from the previous ensemble.
  """

  def __new__(cls, name: str, subnetwork_builders: Iterable[Any],
              previous_ensemble_subnetwork_builders: Optional[
                  Iterable[Any]]) -> "Candidate":
    """Makes a candidate.

    Raises:
      ValueError: `subnetwork_builders` is empty.
    """
    builders = tuple(subnetwork_builders)
    if not builders:
      raise ValueError(
          "subnetwork_builders=(): expected at least one builder of this "
          f"iteration in the candidate {name!r}. The previous ensemble is a "
          "candidate anyway.")
    return super().__new__(
        cls, name, builders,
        tuple(previous_ensemble_subnetwork_builders or ()))


class Strategy(abc.ABC):
  """Turns the builders of an iteration into candidates.

  For example::

      class PairStrategy(adanet.ensemble.Strategy):

        def generate_ensemble_candidates(
            self, subnetwork_builders, previous_ensemble_subnetwork_builders):
          return [
              adanet.ensemble.Candidate(f"{a.name}_{b.name}", [a, b], None)
              for a, b in itertools.combinations(subnetwork_builders, 2)]
  """

  @abc.abstractmethod
  def generate_ensemble_candidates(self, subnetwork_builders: Any,
                                   previous_ensemble_subnetwork_builders: Any
                                   ) -> Iterable[Candidate]:
    """Returns the candidates of an iteration.

    Args:
      subnetwork_builders: list of the `Builder` objects of this iteration.
      previous_ensemble_subnetwork_builders: list of the `Builder` objects of
        the previous ensemble, or None in iteration 0. A candidate prunes the
        builders that it omits.

    Returns:
      Iterable of `Candidate`, with different names.
    """


class SoloStrategy(Strategy):
  """Each new subnetwork alone, without the previous ensemble.

  For example::

      estimator = adanet.Estimator(
          head, generator, max_iteration_steps=1000,
          ensemble_strategies=[adanet.ensemble.SoloStrategy()])
  """

  def generate_ensemble_candidates(self, subnetwork_builders: Any,
                                   previous_ensemble_subnetwork_builders: Any
                                   ) -> List[Candidate]:
    return [Candidate(f"{builder.name}_solo", [builder], None)
            for builder in subnetwork_builders]


class GrowStrategy(Strategy):
  """Each new subnetwork added to the previous ensemble.

  For example, to also try every new subnetwork alone::

      estimator = adanet.Estimator(
          head, generator, max_iteration_steps=1000,
          ensemble_strategies=[adanet.ensemble.GrowStrategy(),
                               adanet.ensemble.SoloStrategy()])
  """

  def generate_ensemble_candidates(self, subnetwork_builders: Any,
                                   previous_ensemble_subnetwork_builders: Any
                                   ) -> List[Candidate]:
    return [Candidate(f"{builder.name}_grow", [builder],
                      previous_ensemble_subnetwork_builders)
            for builder in subnetwork_builders]


class AllStrategy(Strategy):
  """All new subnetworks added to the previous ensemble.

  For example::

      estimator = adanet.Estimator(
          head, generator, max_iteration_steps=1000,
          ensemble_strategies=[adanet.ensemble.AllStrategy()])
  """

  def generate_ensemble_candidates(self, subnetwork_builders: Any,
                                   previous_ensemble_subnetwork_builders: Any
                                   ) -> List[Candidate]:
    return [Candidate("all", subnetwork_builders,
                      previous_ensemble_subnetwork_builders)]

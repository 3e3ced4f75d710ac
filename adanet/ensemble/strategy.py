# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which combinations of subnetworks an iteration tries."""

import abc
import collections
from typing import Any, Iterable, List, Optional

import six


class Candidate(
    collections.namedtuple("Candidate", [
        "name", "subnetwork_builders", "previous_ensemble_subnetwork_builders"
    ])):
  """One combination of subnetworks.

  Attributes:
    name: str, unique in the iteration.
    subnetwork_builders: tuple of `Builder`, new in this iteration.
    previous_ensemble_subnetwork_builders: tuple of `Builder`, from the
      previous ensemble, that stay.
  """

  def __new__(cls, name: str, subnetwork_builders: Iterable[Any],
              previous_ensemble_subnetwork_builders: Optional[
                  Iterable[Any]]) -> "Candidate":
    """Makes a candidate.

    Raises:
      ValueError: there is no builder of this iteration.
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


@six.add_metaclass(abc.ABCMeta)
class Strategy:
  """Turns the builders of an iteration into candidates."""

  @abc.abstractmethod
  def generate_ensemble_candidates(self, subnetwork_builders: Any,
                                   previous_ensemble_subnetwork_builders: Any
                                   ) -> Iterable[Candidate]:
    """Returns the candidates of an iteration.

    Args:
      subnetwork_builders: list of `Builder`, new in this iteration.
      previous_ensemble_subnetwork_builders: list of `Builder`, from the
        previous ensemble, or None in iteration 0. A candidate that has only
        some of them prunes the rest.

    Returns:
      Iterable of `Candidate`, with different names.
    """


class SoloStrategy(Strategy):
  """Each new subnetwork alone, without the previous ensemble."""

  def generate_ensemble_candidates(self, subnetwork_builders: Any,
                                   previous_ensemble_subnetwork_builders: Any
                                   ) -> List[Candidate]:
    return [Candidate(f"{builder.name}_solo", [builder], None)
            for builder in subnetwork_builders]


class GrowStrategy(Strategy):
  """Each new subnetwork, added to the previous ensemble."""

  def generate_ensemble_candidates(self, subnetwork_builders: Any,
                                   previous_ensemble_subnetwork_builders: Any
                                   ) -> List[Candidate]:
    return [Candidate(f"{builder.name}_grow", [builder],
                      previous_ensemble_subnetwork_builders)
            for builder in subnetwork_builders]


class AllStrategy(Strategy):
  """All new subnetworks, added to the previous ensemble."""

  def generate_ensemble_candidates(self, subnetwork_builders: Any,
                                   previous_ensemble_subnetwork_builders: Any
                                   ) -> List[Candidate]:
    return [Candidate("all", subnetwork_builders,
                      previous_ensemble_subnetwork_builders)]

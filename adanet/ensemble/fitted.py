# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Ensemblers that are fitted when all networks have trained.

They take part in no training step. At the end of an iteration they get the
logits of all networks on the evaluator's data, and return the weights.
"""

import abc
import math
from typing import Any, Callable, Dict, NamedTuple, Optional, Sequence, Union

from adanet.ensemble import selection
from adanet.ensemble.ensembler import Ensembler
from adanet.ensemble.weighted import ComplexityRegularized
from adanet.ensemble.weighted import ComplexityRegularizedEnsembler
import six


class Member(NamedTuple):
  """A network that an ensemble may have.

  Attributes:
    logits: float32 array of shape [n, logits_dimension], on n examples; for a
      multi-head a dict from head to such an array. It is mapped from a file,
      and must not be written.
    complexity: float, r(h) of the paper: the `complexity` of its `Subnetwork`.
  """
  logits: Union[Any, Dict[Any, Any]]
  complexity: float


@six.add_metaclass(abc.ABCMeta)
class FittedEnsembler(Ensembler):
  """Combines networks by weights that are fitted when all have trained.

  The ensemble's logits are the weighted sum of the networks' logits. A network
  with the weight 0 is no member. It needs an `evaluator`: on its data the
  weights are fitted. A subclass defines `name` and `fit`.

  Attributes:
    adanet_lambda: float, lambda of equation (4) of Cortes et al. 2017, at least
      0. The ensemble's AdaNet loss has
      `sum_j |w_j| (adanet_lambda complexity_j + adanet_beta)` in it.
    adanet_beta: float, beta of equation (4), at least 0.
  """

  adanet_lambda = 0.
  adanet_beta = 0.

  @abc.abstractmethod
  def fit(self, members: Sequence[Member],
          loss: Callable[[Any], float]) -> Sequence[float]:
    """Returns the weight of each network.

    It must return the same each time that it gets the same.

    Args:
      members: sequence of `Member`, at least one: first the members of the
        previous ensemble, then the new ones. Their logits are finite.
      loss: function from logits of the same shapes to a float: the head's loss
        on all of the evaluator's data, with the weights of the examples.

    Returns:
      A finite float for each member, not all of them 0.
    """

  def build_ensemble(self, subnetworks: Any, previous_ensemble_subnetworks: Any,
                     features: Any, labels: Any, logits_dimension: Any,
                     training: bool, iteration_step: Any, summary: Any,
                     previous_ensemble: Any) -> ComplexityRegularized:
    """Builds the weighted sum; see `Ensembler`.

    Its variables are as a `ComplexityRegularizedEnsembler` makes them with
    scalar weights and no optimizer.

    Raises:
      ValueError: the subnetworks' heads or static shapes do not fit.
    """
    return ComplexityRegularizedEnsembler(
        adanet_lambda=self.adanet_lambda,
        adanet_beta=self.adanet_beta).build_ensemble(
            subnetworks, previous_ensemble_subnetworks, features, labels,
            logits_dimension, training, iteration_step, summary,
            previous_ensemble)

  def build_train_op(self, ensemble: Any, loss: Any, var_list: Any, labels: Any,
                     iteration_step: Any, summary: Any,
                     previous_ensemble: Any) -> Any:
    """Is never called: nothing is trained."""
    raise NotImplementedError("a fitted ensemble has no train op")


def _check(name, value, is_valid, expected):
  if isinstance(value, bool) or not is_valid(value):
    raise ValueError(f"{name}={value!r}: expected {expected}.")


def _is_count(value):
  return isinstance(value, six.integer_types) and value >= 1


class GreedyEnsembler(FittedEnsembler):
  """Selects networks one after the other, each where it helps the most.

  See `selection.select` for the method and its source.
  """

  def __init__(self, max_selections: int = 25,
               max_members: Optional[int] = None, adanet_lambda: float = 0.,
               adanet_beta: float = 0., name: Optional[str] = None) -> None:
    """Makes an ensembler.

    Args:
      max_selections: int, how many networks are added to the best one. One that
        is added again has more weight.
      max_members: int, of how many different networks the ensemble is at most;
        None for any number.
      adanet_lambda: float, lambda of equation (4), at least 0.
      adanet_beta: float, beta of equation (4), at least 0.
      name: str, or None for "greedy".

    Raises:
      ValueError: an argument has a value that is not allowed.
    """
    _check("max_selections", max_selections, _is_count,
           "an integer of at least 1")
    _check("max_members", max_members,
           lambda value: value is None or _is_count(value),
           "None, or an integer of at least 1")
    for argument, value in (("adanet_lambda", adanet_lambda),
                            ("adanet_beta", adanet_beta)):
      _check(argument, value, lambda value: isinstance(value, (int, float)) and
             0 <= value < math.inf, "a finite number of at least 0")
    self.adanet_lambda = adanet_lambda
    self.adanet_beta = adanet_beta
    self._max_selections = max_selections
    self._max_members = max_members
    self._name = name

  @property
  def name(self) -> str:
    return self._name or "greedy"

  def fit(self, members: Sequence[Member],
          loss: Callable[[Any], float]) -> Sequence[float]:
    """Returns the weights that `selection.select` finds."""
    return selection.select(
        [member.logits for member in members], loss,
        [self.adanet_lambda * member.complexity + self.adanet_beta
         for member in members],
        self._max_selections, self._max_members).weights

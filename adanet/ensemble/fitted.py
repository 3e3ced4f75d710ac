# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Ensemblers that are fitted after all networks have trained.

Fitted ensemblers have no training step. At the end of an iteration, a fitted
ensembler gets the logits of all networks on the evaluator's data and returns
the weights of the networks.
"""

import abc
import math
from typing import Any, Callable, Dict, NamedTuple, Optional, Sequence, Union

from adanet import checks
from adanet.ensemble import selection
from adanet.ensemble.ensembler import Ensembler
from adanet.ensemble.weighted import ComplexityRegularized
from adanet.ensemble.weighted import ComplexityRegularizedEnsembler


class Member(NamedTuple):
  """A network that an ensemble may include.

  For example, in `FittedEnsembler.fit`::

      losses = [loss(member.logits) for member in members]

  Attributes:
    logits: float32 array of shape [n, logits_dimension] for n examples; for a
      multi-head, a dict from head to array. Read-only: arrays may be mapped
      from a file.
    complexity: float, the `complexity` of the `Subnetwork`; r(h) in the paper.
  """
  logits: Union[Any, Dict[Any, Any]]
  complexity: float


class FittedEnsembler(Ensembler):
  """Combines networks by weights that are fitted after all networks trained.

  The ensemble's logits are the weighted sum of the networks' logits. A network
  of weight 0 is not in the ensemble. A fitted ensembler needs an `evaluator`,
  whose data fit the weights. A subclass defines `name` and `fit`. For example::

      class BestTwo(adanet.ensemble.FittedEnsembler):
        name = "best_two"

        def fit(self, members, loss):
          losses = [loss(member.logits) for member in members]
          best = sorted(range(len(losses)), key=losses.__getitem__)[:2]
          return [(i in best) / len(best) for i in range(len(losses))]

  Attributes:
    adanet_lambda: float, at least 0, lambda of equation (4) of Cortes et al.
      2017. The ensemble's AdaNet loss includes
      `sum_j |w_j| (adanet_lambda complexity_j + adanet_beta)`.
    adanet_beta: float, at least 0, beta of equation (4).
  """

  adanet_lambda = 0.
  adanet_beta = 0.

  @abc.abstractmethod
  def fit(self, members: Sequence[Member],
          loss: Callable[[Any], float]) -> Sequence[float]:
    """Returns the weight of each network.

    The method must be deterministic.

    Args:
      members: non-empty sequence of `Member`: first the members of the previous
        ensemble, then the new networks. All logits are finite.
      loss: function from logits, with the shapes of a member's logits, to the
        head's loss on all of the evaluator's data as a float. The loss includes
        the weights of the examples.

    Returns:
      A finite float for each member. At least one float is not 0.
    """

  def build_ensemble(self, subnetworks: Any, previous_ensemble_subnetworks: Any,
                     features: Any, labels: Any, logits_dimension: Any,
                     training: bool, iteration_step: Any, summary: Any,
                     previous_ensemble: Any) -> ComplexityRegularized:
    """Builds the weighted sum. See `Ensembler`.

    The variables are the same as in a `ComplexityRegularizedEnsembler` with
    scalar weights and without an optimizer.

    Raises:
      ValueError: the heads or static shapes of `subnetworks` and
        `previous_ensemble_subnetworks` differ.
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
    """Never called, because a fitted ensemble has no training step."""
    raise NotImplementedError("a fitted ensemble has no train op")


class GreedyEnsembler(FittedEnsembler):
  """Selects networks one by one, each time the network that helps most.

  See `selection.select` for the method and its source. For example::

      estimator = adanet.AutoEnsembleEstimator(
          head, pool, max_iteration_steps=1000,
          ensemblers=[adanet.ensemble.GreedyEnsembler(max_members=5)],
          evaluator=adanet.Evaluator(held_out_input_fn))
  """

  def __init__(self, max_selections: int = 25,
               max_members: Optional[int] = None, adanet_lambda: float = 0.,
               adanet_beta: float = 0., name: Optional[str] = None) -> None:
    """Makes an ensembler.

    Args:
      max_selections: int, the number of networks to add to the best network.
        Repeated additions of a network raise the weight of the network.
      max_members: int, the maximum number of different networks in the
        ensemble; None for any number.
      adanet_lambda: float, at least 0, lambda of equation (4).
      adanet_beta: float, at least 0, beta of equation (4).
      name: str, or None for "greedy".

    Raises:
      TypeError: `max_selections` or `max_members` is not an integer, or
        `adanet_lambda` or `adanet_beta` is not a number.
      ValueError: `max_selections` or `max_members` is less than 1, or
        `adanet_lambda` or `adanet_beta` is negative or not finite.
    """
    checks.check_count("max_selections", max_selections)
    checks.check_count("max_members", max_members, or_none=True)
    for argument, value in (("adanet_lambda", adanet_lambda),
                            ("adanet_beta", adanet_beta)):
      checks.check_number(argument, value, lambda v: 0 <= v < math.inf,
                          "a finite number of at least 0")
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
    """Returns the weights from `selection.select`."""
    return selection.select(
        [member.logits for member in members],
        lambda means: map(loss, means),
        [self.adanet_lambda * member.complexity + self.adanet_beta
         for member in members],
        self._max_selections, self._max_members).weights

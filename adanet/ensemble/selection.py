# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Selects the networks of the best ensemble: a pure function of their logits.

Forward selection with replacement. Source: Caruana, Niculescu-Mizil, Crew and
Ksikes 2004, "Ensemble selection from libraries of models". The selection
minimizes the objective of AdaNet (Cortes et al. 2017, equation 4) on held-out
data::

  F(w) = loss(sum_j w_j logits_j) + sum_j w_j price_j

over weights w of at least 0 with the sum 1. The method is the Frank-Wolfe
algorithm with the step size 1 / t.
"""

import math
from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple
from typing import Optional, Sequence, Tuple, Union

Logits = Union[Any, Dict[Any, Any]]
"""A float array of shape [n, ...], or a dict from head to array."""


class Pick(NamedTuple):
  """One round of a selection.

  Attributes:
    network: int, the index of the added network.
    objective: float, F of the mean of all networks added so far.
    tie_breakers: tuple of float, compared where F is equal.
  """
  network: int
  objective: float
  tie_breakers: Tuple[float, ...] = ()


class Selection(NamedTuple):
  """A selected ensemble with the rounds of the selection.

  Attributes:
    weights: tuple with the weight of each network, of sum 1.
    picks: tuple of `Pick`, in the order of the rounds. The weights are those of
      the rounds up to the least objective.
  """
  weights: Tuple[float, ...]
  picks: Tuple[Pick, ...]

  @property
  def objective(self) -> float:
    """F of the weights."""
    return min(pick.objective for pick in self.picks)


class _Sum:
  """The sum of the logits of all selected networks."""

  def __init__(self, like: Logits):
    # Programs that only build ensembles do not need NumPy.
    import numpy as np  # pylint: disable=g-import-not-at-top
    self._is_dict = isinstance(like, dict)
    self._sums = {head: np.zeros_like(logits, subok=False)
                  for head, logits in self._heads(like).items()}
    self._mean = {head: np.empty_like(logits, subok=False)
                  for head, logits in self._heads(like).items()}

  def _heads(self, logits):
    return logits if self._is_dict else {None: logits}

  def mean_with(self, logits: Logits, count: int) -> Logits:
    """Returns the mean of `count` logits: `logits` and the logits in the sum.

    The next call overwrites the array.
    """
    for head, array in self._heads(logits).items():
      mean = self._mean[head]
      mean[...] = array
      mean += self._sums[head]
      mean /= count
    return self._mean if self._is_dict else self._mean[None]

  def add(self, logits: Logits) -> None:
    for head, array in self._heads(logits).items():
      self._sums[head] += array


def select(logits: Sequence[Logits],
           losses: Callable[[Iterator[Logits]],
                            Iterable[Union[float, Tuple[float, ...]]]],
           prices: Sequence[float], max_selections: int = 25,
           max_members: Optional[int] = None,
           is_stopped: Callable[[], bool] = lambda: False,
           combine: Optional[Callable[[Tuple[int, ...]], Logits]] = None
          ) -> Selection:
  """Selects the ensemble with the least F. See the module's docstring.

  The selection begins with the single network of the least F. Each of
  `max_selections` rounds then adds the network, possibly again, that gives the
  mean of all selected networks the least F. The first network wins a tie. A
  value of F that is not finite never wins.

  For example::

      selected = selection.select(
          logits, lambda means: map(loss, means), prices=[0.] * len(logits))
      print(selected.weights, selected.objective)

  Args:
    logits: the logits of each network, all of the same shapes.
    losses: function from an iterator of logits to the loss of each, or to a
      tuple of the loss and numbers of which the least win a tie. The next
      logits overwrite the array of these.
    prices: the price of each network at weight 1:
      `adanet_lambda * complexity + adanet_beta`.
    max_selections: int, the number of networks to add to the first network.
    max_members: int, the maximum number of different networks; None for any
      number.
    is_stopped: function that returns whether to add no other network. At least
      one is selected.
    combine: function from the indices of an ensemble's networks, each index as
      often as the network was added, to the logits of the ensemble. None for
      the mean.

  Returns:
    A `Selection`.

  Raises:
    ValueError: `logits` is empty, or F is finite for no network.
  """
  if not logits:
    raise ValueError("logits=[]: expected the logits of at least one network.")
  picks: List[Pick] = []
  total = _Sum(logits[0])
  for count in range(1, max_selections + 2):
    if picks and is_stopped():
      break
    chosen = {pick.network for pick in picks}
    is_full = max_members is not None and len(chosen) >= max_members
    price = sum(prices[pick.network] for pick in picks)
    best = Pick(-1, math.inf)
    networks = sorted(chosen) if is_full else range(len(logits))
    used = tuple(pick.network for pick in picks)
    ensembles = (total.mean_with(logits[network], count) if combine is None else
                 combine((*used, network)) for network in networks)
    for network, loss in zip(networks, losses(ensembles)):
      first, *others = loss if isinstance(loss, tuple) else (loss,)
      pick = Pick(network, float(first) + (price + prices[network]) / count,
                  tuple(others))
      if pick[1:] < best[1:]:
        best = pick
    if best.network < 0:
      break
    picks.append(best)
    total.add(logits[best.network])
  if not picks:
    raise ValueError(
        f"losses={losses!r}: expected a finite number for at least one of the "
        f"{len(logits)} networks.")
  size = 1 + min(range(len(picks)), key=lambda i: picks[i][1:])
  members = [pick.network for pick in picks[:size]]
  return Selection(
      tuple(members.count(i) / size for i in range(len(logits))), tuple(picks))

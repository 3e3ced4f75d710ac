# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The costs and sizes of a plan: what a user gave, or what a strategy knows."""

import typing

from adanet.distributed import _arguments
from adanet.distributed import line
from adanet.distributed import placement
from adanet.distributed.plan import predictions

#: The least and the most that a cost or a size may be, or what ensembles cost.
#: Predictions multiply and divide them, as float.
LEAST_WEIGHT, MOST_WEIGHT = 1e-100, 1e100


def weights(
    name: str, given: predictions.Weights,
    strategy: placement.PlacementStrategy,
    num_subnetworks: int) -> predictions.Weights:
  """Returns costs or sizes as a tuple, after checking them; None if all are 1.

  Args:
    name: str, "costs" or "sizes".
    given: what the caller of `PlacementPlan` gave.
    strategy: the strategy, which may know its own.
    num_subnetworks: int.
  """
  if given is None:
    if not isinstance(strategy, placement.BalancedStrategy):
      return None
    given = (strategy.costs_of if name == "costs" else strategy.sizes_of)(
        num_subnetworks)
    if set(given) == {1}:
      return None
  expected = (f"{num_subnetworks} numbers from {LEAST_WEIGHT:g} to "
              f"{MOST_WEIGHT:g}, one for each subnetwork")
  checked = _arguments.check_lengths(name, given, expected)
  if len(checked) != num_subnetworks or not all(
      LEAST_WEIGHT <= weight <= MOST_WEIGHT for weight in checked):
    raise ValueError(f"{name}={_arguments.show(given)}: expected {expected}.")
  return checked


def ensemble_cost(
    given: typing.Optional[line.Number], strategy: placement.PlacementStrategy,
    num_subnetworks: int, costs: predictions.Weights,
    has_other_costs: bool) -> line.Number:
  """Returns what a step of all ensembles costs, after checking it.

  Args:
    given: what the caller of `PlacementPlan` gave.
    strategy: the strategy, which may know its own.
    num_subnetworks: int.
    costs: those of the plan, checked.
    has_other_costs: bool, whether these need not be those of the strategy.
  """
  implied = predictions.implied_ensemble_cost(num_subnetworks, costs)
  if given is None:
    if not isinstance(strategy, placement.BalancedStrategy) or (
        has_other_costs and strategy.layout.work.given is None):
      return implied
    given = strategy.ensemble_cost_of(num_subnetworks)
    if given == implied:
      return implied
  expected = (
      f"None or a number from {LEAST_WEIGHT:g} to {MOST_WEIGHT:g}")
  checked = _arguments.check_length("ensemble_cost", given, expected)
  if not LEAST_WEIGHT <= checked <= MOST_WEIGHT:
    raise ValueError(
        f"ensemble_cost={_arguments.show(given)}: expected {expected}.")
  return checked

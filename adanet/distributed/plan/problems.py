# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The problems of a placement, and their fixes."""

from typing import Dict, NamedTuple, Optional, Sequence, Tuple, Union

from adanet.console import wording
from adanet.distributed import _arguments
from adanet.distributed import placement
from adanet.distributed.plan import predictions as predictions_lib
from adanet import messages

import numpy as np

Indices = wording.Indices
Predictions = predictions_lib.Predictions
_Names = Optional[Sequence[str]]

#: The kinds of `Problem`, in the order of `PlacementPlan.problems`.
PROBLEM_KINDS = ("untrained_subnetworks", "unused_ps", "overloaded_ps",
                 "overloaded_workers", "slow_ensembles", "duplicated_ensembles")

# Rounding may lift a load of exactly twice the mean above the limit of 2.
_LIMIT = 2 * (1 + 1e-9)
# The ratio of the times of ensembles and subnetworks to tolerate. The cost of
# the ensembles is not known more exactly.
_SLOW_ENSEMBLES = 1.01


class Problem(NamedTuple):
  """A problem of a placement.

  For example::

      for problem in plan.problems():
        print(problem.kind, problem.message, problem.fixes.get("num_workers"))

  Attributes:
    kind: str of `PROBLEM_KINDS`.
    indices: subnetworks for "untrained_subnetworks"; parameter servers for
      "unused_ps" and "overloaded_ps"; workers for "overloaded_workers",
      "slow_ensembles" and "duplicated_ensembles". Empty for "slow_ensembles"
      if no worker builds the ensembles.
    message: str, the problem with the indices and the fixes.
    fixes: dict of alternative changes after which the plan has no problem: from
      "num_workers" or "num_ps" to an int, from "strategy" to the `repr` of a
      strategy.
  """
  kind: str
  indices: Indices
  message: str
  fixes: Dict[str, Union[int, str]]


def _median_work(plan):
  """Returns the median of `Predictions.work`, of the workers in lockstep."""
  work = plan.work[plan.work > 0]
  return np.median(work) if work.size else 0.


def find(plan: Predictions) -> Dict[str, Indices]:
  """Returns the indices of each problem of a plan, by kind."""
  by_kind = {"untrained_subnetworks": Indices(
      np.flatnonzero(plan.trainers_per_subnetwork() == 0))}
  load = plan.load_per_ps()
  if plan.num_ps and load is not None:
    by_kind["unused_ps"] = Indices(np.flatnonzero(plan.fetches_per_ps() == 0))
    by_kind["overloaded_ps"] = Indices(
        np.flatnonzero(load > _LIMIT * load.mean()))
  by_kind["overloaded_workers"] = Indices(
      np.flatnonzero(plan.work > _LIMIT * _median_work(plan)))
  by_kind = {kind: indices for kind, indices in by_kind.items() if indices}
  builders = Indices(w for group in plan.worker_groups if group.builds_ensemble
                     for w in group.workers)
  if plan.ensemble_speed() * _SLOW_ENSEMBLES < plan.effective_speeds().min():
    by_kind["slow_ensembles"] = builders
  if plan.duplicated_ensembles():
    by_kind["duplicated_ensembles"] = builders
  return by_kind


def _knows_ps(plan):
  return plan.load_per_ps() is not None


def _is_fixed(plan, key, value):
  """Returns whether a plan has no problem with another number of a key."""
  try:
    if key == "num_workers":
      _arguments.check_cluster(value, plan.num_subnetworks)
    changed = plan.changed(**{key: value})
  except (Exception, SystemExit):  # pylint: disable=broad-except
    return False  # A strategy may refuse another cluster.
  if _knows_ps(plan) and not _knows_ps(changed):
    return False
  return not find(changed)


def _least_fix(plan, key, period):
  """Returns the least larger number after which no problem remains, or None.

  If the next multiple of `period` is a fix, bisection finds the least number.
  """
  low = getattr(plan, key)
  high = low - low % period + period
  if not _is_fixed(plan, key, high):
    return None
  while high - low > 1:
    middle = (low + high) // 2
    if _is_fixed(plan, key, middle):
      high = middle
    else:
      low = middle
  return high


def _find_fixes(plan, by_kind):
  """Returns the fixes by the rules in `PlacementPlan.problems`."""
  k = plan.num_subnetworks
  fixes = {"num_workers": _least_fix(plan, "num_workers", k + 1)}
  if {"unused_ps", "overloaded_ps"} & by_kind.keys():
    fixes["num_ps"] = _least_fix(plan, "num_ps", k)
  # BalancedStrategy has no problem of these kinds on any cluster.
  fixes["strategy"] = repr(
      placement.BalancedStrategy(
          plan.costs, plan.sizes, ensemble_cost=plan.own_ensemble_cost))
  return {key: value for key, value in fixes.items() if value is not None}


def _message(plan, kind, indices, worker_names, subnetwork_names):
  """Returns a message about a problem."""
  name = str if subnetwork_names is None else subnetwork_names.__getitem__
  s = "" if len(indices) == 1 else "s"
  verb_s = "s" if len(indices) == 1 else ""
  ps = indices.to_text(wording.ps_name)
  if kind == "untrained_subnetworks":
    return f"No worker trains subnetwork{s} {indices.to_text(name)}."
  if kind == "unused_ps":
    return f"No worker uses {ps}."
  if kind == "overloaded_ps":
    mean = f"{plan.load_per_ps().mean():.4g}"
    if plan.sizes is None:
      mean = messages.count(mean, "subnetwork")
    return f"{ps} serve{verb_s} more than twice the mean load of {mean}."
  if not indices:
    return "No worker builds the ensembles."
  workers = wording.workers_text(indices, worker_names)
  if kind == "slow_ensembles":
    return (f"{workers} take{verb_s} {1 / plan.ensemble_speed():.4g} for a "
            "step of the ensembles, but the slowest subnetwork takes "
            f"{1 / plan.effective_speeds().min():.4g}.")
  if kind == "overloaded_workers":
    median = _median_work(plan)
    median = (f"cost of {median:.4g}" if plan.costs is not None else
              "of " + messages.count(f"{median:g}", "subnetwork"))
    return f"{workers} train{verb_s} more than twice the median {median}."
  num_enough = len(indices) - plan.duplicated_ensembles()
  return "{} build the ensembles; {} enough.".format(
      workers, "one is" if num_enough == 1 else f"{num_enough:,} are")


def _fix_text(key, value):
  if key == "num_workers":
    return messages.count(value - 1, "worker") + " beside the chief"
  if key == "num_ps":
    return messages.count(value, "parameter server")
  return messages.shorten(value)


def describe(plan: Predictions, worker_names: _Names = None,
             subnetwork_names: _Names = None) -> Tuple[Problem, ...]:
  """Returns the problems of a plan. See `PlacementPlan.problems`."""
  if worker_names is None:
    worker_names = wording.worker_names(plan.num_workers)
  by_kind = find(plan)
  fixes = _find_fixes(plan, by_kind) if by_kind else {}
  fix = ", or ".join(_fix_text(*item) for item in fixes.items())
  return tuple(
      Problem(kind, indices, "{} Fix: use {}.".format(_message(
          plan, kind, indices, worker_names, subnetwork_names), fix),
              dict(fixes))
      for kind, indices in by_kind.items())

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The problems of a placement, and their fixes."""

from typing import Dict, NamedTuple, Optional, Sequence, Tuple, Union

from adanet.console import wording
from adanet.distributed import _arguments
from adanet.distributed import placement
from adanet.distributed.plan import predictions as predictions_lib

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


def _named(noun, indices, names=None):
  plural = "" if len(indices) == 1 else "s"
  name = str if names is None else names.__getitem__
  return f"{noun}{plural} {indices.to_text(name)}"


class _Terms:
  """Names parts of a plan in messages, by index or by the user's names."""

  def __init__(self, worker_names, subnetwork_names):
    self._worker_names = worker_names
    self._subnetwork_names = subnetwork_names

  def subnetworks(self, noun, indices):
    return _named(noun, indices, self._subnetwork_names)

  def workers(self, noun, indices):
    return _named(noun, indices, self._worker_names)

  def ps(self, noun, indices):
    return _named(noun, indices)

  def fix(self, key, value):
    return f"{key}={value}"


class _TaskTerms(_Terms):
  """Names parts in the terms of a TF_CONFIG, which counts without the chief."""

  def workers(self, noun, indices):
    return wording.workers_text(indices, self._worker_names)

  def ps(self, noun, indices):
    return indices.to_text(wording.ps_name)

  def fix(self, key, value):
    if key == "num_ps":
      return wording.count(value, "parameter server")
    return wording.count(value - 1, "worker") + " beside the chief"


def _describe(plan, kind, indices, terms):
  """Returns a message about a problem."""
  is_one = len(indices) == 1
  if kind == "untrained_subnetworks":
    return f"No worker trains {terms.subnetworks('subnetwork', indices)}."
  if kind == "unused_ps":
    return f"No worker uses {terms.ps('parameter server', indices)}."
  if kind == "overloaded_ps":
    mean = f"{plan.load_per_ps().mean():.4g}"
    return "{} {} more than twice the mean load of {}.".format(
        terms.ps("Parameter server", indices), "serves" if is_one else "serve",
        wording.count(mean, "subnetwork") if plan.sizes is None else mean)
  if kind == "slow_ensembles":
    if not indices:
      return "No worker builds the ensembles."
    return "{} {} {:.4g} for a step of the ensembles, but the slowest " \
        "subnetwork takes {:.4g}.".format(
            terms.workers("Worker", indices), "takes" if is_one else "take",
            1 / plan.ensemble_speed(), 1 / plan.effective_speeds().min())
  workers = terms.workers("Worker", indices)
  if kind == "overloaded_workers":
    return "{} {} more than twice the median {}.".format(
        workers, "trains" if is_one else "train",
        "of " + wording.count(f"{_median_work(plan):g}", "subnetwork")
        if plan.costs is None else
        f"cost of {_median_work(plan):.4g}")
  num_enough = len(indices) - plan.duplicated_ensembles()
  return "{} build the ensembles; {} enough.".format(
      workers, "one is" if num_enough == 1 else f"{num_enough:,} are")


def _problems(plan, terms):
  """Returns the problems of a plan, with messages in some terms."""
  by_kind = find(plan)
  fixes = _find_fixes(plan, by_kind) if by_kind else {}
  fix = "Fix: use {}.".format(", or ".join(
      _arguments.shorten(value) if key == "strategy" else terms.fix(key, value)
      for key, value in fixes.items()))
  return tuple(
      Problem(kind, indices,
              f"{_describe(plan, kind, indices, terms)} {fix}", dict(fixes))
      for kind, indices in by_kind.items())


def describe(plan: Predictions, worker_names: _Names = None,
             subnetwork_names: _Names = None) -> Tuple[Problem, ...]:
  """Returns the problems of a plan. See `PlacementPlan.problems`."""
  return _problems(plan, _Terms(worker_names, subnetwork_names))


def of_tasks(plan: Predictions, worker_names: _Names = None,
             subnetwork_names: _Names = None) -> Tuple[Problem, ...]:
  """Returns the problems of a plan, with messages in the terms of a TF_CONFIG.

  Without `worker_names`, workers are "chief:0", "worker:0" and so on.
  """
  if worker_names is None:
    worker_names = wording.worker_names(plan.num_workers)
  return _problems(plan, _TaskTerms(worker_names, subnetwork_names))

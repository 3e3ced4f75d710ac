# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a placement, and what fixes it."""

import typing

from adanet.distributed import placement
from adanet.distributed.plan import indices as indices_lib
from adanet.distributed.plan import predictions as predictions_lib

import numpy as np

Indices = indices_lib.Indices
Predictions = predictions_lib.Predictions

#: The kinds of `Problem`, in the order of `PlacementPlan.problems`.
PROBLEM_KINDS = ("untrained_subnetworks", "unused_ps", "overloaded_ps",
                 "overloaded_workers", "duplicated_ensembles")

# From the kind of each problem that a plan has to what it is about.
_Found = typing.Dict[str, Indices]


class Problem(typing.NamedTuple):
  """Something that is wrong with a placement.

  Attributes:
    kind: one of `PROBLEM_KINDS`.
    indices: subnetworks for "untrained_subnetworks", parameter servers for
      "unused_ps" and "overloaded_ps", workers for "overloaded_workers" and
      "duplicated_ensembles".
    message: what is wrong, with the indices, and how to fix it.
    fixes: single changes after which the plan has no problem of this kind:
      "num_workers" or "num_ps" to an int, "strategy" to the `repr` of one.
  """
  kind: str
  indices: Indices
  message: str
  fixes: typing.Dict[str, typing.Union[int, str]]


def _mean_load(plan):
  return plan.load_per_ps().sum() / plan.num_ps


def _median_trained(plan):
  """Returns the median of `trained_per_worker`, of the workers that train."""
  trained = np.array([g.num_trained for g in plan.worker_groups])
  num_workers = np.array([len(g.workers) for g in plan.worker_groups])
  order = np.argsort(trained)
  order = order[trained[order] > 0]
  ends = np.cumsum(num_workers[order])
  if not ends.size:
    return 0.
  middle = [(ends[-1] - 1) // 2, ends[-1] // 2]
  return trained[order[np.searchsorted(ends, middle, side="right")]].mean()


def find(plan: Predictions) -> _Found:
  """Returns what each problem of a plan is about, by its kind."""
  groups = plan.worker_groups
  num_trained_limit = 2 * _median_trained(plan)
  ensembles = Indices.union(g.workers for g in groups if g.builds_ensemble)
  found = {
      "untrained_subnetworks":
          Indices(np.flatnonzero(plan.trainers_per_subnetwork() == 0)),
      "overloaded_workers":
          Indices.union(
              g.workers for g in groups if g.num_trained > num_trained_limit),
      "duplicated_ensembles":
          ensembles if len(ensembles) > 1 else Indices(),
  }
  load = plan.load_per_ps()
  if plan.num_ps and load is not None:
    found["unused_ps"] = Indices(np.flatnonzero(plan.fetches_per_ps() == 0))
    # Rounding may lift a load of exactly twice the mean above it.
    found["overloaded_ps"] = Indices(
        np.flatnonzero(load > 2 * _mean_load(plan) + 1e-9))
  return {kind: found[kind] for kind in PROBLEM_KINDS if found.get(kind)}


class _Change(typing.NamedTuple):
  """A change of a plan, and the problems that remain after it."""
  key: str  # As in `Problem.fixes`.
  value: typing.Union[int, str]
  remaining: _Found


def _try(plan, found, key, value):
  """Returns a `_Change` of a plan; None if it does not help.

  Args:
    plan: `Predictions`.
    found: what `find` returns for it.
    key: str, as in `Problem.fixes`.
    value: int, or a strategy.
  """
  try:
    changed = plan.changed(**{key: value})
  except (Exception, SystemExit):  # pylint: disable=broad-except
    return None  # A strategy may refuse another cluster.
  if plan.load_per_ps() is not None and changed.load_per_ps() is None:
    return None
  remaining = find(changed)
  if "untrained_subnetworks" in remaining:
    return None
  if "untrained_subnetworks" not in found:
    if found.keys() <= remaining.keys() or any(
        kind not in found or len(indices) > len(found[kind])
        for kind, indices in remaining.items()):
      return None
  return _Change(
      key, value if isinstance(value, int) else repr(value), remaining)


def _try_more(plan, found, key, period):
  """Returns the `_Change` to the least larger number that helps, or None.

  Args:
    plan: `Predictions`.
    found: what `find` returns for it.
    key: str, "num_workers" or "num_ps".
    period: int. The next multiple of it is tried. If that helps, bisection
      finds a smaller number after which no other problem remains.
  """
  low = getattr(plan, key)
  high = low - low % period + period
  best = _try(plan, found, key, high)
  while best and high - low > 1:
    middle = (low + high) // 2
    change = _try(plan, found, key, middle)
    if change and change.remaining.keys() <= best.remaining.keys():
      best, high = change, middle
    else:
      low = middle
  return best


def _choose_changes(plan, found):
  """Returns list of `_Change`, by the rules in `PlacementPlan.problems`."""
  k = plan.num_subnetworks
  tried = [_try_more(plan, found, "num_workers", k + 1)]
  if "unused_ps" in found or "overloaded_ps" in found:
    tried.append(_try_more(plan, found, "num_ps", k))
  tried += [_try(plan, found, "strategy", strategy)
            for strategy in (placement.RoundRobinStrategy(),
                             placement.ReplicationStrategy())]
  changes = [change for change in tried if change]
  num_used = plan.num_ps - len(found.get("unused_ps", ()))
  if 0 < num_used < plan.num_ps and not any(
      c.key == "num_ps" or "unused_ps" not in c.remaining for c in changes):
    fewer = _try(plan, found, "num_ps", num_used)
    changes += [fewer] if fewer else []
  chosen = {}
  for change in changes:
    if not any(c.remaining.keys() < change.remaining.keys() for c in changes):
      chosen.setdefault(change.key, change)
  return list(chosen.values())


def _count(number, noun):
  return "{:.4g} {}{}".format(number, noun, "" if number == 1 else "s")


def _describe(plan, kind, indices, worker_names, subnetwork_names):
  """Returns a sentence about what is wrong."""
  def name(noun, names=None):
    return "{}{} {}".format(
        noun, "" if len(indices) == 1 else "s",
        indices.to_text(str if names is None else names.__getitem__))

  s = "s" if len(indices) == 1 else ""
  if kind == "untrained_subnetworks":
    return "No worker trains {}.".format(name("subnetwork", subnetwork_names))
  if kind == "unused_ps":
    return "No worker uses {}.".format(name("parameter server"))
  if kind == "overloaded_ps":
    return "{} serve{} more than twice the mean load of {}.".format(
        name("Parameter server"), s, _count(_mean_load(plan), "subnetwork"))
  if kind == "overloaded_workers":
    return "{} train{} more than twice the median of {}.".format(
        name("Worker", worker_names), s,
        _count(_median_trained(plan), "subnetwork"))
  return "{} build the ensemble; one is enough.".format(
      name("Worker", worker_names))


def _describe_fixes(fixes):
  """Returns a sentence about what to change."""
  if not fixes:
    return "No other cluster size or strategy that was tried fixes this."
  nouns = {"num_workers": "worker", "num_ps": "parameter server"}
  return "Fix: use {}.".format(", or ".join(
      _count(value, nouns[key]) if key in nouns else value
      for key, value in fixes.items()))


def describe(
    plan: Predictions,
    worker_names: typing.Optional[typing.Sequence[str]] = None,
    subnetwork_names: typing.Optional[typing.Sequence[str]] = None
) -> typing.Tuple[Problem, ...]:
  """Returns the problems of a plan; see `PlacementPlan.problems`."""
  found = find(plan)
  changes = _choose_changes(plan, found) if found else []
  problems = []
  for kind, indices in found.items():
    fixes = {c.key: c.value for c in changes if kind not in c.remaining}
    message = "{} {}".format(
        _describe(plan, kind, indices, worker_names, subnetwork_names),
        _describe_fixes(fixes))
    problems.append(Problem(kind, indices, message, fixes))
  return tuple(problems)

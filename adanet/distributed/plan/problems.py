# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a placement, and what fixes it."""

import collections
import typing

from adanet.distributed import _arguments
from adanet.distributed import placement
from adanet.distributed.plan import indices as indices_lib
from adanet.distributed.plan import predictions as predictions_lib

import numpy as np

Indices = indices_lib.Indices
Predictions = predictions_lib.Predictions

#: The kinds of `Problem`, in the order of `PlacementPlan.problems`.
PROBLEM_KINDS = ("untrained_subnetworks", "unused_ps", "overloaded_ps",
                 "overloaded_workers", "duplicated_ensembles")

# Rounding may lift what is exactly twice the mean above it.
_LIMIT = 2 * (1 + 1e-9)
_PS_KINDS = {"unused_ps", "overloaded_ps"}

# Maps the kind of each problem to its indices.
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


def _median_work(plan):
  """Returns the median of `Predictions.work`, of the workers in lockstep."""
  num_workers = collections.Counter()
  for (_, workers), work in zip(plan.shares, plan.work.tolist()):
    num_workers[work] += sum(map(len, workers))
  del num_workers[0]
  if not num_workers:
    return 0.
  amounts = sorted(num_workers)
  ends = np.cumsum([num_workers[amount] for amount in amounts])
  middle = [(ends[-1] - 1) // 2, ends[-1] // 2]
  return np.mean(np.take(amounts, np.searchsorted(ends, middle, "right")))


def _workers(plan, is_meant):
  """Returns `Indices` of the workers that have some of the shares.

  Args:
    plan: `Predictions`.
    is_meant: bool for each of its shares.
  """
  return Indices.union(
      Indices(part) for (_, workers), is_one in zip(plan.shares, is_meant)
      if is_one for part in workers)


def find(plan: Predictions) -> _Found:
  """Returns what each problem of a plan is about, by its kind."""
  found = {"untrained_subnetworks": Indices(
      np.flatnonzero(plan.trainers_per_subnetwork() == 0))}
  load = plan.load_per_ps()
  if plan.num_ps and load is not None:
    found["unused_ps"] = Indices(np.flatnonzero(plan.fetches_per_ps() == 0))
    found["overloaded_ps"] = Indices(
        np.flatnonzero(load > _LIMIT * load.mean()))
  found["overloaded_workers"] = _workers(
      plan, plan.work > _LIMIT * _median_work(plan))
  if plan.duplicated_ensembles():
    found["duplicated_ensembles"] = _workers(
        plan, [share.builds_ensemble for share, _ in plan.shares])
  return {kind: indices for kind, indices in found.items() if indices}


class _Change(typing.NamedTuple):
  """A change of a plan, and the problems that remain after it."""
  key: str  # As in `Problem.fixes`.
  value: typing.Union[int, str]
  remaining: _Found


def _try(plan, found, key, value, with_ps=True):
  """Returns a `_Change` of a plan; None if it does not help.

  Args:
    plan: `Predictions`.
    found: what `find` returns for it.
    key: str, as in `Problem.fixes`.
    value: int, or a strategy.
    with_ps: bool, whether to look for problems of parameter servers too.
  """
  try:
    changed = plan.changed(with_ps=with_ps, **{key: value})
  except (Exception, SystemExit):  # pylint: disable=broad-except
    return None  # A strategy may refuse another cluster.
  if _PS_KINDS & found.keys() and changed.load_per_ps() is None:
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
      finds the least number after which no other problem remains.
  """
  low = getattr(plan, key)
  high = low - low % period + period
  # To be fast, bisection looks at parameter servers only if they have problems.
  with_ps = bool(_PS_KINDS & found.keys())
  best = _try(plan, found, key, high)
  while best and high - low > 1:
    middle = (low + high) // 2
    change = _try(plan, found, key, middle, with_ps)
    if change and change.remaining.keys() <= best.remaining.keys():
      high = middle
    else:
      low = middle
  least = best and _try(plan, found, key, high)
  return least if (
      least and least.remaining.keys() <= best.remaining.keys()) else best


def _choose_changes(plan, found):
  """Returns list of `_Change` by the rules in `PlacementPlan.problems`."""
  k = plan.num_subnetworks
  tried = [_try_more(plan, found, "num_workers", k + 1)]
  if _PS_KINDS & found.keys():
    tried.append(_try_more(plan, found, "num_ps", k))
  tried += [_try(plan, found, "strategy", strategy)
            for strategy in (
                placement.BalancedStrategy(plan.costs, plan.sizes),
                placement.RoundRobinStrategy(), placement.ReplicationStrategy())
            if repr(strategy) != plan.strategy]
  changes = [change for change in tried if change]
  num_used = plan.num_ps - len(found.get("unused_ps", ()))
  if 0 < num_used < plan.num_ps and not any(
      c.key == "num_ps" or "unused_ps" not in c.remaining for c in changes):
    fewer = _try(plan, found, "num_ps", num_used)
    if fewer and "unused_ps" not in fewer.remaining:
      changes.append(fewer)
  chosen = {}
  for change in changes:
    if not any(c.remaining.keys() < change.remaining.keys() for c in changes):
      chosen.setdefault(change.key, change)
  return list(chosen.values())


def _count(number, noun):
  return "{} {}{}".format(number, noun, "" if str(number) == "1" else "s")


def _describe(plan, kind, indices, worker_names, subnetwork_names):
  """Returns a message about what is wrong."""
  is_one = len(indices) == 1

  def name(noun, names=None):
    return "{}{} {}".format(
        noun, "" if is_one else "s",
        indices.to_text(str if names is None else names.__getitem__))

  if kind == "untrained_subnetworks":
    return "No worker trains {}.".format(name("subnetwork", subnetwork_names))
  if kind == "unused_ps":
    return "No worker uses {}.".format(name("parameter server"))
  if kind == "overloaded_ps":
    mean = "{:.4g}".format(plan.load_per_ps().mean())
    return "{} {} more than twice the mean load of {}.".format(
        name("Parameter server"), "serves" if is_one else "serve",
        _count(mean, "subnetwork") if plan.sizes is None else mean)
  workers = name("Worker", worker_names)
  if kind == "overloaded_workers":
    return "{} {} more than twice the median {}.".format(
        workers, "trains" if is_one else "train",
        "of " + _count("{:g}".format(_median_work(plan)), "subnetwork")
        if plan.costs is None else
        "cost of {:.4g}".format(_median_work(plan)))
  return workers + " build the ensemble; one is enough."


def _describe_fixes(fixes):
  """Returns a message about what to change."""
  if not fixes:
    return "No fix found."
  nouns = {"num_workers": "worker", "num_ps": "parameter server"}
  return "Fix: use {}.".format(", or ".join(
      _count(value, nouns[key]) if key in nouns else _arguments.shorten(value)
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
    if len(fixes) > 1 and fixes.get("num_ps", plan.num_ps) < plan.num_ps:
      del fixes["num_ps"]
    message = "{} {}".format(
        _describe(plan, kind, indices, worker_names, subnetwork_names),
        _describe_fixes(fixes))
    problems.append(Problem(kind, indices, message, fixes))
  return tuple(problems)

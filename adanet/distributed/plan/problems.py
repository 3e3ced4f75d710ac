# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a placement, and what fixes it."""

import collections
import typing

from adanet.distributed import _arguments
from adanet.distributed import indices as indices_lib
from adanet.distributed import placement
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
    fixes: single changes after which the plan has no problem: "num_workers" or
      "num_ps" to an int, "strategy" to the `repr` of one.
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


def _is_fixed(plan, key, value, with_ps):
  """Returns whether a plan has no problem with another number.

  Args:
    plan: `Predictions`.
    key: str, "num_workers" or "num_ps".
    value: int.
    with_ps: bool, whether to look for problems of parameter servers too.
  """
  try:
    changed = plan.changed(with_ps=with_ps, **{key: value})
  except (Exception, SystemExit):  # pylint: disable=broad-except
    return False  # A strategy may refuse another cluster.
  if with_ps and changed.num_ps and changed.load_per_ps() is None:
    return False
  return not find(changed)


def _least_fix(plan, found, key, period):
  """Returns the least larger number after which no problem remains, or None.

  Args:
    plan: `Predictions`.
    found: what `find` returns for it.
    key: str, "num_workers" or "num_ps".
    period: int. The next multiple of it is tried. If that helps, bisection
      finds the least number.
  """
  # To be fast, bisection looks at parameter servers only if they have problems.
  with_ps = bool(_PS_KINDS & found.keys())
  low = getattr(plan, key)
  most = high = low - low % period + period
  knows_ps = plan.load_per_ps() is not None
  if not _is_fixed(plan, key, high, knows_ps):
    return None
  while high - low > 1:
    middle = (low + high) // 2
    if _is_fixed(plan, key, middle, with_ps):
      high = middle
    else:
      low = middle
  return high if _is_fixed(plan, key, high, knows_ps) else most


def _find_fixes(plan, found):
  """Returns the fixes, by the rules in `PlacementPlan.problems`."""
  k = plan.num_subnetworks
  fixes = {"num_workers": _least_fix(plan, found, "num_workers", k + 1)}
  if _PS_KINDS & found.keys():
    fixes["num_ps"] = _least_fix(plan, found, "num_ps", k)
  # It has none of these problems, whatever the cluster.
  fixes["strategy"] = repr(
      placement.BalancedStrategy(plan.costs, plan.sizes))
  return {key: value for key, value in fixes.items() if value is not None}


def _count(number, noun):
  return f"{number} {noun}{'' if str(number) == '1' else 's'}"


def _describe(plan, kind, indices, worker_names, subnetwork_names):
  """Returns a message about what is wrong."""
  is_one = len(indices) == 1

  def name(noun, names=None):
    return "{}{} {}".format(
        noun, "" if is_one else "s",
        indices.to_text(str if names is None else names.__getitem__))

  if kind == "untrained_subnetworks":
    return f"No worker trains {name('subnetwork', subnetwork_names)}."
  if kind == "unused_ps":
    return f"No worker uses {name('parameter server')}."
  if kind == "overloaded_ps":
    mean = f"{plan.load_per_ps().mean():.4g}"
    return "{} {} more than twice the mean load of {}.".format(
        name("Parameter server"), "serves" if is_one else "serve",
        _count(mean, "subnetwork") if plan.sizes is None else mean)
  workers = name("Worker", worker_names)
  if kind == "overloaded_workers":
    return "{} {} more than twice the median {}.".format(
        workers, "trains" if is_one else "train",
        "of " + _count(f"{_median_work(plan):g}", "subnetwork")
        if plan.costs is None else
        f"cost of {_median_work(plan):.4g}")
  return workers + " build the ensemble; one is enough."


def _describe_fixes(fixes):
  """Returns a message about what to change."""
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
  fixes = _find_fixes(plan, found) if found else {}
  return tuple(
      Problem(kind, indices, "{} {}".format(
          _describe(plan, kind, indices, worker_names, subnetwork_names),
          _describe_fixes(fixes)), dict(fixes))
      for kind, indices in found.items())

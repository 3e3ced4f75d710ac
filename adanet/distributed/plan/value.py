# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The placement of one iteration on a whole cluster, as a value.

A `PlacementPlan` holds the answers of a strategy to every worker, and their
consequences: how fast each subnetwork is trained, how busy each parameter
server is, and the problems. It starts no worker and needs no TensorFlow::

    plan = PlacementPlan(
        RoundRobinStrategy(), num_workers=7, num_ps=2, num_subnetworks=6)
    print(plan.subnetwork(0).trainers)  # 1
    print(plan.training_time())         # 1.0
    for problem in plan.problems():
      print(problem.message)

Workers that do the same form one group; so do subnetworks, and parameter
servers. `predictions.py` explains the letters m, n, k.
"""

import collections.abc
import fractions
import itertools
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple, Union

from adanet.console import wording
from adanet.distributed import _arguments
from adanet.distributed import placement
from adanet.distributed import wrap_around
from adanet.distributed.plan import groups as groups_lib
from adanet.distributed.plan import predictions
from adanet.distributed.plan import problems as problems_lib

#: The version of the JSON that `PlacementPlan.to_json_dict` returns.
JSON_VERSION = 1

Indices = wording.Indices
Names = Optional[Sequence[str]]


def _weights(name, given, strategy, num_subnetworks):
  """Returns costs or sizes as a tuple, after checking them; None if all are 1.

  A strategy may know its own.
  """
  if given is None:
    if not isinstance(strategy, placement.BalancedStrategy):
      return None
    given = (strategy.costs_of if name == "costs" else strategy.sizes_of)(
        num_subnetworks)
    if set(given) == {1}:
      return None
  return _arguments.check_weights_of_plan(name, given, num_subnetworks)


def _ensemble_cost(given, strategy, num_subnetworks, costs, has_other_costs):
  """Returns the cost of a step of all ensembles, after checking it.

  A strategy may know its own, for its costs.
  """
  implied = predictions.implied_ensemble_cost(num_subnetworks, costs)
  if given is None:
    if not isinstance(strategy, placement.BalancedStrategy) or (
        has_other_costs and strategy.work.ensembles is None):
      return implied
    given = strategy.ensemble_cost_of(num_subnetworks)
    if given == implied:
      return implied
  expected = f"None, 0, or a number {_arguments.RANGE}"
  checked = _arguments.check_weight(
      "ensemble_cost", given, expected, may_be_zero=True)
  if checked and not _arguments.LEAST <= checked <= _arguments.MOST:
    raise ValueError(
        f"ensemble_cost={_arguments.show(given)}: expected {expected}.")
  return checked


class PlacementPlan(predictions.Predictions):
  """The work of each worker, and the variables of each parameter server.

  Two plans are equal if the `repr` of their strategies, the numbers of their
  clusters, all costs and sizes, and their groups are equal.

  A strategy is asked as each worker, m (k + 2) questions or more. So a plan is
  for at most 20,000 workers, and 10 million pairs of a worker and a subnetwork.

  Attributes:
    strategy: str, the `repr` of the strategy.
    num_workers, num_ps, num_subnetworks: int, m, n and k.
    costs: tuple of k numbers, the cost of a step of each subnetwork; None if
      all are 1.
    sizes: tuple of k numbers, how large the variables of each subnetwork are;
      None if all are 1.
    ensemble_cost: number, the cost of a step of all ensembles.
    worker_groups: tuple of `WorkerGroup`, by their first worker.
    subnetwork_groups: tuple of `SubnetworkGroup`, by their first subnetwork.
    ps_groups: tuple of `PsGroup`, by their first parameter server. None if
      there are parameter servers and the strategy does not say their contents
      (`subnetwork_parameter_servers`).
  """

  def __init__(self, strategy: placement.PlacementStrategy, num_workers: int,
               num_ps: int, num_subnetworks: int,
               costs: predictions.Numbers = None,
               sizes: predictions.Numbers = None,
               ensemble_cost: Optional[wrap_around.Number] = None):
    """Makes the plan of one iteration.

    Args:
      strategy: a `PlacementStrategy`. It does not change: a deep copy is asked
        as each worker, see `PlacementStrategy.as_workers`.
      num_workers: int, at least 1 and at most 20,000, m.
      num_ps: int, at least 0, n.
      num_subnetworks: int, at least 1, k; m k is at most 10 million.
      costs: sequence of k numbers from 1e-100 to 1e100, the cost of a step of
        each subnetwork, in any unit. The predictions are made with these. None
        for the costs that a `BalancedStrategy` knows; else all are 1.
      sizes: the same for the memory of each subnetwork's variables.
      ensemble_cost: number from 1e-100 to 1e100, the cost of a step of all
        ensembles, in their unit; 0 with fitted ensemblers, which take part in
        no step. None for that of a `BalancedStrategy`, unless it follows from
        other costs than these; for any other strategy a third of the sum of the
        costs, because ensembles run the subnetworks forward.

    Raises:
      TypeError: an argument has a wrong type.
      ValueError: a number is out of range, there are not k of them, or the
        strategy named a parameter server that the cluster does not have.
    """
    if not isinstance(strategy, placement.PlacementStrategy):
      raise TypeError(
          f"strategy={_arguments.show(strategy)}: expected an instance of "
          "PlacementStrategy, such as RoundRobinStrategy().")
    num_subnetworks = _arguments.check_num_subnetworks(num_subnetworks)
    num_workers = _arguments.check_integer("num_workers", num_workers, 1)
    _arguments.check_cluster(num_workers, num_subnetworks)
    plan_costs = _weights("costs", costs, strategy, num_subnetworks)
    # The plan keeps a copy, because the caller may change the strategy.
    super().__init__(
        strategy.with_config(None), num_workers,
        _arguments.check_integer("num_ps", num_ps, 0), num_subnetworks,
        plan_costs,
        _weights("sizes", sizes, strategy, num_subnetworks),
        _ensemble_cost(
            ensemble_cost, strategy, num_subnetworks, plan_costs,
            has_other_costs=costs is not None))
    training = self._training
    rows = zip(*(figures.tolist() for figures in (
        training.num_builders, training.num_trainers, self._rows,
        training.speeds,
        training.stale_gradients, training.max_staleness)))
    self.subnetwork_groups = tuple(
        groups_lib.SubnetworkGroup(subnetworks, *row)
        for row, subnetworks in wording.places_of(rows).items())
    self.ps_groups = self._group_ps()
    self._group_of_ps = {p: g for g in self.ps_groups or () for p in g.ps}

  def _group_ps(self):
    if self._ps_of_subnetworks is None:
      return None
    parts = [[] for _ in range(self.num_ps)]
    for number, (all_ps, _) in enumerate(self._subnetworks_on):
      for p in all_ps:
        parts[p].append(number)
    return tuple(
        groups_lib.PsGroup(
            ps, Indices(itertools.chain.from_iterable(
                self._subnetworks_on[number][1] for number in numbers)),
            int(self._fetches[ps[0]]), float(self._load[ps[0]]))
        for numbers, ps in wording.places_of(map(tuple, parts)).items())

  def __eq__(self, other):
    if not isinstance(other, PlacementPlan):
      return NotImplemented
    return _key(self) == _key(other)

  def __hash__(self):
    return hash(_key(self))

  def __repr__(self):
    arguments = [self.strategy] + [
        f"{name}={getattr(self, name)}"
        for name in ("num_workers", "num_ps", "num_subnetworks")]
    arguments += [
        f"{name}={getattr(self, name)}"
        for name in ("costs", "sizes") if getattr(self, name) is not None]
    if self.own_ensemble_cost is not None:
      arguments.append(f"ensemble_cost={self.ensemble_cost}")
    return f"PlacementPlan({', '.join(arguments)})"

  def worker(self, worker_index: int) -> groups_lib.WorkerGroup:
    """Returns the `WorkerGroup` that a worker is in.

    Args:
      worker_index: int in [0, m).

    Raises:
      TypeError: the index is not an integer.
      ValueError: the index is out of range.
    """
    worker_index = _arguments.check_integer(
        "worker_index", worker_index, 0, self.num_workers)
    return self.worker_groups[self._group_of_worker[worker_index]]

  def subnetwork(self, subnetwork_index: int) -> groups_lib.PlacedSubnetwork:
    """Returns the subnetwork of an index in [0, k); raises as `worker`."""
    i = _arguments.check_integer(
        "subnetwork_index", subnetwork_index, 0, self.num_subnetworks)
    ps = self._ps_of_subnetworks
    return groups_lib.PlacedSubnetwork(
        trainers=Indices(w for group in self.worker_groups if i in group.trained
                         for w in group.workers),
        effective_speed=float(self._training.speeds[i]),
        ps=None if ps is None else ps[i])

  def parameter_server(self, ps_index: int) -> Optional[groups_lib.PsGroup]:
    """Returns the `PsGroup` of an index in [0, n); None if it is not known.

    Raises:
      TypeError, ValueError: as for `worker`.
    """
    p = _arguments.check_integer("ps_index", ps_index, 0, self.num_ps)
    return self._group_of_ps.get(p)

  def figures(self) -> Dict[str, Union[int, float, None]]:
    """The predictions as single numbers, to compare plans by.

    Returns:
      Dict with these keys. `training_time` is None if training never ends. The
      values of parameter servers are None if the strategy does not say what
      these hold.

      * max_subnetworks_per_worker, mean_subnetworks_per_worker, min_trainers,
        min_effective_speed, max_stale_gradients, max_staleness,
        max_fetches_per_ps, max_load_per_ps: the maximum, mean or minimum of
        the method's values. Without parameter servers the last two are 0.
      * ensemble_speed: as the method returns.
      * training_time: of one step.
      * fetches: the sum of `fetches_per_ps`.
      * duplicated_ensembles, wasted_training: as the methods return.
      * num_problems: the number of `problems`.
    """
    fetches = max_fetches = max_load = None
    if self.ps_groups is not None:
      # Python's integers, because the sum may need more than 64 bits.
      fetches = sum(g.fetches * len(g.ps) for g in self.ps_groups)
      max_fetches = max([0] + [g.fetches for g in self.ps_groups])
      max_load = max([0.] + [g.load for g in self.ps_groups])
    num_built = sum(
        len(g.subnetworks) * len(g.workers) for g in self.worker_groups)
    return {
        "max_subnetworks_per_worker":
            max(len(g.subnetworks) for g in self.worker_groups),
        "mean_subnetworks_per_worker": num_built / self.num_workers,
        "min_trainers": int(self._training.num_trainers.min()),
        "min_effective_speed": float(self._training.speeds.min()),
        "ensemble_speed": self.ensemble_speed(),
        "training_time":
            self.training_time() if self.trains_everything else None,
        "max_stale_gradients": float(self._training.stale_gradients.max()),
        "max_staleness": float(self._training.max_staleness.max()),
        "fetches": fetches,
        "max_fetches_per_ps": max_fetches,
        "max_load_per_ps": max_load,
        "duplicated_ensembles": self.duplicated_ensembles(),
        "wasted_training": self.wasted_training(),
        "num_problems": len(problems_lib.find(self)),
    }

  def problems(
      self, worker_names: Names = None, subnetwork_names: Names = None
  ) -> Tuple[problems_lib.Problem, ...]:
    """Returns the problems of the plan, in the order of `PROBLEM_KINDS`.

    * untrained_subnetworks: no worker trains them, so training never ends.
    * unused_ps: no worker reads from them.
    * overloaded_ps: their load is more than twice the mean of `load_per_ps`.
    * overloaded_workers: the subnetworks that they train cost more together
      than twice the median of the workers that train. Workers that divide their
      time by fractions are left out: these say how much work they have.
    * slow_ensembles: the workers that build the ensembles, if a step of these
      takes more than 1 % longer than one of the slowest subnetwork. Then the
      subnetworks wait for them.
    * duplicated_ensembles: the workers that build the ensembles, if there are
      more than these need; see the method.

    If the variables of parameter servers are not known, they have no problem.

    A fix is one change after which no problem remains, of any kind. There are
    up to three, the same for all problems:

    * `BalancedStrategy` with the costs and sizes of this plan, and
      `ensemble_cost` if it is not a third of the costs. It never has one of
      these problems.
    * The least number of more workers, if up to a whole round of k + 1 more
      help, and a plan with them is possible.
    * The least number of more parameter servers, if these have a problem and
      the next multiple of k helps.

    Args:
      worker_names: sequence of str, the name of each worker in messages; None
        for its index.
      subnetwork_names: sequence of str, the name of each subnetwork in
        messages; None for its index.
    """
    return problems_lib.describe(self, worker_names, subnetwork_names)

  def to_json_dict(self) -> Dict[str, Any]:
    """Returns the plan as a value for `json.dumps`, the same for equal plans.

    A set of indices is a list of [start, stop, step], each as in Python's
    `range`, in increasing order. No list grows with the number of workers.

    Returns:
      Dict with "version" (`JSON_VERSION`, which changes when a key is removed or
      means something else, but not when one is added) and the keys below, in
      this order. A group or a problem is a dict with its attributes as keys.
    """
    value = {"version": JSON_VERSION}
    for name in ("strategy",) + _SHAPE + (
        "worker_groups", "subnetwork_groups", "ps_groups"):
      value[name] = _to_json(getattr(self, name))
    return dict(value, figures=self.figures(),
                problems=_to_json(self.problems()))


_SHAPE = ("num_workers", "num_ps", "num_subnetworks", "costs", "sizes",
          "ensemble_cost")


def _shape(plan):
  return tuple(getattr(plan, name) for name in _SHAPE)


def _key(plan):
  return plan.strategy, _shape(plan), plan.worker_groups, plan.ps_groups


def _to_json(value):
  """Returns a value of a plan as one for `json.dumps`."""
  if isinstance(value, Indices):
    return value.to_json()
  if isinstance(value, fractions.Fraction):
    return float(value)
  if hasattr(value, "_fields"):  # A NamedTuple.
    return dict(zip(value._fields, map(_to_json, value)))
  return list(map(_to_json, value)) if isinstance(value, tuple) else value


def check_plans(plans: Iterable[PlacementPlan]) -> Tuple[PlacementPlan, ...]:
  """Returns plans as a tuple, after checking that they are plans."""
  if isinstance(plans, collections.abc.Iterable):
    plans = tuple(plans)
    if not plans:
      raise ValueError("plans=(): expected at least one PlacementPlan.")
    if all(isinstance(plan, PlacementPlan) for plan in plans):
      return plans
  raise TypeError(f"plans={_arguments.show(plans)}: expected an iterable of "
                  "PlacementPlan.")


def alike(plans: Iterable[PlacementPlan]) -> List[List[int]]:
  """Groups plans of the same shape and costs that place everything alike.

  Returns:
    Lists of the plans' positions in `plans`, by their first plan. A plan with
    unknown parameter servers is alone.
  """
  groups: Dict[tuple, List[int]] = {}
  for number, plan in enumerate(plans):
    ps = number if plan.ps_groups is None else plan.ps_groups
    groups.setdefault(
        (_shape(plan), plan.worker_groups, ps), []).append(number)
  return list(groups.values())


def compare(plans: Iterable[PlacementPlan]
           ) -> Dict[str, Tuple[Any, ...]]:
  """Puts the figures of plans side by side.

  Args:
    plans: iterable of `PlacementPlan`, at least one, of any shapes.

  Returns:
    Dict from str to tuple with one value for each plan. The keys are
    "strategy", "num_workers", "num_ps", "num_subnetworks", "costs", "sizes",
    "ensemble_cost", and the keys of `PlacementPlan.figures`, in this order.

  Raises:
    TypeError: `plans` is not an iterable of `PlacementPlan`.
    ValueError: there is no plan.
  """
  plans = check_plans(plans)
  columns = [
      dict([(name, _to_json(getattr(plan, name)))
            for name in ("strategy",) + _SHAPE], **plan.figures())
      for plan in plans]
  return {name: tuple(c[name] for c in columns) for name in columns[0]}

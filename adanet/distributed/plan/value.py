# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The placement of an iteration on a whole cluster, as a value.

A `PlacementPlan` holds the decisions of a strategy for all workers and the
consequences: the training speed of each subnetwork, the load of each parameter
server, and the problems. A plan starts no worker and needs no TensorFlow.

Workers with the same work form a group; likewise subnetworks and parameter
servers. `predictions.py` explains the letters m, n, k.
"""

import collections.abc
import fractions
import itertools
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple, Union

from adanet import checks
from adanet.console import wording
from adanet.distributed import _arguments
from adanet.distributed import placement
from adanet.distributed import weights
from adanet.distributed.plan import groups as groups_lib
from adanet.distributed.plan import predictions
from adanet.distributed.plan import problems as problems_lib
from adanet import messages

#: The version of the JSON that `PlacementPlan.to_json_dict` returns.
JSON_VERSION = 1

Indices = wording.Indices
Names = Optional[Sequence[str]]


def _weights(name, numbers, strategy, num_subnetworks):
  """Returns the checked costs or sizes as a tuple; None if all are 1."""
  if numbers is None:
    if not isinstance(strategy, placement.BalancedStrategy):
      return None
    numbers = (strategy.costs_of if name == "costs" else strategy.sizes_of)(
        num_subnetworks)
    if set(numbers) == {1}:
      return None
  return _arguments.check_weights_of_plan(name, numbers, num_subnetworks)


def _ensemble_cost(cost, strategy, num_subnetworks, costs, has_other_costs):
  """Returns the checked cost of a step of all ensembles."""
  implied = predictions.implied_ensemble_cost(num_subnetworks, costs)
  if cost is None:
    if not isinstance(strategy, placement.BalancedStrategy) or (
        has_other_costs and strategy.work.ensembles is None):
      return implied
    cost = strategy.ensemble_cost_of(num_subnetworks)
    if cost == implied:
      return implied
  return _arguments.check_weight(
      "ensemble_cost", cost, f"None, 0, or a number {_arguments.RANGE}",
      may_be_zero=True, in_plan=True)


class PlacementPlan(predictions.Predictions):
  """The work of each worker, and the variables of each parameter server.

  For example::

      plan = PlacementPlan(
          RoundRobinStrategy(), num_workers=7, num_ps=2, num_subnetworks=6)
      print(plan.subnetwork(0).trainers)  # 1
      print(plan.training_time())         # 2.0
      for problem in plan.problems():
        print(problem.message)

  A plan calls the methods of the strategy at least m (k + 2) times. So a plan
  is limited to 20,000 workers and 10 million pairs of a worker and a
  subnetwork.

  Attributes:
    strategy: str, the `repr` of the strategy.
    num_workers, num_ps, num_subnetworks: int, m, n and k.
    costs: tuple of k numbers, the cost of a step of each subnetwork; None if
      all costs are 1.
    sizes: tuple of k numbers, the size of the variables of each subnetwork;
      None if all sizes are 1.
    ensemble_cost: number, the cost of a step of all ensembles.
    worker_groups: tuple of `WorkerGroup`, ordered by the first worker.
    subnetwork_groups: tuple of `SubnetworkGroup`, ordered by the first
      subnetwork.
    ps_groups: tuple of `PsGroup`, ordered by the first parameter server. None
      if the strategy does not know the contents of the parameter servers (see
      `subnetwork_parameter_servers`).
  """

  def __init__(self, strategy: placement.PlacementStrategy, num_workers: int,
               num_ps: int, num_subnetworks: int,
               costs: predictions.Numbers = None,
               sizes: predictions.Numbers = None,
               ensemble_cost: Optional[weights.Number] = None):
    """Makes the plan of an iteration.

    Args:
      strategy: a `PlacementStrategy`, which stays unchanged: the plan uses a
        deep copy as each worker, see `PlacementStrategy.as_workers`.
      num_workers: int, from 1 to 20,000, m.
      num_ps: int, at least 0, n.
      num_subnetworks: int, at least 1, k; m k is at most 10 million.
      costs: sequence of k numbers from 1e-100 to 1e100, the cost of a step of
        each subnetwork in any unit, for the predictions. None for the costs of
        a `BalancedStrategy`, and for costs of 1 with other strategies.
      sizes: the same for the memory of each subnetwork's variables.
      ensemble_cost: number from 1e-100 to 1e100, the cost of a step of all
        ensembles in the unit of `costs`; 0 with fitted ensemblers, which have
        no training step. None for the `ensemble_cost` of a `BalancedStrategy`
        if the cost applies to `costs`, and otherwise for a third of the sum of
        the costs, because ensembles run the subnetworks forward.

    Raises:
      TypeError: `strategy` is no `PlacementStrategy`, or an argument is no
        number or sequence of numbers.
      ValueError: a number is out of range, `costs` or `sizes` does not have k
        numbers, or the strategy returns a parameter server that the cluster
        does not have.
    """
    if not isinstance(strategy, placement.PlacementStrategy):
      raise TypeError(
          f"strategy={messages.describe(strategy)}: expected an instance of "
          "PlacementStrategy, such as RoundRobinStrategy().")
    num_subnetworks = _arguments.check_num_subnetworks(num_subnetworks)
    num_workers = checks.check_count("num_workers", num_workers)
    _arguments.check_cluster(num_workers, num_subnetworks)
    plan_costs = _weights("costs", costs, strategy, num_subnetworks)
    # A copy, because the caller may change the strategy.
    super().__init__(
        strategy.with_config(None), num_workers,
        checks.check_count("num_ps", num_ps, 0), num_subnetworks,
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
    """Returns the `WorkerGroup` of a worker.

    Args:
      worker_index: int in [0, m).

    Raises:
      TypeError: `worker_index` is not an integer.
      ValueError: `worker_index` is out of range.
    """
    worker_index = checks.check_count(
        "worker_index", worker_index, 0, self.num_workers)
    return self.worker_groups[self._group_of_worker[worker_index]]

  def subnetwork(self, subnetwork_index: int) -> groups_lib.PlacedSubnetwork:
    """Returns the subnetwork of an index in [0, k). Raises as `worker`."""
    i = checks.check_count(
        "subnetwork_index", subnetwork_index, 0, self.num_subnetworks)
    ps = self._ps_of_subnetworks
    return groups_lib.PlacedSubnetwork(
        trainers=Indices(w for group in self.worker_groups if i in group.trained
                         for w in group.workers),
        effective_speed=float(self._training.speeds[i]),
        ps=None if ps is None else ps[i])

  def parameter_server(self, ps_index: int) -> Optional[groups_lib.PsGroup]:
    """Returns the `PsGroup` of an index in [0, n); None for an unknown group.

    Raises:
      TypeError: `ps_index` is not an integer.
      ValueError: `ps_index` is out of range.
    """
    p = checks.check_count("ps_index", ps_index, 0, self.num_ps)
    return self._group_of_ps.get(p)

  def figures(self) -> Dict[str, Union[int, float, None]]:
    """The predictions as single numbers, for comparing plans.

    Returns:
      Dict with the following keys. `training_time` is None if training never
      ends. The values of parameter servers are None if the strategy does not
      know the contents of the parameter servers.

      * max_subnetworks_per_worker, mean_subnetworks_per_worker, min_trainers,
        min_effective_speed, max_stale_gradients, max_staleness,
        max_fetches_per_ps, max_load_per_ps: the maximum, mean or minimum of
        the method's values. Without parameter servers the last two are 0.
      * ensemble_speed: the value of the method.
      * training_time: the value for a single step.
      * fetches: the sum of `fetches_per_ps`.
      * duplicated_ensembles, wasted_training: the values of the methods.
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

    * untrained_subnetworks: subnetworks without a trainer, so training never
      ends.
    * unused_ps: parameter servers that no worker reads.
    * overloaded_ps: parameter servers with more than twice the mean of
      `load_per_ps`.
    * overloaded_workers: workers whose trained subnetworks cost more than twice
      the median of all training workers. Workers that divide their time by
      fractions are excluded, because the fractions specify their work.
    * slow_ensembles: the workers that build the ensembles, if a step of all
      ensembles takes more than 1 % longer than a step of the slowest
      subnetwork, so that the subnetworks wait for the ensembles.
    * duplicated_ensembles: the workers that build the ensembles, if the
      ensembles need fewer workers; see the method.

    Parameter servers with unknown variables have no problem.

    A fix is a change after which no problem of any kind remains. All problems
    have the same fixes, up to three:

    * `BalancedStrategy` with the costs and sizes of this plan, and with
      `ensemble_cost` unless the cost is a third of the costs. BalancedStrategy
      never has a problem of these kinds.
    * The least number of additional workers, up to a round of k + 1 workers, if
      the number is valid for a plan.
    * The least number of additional parameter servers, up to the next multiple
      of k, if parameter servers have a problem.

    Args:
      worker_names: sequence of str, the name of each worker in messages; None
        for the names of a TF_CONFIG, such as "chief:0" or "worker:0".
      subnetwork_names: sequence of str, the name of each subnetwork in
        messages; None for indices.
    """
    return problems_lib.describe(self, worker_names, subnetwork_names)

  def to_json_dict(self) -> Dict[str, Any]:
    """Returns the plan as a value for `json.dumps`.

    A set of indices is a list of [start, stop, step] as in Python's `range`, in
    increasing order. No list grows with the number of workers.

    Returns:
      Dict with "version" (`JSON_VERSION`, which changes when a key is removed
      or changes its meaning, but not when a key is added); "strategy",
      "num_workers", "num_ps", "num_subnetworks", "costs", "sizes",
      "ensemble_cost", "worker_groups", "subnetwork_groups", "ps_groups",
      "figures" and "problems", in this order. A group or a problem is a dict
      with the attributes as keys.
    """
    value = {"version": JSON_VERSION}
    for name in ("strategy",) + _SHAPE + (
        "worker_groups", "subnetwork_groups", "ps_groups"):
      value[name] = _to_json(getattr(self, name))
    return dict(value, figures=self.figures(),
                problems=_to_json(self.problems()))


_SHAPE = ("num_workers", "num_ps", "num_subnetworks", "costs", "sizes",
          "ensemble_cost")


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
  """Returns plans as a tuple, after checking the types."""
  if isinstance(plans, collections.abc.Iterable):
    plans = tuple(plans)
    if not plans:
      raise ValueError("plans=(): expected at least one PlacementPlan.")
    if all(isinstance(plan, PlacementPlan) for plan in plans):
      return plans
  raise TypeError(f"plans={messages.describe(plans)}: expected an iterable of "
                  "PlacementPlan.")


def alike(plans: Iterable[PlacementPlan]) -> List[List[int]]:
  """Groups plans with the same shape, costs and placement.

  Returns:
    Lists of positions in `plans`, ordered by the first plan. A plan with
    unknown parameter servers forms a separate group.
  """
  groups: Dict[tuple, List[int]] = {}
  for number, plan in enumerate(plans):
    ps = number if plan.ps_groups is None else plan.ps_groups
    shape = tuple(getattr(plan, name) for name in _SHAPE)
    groups.setdefault((shape, plan.worker_groups, ps), []).append(number)
  return list(groups.values())


def compare(plans: Iterable[PlacementPlan]
           ) -> Dict[str, Tuple[Any, ...]]:
  """Puts the figures of plans side by side.

  For example::

      compare([
          PlacementPlan(strategy, num_workers=7, num_ps=2, num_subnetworks=6)
          for strategy in (RoundRobinStrategy(), BalancedStrategy())
      ])["training_time"]

  Args:
    plans: non-empty iterable of `PlacementPlan`, of any shapes.

  Returns:
    Dict from str to tuple with a value for each plan. The keys are
    "strategy", "num_workers", "num_ps", "num_subnetworks", "costs", "sizes",
    "ensemble_cost", and the keys of `PlacementPlan.figures`, in this order.

  Raises:
    TypeError: `plans` is not an iterable of `PlacementPlan`.
    ValueError: `plans` is empty.
  """
  plans = check_plans(plans)
  columns = [
      dict([(name, _to_json(getattr(plan, name)))
            for name in ("strategy",) + _SHAPE], **plan.figures())
      for plan in plans]
  return {name: tuple(c[name] for c in columns) for name in columns[0]}

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Predictions of a placement: memory, speed, staleness, use of the ps.

The letters in the formulas: m workers (including the chief, but not an
evaluator), n parameter servers, k subnetworks in the iteration; w is the index
of a worker, i of a subnetwork, p of a parameter server. The formulas assume
that all workers are equally fast.

cost(i) is the cost of a step of subnetwork i, and size(i) the bytes of the
variables, in any units; unknown costs and sizes are 1. C is the sum of the
costs. E is the cost of a step of all ensembles, which runs all subnetworks
forward, in the unit of the costs. An unknown E is C / 3; see `weights.FORWARD`.
A unit of time is the time of a worker for a cost of 1.

Worker w spends the fraction e(w) of the time on the ensembles and makes e(w) /
E steps of the ensembles per unit of time. e(w) is 0 without ensembles, and 1 if
w trains no subnetwork. Worker w makes r(w, i) steps of subnetwork i per unit of
time. Each step takes the time d(w, i):

* A worker without fractions trains in lockstep: repeatedly a step of each
  trained subnetwork and, if the worker builds the ensembles, of the ensembles.
  With work(w), the sum of cost(j) over all j that w trains, d(w, i) is work(w),
  or work(w) + E with the ensembles. So r(w, i) = 1 / d(w, i), and e(w) = E /
  (work(w) + E).
* A worker with fractions specifies e(w) and spends the fraction f(w, i) of the
  remaining time on subnetwork i. The worker trains a single subnetwork, or the
  ensembles, at a time: d(w, i) = cost(i), and r(w, i) = (1 - e(w)) f(w, i) /
  cost(i).
"""

import fractions as fractions_lib
import functools
import math
from typing import Dict, List, Optional, Sequence

from adanet import checks
from adanet.console import wording
from adanet.distributed import input_parts
from adanet.distributed import strategy as strategy_lib
from adanet.distributed import weights
from adanet.distributed.plan import groups as groups_lib
from adanet import messages

import numpy as np

Indices = wording.Indices
# The maximum rounding error in a number of workers.
_ROUNDING = 1e-6

Numbers = Optional[Sequence[weights.Number]]


def implied_ensemble_cost(num_subnetworks: int,
                          costs: Numbers) -> weights.Number:
  """Returns the default E: `weights.FORWARD` of the sum of all costs."""
  return weights.FORWARD * (
      num_subnetworks if costs is None else weights.exact_sum(costs))


class Predictions:
  """The work of all workers of a cluster, and values computed from the work.

  Attributes:
    work: float64 [m], work(w); 0 for workers with fractions and for workers
      that train no subnetwork. Other attributes are as in `PlacementPlan`.
  """

  def __init__(self, strategy: strategy_lib.PlacementStrategy, num_workers: int,
               num_ps: int, num_subnetworks: int, costs: Numbers,
               sizes: Numbers, ensemble_cost: weights.Number):
    """Computes the work of all workers by a strategy."""
    self.strategy = repr(strategy)
    self.num_workers = num_workers
    self.num_ps = num_ps
    self.num_subnetworks = num_subnetworks
    self.costs = costs
    self.sizes = sizes
    self.ensemble_cost = ensemble_cost
    self._asked = strategy
    known: Dict[strategy_lib.Share, strategy_lib.Share] = {}  # Removes copies.
    shares = [
        known.setdefault(share, share) for share in (
            worker.worker_share(num_subnetworks)
            for worker in strategy.as_workers(num_workers, num_ps))]
    places = wording.places_of(shares)
    self._rows = np.array(input_parts.rows_read(shares, num_subnetworks))
    self.worker_groups = tuple(
        groups_lib.WorkerGroup(
            workers, share.builds_ensemble, Indices(share.subnetworks),
            share.trains_subnetworks, share.fractions,
            self._time_for_ensembles(share))
        for share, workers in places.items())
    self._training = groups_lib.predict_speeds(
        self.worker_groups, num_subnetworks, costs, ensemble_cost)
    self._group_of_worker = np.empty(num_workers, np.int64)
    for number, group in enumerate(self.worker_groups):
      self._group_of_worker[list(group.workers)] = number
    self.work = self._training.work[self._group_of_worker]
    # The intervals of subnetworks with unequal parts on parameter servers.
    self._intervals: Dict[int, weights.Interval] = {}
    self._ps_of_subnetworks = self._ask_for_ps()
    self._count_fetches()

  def _time_for_ensembles(self, share):
    """Returns e(w), a `Fraction`, of a worker with a `Share`."""
    if not share.builds_ensemble:
      return fractions_lib.Fraction(0)
    if not share.trains_subnetworks:
      return fractions_lib.Fraction(1)
    if share.fractions is not None:
      return fractions_lib.Fraction(share.ensemble_fraction)
    cost = fractions_lib.Fraction(self.ensemble_cost)
    return cost / (cost + (
        len(share.trained) if self.costs is None else
        weights.exact_sum(self.costs[i] for i in share.trained)))

  def changed(self, num_workers: Optional[int] = None,
              num_ps: Optional[int] = None) -> "Predictions":
    """Returns predictions for other numbers; None keeps a number."""
    return Predictions(
        self._asked, num_workers or self.num_workers, num_ps or self.num_ps,
        self.num_subnetworks, self.costs, self.sizes, self.ensemble_cost)

  @property
  def own_ensemble_cost(self) -> Optional[weights.Number]:
    """`ensemble_cost`; None for the default value C / 3."""
    implied = implied_ensemble_cost(self.num_subnetworks, self.costs)
    return None if self.ensemble_cost == implied else self.ensemble_cost

  def given_weights(self) -> Dict[str, Sequence[weights.Number]]:
    """Returns the costs, the ensemble cost and the sizes that are known."""
    known_weights: Dict[str, Sequence[weights.Number]] = {}
    if self.costs is not None:
      known_weights["costs"] = self.costs
    if known_weights or self.own_ensemble_cost is not None:
      known_weights["ensemble cost"] = (self.ensemble_cost,)
    if self.sizes is not None:
      known_weights["sizes"] = self.sizes
    return known_weights

  def _ask_for_ps(self) -> Optional[List[Indices]]:
    """Returns the parameter servers of each subnetwork; None if unknown."""
    k, n = self.num_subnetworks, self.num_ps
    if n == 0:
      return [Indices()] * k
    # Any worker, because all workers must place a variable alike.
    strategy = next(self._asked.as_workers(self.num_workers, n))
    indices_of = functools.lru_cache(maxsize=None)(Indices)  # Often repeated.
    all_ps = []
    for i in range(k):
      answer = strategy.parameter_server_assignment(k, i)
      if answer is None:
        return None
      if isinstance(answer, weights.Interval):
        self._intervals[i] = answer
        answer = answer.parts
      try:
        ps = indices_of(
            answer if isinstance(answer, range) else tuple(answer))
        if ps and (ps[0] < 0 or ps[-1] >= n):
          raise ValueError
      except (TypeError, ValueError) as e:
        raise type(e)(
            f"{messages.describe(self._asked)}.subnetwork_parameter_servers("
            f"{k}, {i})={messages.describe(answer)}: expected integers in [0, "
            f"{n}).") from None
      all_ps.append(ps)
    return all_ps

  def _count_fetches(self):
    """Sets the values of all parameter servers, arrays [n]."""
    # Pairs of a set of parameter servers and the subnetworks on this set.
    all_ps = self._ps_of_subnetworks or []
    self._subnetworks_on = [
        (all_ps[subnetworks[0]], subnetworks)
        for subnetworks in wording.places_of(map(id, all_ps)).values()]
    self._fetches = np.zeros(self.num_ps, np.int64)
    self._load = np.zeros(self.num_ps)
    num_builders = self._training.num_builders.tolist()
    sent = self._training.reads * (
        1. if self.sizes is None else list(map(float, self.sizes)))
    for ps, subnetworks in self._subnetworks_on:
      held = list(ps)
      self._fetches[held] += sum(num_builders[i] for i in subnetworks)
      self._load[held] += sum(
          sent[i] for i in subnetworks
          if i not in self._intervals) / max(len(ps), 1)
    for i, interval in self._intervals.items():
      whole = interval.weight * interval.num_parts
      for p in interval.parts:
        self._load[p] += sent[i] * (interval.overlap(p) / whole)

  def _per_worker(self, counts):
    """Returns int64 [m] from a number for each group."""
    return np.array(list(counts), np.int64)[self._group_of_worker]

  def subnetworks_per_worker(self) -> np.ndarray:
    """Returns the subnetworks in each worker's memory (built), int64 [m]."""
    return self._per_worker(
        len(group.subnetworks) for group in self.worker_groups)

  def trained_per_worker(self) -> np.ndarray:
    """Returns the number of subnetworks that each worker trains, int64 [m]."""
    return self._per_worker(
        group.num_trained for group in self.worker_groups)

  def trainers_per_subnetwork(self) -> np.ndarray:
    """Returns the number of workers that train each subnetwork, int64 [k].

    If each worker trains all subnetworks in parallel on separate devices, the
    result is the speedup over a single worker.
    """
    return self._training.num_trainers.copy()

  @property
  def trains_everything(self) -> bool:
    """Whether all subnetworks and the ensembles have a trainer.

    Otherwise training never ends.
    """
    return self.training_time() < float("inf")

  def effective_speeds(self) -> np.ndarray:
    """Returns the speed of each subnetwork, in steps per unit of time.

    float64 [k], the sum of r(w, i) over the workers w that train i. 1 / cost(i)
    is the speed of a worker that trains only subnetwork i.
    """
    return self._training.speeds.copy()

  def ensemble_speed(self) -> float:
    """Returns the speed of the ensembles, in steps per unit of time.

    float, the sum of e(w) / E over all workers w.
    """
    return self._training.ensemble_speed

  def rows_per_subnetwork(self) -> np.ndarray:
    """Returns the fraction of the input's rows that trains each subnetwork.

    float64 [k], for a finite input that is divided among the workers by
    `worker_input_context`, and for a worker that trains in turns by
    `input_context`. 1 for all rows; 0 for a subnetwork without a trainer.
    """
    return self._rows.copy()

  def stale_gradients(self) -> np.ndarray:
    """Returns the expected staleness of a gradient, with asynchronous SGD.

    float64 [k], the number of updates of subnetwork i by other workers between
    a worker's read of the variables and the write, as a mean over all
    gradients. During a step of w, of the time d(w, i), other workers make
    speed(i) - r(w, i) updates per unit of time. w makes the fraction r(w, i) /
    speed(i) of all gradients. So

        stale(i) = the sum of r(w, i) / speed(i) d(w, i) (speed(i) - r(w, i))
                   over the trainers w of i; 0 without trainers.

    In lockstep the staleness is max(0, trainers(i) - 1). With fractions the
    staleness is lower, because a worker reads a subnetwork only at the turn of
    the subnetwork.
    """
    return self._training.stale_gradients.copy()

  def max_staleness(self) -> np.ndarray:
    """Returns the expected staleness of the gradients of the slowest trainer.

    float64 [k], the maximum of d(w, i) (speed(i) - r(w, i)) over the trainers w
    of i. The maximum is far above the mean if a worker trains many subnetworks
    that other workers train alone.
    """
    return self._training.max_staleness.copy()

  def fetches_per_ps(self) -> Optional[np.ndarray]:
    """Returns the requests to each parameter server in a step of all workers.

    A fetch is a worker's read of the variables of a subnetwork on a parameter
    server, to train the subnetwork or to run the subnetwork forward for the
    ensemble. So the number of fetches is the sum of builders(i) over the
    subnetworks i with variables on p. Variables of the ensemble are not
    counted.

    Returns:
      int64 [n]; None if the strategy does not know the parameter servers.
    """
    return None if self._ps_of_subnetworks is None else self._fetches.copy()

  def load_per_ps(self) -> Optional[np.ndarray]:
    """Returns the data that each parameter server sends in a step of all.

    The load is the sum of reads(i) size(i) part(i, p) over the subnetworks i
    with variables on p. part(i, p) is the fraction of the bytes of i on p, from
    the strategy or otherwise equal for all p. A variable is never divided, so a
    large variable makes the real load less even.

    reads(i) is builders(i) if costs are equal and no worker has fractions.
    Otherwise steps take different times. Then a worker that trains i in
    lockstep counts c trained(w) / work(w), with the mean cost c: a step of the
    worker includes all subnetworks, and the same reads serve the ensembles. A
    worker with fractions counts c r(w, i), plus e(w) if the worker builds the
    ensembles. A worker that builds only the ensembles counts 1 per step.

    Returns:
      float64 [n], in the unit of the sizes; with equal sizes, 1 is all
      variables of a subnetwork. None as in `fetches_per_ps`.
    """
    return None if self._ps_of_subnetworks is None else self._load.copy()

  def training_time(self, num_steps: int = 1) -> float:
    """Returns an upper bound of the computing time of the iteration.

    The bound is num_steps / min(ensemble_speed, speed(i) over i), because the
    ensembles take as many steps as the subnetworks. The real time may be
    shorter, because the end of a subnetwork leaves a worker more time for other
    subnetworks. For m equal parts of C + E, the time is exactly num_steps
    (C + E) / m, the optimum for m workers.

    Args:
      num_steps: int, at least 1, the number of steps of each subnetwork and of
        the ensembles.

    Returns:
      float; 1 is the time of a worker for a step of cost 1. Infinity if
      `trains_everything` is False.

    Raises:
      TypeError: `num_steps` is not an integer.
      ValueError: `num_steps` is less than 1.
    """
    num_steps = checks.check_count("num_steps", num_steps)
    slowest = min(float(self._training.speeds.min()), self.ensemble_speed())
    return num_steps / slowest if slowest else float("inf")

  def duplicated_ensembles(self) -> int:
    """Returns the number of redundant workers that build the ensembles.

    0 if the ensembles are slower than the slowest subnetwork. Otherwise
    builders - max(1, needed). The needed workers are:

    * Of the workers that train no subnetwork, as many as keep the ensembles as
      fast as the slowest subnetwork: each takes 1 / E steps per unit of time.
    * All workers that spend a fraction of the time on the ensembles.
    * No worker that trains in lockstep, because all these workers repeat the
      same work.
    """
    slowest = float(self._training.speeds.min())
    if self.ensemble_speed() < slowest * (1 - _ROUNDING):
      return 0
    num_builders = num_idle = num_needed = 0
    missing = float(self.ensemble_cost) * slowest
    for group in self.worker_groups:
      if group.builds_ensemble:
        count = len(group.workers)
        num_builders += count
        if not group.trained:
          num_idle += count
        elif group.fractions is not None:
          num_needed += count
          missing -= count * float(group.ensemble_fraction)
    num_needed += min(num_idle, max(0, math.ceil(missing - _ROUNDING)))
    return num_builders - max(1, num_needed) if num_builders else 0

  def wasted_training(self) -> float:
    """Returns the training that does not shorten the iteration, in workers.

    float, the sum of cost(i) (speed(i) - min(speed(j) over j)) over i: faster
    subnetworks end first, and then the trainers wait.
    """
    wasted = self._training.speeds - self._training.speeds.min()
    return float(np.sum(
        wasted if self.costs is None else
        wasted * list(map(float, self.costs))))

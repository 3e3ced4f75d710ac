# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Predictions of a placement: memory, speed, staleness, use of the ps.

The letters in the formulas: m workers (the chief is one, an evaluator is not),
n parameter servers, k subnetworks in the iteration; w is the index of a worker,
i of a subnetwork, p of a parameter server. The formulas assume that all workers
are equally fast.

cost(i) is what a step of subnetwork i costs, and size(i) the bytes of its
variables, in any units; where they are not known, they are equal, and 1. C is
the sum of the costs. E is what a step of all ensembles costs, in the same unit:
it runs all subnetworks forward. Where it is not known, it is C / 3; see
`lengths.FORWARD`. One unit of time is what a worker takes for a cost of 1.

Worker w gives the ensembles the part e(w) of its time, so it makes e(w) / E
steps of them in a unit of time; e(w) is 0 without ensembles, and 1 if it trains
no subnetwork. It makes r(w, i) steps of subnetwork i in a unit of time, and one
of these steps takes the time d(w, i):

* A worker without fractions trains in lockstep: one step of each subnetwork
  that it trains, and of the ensembles if it builds these, again and again. With
  work(w), the sum of cost(j) over all j that w trains, d(w, i) is work(w), or
  work(w) + E with the ensembles. So r(w, i) = 1 / d(w, i), and e(w) = E /
  (work(w) + E).
* A worker with fractions says e(w), and gives subnetwork i the fraction f(w, i)
  of the rest of its time. It trains one subnetwork, or the ensembles, at a
  time: d(w, i) = cost(i), and r(w, i) = (1 - e(w)) f(w, i) / cost(i).
"""

import math
import typing

from adanet.distributed import _arguments
from adanet.distributed import indices as indices_lib
from adanet.distributed import layout as layout_lib
from adanet.distributed import lengths
from adanet.distributed import line as line_lib
from adanet.distributed import placement
from adanet.distributed.plan import speeds as speeds_lib

import numpy as np

Indices = indices_lib.Indices
# The most that rounding may change in a number of workers.
_ROUNDING = 1e-6

Weights = typing.Optional[typing.Sequence[line_lib.Number]]


def implied_ensemble_cost(num_subnetworks: int,
                          costs: Weights) -> line_lib.Number:
  """Returns E where it is not known: `lengths.FORWARD` of all costs."""
  return lengths.FORWARD * (
      num_subnetworks if costs is None else speeds_lib.add_up_costs(costs))


class Predictions:
  """The shares of all workers of a cluster, and figures that follow from them.

  Attributes:
    strategy: str, the `repr` of the strategy.
    num_workers: int, m.
    num_ps: int, n.
    num_subnetworks: int, k.
    costs: tuple of k positive numbers, cost(i); None if they are equal.
    sizes: tuple of k positive numbers, size(i); None if they are equal.
    ensemble_cost: positive number, E.
    shares: list of pairs of a `layout.Share` and the workers that have it, a
      list of range. Each worker is in one pair. They are in the order of their
      first worker.
    ensemble_fractions: list of `Fraction`, e(w) of a worker of each share.
    work: float64 array, work(w) of a worker of each share; 0 with fractions,
      and without training.
  """

  def __init__(self, strategy: placement.PlacementStrategy, num_workers: int,
               num_ps: int, num_subnetworks: int, costs: Weights,
               sizes: Weights, ensemble_cost: line_lib.Number,
               with_ps: bool = True):
    """Asks a strategy; without `with_ps` not about parameter servers."""
    self.strategy = repr(strategy)
    self.num_workers = num_workers
    self.num_ps = num_ps
    self.num_subnetworks = num_subnetworks
    self.costs = costs
    self.sizes = sizes
    self.ensemble_cost = ensemble_cost
    self._asked = strategy
    layout = strategy.layout_for(num_workers, num_ps)
    workers_of: typing.Dict[layout_lib.Share, typing.List[range]] = {}
    for workers, share in layout.groups(num_workers, num_subnetworks):
      if share.fractions is not None:  # A layout may make them at each look.
        share = share._replace(fractions=tuple(share.fractions))
      workers_of.setdefault(share, []).append(workers)
    self.shares = list(workers_of.items())
    self.ensemble_fractions = [
        speeds_lib.time_for_ensembles(
            share, num_subnetworks, costs, ensemble_cost)
        for share, _ in self.shares]
    self._training = speeds_lib.predict(
        self.shares, num_subnetworks, costs, ensemble_cost,
        self.ensemble_fractions)
    self.work = self._training.work
    # The places of subnetworks whose parameter servers hold unequal parts.
    self._segments: typing.Dict[int, line_lib.Segment] = {}
    self._ps_of_subnetworks = self._ask_for_ps(layout) if with_ps else None
    self._count_fetches()

  def changed(self, num_workers: typing.Optional[int] = None,
              num_ps: typing.Optional[int] = None,
              with_ps: bool = True) -> "Predictions":
    """Returns other predictions; where an argument is None, it is the same."""
    return Predictions(
        self._asked, num_workers or self.num_workers, num_ps or self.num_ps,
        self.num_subnetworks, self.costs, self.sizes, self.ensemble_cost,
        with_ps)

  @property
  def own_ensemble_cost(self) -> typing.Optional[line_lib.Number]:
    """`ensemble_cost`; None if it is what follows from the costs, C / 3."""
    implied = implied_ensemble_cost(self.num_subnetworks, self.costs)
    return None if self.ensemble_cost == implied else self.ensemble_cost

  def _ask_for_ps(self, layout):
    """Returns list of `Indices`, for each subnetwork; None if not known."""
    k, n = self.num_subnetworks, self.num_ps
    if n == 0:
      return [Indices()] * k
    all_ps = []
    for i in range(k):
      segment = layout.segment(n, k, i)
      if segment is not None:
        self._segments[i] = segment
        all_ps.append(Indices(segment.parts))
        continue
      answer = layout.parameter_servers(n, k, i)
      if answer is None:
        return None
      try:
        ps = Indices(answer)
        if ps and (ps.ranges[0][0] < 0 or ps.ranges[-1][-1] >= n):
          raise ValueError
      except (TypeError, ValueError) as e:
        raise type(e)(
            f"{_arguments.show(self._asked)}.subnetwork_parameter_servers({k}, "
            f"{i})={_arguments.show(answer)}: expected integers in [0, "
            f"{n}).") from None
      all_ps.append(ps)
    return all_ps

  def _count_fetches(self):
    """Sets the figures of each parameter server, arrays [n]."""
    # From parameter servers to the subnetworks on exactly these.
    self._subnetworks_on = indices_lib.places_of(self._ps_of_subnetworks or ())
    self._fetches = np.zeros(self.num_ps, np.int64)
    self._load = np.zeros(self.num_ps)
    num_builders = self._training.num_builders.tolist()
    sent = self._training.reads * (
        1. if self.sizes is None else list(map(float, self.sizes)))
    for ps, subnetworks in self._subnetworks_on.items():
      num_reads = sum(num_builders[i] for i in subnetworks)
      load = sum(sent[i] for i in subnetworks
                 if i not in self._segments) / max(len(ps), 1)
      for s in ps.slices():
        self._fetches[s] += num_reads
        self._load[s] += load
    for i, segment in self._segments.items():
      whole = segment.length * segment.num_parts
      for p in segment.parts:
        self._load[p] += sent[i] * (segment.overlap(p) / whole)

  def _per_worker(self, counts):
    """Returns int64 [m], from a number for each of the shares."""
    per_worker = np.empty(self.num_workers, np.int64)
    for (_, workers), count in zip(self.shares, counts):
      for part in workers:
        per_worker[part.start:part.stop:part.step] = count
    return per_worker

  def subnetworks_per_worker(self) -> np.ndarray:
    """The number of subnetworks that each worker builds: its use of memory.

    ``built(w) = |{i : w builds i}|``. It is k for every worker under
    replication. In a whole round of the round robin it is 1, except for the
    worker on the ensemble: that one builds all k to run them forward.

    Returns:
      int64 [m], in subnetworks.
    """
    return self._per_worker(len(share.subnetworks) for share, _ in self.shares)

  def trained_per_worker(self) -> np.ndarray:
    """The number of subnetworks that each worker trains: they share its time.

    ``trained(w) = |{i : w trains i}|``. It is built(w) or 0 for a worker without
    fractions.

    Returns:
      int64 [m], in subnetworks.
    """
    return self._per_worker(share.num_trained for share, _ in self.shares)

  def trainers_per_subnetwork(self) -> np.ndarray:
    """The number of workers that train each subnetwork.

    ``trainers(i) = |{w : w trains i}|``: m under replication, about m / (k + 1)
    in the round robin. If each worker trains its subnetworks in parallel on
    devices of its own, this is the speedup over one worker.

    Returns:
      int64 [k], in workers.
    """
    return self._training.num_trainers.copy()

  @property
  def trains_everything(self) -> bool:
    """Whether each subnetwork has a trainer, and some worker the ensembles.

    If not, training never ends.
    """
    return self.training_time() < float("inf")

  def effective_speeds(self) -> np.ndarray:
    """The speed of each subnetwork, in steps a unit of time.

    speed(i) = the sum of r(w, i) over the workers w that train i: of 1 /
    trained(w) in lockstep, if costs are equal and others build the ensembles.
    Where C + E is cut into m equal parts, it is m / (C + E) for each
    subnetwork: cost(i) m / (C + E) workers train it, at 1 / cost(i) steps each.

    Returns:
      float64 [k]. 1 / cost(i) is the speed of one worker that trains nothing
      else; 0 means that no worker trains the subnetwork.
    """
    return self._training.speeds.copy()

  def ensemble_speed(self) -> float:
    """The speed of the ensembles, in steps a unit of time.

    It is the sum of e(w) / E over all workers w. Each step is one of all
    ensembles. A worker that trains no subnetwork takes 1 / E of them, and so do
    the m E / (C + E) workers that the ensembles cover where C + E is cut into m
    equal parts. Together these take m / (C + E), like the subnetworks.

    Returns:
      float; 0 means that no worker builds the ensembles.
    """
    return self._training.ensemble_speed

  def stale_gradients(self) -> np.ndarray:
    """The expected staleness of a gradient, with asynchronous SGD.

    It counts the updates of subnetwork i by other workers between a worker's
    read of its variables and its write, as a mean over all gradients. During a
    step of w, of the time d(w, i), the others make speed(i) - r(w, i) updates a
    unit of time. In lockstep with ensembles, these are a part of the step. Of
    all gradients, w makes the part r(w, i) / speed(i). So

        stale(i) = the sum of r(w, i) / speed(i) d(w, i) (speed(i) - r(w, i))
                   over the trainers w of i; 0 without any.

    In lockstep r(w, i) d(w, i) = 1 and the speeds cancel out: stale(i) is
    max(0, trainers(i) - 1). With fractions it is less, because a worker reads
    the variables of a subnetwork only when its turn comes.

    Returns:
      float64 [k], in updates.
    """
    return self._training.stale_gradients.copy()

  def max_staleness(self) -> np.ndarray:
    """The expected staleness of the gradients of the slowest trainer.

    slowest(i) = the maximum of d(w, i) (speed(i) - r(w, i)) over the trainers w
    of i, derived in `stale_gradients`. In lockstep it is speed(i) d(w, i) - 1
    for the w with the longest step. It is far above the mean if one worker
    trains many subnetworks that also have workers of their own, as in the
    partial round of the round robin.

    Returns:
      float64 [k], in updates; 0 if no worker trains the subnetwork.
    """
    return self._training.max_staleness.copy()

  def fetches_per_ps(self) -> typing.Optional[np.ndarray]:
    """The requests to each parameter server, in one step of every worker.

    A fetch is one worker's read of one subnetwork's variables on one parameter
    server. A worker reads each subnetwork that it builds, to train it or to run
    it forward for the ensemble. With ps(i) the parameter servers of i:

        fetches(p) = the sum of builders(i) over {i : p in ps(i)}.

    The sum over all p is m n k under replication. In whole rounds of the round
    robin it is 2 m n / (k + 1) if n >= k, half of it by the workers on the
    ensemble. If parameter servers are not dedicated, it is 2 m n k / (k + 1).
    Variables of the ensemble itself are not counted.

    Returns:
      int64 [n], in fetches; None if the strategy does not say which parameter
      servers it uses.
    """
    return None if self._ps_of_subnetworks is None else self._fetches.copy()

  def load_per_ps(self) -> typing.Optional[np.ndarray]:
    """The data that each parameter server sends, in one step of every worker.

    ``load(p) = the sum of reads(i) size(i) part(i, p) over {i : p in ps(i)}``,
    with ps(i) as in `fetches_per_ps`. part(i, p) is the part of the bytes of
    subnetwork i that p holds: what a strategy says, else ``1 / |ps(i)|``.
    A variable lies on one parameter server as a whole, so one large variable,
    such as an embedding, makes the real load less even.

    reads(i) is builders(i) if costs are equal and no worker has fractions. If
    not, steps take different times. Then a worker that trains i in lockstep
    counts c trained(w) / work(w), with the mean cost c: one of its steps is one
    of each, and its reads serve the ensembles too. A worker with fractions
    counts by the steps of i in the time c, c r(w, i), and e(w) more if it
    builds the ensembles: for that part of its time it reads all subnetworks for
    them. One that only builds the ensembles counts 1, a step of these.

    Returns:
      float64 [n], in the unit of the sizes; if they are equal, 1 is all
      variables of one subnetwork. None as above.
    """
    return None if self._ps_of_subnetworks is None else self._load.copy()

  def training_time(self, num_steps: int = 1) -> float:
    """An upper bound of the time of the iteration, by what is slowest in it.

    time = num_steps / min(ensemble_speed, speed(i) over i): the ensembles take
    as many steps as the subnetworks. It is an upper bound of the time to
    compute: a worker with one subnetwork done has more time for its others.
    Time spent waiting for parameter servers is not included. Where C + E is cut
    into m equal parts it is exactly num_steps (C + E) / m, the least for m
    workers, because all of them work all of the time.

    Args:
      num_steps: int, at least 1, the steps that each subnetwork, and the
        ensembles, must take.

    Returns:
      float; 1 is the time that one worker takes for a step of cost 1.
      Infinity if some subnetwork has no trainer, or no worker builds the
      ensembles.
    """
    num_steps = _arguments.check_integer("num_steps", num_steps, at_least=1)
    slowest = min(float(self._training.speeds.min()), self.ensemble_speed())
    return num_steps / slowest if slowest else float("inf")

  def duplicated_ensembles(self) -> int:
    """The number of workers that build the ensembles, but are not needed there.

    It is 0 if the ensembles are slower than the slowest subnetwork. Otherwise
    it is builders - max(1, needed). Workers divide the steps of the ensembles,
    so several may be needed:

    * Of those that train no subnetwork, as many as keep the ensembles as fast
      as the slowest subnetwork: each takes 1 / E steps a unit of time.
    * All that give the ensembles a fraction of their time.
    * None of those that train in lockstep: these repeat all of each other's
      work.

    So it is m - 1 under replication, and 0 where C + E is cut into equal parts.
    In the round robin with equal costs, E is k / 3, and each whole round needs
    its worker with ensembles if k is at least 3.

    Returns:
      int, in workers.
    """
    num_builders = num_idle = num_needed = 0
    slowest = float(self._training.speeds.min())
    if self.ensemble_speed() < slowest * (1 - _ROUNDING):
      return 0
    missing = float(self.ensemble_cost) * slowest
    for (share, workers), fraction in zip(self.shares, self.ensemble_fractions):
      if not share.builds_ensemble:
        continue
      count = sum(map(len, workers))
      num_builders += count
      if not share.trains_subnetworks:
        num_idle += count
      elif share.fractions is not None:
        num_needed += count
        missing -= count * float(fraction)
    num_needed += min(num_idle, max(0, math.ceil(missing - _ROUNDING)))
    return num_builders - max(1, num_needed) if num_builders else 0

  def wasted_training(self) -> float:
    """The training of subnetworks that does not shorten the iteration.

    wasted = the sum of cost(i) (speed(i) - min(speed(j) over j)) over i:
    subnetworks faster than the slowest are done first, and then their trainers
    wait. In the round robin with equal costs, a partial round wastes what it
    trains beyond keeping all subnetworks level, and with `drop_remainder` all
    that it trains. If some subnetwork has no trainer, all training is wasted.

    Returns:
      float, in workers.
    """
    wasted = self._training.speeds - self._training.speeds.min()
    return float(np.sum(
        wasted if self.costs is None else
        wasted * list(map(float, self.costs))))

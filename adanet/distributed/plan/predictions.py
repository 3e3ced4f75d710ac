# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Predictions of a placement: memory, speed, staleness, use of the ps.

The letters in the formulas: m workers (the chief is one, an evaluator is not),
n parameter servers, k subnetworks in the iteration; w is the index of a worker,
i of a subnetwork, p of a parameter server. The formulas assume that all workers
are equally fast and all subnetworks equally large.
"""

import itertools
import typing

from adanet.distributed import _arguments
from adanet.distributed import layout as layout_lib
from adanet.distributed import placement
from adanet.distributed.plan import indices as indices_lib

import numpy as np

Indices = indices_lib.Indices


class Predictions(object):
  """The shares of all workers of a cluster, and figures that follow from them.

  Attributes:
    strategy: str, the `repr` of the strategy.
    num_workers: int, m.
    num_ps: int, n.
    num_subnetworks: int, k.
    shares: list of pairs of a `layout.Share` and the workers that have it, a
      list of range. Each worker is in one pair. They are in the order of their
      first worker.
  """

  def __init__(self, strategy: placement.PlacementStrategy, num_workers: int,
               num_ps: int, num_subnetworks: int, with_ps: bool = True):
    """Asks a strategy; without `with_ps` not about parameter servers."""
    self.strategy = repr(strategy)
    self.num_workers = num_workers
    self.num_ps = num_ps
    self.num_subnetworks = num_subnetworks
    self._asked = strategy
    layout = placement.layout_of(strategy, num_workers, num_ps)
    workers_of: typing.Dict[layout_lib.Share, typing.List[range]] = {}
    for workers, share in layout.groups(num_workers, num_subnetworks):
      workers_of.setdefault(share, []).append(workers)
    self.shares = list(workers_of.items())
    self._count_workers()
    self._ps_of_subnetworks = self._ask_for_ps(layout) if with_ps else None
    self._count_fetches()

  def changed(
      self,
      strategy: typing.Optional[placement.PlacementStrategy] = None,
      num_workers: typing.Optional[int] = None,
      num_ps: typing.Optional[int] = None,
      with_ps: bool = True) -> "Predictions":
    """Returns other predictions; where an argument is None, it is the same."""
    return Predictions(
        strategy or self._asked, num_workers or self.num_workers,
        self.num_ps if num_ps is None else num_ps, self.num_subnetworks,
        with_ps)

  def _count_workers(self):
    """Sets the figures of each subnetwork, arrays [k]."""
    k = self.num_subnetworks
    counts = np.array([sum(map(len, workers)) for _, workers in self.shares],
                      np.float64)
    built = [share.subnetworks for share, _ in self.shares]
    sizes = np.array(list(map(len, built)), np.int64)
    # One element for each pair of a share and a subnetwork in it.
    owners = np.repeat(np.arange(len(sizes)), sizes)
    subnetworks = np.fromiter(
        itertools.chain.from_iterable(built), np.int64, len(owners))
    self._num_builders = np.bincount(
        subnetworks, counts[owners], k).astype(np.int64)
    # From here on, only the pairs with a share that is trained.
    trains = np.array([share.trains_subnetworks for share, _ in self.shares])
    is_trained = trains[owners]
    owners, subnetworks = owners[is_trained], subnetworks[is_trained]
    counts, sizes = counts[owners], sizes[owners]
    num_trainers = np.bincount(subnetworks, counts, k)
    largest_sizes = np.zeros(k, np.int64)
    np.maximum.at(largest_sizes, subnetworks, sizes)
    # Updates by all trainers during one step of the slowest. (speeds *
    # largest_sizes is the same, but with rounding errors.)
    num_updates = np.bincount(
        subnetworks, counts * largest_sizes[subnetworks] / sizes, k)
    self._num_trainers = num_trainers.astype(np.int64)
    # Without any trainer, bincount returns integers.
    self._speeds = np.bincount(subnetworks, counts / sizes, k).astype(float)
    self._stale_gradients = np.maximum(num_trainers - 1., 0.)
    self._max_staleness = np.maximum(num_updates - 1., 0.)
    # The shares that train subnetwork i are
    # _trainers[_first_trainers[i]:_first_trainers[i + 1]].
    by_subnetwork = np.argsort(subnetworks, kind="mergesort")
    self._trainers = owners[by_subnetwork]
    self._first_trainers = np.searchsorted(subnetworks[by_subnetwork],
                                           np.arange(k + 1))

  def _ask_for_ps(self, layout):
    """Returns list of `Indices`, for each subnetwork; None if not known."""
    k, n = self.num_subnetworks, self.num_ps
    if n == 0:
      return [Indices()] * k
    all_ps = []
    for i in range(k):
      answer = layout.parameter_servers(n, k, i)
      if answer is None:
        return None
      try:
        ps = Indices(answer)
        if ps and (ps.ranges[0][0] < 0 or ps.ranges[-1][-1] >= n):
          raise ValueError
      except (TypeError, ValueError) as e:
        raise type(e)(
            "{}.subnetwork_parameter_servers({}, {})={}: expected integers in "
            "[0, {}).".format(
                _arguments.show(self._asked), k, i, _arguments.show(answer),
                n)) from None
      all_ps.append(ps)
    return all_ps

  def _count_fetches(self):
    """Sets the figures of each parameter server, arrays [n]."""
    # From parameter servers to the subnetworks on exactly these.
    self._subnetworks_on = indices_lib.places_of(self._ps_of_subnetworks or ())
    self._fetches = np.zeros(self.num_ps, np.int64)
    self._load = np.zeros(self.num_ps)
    num_builders = self._num_builders.tolist()
    for ps, subnetworks in self._subnetworks_on.items():
      num_reads = sum(num_builders[i] for i in subnetworks)
      for s in ps.slices():
        self._fetches[s] += num_reads
        self._load[s] += num_reads / len(ps)

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

    trained(w) = built(w) if w trains what it builds, else 0.

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
    return self._num_trainers.copy()

  @property
  def trains_everything(self) -> bool:
    """Whether each subnetwork has a trainer; if not, training never ends."""
    return bool(self._num_trainers.all())

  def effective_speeds(self) -> np.ndarray:
    """The speed of each subnetwork, if workers divide their time evenly.

    speed(i) = the sum of 1 / trained(w) over the workers w that train i.

    Returns:
      float64 [k]. 1 is the speed of one worker that trains nothing else; 0
      means that no worker trains the subnetwork.
    """
    return self._speeds.copy()

  def stale_gradients(self) -> np.ndarray:
    """The expected staleness of a gradient, with asynchronous SGD.

    stale(i) = max(0, trainers(i) - 1). It counts the updates of subnetwork i by
    other workers between a worker's read of its variables and its write, as a
    mean over all gradients.

    The speeds cancel out. A step of w takes the time trained(w). Meanwhile the
    others make speed(i) - 1 / trained(w) updates a unit of time, so gradients
    of w are stale by trained(w) speed(i) - 1. Of all gradients, w makes the
    part 1 / (trained(w) speed(i)). The sum of the products is trainers(i) - 1.

    Returns:
      float64 [k], in updates.
    """
    return self._stale_gradients.copy()

  def max_staleness(self) -> np.ndarray:
    """The expected staleness of the gradients of the slowest trainer.

    slowest(i) = speed(i) max(trained(w) over the trainers w of i) - 1, derived
    in `stale_gradients`. It is far above the mean if one worker trains many
    subnetworks that also have workers of their own, as in the partial round of
    the round robin.

    Returns:
      float64 [k], in updates; 0 if no worker trains the subnetwork.
    """
    return self._max_staleness.copy()

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

    ``load(p) = the sum of builders(i) / |ps(i)| over {i : p in ps(i)}``, with
    ps(i) as in `fetches_per_ps`. It assumes that the bytes of a subnetwork are
    spread evenly over its parameter servers, and that all subnetworks are
    equally large. A variable lies on one parameter server as a whole, so one
    large variable, such as an embedding, makes the real load less even.

    Returns:
      float64 [n]; 1 is all variables of one subnetwork. None as above.
    """
    return None if self._ps_of_subnetworks is None else self._load.copy()

  def training_time(self, num_steps: int = 1) -> float:
    """An upper bound of the time of the iteration, by the slowest subnetwork.

    time = num_steps / min(speed(i) over i). It is an upper bound of the time to
    compute: a worker with one subnetwork done has more time for its others.
    Time spent waiting for parameter servers is not included.

    Args:
      num_steps: int, at least 1, the steps that each subnetwork must take.

    Returns:
      float; 1 is the time that one worker takes for one step of one subnetwork.
      Infinity if some subnetwork has no trainer.
    """
    num_steps = _arguments.check_integer("num_steps", num_steps, at_least=1)
    slowest = float(self._speeds.min())
    return num_steps / slowest if slowest else float("inf")

  def duplicated_ensembles(self) -> int:
    """The number of workers that repeat the work of another on the ensemble.

    ``duplicated = max(0, |{w : w builds the ensemble}| - 1)``: m - 1 under
    replication; in the round robin one for each round after the first, whole or
    partial. In the round robin these workers train no subnetwork.

    Returns:
      int, in workers.
    """
    return max(0, sum(
        sum(map(len, workers))
        for share, workers in self.shares if share.builds_ensemble) - 1)

  def wasted_training(self) -> float:
    """The training that does not shorten the iteration.

    wasted = the sum of speed(i) - min(speed(j) over j) over i: subnetworks
    faster than the slowest are done first, and then their trainers wait. In the
    round robin a partial round wastes what it trains beyond keeping all
    subnetworks level, and with `drop_remainder` all that it trains. If some
    subnetwork has no trainer, all training is wasted.

    Returns:
      float, in workers.
    """
    return float(np.sum(self._speeds - self._speeds.min()))

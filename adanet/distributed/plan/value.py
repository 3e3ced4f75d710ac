# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The placement of one iteration on a whole cluster, as a value.

A `PlacementPlan` holds what a strategy would answer every worker, and what
follows from that: who trains a subnetwork and how fast, which parameter servers
are busy, and what is wrong. It starts no worker and needs no TensorFlow::

    plan = PlacementPlan(
        RoundRobinStrategy(), num_workers=7, num_ps=2, num_subnetworks=6)
    print(plan.subnetwork(0).trainers)  # 1
    print(plan.training_time())         # 1.0
    for problem in plan.problems():
      print(problem.message)

Workers that own the same are one group, and so are subnetworks and parameter
servers that are alike. The groups number O(k + n) under the strategies of
`placement.py`, however many workers there are.

The letters in the formulas: m workers (the chief is one; an evaluator is not),
n parameter servers, k subnetworks in the iteration; w is a worker's index, i a
subnetwork's, p a parameter server's. Whatever a formula takes the mean of, all
workers are equally fast and all subnetworks equally large.
"""

import bisect
import collections
import collections.abc
import itertools
import math

from adanet.distributed import _arguments
from adanet.distributed.plan import indices as indices_lib
from adanet.distributed import placement

import numpy as np

#: The version of what `PlacementPlan.to_json_dict` returns.
JSON_VERSION = 1

Indices = indices_lib.Indices


def _num_trained(owned):
  """Returns the subnetworks trained by the owner of a `Share`."""
  return len(owned.subnetworks) if owned.trains_subnetworks else 0


class WorkerGroup(
    collections.namedtuple(
        "WorkerGroup",
        "workers builds_ensemble subnetworks trains_subnetworks")):
  """Workers that build and train the same.

  Attributes:
    workers: `Indices` of the workers, not empty.
    builds_ensemble: bool.
    subnetworks: `Indices` of the subnetworks that each of them builds.
    trains_subnetworks: bool, whether each trains those subnetworks too.
  """
  __slots__ = ()

  @property
  def num_trained(self):
    """int, the number of subnetworks that each of the workers trains."""
    return _num_trained(self)


class SubnetworkGroup(
    collections.namedtuple(
        "SubnetworkGroup",
        "subnetworks num_builders num_trainers effective_speed stale_gradients "
        "max_staleness")):
  """Subnetworks that fare alike, each with workers of its own or shared ones.

  Attributes:
    subnetworks: `Indices` of the subnetworks, not empty.
    num_builders: int, the workers that build each of them.
    num_trainers: int, the workers that train each of them.
    effective_speed: float, as in `PlacementPlan.effective_speeds`.
    stale_gradients: float, as in `PlacementPlan.stale_gradients`.
    max_staleness: float, as in
      `PlacementPlan.max_staleness`.
  """
  __slots__ = ()


class PsGroup(
    collections.namedtuple("PsGroup", "ps subnetworks fetches load")):
  """Parameter servers that serve the same subnetworks.

  Attributes:
    ps: `Indices` of the parameter servers, not empty.
    subnetworks: `Indices` of the subnetworks some of whose variables live on
      each of them.
    fetches: int, as in `PlacementPlan.fetches_per_ps`.
    load: float, as in `PlacementPlan.load_per_ps`.
  """
  __slots__ = ()


class Subnetwork(
    collections.namedtuple("Subnetwork", "trainers effective_speed ps")):
  """One subnetwork of a plan.

  Attributes:
    trainers: `Indices` of the workers that train it.
    effective_speed: float, as in `PlacementPlan.effective_speeds`.
    ps: `Indices` of the parameter servers that hold its variables; None where
      the strategy does not say.
  """
  __slots__ = ()


class Problem(
    collections.namedtuple("Problem", "kind indices message fixes")):
  """Something that is wrong with a placement.

  Attributes:
    kind: str, one of `PROBLEM_KINDS`.
    indices: `Indices` of what it is about: subnetworks for
      "untrained_subnetworks", parameter servers for "unused_ps" and
      "overloaded_ps", workers for "overloaded_workers" and
      "duplicated_ensembles".
    message: str, what is wrong, with the indices, and what would mend it.
    fixes: dict, each entry enough by itself to have no problem of the kind:
      "num_workers" or "num_ps" to an int, "strategy" to the str of a strategy.
  """
  __slots__ = ()


class _Cluster(object):
  """What a strategy would answer every worker of a cluster."""

  def __init__(self, strategy, num_workers, num_ps):
    # A copy, because the user's may change after the plan is made.
    self.strategy = strategy.with_config(None)
    self._layout = placement.layout_of(self.strategy, num_workers, num_ps)
    self._num_workers = num_workers
    self._num_ps = num_ps

  def shares(self, num_subnetworks):
    """Returns pairs of a range of workers and the `Share` of each."""
    return self._layout.groups(self._num_workers, num_subnetworks)

  def worker_groups(self, num_subnetworks):
    """Returns tuple of `WorkerGroup`, by their first worker."""
    workers = {}
    for share, ownership in self.shares(num_subnetworks):
      workers.setdefault(ownership, []).append(Indices(share))
    return tuple(
        WorkerGroup(
            Indices.union(shares), ownership.builds_ensemble,
            Indices(ownership.subnetworks), ownership.trains_subnetworks)
        for ownership, shares in workers.items())

  def ps_of_subnetworks(self, num_subnetworks):
    """Returns list of `Indices`, for each subnetwork; None if not known."""
    if self._num_ps == 0:
      return [Indices()] * num_subnetworks
    all_ps = []
    for i in range(num_subnetworks):
      answer = self._layout.parameter_servers(self._num_ps, num_subnetworks, i)
      if answer is None:
        return None
      ps = Indices(answer)
      if ps and (ps.ranges[0][0] < 0 or ps.ranges[-1][-1] >= self._num_ps):
        raise ValueError(
            "{}.subnetwork_parameter_servers({}, {})={}: expected integers in "
            "[0, {}).".format(
                _arguments.show(self.strategy), num_subnetworks, i,
                _arguments.show(answer), self._num_ps))
      all_ps.append(ps)
    return all_ps


# What can be wrong with the workers. The finders take pairs of workers and what
# each of them owns, an `Share` or a `WorkerGroup`.


def _median_num_trained(shares):
  """Returns the median share, in subnetworks, of the workers that train."""
  counts = collections.Counter()
  for workers, owned in shares:
    counts[_num_trained(owned)] += len(workers)
  del counts[0]
  num_trained = sorted(counts)
  if not num_trained:
    return 0.
  ends = list(itertools.accumulate(counts[c] for c in num_trained))
  return sum(num_trained[bisect.bisect_right(ends, place)]
             for place in ((ends[-1] - 1) // 2, ends[-1] // 2)) / 2.


def _untrained_subnetworks(shares, num_subnetworks):
  untrained = set(range(num_subnetworks))
  for _, owned in shares:
    if owned.trains_subnetworks:
      untrained.difference_update(owned.subnetworks)
  return untrained


def _overloaded_workers(shares, num_subnetworks):
  del num_subnetworks  # The finders are called alike.
  limit = 2 * _median_num_trained(shares)
  return [workers for workers, owned in shares if _num_trained(owned) > limit]


def _duplicated_ensembles(shares, num_subnetworks):
  del num_subnetworks
  workers = [workers for workers, owned in shares if owned.builds_ensemble]
  return workers if sum(map(len, workers)) > 1 else []


_WORKER_FINDERS = {
    "untrained_subnetworks": _untrained_subnetworks,
    "overloaded_workers": _overloaded_workers,
    "duplicated_ensembles": _duplicated_ensembles,
}

#: What a `Problem` may be of, in the order that `PlacementPlan.problems` has.
PROBLEM_KINDS = ("untrained_subnetworks", "unused_ps", "overloaded_ps",
                 "overloaded_workers", "duplicated_ensembles")


def _plural(noun, number):
  return noun if number == 1 else noun + "s"


def _name(noun, indices, names=None):
  return "{} {}".format(
      _plural(noun, len(indices)),
      indices.to_text(str if names is None else names.__getitem__))


def _nearest(number, period, smaller, is_mended):
  """Returns a number near another that mends something, or None.

  Args:
    number: int, which does not.
    period: int. The first multiple above `number` is tried, and if it mends,
      the least number from which on it does.
    smaller: iterable of int. Those below `number` are tried next, in turn.
    is_mended: function from an int to bool.
  """
  high = number - number % period + period
  if is_mended(high):
    low = number
    while high - low > 1:
      middle = (low + high) // 2
      if is_mended(middle):
        high = middle
      else:
        low = middle
    return high
  return next((s for s in smaller if 0 < s < number and is_mended(s)), None)


class PlacementPlan(object):
  """What each worker builds and trains, and what each parameter server serves.

  Two plans are equal if their strategies' names, their shapes and all their
  placements are.

  Making one takes O(k + n) time and memory for the strategies of
  `placement.py`, and what takes each of the m workers into account O(m) more.
  Any other strategy, a subclass that overrides a decision included, is asked
  through its public methods: m (k + 2) questions.

  Attributes:
    strategy: str, the `repr` of the strategy.
    num_workers: int, m.
    num_ps: int, n.
    num_subnetworks: int, k.
    worker_groups: tuple of `WorkerGroup`, by their first worker; each worker is
      in one.
    subnetwork_groups: tuple of `SubnetworkGroup`, by their first subnetwork;
      each subnetwork is in one.
    ps_groups: tuple of `PsGroup`, by their first parameter server; each is in
      one. None where there are parameter servers and the strategy does not say
      what it puts on them (`subnetwork_parameter_servers`).
  """

  def __init__(self, strategy, num_workers, num_ps, num_subnetworks):
    """Makes the plan of one iteration.

    Args:
      strategy: a `PlacementStrategy`. Its config is not read, and it does not
        change: a deep copy is asked, as each worker, with a config that has
        `num_worker_replicas`, `num_ps_replicas`, `global_id_in_cluster`,
        `is_chief`, `task_type` and `task_id`.
      num_workers: int, at least 1, m.
      num_ps: int, at least 0, n.
      num_subnetworks: int, at least 1, k.

    Raises:
      TypeError: an argument has a wrong type.
      ValueError: a number is out of range, or the strategy named a parameter
        server that the cluster does not have.
    """
    if not isinstance(strategy, placement.PlacementStrategy):
      raise TypeError(
          "strategy={}: expected an instance of PlacementStrategy, as "
          "RoundRobinStrategy() is.".format(_arguments.show(strategy)))
    self.strategy = repr(strategy)
    self.num_workers = _arguments.check_integer(
        "num_workers", num_workers, at_least=1)
    self.num_ps = _arguments.check_integer("num_ps", num_ps, at_least=0)
    self.num_subnetworks = _arguments.check_integer(
        "num_subnetworks", num_subnetworks, at_least=1)
    self._cluster = _Cluster(strategy, self.num_workers, self.num_ps)
    self._place_subnetworks(self._cluster.worker_groups(self.num_subnetworks))
    self._place_variables(
        self._cluster.ps_of_subnetworks(self.num_subnetworks))
    self._group_of_worker = None
    self._group_of_ps = None

  def _place_subnetworks(self, worker_groups):
    """Sets what follows from what the workers build and train."""
    k = self.num_subnetworks
    counts = np.array([len(g.workers) for g in worker_groups], np.float64)
    sizes = np.array([len(g.subnetworks) for g in worker_groups], np.int64)
    # A place for each pair of a group and a subnetwork that it builds.
    groups = np.repeat(np.arange(len(worker_groups)), sizes)
    subnetworks = np.fromiter(
        itertools.chain.from_iterable(g.subnetworks for g in worker_groups),
        np.int64, len(groups))
    num_builders = np.bincount(subnetworks, counts[groups], k)
    # From here on, of those that train.
    trains = np.array([g.trains_subnetworks for g in worker_groups])[groups]
    groups, subnetworks = groups[trains], subnetworks[trains]
    counts, shares = counts[groups], sizes[groups]
    num_trainers = np.bincount(subnetworks, counts, k)
    largest_shares = np.zeros(k, np.int64)
    np.maximum.at(largest_shares, subnetworks, shares)
    # The updates of all trainers during one step of the slowest. Not as its
    # share times the speed, which would round where this comes out whole.
    num_updates = np.bincount(
        subnetworks, counts * largest_shares[subnetworks] / shares, k)
    by_subnetwork = np.argsort(subnetworks, kind="mergesort")
    self.worker_groups = worker_groups
    self._trainers = groups[by_subnetwork]
    self._first_trainers = np.searchsorted(subnetworks[by_subnetwork],
                                           np.arange(k + 1))
    self._num_builders = num_builders.astype(np.int64)
    self._num_trainers = num_trainers.astype(np.int64)
    # With no trainer at all, bincount returns integers.
    self._speeds = np.bincount(subnetworks, counts / shares, k).astype(float)
    self._stale = np.maximum(num_trainers - 1., 0.)
    self._slowest_stale = np.maximum(num_updates - 1., 0.)
    alike = {}
    rows = zip(self._num_builders.tolist(), self._num_trainers.tolist(),
               self._speeds.tolist(), self._stale.tolist(),
               self._slowest_stale.tolist())
    for i, row in enumerate(rows):
      alike.setdefault(row, []).append(i)
    self.subnetwork_groups = tuple(
        SubnetworkGroup(Indices(subnetworks), *row)
        for row, subnetworks in alike.items())

  def _place_variables(self, ps_of_subnetworks):
    """Sets what follows from where the variables are."""
    self._ps_of_subnetworks = ps_of_subnetworks
    self.ps_groups = self._fetches = self._load = None
    if ps_of_subnetworks is None:
      return
    together = {}
    for i, ps in enumerate(ps_of_subnetworks):
      together.setdefault(ps, []).append(i)
    self._fetches = np.zeros(self.num_ps, np.int64)
    self._load = np.zeros(self.num_ps)
    served = [[] for _ in range(self.num_ps)]
    num_builders = self._num_builders.tolist()
    for ps, subnetworks in together.items():
      num_reads = sum(num_builders[i] for i in subnetworks)
      subnetworks = Indices(subnetworks)
      for s in ps.slices():
        self._fetches[s] += num_reads
        self._load[s] += float(num_reads) / len(ps)
      for p in ps:
        served[p].append(subnetworks)
    alike = {}
    for p, parts in enumerate(served):
      alike.setdefault(tuple(parts), []).append(p)
    self.ps_groups = tuple(
        PsGroup(
            Indices(ps), Indices.union(parts), int(self._fetches[ps[0]]),
            float(self._load[ps[0]])) for parts, ps in alike.items())

  def _key(self):
    return (self.strategy, self.num_workers, self.num_ps, self.num_subnetworks,
            self.worker_groups, self.ps_groups)

  def __eq__(self, other):
    if not isinstance(other, PlacementPlan):
      return NotImplemented
    return self._key() == other._key()  # pylint: disable=protected-access

  def __hash__(self):
    return hash(self._key())

  def __repr__(self):
    return ("PlacementPlan({}, num_workers={}, num_ps={}, num_subnetworks={})"
            .format(self.strategy, self.num_workers, self.num_ps,
                    self.num_subnetworks))

  # What one worker, subnetwork or parameter server has.

  def worker(self, worker_index):
    """Returns the `WorkerGroup` that a worker is in.

    Args:
      worker_index: int in [0, m).

    Raises:
      TypeError, ValueError: as for every index below.
    """
    worker_index = _arguments.check_integer(
        "worker_index", worker_index, at_least=0, below=self.num_workers)
    if self._group_of_worker is None:
      groups = np.empty(self.num_workers, np.int32)
      for number, group in enumerate(self.worker_groups):
        for s in group.workers.slices():
          groups[s] = number
      self._group_of_worker = groups
    return self.worker_groups[self._group_of_worker[worker_index]]

  def subnetwork(self, subnetwork_index):
    """Returns the `Subnetwork` of an index.

    Args:
      subnetwork_index: int in [0, k).
    """
    i = _arguments.check_integer(
        "subnetwork_index", subnetwork_index, at_least=0,
        below=self.num_subnetworks)
    ps = self._ps_of_subnetworks
    groups = self._trainers[self._first_trainers[i]:self._first_trainers[i + 1]]
    return Subnetwork(
        trainers=Indices.union(self.worker_groups[g].workers for g in groups),
        effective_speed=float(self._speeds[i]),
        ps=None if ps is None else ps[i])

  def parameter_server(self, ps_index):
    """Returns the `PsGroup` that a parameter server is in; None if not known.

    Args:
      ps_index: int in [0, n).
    """
    p = _arguments.check_integer(
        "ps_index", ps_index, at_least=0, below=self.num_ps)
    if self.ps_groups is None:
      return None
    if self._group_of_ps is None:
      self._group_of_ps = {p: g for g in self.ps_groups for p in g.ps}
    return self._group_of_ps[p]

  # Predictions.

  def _per_worker(self, count):
    """Returns int64 [m], from a function of a `WorkerGroup`."""
    counts = np.empty(self.num_workers, np.int64)
    for group in self.worker_groups:
      for s in group.workers.slices():
        counts[s] = count(group)
    return counts

  def subnetworks_per_worker(self):
    """The subnetworks that each worker builds: what its memory is spent on.

    ``built(w) = |{i : w builds i}|``. It is k for every worker under
    replication, O(k); and 1 in a whole round of the round robin, O(1), but for
    the worker on the ensemble, which builds all k of them to run them forward.

    Returns:
      int64 [m], in subnetworks.
    """
    return self._per_worker(lambda group: len(group.subnetworks))

  def trained_per_worker(self):
    """The subnetworks that each worker trains: what its time is divided by.

    trained(w) = built(w) if w trains what it builds, else 0.

    Returns:
      int64 [m], in subnetworks.
    """
    return self._per_worker(lambda group: group.num_trained)

  def trainers_per_subnetwork(self):
    """The workers that train each subnetwork.

    ``trainers(i) = |{w : w trains i}|``, m under replication and about
    m / (k + 1) in the round robin. Where a worker's step takes as long with
    many subnetworks as with one, because it has a device for each, this is the
    speedup over one worker: O(m) and O(m / k).

    Returns:
      int64 [k], in workers.
    """
    return self._num_trainers.copy()

  def effective_speeds(self):
    """How fast each subnetwork is trained, if a worker divides its time evenly.

    speed(i) = the sum, over the workers w that train i, of 1 / trained(w).

    Returns:
      float64 [k]; 1 is the speed of one worker that trains nothing else. 0
      where nobody trains the subnetwork.
    """
    return self._speeds.copy()

  def stale_gradients(self):
    """The expected staleness of a gradient, with asynchronous SGD.

    stale(i) = max(0, trainers(i) - 1), in updates of subnetwork i by others
    between a worker's read of its variables and its write: the mean over all
    gradients. O(m) under replication, O(m / k) in the round robin.

    The speeds cancel: a step of w takes trained(w), in which the others make
    speed(i) - 1 / trained(w) updates a unit of time, so w's gradients are stale
    by trained(w) speed(i) - 1; and w makes the share
    1 / (trained(w) speed(i)) of all gradients. The sum of the products is
    trainers(i) - 1.

    Returns:
      float64 [k], in updates.
    """
    return self._stale.copy()

  def max_staleness(self):
    """The expected staleness of the gradients of the slowest trainer.

    slowest(i) = speed(i) max(trained(w) over the trainers w of i) - 1, in
    updates as in `stale_gradients`, which derives it. It is far above the mean
    where a worker shares itself out among many subnetworks that have workers
    of their own, as in the partial round of the round robin.

    Returns:
      float64 [k], in updates; 0 where nobody trains the subnetwork.
    """
    return self._slowest_stale.copy()

  def fetches_per_ps(self):
    """The fetches that each parameter server answers, a step of every worker.

    A fetch is one worker's read of one subnetwork's variables on one parameter
    server, so p answers one for each pair of a subnetwork i that has it in its
    group and a worker that builds i, to train it or to run it forward for the
    ensemble:

        fetches(p) = the sum, over {i : p in group(i)}, of builders(i).

    The sum over all p is m n k under replication, and in whole rounds of the
    round robin 2 m n / (k + 1) with n >= k: half by the workers on the
    ensemble. Without parameter servers of their own the groups have n each, and
    it is 2 m n k / (k + 1). The ensemble's own variables are not counted.

    Returns:
      int64 [n], in fetches; None where the strategy does not say which
      parameter servers it uses.
    """
    return None if self._fetches is None else self._fetches.copy()

  def load_per_ps(self):
    """What each parameter server sends out, a step of every worker.

    ``load(p) = the sum, over {i : p in group(i)}, of builders(i) /
    |group(i)|``: by the hash of its name, a variable is as likely on one as on
    another of its group. It counts volume where `fetches_per_ps` counts
    requests.

    Returns:
      float64 [n], in subnetworks, 1 being all variables of one; None where the
      strategy does not say which parameter servers it uses.
    """
    return None if self._load is None else self._load.copy()

  def training_time(self, num_steps=1):
    """A bound of how long the iteration takes: the slowest subnetwork.

    time = num_steps / min(speed(i) over i). It is a bound from above, because a
    worker whose subnetwork is done has more time for its others, as far as
    computing goes: waiting for parameter servers is not in it.

    Args:
      num_steps: int, at least 1, the steps that every subnetwork must take.

    Returns:
      float; 1 is the time that one worker takes for one step of one subnetwork.
      Infinity if nobody trains some subnetwork.
    """
    num_steps = _arguments.check_integer("num_steps", num_steps, at_least=1)
    slowest = float(self._speeds.min())
    return num_steps / slowest if slowest else float("inf")

  def duplicated_ensembles(self):
    """The workers on the ensemble beyond the first, which repeat its work.

    ``duplicated = max(0, |{w : w builds the ensemble}| - 1)``: m - 1 under
    replication, one for each further round, whole or partial, in the round
    robin. There these workers train no subnetwork.

    Returns:
      int, in workers.
    """
    return max(0, sum(
        len(g.workers) for g in self.worker_groups if g.builds_ensemble) - 1)

  def wasted_training(self):
    """The training that does not shorten the iteration.

    idle = the sum over i of speed(i) - min(speed(j) over j): subnetworks that
    have more than the slowest are done before it, and their trainers wait. In
    the round robin this is what the workers of a partial round do beyond
    keeping all subnetworks level; with the remainder dropped it is all they do.
    Where some subnetwork has no trainer, all training is idle, as the iteration
    never ends.

    Returns:
      float, in workers.
    """
    slowest = float(self._speeds.min())
    return sum((g.effective_speed - slowest) * len(g.subnetworks)
               for g in self.subnetwork_groups)

  def figures(self):
    """The predictions as single numbers, to compare plans by.

    Returns:
      Dict from str to int or float, with these keys in this order. None stands
      for a time without end, and for what is not known of parameter servers.

      * max_subnetworks_per_worker, mean_subnetworks_per_worker: of
        `subnetworks_per_worker`.
      * min_trainers: the least of `trainers_per_subnetwork`.
      * min_effective_speed: the least of `effective_speeds`.
      * training_time: `training_time()`, of one step.
      * max_stale_gradients: the most of `stale_gradients`.
      * max_staleness: the most of `max_staleness`.
      * fetches: the sum of `fetches_per_ps`.
      * max_fetches_per_ps, max_load_per_ps: the most of `fetches_per_ps` and
        `load_per_ps`; 0 without parameter servers.
      * duplicated_ensembles, wasted_training: as the methods return.
      * num_problems: the number of `problems`.
    """
    is_known = self.ps_groups is not None
    slowest = float(self._speeds.min())
    return {
        "max_subnetworks_per_worker":
            max(len(g.subnetworks) for g in self.worker_groups),
        "mean_subnetworks_per_worker":
            sum(len(g.subnetworks) * len(g.workers)
                for g in self.worker_groups) / float(self.num_workers),
        "min_trainers":
            int(self._num_trainers.min()),
        "min_effective_speed":
            slowest,
        "training_time":
            self.training_time() if slowest else None,
        "max_stale_gradients":
            float(self._stale.max()),
        "max_staleness":
            float(self._slowest_stale.max()),
        "fetches":
            sum(g.fetches * len(g.ps) for g in self.ps_groups)
            if is_known else None,
        "max_fetches_per_ps":
            max([0] + [g.fetches for g in self.ps_groups])
            if is_known else None,
        "max_load_per_ps":
            max([0.] + [g.load for g in self.ps_groups]) if is_known else None,
        "duplicated_ensembles":
            self.duplicated_ensembles(),
        "wasted_training":
            self.wasted_training(),
        "num_problems":
            len(self._findings()),
    }

  # Problems.

  def _shares(self):
    """Returns the groups as the finders take them."""
    return [(group.workers, group) for group in self.worker_groups]

  def _find(self, kind):
    """Returns the `Indices` that a problem of a kind is about."""
    if kind in _WORKER_FINDERS:
      found = _WORKER_FINDERS[kind](self._shares(), self.num_subnetworks)
      return (Indices(found) if kind == "untrained_subnetworks" else
              Indices.union(found))
    if not self.num_ps or self._load is None:
      return Indices()
    if kind == "unused_ps":
      return Indices(np.flatnonzero(self._fetches == 0))
    # A load of just twice the share may come out of the sum a little above it.
    return Indices(np.flatnonzero(self._load > 2 * self._ps_share() + 1e-9))

  def _ps_share(self):
    """Returns the mean load of a parameter server."""
    return math.fsum(self._load) / self.num_ps

  def _findings(self):
    """Returns list of (kind, `Indices`), of what there is."""
    findings = [(kind, self._find(kind)) for kind in PROBLEM_KINDS]
    return [(kind, indices) for kind, indices in findings if indices]

  def _is_mended(self, kind, strategy=None, num_workers=None, num_ps=None):
    """Whether a changed cluster has no problem of a kind."""
    strategy = strategy or self._cluster.strategy
    num_workers = num_workers or self.num_workers
    num_ps = num_ps or self.num_ps
    k = self.num_subnetworks
    try:
      if kind in _WORKER_FINDERS:
        shares = list(_Cluster(strategy, num_workers, num_ps).shares(k))
        return not _WORKER_FINDERS[kind](shares, k)
      plan = PlacementPlan(strategy, num_workers, num_ps, k)
      return plan.ps_groups is not None and not plan._find(kind)
    except (Exception, SystemExit):  # pylint: disable=broad-except
      return False  # A strategy may refuse another cluster.

  def _mending(self, kind, indices):
    """Returns the `fixes` of a problem."""
    k = self.num_subnetworks
    if kind in _WORKER_FINDERS:
      name, number, period = "num_workers", self.num_workers, k + 1
      smaller = (k + 1, k, 1)
    else:
      name, number, period = "num_ps", self.num_ps, k
      smaller = (self.num_ps - len(indices), k, 1)
    number = _nearest(number, period, smaller,
                      lambda n: self._is_mended(kind, **{name: n}))
    fixes = {} if number is None else {name: number}
    for strategy in (placement.RoundRobinStrategy(),
                     placement.ReplicationStrategy()):
      if repr(strategy) != self.strategy and self._is_mended(kind, strategy):
        fixes["strategy"] = repr(strategy)
        break
    return fixes

  def _complaint(self, kind, indices, worker_names, subnetwork_names):
    """Returns what is wrong, without a full stop."""
    if kind == "untrained_subnetworks":
      return "No worker trains " + _name(
          "subnetwork", indices, subnetwork_names)
    if kind == "unused_ps":
      return "No worker uses " + _name("parameter server", indices)
    s = "s" if len(indices) == 1 else ""
    if kind == "overloaded_ps":
      share = self._ps_share()
      return "{} serve{} more than twice an even share of {:.4g} {}".format(
          _name("Parameter server", indices), s, share,
          _plural("subnetwork", share))
    workers = _name("Worker", indices, worker_names)
    if kind == "overloaded_workers":
      median = _median_num_trained(self._shares())
      return ("{} train{} more than twice as much as the median, {:g} {}, of "
              "the workers that train").format(workers, s, median,
                                               _plural("subnetwork", median))
    return workers + " build the ensemble, where one is enough"

  def problems(self, worker_names=None, subnetwork_names=None):
    """Returns what is wrong, as tuple of `Problem`, in the order of the kinds.

    * untrained_subnetworks: nobody trains them, so the iteration never ends.
    * unused_ps: nobody reads from them.
    * overloaded_ps: more than twice the mean of `load_per_ps`.
    * overloaded_workers: more than twice the median of `trained_per_worker`,
      over the workers that train.
    * duplicated_ensembles: the workers that build the ensemble, if more than
      one.

    What would mend a problem is found by planning: up to a whole round more
    workers, or as many fewer as make one, and the strategies of
    `placement.py`. That takes O(log k) times as long as the plan. A strategy
    that does not say what it puts on parameter servers has no problem there.

    Args:
      worker_names: sequence of str, what sentences call each worker; None for
        its index.
      subnetwork_names: sequence of str, what they call each subnetwork; None
        for its index.
    """
    problems = []
    for kind, indices in self._findings():
      fixes = self._mending(kind, indices)
      ways = [
          "with {} {}".format(fixes[key], _plural(noun, fixes[key]))
          for key, noun in (("num_workers", "worker"),
                            ("num_ps", "parameter server"))
          if key in fixes
      ]
      if "strategy" in fixes:
        ways.append("with " + fixes["strategy"])
      advice = ("It would be mended " + ", or ".join(ways) if ways else
                "No other size of cluster that was tried would mend it")
      problems.append(
          Problem(kind, indices,
                  "{}. {}.".format(
                      self._complaint(
                          kind, indices, worker_names, subnetwork_names),
                      advice),
                  fixes))
    return tuple(problems)

  def to_json_dict(self):
    """Returns the plan as a value for `json.dumps`, the same for equal plans.

    A set of indices is a list of [start, stop, step], each as in Python's
    `range`, in increasing order, so that no list grows with the workers.

    Returns:
      Dict from str, with these keys in this order:

      * version: int, `JSON_VERSION`. It changes when a key is taken away or
        means something else; keys may be added without.
      * strategy: str.
      * num_workers, num_ps, num_subnetworks: int.
      * worker_groups, subnetwork_groups, ps_groups: lists of dict, one for each
        `WorkerGroup`, `SubnetworkGroup` and `PsGroup`, with its attributes as
        keys. `ps_groups` may be None.
      * figures: dict, as `figures` returns.
      * problems: list of dict, one for each `Problem`, with its attributes as
        keys.
    """
    return {
        "version": JSON_VERSION,
        "strategy": self.strategy,
        "num_workers": self.num_workers,
        "num_ps": self.num_ps,
        "num_subnetworks": self.num_subnetworks,
        "worker_groups": _to_json(self.worker_groups),
        "subnetwork_groups": _to_json(self.subnetwork_groups),
        "ps_groups": _to_json(self.ps_groups),
        "figures": self.figures(),
        "problems": _to_json(self.problems()),
    }


def _to_json(records):
  """Returns a tuple of namedtuples as a list of dicts; None as None."""
  return None if records is None else [{
      name: value.to_json() if isinstance(value, Indices) else value
      for name, value in zip(record._fields, record)
  } for record in records]


def check_plans(plans):
  """Returns plans as a tuple, after checking that they are."""
  if isinstance(plans, collections.abc.Iterable):
    plans = tuple(plans)
    if not plans:
      raise ValueError("plans=(): expected at least one PlacementPlan.")
    if all(isinstance(plan, PlacementPlan) for plan in plans):
      return plans
  raise TypeError("plans={}: expected an iterable of PlacementPlan.".format(
      _arguments.show(plans)))


def compare(plans):
  """Puts plans side by side.

  Args:
    plans: iterable of `PlacementPlan`, at least one: of several strategies, of
      several shapes of cluster, or both.

  Returns:
    Dict from str to tuple, whose values are in the order of the plans. The keys
    are "strategy", "num_workers", "num_ps", "num_subnetworks", and those of
    `PlacementPlan.figures`, in this order.

  Raises:
    TypeError: `plans` is not an iterable of `PlacementPlan`.
    ValueError: there is no plan.
  """
  plans = check_plans(plans)
  rows = {
      name: tuple(getattr(plan, name) for plan in plans)
      for name in ("strategy", "num_workers", "num_ps", "num_subnetworks")
  }
  figures = [plan.figures() for plan in plans]
  for name in figures[0]:
    rows[name] = tuple(f[name] for f in figures)
  return rows

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Who builds and who trains each subnetwork, and where its variables live.

Every worker of a cluster asks its own strategy and talks to no other worker. So
each answer follows from numbers alone: m workers, of which the chief is number
0, and this one number w; k subnetworks in the iteration; n parameter servers.

The rules come first, one function for each strategy: the work of worker w of m,
as a `Share`. A plan asks each worker about every subnetwork, so answers are
kept. The strategies are the same rules with a config and AdaNet's methods.
`strategy.py` has their common part.
"""

import fractions
import functools
from typing import Dict, Optional, Sequence, TypeVar

from adanet import _sole_owner
# Python prefers this folder to AdaNet's placement.py, which AdaNet's __init__.py
# imports before TensorFlow. So a later installation of it is noticed, too.
_sole_owner.check()
from adanet import log as logging
from adanet.console import wording
from adanet.distributed import _arguments
from adanet.distributed import strategy as strategy_lib
from adanet.distributed import weights as weights_lib
from adanet.distributed import wrap_around

PlacementStrategy = strategy_lib.PlacementStrategy
Share = strategy_lib.Share
TaskConfig = strategy_lib.TaskConfig

_Balanced = TypeVar("_Balanced", bound="BalancedStrategy")


@functools.lru_cache(maxsize=1024)
def replication(num_subnetworks: int) -> Share:
  """Returns the share of each worker under `ReplicationStrategy`: all."""
  return Share(builds_ensemble=True, subnetworks=range(num_subnetworks),
               trains_subnetworks=True)


@functools.lru_cache(maxsize=1024)
def round_robin(num_workers: int, worker_index: int, num_subnetworks: int,
                drop_remainder: bool) -> Share:
  """Returns the share of a worker under `RoundRobinStrategy`.

  A round is k + 1 workers: the first has the ensemble, each other worker one
  subnetwork. 9 workers with 3 subnetworks are two rounds and one more::

      worker    0  1  2  3 | 4  5  6  7 | 8
      trains    E  0  1  2 | E  0  1  2 | E

  So worker 5 of 9 trains subnetwork 0. The workers of a longer tail share all
  subnetworks. Here are 7 workers, with a tail of 3::

      worker    0  1  2  3 | 4  5     6
      trains    E  0  1  2 | E  0, 2  1

  If the remainder is dropped, worker 5 of 7 trains subnetwork 0 alone. With one
  subnetwork, all workers do everything, and so does a worker that is alone.
  """
  if num_subnetworks == 1:
    return replication(1)
  round_size = num_subnetworks + 1
  place = worker_index % round_size
  if place == 0:
    return Share(builds_ensemble=True, subnetworks=range(num_subnetworks),
                 trains_subnetworks=num_workers == 1)
  stride = num_subnetworks
  tail = num_workers % round_size
  if worker_index >= num_workers - tail and not drop_remainder:
    stride = tail - 1
  return Share(builds_ensemble=False, trains_subnetworks=True,
               subnetworks=range(place - 1, num_subnetworks, stride))


def round_robin_servers(num_ps: int, num_subnetworks: int,
                        subnetwork_index: int) -> range:
  """Returns the parameter servers of a subnetwork, n at least 1.

  They are dealt out in groups side by side, of sizes that differ by at most 1:
  5 to 3 subnetworks as 0 1 | 2 3 | 4. If there are fewer than subnetworks, some
  of these share one: 3 subnetworks have the servers 0, 1, 0 of 2.
  """
  if num_subnetworks > num_ps:
    first = subnetwork_index % num_ps
    return range(first, first + 1)
  size, num_larger = divmod(num_ps, num_subnetworks)
  first = subnetwork_index * size + min(subnetwork_index, num_larger)
  return range(first, first + size + (subnetwork_index < num_larger))


@functools.lru_cache(maxsize=1024)
def balanced(num_workers: int, worker_index: int, num_subnetworks: int,
             work: weights_lib.Work,
             num_ensemble_workers: Optional[int]) -> Share:
  """Returns the share of a worker under `BalancedStrategy`.

  The wrap-around rule, with costs as weights: the ensembles and the subnetworks
  are laid end to end, and worker w has part w of m equal ones. Here the
  ensembles cost 5, the subnetworks 1, 2 and 4, and there are 3 workers::

      | ensembles         | 0 | 1     | 2             |
      | worker 0      | worker 1      | worker 2      |

  Worker 1 gives 1/4 of its time to the ensembles, and of the rest 1/3 to
  subnetwork 0 and 2/3 to subnetwork 1. Who has ensembles builds all subnetworks
  too, to run them forward. The first workers may have the ensembles for
  themselves (`num_ensemble_workers`). Then these are not on the line.

  An evaluator, with m = 0, builds everything.
  """
  builder = Share(builds_ensemble=True, subnetworks=range(num_subnetworks),
                  trains_subnetworks=False)
  intervals_of, num_ahead = work.intervals_behind_ensembles, 0
  if num_ensemble_workers is not None:
    intervals_of = work.intervals
    if num_subnetworks > 1:  # At least one worker trains.
      num_ahead = min(num_ensemble_workers, num_workers - 1)
  if num_workers == 0 or worker_index < num_ahead:
    return builder
  of_ensembles, parts = intervals_of(num_subnetworks).part(
      worker_index - num_ahead, num_workers - num_ahead)
  if not parts:
    return builder
  if worker_index and not of_ensembles:
    return Share(builds_ensemble=False, trains_subnetworks=True,
                 subnetworks=range(parts[0][0], parts[-1][0] + 1),
                 fractions=parts)
  if not of_ensembles:  # The chief builds them beside its part of the line.
    ensembles = num_workers * fractions.Fraction(
        work.ensemble_cost(num_subnetworks))
    of_ensembles = ensembles / (
        ensembles + wrap_around.exact_sum(work.numbers(num_subnetworks)))
  return builder._replace(trains_subnetworks=True, fractions=parts,
                          ensemble_fraction=of_ensembles)


class ReplicationStrategy(strategy_lib.RuleStrategy):
  """Every worker builds and trains everything, on the default devices.

  With m workers, n parameter servers and k subnetworks:

  * Training speedup: O(m).
  * Variable fetches from parameter servers: O(m n k).
  * Memory per worker: O(k).
  * Stale gradients per subnetwork with asynchronous SGD: O(m).
  """

  def _share(self, num_subnetworks):
    return replication(num_subnetworks)


@functools.lru_cache(maxsize=None)
def _warn_of_untrained_subnetworks(num_workers, num_subnetworks):
  """Warns, once for each shape, that no worker trains some subnetworks."""
  untrained = range(num_workers - 1, num_subnetworks)
  indices = (", ".join(map(str, untrained)) if len(untrained) <= 20 else
             f"{untrained[0]} to {untrained[-1]}")
  logging.warning(
      "drop_remainder=True with the %s, and %d subnetworks: no worker trains "
      "subnetworks [%s]. Use at least %d workers beside the chief, or "
      "drop_remainder=False.", wording.trainers_text(num_workers),
      num_subnetworks, indices, num_subnetworks)


class RoundRobinStrategy(strategy_lib.RuleStrategy):
  """Deals the ensemble and the subnetworks out to the workers in turn.

  `round_robin` is the rule. A worker that trains builds one subnetwork only, so
  its memory does not grow with the number of candidates.

  With m workers, n parameter servers and k subnetworks:

  * Training speedup: O(m / k).
  * Variable fetches from parameter servers: O(m n / k).
  * Memory per worker: O(1).
  * Stale gradients per subnetwork with asynchronous SGD: O(m / k).
  """

  def __init__(self, drop_remainder: bool = False,
               dedicate_parameter_servers: bool = True):
    """Makes a strategy; set its `config` before asking it for a decision.

    Args:
      drop_remainder: bool. If True, each worker of a last, partial round, but
        for its first, trains one subnetwork. If there is no whole round, some
        subnetworks are then never trained; a warning lists them. (A worker that
        is alone trains all.) If False, these workers share all subnetworks.
      dedicate_parameter_servers: bool. Whether each subnetwork's variables live
        on a group of parameter servers of their own (with more subnetworks than
        parameter servers, on one that they share). Otherwise they go to the
        default devices.
    """
    self._drop_remainder = drop_remainder
    self._dedicates = dedicate_parameter_servers

  def __repr__(self) -> str:
    options = []
    if self._drop_remainder:
      options.append("drop_remainder=True")
    if not self._dedicates:
      options.append("dedicate_parameter_servers=False")
    return f"{type(self).__name__}({', '.join(options)})"

  def _share(self, num_subnetworks):
    if num_subnetworks == 1:
      self.config  # Must be set, although one subnetwork needs nothing of it.
      return replication(1)
    config = self.config
    num_workers, worker_index = _arguments.read_worker(config)
    if (self._drop_remainder and 1 < num_workers <= num_subnetworks and
        type(config) is not _arguments.TaskConfig):  # A plan does not warn.
      _warn_of_untrained_subnetworks(num_workers, num_subnetworks)
    return round_robin(
        num_workers, worker_index, num_subnetworks, self._drop_remainder)

  def _dedicated(self, num_ps, num_subnetworks, subnetwork_index):
    return round_robin_servers(num_ps, num_subnetworks, subnetwork_index)


class BalancedStrategy(strategy_lib.RuleStrategy):
  """Gives every worker the same work, whatever the subnetworks cost.

  `balanced` is the rule: equal parts of a line of the ensembles and the
  subnetworks, each as long as it costs. A worker divides its time as its part
  is divided, so no worker waits for another: with costs that add up to C, and
  E for the ensembles, m workers train one step of everything in a time of
  (C + E) / m, and nothing is faster. A worker trains neighboring subnetworks.
  There are at most k + m - 1 pairs of a worker and a subnetwork that it trains.

  This is McNaughton's wrap-around rule (R. McNaughton, "Scheduling with
  deadlines and loss functions", Management Science 6(1), 1959), except that
  several workers may train one subnetwork, or the ensembles, at the same time.

  With a number as `num_ensemble_workers`, the first workers build the ensembles
  and all subnetworks, and train nothing; the rest have the parts of a line of
  subnetworks alone. At least one worker trains: if it is alone, or if the
  number is 0, the first worker builds the ensembles and all subnetworks, and
  trains its part. So it is also for a single subnetwork, which all workers
  train.

  The parameter servers follow the same rule. The subnetworks are laid end to
  end by their sizes, and each parameter server has one of n equal parts. The
  hash of a variable's name picks a point on its subnetwork's interval, and the
  variable lives where that point is. So every parameter server expects the same
  number of bytes.

  With m workers, n parameter servers and k subnetworks of equal cost and size,
  k not above m and n:

  * Training speedup: O(m / k).
  * Variable fetches from parameter servers: O(m n / k) by workers that train
    subnetworks, O(m n) by workers that train ensembles: about a quarter of all.
  * Memory per worker: O(1), two subnetworks or three; O(k) with ensembles.
  * Stale gradients per subnetwork with asynchronous SGD: O(m / k).

  Use it if the subnetworks cost unequal time, if there are four subnetworks or
  more and their ensembles are too much for one worker, or if there are few
  workers. It is never slower than `RoundRobinStrategy`. Keep RoundRobinStrategy
  if only the chief has the memory for all subnetworks.
  """

  def __init__(self, costs: weights_lib.Given = None,
               sizes: weights_lib.Given = None,
               num_ensemble_workers: Optional[int] = None,
               dedicate_parameter_servers: bool = True,
               ensemble_cost: weights_lib.GivenEnsembleCost = None):
    """Makes a strategy; set its `config` before asking it for a decision.

    Args:
      costs: how long a training step of each subnetwork takes; only the ratios
        count. None for equal costs, a sequence of a number greater than 0 for
        each subnetwork, a function from the number of subnetworks to such a
        sequence, or "measured": the chief measures them at the start of each
        iteration. Until then they are equal. All tasks must have the same. A
        float is taken by its exact value.
      sizes: how many bytes the variables of each subnetwork have, like `costs`.
      num_ensemble_workers: int, at least 0, the workers that build the
        ensembles and train nothing. With 0 the chief builds them and trains
        too. None: as many as the ensembles need, and fractions of them.
      dedicate_parameter_servers: bool. Whether the parameter servers are
        divided among the subnetworks, by `sizes`. Otherwise variables go to the
        default devices.
      ensemble_cost: how long a step of all ensembles takes, in the units of
        `costs`: it runs the new subnetworks and the previous ensemble forward.
        A number of at least 0, or a function from the number of subnetworks
        to one. None for a third of the sum of the costs; with measured costs
        it is measured too, in nanoseconds. It is 0 where all ensemblers are
        fitted, such as a `GreedyEnsembler`: they have no step.

    Raises:
      TypeError: an argument has a wrong type.
      ValueError: a number is out of range.
    """
    if num_ensemble_workers is not None:
      num_ensemble_workers = _arguments.check_integer(
          "num_ensemble_workers", num_ensemble_workers, at_least=0)
    self.work = weights_lib.Work(costs, ensemble_cost)
    self.sizes = weights_lib.Weights("sizes", sizes)
    self._num_ensemble_workers = num_ensemble_workers
    self._dedicates = dedicate_parameter_servers

  @property
  def measures(self) -> bool:
    """Whether costs or sizes are "measured"."""
    return self.work.is_measured or self.sizes.is_measured

  def _with(self, work, sizes):
    """Returns a copy with other costs and sizes."""
    strategy = self.with_config(self._config)
    strategy.work, strategy.sizes = work, sizes
    return strategy

  def with_measured(
      self: _Balanced, costs: Optional[Sequence[wrap_around.Number]] = None,
      sizes: Optional[Sequence[wrap_around.Number]] = None,
      ensemble_cost: Optional[wrap_around.Number] = None) -> _Balanced:
    """Returns a copy of this strategy that knows the measured costs and sizes.

    Args:
      costs: sequence of numbers, one for each subnetwork, to take instead of
        "measured"; None for equal ones. If `costs` of this strategy is
        something else, it stays.
      sizes: the same for `sizes`.
      ensemble_cost: number, the cost of a step of all ensembles, in the unit of
        these costs; None for a third of their sum. If `ensemble_cost` of this
        strategy is not None, it stays.

    Raises:
      TypeError, ValueError: an argument is wrong, or as for `with_config`.
    """
    return self._with(self.work.with_measured(costs, ensemble_cost),
                      self.sizes.with_measured(sizes))

  def for_earlier_iterations(self: "_Balanced") -> "_Balanced":
    """As in `PlacementStrategy`: with equal costs and sizes."""
    return self._with(weights_lib.Work(None, None),
                      weights_lib.Weights("sizes", None))

  def costs_of(self, num_subnetworks: int) -> Sequence[wrap_around.Number]:
    """Returns the cost of each subnetwork; ones if they are equal."""
    return self.work.numbers(
        _arguments.check_num_subnetworks(num_subnetworks))

  def ensemble_cost_of(self, num_subnetworks: int) -> wrap_around.Number:
    """Returns the cost of a step of all ensembles, in the units of the costs.
    """
    return self.work.ensemble_cost(
        _arguments.check_num_subnetworks(num_subnetworks))

  def sizes_of(self, num_subnetworks: int) -> Sequence[wrap_around.Number]:
    """Returns the size of each subnetwork; ones if they are equal."""
    return self.sizes.numbers(
        _arguments.check_num_subnetworks(num_subnetworks))

  def __repr__(self) -> str:
    options = []
    if self.work.given is not None:
      options.append(f"costs={self.work!r}")
    if self.sizes.given is not None:
      options.append(f"sizes={self.sizes!r}")
    if self._num_ensemble_workers is not None:
      options.append(f"num_ensemble_workers={self._num_ensemble_workers}")
    if not self._dedicates:
      options.append("dedicate_parameter_servers=False")
    if self.work.ensembles is not None:
      options.append(f"ensemble_cost={weights_lib.show(self.work.ensembles)}")
    return f"{type(self).__name__}({', '.join(options)})"

  def _share(self, num_subnetworks):
    num_workers, worker_index = _arguments.read_worker(self.config)
    return balanced(num_workers, worker_index, num_subnetworks, self.work,
                    self._num_ensemble_workers)

  def training_fractions(
      self, num_subnetworks: int) -> Dict[int, fractions.Fraction]:
    num_subnetworks = _arguments.check_num_subnetworks(num_subnetworks)
    if strategy_lib.overrides(
        self, strategy_lib.RuleStrategy, "should_build_subnetwork",
        "should_train_subnetworks"):
      return super().training_fractions(num_subnetworks)  # Not as on the line.
    return dict(self._share(num_subnetworks).fractions or ())

  def ensemble_fraction(self, num_subnetworks: int) -> fractions.Fraction:
    num_subnetworks = _arguments.check_num_subnetworks(num_subnetworks)
    share = self._share(num_subnetworks)
    if share.ensemble_fraction is None or strategy_lib.overrides(
        self, BalancedStrategy, "should_build_ensemble", "training_fractions",
        "should_build_subnetwork", "should_train_subnetworks"):
      return super().ensemble_fraction(num_subnetworks)
    return share.ensemble_fraction

  def _dedicated(self, num_ps, num_subnetworks, subnetwork_index):
    return self.sizes.intervals(num_subnetworks).interval(
        subnetwork_index, num_ps)

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Assigns the building and training of subnetworks to workers.

Each worker of a cluster uses a separate strategy object and does not
communicate with other workers. So all decisions follow from numbers: m workers,
where the chief is worker 0; the index w of this worker; k subnetworks in the
iteration; and n parameter servers.

For each strategy, a function implements the rule: the work of worker w of m, as
a `Share`. Results are cached, because a plan queries each worker about every
subnetwork. The strategy classes combine the rules with a config and AdaNet's
methods; `strategy.py` has the common part.
"""

import fractions
import functools
from typing import Dict, Optional, Sequence, TypeVar

from adanet import _sole_owner
# Python prefers this folder to AdaNet's placement.py, which AdaNet's __init__.py
# imports before TensorFlow. So this check detects a later installation, too.
_sole_owner.check()
from adanet import checks
from adanet import log as logging
from adanet.console import wording
from adanet.distributed import _arguments
from adanet.distributed import strategy as strategy_lib
from adanet.distributed import weights as weights_lib

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

  A round has k + 1 workers: the first trains the ensemble, and each following
  worker trains a subnetwork. With 3 subnetworks, 9 workers are two rounds and a
  remainder of a single worker::

      worker    0  1  2  3 | 4  5  6  7 | 8
      trains    E  0  1  2 | E  0  1  2 | E

  So worker 5 of 9 trains subnetwork 0. The workers of a longer remainder share
  all subnetworks. For example, 7 workers have a remainder of 3::

      worker    0  1  2  3 | 4  5     6
      trains    E  0  1  2 | E  0, 2  1

  With `drop_remainder`, worker 5 of 7 trains only subnetwork 0. For a single
  subnetwork or a single worker, all workers build and train everything.
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
  """Returns the parameter servers of a subnetwork, for n of at least 1.

  Subnetworks get groups of neighboring parameter servers of sizes that differ
  by at most 1: with 5 servers, 3 subnetworks get 0 1 | 2 3 | 4. With fewer
  servers than subnetworks, subnetworks share servers: with 2 servers, 3
  subnetworks get 0, 1 and 0.
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

  The wrap-around rule lays the ensembles and the subnetworks end to end on a
  line, each as long as its cost, and cuts the line into m equal parts. Worker w
  gets part w. Here the ensembles cost 5, the subnetworks cost 1, 2 and 4, and m
  is 3::

      | ensembles         | 0 | 1     | 2             |
      | worker 0      | worker 1      | worker 2      |

  Worker 1 spends 1/4 of the time on the ensembles, and of the remaining time
  1/3 on subnetwork 0 and 2/3 on subnetwork 1. A worker with ensembles also
  builds all subnetworks to run them forward. With `num_ensemble_workers`, the
  first workers build only the ensembles, which are then not on the line.

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
  if not of_ensembles:  # The chief also builds the ensembles.
    ensembles = num_workers * fractions.Fraction(
        work.ensemble_cost(num_subnetworks))
    of_ensembles = ensembles / (
        ensembles + weights_lib.exact_sum(work.numbers(num_subnetworks)))
  return builder._replace(trains_subnetworks=True, fractions=parts,
                          ensemble_fraction=of_ensembles)


class ReplicationStrategy(strategy_lib.RuleStrategy):
  """All workers build and train everything, on the default devices.

  For example::

      estimator = adanet.Estimator(
          head, generator, max_iteration_steps=1000,
          placement_strategy=adanet.distributed.ReplicationStrategy())

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
  """Warns once per shape that no worker trains some subnetworks."""
  untrained = range(num_workers - 1, num_subnetworks)
  indices = (", ".join(map(str, untrained)) if len(untrained) <= 20 else
             f"{untrained[0]} to {untrained[-1]}")
  logging.warning(
      "drop_remainder=True with the %s, and %d subnetworks: no worker trains "
      "subnetworks [%s]. Use at least %d workers beside the chief, or "
      "drop_remainder=False.", wording.trainers_text(num_workers),
      num_subnetworks, indices, num_subnetworks)


class RoundRobinStrategy(strategy_lib.RuleStrategy):
  """Assigns the ensemble and the subnetworks to workers in turn.

  `round_robin` is the rule. A training worker builds only a single subnetwork,
  so the memory of the worker does not grow with the number of candidates. For
  example::

      estimator = adanet.Estimator(
          head, generator, max_iteration_steps=1000,
          placement_strategy=adanet.distributed.RoundRobinStrategy())

  With m workers, n parameter servers and k subnetworks:

  * Training speedup: O(m / k).
  * Variable fetches from parameter servers: O(m n / k).
  * Memory per worker: O(1).
  * Stale gradients per subnetwork with asynchronous SGD: O(m / k).
  """

  def __init__(self, drop_remainder: bool = False,
               dedicate_parameter_servers: bool = True):
    """Makes a strategy. Decisions require a `config`, see `with_config`.

    Args:
      drop_remainder: bool. If False, the workers of the last, partial round,
        except the first of the round, share all subnetworks. If True, each of
        these workers trains a single subnetwork. Then, without a complete
        round, some subnetworks are never trained and a warning lists them. A
        single worker always trains all subnetworks.
      dedicate_parameter_servers: bool. Whether each subnetwork's variables live
        on a separate group of parameter servers (or on a shared parameter
        server, with more subnetworks than parameter servers). If False,
        variables go to the default devices.
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
      self.config  # Must be set, although the decision does not depend on it.
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
  """Gives all workers equal work, regardless of the costs of subnetworks.

  `balanced` is the rule: equal parts of a line of the ensembles and the
  subnetworks, each as long as its cost. A worker divides the time in proportion
  to the worker's part, so no worker waits for another. With costs of sum C, and
  E for the ensembles, m workers train a step of everything in the time
  (C + E) / m, which is optimal. A worker trains neighboring subnetworks. At
  most k + m - 1 pairs of a worker and a trained subnetwork exist. For example::

      estimator = adanet.Estimator(
          head, generator, max_iteration_steps=1000,
          placement_strategy=adanet.distributed.BalancedStrategy(
              costs="measured"))

  This is McNaughton's wrap-around rule (R. McNaughton, "Scheduling with
  deadlines and loss functions", Management Science 6(1), 1959), except that
  several workers may train a subnetwork, or the ensembles, at the same time.

  With a number as `num_ensemble_workers`, the first workers build the ensembles
  and all subnetworks and train no subnetwork; the other workers get the parts
  of a line of only subnetworks. At least one worker trains subnetworks: with a
  single worker or the number 0, the first worker builds the ensembles and all
  subnetworks, and trains its part. The same holds for a single subnetwork,
  which all workers train.

  The parameter servers follow the same rule. The subnetworks are laid end to
  end by size, and each parameter server holds one of n equal parts. The hash of
  a variable's name picks a point on the subnetwork's interval, and the
  parameter server at the point holds the variable. So all parameter servers
  expect the same number of bytes.

  With m workers, n parameter servers and k subnetworks of equal cost and size,
  k not above m and n:

  * Training speedup: O(m / k).
  * Variable fetches from parameter servers: O(m n / k) by workers that train
    subnetworks, O(m n) by workers that train ensembles: about a quarter of all.
  * Memory per worker: O(1), two subnetworks or three; O(k) with ensembles.
  * Stale gradients per subnetwork with asynchronous SGD: O(m / k).

  Use BalancedStrategy for subnetworks of unequal costs, for four or more
  subnetworks whose ensembles are too much for a single worker, or for few
  workers. BalancedStrategy is never slower than `RoundRobinStrategy`. Use
  RoundRobinStrategy if only the chief has the memory for all subnetworks.
  """

  def __init__(self, costs: weights_lib.WeightsArgument = None,
               sizes: weights_lib.WeightsArgument = None,
               num_ensemble_workers: Optional[int] = None,
               dedicate_parameter_servers: bool = True,
               ensemble_cost: weights_lib.EnsembleCostArgument = None):
    """Makes a strategy. Decisions require a `config`, see `with_config`.

    Args:
      costs: the time of a training step of each subnetwork, in any unit. None
        for equal costs; a sequence with a number greater than 0 for each
        subnetwork; a function from the number of subnetworks to a sequence; or
        "measured" for costs that the chief measures at the start of each
        iteration (equal before the measurement). All tasks must have equal
        arguments. A float counts with the exact value.
      sizes: the bytes of the variables of each subnetwork, in any unit and in
        the same forms as `costs`.
      num_ensemble_workers: int, at least 0, the number of workers that build
        the ensembles and train no subnetwork. With 0, the chief builds the
        ensembles and trains subnetworks, too. None for the number, including
        fractions of a worker, that the ensembles need.
      dedicate_parameter_servers: bool. Whether the parameter servers are
        divided among the subnetworks by `sizes`. If False, variables go to the
        default devices.
      ensemble_cost: the time of a step of all ensembles, in the units of
        `costs`: a number of at least 0, or a function from the number of
        subnetworks to a number. A step runs the new subnetworks and the
        previous ensemble forward. None for a third of the sum of the costs, or
        for a measurement in nanoseconds if the costs are measured. Always 0 if
        all ensemblers are fitted, such as `GreedyEnsembler`, because fitted
        ensemblers have no training step.

    Raises:
      TypeError: `costs`, `sizes` or `ensemble_cost` has another type, or
        `num_ensemble_workers` is not an integer.
      ValueError: `costs` or `sizes` contains a number that is not greater than
        0 or not finite, or `num_ensemble_workers` or `ensemble_cost` is less
        than 0.
    """
    if num_ensemble_workers is not None:
      num_ensemble_workers = checks.check_count(
          "num_ensemble_workers", num_ensemble_workers, 0)
    self.work = weights_lib.Work(costs, ensemble_cost)
    self.sizes = weights_lib.Weights("sizes", sizes)
    self._num_ensemble_workers = num_ensemble_workers
    self._dedicates = dedicate_parameter_servers

  @property
  def measures(self) -> bool:
    """Whether `costs` or `sizes` is "measured"."""
    return self.work.is_measured or self.sizes.is_measured

  def _with(self, work, sizes):
    """Returns a copy with other costs and sizes."""
    strategy = self.with_config(self._config)
    strategy.work, strategy.sizes = work, sizes
    return strategy

  def with_measured(
      self: _Balanced, costs: Optional[Sequence[weights_lib.Number]] = None,
      sizes: Optional[Sequence[weights_lib.Number]] = None,
      ensemble_cost: Optional[weights_lib.Number] = None) -> _Balanced:
    """Returns a copy of this strategy with measured costs and sizes.

    Args:
      costs: sequence with a number for each subnetwork, to replace "measured";
        None for equal costs. Ignored if `costs` of this strategy is not
        "measured".
      sizes: the same for `sizes`.
      ensemble_cost: number, the cost of a step of all ensembles in the unit of
        `costs`; None for a third of the sum of the costs. Ignored if
        `ensemble_cost` of this strategy is not None.

    Raises:
      TypeError: an argument is no number or sequence of numbers, or as for
        `with_config`.
      ValueError: a number is not greater than 0 or not finite.
    """
    return self._with(self.work.with_measured(costs, ensemble_cost),
                      self.sizes.with_measured(sizes))

  def for_earlier_iterations(self: "_Balanced") -> "_Balanced":
    """Returns a copy with equal costs and sizes. See `PlacementStrategy`."""
    return self._with(weights_lib.Work(None, None),
                      weights_lib.Weights("sizes", None))

  def costs_of(self, num_subnetworks: int) -> Sequence[weights_lib.Number]:
    """Returns the cost of each subnetwork; ones for equal costs."""
    return self.work.numbers(
        _arguments.check_num_subnetworks(num_subnetworks))

  def ensemble_cost_of(self, num_subnetworks: int) -> weights_lib.Number:
    """Returns the cost of a step of all ensembles, in the units of the costs.
    """
    return self.work.ensemble_cost(
        _arguments.check_num_subnetworks(num_subnetworks))

  def sizes_of(self, num_subnetworks: int) -> Sequence[weights_lib.Number]:
    """Returns the size of each subnetwork; ones for equal sizes."""
    return self.sizes.numbers(
        _arguments.check_num_subnetworks(num_subnetworks))

  def __repr__(self) -> str:
    options = []
    if self.work.argument is not None:
      options.append(f"costs={self.work!r}")
    if self.sizes.argument is not None:
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

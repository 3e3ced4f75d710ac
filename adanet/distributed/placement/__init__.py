# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Who builds what, who trains it, and where its variables live.

Every worker of a cluster asks its own strategy and talks to no other worker.
So each answer is a pure function of the cluster's shape, the worker's index,
the number of subnetworks, the subnetwork's index, and an op's name. The rules
are in `layout.py`; a strategy applies them to the worker of its config.
"""

import functools
from typing import Optional, Sequence, TypeVar

from adanet import _sole_owner
# Python prefers this folder to AdaNet's placement.py, which AdaNet's __init__.py
# imports before TensorFlow. So a later installation of it is noticed, too.
_sole_owner.check()
from absl import logging
from adanet.distributed import _arguments
from adanet.distributed import balanced
from adanet.distributed import layout as layout_lib
from adanet.distributed import lengths as lengths_lib
from adanet.distributed import line as line_lib
from adanet.distributed import strategy as strategy_lib
from adanet.distributed import tasks

PlacementStrategy = strategy_lib.PlacementStrategy

_Balanced = TypeVar("_Balanced", bound="BalancedStrategy")


class ReplicationStrategy(strategy_lib.LayoutStrategy, decides_by_layout=True):
  """Every worker builds and trains everything, on the default devices.

  With m workers, n parameter servers and k subnetworks:

  * Training speedup: O(m).
  * Variable fetches from parameter servers: O(m n k).
  * Memory per worker: O(k).
  * Stale gradients per subnetwork with asynchronous SGD: O(m).
  """

  layout = layout_lib.ReplicationLayout()

  def _share(self, num_subnetworks):
    return self.layout.share(1, 0, num_subnetworks)  # The same for all.


@functools.lru_cache(maxsize=None)
def _warn_of_untrained_subnetworks(num_workers, num_subnetworks, untrained):
  """Warns, once for each shape, that no worker trains some subnetworks."""
  indices = (", ".join(map(str, untrained)) if len(untrained) <= 20 else
             f"{untrained[0]} to {untrained[-1]}")
  logging.warning(
      "drop_remainder=True with the %s, and %d subnetworks: no worker trains "
      "subnetworks [%s]. Use at least %d workers beside the chief, or "
      "drop_remainder=False.", tasks.trainers_text(num_workers),
      num_subnetworks, indices, num_subnetworks)


class RoundRobinStrategy(strategy_lib.LayoutStrategy, decides_by_layout=True):
  """Deals the ensemble and the subnetworks out to the workers in turn.

  The first worker of each round of k + 1 works on the ensemble, and each of the
  others builds and trains one subnetwork, so a worker's memory does not grow
  with the number of candidates. With fewer than k + 1 workers, those that train
  share the subnetworks.

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
    self.layout = layout_lib.RoundRobinLayout(
        drop_remainder, dedicate_parameter_servers)

  def __repr__(self) -> str:
    options = []
    if self.layout.drop_remainder:
      options.append("drop_remainder=True")
    if not self.layout.dedicates_parameter_servers:
      options.append("dedicate_parameter_servers=False")
    return f"{type(self).__name__}({', '.join(options)})"

  def _share(self, num_subnetworks):
    if num_subnetworks == 1:
      self.config  # Must be set, although one subnetwork needs nothing of it.
      return self.layout.share(1, 0, 1)
    num_workers, worker_index = _arguments.read_worker(self.config)
    if self.layout.drop_remainder and not isinstance(
        self.config, layout_lib.TaskConfig):  # A plan is not worth a warning.
      untrained = self.layout.untrained_subnetworks(
          num_workers, num_subnetworks)
      if untrained:
        _warn_of_untrained_subnetworks(num_workers, num_subnetworks, untrained)
    return self.layout.share(num_workers, worker_index, num_subnetworks)


class BalancedStrategy(strategy_lib.LayoutStrategy, decides_by_layout=True):
  """Gives every worker the same work, whatever the subnetworks cost.

  The ensembles and the subnetworks are laid end to end on a line, each as long
  as it costs: first what a step of all ensembles takes, then the subnetworks.
  The line is cut into equal parts, one for each worker, in the order of their
  indices. A worker whose part covers some of the ensembles builds these and all
  subnetworks, and trains all ensembles in one run, with the fraction of its
  time that the part has of them. It builds and trains the subnetworks that its
  part covers, each likewise. So no worker waits for another: with costs that
  add up to C, and E for the ensembles, m workers train one step of everything
  in a time of (C + E) / m, and nothing is faster. A worker trains neighboring
  subnetworks. There are at most k + m - 1 pairs of a worker and a subnetwork
  that it trains.

  This is McNaughton's wrap-around rule (R. McNaughton, "Scheduling with
  deadlines and loss functions", Management Science 6(1), 1959), except that
  several workers may train one subnetwork, or the ensembles, at the same time.

  With a number as `num_ensemble_workers`, the first workers build the ensembles
  and all subnetworks, and train nothing; the others have the parts of a line of
  subnetworks alone. At least one worker trains: if it is alone, or if the
  number is 0, the first worker builds the ensembles and all subnetworks, and
  trains its part. So it is also for a single subnetwork, which all workers
  train.

  The parameter servers follow the same rule. The subnetworks are laid end to
  end by their sizes, and each parameter server has one of n equal parts. The
  hash of a variable's name picks a point on its subnetwork's length, and the
  variable lives where that point is. So every parameter server expects the same
  number of bytes.

  With m workers, n parameter servers and k subnetworks of equal cost and size,
  k not above m and n:

  * Training speedup: O(m / k).
  * Variable fetches from parameter servers: O(m n / k) by those that train
    subnetworks, O(m n) by those that train ensembles: about a quarter of all.
  * Memory per worker: O(1), two subnetworks or three; O(k) with ensembles.
  * Stale gradients per subnetwork with asynchronous SGD: O(m / k).

  Use it if the subnetworks cost unequal time, if there are four subnetworks or
  more, whose ensembles are too much for one worker, or if there are few
  workers. It is never slower than `RoundRobinStrategy`. Keep to that one if
  only the chief has the memory for all subnetworks.
  """

  def __init__(self, costs: lengths_lib.Given = None,
               sizes: lengths_lib.Given = None,
               num_ensemble_workers: Optional[int] = None,
               dedicate_parameter_servers: bool = True,
               ensemble_cost: lengths_lib.GivenEnsembleCost = None):
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
        `costs`: it runs the new subnetworks forward, and those of the previous
        ensemble. A number greater than 0, or a function from the number of
        subnetworks to one. None for a third of the sum of the costs; with
        measured costs it is measured too, in nanoseconds.

    Raises:
      TypeError: an argument has a wrong type.
      ValueError: a number is out of range.
    """
    if num_ensemble_workers is not None:
      num_ensemble_workers = _arguments.check_integer(
          "num_ensemble_workers", num_ensemble_workers, at_least=0)
    self.layout = balanced.BalancedLayout(
        lengths_lib.Work(lengths_lib.Lengths("costs", costs), ensemble_cost),
        lengths_lib.Lengths("sizes", sizes), num_ensemble_workers,
        dedicate_parameter_servers)

  @property
  def measures(self) -> bool:
    """Whether costs or sizes are "measured"."""
    return (self.layout.work.costs.is_measured or
            self.layout.sizes.is_measured)

  def _with_layout(self, work, sizes):
    """Returns a copy that divides other work and other sizes."""
    strategy = self.with_config(self._config)
    strategy.layout = balanced.BalancedLayout(
        work, sizes, self.layout.num_ensemble_workers,
        self.layout.dedicates_parameter_servers)
    return strategy

  def with_measured(
      self: _Balanced, costs: Optional[Sequence[line_lib.Number]] = None,
      sizes: Optional[Sequence[line_lib.Number]] = None,
      ensemble_cost: Optional[line_lib.Number] = None) -> _Balanced:
    """Returns a copy of this strategy that knows what was measured.

    Args:
      costs: sequence of numbers, one for each subnetwork, to take instead of
        "measured"; None for equal ones. If `costs` of this strategy is
        something else, it stays.
      sizes: the same for `sizes`.
      ensemble_cost: number, what a step of all ensembles takes, in the units of
        these costs; None for a third of their sum. If `ensemble_cost` of this
        strategy is not None, it stays.

    Raises:
      TypeError: an argument is not a sequence of numbers, or as for
        `with_config`.
      ValueError: a number is not greater than 0.
    """
    return self._with_layout(
        self.layout.work.with_measured(costs, ensemble_cost),
        self.layout.sizes.with_measured(sizes))

  def for_earlier_iterations(self: "_Balanced") -> "_Balanced":
    """As in `PlacementStrategy`: with equal costs and sizes."""
    return self._with_layout(
        lengths_lib.Work(lengths_lib.Lengths("costs", None), None),
        lengths_lib.Lengths("sizes", None))

  def costs_of(self, num_subnetworks: int) -> Sequence[line_lib.Number]:
    """Returns the cost of each subnetwork; ones if they are equal.

    Raises:
      TypeError, ValueError: there are no such costs for `num_subnetworks`.
    """
    return self.layout.work.costs.numbers(
        _arguments.check_num_subnetworks(num_subnetworks))

  def ensemble_cost_of(self, num_subnetworks: int) -> line_lib.Number:
    """Returns what a step of all ensembles takes, in the units of the costs.

    Raises:
      TypeError, ValueError: there is no such cost for `num_subnetworks`.
    """
    return self.layout.work.ensemble_cost(
        _arguments.check_num_subnetworks(num_subnetworks))

  def sizes_of(self, num_subnetworks: int) -> Sequence[line_lib.Number]:
    """Returns the size of each subnetwork; ones if they are equal.

    Raises:
      TypeError, ValueError: there are no such sizes for `num_subnetworks`.
    """
    return self.layout.sizes.numbers(
        _arguments.check_num_subnetworks(num_subnetworks))

  def __repr__(self) -> str:
    layout = self.layout
    options = []
    if layout.work.costs.given is not None:
      options.append(f"costs={layout.work.costs!r}")
    if layout.sizes.given is not None:
      options.append(f"sizes={layout.sizes!r}")
    if layout.num_ensemble_workers is not None:
      options.append(f"num_ensemble_workers={layout.num_ensemble_workers}")
    if not layout.dedicates_parameter_servers:
      options.append("dedicate_parameter_servers=False")
    if layout.work.given is not None:
      options.append(f"ensemble_cost={layout.work!r}")
    return f"{type(self).__name__}({', '.join(options)})"

  def _share(self, num_subnetworks):
    num_workers, worker_index = _arguments.read_worker(self.config)
    return self.layout.share(num_workers, worker_index, num_subnetworks)

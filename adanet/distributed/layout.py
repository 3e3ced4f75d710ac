# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Layouts: the rules of the placement strategies, as pure functions.

A layout says, from numbers alone, what each worker of a cluster builds and
trains, which share of the input it reads, and which parameter servers hold a
subnetwork. It checks nothing: the strategies of `placement` and the plan
check their arguments and then ask a layout.

The letters in the formulas: m workers (the chief is one), n parameter servers,
k subnetworks in the iteration; w is a worker's index, i a subnetwork's.
"""

import abc
import collections
import fractions as fractions_lib
from typing import Any, Dict, Iterable, NamedTuple, Optional, Sequence, Tuple

from adanet.distributed import lengths
from adanet.distributed import line as line_lib
import six

Pipeline = Tuple[int, int]
"""`(num_input_pipelines, input_pipeline_id)`, as in a `tf.distribute`
`InputContext`: the second in [0, first)."""


class Share(NamedTuple):
  """What one worker does in one iteration, or what a part of one has.

  Attributes:
    builds_ensemble: whether it builds ensembles: all those whose new
      subnetworks are among those that it builds.
    subnetworks: the indices of the subnetworks that it builds, increasing; a
      range in every layout but `AskedLayout`.
    trains_subnetworks: whether it trains subnetworks.
    fractions: sequence of pairs of a subnetwork that it trains, increasing, and
      the part of its time for subnetworks that this one gets, a `Fraction`.
      None: it trains all that it builds, each of them in every step.
    ensemble_fraction: the part of its time for ensembles, a `Fraction`, if it
      divides its time between these and subnetworks. Otherwise None.
  """
  builds_ensemble: bool
  subnetworks: Sequence[int]
  trains_subnetworks: bool
  fractions: Optional[Sequence[Tuple[int, fractions_lib.Fraction]]] = None
  ensemble_fraction: Optional[fractions_lib.Fraction] = None

  @property
  def trained(self) -> Sequence[int]:
    """The indices of the subnetworks that it trains, increasing."""
    if not self.trains_subnetworks:
      return range(0)
    if self.fractions is None:
      return self.subnetworks
    return tuple(i for i, _ in self.fractions)

  @property
  def num_trained(self) -> int:
    """The number of subnetworks that it trains."""
    return len(self.trained)

  def training_fractions(self) -> Dict[int, fractions_lib.Fraction]:
    """Returns the part of its time for subnetworks that each of them gets."""
    if self.fractions is not None:
      return dict(self.fractions)
    return {i: fractions_lib.Fraction(1, self.num_trained)
            for i in self.trained}

  def time_for_ensembles(self, num_subnetworks: int) -> fractions_lib.Fraction:
    """Returns the part of its time for ensembles.

    In lockstep it follows from costs that are equal, and from ensembles that
    take `lengths.FORWARD` of all subnetworks.

    Args:
      num_subnetworks: int, of the iteration.
    """
    if not (self.builds_ensemble and self.trains_subnetworks):
      return fractions_lib.Fraction(int(self.builds_ensemble))
    if self.ensemble_fraction is not None:
      return self.ensemble_fraction
    ensembles = num_subnetworks * lengths.FORWARD
    return ensembles / (ensembles + self.num_trained)


Group = Tuple[range, Share]
"""Workers that have the same share, and that share."""


@six.add_metaclass(abc.ABCMeta)
class Layout:
  """The rules of a strategy.

  The arguments of its methods are m, n and k: `num_workers`, `num_ps` and
  `num_subnetworks`; and indices: `worker_index` in [0, m) and
  `subnetwork_index` in [0, k).

  Attributes:
    dedicates_parameter_servers: bool, whether a subnetwork's variables go to
      its `parameter_servers`, and not to the default devices.
    divides_time: bool, whether a worker divides its time among the subnetworks
      that it trains, by the fractions of its share. Otherwise it trains all of
      them in every step.
  """

  dedicates_parameter_servers = False
  divides_time = False

  @abc.abstractmethod
  def share(self, num_workers: int, worker_index: int,
            num_subnetworks: int) -> Share:
    """Returns the `Share` of one worker."""

  @abc.abstractmethod
  def groups(self, num_workers: int, num_subnetworks: int) -> Iterable[Group]:
    """Returns the share of every worker, once for workers that are alike.

    Returns:
      Pairs of a range of workers and the `Share` of each of them, by their
      first worker. Each worker is in one of the ranges.
    """

  @abc.abstractmethod
  def input_share(
      self, num_workers: int, worker_index: int, num_subnetworks: int,
      subnetwork_index: int) -> Optional[Pipeline]:
    """Returns this worker's part of the input for a subnetwork.

    Returns:
      The `Pipeline`: the number of workers that divide the input, and this
      worker's place among them. None if the worker reads nothing for it.
    """

  @abc.abstractmethod
  def parameter_servers(self, num_ps: int, num_subnetworks: int,
                        subnetwork_index: int) -> Optional[Iterable[int]]:
    """Returns the tasks of the job `ps` that hold a subnetwork's variables.

    Returns:
      A range, or another iterable, of int; None if that is not known.
    """

  def segment(self, num_ps: int, num_subnetworks: int,
              subnetwork_index: int) -> Optional[line_lib.Segment]:
    """Returns the place of a subnetwork among all parameter servers.

    Returns:
      The `Segment` on which the hash of a variable's name picks a point; its
      parts are `parameter_servers`. None if the hash picks one of these with
      equal chances.
    """
    del num_ps, num_subnetworks, subnetwork_index
    return None


class ReplicationLayout(Layout):
  """Every worker builds and trains everything."""

  def share(self, num_workers, worker_index, num_subnetworks):
    return Share(builds_ensemble=True, subnetworks=range(num_subnetworks),
                 trains_subnetworks=True)

  def groups(self, num_workers, num_subnetworks):
    return [(range(num_workers), self.share(num_workers, 0, num_subnetworks))]

  def input_share(self, num_workers, worker_index, num_subnetworks,
                  subnetwork_index):
    return num_workers, worker_index

  def parameter_servers(self, num_ps, num_subnetworks, subnetwork_index):
    return range(num_ps)


class RoundRobinLayout(Layout):
  """Rounds of k + 1 workers: the first on the ensemble, one a subnetwork.

  The last round may be partial. Its workers that train share all subnetworks,
  unless the remainder is dropped.

  Attributes:
    drop_remainder: bool, as in `RoundRobinStrategy`.
  """

  def __init__(self, drop_remainder: bool, dedicate_parameter_servers: bool):
    """Makes a layout; the arguments are those of `RoundRobinStrategy`."""
    self.drop_remainder = drop_remainder
    self.dedicates_parameter_servers = dedicate_parameter_servers

  def untrained_subnetworks(self, num_workers: int,
                            num_subnetworks: int) -> range:
    """Returns the range of the subnetworks that no worker trains."""
    if self.drop_remainder and 1 < num_workers <= num_subnetworks:
      return range(num_workers - 1, num_subnetworks)
    return range(0)

  def share(self, num_workers, worker_index, num_subnetworks):
    if num_subnetworks == 1:
      return Share(True, range(1), True)
    round_size = num_subnetworks + 1
    task = worker_index % round_size
    if task == 0:
      return Share(True, range(num_subnetworks), num_workers == 1)
    tail = num_workers % round_size
    shares_the_tail = (
        worker_index >= num_workers - tail and not self.drop_remainder)
    stride = tail - 1 if shares_the_tail else num_subnetworks
    return Share(False, range(task - 1, num_subnetworks, stride), True)

  def groups(self, num_workers, num_subnetworks):
    if num_subnetworks == 1:
      return [(range(num_workers), self.share(num_workers, 0, 1))]
    round_size = num_subnetworks + 1
    tail_start = num_workers - num_workers % round_size
    tasks = range(round_size if tail_start else 0)
    alike = [range(task, tail_start, round_size) for task in tasks]
    alike += [range(w, w + 1) for w in range(tail_start, num_workers)]
    return [(workers, self.share(num_workers, workers[0], num_subnetworks))
            for workers in alike]

  def input_share(self, num_workers, worker_index, num_subnetworks,
                  subnetwork_index):
    if num_subnetworks == 1:
      return num_workers, worker_index
    share = self.share(num_workers, worker_index, num_subnetworks)
    if subnetwork_index not in share.subnetworks:
      return None
    num_rounds, tail = divmod(num_workers, num_subnetworks + 1)
    if share.builds_ensemble:
      reads_in_tail = tail > 0
    elif self.drop_remainder:
      reads_in_tail = subnetwork_index < tail - 1
    else:
      reads_in_tail = tail > 1
    return num_rounds + reads_in_tail, worker_index // (num_subnetworks + 1)

  def parameter_servers(self, num_ps, num_subnetworks, subnetwork_index):
    """As in `Layout`: contiguous groups, as equal in size as can be."""
    if num_ps == 0 or not self.dedicates_parameter_servers:
      return range(num_ps)
    if num_subnetworks > num_ps:
      first = subnetwork_index % num_ps
      return range(first, first + 1)
    size, num_larger = divmod(num_ps, num_subnetworks)
    first = subnetwork_index * size + min(subnetwork_index, num_larger)
    return range(first, first + size + (subnetwork_index < num_larger))


class TaskConfig(collections.namedtuple("TaskConfig", [
    "num_worker_replicas", "num_ps_replicas", "global_id_in_cluster",
    "is_chief", "task_type", "task_id"])):
  """The attributes of a `RunConfig` that tell one worker from another."""
  __slots__ = ()

  def __getattr__(self, name):
    raise AttributeError(
        f"config.{name}: expected only "
        f"config.{', config.'.join(self._fields)}. A strategy of your own is "
        "asked as each worker, and these are all that is known of another "
        "worker.")


class AskedLayout(Layout):
  """The layout of any other strategy: asks it, as each worker of a cluster.

  `input_share` asks about all m workers, because its answer depends on the
  others.
  """

  def __init__(self, strategy: Any, num_workers: int, num_ps: Optional[int],
               knows_parameter_servers: bool = True):
    """Makes the layout of one cluster.

    Args:
      strategy: a `PlacementStrategy`. It does not change: a copy is asked.
      num_workers: m, for every question.
      num_ps: n, for every question; None if it is not known.
      knows_parameter_servers: whether `subnetwork_parameter_servers` is right
        for the strategy's `subnetwork_devices`.

    Raises:
      TypeError: the strategy cannot be copied.
    """
    self._strategy = strategy.with_config(None)
    self._num_workers = num_workers
    self._num_ps = num_ps
    self._knows_parameter_servers = knows_parameter_servers

  def _as_worker(self, worker_index):
    """Returns the strategy as a worker has it, until the next call."""
    self._strategy.config = TaskConfig(
        num_worker_replicas=self._num_workers,
        num_ps_replicas=self._num_ps,
        global_id_in_cluster=worker_index,
        is_chief=worker_index == 0,
        task_type="worker" if worker_index else "chief",
        task_id=max(0, worker_index - 1))
    return self._strategy

  def share(self, num_workers, worker_index, num_subnetworks):
    return self._as_worker(worker_index).worker_share(num_subnetworks)

  def groups(self, num_workers, num_subnetworks):
    for w in range(num_workers):
      yield range(w, w + 1), self.share(num_workers, w, num_subnetworks)

  def _reads_for(self, worker_index, num_subnetworks, subnetwork_index):
    """Returns what a worker reads input for, or None for nothing."""
    strategy = self._as_worker(worker_index)
    if strategy.should_train_subnetworks(num_subnetworks):
      builds = strategy.should_build_subnetwork(
          num_subnetworks, subnetwork_index)
      if not builds:
        return None
      if (not strategy.divides_time or
          subnetwork_index in strategy.training_fractions(num_subnetworks)):
        return "subnetwork"
    builds = strategy.should_build_ensemble(num_subnetworks)
    return "ensemble" if builds else None

  def input_share(self, num_workers, worker_index, num_subnetworks,
                  subnetwork_index):
    purposes = [self._reads_for(w, num_subnetworks, subnetwork_index)
                for w in range(num_workers)]
    purpose = purposes[worker_index]
    if purpose is None:
      return None
    return purposes.count(purpose), purposes[:worker_index].count(purpose)

  def parameter_servers(self, num_ps, num_subnetworks, subnetwork_index):
    if not self._knows_parameter_servers:
      return None
    # Any worker will do: all must look for a variable in the same place.
    return self._as_worker(0).subnetwork_parameter_servers(
        num_subnetworks, subnetwork_index)

  def segment(self, num_ps, num_subnetworks, subnetwork_index):
    strategy = self._as_worker(0)
    layout = getattr(strategy, "layout", None)
    if not isinstance(layout, Layout):
      return None
    # The strategy may see another number of parameter servers than there are.
    segment = layout.segment(
        strategy.config.num_ps_replicas, num_subnetworks, subnetwork_index)
    is_said = segment and segment.parts == self.parameter_servers(
        num_ps, num_subnetworks, subnetwork_index)
    return segment if is_said else None

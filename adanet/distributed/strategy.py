# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The common part of all placement strategies, which are in `placement`."""

import abc
import contextlib
import copy
import fractions as fractions_lib
import functools
from typing import Any, ContextManager, Dict, Iterable, Iterator, NamedTuple
from typing import Optional, Sequence, TypeVar, Union

from adanet import messages
from adanet import tf_compat
from adanet.console import wording
from adanet.distributed import _arguments
from adanet.distributed import devices
from adanet.distributed import input_parts
from adanet.distributed import weights
import six

TaskConfig = _arguments.TaskConfig

_Strategy = TypeVar("_Strategy", bound="PlacementStrategy")


class Share(NamedTuple):
  """The work of a worker in an iteration, or of a part of a worker.

  Attributes:
    builds_ensemble: whether the worker builds ensembles: all ensembles whose
      new subnetworks the worker builds.
    subnetworks: the indices of the built subnetworks, increasing.
    trains_subnetworks: whether the worker trains subnetworks.
    fractions: sequence of pairs of the index of a trained subnetwork,
      increasing, and the `Fraction` of the time for subnetworks. None: the
      worker trains all built subnetworks in every step.
    ensemble_fraction: the `Fraction` of the time for ensembles, if the worker
      divides the time between ensembles and subnetworks. Otherwise None.
  """
  builds_ensemble: bool
  subnetworks: Sequence[int]
  trains_subnetworks: bool
  fractions: Optional[weights.Fractions] = None
  ensemble_fraction: Optional[fractions_lib.Fraction] = None

  @property
  def trained(self) -> Sequence[int]:
    """The indices of the trained subnetworks, increasing."""
    if not self.trains_subnetworks:
      return ()
    if self.fractions is None:
      return self.subnetworks
    return tuple(i for i, _ in self.fractions)

  @property
  def takes_turns(self) -> bool:
    """Whether each step trains a single subnetwork, or all ensembles.

    This includes a worker with ensembles and a single subnetwork, because the
    ensembles wait for the subnetworks of other workers.
    """
    return self.fractions is not None and (
        self.builds_ensemble or len(self.fractions) > 1)


def overrides(strategy: "PlacementStrategy", base: type, *names: str) -> bool:
  """Returns whether a strategy overrides any of some methods of a base."""
  return any(
      getattr(getattr(strategy, name), "__func__", None)
      is not getattr(base, name) for name in names)


def _reads_for(worker, num_subnetworks, subnetwork_index):
  """Returns the kind of work that a worker reads input for, or None."""
  if worker.should_train_subnetworks(num_subnetworks):
    if not worker.should_build_subnetwork(num_subnetworks, subnetwork_index):
      return None
    if (not worker.divides_time or
        subnetwork_index in worker.training_fractions(num_subnetworks)):
      return "subnetwork"
  return "ensemble" if worker.should_build_ensemble(num_subnetworks) else None


@six.add_metaclass(abc.ABCMeta)
class PlacementStrategy:
  """Decides which part of the graph of an iteration a worker builds and trains.

  A subclass overrides the four abstract methods, which read the cluster from
  `config`. Training, plans and `input_context` call the methods as each worker.

  For example::

      strategy = adanet.distributed.RoundRobinStrategy().with_config(config)
      strategy.should_build_subnetwork(num_subnetworks=3, subnetwork_index=0)

  In all methods, `num_subnetworks` is the number of subnetworks of the
  iteration, an int of at least 1, and `subnetwork_index` is an int in
  [0, num_subnetworks). A method raises a RuntimeError without a required
  config, a TypeError if an argument or an attribute of the config is missing or
  no integer, and a ValueError if an argument or attribute is out of range.
  """

  _config: Any = None

  @property
  def config(self) -> Any:
    """The `RunConfig` of the cluster and of this worker.

    Any object with the attributes `num_worker_replicas` and
    `global_id_in_cluster` (for the work) and `num_ps_replicas` (for the
    devices) is accepted. Every method reads the config anew.

    Raises:
      RuntimeError: no config has been set.
    """
    if self._config is None:
      raise RuntimeError(
          "config=None: expected a RunConfig. Set "
          f"{type(self).__name__}.config before asking it for a decision.")
    return self._config

  @config.setter
  def config(self, config: Any) -> None:
    self._config = config

  def with_config(self: _Strategy, config: Any) -> _Strategy:
    """Returns a deep copy of this strategy with another config, or with None.

    Raises:
      TypeError: the strategy cannot be copied.
    """
    try:
      strategy = copy.deepcopy(self, {id(self._config): None})
    except Exception as e:
      raise TypeError(
          f"strategy={messages.describe(self)}: expected one that copy.deepcopy"
          " can copy, because a copy is asked as each worker.") from e
    strategy.config = config
    return strategy

  def as_workers(self: _Strategy, num_workers: int,
                 num_ps: Optional[int]) -> Iterator[_Strategy]:
    """Yields a copy of this strategy, with the config of each worker in turn.

    The config has only the size of the cluster and the position of the worker.
    All iterations yield the same copy.

    Args:
      num_workers: int, at least 1.
      num_ps: int, at least 0; None for an unknown number.

    Raises:
      TypeError: as for `with_config`.
    """
    strategy = self.with_config(None)
    for w in range(num_workers):
      strategy.config = TaskConfig(
          num_worker_replicas=num_workers,
          num_ps_replicas=num_ps,
          global_id_in_cluster=w,
          is_chief=w == 0,
          task_type="worker" if w else "chief",
          task_id=max(0, w - 1))
      yield strategy

  @abc.abstractmethod
  def should_build_ensemble(self, num_subnetworks: int) -> bool:
    """Whether this worker builds the ensemble."""

  @abc.abstractmethod
  def should_build_subnetwork(self, num_subnetworks: int,
                              subnetwork_index: int) -> bool:
    """Whether this worker builds the subnetwork."""

  @abc.abstractmethod
  def should_train_subnetworks(self, num_subnetworks: int) -> bool:
    """Whether this worker trains the built subnetworks."""

  def training_fractions(
      self, num_subnetworks: int) -> Dict[int, fractions_lib.Fraction]:
    """The division of this worker's time for subnetworks.

    By default, a worker trains all built subnetworks in every step, with equal
    fractions.

    Returns:
      Dict from the index of each trained subnetwork to a `Fraction`, of sum 1.
      Empty for a worker that does not train subnetworks.
    """
    num_subnetworks = _arguments.check_num_subnetworks(num_subnetworks)
    if not self.should_train_subnetworks(num_subnetworks):
      return {}
    built = self._built(num_subnetworks)
    return {i: fractions_lib.Fraction(1, len(built)) for i in built}

  def ensemble_fraction(self, num_subnetworks: int) -> fractions_lib.Fraction:
    """The fraction of this worker's time for ensembles.

    By default, a worker with ensembles and subnetworks trains all ensembles and
    subnetworks in every step. The cost of a subnetwork is 1. The cost of all
    ensembles is a third of the cost of all subnetworks of the iteration,
    because ensembles run the subnetworks forward.

    Returns:
      A `Fraction`: 0 without ensembles, 1 if this worker trains no subnetwork.
    """
    num_subnetworks = _arguments.check_num_subnetworks(num_subnetworks)
    if not self.should_build_ensemble(num_subnetworks):
      return fractions_lib.Fraction(0)
    if not self.should_train_subnetworks(num_subnetworks):
      return fractions_lib.Fraction(1)
    ensembles = num_subnetworks * weights.FORWARD
    return ensembles / (
        ensembles + len(self.training_fractions(num_subnetworks)))

  @property
  def divides_time(self) -> bool:
    """Whether a worker divides the time by `training_fractions`.

    Otherwise a worker trains all built subnetworks in every step.
    """
    return overrides(self, PlacementStrategy, "training_fractions")

  def _built(self, num_subnetworks):
    """Returns the subnetworks that this worker builds, a tuple of int."""
    builds = functools.partial(self.should_build_subnetwork, num_subnetworks)
    return tuple(filter(builds, range(num_subnetworks)))

  def worker_share(self, num_subnetworks: int) -> Share:
    """This worker's share: the results of the methods above."""
    num_subnetworks = _arguments.check_num_subnetworks(num_subnetworks)
    share = Share(bool(self.should_build_ensemble(num_subnetworks)),
                  self._built(num_subnetworks),
                  bool(self.should_train_subnetworks(num_subnetworks)))
    if not (self.divides_time and share.trains_subnetworks):
      return share
    return share._replace(
        fractions=tuple(sorted(
            self.training_fractions(num_subnetworks).items())),
        ensemble_fraction=self.ensemble_fraction(num_subnetworks)
        if share.builds_ensemble else None)

  def for_earlier_iterations(self: _Strategy) -> _Strategy:
    """Returns the strategy that places subnetworks of earlier iterations.

    The previous ensemble consists of earlier subnetworks. The number of earlier
    subnetworks may differ from the number of subnetworks in training.
    """
    return self

  @abc.abstractmethod
  def subnetwork_devices(self, num_subnetworks: int,
                         subnetwork_index: int) -> ContextManager[None]:
    """A context manager that places the ops of a subnetwork on devices."""

  def input_context(self, num_subnetworks: int, subnetwork_index: int) -> Any:
    """This worker's share of the input, among the subnetwork's trainers.

    The trainers of a subnetwork divide the input. Workers that train only
    ensembles also divide the input, with the same share for all subnetworks,
    because a batch feeds the whole graph. Workers that build a subnetwork only
    for an ensemble also divide the input. An evaluator reads all of the input.

    Returns:
      A `tf.distribute.InputContext`: `num_input_pipelines` is the number of
      workers in the division, `input_pipeline_id` the position of this worker.

    Raises:
      ValueError: also if this worker does not build the subnetwork.
    """
    num_subnetworks, subnetwork_index = _arguments.check_subnetwork(
        num_subnetworks, subnetwork_index)
    worker_index, workers = self._all_workers()
    purposes = [_reads_for(worker, num_subnetworks, subnetwork_index)
                for worker in workers]
    purpose = purposes[worker_index]
    if purpose is None:
      raise ValueError(
          f"subnetwork_index={subnetwork_index}: expected a subnetwork that "
          f"{wording.worker_names(len(purposes))[worker_index]} trains. Ask "
          "should_build_subnetwork and should_train_subnetworks first.")
    return tf_compat.v1.distribute.InputContext(
        purposes.count(purpose), purposes[:worker_index].count(purpose))

  def worker_input_context(self, num_subnetworks: int) -> Any:
    """This worker's share of the input of an iteration, for all training.

    The trainers of a subnetwork divide the input as in `input_context`. A
    worker whose subnetworks all have the same trainers reads the share from
    `input_context`. Any other worker reads the smallest share that contains the
    worker's shares for all subnetworks, so no subnetwork misses a row. The only
    trainer of a subnetwork reads all of the input. A trainer of ensembles reads
    all of the input unless the same workers train all subnetworks and ensembles
    of the worker.

    Returns:
      A `tf.distribute.InputContext`. See `input_context`.
    """
    num_subnetworks = _arguments.check_num_subnetworks(num_subnetworks)
    worker_index, workers = self._all_workers()
    parts = input_parts.of_workers(
        worker.worker_share(num_subnetworks) for worker in workers)
    return tf_compat.v1.distribute.InputContext(*parts[worker_index])

  def _all_workers(self):
    """Returns this worker's index, and an iterator of copies as each worker.

    An evaluator counts as the only worker.
    """
    # Reads the config as set, so that a subclass that changes attributes of the
    # config changes them in the copies, too.
    config = self.config if self._config is None else self._config
    num_workers, worker_index = _arguments.read_worker(config)
    if config.global_id_in_cluster is None:
      num_workers = 1
    return worker_index, self.as_workers(
        num_workers, getattr(config, "num_ps_replicas", None))

  def subnetwork_parameter_servers(
      self, num_subnetworks: int,
      subnetwork_index: int) -> Optional[Iterable[int]]:
    """The parameter servers that hold a subnetwork's variables.

    Plans use this method in place of `subnetwork_devices`, which needs
    TensorFlow. A strategy should override both or neither: with an override of
    `subnetwork_devices` alone, plans do not know the devices of variables.

    Returns:
      Range, or another iterable, of int: tasks of the job `ps`. Without
      dedicated parameter servers, all tasks, because `replica_device_setter`
      uses all. None for unknown parameter servers.
    """
    _arguments.check_subnetwork(num_subnetworks, subnetwork_index)
    return None

  def parameter_server_assignment(
      self, num_subnetworks: int, subnetwork_index: int
  ) -> Union[None, Iterable[int], weights.Interval]:
    """Returns the targets of the hashes of the names of variables.

    Returns:
      The `subnetwork_parameter_servers` for equal parts; an `Interval` that
      overlaps the parameter servers for unequal parts; None if unknown.
    """
    return self.subnetwork_parameter_servers(num_subnetworks, subnetwork_index)

  def __repr__(self) -> str:
    return type(self).__name__ + "()"


@contextlib.contextmanager
def _default_devices():
  yield


class RuleStrategy(PlacementStrategy):
  """A strategy of `placement`, which implements AdaNet's methods by a rule."""

  _dedicates = False  # Whether subnetworks have separate parameter servers.

  @abc.abstractmethod
  def _share(self, num_subnetworks):
    """Returns the `Share` of this worker; the argument has been checked."""

  def should_build_ensemble(self, num_subnetworks: int) -> bool:
    return self._share(
        _arguments.check_num_subnetworks(num_subnetworks)).builds_ensemble

  def should_build_subnetwork(self, num_subnetworks: int,
                              subnetwork_index: int) -> bool:
    num_subnetworks, subnetwork_index = _arguments.check_subnetwork(
        num_subnetworks, subnetwork_index)
    return subnetwork_index in self._share(num_subnetworks).subnetworks

  def _built(self, num_subnetworks):
    if overrides(self, RuleStrategy, "should_build_subnetwork"):
      return super()._built(num_subnetworks)
    return tuple(self._share(num_subnetworks).subnetworks)  # The same, faster.

  def should_train_subnetworks(self, num_subnetworks: int) -> bool:
    return self._share(
        _arguments.check_num_subnetworks(num_subnetworks)).trains_subnetworks

  def subnetwork_devices(self, num_subnetworks: int,
                         subnetwork_index: int) -> ContextManager[None]:
    """A scope that puts variables on the subnetwork's parameter servers.

    In a graph, eagerly and in a `tf.function`, the hash of a variable's name
    picks a parameter server. Devices of ops without variables stay unchanged.
    Variables keep a device set explicitly inside the scope. In a graph, a
    device with a job, replica or task is explicit. Eagerly, TensorFlow adds the
    job of the task to all devices, and any change of the device inside the
    scope is explicit.

    Returns:
      A context manager, without effect if no parameter server exists.
    """
    _arguments.check_subnetwork(num_subnetworks, subnetwork_index)
    servers = (self._hashed_to(num_subnetworks, subnetwork_index)
               if self._dedicates else None)
    if not isinstance(servers, (range, weights.Interval)):
      servers = () if servers is None else tuple(servers)
    return devices.variables_on(servers) if servers else _default_devices()

  def subnetwork_parameter_servers(
      self, num_subnetworks: int,
      subnetwork_index: int) -> Optional[Iterable[int]]:
    servers = self._servers(
        *_arguments.check_subnetwork(num_subnetworks, subnetwork_index))
    return servers if isinstance(servers, range) else servers.parts

  def _servers(self, num_subnetworks, subnetwork_index):
    """Returns the result of the rule: a range, or an `Interval` of a line."""
    num_ps = _arguments.read_num_ps(self.config)
    if num_ps == 0 or not self._dedicates:
      return range(num_ps)
    return self._dedicated(num_ps, num_subnetworks, subnetwork_index)

  def _hashed_to(self, num_subnetworks, subnetwork_index):
    """Returns the parameter servers, including a subclass's override."""
    servers = self._servers(num_subnetworks, subnetwork_index)
    if not overrides(self, RuleStrategy, "subnetwork_parameter_servers"):
      return servers
    answer = self.subnetwork_parameter_servers(
        num_subnetworks, subnetwork_index)
    is_interval = not isinstance(servers, range) and isinstance(
        answer, range) and servers.parts == answer
    return servers if is_interval else answer

  def parameter_server_assignment(
      self, num_subnetworks: int, subnetwork_index: int
  ) -> Union[None, Iterable[int], weights.Interval]:
    # With an override of `subnetwork_devices` alone, the devices of variables
    # are unknown. An override of `subnetwork_parameter_servers` alone moves the
    # variables, unless the variables go to the default devices.
    says, places = (
        overrides(self, RuleStrategy, name)
        for name in ("subnetwork_parameter_servers", "subnetwork_devices"))
    if says != places and not (says and self._dedicates):
      return None
    return self._hashed_to(num_subnetworks, subnetwork_index)

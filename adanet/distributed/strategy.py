# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The common part of all placement strategies.

The strategies themselves are in `placement`.
"""

import abc
import contextlib
import copy
import fractions as fractions_lib
import functools
from typing import Any, ContextManager, Dict, Iterable, Iterator, NamedTuple
from typing import Optional, Sequence, TypeVar, Union

from adanet import tf_compat
from adanet.console import wording
from adanet.distributed import _arguments
from adanet.distributed import devices
from adanet.distributed import input_parts
from adanet.distributed import weights
from adanet.distributed import wrap_around
import six

TaskConfig = _arguments.TaskConfig

_Strategy = TypeVar("_Strategy", bound="PlacementStrategy")


class Share(NamedTuple):
  """The work of one worker in one iteration, or of a part of one.

  Attributes:
    builds_ensemble: whether it builds ensembles: each one that has no new
      subnetwork but the ones that it builds.
    subnetworks: the indices of the subnetworks that it builds, increasing.
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
  fractions: Optional[wrap_around.Fractions] = None
  ensemble_fraction: Optional[fractions_lib.Fraction] = None

  @property
  def trained(self) -> Sequence[int]:
    """The indices of the subnetworks that it trains, increasing."""
    if not self.trains_subnetworks:
      return ()
    if self.fractions is None:
      return self.subnetworks
    return tuple(i for i, _ in self.fractions)

  @property
  def num_trained(self) -> int:
    """The number of subnetworks that it trains."""
    return len(self.trained)

  @property
  def takes_turns(self) -> bool:
    """Whether each of its steps is of one subnetwork, or of all ensembles.

    Who waits for the subnetworks of others trains its own one in turns, too.
    """
    return self.fractions is not None and (
        self.builds_ensemble or len(self.fractions) > 1)


def overrides(strategy: "PlacementStrategy", base: type, *names: str) -> bool:
  """Returns whether a strategy has other methods than a base of its class."""
  return any(
      getattr(getattr(strategy, name), "__func__", None)
      is not getattr(base, name) for name in names)


def _reads_for(worker, num_subnetworks, subnetwork_index):
  """Returns the part that a worker reads input for, or None for nothing."""
  if worker.should_train_subnetworks(num_subnetworks):
    if not worker.should_build_subnetwork(num_subnetworks, subnetwork_index):
      return None
    if (not worker.divides_time or
        subnetwork_index in worker.training_fractions(num_subnetworks)):
      return "subnetwork"
  return "ensemble" if worker.should_build_ensemble(num_subnetworks) else None


@six.add_metaclass(abc.ABCMeta)
class PlacementStrategy:
  """Answers, for one worker, which part of the graph is its own.

  A subclass overrides the four abstract methods, and may override more. They
  read all they need to know of the cluster from `config`. Training, plans and
  `input_context` ask these methods, as each worker that they want to know of.

  Each question is about one iteration: `num_subnetworks` is the number of its
  subnetworks, an int of at least 1, and `subnetwork_index` is an int in
  [0, num_subnetworks). Each question raises a RuntimeError if it needs a config
  and none is set; a TypeError if an argument or an attribute of the config is
  not an integer, or the config does not have the attribute; and a ValueError if
  one is out of range.
  """

  _config: Any = None

  @property
  def config(self) -> Any:
    """The `RunConfig` that describes the cluster and this worker's place in it.

    Any object will do that has all that a decision reads: `num_worker_replicas`
    and `global_id_in_cluster` for the work of a worker, `num_ps_replicas` for
    the devices. It is read at each question, so a config that changes in place
    is seen.

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
      TypeError: the strategy cannot be copied, or its config cannot be set.
    """
    expected = "that copy.deepcopy can copy"
    try:
      strategy = copy.deepcopy(self, {id(self._config): None})
      expected = "whose config can be set"
      strategy.config = config
    except Exception as e:
      raise TypeError(
          f"strategy={_arguments.show(self)}: expected one {expected}, because "
          "a copy is asked as each worker.") from e
    return strategy

  def as_workers(self: _Strategy, num_workers: int,
                 num_ps: Optional[int]) -> Iterator[_Strategy]:
    """Yields this strategy as each worker of a cluster has it.

    It is one copy with another config each time, which has only the size of the
    cluster and the worker's place in it.

    Args:
      num_workers: int, at least 1.
      num_ps: int, at least 0; None if it is not known.

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
    """Whether this worker trains the subnetworks that it builds."""

  def training_fractions(
      self, num_subnetworks: int) -> Dict[int, fractions_lib.Fraction]:
    """The part of its time for subnetworks that each of these gets.

    Unless a strategy says something else, a worker trains all subnetworks that
    it builds, each in every step, so the parts are equal.

    Returns:
      Dict from the index of each subnetwork that this worker trains to a
      `Fraction`; they add up to 1. Empty for a worker that does not train.
    """
    num_subnetworks = _arguments.check_num_subnetworks(num_subnetworks)
    if not self.should_train_subnetworks(num_subnetworks):
      return {}
    built = self._built(num_subnetworks)
    return {i: fractions_lib.Fraction(1, len(built)) for i in built}

  def ensemble_fraction(self, num_subnetworks: int) -> fractions_lib.Fraction:
    """The part of this worker's time for ensembles.

    Unless a strategy says something else, a worker with ensembles and
    subnetworks takes a step of all of them in turn. A step of a subnetwork then
    counts as 1, and one of all ensembles as a third of a step of all
    subnetworks of the iteration: they run these forward.

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
    """Whether a worker divides its time by `training_fractions`.

    Otherwise it trains all subnetworks that it builds, each in every step.
    """
    return overrides(self, PlacementStrategy, "training_fractions")

  def _built(self, num_subnetworks):
    """Returns the subnetworks that this worker builds, a tuple of int."""
    builds = functools.partial(self.should_build_subnetwork, num_subnetworks)
    return tuple(filter(builds, range(num_subnetworks)))

  def worker_share(self, num_subnetworks: int) -> Share:
    """This worker's share: the answers of the methods above."""
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

    These are in the graph because an earlier winner consists of them. An answer
    about the subnetworks that train now need not fit their number.
    """
    return self

  @abc.abstractmethod
  def subnetwork_devices(self, num_subnetworks: int,
                         subnetwork_index: int) -> ContextManager[None]:
    """A context manager: the ops of a subnetwork go to their devices."""

  def input_context(self, num_subnetworks: int, subnetwork_index: int) -> Any:
    """This worker's share of the input, among the subnetwork's trainers.

    The workers that train one subnetwork divide the input among them. The
    workers that train the ensemble alone do the same, and have one share for
    all subnetworks, because one batch feeds all that they build. So do the
    workers that build a subnetwork for their ensemble only, and train other
    ones. An evaluator has all of the input.

    Returns:
      A `tf.distribute.InputContext`: its `num_input_pipelines` are the workers
      that divide the input, and its `input_pipeline_id` is this worker's place
      among them. A copy of this strategy is asked as each worker.

    Raises:
      ValueError: also if this worker has no use for the subnetwork.
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
    """This worker's share of the input of an iteration, for all it trains.

    The trainers of a subnetwork divide the input, as `input_context` says. A
    worker whose subnetworks all have the same trainers reads its share of that.
    Any other worker reads more, so that no subnetwork misses a row: the
    smallest share that contains its shares for all its subnetworks. A worker
    that trains a subnetwork alone reads all of the input, and so does a worker
    that trains ensembles, unless the same workers train all it trains.

    Returns:
      A `tf.distribute.InputContext`, see `input_context`.
    """
    num_subnetworks = _arguments.check_num_subnetworks(num_subnetworks)
    worker_index, workers = self._all_workers()
    parts = input_parts.of_workers(
        worker.worker_share(num_subnetworks) for worker in workers)
    return tf_compat.v1.distribute.InputContext(*parts[worker_index])

  def _all_workers(self):
    """Returns this worker's index, and an iterator of copies as each worker.

    An evaluator is alone.
    """
    # The config as it was set: if a subclass changes the attributes that
    # it reads, the copies that are asked do so too.
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

    For plans: says without TensorFlow where `subnetwork_devices` will place the
    variables. A strategy that overrides one of the two should override both: a
    plan does not know where the variables are if only `subnetwork_devices` is
    overridden.

    Returns:
      Range, or another iterable, of int: tasks of the job `ps`. Without
      dedicated parameter servers, these are all tasks, because
      `replica_device_setter` uses all. None if the strategy does not say.
    """
    _arguments.check_subnetwork(num_subnetworks, subnetwork_index)
    return None

  def parameter_server_assignment(
      self, num_subnetworks: int, subnetwork_index: int
  ) -> Union[None, Iterable[int], wrap_around.Interval]:
    """Returns where the names of a subnetwork's variables are hashed to.

    Returns:
      The `subnetwork_parameter_servers`, if they hold equal parts; an
      `Interval` that overlaps these parameter servers; None if not known.
    """
    return self.subnetwork_parameter_servers(num_subnetworks, subnetwork_index)

  def __repr__(self) -> str:
    return type(self).__name__ + "()"


@contextlib.contextmanager
def _default_devices():
  yield


class RuleStrategy(PlacementStrategy):
  """A strategy of `placement`: AdaNet's methods are views of its rule."""

  _dedicates = False  # Whether subnetworks have parameter servers of their own.

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
    return tuple(self._share(num_subnetworks).subnetworks)  # The same, sooner.

  def should_train_subnetworks(self, num_subnetworks: int) -> bool:
    return self._share(
        _arguments.check_num_subnetworks(num_subnetworks)).trains_subnetworks

  def subnetwork_devices(self, num_subnetworks: int,
                         subnetwork_index: int) -> ContextManager[None]:
    """A scope that puts variables on the subnetwork's parameter servers.

    In a graph, eagerly and in a `tf.function`, the hash of a variable's name
    picks one of these. Every other op keeps its device, and so does a variable
    that gets an explicit device inside the scope. In a graph, a device is
    explicit if it names a job, a replica or a task. Eagerly TensorFlow adds
    this task's job to every device, so there a device is explicit if it is not
    the one outside the scope.

    Returns:
      A context manager; without parameter servers it changes nothing.
    """
    _arguments.check_subnetwork(num_subnetworks, subnetwork_index)
    servers = (self._hashed_to(num_subnetworks, subnetwork_index)
               if self._dedicates else None)
    if not isinstance(servers, (range, wrap_around.Interval)):
      servers = () if servers is None else tuple(servers)
    return devices.variables_on(servers) if servers else _default_devices()

  def subnetwork_parameter_servers(
      self, num_subnetworks: int,
      subnetwork_index: int) -> Optional[Iterable[int]]:
    servers = self._servers(
        *_arguments.check_subnetwork(num_subnetworks, subnetwork_index))
    return servers if isinstance(servers, range) else servers.parts

  def _servers(self, num_subnetworks, subnetwork_index):
    """Returns the answer of the rule: a range, or an `Interval` of a line."""
    num_ps = _arguments.read_num_ps(self.config)
    if num_ps == 0 or not self._dedicates:
      return range(num_ps)
    return self._dedicated(num_ps, num_subnetworks, subnetwork_index)

  def _hashed_to(self, num_subnetworks, subnetwork_index):
    """Returns the parameter servers, also if a subclass overrides them."""
    answer = self.subnetwork_parameter_servers(
        num_subnetworks, subnetwork_index)
    servers = self._servers(num_subnetworks, subnetwork_index)
    is_interval = not isinstance(servers, range) and isinstance(
        answer, range) and servers.parts == answer
    return servers if is_interval else answer

  def parameter_server_assignment(
      self, num_subnetworks: int, subnetwork_index: int
  ) -> Union[None, Iterable[int], wrap_around.Interval]:
    # A subclass that overrides `subnetwork_devices` alone does not say where
    # its variables are. One that overrides `subnetwork_parameter_servers` alone
    # moves them, unless they go to the default devices.
    says, places = (
        overrides(self, RuleStrategy, name)
        for name in ("subnetwork_parameter_servers", "subnetwork_devices"))
    if says != places and not (says and self._dedicates):
      return None
    return self._hashed_to(num_subnetworks, subnetwork_index)

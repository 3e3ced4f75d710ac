# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What all placement strategies have in common.

The strategies themselves are in `placement`.
"""

import abc
import contextlib
import copy
import fractions
from typing import Any, Callable, ContextManager, Dict, Iterable, Optional
from typing import TypeVar

from adanet import tf_compat
from adanet.distributed import _arguments
from adanet.distributed import devices
from adanet.distributed import layout as layout_lib
from adanet.distributed import tasks
import six

_Method = TypeVar("_Method", bound=Callable[..., Any])
_Strategy = TypeVar("_Strategy", bound="PlacementStrategy")


@contextlib.contextmanager
def _default_devices():
  yield


def _derived(method: _Method) -> _Method:
  """Marks a method whose answer follows from others. An override has no mark.
  """
  setattr(method, "is_derived", True)
  return method


def _are_derived(strategy, *names):
  """Returns whether a strategy's class overrides none of these methods."""
  return all(getattr(getattr(type(strategy), name), "is_derived", False)
             for name in names)


@six.add_metaclass(abc.ABCMeta)
class PlacementStrategy:
  """Answers, for one worker, which part of the graph is its own.

  A subclass overrides the four abstract methods. They read what they need to
  know of the cluster from `config`.

  Each question is about one iteration: `num_subnetworks` is the number of its
  subnetworks, an int of at least 1, and `subnetwork_index` is an int in
  [0, num_subnetworks). Each question raises a RuntimeError if it needs a config
  and none is set; a TypeError if an argument or an attribute of the config is
  not an integer, or the config does not have the attribute; and a ValueError if
  one is out of range.
  """

  _config = None  # type: Any

  @property
  def config(self) -> Any:
    """The `RunConfig` that describes the cluster and this worker's place in it.

    Anything with the attributes that a decision reads will do:
    `num_worker_replicas` and `global_id_in_cluster` for what a worker builds
    and trains, `num_ps_replicas` for the devices. It is read at each question,
    so a config that changes in place is seen.

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
    """Returns a deep copy of this strategy with another config.

    Args:
      config: the config of the copy, or None. This strategy's own config is
        not copied.

    Raises:
      TypeError: the strategy cannot be copied, or its config cannot be set.
    """
    try:
      strategy = copy.deepcopy(self, {id(self._config): None})
    except Exception as e:
      raise TypeError(
          f"strategy={_arguments.show(self)}: expected one that copy.deepcopy "
          "can copy, because a copy is asked as each worker.") from e
    try:
      strategy.config = config
    except AttributeError as e:
      raise TypeError(
          f"strategy={_arguments.show(self)}: expected one whose config can be "
          "set, because a copy is asked as each worker.") from e
    return strategy

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

  @_derived
  def training_fractions(
      self, num_subnetworks: int) -> Dict[int, fractions.Fraction]:
    """The part of its time for subnetworks that each of these gets.

    Unless a strategy says something else, a worker trains all subnetworks that
    it builds, each in every step, so the parts are equal.

    Returns:
      Dict from the index of each subnetwork that this worker trains to a
      `Fraction`; they add up to 1. Empty for a worker that does not train.
    """
    num_subnetworks = _arguments.check_num_subnetworks(num_subnetworks)
    return layout_lib.Share(
        builds_ensemble=False,
        subnetworks=[i for i in range(num_subnetworks)
                     if self.should_build_subnetwork(num_subnetworks, i)],
        trains_subnetworks=self.should_train_subnetworks(num_subnetworks)
    ).training_fractions()

  @_derived
  def ensemble_fraction(self, num_subnetworks: int) -> fractions.Fraction:
    """The part of this worker's time for ensembles.

    Unless a strategy says something else, a worker with ensembles and
    subnetworks takes a step of all of them in turn. A step of a subnetwork then
    counts as 1, and one of all ensembles as a third of a step of all
    subnetworks of the iteration: they run these forward.

    Returns:
      A `Fraction`: 0 without ensembles, 1 if this worker trains no subnetwork.
    """
    num_subnetworks = _arguments.check_num_subnetworks(num_subnetworks)
    return layout_lib.Share(
        builds_ensemble=bool(self.should_build_ensemble(num_subnetworks)),
        subnetworks=tuple(self.training_fractions(num_subnetworks)),
        trains_subnetworks=bool(self.should_train_subnetworks(num_subnetworks))
    ).time_for_ensembles(num_subnetworks)

  @property
  def divides_time(self) -> bool:
    """Whether a worker divides its time by `training_fractions`.

    Otherwise it trains all subnetworks that it builds, each in every step.
    """
    return not _are_derived(self, "training_fractions")

  def worker_share(self, num_subnetworks: int) -> layout_lib.Share:
    """What this worker builds and trains: the answers of the methods above."""
    num_subnetworks = _arguments.check_num_subnetworks(num_subnetworks)
    share = layout_lib.Share(
        bool(self.should_build_ensemble(num_subnetworks)),
        tuple(i for i in range(num_subnetworks)
              if self.should_build_subnetwork(num_subnetworks, i)),
        bool(self.should_train_subnetworks(num_subnetworks)))
    if not (self.divides_time and share.trains_subnetworks):
      return share
    return share._replace(
        fractions=tuple(sorted(
            self.training_fractions(num_subnetworks).items())),
        ensemble_fraction=self.ensemble_fraction(num_subnetworks)
        if share.builds_ensemble else None)

  def layout_for(self, num_workers: int,
                 num_ps: Optional[int]) -> layout_lib.Layout:
    """The answers to all workers of a cluster, whatever the config is.

    A copy of this strategy is asked as each worker. Override it in a strategy
    that knows the answers without asking; they must be those of its methods.

    Args:
      num_workers: int, at least 1.
      num_ps: int, at least 0; None if it is not known.

    Returns:
      The `Layout`, for this number of workers and parameter servers.

    Raises:
      TypeError: as for `with_config`.
    """
    return layout_lib.AskedLayout(self, num_workers, num_ps)

  def for_earlier_iterations(self: _Strategy) -> _Strategy:
    """Returns the strategy that places subnetworks of earlier iterations.

    These are in the graph because an earlier winner consists of them. What is
    said of the subnetworks that train now need not fit their number.
    """
    return self

  @abc.abstractmethod
  def subnetwork_devices(self, num_subnetworks: int,
                         subnetwork_index: int) -> ContextManager[None]:
    """A context manager: the ops of a subnetwork go to their devices."""

  def input_context(self, num_subnetworks: int, subnetwork_index: int) -> Any:
    """This worker's share of the input, among those that train the subnetwork.

    The workers that train one subnetwork divide the input among them. The
    workers that train the ensemble alone do the same, and have one share for
    all subnetworks, because one batch feeds all that they build. So do the
    workers that build a subnetwork for their ensemble only, and train others.
    An evaluator has all of the input.

    The strategies of `placement` answer in O(log num_subnetworks) at most. Any
    other strategy takes O(num_workers): a copy of it is asked as each worker,
    with a config that has only the size of the cluster and the worker's place
    in it.

    Returns:
      A `tf.distribute.InputContext`: its `num_input_pipelines` are the workers
      that divide the input, and its `input_pipeline_id`, in
      [0, num_input_pipelines), is this worker's place among them in the order
      of their indices.

    Raises:
      ValueError: also if this worker has no use for the subnetwork.
    """
    num_subnetworks, subnetwork_index = _arguments.check_subnetwork(
        num_subnetworks, subnetwork_index)
    # The config as it was set: if a subclass changes what it reads of it, the
    # copies that are asked do so too.
    config = self.config if self._config is None else self._config
    num_workers, worker_index = _arguments.read_worker(config)
    if config.global_id_in_cluster is None:
      num_workers = 1
    num_ps = getattr(config, "num_ps_replicas", None)
    share = self.layout_for(num_workers, num_ps).input_share(
        num_workers, worker_index, num_subnetworks, subnetwork_index)
    if share is None:
      raise ValueError(
          f"subnetwork_index={subnetwork_index}: expected a subnetwork that "
          f"{tasks.WorkerNames(num_workers)[worker_index]} trains. Ask "
          "should_build_subnetwork and should_train_subnetworks first.")
    return tf_compat.v1.distribute.InputContext(*share)

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

  def __repr__(self) -> str:
    return type(self).__name__ + "()"


class LayoutStrategy(PlacementStrategy):
  """A strategy that decides by a layout: its methods are views of it.

  A subclass may override any of them, so its layout is that of any other
  strategy, unless its class says `decides_by_layout=True`.

  Attributes:
    layout: the `Layout`.
  """

  layout = None  # type: Any
  _decides_by_layout = False

  def __init_subclass__(cls, decides_by_layout: bool = False,
                        **kwargs: Any) -> None:
    """Makes a class; it does not inherit `decides_by_layout`."""
    super().__init_subclass__(**kwargs)
    cls._decides_by_layout = decides_by_layout

  @abc.abstractmethod
  def _share(self, num_subnetworks):
    """Returns the `Share` of this worker; the argument has been checked."""

  @_derived
  def should_build_ensemble(self, num_subnetworks: int) -> bool:
    num_subnetworks = _arguments.check_num_subnetworks(num_subnetworks)
    return self._share(num_subnetworks).builds_ensemble

  @_derived
  def should_build_subnetwork(self, num_subnetworks: int,
                              subnetwork_index: int) -> bool:
    num_subnetworks, subnetwork_index = _arguments.check_subnetwork(
        num_subnetworks, subnetwork_index)
    return subnetwork_index in self._share(num_subnetworks).subnetworks

  @_derived
  def should_train_subnetworks(self, num_subnetworks: int) -> bool:
    num_subnetworks = _arguments.check_num_subnetworks(num_subnetworks)
    return self._share(num_subnetworks).trains_subnetworks

  @_derived
  def training_fractions(
      self, num_subnetworks: int) -> Dict[int, fractions.Fraction]:
    num_subnetworks = _arguments.check_num_subnetworks(num_subnetworks)
    if _are_derived(
        self, "should_build_subnetwork", "should_train_subnetworks"):
      return self._share(num_subnetworks).training_fractions()
    # A subclass trains other subnetworks than its layout says.
    return super().training_fractions(num_subnetworks)

  @_derived
  def ensemble_fraction(self, num_subnetworks: int) -> fractions.Fraction:
    num_subnetworks = _arguments.check_num_subnetworks(num_subnetworks)
    if _are_derived(
        self, "should_build_ensemble", "should_build_subnetwork",
        "should_train_subnetworks", "training_fractions"):
      return self._share(num_subnetworks).time_for_ensembles(num_subnetworks)
    # A subclass builds or trains something else than its layout says.
    return super().ensemble_fraction(num_subnetworks)

  @property
  def divides_time(self) -> bool:
    return self.layout.divides_time or super().divides_time

  def worker_share(self, num_subnetworks: int) -> layout_lib.Share:
    if self._decides_by_layout:
      return self._share(_arguments.check_num_subnetworks(num_subnetworks))
    return super().worker_share(num_subnetworks)

  def layout_for(self, num_workers: int,
                 num_ps: Optional[int]) -> layout_lib.Layout:
    if self._decides_by_layout:
      return self.layout
    # A subclass that overrides `subnetwork_devices` alone does not say where
    # its variables are. One that overrides `subnetwork_parameter_servers` alone
    # moves them, unless they go to the default devices.
    says = not _are_derived(self, "subnetwork_parameter_servers")
    places = not _are_derived(self, "subnetwork_devices")
    return layout_lib.AskedLayout(
        self, num_workers, num_ps,
        knows_parameter_servers=says == places or (
            says and self.layout.dedicates_parameter_servers))

  @_derived
  def subnetwork_devices(self, num_subnetworks: int,
                         subnetwork_index: int) -> ContextManager[None]:
    """A scope whose variables live on the subnetwork's parameter servers.

    In a graph, eagerly and in a `tf.function`, the hash of a variable's name
    picks one of these. Every other op keeps its device, and so does a variable
    that gets an explicit device inside the scope. In a graph, a device is
    explicit if it names a job, a replica or a task. Eagerly TensorFlow adds
    this task's job to every device, so there a device is explicit if it is not
    the one outside the scope.

    Returns:
      A context manager; without parameter servers it changes nothing.
    """
    if not self.layout.dedicates_parameter_servers:
      _arguments.check_subnetwork(num_subnetworks, subnetwork_index)
      return _default_devices()
    tasks = self.subnetwork_parameter_servers(num_subnetworks, subnetwork_index)
    if not isinstance(tasks, range):
      tasks = () if tasks is None else tuple(tasks)
    if not tasks:
      return _default_devices()
    segment = self.layout.segment(
        _arguments.read_num_ps(self.config), num_subnetworks, subnetwork_index)
    is_on_segment = segment is not None and segment.parts == tasks
    return devices.variables_on(segment if is_on_segment else tasks)

  @_derived
  def subnetwork_parameter_servers(
      self, num_subnetworks: int,
      subnetwork_index: int) -> Optional[Iterable[int]]:
    num_subnetworks, subnetwork_index = _arguments.check_subnetwork(
        num_subnetworks, subnetwork_index)
    return self.layout.parameter_servers(
        _arguments.read_num_ps(self.config), num_subnetworks, subnetwork_index)

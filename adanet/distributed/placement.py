# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Who builds what, who trains it, and where its variables live.

Every worker of a cluster asks its own strategy and talks to no other worker, so
each answer is a pure function of the cluster's shape, the worker's index, the
number of subnetworks, the subnetwork's index, and an op's name.

The letters in the formulas: m workers (the chief is one), n parameter servers,
k subnetworks in the iteration; w is a worker's index, i a subnetwork's.
"""

import abc
import collections
import contextlib
import copy
import functools

from absl import logging
from adanet import tf_compat
from adanet.distributed import _arguments
from adanet.distributed import devices

import six


def _check_num_subnetworks(num_subnetworks):
  return _arguments.check_integer(
      "num_subnetworks", num_subnetworks, at_least=1)


def _check_subnetwork(num_subnetworks, subnetwork_index):
  if (num_subnetworks.__class__ is subnetwork_index.__class__ is int
      and 0 <= subnetwork_index < num_subnetworks):
    return num_subnetworks, subnetwork_index
  num_subnetworks = _check_num_subnetworks(num_subnetworks)
  return num_subnetworks, _arguments.check_integer(
      "subnetwork_index", subnetwork_index, at_least=0, below=num_subnetworks)


@contextlib.contextmanager
def _default_devices():
  yield


_TASK_ATTRIBUTES = ("num_worker_replicas", "num_ps_replicas",
                    "global_id_in_cluster", "is_chief", "task_type", "task_id")


class _TaskConfig(collections.namedtuple("_TaskConfig", _TASK_ATTRIBUTES)):
  """What a `RunConfig` says of one worker, for a strategy to decide by."""
  __slots__ = ()

  def __getattr__(self, name):
    raise AttributeError(
        "config.{}: a strategy that is asked as another worker decides by "
        "config.{} alone.".format(name, ", config.".join(_TASK_ATTRIBUTES)))


def _as_each_worker(strategy, num_workers, num_ps):
  """Yields a copy of a strategy as each worker of a cluster has it, in turn."""
  # pylint: disable=protected-access
  try:
    strategy = copy.deepcopy(strategy, {id(strategy._config): None})
  except Exception as e:
    raise TypeError("strategy={}: expected one that copy.deepcopy copies, to "
                    "be asked as every worker.".format(
                        _arguments.show(strategy))) from e
  for w in range(num_workers):
    strategy.config = _TaskConfig(
        num_worker_replicas=num_workers,
        num_ps_replicas=num_ps,
        global_id_in_cluster=w,
        is_chief=w == 0,
        task_type="worker" if w else "chief",
        task_id=max(0, w - 1))
    yield strategy


def _speaks_for(strategy, method, others):
  """Whether a method answers as the others do, which it knows beforehand.

  It does not where a subclass of the class that defines it overrides one of
  them and not the method itself.

  Args:
    strategy: a `PlacementStrategy`.
    method: str, the name of the method.
    others: iterable of str, the names of the others.
  """
  for cls in type(strategy).__mro__:
    if method in vars(cls):
      return True
    if any(other in vars(cls) for other in others):
      return False
  return False


_DECISIONS = ("config", "should_build_ensemble", "should_build_subnetwork",
              "should_train_subnetworks")


@six.add_metaclass(abc.ABCMeta)
class PlacementStrategy(object):
  """Answers, for one worker, which part of the graph is its own.

  A subclass overrides the four abstract methods. They read what they need to
  know of the cluster from `config`.
  """

  _config = None

  @property
  def config(self):
    """The `RunConfig` that describes the cluster and this worker's place in it.

    Anything with the attributes that a decision reads will do:
    `num_worker_replicas` and `global_id_in_cluster` for what a worker builds
    and trains, `num_ps_replicas` for the devices. A config is a value: a
    strategy remembers what it decided by it, so to describe another cluster set
    another one.

    Raises:
      RuntimeError: no config has been set.
    """
    if self._config is None:
      raise RuntimeError(
          "config=None: expected a RunConfig. Set {}.config before asking it "
          "for a decision.".format(type(self).__name__))
    return self._config

  @config.setter
  def config(self, config):
    self._config = config

  def _read_config(self, attribute):
    """Returns an attribute of the config, which need not have any other."""
    config = self.config
    try:
      return getattr(config, attribute)
    except AttributeError as e:
      six.raise_from(
          TypeError("config={}: expected an object with the attribute {}, as "
                    "a RunConfig has.".format(
                        _arguments.show(config), attribute)), e)

  def _read_worker(self):
    """Returns `(num_workers, worker_index)` of this worker."""
    num_workers = self._read_config("num_worker_replicas")
    worker_index = self._read_config("global_id_in_cluster")
    # An evaluator stands outside the cluster, and TensorFlow's RunConfig counts
    # no workers for it. It is as good as the first worker.
    is_outside = worker_index is None
    num_workers = _arguments.check_integer(
        "config.num_worker_replicas", num_workers,
        at_least=0 if is_outside else 1)
    worker_index = 0 if is_outside else _arguments.check_integer(
        "config.global_id_in_cluster", worker_index, at_least=0,
        below=num_workers)
    return num_workers, worker_index

  def _read_reader(self):
    """Returns `_read_worker()`, and for an evaluator that of a lone worker."""
    worker = self._read_worker()
    is_outside = self._read_config("global_id_in_cluster") is None
    return (1, 0) if is_outside else worker

  @abc.abstractmethod
  def should_build_ensemble(self, num_subnetworks):
    """Whether this worker builds the ensemble.

    Args:
      num_subnetworks: int, at least 1, the subnetworks in this iteration.

    Returns:
      bool.

    Raises:
      RuntimeError: the decision needs a config and none is set.
      TypeError: an argument, or an attribute of the config, is not an integer,
        or the config does not have it.
      ValueError: an argument, or an attribute of the config, is out of range.
    """

  @abc.abstractmethod
  def should_build_subnetwork(self, num_subnetworks, subnetwork_index):
    """Whether this worker builds the subnetwork.

    Args:
      num_subnetworks: int, at least 1, the subnetworks in this iteration.
      subnetwork_index: int in [0, num_subnetworks).

    Returns:
      bool.

    Raises:
      RuntimeError, TypeError, ValueError: as for `should_build_ensemble`.
    """

  @abc.abstractmethod
  def should_train_subnetworks(self, num_subnetworks):
    """Whether this worker trains the subnetworks that it builds.

    Args:
      num_subnetworks: int, at least 1, the subnetworks in this iteration.

    Returns:
      bool.

    Raises:
      RuntimeError, TypeError, ValueError: as for `should_build_ensemble`.
    """

  @abc.abstractmethod
  def subnetwork_devices(self, num_subnetworks, subnetwork_index):
    """A scope in which the ops of a subnetwork go to their devices.

    Args:
      num_subnetworks: int, at least 1, the subnetworks in this iteration.
      subnetwork_index: int in [0, num_subnetworks).

    Returns:
      A context manager.

    Raises:
      RuntimeError, TypeError, ValueError: as for `should_build_ensemble`.
    """

  def input_context(self, num_subnetworks, subnetwork_index):
    """This worker's share of the input, among those that train the subnetwork.

    The workers that train one subnetwork divide the input among them. So do the
    workers that train the ensemble alone: theirs is the same share for every
    subnetwork, because one batch feeds all that they build. An evaluator has
    all of the input.

    The strategies of this module answer in O(1). A copy of any other one, or
    of a subclass that overrides a decision of theirs, is asked in
    O(num_workers) what it decides as every worker; its config then has what a
    `RunConfig` says of the worker's place, and nothing else.

    Args:
      num_subnetworks: int, at least 1, the subnetworks in this iteration.
      subnetwork_index: int in [0, num_subnetworks).

    Returns:
      A `tf.distribute.InputContext`: its `num_input_pipelines` are the workers
      that divide the input, and its `input_pipeline_id`, in
      [0, num_input_pipelines), is this worker's place among them in the order
      of their indices.

    Raises:
      RuntimeError, TypeError: as for `should_build_ensemble`.
      ValueError: as there; or this worker does not train the subnetwork.
    """
    num_subnetworks, subnetwork_index = _check_subnetwork(
        num_subnetworks, subnetwork_index)
    num_workers, worker_index = self._read_reader()
    work_out = (
        self._share_of_input
        if _speaks_for(self, "_share_of_input", _DECISIONS) else
        functools.partial(PlacementStrategy._share_of_input, self))
    share = work_out(
        num_workers, worker_index, num_subnetworks, subnetwork_index)
    if share is None:
      raise ValueError(
          "subnetwork_index={}: expected a subnetwork that worker {} of {} "
          "trains. Ask should_build_subnetwork and should_train_subnetworks "
          "first.".format(subnetwork_index, worker_index, num_workers))
    return tf_compat.v1.distribute.InputContext(*share)

  def _share_of_input(self, num_workers, worker_index, num_subnetworks,
                      subnetwork_index):
    """Returns `(num_input_pipelines, input_pipeline_id)`, or None for nothing.

    Args:
      num_workers: int, m.
      worker_index: int in [0, m).
      num_subnetworks: int, k.
      subnetwork_index: int in [0, k).
    """
    num_ps = getattr(self.config, "num_ps_replicas", None)
    everyone = [
        strategy._reads_for(num_subnetworks, subnetwork_index)
        for strategy in _as_each_worker(self, num_workers, num_ps)
    ]
    mine = everyone[worker_index]
    if mine is None:
      return None
    return everyone.count(mine), everyone[:worker_index].count(mine)

  def _reads_for(self, num_subnetworks, subnetwork_index):
    """Returns what this worker reads input for, or None for nothing."""
    if not self.should_train_subnetworks(num_subnetworks):
      return "ensemble" if self.should_build_ensemble(num_subnetworks) else None
    if self.should_build_subnetwork(num_subnetworks, subnetwork_index):
      return "subnetwork"
    return None

  def subnetwork_parameter_servers(self, num_subnetworks, subnetwork_index):
    """The parameter servers that hold a subnetwork's variables.

    `subnetwork_devices` acts, and can only be asked with TensorFlow at hand;
    this says beforehand where the variables will be, for
    `adanet.distributed.plan`. A subclass need not override it.

    Args:
      num_subnetworks: int, at least 1, the subnetworks in this iteration.
      subnetwork_index: int in [0, num_subnetworks).

    Returns:
      Range, or another iterable, of int: tasks of the job `ps`. On the default
      devices these are all, as `replica_device_setter` has it. None where the
      strategy does not say.

    Raises:
      RuntimeError, TypeError, ValueError: as for `should_build_ensemble`.
    """
    _check_subnetwork(num_subnetworks, subnetwork_index)

  def __repr__(self):
    return type(self).__name__ + "()"

  def _num_ps(self):
    return _arguments.check_integer(
        "config.num_ps_replicas", self._read_config("num_ps_replicas"),
        at_least=0)


class _Ownership(
    collections.namedtuple("_Ownership",
                           "builds_ensemble subnetworks trains_subnetworks")):
  """What one worker owns in one iteration.

  Attributes:
    builds_ensemble: bool.
    subnetworks: range of int, the indices of the subnetworks that it builds.
    trains_subnetworks: bool, whether it trains them too.
  """


# Without an end, questions would fill memory.
_MAX_REMEMBERED_ITERATIONS = 1 << 4
_MAX_REMEMBERED_SUBNETWORKS = 1 << 12


class _OwnershipStrategy(PlacementStrategy):
  """Decides by what this worker owns.

  A training loop asks the same again and again, and each answer is the same
  until another config is set. So what is asked most looks first at what has
  been answered, by integers only: True and 3.0 equal integers, and are wrong.
  No `return` stands in a `try`: AutoGraph of TensorFlow 1.15 cannot convert it.
  """

  @PlacementStrategy.config.setter
  def config(self, config):
    # First, so that whoever sees new answers reads the new config.
    self._config = config
    self._ownership_by_k = {}
    self._builds_by_k = {}
    self._tasks_by_k = {}

  def __reduce_ex__(self, protocol):
    # Whoever copies or pickles this would take all answers along.
    for attribute in ("_ownership_by_k", "_builds_by_k", "_tasks_by_k"):
      vars(self).pop(attribute, None)
    return super(_OwnershipStrategy, self).__reduce_ex__(protocol)

  @abc.abstractmethod
  def _work_out_ownership(self, num_subnetworks):
    """Returns the `_Ownership` of this worker in an iteration."""

  def _answers(self, attribute):
    """Returns what to add answers to, or a dict that nobody looks at again.

    Ask for it before working an answer out: in between another thread may set
    another config, of which the answer would be wrong.

    Args:
      attribute: str, the name of the attribute.
    """
    # A config of a subclass's own may change without a word.
    if type(self).config is not _OwnershipStrategy.config:
      return {}
    answers = getattr(self, attribute, None)
    if answers is None:
      answers = {}
      setattr(self, attribute, answers)
    if len(answers) >= _MAX_REMEMBERED_ITERATIONS:
      answers.clear()
    return answers

  def _answers_of_subnetworks(self, attribute, num_subnetworks):
    """Returns `_answers` that concern the subnetworks of one iteration."""
    answers = self._answers(attribute).setdefault(num_subnetworks, {})
    return answers if len(answers) < _MAX_REMEMBERED_SUBNETWORKS else {}

  def _ownership(self, num_subnetworks):
    """Returns the `_Ownership` of this worker, after checking the argument."""
    num_subnetworks = _check_num_subnetworks(num_subnetworks)
    answers = self._answers("_ownership_by_k")
    owned = answers.get(num_subnetworks)
    if owned is None:
      owned = self._work_out_ownership(num_subnetworks)
      answers[num_subnetworks] = owned
    return owned

  def should_build_ensemble(self, num_subnetworks):
    if num_subnetworks.__class__ is int:
      try:
        owned = self._ownership_by_k[num_subnetworks]
      except (AttributeError, KeyError):
        owned = self._ownership(num_subnetworks)
    else:
      owned = self._ownership(num_subnetworks)
    return owned.builds_ensemble

  def should_build_subnetwork(self, num_subnetworks, subnetwork_index):
    if num_subnetworks.__class__ is int and subnetwork_index.__class__ is int:
      try:
        builds = self._builds_by_k[num_subnetworks][subnetwork_index]
      except (AttributeError, KeyError):
        builds = self._work_out_builds(num_subnetworks, subnetwork_index)
    else:
      builds = self._work_out_builds(num_subnetworks, subnetwork_index)
    return builds

  def _work_out_builds(self, num_subnetworks, subnetwork_index):
    """Returns `should_build_subnetwork`, after checking the arguments."""
    num_subnetworks, subnetwork_index = _check_subnetwork(
        num_subnetworks, subnetwork_index)
    answers = self._answers_of_subnetworks("_builds_by_k", num_subnetworks)
    builds = subnetwork_index in self._ownership(num_subnetworks).subnetworks
    answers[subnetwork_index] = builds
    return builds

  def should_train_subnetworks(self, num_subnetworks):
    if num_subnetworks.__class__ is int:
      try:
        owned = self._ownership_by_k[num_subnetworks]
      except (AttributeError, KeyError):
        owned = self._ownership(num_subnetworks)
    else:
      owned = self._ownership(num_subnetworks)
    return owned.trains_subnetworks


class ReplicationStrategy(_OwnershipStrategy):
  """Every worker builds and trains everything, on the default devices.

  With m workers, n parameter servers and k subnetworks:

  * Training speedup: O(m).
  * Variable fetches from parameter servers: O(m n k).
  * Memory per worker: O(k).
  * Stale gradients per subnetwork with asynchronous SGD: O(m).
  """

  def _work_out_ownership(self, num_subnetworks):
    return _Ownership(True, range(num_subnetworks), True)

  def subnetwork_devices(self, num_subnetworks, subnetwork_index):
    _check_subnetwork(num_subnetworks, subnetwork_index)
    return _default_devices()

  def _share_of_input(self, num_workers, worker_index, num_subnetworks,
                      subnetwork_index):
    return num_workers, worker_index

  def subnetwork_parameter_servers(self, num_subnetworks, subnetwork_index):
    _check_subnetwork(num_subnetworks, subnetwork_index)
    return range(self._num_ps())

  def _shares(self, num_workers, num_subnetworks):
    """As in `RoundRobinStrategy`."""
    return [(range(num_workers), self._work_out_ownership(num_subnetworks))]


def _round_robin(num_workers, worker_index, num_subnetworks, drop_remainder):
  """Returns the `_Ownership` of one worker, in constant time and memory.

  A round is k + 1 workers: the first works on the ensemble, the others on a
  subnetwork each. The last round may be partial; the workers in it that train
  then share all subnetworks, unless the remainder is dropped.

  Args:
    num_workers: int, m.
    worker_index: int in [0, m).
    num_subnetworks: int, k.
    drop_remainder: bool.
  """
  if num_subnetworks == 1:
    return _Ownership(True, range(1), True)
  num_rounds, tail = divmod(num_workers, num_subnetworks + 1)
  task = worker_index % (num_subnetworks + 1)
  if task == 0:
    return _Ownership(True, range(num_subnetworks), num_workers == 1)
  is_in_tail = worker_index >= num_rounds * (num_subnetworks + 1)
  num_trainers = (
      tail - 1 if is_in_tail and not drop_remainder else num_subnetworks)
  return _Ownership(False, range(task - 1, num_subnetworks, num_trainers), True)


def _num_trainers(num_workers, num_subnetworks, subnetwork_index,
                  drop_remainder):
  """Returns how many workers train a subnetwork, of more than one."""
  num_rounds, tail = divmod(num_workers, num_subnetworks + 1)
  trains_in_tail = (
      subnetwork_index < tail - 1 if drop_remainder else tail > 1)
  return num_rounds + trains_in_tail


def _alike_workers(num_workers, num_subnetworks):
  """Returns ranges of workers, in each of which all own the same.

  Together they hold every worker once: a range for each task of the whole
  rounds, then each worker of a last, partial round by itself.

  Args:
    num_workers: int, m.
    num_subnetworks: int, k.

  Returns:
    List of non-empty range of int, at most 2 k + 1 of them.
  """
  if num_subnetworks == 1:
    return [range(num_workers)]
  round_size = num_subnetworks + 1
  tail_start = num_workers - num_workers % round_size
  tasks = range(round_size if tail_start else 0)
  return ([range(task, tail_start, round_size) for task in tasks] +
          [range(w, w + 1) for w in range(tail_start, num_workers)])


def _parameter_servers(num_ps, num_subnetworks, subnetwork_index):
  """Returns the range of ps tasks that hold a subnetwork's variables."""
  if num_subnetworks > num_ps:
    first, size = subnetwork_index % num_ps, 1
  else:
    quotient, remainder = divmod(num_ps, num_subnetworks)
    first = subnetwork_index * quotient + min(subnetwork_index, remainder)
    size = quotient + (1 if subnetwork_index < remainder else 0)
  return range(first, first + size)


def _name_indices(start, stop):
  """Returns every index of a short range, and the ends of a long one."""
  if stop - start > 20:
    return "{} to {}".format(start, stop - 1)
  return ", ".join(map(str, range(start, stop)))


@functools.lru_cache(maxsize=None)
def _warn_of_dropped_subnetworks(num_workers, num_subnetworks):
  """Warns, once for each pair of arguments, of subnetworks with no trainer."""
  logging.warning(
      "drop_remainder=True with %d workers and %d subnetworks: no worker "
      "trains subnetworks [%s]. Use at least %d workers, or "
      "drop_remainder=False.", num_workers, num_subnetworks,
      _name_indices(num_workers - 1, num_subnetworks), num_subnetworks + 1)


class RoundRobinStrategy(_OwnershipStrategy):
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

  def __init__(self, drop_remainder=False, dedicate_parameter_servers=True):
    """Makes a strategy; set its `config` before asking it for a decision.

    Args:
      drop_remainder: bool. Whether each worker of a last, partial round trains
        one subnetwork only, as in a whole round, and leaves the rest to the
        whole rounds. With no whole round the rest is trained by no worker, and
        a warning names it. Otherwise those workers share all subnetworks.
      dedicate_parameter_servers: bool. Whether each subnetwork's variables live
        on a group of parameter servers of their own (with more subnetworks than
        parameter servers, on one that they share). Otherwise they go to the
        default devices.
    """
    self._drop_remainder = drop_remainder
    self._dedicate_parameter_servers = dedicate_parameter_servers

  def __repr__(self):
    defaults = (("drop_remainder", False), ("dedicate_parameter_servers", True))
    return "{}({})".format(
        type(self).__name__, ", ".join(
            "{}={}".format(name, not default)
            for name, default in defaults
            if bool(getattr(self, "_" + name)) != default))

  def _work_out_ownership(self, num_subnetworks):
    if num_subnetworks == 1:
      self.config  # Must be set, although one subnetwork needs nothing of it.
      return _round_robin(1, 0, 1, self._drop_remainder)
    num_workers, worker_index = self._read_worker()
    if self._drop_remainder and 1 < num_workers <= num_subnetworks:
      _warn_of_dropped_subnetworks(num_workers, num_subnetworks)
    return _round_robin(num_workers, worker_index, num_subnetworks,
                        self._drop_remainder)

  def _shares(self, num_workers, num_subnetworks):
    """Returns what all workers own, worked out once for those that are alike.

    Args:
      num_workers: int, m.
      num_subnetworks: int, k.

    Returns:
      List of pairs of a range of workers and the `_Ownership` of each of them,
      by their first worker. Every worker is in one of the ranges.
    """
    return [(workers,
             _round_robin(num_workers, workers[0], num_subnetworks,
                          self._drop_remainder))
            for workers in _alike_workers(num_workers, num_subnetworks)]

  def _share_of_input(self, num_workers, worker_index, num_subnetworks,
                      subnetwork_index):
    if num_subnetworks == 1:
      return num_workers, worker_index
    owned = self._ownership(num_subnetworks)
    if subnetwork_index not in owned.subnetworks:
      return None
    this_round = worker_index // (num_subnetworks + 1)
    if owned.builds_ensemble:
      last_round = (num_workers - 1) // (num_subnetworks + 1)
      return last_round + 1, this_round
    return _num_trainers(num_workers, num_subnetworks, subnetwork_index,
                         self._drop_remainder), this_round

  def subnetwork_devices(self, num_subnetworks, subnetwork_index):
    """As in `PlacementStrategy`: variables go to the subnetwork's own ps.

    A variable goes to `/job:ps`, to the task of the subnetwork's group that
    `OpNameHashStrategy` picks, in a graph, eagerly and in a `tf.function`. What
    an explicit device inside the scope places, and every op that does not hold
    a variable, keeps its device. In a graph a device is explicit that names a
    job, a replica or a task, and any other is one of the ps. Eagerly, where
    TensorFlow completes a device with this task's job, every device is that is
    not the one outside the scope.

    Args:
      num_subnetworks: int, at least 1, the subnetworks in this iteration.
      subnetwork_index: int in [0, num_subnetworks).

    Returns:
      A context manager; without parameter servers it changes nothing.

    Raises:
      RuntimeError, TypeError, ValueError: as for `should_build_ensemble`.
    """
    num_subnetworks, subnetwork_index = _check_subnetwork(
        num_subnetworks, subnetwork_index)
    if not self._dedicate_parameter_servers:
      return _default_devices()
    tasks = self.subnetwork_parameter_servers(num_subnetworks, subnetwork_index)
    return devices.variables_on(tasks) if tasks else _default_devices()

  def subnetwork_parameter_servers(self, num_subnetworks, subnetwork_index):
    num_subnetworks, subnetwork_index = _check_subnetwork(
        num_subnetworks, subnetwork_index)
    try:
      tasks = self._tasks_by_k[num_subnetworks][subnetwork_index]
    except (AttributeError, KeyError):
      tasks = self._work_out_tasks(num_subnetworks, subnetwork_index)
    return tasks

  def _work_out_tasks(self, num_subnetworks, subnetwork_index):
    """Returns `subnetwork_parameter_servers`, of arguments that are checked."""
    answers = self._answers_of_subnetworks("_tasks_by_k", num_subnetworks)
    num_ps = self._num_ps()
    if num_ps == 0 or not self._dedicate_parameter_servers:
      tasks = range(num_ps)
    else:
      tasks = _parameter_servers(num_ps, num_subnetworks, subnetwork_index)
    answers[subnetwork_index] = tasks
    return tasks

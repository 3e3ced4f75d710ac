# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""From an op's name to the parameter server that its variable lives on.

Workers that build different parts of a graph create their ops in different
orders, so a placement by order of creation differs between them. A placement by
name does not.
"""

import collections
import contextlib
import functools
import hashlib
import threading
from typing import Any, ContextManager, Iterable, Iterator, List, Union

from adanet import tf_compat
from adanet.distributed import _arguments
from adanet.distributed import wrap_around
from adanet.tf_compat import tensorflow_internals


_NamedOp = collections.namedtuple("_NamedOp", "name")


def _op_name_hash(op):
  """Returns the SHA-256 of an op's name, as a big-endian integer."""
  return int.from_bytes(hashlib.sha256(op.name.encode("utf-8")).digest(), "big")


class OpNameHashStrategy:
  """Spreads ops over tasks by the hash of their names.

  A `ps_strategy` for `tf.compat.v1.train.replica_device_setter`.
  """

  def __init__(self, num_tasks: int):
    """Makes a strategy for `num_tasks` parameter servers, at least 1.

    Raises:
      TypeError, ValueError: `num_tasks` is not an integer, or less than 1.
    """
    self._num_tasks = _arguments.check_integer(
        "num_tasks", num_tasks, at_least=1)

  def __call__(self, op: Any) -> int:
    """Returns the task that `op` belongs to.

    Args:
      op: a `tf.Operation`, or any object with a `name`.

    Returns:
      int in [0, num_tasks): the SHA-256 of the name's UTF-8 form, as a
      big-endian integer, modulo `num_tasks`.
    """
    return _op_name_hash(op) % self._num_tasks


_OpNameHashStrategy = OpNameHashStrategy  # The name that AdaNet 0.9 gave it.


class _ParameterServers:
  """Picks devices among parameter servers."""

  def __init__(self, tasks):
    self._tasks = tasks
    self.device_function = self._device_function()

  def device(self, op):
    """Returns the device, as str, of an op that holds a variable."""
    name_hash = _op_name_hash(op)
    if isinstance(self._tasks, wrap_around.Interval):
      task = self._tasks.part_of_hash(name_hash)
    else:
      task = self._tasks[name_hash % len(self._tasks)]
    return f"/job:ps/task:{task}"

  def _device_function(self):
    """Returns the device function, of ops, for the scope in a graph."""
    variable_ops = tf_compat.STANDARD_PS_OPS
    device_spec = tf_compat.v1.DeviceSpec

    def place(op):
      if op.type not in variable_ops:
        return op.device
      if not op.device:
        return self.device(op)
      explicit = device_spec.from_string(op.device)
      # tf.distribute names a replica and a task, and may leave out the job.
      if (explicit.job or explicit.replica is not None
          or explicit.task is not None):
        return op.device
      placed = device_spec.from_string(self.device(op))
      return placed.make_merged_spec(explicit).to_string()

    return place

  def variable_creator(self):
    """Returns the variable creator for the scope outside a graph.

    There is no op there to ask for its device, and TensorFlow adds the job of
    this task to each device that a scope names. So a device counts as explicit
    if it is not the one outside this scope.
    """
    device_outside = tensorflow_internals.eager_device()

    def create(next_creator, **kwargs):
      # A strategy of tf.distribute places its variables explicitly. If its
      # scope is outside this one, it does so after this creator.
      if tf_compat.v1.distribute.has_strategy():
        return next_creator(**kwargs)
      with tf_compat.v1.init_scope():
        if tensorflow_internals.eager_device() != device_outside:
          return next_creator(**kwargs)
        name = kwargs.get("name") or "Variable"
        with tf_compat.v2.name_scope(name) as scope:
          op = _NamedOp(scope.rstrip("/"))
      with tf_compat.v1.device(self.device(op)):
        return next_creator(**kwargs)

    return create


def _makes_variables_eagerly():
  """Whether a variable made here, or lifted out of a function, is eager."""
  v1 = tf_compat.v1
  if v1.executing_eagerly():
    return True
  if not v1.get_default_graph().building_function:
    return False
  with v1.init_scope():  # Takes longer than all the rest of entering a scope.
    return v1.executing_eagerly()


# Without it, every entry of a scope would cost as much as a first entry, see
# benchmarks/scope.py. A tuple of tasks and an interval may be equal: typed.
_parameter_servers = functools.lru_cache(
    maxsize=1024, typed=True)(_ParameterServers)


class _VariablesScope(contextlib.ContextDecorator):
  """The scope of `variables_on`."""

  def __init__(self, tasks):
    self._tasks = tasks
    self._open = []  # One for each time it was entered and not left.

  def _recreate_cm(self):
    return variables_on(self._tasks)  # A decorated function is called often.

  def __enter__(self):
    parameter_servers = _parameter_servers(self._tasks)
    if _makes_variables_eagerly():
      scope = tf_compat.v1.variable_creator_scope(
          parameter_servers.variable_creator())
    else:
      scope = tf_compat.v1.device(parameter_servers.device_function)
    scope.__enter__()
    self._open.append(scope)

  def __exit__(self, *exception):
    return self._open.pop().__exit__(*exception)


def variables_on(tasks: Union[Iterable[int], wrap_around.Interval]
                 ) -> ContextManager[None]:
  """A scope that puts variables on parameter servers, by their names' hashes.

  In a graph, an op that holds a variable goes to `/job:ps/task:<tasks[hash]>`,
  unless its device names a job, a replica or a task already. Eagerly and in a
  `tf.function`, the variable goes where a graph's op of its name would.

  Args:
    tasks: non-empty range, or another iterable, of int: tasks of the job `ps`;
      the hash of a name is an index into them. Or an `Interval` of a line cut
      into one part for each task; the hash of a name picks a point on it.

  Returns:
    A context manager.
  """
  is_small = isinstance(tasks, (range, wrap_around.Interval))
  return _VariablesScope(tasks if is_small else tuple(tasks))


_patch_lock = threading.Lock()
# TensorFlow's default strategy, once for each open context.
_patched: List[Any] = []


@contextlib.contextmanager
def monkey_patch_default_variable_placement_strategy() -> Iterator[None]:
  """Makes op-name hashing the default of `replica_device_setter`, inside it.

  For code that builds its own `tf.compat.v1.train.replica_device_setter` and
  takes no `ps_strategy`; where there is a choice, pass `OpNameHashStrategy` as
  `ps_strategy` instead. The default is the process's: it changes for all
  threads until the last context that is open in any of them closes.
  """
  name = "_RoundRobinStrategy"
  with _patch_lock:
    _patched.append(
        _patched[0] if _patched else getattr(tensorflow_internals.device_setter(), name))
    setattr(tensorflow_internals.device_setter(), name, OpNameHashStrategy)
  try:
    yield
  finally:
    with _patch_lock:
      original = _patched.pop()
      if not _patched:
        setattr(tensorflow_internals.device_setter(), name, original)

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Places variables on parameter servers by the names of ops.

Workers with different parts of a graph create ops in different orders. A
placement by order of creation differs between workers, and a placement by name
does not.
"""

import collections
import contextlib
import hashlib
from typing import Any, Iterable, Iterator, Union

from adanet import checks
from adanet import tf_compat
from adanet.distributed import weights
from adanet.tf_compat import tensorflow_internals


_NamedOp = collections.namedtuple("_NamedOp", "name")


def _op_name_hash(op):
  """Returns the SHA-256 of an op's name, as a big-endian integer."""
  return int.from_bytes(hashlib.sha256(op.name.encode("utf-8")).digest(), "big")


class OpNameHashStrategy:
  """Distributes ops among tasks by the hash of the op's name.

  For example::

      device_fn = tf.compat.v1.train.replica_device_setter(
          ps_tasks=3, ps_strategy=devices.OpNameHashStrategy(3))
  """

  def __init__(self, num_tasks: int):
    """Makes a strategy.

    Args:
      num_tasks: int, at least 1, the number of parameter servers.

    Raises:
      TypeError: `num_tasks` is not an integer.
      ValueError: `num_tasks` is less than 1.
    """
    self._num_tasks = checks.check_count("num_tasks", num_tasks)

  def __call__(self, op: Any) -> int:
    """Returns the task for `op`.

    Args:
      op: a `tf.Operation`, or any object with a `name`.

    Returns:
      int in [0, num_tasks): the SHA-256 of the name's UTF-8 form, as a
      big-endian integer, modulo `num_tasks`.
    """
    return _op_name_hash(op) % self._num_tasks


_OpNameHashStrategy = OpNameHashStrategy  # The name in AdaNet 0.9.


class _ParameterServers:
  """Picks devices among parameter servers."""

  def __init__(self, tasks):
    self._tasks = tasks

  def _device(self, op):
    """Returns the device (str) of an op that holds a variable."""
    name_hash = _op_name_hash(op)
    if isinstance(self._tasks, weights.Interval):
      task = self._tasks.part_of_hash(name_hash)
    else:
      task = self._tasks[name_hash % len(self._tasks)]
    return f"/job:ps/task:{task}"

  def place(self, op):
    """Returns the device of an op: the device function of a graph's scope."""
    if op.type not in tf_compat.STANDARD_PS_OPS:
      return op.device
    if not op.device:
      return self._device(op)
    device_spec = tf_compat.v1.DeviceSpec
    explicit = device_spec.from_string(op.device)
    # tf.distribute names a replica and a task, and may leave out the job.
    if (explicit.job or explicit.replica is not None
        or explicit.task is not None):
      return op.device
    placed = device_spec.from_string(self._device(op))
    return placed.make_merged_spec(explicit).to_string()

  def variable_creator(self):
    """Returns the variable creator for the scope outside a graph.

    Outside a graph there is no op with a device, and TensorFlow adds the job of
    this task to the device of every scope. So a device other than the device
    outside this scope counts as explicit.
    """
    device_outside = tensorflow_internals.eager_device()

    def create(next_creator, **kwargs):
      # A strategy of tf.distribute places variables explicitly. A strategy
      # scope outside this scope does so after this creator.
      if tf_compat.v1.distribute.has_strategy():
        return next_creator(**kwargs)
      with tf_compat.v1.init_scope():
        if tensorflow_internals.eager_device() != device_outside:
          return next_creator(**kwargs)
        name = kwargs.get("name") or "Variable"
        with tf_compat.v2.name_scope(name) as scope:
          op = _NamedOp(scope.rstrip("/"))
      with tf_compat.v1.device(self._device(op)):
        return next_creator(**kwargs)

    return create


def _makes_variables_eagerly():
  """Whether a variable made here, or lifted out of a function, is eager."""
  v1 = tf_compat.v1
  if v1.executing_eagerly():
    return True
  if not v1.get_default_graph().building_function:
    return False
  with v1.init_scope():  # The slowest part of entering a scope.
    return v1.executing_eagerly()


@contextlib.contextmanager
def variables_on(tasks: Union[Iterable[int], weights.Interval]
                 ) -> Iterator[None]:
  """A scope that puts variables on parameter servers by the hash of the name.

  In a graph, an op that holds a variable goes to `/job:ps/task:<tasks[hash]>`,
  unless the device of the op has a job, a replica or a task. Eagerly and in a
  `tf.function`, the variable gets the device of a graph op of the same name.
  For example::

      with devices.variables_on(range(2)):
        weights = tf.compat.v1.get_variable("weights", [10, 5])

  Args:
    tasks: non-empty range, or another iterable, of int: tasks of the job `ps`.
      The hash of a name picks a task. Or an `Interval` of a line that is cut
      into a part for each task. The hash of a name picks a point on the
      `Interval`.
  """
  is_small = isinstance(tasks, (range, weights.Interval))
  servers = _ParameterServers(tasks if is_small else tuple(tasks))
  # TensorFlow looks at a method for longer than at a function.
  with (tf_compat.v1.variable_creator_scope(servers.variable_creator())
        if _makes_variables_eagerly()
        else tf_compat.v1.device(lambda op: servers.place(op))):  # pylint: disable=unnecessary-lambda
    yield


@contextlib.contextmanager
def monkey_patch_default_variable_placement_strategy() -> Iterator[None]:
  """Makes op-name hashing the default of `replica_device_setter` in a context.

  For code that builds a `tf.compat.v1.train.replica_device_setter` without a
  `ps_strategy`. Where possible, pass an `OpNameHashStrategy` as `ps_strategy`
  instead. The default changes for all threads of the process.
  """
  name = "_RoundRobinStrategy"
  module = tensorflow_internals.device_setter()
  original = getattr(module, name)
  setattr(module, name, OpNameHashStrategy)
  try:
    yield
  finally:
    setattr(module, name, original)

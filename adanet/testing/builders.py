# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A small search for tests: builders, their generator, and data to learn."""

import time
from typing import (
    Any, Callable, Iterator, List, NamedTuple, Optional, Sequence, Tuple)

from adanet import subnetwork
from adanet import tf_compat
import numpy as np


def data(rows: int = 32) -> Tuple[np.ndarray, np.ndarray]:
  """Returns features [rows, 3] and labels [rows, 1] of a line."""
  features = np.random.RandomState(7).uniform(-1, 1, [rows, 3])
  labels = features.sum(axis=1, keepdims=True)
  return features.astype(np.float32), labels.astype(np.float32)


def batches(count: int, size: int = 8) -> Iterator[Tuple[
    np.ndarray, np.ndarray]]:
  """Yields the first batches that `input_fn()` gives: features and labels."""
  features, labels = data()
  for i in range(count):
    rows = np.arange(i * size, (i + 1) * size) % len(labels)
    yield features[rows], labels[rows]


def input_fn(repeat: Optional[int] = None, batch_size: int = 8,
             ) -> Callable[[], Any]:
  """Returns an input_fn of `data`, without end by default."""
  def call():
    features, labels = data()
    dataset = tf_compat.v1.data.Dataset.from_tensor_slices(
        ({"x": features}, labels))
    return dataset.repeat(repeat).batch(batch_size)

  return call


class Dense(subnetwork.Builder):
  """A network with one hidden layer, the same on every TensorFlow.

  Attributes:
    calls: list of the methods that were called, in order.
  """

  def __init__(self, name: str, width: int = 2, learning_rate: float = .05,
               **returned: Any):
    """Takes its shape, and values to return by attributes of `Subnetwork`."""
    self._name = name
    self._width = width
    self._learning_rate = learning_rate
    self._returned = returned
    self.calls: List[str] = []

  @property
  def name(self):
    return self._name

  def build_subnetwork(self, features, logits_dimension, training,
                       iteration_step, summary, previous_ensemble=None):
    v1 = tf_compat.v1
    self.calls.append("build")
    columns = int(features["x"].shape[-1])
    hidden = v1.nn.relu(v1.matmul(features["x"], v1.get_variable(
        "hidden", [columns, self._width],
        initializer=v1.random_uniform_initializer(-1, 1, seed=1))))
    logits = v1.matmul(hidden, v1.get_variable(
        "logits", [self._width, logits_dimension],
        initializer=v1.random_uniform_initializer(-1, 1, seed=2)))
    values = dict(last_layer=hidden, logits=logits,
                  complexity=float(self._width))
    values.update(self._returned)
    return subnetwork.Subnetwork(**values)

  def build_subnetwork_train_op(self, subnetwork, loss, var_list, labels,  # pylint: disable=redefined-outer-name
                                iteration_step, summary, previous_ensemble):
    self.calls.append("train")
    optimizer = tf_compat.v1.train.MomentumOptimizer(self._learning_rate, .5)
    return optimizer.minimize(loss, var_list=var_list)


class Alone(Dense):
  """A `Dense` that does not ask for the previous ensemble."""

  def build_subnetwork(self, features, logits_dimension, training,
                       iteration_step, summary):
    return super().build_subnetwork(
        features, logits_dimension, training, iteration_step, summary)

  def build_subnetwork_train_op(self, subnetwork, loss, var_list, labels,  # pylint: disable=redefined-outer-name
                                iteration_step, summary):
    return super().build_subnetwork_train_op(
        subnetwork, loss, var_list, labels, iteration_step, summary, None)


class _Resource(NamedTuple):
  """The methods that TensorFlow's collections of resources have."""
  handle: Any
  create: Any
  is_initialized: Any


def _value_of_resource(name: str, collection: str) -> Any:
  """Returns the value of a new resource, which is 1 once it is initialized."""
  v1 = tf_compat.v1
  name = f"{v1.get_variable_scope().name}/{name}"
  with v1.name_scope(None):
    handle = v1.raw_ops.VarHandleOp(
        container="", shared_name=name, dtype=v1.float32, shape=[], name=name)
  v1.add_to_collection(collection, _Resource(
      handle,
      v1.raw_ops.AssignVariableOp(resource=handle, value=v1.constant(1.)),
      v1.raw_ops.VarIsInitializedOp(resource=handle)))
  return v1.raw_ops.ReadVariableOp(resource=handle, dtype=v1.float32)


class Remembering(Dense):
  """Counts its steps in a table, and has a shared and a local resource.

  Where one of these is not initialized or restored, its logits differ.
  """

  def build_subnetwork(self, *args: Any,
                       **kwargs: Any) -> Any:
    v1 = tf_compat.v1
    own_subnetwork = super().build_subnetwork(*args, **kwargs)
    self._table = v1.lookup.experimental.DenseHashTable(
        v1.int64, v1.float32, default_value=0., empty_key=-1, deleted_key=-2,
        name="steps")
    steps = self._table.lookup(v1.constant(0, v1.int64))
    return own_subnetwork._replace(
        logits=own_subnetwork.logits + .01 * steps +
        _value_of_resource("shared", v1.GraphKeys.RESOURCES) +
        _value_of_resource("local", v1.GraphKeys.LOCAL_RESOURCES))

  def build_subnetwork_train_op(self, *args: Any,
                                **kwargs: Any) -> Any:
    v1 = tf_compat.v1
    train_op = super().build_subnetwork_train_op(*args, **kwargs)
    key = v1.constant(0, v1.int64)
    with v1.control_dependencies([train_op]):
      return self._table.insert(key, self._table.lookup(key) + 1.)


class Hooked(Dense):
  """Has hooks of its own."""

  def __init__(self, name: str, hooks: Sequence[Any] = (),
               chief_hooks: Sequence[Any] = (), **arguments: Any):
    """Takes the hooks; the other arguments are `Dense`'s."""
    super().__init__(name, **arguments)
    self.hooks, self.chief_hooks = hooks, chief_hooks

  def build_subnetwork_train_op(self, *args: Any, **kwargs: Any) -> Any:
    return subnetwork.TrainOpSpec(
        super().build_subnetwork_train_op(*args, **kwargs), self.chief_hooks,
        self.hooks)


class Slow(Dense):
  """Takes its time for a step, so that a test can do something meanwhile."""

  def __init__(self, name: str, step_secs: float, **arguments: Any):
    """Takes how long, and the arguments of `Dense`."""
    super().__init__(name, **arguments)
    self._step_secs = step_secs

  def build_subnetwork_train_op(self, *args: Any,
                                **kwargs: Any) -> Any:
    v1 = tf_compat.v1

    def pause(unused_step):
      time.sleep(self._step_secs)
      return True

    with v1.control_dependencies([v1.py_func(pause, [0], v1.bool)]):
      return super().build_subnetwork_train_op(*args, **kwargs)


def generator(*builders: Any) -> subnetwork.Generator:
  """Returns a generator that always makes these builders."""
  return subnetwork.SimpleGenerator(list(builders))

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Batches of arrays in memory, which the graph asks for one by one.

An array that is a constant of the graph would be written with each checkpoint,
and may have no more than 2 GB.
"""

import collections
import math
import os
import sys
from typing import Any, Dict, Optional, Tuple
import zlib

from adanet import checks
from adanet import log as logging
from adanet import messages
from adanet import tf_compat
from adanet.tf_compat import runtime
from adanet.training import input_position
import numpy as np

_Named = Dict[str, np.ndarray]
# An array, or a dict of them.
Structure = Any


def _check_text(name, array):
  """Checks that an array of objects has text, which is all that a graph has."""
  for number, value in enumerate(array.flat):
    if not isinstance(value, (str, bytes)):
      raise ValueError(
          f"{name} is an array of objects, and value {number} is "
          f"{messages.describe(value)}: expected text in all. Fill what is "
          "missing, or convert it, for example with astype('float32').")


def _checked_array(name, value):
  """Returns an array, or raises an error that names it."""
  if not hasattr(value, "__array__") or hasattr(value, "columns"):
    raise TypeError(
        f"{name} is {messages.describe(value)}: expected a NumPy array, or "
        "a dict from name to array.")
  try:
    array = np.asarray(value)
  except Exception as e:
    raise TypeError(
        "{} is {}, which is not a NumPy array: {}.".format(
            name, messages.describe(value),
            runtime.error_line(e).rstrip("."))) from e
  if np.ma.is_masked(value):
    raise ValueError(f"{name} has masked values: give them a value, for "
                     "example with numpy.ma.filled.")
  if not array.ndim:
    raise ValueError(
        f"{name} is a single value: expected a row for each example.")
  if array.dtype.kind == "O":
    _check_text(name, array)
  return array


def columns(name: str, frame: Any) -> Dict[Any, Any]:
  """Returns dict from a data frame's columns to their values.

  Raises:
    ValueError: two have the same name.
  """
  names = list(frame.columns)
  for column in names:
    if names.count(column) > 1:
      raise ValueError(f"{name} has the column {column!r} "
                       f"{names.count(column)} times: rename them.")
  return {column: frame[column] for column in names}


def checked(name: str, value: Any) -> Structure:
  """Returns an array or a dict of arrays.

  Args:
    name: str, its name in messages.
    value: array, dict from name to array, or pandas data.

  Raises:
    TypeError or ValueError: the value is something else, or empty.
  """
  if hasattr(value, "columns"):
    value = columns(name, value)
  if not isinstance(value, dict):
    return _checked_array(name, value)
  if not value:
    raise ValueError(f"{name} is an empty dict: expected an array, or a dict "
                     "from name to array.")
  return {key: _checked_array(f"{name}[{key!r}]", item)
          for key, item in value.items()}


def named(name: str, value: Structure) -> _Named:
  """Returns the arrays of a structure by their names in messages."""
  if isinstance(value, dict):
    return {f"{name}[{key!r}]": item for key, item in value.items()}
  return {name: value}


def check_rows(arrays: _Named) -> int:
  """Returns how many rows all arrays have, as `checks.check_rows`."""
  return checks.check_rows({name: len(array) for name, array in arrays.items()})


def _dtype(name, array):
  """Returns the type that an array has in a graph."""
  try:
    return tf_compat.v1.as_dtype(
        object if array.dtype.kind in "SU" else array.dtype)
  except TypeError as e:
    raise TypeError(
        f"{name} has the type {array.dtype}, which TensorFlow does not have: "
        "convert it, for example with astype('float32').") from e


class Order:
  """The rows of each batch. A batch at the end of an epoch continues.

  Attributes:
    num_batches: int, the number of batches.
  """

  def __init__(self, rows: np.ndarray, batch_size: int,
               num_epochs: Optional[int], seed: Optional[int], first: int = 0):
    """Copies nothing.

    Args:
      rows: array of int, all rows in order.
      num_epochs: int; None for no end.
      seed: int, shuffles the rows anew in each epoch; None keeps the order.
      first: int, the number of rows that move from the beginning of each epoch
        to its end.
    """
    self._rows = rows
    self._first = first
    self._batch_size = batch_size
    self._seed = seed
    self._num_rows = math.inf if num_epochs is None else num_epochs * len(rows)
    self.num_batches = (
        sys.maxsize if num_epochs is None else -(-self._num_rows // batch_size))
    self._shuffled: Dict[int, np.ndarray] = collections.OrderedDict()

  def _epoch(self, number):
    """Returns the rows of an epoch; the last two are kept."""
    if self._seed is None and not self._first:
      return self._rows
    if number not in self._shuffled:
      rows = self._rows
      if self._seed is not None:
        random = np.random.RandomState([self._seed, number])
        rows = random.permutation(rows)
      self._shuffled[number] = np.roll(rows, -self._first)
      while len(self._shuffled) > 2:
        self._shuffled.popitem(last=False)
    return self._shuffled[number]

  def batch(self, number: int) -> np.ndarray:
    """Returns the rows of a batch, by its number from 0."""
    start = number * self._batch_size
    end = min(start + self._batch_size, self._num_rows)
    pieces = []
    while start < end:
      epoch, row = divmod(start, len(self._rows))
      pieces.append(self._epoch(epoch)[row:row + end - start])
      start += len(pieces[-1])
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


class ArrayInput:
  """An input_fn of arrays. The pickled input_fn includes the arrays."""

  def __init__(self, features: Structure, labels: Structure, batch_size: int,
               num_epochs: Optional[int], shuffle: Any,
               seed: Optional[int] = None,
               names: Tuple[str, str] = ("x", "y")):
    """Reads nothing yet.

    Args:
      features: array or dict of arrays.
      labels: the same, or None.
      num_epochs: int; None for no end.
      shuffle: bool, whether the rows are shuffled.
      seed: int, for the shuffling; None for a seed of the config.
      names: of features and labels in messages.

    Raises:
      TypeError: a count is not an integer.
      ValueError: an argument is not as described, or the arrays do not have as
        many rows.
    """
    if not isinstance(shuffle, bool):
      raise ValueError(
          f"shuffle={messages.describe(shuffle)}: expected True or False: "
          "True to train, False to evaluate and to predict.")
    self._batch_size = checks.check_count("batch_size", batch_size)
    self._num_epochs = checks.check_count(
        "num_epochs", num_epochs, or_none=True)
    self._seed = checks.check_count("seed", seed, 0, 2**32, or_none=True)
    arrays = named(names[0], features)
    if labels is not None:
      arrays.update(named(names[1], labels))
    self._rows = np.arange(check_rows(arrays))
    self._arrays = arrays
    self._features = features
    self._labels = labels
    self._shuffle = shuffle

  @property
  def shuffles(self) -> bool:
    """Whether the rows come in another order than they have."""
    return self._shuffle

  @property
  def is_endless(self) -> bool:
    """Whether the batches have no end."""
    return self._num_epochs is None

  def _shuffling_seed(self, config, several_read_all):
    """Returns a seed that a restarted program has, too; None if there is none.
    """
    seed = self._seed
    if seed is None:
      seed = getattr(config, "tf_random_seed", None)
    if seed is None:  # The config is unknown if a user's input_fn calls.
      seed = tf_compat.v1.get_default_graph().seed
    if seed is None and several_read_all:
      # All workers need the same one, and no task tells it the others.
      seed = zlib.crc32(str(getattr(config, "model_dir", None)).encode())
    return None if seed is None else seed % 2**32

  def _order(self, config, input_context):
    """Returns the `Order` of the worker's rows, and the name of its op."""
    rows, first, several_read_all = self._rows, 0, False
    if input_context is not None:
      num_workers = input_context.num_input_pipelines
      worker = input_context.input_pipeline_id
      if self.is_endless:
        # Spread evenly over the epoch, so that all rows are read soon, even if
        # a worker is late or lost.
        first = len(rows) * worker // num_workers
        several_read_all = num_workers > 1
      else:
        # With fewer rows than workers, the last ones read them all.
        own = rows[worker::num_workers]
        rows = own if len(own) else rows
    seed, name = None, input_position.STATELESS_PYTHON
    if self._shuffle:
      seed = self._shuffling_seed(config, several_read_all)
      if seed is None:
        seed = int.from_bytes(os.urandom(4), "little")
        name = input_position.SHUFFLE_WITHOUT_SEED
    return Order(rows, self._batch_size, self._num_epochs, seed, first), name

  def _structure(self, tensors):
    """Returns tensors in the structure of the features and labels."""
    tensors = list(tensors)

    def take(like):
      if isinstance(like, dict):
        return {key: tensors.pop(0) for key in like}
      return tensors.pop(0)

    features = take(self._features)
    return (features if self._labels is None else
            (features, take(self._labels)))

  def __call__(self, config: Any = None, input_context: Any = None) -> Any:
    """Returns the `tf.data.Dataset` of the batches, in the default graph.

    Args:
      config: RunConfig, whose `tf_random_seed` replaces a missing seed.
      input_context: `InputContext` of the worker. The workers divide rows that
        end. Without an end, each worker reads all rows from a different first
        row, so that no row depends on a single worker.
    """
    order, name = self._order(config, input_context)
    arrays = list(self._arrays.values())
    dtypes = [_dtype(name, array) for name, array in self._arrays.items()]
    # Without an end, each batch is whole.
    size = self._batch_size if self.is_endless else None

    def read(number):
      rows = order.batch(int(number))
      return [np.asarray(array[rows], dtype.as_numpy_dtype)
              for array, dtype in zip(arrays, dtypes)]

    def batch(number):
      tensors = tf_compat.v1.numpy_function(
          read, [number], dtypes, name=name)
      for tensor, array in zip(tensors, arrays):
        tensor.set_shape((size,) + array.shape[1:])
      return self._structure(tensors)

    first = tf_compat.v1.placeholder_with_default(
        tf_compat.v1.constant(0, tf_compat.v1.int64), [], "first_batch")
    # Only that of TensorFlow 2 knows how many batches it has after `map`.
    dataset = tf_compat.v2.data.Dataset.range(first, order.num_batches).map(
        tf_compat.v2.autograph.experimental.do_not_convert(batch))
    # A dataset that a user makes from this dataset has no such attribute.
    dataset.adanet_start = input_position.InputStart(first, order.num_batches)
    return dataset


def warn_if_shuffled(input_fn: Any) -> None:
  """Warns if an input_fn of predictions shuffles the rows."""
  if isinstance(input_fn, ArrayInput) and input_fn.shuffles:
    logging.warning(
        "predict: shuffle=True of the input gives predictions in another order "
        "than the rows have: use shuffle=False.")


class Placeholders:
  """Placeholders for arrays like some, with any number of rows.

  Attributes:
    features: placeholder, or dict of them.
  """

  def __init__(self, name: str, like: Structure):
    """Makes them in the default graph.

    Args:
      name: str, the name of the arrays in messages.
      like: array or dict of arrays, or pandas data.
    """
    self._name = name
    like = checked(name, like)
    check_rows(named(name, like))

    def make_placeholder(key, array):
      return tf_compat.v1.placeholder(
          _dtype(key, array), (None,) + array.shape[1:])

    if isinstance(like, dict):
      self.features = {
          key: make_placeholder(f"{name}[{key!r}]", array)
          for key, array in like.items()}
    else:
      self.features = make_placeholder(name, like)

  def feeds(self, value: Structure) -> Dict[Any, np.ndarray]:
    """Returns the arrays that feed a session.

    Args:
      value: array or dict of arrays, or pandas data.

    Raises:
      TypeError: an array has another type.
      ValueError: the arrays have other names or shapes, or no rows.
    """
    value = checked(self._name, value)
    expected = named(self._name, self.features)
    arrays = named(self._name, value)
    if set(arrays) != set(expected):
      raise ValueError(f"expected {', '.join(sorted(expected))}, got "
                       f"{', '.join(sorted(arrays))}")
    check_rows(arrays)
    return {expected[name]: self._fed(name, array, expected[name])
            for name, array in arrays.items()}

  @staticmethod
  def _fed(name, array, placeholder):
    shape, dtype = placeholder.shape.as_list(), placeholder.dtype
    if list(array.shape[1:]) != shape[1:]:
      raise ValueError(f"{name} has the shape {list(array.shape)}: expected "
                       f"{shape}")
    fed_dtype = _dtype(name, array)
    if (fed_dtype == tf_compat.v1.string) != (dtype == tf_compat.v1.string) or (
        not np.can_cast(
            fed_dtype.as_numpy_dtype, dtype.as_numpy_dtype, "same_kind")):
      raise TypeError(f"{name} has the type {array.dtype}: expected "
                      f"{dtype.name}")
    return np.asarray(array, dtype.as_numpy_dtype)


def _leaves(structure):
  if isinstance(structure, dict):
    return list(structure.values())
  return [] if structure is None else [structure]


def _is_array(value):
  """Whether a value is an array of NumPy, pandas data, or an eager tensor."""
  return isinstance(value, np.ndarray) or hasattr(value, "iloc") or (
      isinstance(value, tf_compat.v1.Tensor) and hasattr(value, "numpy"))


def _constants(name, structure):
  """Returns a structure with constants in place of its arrays."""
  if isinstance(structure, dict):
    return {key: _constants(f"{name}[{key!r}]", value)
            for key, value in structure.items()}
  if not _is_array(structure):
    return structure
  return tf_compat.v1.convert_to_tensor(_checked_array(name, structure))


def in_graph(features: Structure, labels: Structure, repeats: bool) -> Any:
  """Returns tensors or arrays, or dicts of these, for the graph.

  Args:
    repeats: whether a batch of arrays is repeated without end, or read once.

  Returns:
    A `tf.data.Dataset` of one batch if all values are arrays. Otherwise, the
    pair with constants in place of arrays.
  """
  are_arrays = list(map(_is_array, _leaves(features) + _leaves(labels)))
  if not any(are_arrays):
    return features, labels
  if not all(are_arrays):
    return _constants("features", features), _constants("labels", labels)
  names = "features", "labels"
  features = checked(names[0], features)
  labels = None if labels is None else checked(names[1], labels)
  rows = check_rows(named(names[0], features))
  return ArrayInput(features, labels, rows, None if repeats else 1,
                    shuffle=False, names=names)()

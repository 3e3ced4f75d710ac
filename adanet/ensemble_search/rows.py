# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Rows of arrays, and batches of these rows.

Rows are numbers of rows of arrays in memory: a process has each array once on
each device. A large memmap is read by chunks.
"""

from collections.abc import Iterator
import dataclasses
from typing import Any, NamedTuple

from adanet import tf_compat
from adanet.ensemble_search import arrays
from adanet.ensemble_search import devices
import numpy as np

keras: Any = tf_compat.keras_3
tf = tf_compat.v2
#: Rows of a held-out batch, of networks and of ensembles alike.
CHECK_SIZE = 256
#: Bytes of a chunk of batches.
CHUNK_BYTES = 32 << 20

# Tensors, and the numbers of the rows of some batches in these tensors.
Chunk = tuple[list, np.ndarray]


class Layout(NamedTuple):
  """What is known about batches before there is a batch.

  Attributes:
    structure: `(x, y, weights)` or the beginning, as `Model.train_step` takes a
      batch, with anything in place of an array.
    specs: list with the `TypeSpec` of each array that is not None, with any
      number of rows.
    size: int, the rows of each batch; None if batches differ, as in Keras.
  """
  structure: Any
  specs: list
  size: int | None

  def pack(self, flat):
    """Returns a batch with these arrays."""
    rest = iter(flat)
    return map_arrays(lambda _: next(rest), self.structure)


def map_arrays(function, *structures):
  """Maps the arrays of structures; None stays None."""
  return keras.tree.map_structure(
      lambda *parts: None if parts[0] is None else function(*parts),
      *structures)


def flat_arrays(structure: Any) -> list:
  """Returns the arrays of a structure, without None."""
  return [array for array in keras.tree.flatten(structure) if array is not None]


def layout_of(batch: Any, specs: list, size: int | None) -> Layout:
  """Returns the `Layout` of a batch of arrays or specs."""
  return Layout(map_arrays(lambda _: 0, batch), specs, size)


def spec_of(array: Any) -> Any:
  """Returns the spec of an array or a tensor with any number of rows."""
  if isinstance(array, (tf.RaggedTensor, tf.SparseTensor)):
    return with_any_rows(tf.type_spec_from_value(array))
  return tf.TensorSpec([None, *array.shape[1:]], array.dtype)


def common_spec(*tensors: Any) -> Any:
  """Returns the spec of tensors whose shapes may differ."""
  first, *others = map(spec_of, tensors)
  return first.most_specific_common_supertype(others) or first


def with_any_rows(spec: Any) -> Any:
  """Returns the spec of a batch with any number of rows."""
  shape = [None, *spec.shape[1:]]
  if isinstance(spec, tf.RaggedTensorSpec):
    return tf.RaggedTensorSpec(shape, spec.dtype, spec.ragged_rank,
                               spec.row_splits_dtype)
  return type(spec)(shape, spec.dtype)


def reader(array):
  """Returns a function from row numbers to the rows of an array."""
  if isinstance(array, np.ndarray):
    return lambda numbers: arrays.tensor(array[numbers])
  if not isinstance(array, tf.SparseTensor):
    return lambda numbers: tf.gather(array, numbers, axis=0)
  # TensorFlow gathers no rows of sparse tensors, but rows of ragged tensors.
  owners, columns = array.indices[:, 0], array.indices[:, 1:]
  columns, values = (
      tf.RaggedTensor.from_value_rowids(part, owners, array.dense_shape[0])
      for part in (columns, array.values))

  def read(numbers):
    rows = tf.gather(columns, numbers)
    return tf.SparseTensor(
        tf.concat([rows.value_rowids()[:, None], rows.flat_values], 1),
        tf.gather(values, numbers).flat_values,
        [numbers.shape[0] or tf.shape(numbers, tf.int64)[0], *array.shape[1:]])

  return read


def join(tensors: Any) -> Any:
  """Returns the rows of all tensors as one tensor."""
  return (tf.sparse.concat(0, list(tensors)) if isinstance(
      tensors[0], tf.SparseTensor) else tf.concat(list(tensors), 0))


def join_labels(parts: list[tuple]) -> tuple:
  """Joins the labels and weights of consecutive parts of the rows."""
  return map_arrays(lambda *tensors: join(tensors), *parts)


def in_batches(numbers: np.ndarray, size: int) -> Iterator[np.ndarray]:
  """Yields all full batches as one array, and then a smaller batch."""
  whole = len(numbers) // size * size
  if whole:
    yield numbers[:whole].reshape(-1, size)
  if whole < len(numbers):
    yield numbers[whole:][None]


def first_batch(held_out: Any, size: int) -> tuple:
  """Returns the first held-out batch, as a model takes a batch."""
  flat, numbers = held_out.first_chunk(size)
  return held_out.layout(size).pack(
      reader(tensor)(tf.constant(numbers[0])) for tensor in flat)


def _make_tensors(batch):
  return list(map(arrays.tensor, flat_arrays(batch)))


class Rows:
  """Some rows of arrays, in the structure of a batch.

  Attributes:
    batch: `(x, y, weights)` or the beginning: nested arrays with all rows.
    numbers: array of int32, the numbers of the rows.
  """

  def __init__(self, batch: tuple, numbers: np.ndarray,
               tensors: devices.DeviceTensors | None = None):
    self.batch = batch
    self.numbers = numbers
    self._tensors = tensors or devices.DeviceTensors(_make_tensors, batch)

  def __len__(self):
    return len(self.numbers)

  def select(self, numbers: np.ndarray) -> "Rows":
    """Returns other rows of the same arrays and tensors."""
    return Rows(self.batch, numbers, self._tensors)

  @property
  def not_finite(self) -> list[tuple[str, str, "Rows"]]:
    """Arguments with NaN or infinity, words, and the `Rows` that have these."""
    return [(argument, text, self.select(rows))
            for argument, text, rows in arrays.find_not_finite(self.batch)]

  def tensors(self) -> list:
    """Returns all arrays as tensors on the device of this thread's scope."""
    return self._tensors.here()

  def layout(self, size: int) -> Layout:
    """Returns the `Layout` of batches of some size."""
    return layout_of(
        self.batch, list(map(self._spec, flat_arrays(self.batch))),
        size if len(self) % size == 0 else None)

  def _spec(self, array):
    spec = spec_of(array)
    return (tf.TensorSpec(spec.shape, keras.config.floatx())
            if spec.dtype.is_floating and isinstance(array, np.ndarray) else
            spec)

  def chunks(self, size: int, order: Any = None, start: int = 0
            ) -> Iterator[Chunk]:
    """Yields tensors with the row numbers of batches, the last batch smaller.

    `order` has the rows; the first `start` batches are left out.
    """
    order = (self.numbers if order is None else order)[start * size:]
    flat = flat_arrays(self.batch)
    if not any(map(arrays.is_large, flat)):
      tensors = self.tensors()
      yield from ((tensors, numbers) for numbers in in_batches(order, size))
      return
    row_bytes = sum(array[:1].nbytes for array in flat if isinstance(
        array, np.ndarray))
    count = max(1, CHUNK_BYTES // max(1, row_bytes * size)) * size
    for i in range(0, len(order), count):
      tensors = [reader(array)(order[i:i + count]) for array in flat]
      for numbers in in_batches(np.arange(
          len(order[i:i + count]), dtype=np.int32), size):
        yield tensors, numbers

  def first_chunk(self, size: int) -> Chunk:
    """Returns the first of `chunks`."""
    return next(self.chunks(size))

  def labels(self) -> tuple:
    """Returns the labels and weights of these rows, or None, as tensors."""
    parts = map_arrays(lambda array: reader(array)(self.numbers),
                       self.batch[1:])
    return (*parts, None, None)[:2]


@dataclasses.dataclass
class ArraySplit:
  """Arrays, divided into rows that train and held-out rows."""
  trained: Rows
  held_out: Any  # `Rows` or `HeldOutBatches`.
  batch_size: int
  seed: int  # Of the order of the rows.
  source: Any = None  # No dataset that networks read together.

  def layout(self) -> Layout:
    return self.trained.layout(self.batch_size)

  def steps(self) -> int:
    """Returns the number of batches of an epoch."""
    return -(-len(self.trained) // self.batch_size)

  def order(self, epoch: int) -> np.ndarray:
    """Returns the rows of an epoch, in the same order for all networks."""
    return np.random.RandomState([self.seed, epoch]).permutation(
        self.trained.numbers)

  def chunks(self, epoch: int, start: int = 0) -> Iterator[Chunk]:
    """Yields the batches of an epoch after the first `start` batches."""
    return self.trained.chunks(self.batch_size, self.order(epoch), start)

  def held_out_rows(self) -> np.ndarray | None:
    """Returns the numbers of the held-out rows in x; None for other data."""
    batch = getattr(self.held_out, "batch", None)
    return self.held_out.numbers if batch is self.trained.batch else None

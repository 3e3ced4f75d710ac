# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Rows that train, and held-out ones: numbers of rows of arrays in memory.

A process has each array once on each device. A large memmap goes in by chunks.
"""

from collections.abc import Iterator
import dataclasses
import functools
import os
from typing import Any

from adanet import tf_compat
from adanet.ensemble_search import arrays
from adanet.ensemble_search import devices
from adanet.ensemble_search import steps
import numpy as np

keras, tf = tf_compat.keras_3, tf_compat.v2
#: Rows of a held-out batch, of networks and of ensembles alike.
CHECK_SIZE = 256
# Held-out rows by which a function of another program is checked.
_SAMPLE_SIZE = 32
#: Bytes of a chunk of batches.
CHUNK_BYTES = 32 << 20
# Data of an executor's tasks: the last ones of this process.
_of_process: dict[str, Any] = {}

# Tensors, and the numbers of the rows of some batches in them.
Call = tuple[list, np.ndarray]


def in_batches(rows: np.ndarray, size: int) -> Iterator[np.ndarray]:
  """Yields the whole batches of rows as one array, and then a smaller one."""
  whole = len(rows) // size * size
  if whole:
    yield rows[:whole].reshape(-1, size)
  if whole < len(rows):
    yield rows[whole:][None]


class Rows:
  """Some rows of arrays, in the structure of a batch."""

  def __init__(self, batch: Any, rows: np.ndarray,
               tensors: devices.TensorsOfDevices | None = None):
    """Copies nothing yet.

    Args:
      batch: `(x, y, weights)` or its beginning: nested arrays with all rows.
      rows: array of int32, the numbers of these rows.
      tensors: those of the arrays; None for new ones.
    """
    self.batch = batch
    self.rows = rows
    self._tensors = tensors or devices.TensorsOfDevices(
        lambda: list(map(arrays.tensor, steps.flat_arrays(batch))))

  def __reduce__(self):
    return Rows, (self.batch, self.rows)

  def others(self, rows: np.ndarray) -> "Rows":
    """Returns other rows of the same arrays, which have the same tensors."""
    return Rows(self.batch, rows, self._tensors)

  def tensors(self) -> Any:
    """Returns all arrays as tensors of the device of this thread's scope.

    Returns None if the arrays are too large.
    """
    return None if any(map(arrays.is_large, steps.flat_arrays(
        self.batch))) else self._tensors.here()

  def layout(self, size: int) -> steps.Layout:
    """Returns the `Layout` of batches of some size."""
    return steps.Layout(
        keras.tree.map_structure(
            lambda one: None if one is None else 0, self.batch),
        [self._spec(one) for one in steps.flat_arrays(self.batch)],
        size if len(self.rows) % size == 0 else None)

  def _spec(self, array):
    spec = steps.spec_of(array)
    return (tf.TensorSpec(spec.shape, keras.config.floatx())
            if spec.dtype.is_floating and isinstance(array, np.ndarray) else
            spec)

  def calls(self, size: int, order: Any = None, start: int = 0
           ) -> Iterator[Call]:
    """Yields tensors with the row numbers of batches, the last one smaller.

    Args:
      size: int, the rows of a batch.
      order: array of int, the rows; None for the order of the data.
      start: int, how many batches to skip.
    """
    order = self.rows if order is None else order
    flat = steps.flat_arrays(self.batch)
    tensors = self.tensors()
    for rows in in_batches(order[start * size:], size):
      if tensors is not None:
        yield tensors, rows
        continue
      row_bytes = sum(one.nbytes // len(one) for one in flat if isinstance(
          one, np.ndarray))
      count = max(1, CHUNK_BYTES // max(1, row_bytes * size))
      for i in range(0, len(rows), count):
        some = rows[i:i + count]
        yield ([_taken(one, some.reshape(-1)) for one in flat],
               np.arange(some.size, dtype=np.int32).reshape(some.shape))

  def labels(self) -> tuple[Any, Any]:
    """Returns the labels of these rows and their weights, or None, as tensors.
    """
    parts = [keras.tree.map_structure(
        lambda one: None if one is None else _taken(one, self.rows), part)
             for part in self.batch[1:]]
    return (*parts, None, None)[:2]


def _taken(array, rows):
  """Returns some rows of an array as a tensor."""
  if isinstance(array, np.ndarray):
    return arrays.tensor(array[rows])
  return steps.readable(array)(rows)


class Batches:
  """Batches of a dataset that are no arrays, because their shapes differ."""

  def __init__(self, structure: Any, specs: list, size: int | None,
               calls: list[Call]):
    self._layout = steps.Layout(structure, specs, size)
    self._calls = [
        (devices.TensorsOfDevices(functools.partial(list, flat)), rows)
        for flat, rows in calls]

  def layout(self, size: int) -> steps.Layout:
    del size  # These have their own.
    return self._layout

  def calls(self, size: int) -> Iterator[Call]:
    del size
    for tensors, rows in self._calls:
      yield tensors.here(), rows

  def labels(self) -> tuple[Any, Any]:
    """Returns the labels of all rows and their weights, or None, as tensors.

    Raises:
      ValueError: they have several shapes.
    """
    batches = [self._layout.packed(tensors.here())[1:]
               for tensors, _ in self._calls]
    try:
      parts = [keras.tree.map_structure(
          lambda *some: None if some[0] is None else tf.concat(some, 0),
          *(batch[i] for batch in batches)) for i in range(len(batches[0]))]
    except tf.errors.InvalidArgumentError:
      raise ValueError(
          "validation_data has labels whose shapes differ from batch to batch: "
          "expected one shape, because ensembles are judged on all.") from None
    return (*parts, None, None)[:2]


def joined_labels(parts: list) -> tuple[Any, Any]:
  """Returns the labels and weights of some `Rows` as those of one."""
  y, weights = zip(*(one.labels() for one in parts))

  def joined(some):
    return None if some[0] is None else keras.tree.map_structure(
        lambda *flat: None if flat[0] is None else tf.concat(flat, 0), *some)

  return joined(y), joined(weights)


def sample_of(held_out: Any, layout: steps.Layout) -> list:
  """Returns the first rows of x of held-out data, as `arrays.parts`."""
  flat, rows = next(iter(held_out.calls(_SAMPLE_SIZE)))
  count = len(steps.flat_arrays(layout.structure[0]))
  return [arrays.parts(_taken(one, rows[0][:_SAMPLE_SIZE]))
          for one in flat[:count]]


class RowData:
  """Arrays that train, and held-out ones.

  Attributes:
    held_out: `Rows` or `Batches`.
    is_shared: bool, whether networks that train together read the data once.
  """
  is_shared = False

  def __init__(self, trained: Rows, held_out: Any, batch_size: int, seed: int):
    self.trained = trained
    self.held_out = held_out
    self._batch_size = batch_size
    self._seed = seed

  def layout(self) -> steps.Layout:
    return self.trained.layout(self._batch_size)

  def order(self, epoch: int) -> np.ndarray:
    """Returns the rows of an epoch: for all networks in the same order."""
    return np.random.RandomState([self._seed, epoch]).permutation(
        self.trained.rows)

  def calls(self, epoch: int, start: int = 0) -> Iterator[Call]:
    """Yields the batches of an epoch behind the first `start` ones."""
    return self.trained.calls(self._batch_size, self.order(epoch), start)

  def saved(self, folder: str) -> "SavedRows":
    """Writes all arrays to a folder, once; returns what a worker reads."""
    os.makedirs(folder, exist_ok=True)

    def written(array):
      if array is None:
        return None
      if isinstance(array, np.memmap) and array.filename:
        return _ArrayFile(array.filename, memmap=(
            array.dtype.str, array.shape, array.offset))
      divided = arrays.parts(array)
      path = os.path.join(folder, arrays.digest(array)) + (
          ".npy" if len(divided) == 1 else ".npz")
      if not os.path.exists(path):
        temporary = f"{path}.{os.getpid()}.new"
        with open(temporary, "wb") as file:
          if len(divided) == 1:
            np.save(file, divided[0])
          else:
            np.savez(file, *divided)
        os.replace(temporary, path)
      return _ArrayFile(path, None if len(divided) == 1 else
                        steps.spec_of(array))

    parts = {}
    for name, rows in (("trained", self.trained), ("held_out", self.held_out)):
      if not isinstance(rows, Rows):
        raise TypeError("validation_data has batches of several shapes, which "
                        "an executor cannot get: give arrays.")
      parts[name] = (keras.tree.map_structure(written, rows.batch), rows.rows)
    return SavedRows(folder, parts, self._batch_size, self._seed)


class SavedRows:
  """Arrays in files, for a worker of an executor."""

  def __init__(self, folder: str, parts: Any, batch_size: int, seed: int):
    self._folder = folder
    self._parts = parts
    self._rest = batch_size, seed

  def loaded(self) -> RowData:
    """Returns the data, whose tensors this process has once on each device."""
    keys = [repr((self._folder, batch)) for batch, _ in self._parts.values()]
    if not set(keys) <= set(_of_process):
      _of_process.clear()
    found = []
    for key, (batch, rows) in zip(keys, self._parts.values()):
      if key not in _of_process:
        _of_process[key] = Rows(_mapped(
            lambda one: None if one is None else _read(one), batch), rows)
      found.append(_of_process[key].others(rows))
    trained, held_out = found
    return RowData(trained, held_out, *self._rest)


@dataclasses.dataclass(frozen=True)
class _ArrayFile:
  """A file with an array, or with the parts of a tensor of a spec.

  `memmap` has the type, the shape and the offset of a user's own file.
  """
  path: str
  spec: Any = None
  memmap: Any = None


def _mapped(function, value):
  """Returns a structure whose files became arrays."""
  if value is None or isinstance(value, _ArrayFile):
    return function(value)
  if isinstance(value, dict):
    return {key: _mapped(function, one) for key, one in value.items()}
  return type(value)(_mapped(function, one) for one in value)


def _read(file):
  """Returns the array of a file that `RowData.saved` wrote or named."""
  path = file.path
  if file.memmap is not None:
    dtype, shape, offset = file.memmap
    return np.memmap(path, dtype, "r", offset, shape)
  if file.spec is None:
    return np.load(path, mmap_mode="r")
  with np.load(path) as opened:
    return arrays.of_parts(file.spec, list(opened.values()))

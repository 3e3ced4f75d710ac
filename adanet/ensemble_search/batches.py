# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Datasets of a user: read by chunks of batches, and held-out batches.

A dataset (`BatchSource`) is read by chunks of batches. A held-out dataset is
read once, or, if it is large (`HeldOutBatches`), again for each check.
"""

import collections
from collections.abc import Iterator
from concurrent import futures
import dataclasses
import itertools
import time
from typing import Any

from adanet import log
from adanet import messages
from adanet import tf_compat
from adanet.ensemble_search import arrays
from adanet.ensemble_search import devices
from adanet.ensemble_search import rows as rows_lib
import numpy as np

keras, tf = tf_compat.keras_3, tf_compat.v2
_CHUNK_BATCHES = 50
# Held-out batches of more bytes are read again for each check.
_MAX_KEPT_BYTES = 128 << 20
# After how long data of unknown length get a line.
_LONG_SECS = 30.


def is_dataset(value):
  """Returns whether data are no arrays, but batches."""
  return isinstance(value, (tf.data.Dataset, keras.utils.PyDataset)) or (
      hasattr(value, "__next__")) or (
          callable(value) and not hasattr(value, "__array__"))


class BatchSource:
  """A dataset of the user, read by chunks of batches that have one shape.

  Attributes:
    name: str, the argument, for messages.
    dataset: as the user gave it: `tf.data.Dataset`, `keras.utils.PyDataset`, or
      a function that returns a dataset or a generator.
    layout: `Layout` of a batch.
    has_epochs: bool, whether an epoch's number counts for its batches.
  """

  def __init__(self, name: str, dataset: Any, class_weight: Any, seed: int,
               may_have_weights: bool = False):
    """Reads at most two batches.

    `seed` is of the order of the batches of a `PyDataset`. With a
    `class_weight`, batches that have weights are an error; or, if
    `may_have_weights`, keep their weights.
    """
    if hasattr(dataset, "__next__"):
      raise TypeError(f"{name} is a generator, which can be read once: "
                      "expected a function that returns a new generator.")
    self._arguments = name, dataset, class_weight, seed, may_have_weights
    self._has_ended = False  # An epoch.
    self._is_taken = False  # See begin_anew.
    self.name = name
    self.dataset = dataset
    self._seed = seed
    self._data = dataset if isinstance(
        dataset, (tf.data.Dataset, keras.utils.PyDataset)) else dataset()
    self.has_epochs = isinstance(self._data, keras.utils.PyDataset)
    batch = self._read_specs()
    specs = rows_lib.flat_arrays(batch)
    size = self._count_rows(specs)
    self._class_weight = (
        None if may_have_weights and len(batch) == 3 else class_weight)
    if self._class_weight is not None:
      if len(batch) != 2:
        raise ValueError("class_weight: expected None where data have weights, "
                         "or no labels.")
      specs.append(tf.TensorSpec([None], keras.config.floatx()))
      batch = (*batch, specs[-1])
    self.layout = rows_lib.layout_of(
        batch, list(map(rows_lib.with_any_rows, specs)), size)

  def __reduce__(self):
    # A worker makes another dataset.
    return BatchSource, self._arguments

  def begin_anew(self) -> "BatchSource":
    """Returns a source for networks that read the dataset from its beginning.

    A shuffle with a seed gives another order each time that the same dataset is
    read, so only the first call gets this source.
    """
    if self._is_taken and isinstance(self._data, tf.data.Dataset) and (
        callable(self.dataset)):
      return BatchSource(*self._arguments)
    self._is_taken = True
    return self

  def _read_specs(self):
    """Returns the specs of a batch, in the structure of a batch."""
    name, data = self.name, self._data
    if isinstance(data, tf.data.Dataset):
      if data.cardinality() == tf.data.INFINITE_CARDINALITY:
        raise ValueError(f"{name} is a tf.data.Dataset without an end: "
                         "expected the batches of an epoch, such as "
                         "dataset.take(100).")
      spec = data.element_spec
      return spec if isinstance(spec, tuple) else (spec,)
    if self.has_epochs:
      batches = [_to_tensors(data[i]) for i in {0, len(data) - 1}]
    elif hasattr(data, "__next__"):
      batches = list(map(_to_tensors, itertools.islice(self.dataset(), 2)))
    else:
      raise TypeError(
          f"{name} returned {messages.describe(data)}: expected a "
          "tf.data.Dataset, a keras.utils.PyDataset or a generator of batches.")
    if not batches:
      raise ValueError(f"{name} has no batches.")
    for batch in batches:
      self._count_rows(rows_lib.flat_arrays(batch))
    return rows_lib.map_arrays(rows_lib.common_spec, *batches)

  def _count_rows(self, flat):
    """Returns the number of rows of each array; None if unknown."""
    # A single number has the shape ().
    sizes = {tuple(array.shape[:1]) for array in flat} - {(None,)}
    if len(sizes) > 1 or () in sizes:
      raise ValueError(
          f"{self.name} has arrays of "
          f"{[size[0] for size in sorted(sizes) if size]} rows in a batch, or "
          "single examples: expected as many rows in each array, such as in the "
          "batches of dataset.batch(32).")
    return sizes.pop()[0] if sizes else None

  def steps(self) -> int | None:
    """Returns the number of batches of an epoch; None if unknown."""
    if self.has_epochs:
      return len(self._data)
    count = (int(self._data.cardinality()) if isinstance(
        self._data, tf.data.Dataset) else -1)
    return count if count >= 0 else None

  def _batches(self, epoch):
    """Yields the batches of an epoch."""
    data = self._data
    if not self.has_epochs:
      yield from data if isinstance(data, tf.data.Dataset) else self.dataset()
      return
    order = np.random.RandomState([self._seed, epoch]).permutation(len(data))
    data.on_epoch_begin()
    yield from _make_batches(data, order.tolist())
    data.on_epoch_end()

  def _watch(self, batches):
    """Yields batches; says now and then that data of unknown length go on."""
    next_secs, began = _LONG_SECS, time.monotonic()
    may_be_endless = not self._has_ended and self.steps() is None
    for count, batch in enumerate(batches, 1):
      yield batch
      if may_be_endless and time.monotonic() - began > next_secs:
        next_secs *= 2
        log.warning(
            "%s: %s batches, and no end yet. An epoch is all batches once: "
            "give data that end, such as dataset.take(100), or "
            "itertools.islice(batches, 100) of a generator.", self.name,
            f"{count:,}")

  def chunks(self, epoch: int, start: int = 0) -> Iterator[rows_lib.Chunk]:
    """Yields chunks of the batches of an epoch after the first `start`."""
    chunk: list[list] = []
    shapes = None
    for batch in itertools.islice(
        map(_to_tensors, self._watch(self._batches(epoch))), start, None):
      if self._class_weight is not None:
        batch = (*batch, tf.constant(arrays.class_weights(
            batch[1], self._class_weight)))
      flat = rows_lib.flat_arrays(batch)
      self._count_rows(flat)
      batch_shapes = [tuple(tensor.shape) for tensor in flat]
      if chunk and (batch_shapes != shapes or len(chunk) >= _CHUNK_BATCHES or (
          arrays.count_bytes(flat) * len(chunk) > rows_lib.CHUNK_BYTES)):
        yield _join_batches(chunk)
        chunk = []
      chunk.append(flat)
      shapes = batch_shapes
    if chunk:
      yield _join_batches(chunk)
    self._has_ended = True


def _make_batches(data, order):
  """Yields the batches of a `PyDataset`, made ahead by its workers: threads."""
  if data.workers < 2:
    yield from map(data.__getitem__, order)
    return
  pool = futures.ThreadPoolExecutor(data.workers)
  waiting = collections.deque()
  try:
    for i in order:
      waiting.append(pool.submit(data.__getitem__, i))
      if len(waiting) >= max(data.workers, data.max_queue_size):
        yield waiting.popleft().result()
    while waiting:
      yield waiting.popleft().result()
  finally:
    pool.shutdown(cancel_futures=True)


def _to_tensors(batch):
  """Returns a batch, a tuple, as tensors."""
  return rows_lib.map_arrays(arrays.tensor, tuple(batch) if isinstance(
      batch, (tuple, list)) else (batch,))


def _join_batches(batches):
  """Returns the tensors of some batches as one chunk."""
  size = int(batches[0][0].shape[0])
  return list(map(rows_lib.join, zip(*batches))), np.arange(
      size * len(batches), dtype=np.int32).reshape(-1, size)


@dataclasses.dataclass
class HeldOutBatches:
  """Held-out batches that have several shapes, or are too large to keep.

  Attributes:
    source: `BatchSource` of batches that are read again for each check; None
      for batches that are kept, and in the data file of a search.
    not_finite: see `Rows`; these batches are not searched.
  """
  source: Any
  _layout: rows_lib.Layout
  _labels: tuple  # See `Rows.labels`.
  _count: int  # The number of rows.
  _checksum: int
  _kept: list  # All chunks; of batches that are read again, the first chunk.
  not_finite: tuple = ()

  def __getstate__(self):  # A worker has its own source.
    return {**vars(self), "source": None}

  def __len__(self):
    return self._count

  def layout(self, size: int) -> rows_lib.Layout:
    """See `Rows.layout`. The user has divided the batches."""
    del size
    return self._layout

  def labels(self) -> tuple:
    """See `Rows.labels`."""
    return self._labels

  def chunks(self, size: int) -> Iterator[rows_lib.Chunk]:
    """See `Rows.chunks`. The user has divided the batches."""
    del size
    if self.source is None:
      yield from ((tensors.here(), numbers) for tensors, numbers in self._kept)
      return
    checksum = 0
    for flat, numbers in self.source.chunks(0):
      checksum = arrays.add_checksum(flat, checksum)
      yield flat, numbers
    if checksum != self._checksum:
      raise ValueError(
          f"{self.source.name} gives other rows, or another order of rows, "
          "each time: expected the same, because networks are compared by "
          "these rows. Leave out shuffle, or give it a seed and "
          "reshuffle_each_iteration=False.")

  def first_chunk(self, size: int) -> rows_lib.Chunk:
    """Returns the first of `chunks` without reading."""
    del size
    tensors, numbers = self._kept[0]
    return tensors.here(), numbers


def read_held_out(source: BatchSource) -> tuple[Any, str]:
  """Returns `Rows` or `HeldOutBatches` of a dataset, and a digest of the rows.

  Batches of one shape that fit into memory become `Rows`.
  """
  kept: list[rows_lib.Chunk] = []
  labels: list[tuple] = []
  shapes: set[str] = set()
  num_bytes = count = checksum = 0
  for flat, numbers in source.chunks(0):
    labels.append((*source.layout.pack(flat), None, None)[1:3])
    shapes.add(str([tensor.shape[1:] for tensor in flat]))
    count += numbers.size
    checksum = arrays.add_checksum(flat, checksum)
    num_bytes += arrays.count_bytes(flat)
    if not kept or num_bytes <= _MAX_KEPT_BYTES:
      kept.append((flat, numbers))
  if not kept:
    raise ValueError(f"{source.name} has no batches.")
  digest = f"{count:,} rows {checksum:016x}"
  is_large = num_bytes > _MAX_KEPT_BYTES
  if len(shapes) == 1 and not is_large:
    tensors = map(rows_lib.join, zip(*(flat for flat, _ in kept)))
    return rows_lib.Rows(source.layout.pack(tensors), np.arange(
        count, dtype=np.int32)), digest
  try:
    joined = rows_lib.join_labels(labels)
  except tf.errors.InvalidArgumentError:
    raise ValueError(
        f"{source.name} has labels whose shapes differ from batch to batch: "
        "expected one shape, because ensembles are judged on all.") from None
  return HeldOutBatches(
      source if is_large else None, source.layout, joined, count, checksum,
      [(devices.DeviceTensors(list, flat), numbers) for flat, numbers in kept[
          :1 if is_large else None]]), digest


@dataclasses.dataclass
class DatasetSplit:
  """A dataset that networks of a process read together, and held-out rows."""
  source: Any  # `BatchSource`; None in the data file of a search.
  held_out: Any  # `Rows` or `HeldOutBatches`.

  def layout(self) -> rows_lib.Layout:
    return self.source.layout

  def steps(self) -> int | None:
    return self.source.steps()

  def chunks(self, epoch: int, start: int = 0) -> Iterator[rows_lib.Chunk]:
    return self.source.chunks(epoch, start)

  def held_out_rows(self) -> None:
    """Returns None: held-out rows are no rows of x."""

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Datasets of a user: read by chunks of batches, and held-out batches.

A dataset (`BatchSource`) is read by chunks of batches; a held-out dataset
(`HeldOutBatches`) once, or again for each check.
"""

import collections
from collections.abc import Iterator
from concurrent import futures
import dataclasses
import itertools
import multiprocessing
import pickle
import time
from typing import Any

from adanet import log
from adanet import messages
from adanet import tf_compat
from adanet.ensemble_search import arrays
from adanet.ensemble_search import devices
from adanet.ensemble_search import rows as rows_lib
import cloudpickle
import numpy as np

keras, tf = tf_compat.keras_3, tf_compat.v2


_CHUNK_BATCHES = 50
# Held-out batches of more bytes are read again for each check.
_MAX_KEPT_BYTES = 128 << 20
_MAX_HELD_OUT_BATCHES = 100_000  # With more, the data have no end.
# After how long data of unknown length, and a batch, get a line.
_LONG_SECS = 30.
_of_process: Any = None  # The `PyDataset` of a process that makes batches.


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
    self._arguments = name, dataset, class_weight, seed, may_have_weights
    self._has_ended = False  # An epoch.
    self._is_taken = False  # See begin_anew.
    self.name = name
    self.dataset = dataset
    self._seed = seed
    self._data = dataset
    if not isinstance(dataset, (tf.data.Dataset, keras.utils.PyDataset)):
      if not callable(dataset):
        raise TypeError(f"{name} is a generator, which can be read once: "
                        "expected a function that returns a new generator.")
      self._data = dataset()
    self.has_epochs = isinstance(self._data, keras.utils.PyDataset)
    batch = self._read_specs()
    specs = rows_lib.flat_arrays(batch)
    sizes = self._check_sizes(specs)
    self._class_weight = (
        None if may_have_weights and len(batch) == 3 else class_weight)
    if self._class_weight is not None:
      if len(batch) != 2:
        raise ValueError("class_weight: expected None where data have weights, "
                         "or no labels.")
      specs.append(tf.TensorSpec([None], keras.config.floatx()))
      batch = (*batch, specs[-1])
    self.layout = rows_lib.layout_of(
        batch, list(map(rows_lib.with_any_rows, specs)),
        sizes.pop() if len(sizes) == 1 else None)

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
    if isinstance(data, keras.utils.PyDataset):
      if not getattr(data, "num_batches", None):
        raise ValueError(f"{name} is a PyDataset without an end: expected "
                         "__len__, the number of batches of an epoch.")
      batches = [_to_tensors(data[i]) for i in {0, len(data) - 1}]
    elif hasattr(data, "__next__"):
      batches = [_to_tensors(batch)
                 for batch, _ in zip(self.dataset(), range(2))]
    else:
      raise TypeError(
          f"{name} returned {messages.describe(data)}: expected a "
          "tf.data.Dataset, a keras.utils.PyDataset or a generator of batches.")
    if not batches:
      raise ValueError(f"{name} has no batches.")
    for batch in batches:
      self._check_sizes(rows_lib.flat_arrays(batch))
    return rows_lib.map_arrays(rows_lib.common_spec, *batches)

  def _check_sizes(self, flat):
    """Returns a set with the number of rows of a batch, or None."""
    sizes = {array.shape[0] if array.shape.rank else -1 for array in flat
             if array.shape.rank is not None}
    if len(sizes - {None}) > 1 or -1 in sizes:
      raise ValueError(
          f"{self.name} has arrays of {sorted(sizes - {None, -1})} rows in a "
          "batch, or single examples: expected as many rows in each array, "
          "such as in the batches of dataset.batch(32).")
    return sizes

  def steps(self) -> int | None:
    """Returns the number of batches of an epoch; None if unknown."""
    if isinstance(self._data, keras.utils.PyDataset):
      return self._data.num_batches
    count = (int(self._data.cardinality()) if isinstance(
        self._data, tf.data.Dataset) else -1)
    return count if count >= 0 else None

  def _batches(self, epoch):
    """Yields the batches of an epoch."""
    data = self._data
    if not isinstance(data, keras.utils.PyDataset):
      yield from data if isinstance(data, tf.data.Dataset) else self.dataset()
      return
    order = np.random.RandomState([self._seed, epoch]).permutation(len(data))
    data.on_epoch_begin()
    yield from self._make_in_workers(data, map(int, order))
    data.on_epoch_end()

  def _make_in_workers(self, data, order):
    """Yields batches of a `PyDataset`, made by as many workers as in Keras."""
    if data.workers < (1 if data.use_multiprocessing else 2):
      yield from map(data.__getitem__, order)
      return
    before = set(multiprocessing.active_children())
    # As Keras, by the default way to start processes.
    pool, function = (
        (futures.ProcessPoolExecutor(
            data.workers, initializer=_keep_in_process,
            initargs=(_SentDataset(data),)),
         _make_in_process) if data.use_multiprocessing else
        (futures.ThreadPoolExecutor(data.workers), data.__getitem__))
    waiting = collections.deque()
    try:
      for i in order:
        waiting.append(pool.submit(function, i))
        if len(waiting) >= max(data.workers, data.max_queue_size):
          yield self._wait_for(waiting.popleft(), data)
      while waiting:
        yield self._wait_for(waiting.popleft(), data)
    except BaseException:
      # A process that hangs would keep the program from its end.
      for process in set(multiprocessing.active_children()) - before:
        if data.use_multiprocessing:
          process.kill()
      raise
    finally:
      pool.shutdown(cancel_futures=True)

  def _wait_for(self, future, data):
    """Returns a batch of a worker; says so if that takes long."""
    while True:
      try:
        return future.result(_LONG_SECS)
      except futures.BrokenExecutor as error:
        raise ValueError(
            f"{self.name}: a process that makes batches died: "
            f"{messages.one_line(error)} Give use_multiprocessing=False."
        ) from error
      except futures.TimeoutError:
        if future.done():
          raise  # Of the dataset itself.
        log.warning(
            "%s: no batch for %d s from %d workers.%s", self.name, _LONG_SECS,
            data.workers, " In a forked process, TensorFlow hangs: use NumPy "
            "in __getitem__." if data.use_multiprocessing else "")

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
      self._check_sizes(flat)
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


def _join_batches(batches):
  """Returns the tensors of some batches as one chunk."""
  size = int(batches[0][0].shape[0])
  return list(map(rows_lib.join, zip(*batches))), np.arange(
      size * len(batches), dtype=np.int32).reshape(-1, size)


class _SentDataset:
  """A `PyDataset` for a process; one of the main module is sent by value."""

  def __init__(self, dataset):
    self._dataset = dataset

  def __getitem__(self, i):
    return self._dataset[i]

  def __reduce__(self):  # Not called where the process is a fork.
    return pickle.loads, (cloudpickle.dumps(self._dataset),)


def _keep_in_process(dataset):
  global _of_process
  _of_process = dataset


def _make_in_process(i):
  return _of_process[i]


def _to_tensors(batch):
  """Returns a batch, a tuple, as tensors."""
  return rows_lib.map_arrays(arrays.tensor, tuple(batch) if isinstance(
      batch, (tuple, list)) else (batch,))


class HeldOutBatches:
  """Held-out batches of a dataset: kept, or read again for each check.

  Batches of one shape are divided anew, as the rows of arrays are.

  Attributes:
    source: `BatchSource` of batches that are read again; None for batches that
      are kept, and in the data file of a search.
    digest: str, the number of rows, and a checksum of the rows.
    not_finite: list of arguments with NaN or infinity, words, and some `Rows`
      that have these.
  """

  def __init__(self, source: BatchSource):
    """Reads all batches once."""
    self._kept: list | None = []
    self._first: list = []  # Chunks with the rows of a batch.
    self._count = self._checksum = 0
    layout = source.layout
    labels, shapes, size, batches = [], set(), 0, 0
    num_wrong: dict[str, int] = collections.Counter()
    wrong: dict[str, tuple] = {}  # The argument and some rows of a text.
    for flat, numbers in source.chunks(0):
      batches += len(numbers)
      if batches > _MAX_HELD_OUT_BATCHES:
        raise ValueError(
            f"{source.name} has more than {_MAX_HELD_OUT_BATCHES:,} batches: "
            "expected held-out data that end, in fewer and larger batches.")
      batch = layout.pack(flat)
      labels.append((*batch, None, None)[1:3])
      self._count += numbers.size
      self._checksum = arrays.add_checksum(flat, self._checksum)
      for argument, text, _, rows in arrays.find_not_finite(batch):
        num_wrong[text] += len(rows)
        wrong.setdefault(text, (argument, rows_lib.Rows(batch, rows)))
      shapes.add(tuple(tuple(tensor.shape[1:]) for tensor in flat))
      size += arrays.count_bytes(flat)
      chunk = devices.DeviceTensors(list, flat), numbers
      if sum(rows.size for _, rows in self._first) < rows_lib.CHECK_SIZE:
        self._first.append(chunk)
      if size > _MAX_KEPT_BYTES:
        self._kept = None
      if self._kept is not None:
        self._kept.append(chunk)
    if not labels:
      raise ValueError(f"{source.name} has no batches.")
    self.source: Any = source if self._kept is None else None
    self._has_one_shape = len(shapes) == 1
    self._layout = layout._replace(specs=list(map(
        rows_lib.spec_of, flat))) if self._has_one_shape else layout
    try:
      self._labels = rows_lib.join_labels(labels)
    except tf.errors.InvalidArgumentError:
      raise ValueError(
          f"{source.name} has labels whose shapes differ from batch to batch: "
          "expected one shape, because ensembles are judged on all.") from None
    self.not_finite = [
        (argument, f"{text} in {num_wrong[text]} of {self._count} rows", rows)
        for text, (argument, rows) in wrong.items()]
    self.digest = f"{self._count:,} rows {self._checksum:016x}"

  def __getstate__(self):  # Batches that are not kept: the worker's source.
    return {**vars(self), "source": None}

  def __len__(self):
    return self._count

  def layout(self, size: int) -> rows_lib.Layout:
    """See `Rows.layout`."""
    return self._layout._replace(
        size=size if self._count % size == 0 else None
    ) if self._has_one_shape else self._layout

  def labels(self) -> tuple:
    """See `Rows.labels`."""
    return self._labels

  def chunks(self, size: int) -> Iterator[rows_lib.Chunk]:
    """See `Rows.chunks`. Batches of several shapes stay as they are."""
    yield from self._divide(self._read_again() if self._kept is None else (
        (tensors.here(), numbers) for tensors, numbers in self._kept), size)

  def first_chunk(self, size: int) -> rows_lib.Chunk:
    """Returns the first of `chunks`, mostly without reading."""
    count = sum(numbers.size for _, numbers in self._first)
    if self._has_one_shape and count < min(size, self._count):
      return next(self.chunks(size))
    return next(self._divide(
        ((tensors.here(), numbers) for tensors, numbers in self._first), size))

  def _divide(self, chunks, size):
    """Yields chunks with batches of some size."""
    if not self._has_one_shape:
      yield from chunks
      return
    rest = None  # Fewer rows than a batch.
    for flat, _ in chunks:
      if rest is not None:
        flat = list(map(rows_lib.join, zip(rest, flat)))
      count = int(flat[0].shape[0])
      whole = count // size * size
      numbers = np.arange(count, dtype=np.int32)
      if whole:
        yield flat, numbers[:whole].reshape(-1, size)
      rest = [rows_lib.reader(tensor)(tf.constant(numbers[whole:]))
              for tensor in flat] if whole < count else None
    if rest is not None:
      yield rest, np.arange(int(rest[0].shape[0]), dtype=np.int32)[None]

  def _read_again(self):
    """Yields the chunks of the source, and compares their checksum."""
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

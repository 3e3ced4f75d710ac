# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Datasets of a user: read by chunks of batches, or once for held-out rows."""

import collections
from collections.abc import Iterator
from concurrent import futures
import dataclasses
import itertools
import multiprocessing
import time
from typing import Any
import zlib

from adanet import log
from adanet import tf_compat
from adanet.ensemble_search import arrays
from adanet.ensemble_search import devices
from adanet.ensemble_search import rows as rows_lib
from adanet.ensemble_search import words
import numpy as np

keras, tf = tf_compat.keras_3, tf_compat.v2
_CHUNK_BATCHES = 50
# Held-out batches of more bytes are read again for each check.
_MAX_KEPT_BYTES = 128 << 20
# Who gives more batches for one check has no end.
_MAX_HELD_OUT_BATCHES = 100_000
# After how long data of unknown length, and a batch, get a line.
_LONG_SECS = 30.
_of_process: Any = None  # The `PyDataset` of a process that makes batches.


def is_source(given: Any) -> bool:
  """Returns whether data are no arrays, but batches."""
  return isinstance(given, (tf.data.Dataset, keras.utils.PyDataset)) or (
      hasattr(given, "__next__")) or (
          callable(given) and not hasattr(given, "__array__"))


class BatchSource:
  """A dataset: its batches, in chunks of batches that have one shape.

  Attributes:
    name: str, the argument, for messages.
    given: `tf.data.Dataset`, `keras.utils.PyDataset`, or a function that
      returns a dataset or a generator.
    layout: `Layout` of a batch.
    has_epochs: bool, whether an epoch's number counts for its batches.
  """

  def __init__(self, name: str, given: Any, class_weight: Any, seed: int,
               may_have_weights: bool = False):
    """Reads at most two batches.

    `seed` is of the order of the batches of a `PyDataset`. Batches with weights
    are an error where there is a `class_weight`, or `may_have_weights`, and
    then they have none of classes.

    Raises:
      TypeError: there is something else.
      ValueError: the batches cannot be used.
    """
    self._arguments = name, given, class_weight, seed, may_have_weights
    self._has_ended = False  # An epoch.
    self.name = name
    self.given = given
    self._seed = seed
    self._data = given
    if not isinstance(given, (tf.data.Dataset, keras.utils.PyDataset)):
      if not callable(given):
        raise TypeError(f"{name} is a generator, which can be read once: "
                        "expected a function that returns a new one.")
      self._data = given()
    self.has_epochs = isinstance(self._data, keras.utils.PyDataset)
    batch = self._specs()
    specs = rows_lib.flat_arrays(batch)
    sizes = self._checked_sizes(specs)
    self._class_weight = (
        None if may_have_weights and len(batch) == 3 else class_weight)
    if self._class_weight is not None:
      if len(batch) != 2:
        raise ValueError("class_weight: expected None where data have weights, "
                         "or no labels.")
      specs.append(tf.TensorSpec([None], keras.config.floatx()))
      batch = (*batch, specs[-1])
    self.layout = rows_lib.layout_of(
        batch, list(map(rows_lib.with_rows, specs)),
        sizes.pop() if len(sizes) == 1 else None)

  def __reduce__(self):
    # A worker makes another dataset.
    return BatchSource, self._arguments

  def _specs(self):
    name, data = self.name, self._data
    if isinstance(data, tf.data.Dataset):
      if data.cardinality() == tf.data.INFINITE_CARDINALITY:
        raise ValueError(f"{name} is a tf.data.Dataset without an end: "
                         "expected one of an epoch, such as dataset.take(100).")
      spec = data.element_spec
      return spec if isinstance(spec, tuple) else (spec,)
    if isinstance(data, keras.utils.PyDataset):
      if not getattr(data, "num_batches", None):
        raise ValueError(f"{name} is a PyDataset without an end: expected one "
                         "with __len__.")
      batches = [_tensors(data[i]) for i in {0, len(data) - 1}]
    elif hasattr(data, "__next__"):
      batches = [_tensors(one) for one, _ in zip(self.given(), range(2))]
    else:
      raise TypeError(
          f"{name} returned {words.described(data)}: expected a "
          "tf.data.Dataset, a keras.utils.PyDataset or a generator of batches.")
    if not batches:
      raise ValueError(f"{name} has no batches.")
    for batch in batches:
      self._checked_sizes(rows_lib.flat_arrays(batch))
    return rows_lib.mapped(_common_spec, *batches)

  def _checked_sizes(self, flat):
    """Returns the numbers of rows of the arrays or specs of a batch: one."""
    sizes = {one.shape[0] if one.shape.rank else -1 for one in flat
             if one.shape.rank is not None}
    if len(sizes - {None}) > 1 or -1 in sizes:
      raise ValueError(
          f"{self.name} has arrays of {sorted(sizes - {None, -1})} rows in a "
          "batch, or single examples: expected as many rows in each array, "
          "such as in the batches of dataset.batch(32).")
    return sizes

  def steps(self) -> int | None:
    """Returns how many batches an epoch has; None if nobody knows."""
    if isinstance(self._data, keras.utils.PyDataset):
      return self._data.num_batches
    count = (int(self._data.cardinality()) if isinstance(
        self._data, tf.data.Dataset) else -1)
    return count if count >= 0 else None

  def _batches(self, epoch):
    """Yields the batches of an epoch."""
    data = self._data
    if isinstance(data, keras.utils.PyDataset):
      order = np.random.RandomState([self._seed, epoch]).permutation(len(data))
      data.on_epoch_begin()
      yield from self._in_workers(data, map(int, order))
      data.on_epoch_end()
    else:
      yield from data if isinstance(data, tf.data.Dataset) else self.given()

  def _in_workers(self, data, order):
    """Yields batches of a `PyDataset`, which as many workers make as in Keras.
    """
    if data.workers < 1 + (not data.use_multiprocessing):
      yield from map(data.__getitem__, order)
      return
    before = set(multiprocessing.active_children())
    # As Keras, by the default way to start processes.
    pool, function = (
        (futures.ProcessPoolExecutor(
            data.workers, initializer=_keep_in_process, initargs=(data,)),
         _batch_of_process) if data.use_multiprocessing else
        (futures.ThreadPoolExecutor(data.workers), data.__getitem__))
    waiting = collections.deque()
    try:
      for i in order:
        waiting.append(pool.submit(function, i))
        if len(waiting) >= max(data.workers, data.max_queue_size):
          yield self._batch(waiting.popleft(), data)
      while waiting:
        yield self._batch(waiting.popleft(), data)
    except BaseException:
      # A process that hangs would keep the program from its end.
      for process in set(multiprocessing.active_children()) - before:
        if data.use_multiprocessing:
          process.kill()
      raise
    finally:
      pool.shutdown(cancel_futures=True)

  def _batch(self, future, data):
    """Returns a batch of a worker; says so if that takes long."""
    while True:
      try:
        return future.result(_LONG_SECS)
      except futures.BrokenExecutor as error:
        raise ValueError(
            f"{self.name}: a process that makes batches died: "
            f"{words.one_line(error)} Give use_multiprocessing=False.") from error
      except futures.TimeoutError:
        if future.done():
          raise  # Of the dataset itself.
        log.warning(
            "%s: no batch for %d s from %d workers.%s", self.name, _LONG_SECS,
            data.workers, " In a forked process, TensorFlow hangs: use NumPy "
            "in __getitem__." if data.use_multiprocessing else "")

  def _watched(self, batches):
    """Yields batches; says now and then that they have not ended yet."""
    if self.steps() is not None:
      yield from batches
      return
    next_secs, began = _LONG_SECS, time.monotonic()
    for count, batch in enumerate(batches, 1):
      yield batch
      if time.monotonic() - began > next_secs:
        next_secs *= 2
        log.warning(
            "%s: %s batches, and no end yet. An epoch is all batches once: "
            "give data that end, such as dataset.take(100), or "
            "itertools.islice(batches, 100) of a generator.", self.name,
            f"{count:,}")

  def calls(self, epoch: int, start: int = 0) -> Iterator[rows_lib.Call]:
    """Yields chunks of batches behind the first `start` ones of an epoch."""
    chunk: list[list] = []
    shapes = None
    batches = self._batches(epoch)
    if not self._has_ended:
      batches = self._watched(batches)
    for batch in itertools.islice(
        map(_tensors, batches), start, None):
      if self._class_weight is not None:
        batch = (*batch, tf.constant(arrays.weights_of_classes(
            batch[1], self._class_weight)))
      flat = rows_lib.flat_arrays(batch)
      self._checked_sizes(flat)
      now = [tuple(one.shape) for one in flat]
      size = sum(one.dtype.size * np.prod(
          [size or 1 for size in shape], dtype=np.int64)
                 for one, shape in zip(flat, now))
      if chunk and (now != shapes or len(chunk) >= _CHUNK_BATCHES or
                    size * len(chunk) > rows_lib.CHUNK_BYTES):
        yield _joined(chunk)
        chunk = []
      chunk.append(flat)
      shapes = now
    if chunk:
      yield _joined(chunk)
    self._has_ended = True


def _keep_in_process(data):
  global _of_process
  _of_process = data


def _batch_of_process(i):
  return _of_process[i]


class HeldOutBatches:
  """Held-out batches of a dataset: kept, or read again for each check.

  Batches of one shape are divided anew, as the rows of arrays are.

  Attributes:
    source: `BatchSource` of batches that are read again; otherwise None, and in
      the file of the data of a search.
    digest: str, how many rows there are, and a checksum of them.
    not_finite: words about NaN or infinity, and some `Rows` that have these;
      None for finite rows.
  """

  def __init__(self, source: BatchSource):
    """Reads all batches once.

    Raises:
      ValueError: there are no batches, or too many; or labels differ in shape.
    """
    self.not_finite: Any = None
    self._kept: list | None = []
    self._first: list = []  # Chunks with the rows of a batch.
    self._count = self._checksum = 0
    layout = source.layout
    labels, shapes, size, batches = [], set(), 0, 0
    wrong: dict[str, int] = {}
    for flat, rows in source.calls(0):
      batches += len(rows)
      if batches > _MAX_HELD_OUT_BATCHES:
        raise ValueError(
            f"{source.name} has more than {_MAX_HELD_OUT_BATCHES:,} batches: "
            "expected held-out data that end, in fewer and larger batches.")
      batch = layout.packed(flat)
      labels.append((*batch, None, None)[1:3])
      self._count += rows.size
      self._checksum = _checksum(flat, self._checksum)
      text, bad = arrays.not_finite(batch)
      if text:
        wrong[text] = wrong.get(text, 0) + len(bad)
        self.not_finite = self.not_finite or (text, rows_lib.Rows(batch, bad))
      shapes.add(tuple(tuple(tensor.shape[1:]) for tensor in flat))
      size += sum(tf.nest.map_structure(
          lambda part: part.shape.num_elements() * part.dtype.size,
          tf.nest.flatten(flat, expand_composites=True)))
      chunk = devices.TensorsOfDevices(list, flat), rows
      if sum(rows.size for _, rows in self._first) < rows_lib.CHECK_SIZE:
        self._first.append(chunk)
      if size > _MAX_KEPT_BYTES:
        self._kept = None
      if self._kept is not None:
        self._kept.append(chunk)
    if not batches:
      raise ValueError(f"{source.name} has no batches.")
    self.source: Any = source if self._kept is None else None
    self._layout = layout
    self._has_one_shape = len(shapes) == 1
    if self._has_one_shape:
      self._layout = layout._replace(specs=list(map(rows_lib.spec_of, flat)))
    try:
      self._labels = rows_lib.joined_labels(labels)
    except tf.errors.InvalidArgumentError:
      raise ValueError(
          f"{source.name} has labels whose shapes differ from batch to batch: "
          "expected one shape, because ensembles are judged on all.") from None
    if self.not_finite is not None:
      text, rows = self.not_finite
      self.not_finite = f"{text} in {wrong[text]} of {self._count} rows", rows
    self.digest = f"{self._count:,} rows {self._checksum:016x}"

  def __getstate__(self):
    # Batches that are not kept are read from the source of the worker.
    return {**vars(self), "source": None}

  def __len__(self):
    return self._count

  def layout(self, size: int) -> rows_lib.Layout:
    """Returns the `Layout` of batches of some size."""
    return self._layout._replace(
        size=size if self._count % size == 0 else None
    ) if self._has_one_shape else self._layout

  def labels(self) -> tuple:
    """Returns the labels and weights of all rows, or None, as tensors."""
    return self._labels

  def calls(self, size: int) -> Iterator[rows_lib.Call]:
    """Yields tensors with the row numbers of batches of some size.

    Batches of several shapes stay as they are.

    Raises:
      ValueError: the dataset gives other rows than before.
    """
    yield from self._divide(self._read_again() if self._kept is None else (
        (tensors.here(), rows) for tensors, rows in self._kept), size)

  def first_call(self, size: int) -> rows_lib.Call:
    """Returns the first of `calls`, mostly without reading."""
    count = sum(rows.size for _, rows in self._first)
    return next(self._divide(
        ((tensors.here(), rows) for tensors, rows in self._first), size
    ) if count >= min(size, self._count) or not self._has_one_shape else
                self.calls(size))

  def _divide(self, calls, size):
    """Yields calls with batches of some size."""
    if not self._has_one_shape:
      yield from calls
      return
    rest = None  # Fewer rows than a batch.
    for flat, rows in calls:
      if rest is not None:
        flat = list(map(rows_lib.joined, zip(rest, flat)))
      count = int(flat[0].shape[0])
      whole = count // size * size
      numbers = np.arange(count, dtype=np.int32)
      if whole:
        yield flat, numbers[:whole].reshape(-1, size)
      rest = [rows_lib.readable(tensor)(tf.constant(numbers[whole:]))
              for tensor in flat] if whole < count else None
    if rest is not None:
      yield rest, np.arange(int(rest[0].shape[0]), dtype=np.int32)[None]

  def _read_again(self):
    checksum = 0
    for flat, rows in self.source.calls(0):
      checksum = _checksum(flat, checksum)
      yield flat, rows
    if checksum != self._checksum:
      raise ValueError(
          f"{self.source.name} gives other rows, or another order of rows, each "
          "time: expected the same, by which networks are compared. Leave out "
          "shuffle, or give it a seed and reshuffle_each_iteration=False.")


def _checksum(flat, before):
  """Returns a checksum of tensors and of what came before them."""
  for part in tf.nest.flatten(flat, expand_composites=True):
    before = zlib.crc32(
        tf.io.serialize_tensor(part).numpy() if part.dtype == tf.string else
        np.ascontiguousarray(part.numpy()).view(np.uint8).reshape(-1), before)
  return before


def _tensors(batch):
  """Returns a batch, a tuple, as tensors."""
  return rows_lib.mapped(arrays.tensor, tuple(batch) if isinstance(
      batch, (tuple, list)) else (batch,))


def _common_spec(*tensors):
  """Returns the spec of tensors whose shapes may differ."""
  spec = rows_lib.spec_of(tensors[0])
  if len({tuple(one.shape)[1:] for one in tensors}) == 1:
    return spec
  return tf.TensorSpec([
      sizes[0] if len(set(sizes)) == 1 and i else None
      for i, sizes in enumerate(zip(*(one.shape for one in tensors)))],
                       spec.dtype)


def _joined(batches):
  """Returns the tensors of some batches as one call."""
  rows = int(batches[0][0].shape[0])
  return list(map(rows_lib.joined, zip(*batches))), np.arange(
      rows * len(batches), dtype=np.int32).reshape(-1, rows)


@dataclasses.dataclass
class StreamData:
  """Batches that a dataset gives, read once for all networks of a process.

  Attributes:
    source: `BatchSource` of batches that are read again; otherwise None, and in
      the file of the data of a search.
    held_out: `Rows` or `Batches`.
  """
  source: Any
  held_out: Any

  def layout(self) -> rows_lib.Layout:
    return self.source.layout

  def steps(self) -> int | None:
    """Returns how many batches an epoch has; None if nobody knows."""
    return self.source.steps()

  def calls(self, epoch: int, start: int = 0) -> Iterator[rows_lib.Call]:
    """Yields the batches of an epoch behind the first `start` ones."""
    return self.source.calls(epoch, start)

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Batches that a dataset gives: read once for all networks of a process.

Batches of one shape go to the networks in chunks.
"""

from collections.abc import Iterator
from typing import Any

from adanet import tf_compat
from adanet.ensemble_search import arrays
from adanet.ensemble_search import rows as rows_lib
from adanet.ensemble_search import steps
from adanet.ensemble_search import words
import numpy as np

keras, tf = tf_compat.keras_3, tf_compat.v2
_CHUNK_BATCHES = 50


def is_stream(given: Any) -> bool:
  """Returns whether data are no arrays, but batches."""
  return isinstance(given, (tf.data.Dataset, keras.utils.PyDataset)) or (
      hasattr(given, "__next__")) or (
          callable(given) and not hasattr(given, "__array__"))


class StreamData:
  """Batches that a dataset gives, of one epoch each time it is read.

  Attributes:
    held_out: `Rows` or `Batches`.
    is_shared: bool, whether networks that train together read the data once.
    has_epochs: bool, whether an epoch's number counts for its batches.
  """
  is_shared = True

  def __init__(self, name: str, given: Any, held_out: Any, class_weight: Any,
               seed: int):
    """Reads the held-out data.

    Args:
      name: str, the argument, for messages.
      given: `tf.data.Dataset`, `keras.utils.PyDataset`, or a function that
        returns a dataset or a generator.
      held_out: the same, or `Rows` of arrays.
      class_weight: dict from class to weight, or None.
      seed: int, of the order of the batches of a `PyDataset`.

    Raises:
      TypeError: there is something else.
      ValueError: the batches cannot be used.
    """
    self._given = name, given, held_out, class_weight, seed
    self._source = _Source(name, given, class_weight, seed)
    self.has_epochs = self._source.has_epochs
    if isinstance(held_out, rows_lib.Rows):
      self.held_out: Any = held_out
    else:
      source = _Source("validation_data", held_out, None, seed)
      if class_weight is not None and len(source.layout.structure) == 2:
        source = _Source("validation_data", held_out, class_weight, seed)
      self.held_out = source.all()

  def layout(self) -> steps.Layout:
    return self._source.layout

  def calls(self, epoch: int, start: int = 0) -> Iterator[rows_lib.Call]:
    """Yields the batches of an epoch behind the first `start` ones."""
    return self._source.calls(epoch, start)

  def digest(self) -> str:
    return repr((self._source.layout.specs, self._source.layout.size))

  def saved(self, folder: str) -> "StreamData":
    """Returns what a worker reads: the function makes another dataset there.

    Raises:
      TypeError: there is no function.
    """
    del folder  # Unused.
    name, given, held_out, *_ = self._given
    for argument, one in ((name, given), ("validation_data", held_out)):
      if isinstance(one, tf.data.Dataset):
        raise TypeError(
            f"{argument} is a tf.data.Dataset, which an executor cannot send: "
            "give a function that makes and returns it.")
    return self

  def loaded(self) -> "StreamData":
    """Returns the data of this worker, made as they were unpickled."""
    return self

  def __reduce__(self):
    return StreamData, self._given


class _Source:
  """A dataset: its batches, in chunks of batches that have one shape.

  Attributes:
    layout: `Layout` of a batch.
    has_epochs: bool, whether an epoch's number counts for its batches.
  """

  def __init__(self, name, given, class_weight, seed):
    self._name = name
    self._class_weight = class_weight
    self._seed = seed
    self._given = given
    self._function = None
    if not isinstance(given, (tf.data.Dataset, keras.utils.PyDataset)):
      if not callable(given):
        kind = ("a generator, which can be read once: expected a function that "
                "returns a new one" if hasattr(given, "__next__") else
                f"{words.described(given)}: expected a dataset, or a function "
                "that returns one")
        raise TypeError(f"{name} is {kind}.")
      self._function, self._given = given, given()
    self.layout = self._layout()
    self.has_epochs = isinstance(self._given, keras.utils.PyDataset)

  def _layout(self):
    name, given = self._name, self._given
    if isinstance(given, tf.data.Dataset):
      element = given.element_spec
      batch = element if isinstance(element, tuple) else (element,)
      if given.cardinality() == tf.data.INFINITE_CARDINALITY:
        raise ValueError(f"{name} is a tf.data.Dataset without an end: "
                         "expected one of an epoch, such as dataset.take(100).")
    elif isinstance(given, keras.utils.PyDataset):
      if not getattr(given, "num_batches", None):
        raise ValueError(f"{name} is a PyDataset without an end: expected one "
                         "with __len__.")
      batch = self._common(given[i] for i in {0, len(given) - 1})
    elif hasattr(given, "__next__"):
      batch = self._common(one for one, _ in zip(self._function(), range(2)))
    else:
      raise TypeError(
          f"{name} returned {words.described(given)}: expected a "
          "tf.data.Dataset, a keras.utils.PyDataset or a generator of batches.")
    specs = steps.flat_arrays(batch)
    sizes = _sizes(specs)
    self._check_sizes(sizes)
    if self._class_weight is not None:
      if len(batch) != 2:
        raise ValueError("class_weight: expected None where data have weights, "
                         "or no labels.")
      specs.append(tf.TensorSpec([None], keras.config.floatx()))
      batch = (*batch, specs[-1])
    return steps.Layout(
        keras.tree.map_structure(
            lambda one: None if one is None else 0, batch),
        list(map(steps.with_rows, specs)),
        sizes.pop() if len(sizes) == 1 else None)

  def _common(self, batches):
    """Returns the specs of batches; None where their shapes differ."""
    batches = list(map(_tensors, batches))
    if not batches:
      return (tf.TensorSpec([], tf.float32),)
    for batch in batches:
      self._check_sizes(_sizes(steps.flat_arrays(batch)))
    return keras.tree.map_structure(
        lambda *some: None if some[0] is None else _common_spec(some), *batches)

  def _check_sizes(self, sizes):
    """Checks how many rows the arrays of a batch have; -1 for a number."""
    if len(sizes - {None}) > 1 or -1 in sizes:
      raise ValueError(
          f"{self._name} has arrays of {sorted(sizes - {None, -1})} rows in a "
          "batch, or single examples: expected as many rows in each array, "
          "such as in the batches of dataset.batch(32).")

  def _batches(self, epoch):
    """Yields the batches of an epoch as tensors."""
    given = self._given
    if isinstance(given, tf.data.Dataset):
      for element in given:
        yield element if isinstance(element, tuple) else (element,)
    elif isinstance(given, keras.utils.PyDataset):
      order = np.random.RandomState([self._seed, epoch]).permutation(len(given))
      given.on_epoch_begin()
      for i in order:
        yield _tensors(given[int(i)])
      given.on_epoch_end()
    else:
      yield from map(_tensors, self._function())

  def calls(self, epoch, start=0):
    """Yields chunks of batches: tensors, and the rows of each batch in them."""
    chunk = []
    shapes = None
    for i, batch in enumerate(self._batches(epoch)):
      if i < start:
        continue
      if self._class_weight is not None:
        batch = (*batch, tf.constant(arrays.weights_of_classes(
            batch[1], self._class_weight)))
      flat = steps.flat_arrays(batch)
      now = [tuple(one.shape) for one in flat]
      self._check_sizes(_sizes(flat))
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

  def all(self):
    """Returns all batches of an epoch, as rows if they have one shape."""
    calls = list(self.calls(0))
    if not calls:
      raise ValueError(f"{self._name} has no batches.")
    if len({tuple(tuple(one.shape)[1:] for one in flat)
            for flat, _ in calls}) == 1:
      flat = _joined([flat for flat, _ in calls])[0]
      rows = sum(index.size for _, index in calls)
      return rows_lib.Rows(self.layout.packed(flat),
                           np.arange(rows, dtype=np.int32))
    return rows_lib.Batches(*self.layout, calls)


def _sizes(flat):
  """Returns how many rows arrays or specs have; -1 for a number."""
  return {one.shape[0] if one.shape.rank else -1 for one in flat
          if one.shape.rank is not None}


def _tensors(batch):
  """Returns a batch that Python gave as tensors."""
  batch = tuple(batch) if isinstance(batch, (tuple, list)) else (batch,)
  return keras.tree.map_structure(
      lambda one: None if one is None else arrays.tensor(one), batch)


def _common_spec(tensors):
  spec = steps.spec_of(tensors[0])
  if len({tuple(one.shape)[1:] for one in tensors}) == 1:
    return spec
  return tf.TensorSpec([
      sizes[0] if len(set(sizes)) == 1 and i else None
      for i, sizes in enumerate(zip(*(one.shape for one in tensors)))],
                       spec.dtype)


def _joined(batches):
  """Returns the tensors of some batches as one call."""
  rows = int(batches[0][0].shape[0])
  flat = batches[0] if len(batches) == 1 else [
      tf.sparse.concat(0, list(some)) if isinstance(some[0], tf.SparseTensor)
      else tf.concat(list(some), 0) for some in zip(*batches)]
  return flat, np.arange(rows * len(batches), dtype=np.int32).reshape(-1, rows)

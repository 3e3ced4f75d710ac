# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The data of a search: what a user gives to `fit`, checked and divided."""

from collections.abc import Iterator
import dataclasses
import itertools
from typing import Any

from adanet import tf_compat
from adanet.ensemble_search import arrays
from adanet.ensemble_search import rows as rows_lib
from adanet.ensemble_search import words
import numpy as np

keras, tf = tf_compat.keras_3, tf_compat.v2
_CHUNK_BATCHES = 50


def checked_batch(name: str, given: Any) -> Any:
  """Returns `(x, y)` or `(x, y, weights)` of arrays, checked.

  Raises:
    TypeError: there is something else.
    ValueError: the arrays cannot be used.
  """
  if not isinstance(given, (tuple, list)) or not 1 <= len(given) <= 3:
    raise ValueError(
        f"{name} is {words.described(given)}: expected a tuple (x, y) or "
        "(x, y, sample_weight).")
  names = [f"{name}[{i}]" for i in range(3)] if name else [
      "x", "y", "sample_weight"]
  parts = [arrays.read(*one) for one in zip(names, given)]
  while parts and parts[-1] is None:
    parts.pop()
  if len(parts) == 3:
    for key, array in arrays.named(names[2], parts[2]).items():
      smallest = float(np.min(arrays.tensor(array)))
      if smallest < 0:
        raise ValueError(f"{key} has {smallest}: expected weights of at least "
                         "0.")
    # Weights for all outputs, as in Keras.
    if not keras.tree.is_nested(parts[2]):
      parts[2] = keras.tree.map_structure(lambda _: parts[2], parts[1])
  arrays.check_rows(names[0], {
      key: array for name, part in zip(names, parts)
      for key, array in arrays.named(name, part).items()})
  return tuple(parts)


def checked(x: Any, y: Any, batch_size: int, validation_data: Any,
            validation_split: float, sample_weight: Any, class_weight: Any,
            folds: int | None, seed: int) -> tuple[list, dict[str, str]]:
  """Returns the data of each fold, checked, and their texts with a digest.

  Args: as those of `EnsembleSearch.fit`. Without folds, the list has one value.

  Raises:
    TypeError: an argument is of another type.
    ValueError: an argument has a wrong value.
  """
  if x is None:
    raise ValueError("x=None: expected arrays, or a dataset.")
  is_source = _is_source(x)
  if is_source:
    for name, value in (("y", y), ("sample_weight", sample_weight),
                        ("folds", folds)):
      if value is not None:
        raise ValueError(f"{name}: expected None where x is a dataset, which "
                         "has labels and weights of its own, and no rows to "
                         "divide.")
    if validation_data is None:
      raise ValueError("validation_data=None: expected another dataset, or "
                       "arrays, where x is a dataset.")
    source = BatchSource("x", x, class_weight, seed)
    given = {"x": f"batches {source.layout.specs} {source.layout.size}"}
  else:
    arrays.check_frames(x, y, sample_weight, validation_data)
    batch = checked_batch("", (x, y, sample_weight))
    if class_weight is not None and sample_weight is not None:
      raise ValueError("class_weight and sample_weight are both given: "
                       "expected one of them. Multiply the weights of classes "
                       "into sample_weight.")
    rows = _all_rows(batch, class_weight)
    given = dict(zip(("x", "y", "sample_weight"), map(
        arrays.digest, rows.batch)), batch_size=str(batch_size))
  if validation_data is None:
    given["folds"] = repr(folds)
    if folds is None:
      given["validation_split"] = repr(validation_split)
      parts = [_picked(len(rows.rows), validation_split, seed)]
    else:
      parts = _divided(batch, len(rows.rows), folds, seed)
    data: list[Any] = [rows_lib.RowData(
        rows.others(np.setdiff1d(rows.rows, part)), rows.others(part),
        batch_size, seed) for part in parts]
  else:
    if folds is not None:
      raise ValueError(f"folds={folds} and validation_data are both given: "
                       "expected one of them. Each fold holds out rows of x.")
    if _is_source(validation_data):
      held_out = BatchSource(
          "validation_data", validation_data, class_weight, seed, True).all()
    else:
      other = checked_batch("validation_data", validation_data)
      if not is_source:
        _check_alike(batch, other)
      given["validation_data"] = arrays.digest(other)
      held_out = _all_rows(other, class_weight)
    data = [StreamData(source, held_out) if is_source else rows_lib.RowData(
        rows, held_out, batch_size, seed)]
  for i, one in enumerate(data):
    _check_weights(one.held_out, f" in fold {i + 1} of {folds}" * bool(folds))
  return data, given


def _check_alike(batch, other):
  """Raises an error if held-out rows have other shapes than those of x, y."""
  for i, pair in enumerate(zip(batch[:2], other)):
    shapes = [[list(one.shape[1:]) for one in rows_lib.flat_arrays(some)]
              for some in pair]
    # Sequences and pictures may have other lengths.
    one, two = ([shape if not i and len(shape) == 1 else len(shape)
                 for shape in some] for some in shapes)
    if one != two:
      raise ValueError(
          f"validation_data[{i}] has rows of {str(shapes[1])[1:-1]}, and "
          f"{'xy'[i]} of {str(shapes[0])[1:-1]}: expected the same shapes.")


def _all_rows(batch, class_weight):
  """Returns the rows of arrays; with weights of classes if they have none."""
  if class_weight is not None and len(batch) < 3:
    batch = (*batch[:2], arrays.weights_of_classes(
        (*batch, None)[1], class_weight))
  return rows_lib.Rows(batch, np.arange(
      rows_lib.flat_arrays(batch)[0].shape[0], dtype=np.int32))


def _picked(count, validation_split, seed):
  """Returns the rows to hold out."""
  if isinstance(validation_split, bool) or not isinstance(
      validation_split, (int, float)) or not 0 < validation_split < 1:
    raise ValueError(f"validation_split={words.described(validation_split)}: "
                     "expected a number between 0 and 1, or validation_data. "
                     "Networks end by held-out rows.")
  size = int(count * validation_split)
  if not size:
    raise ValueError(f"validation_split={validation_split!r}: holds out 0 of "
                     f"{count} rows: expected at least one.")
  return np.sort(np.random.RandomState(seed).permutation(count)[:size]).astype(
      np.int32)


def _divided(batch, count, folds, seed):
  """Returns the rows of each fold; each has as many of a class, or one more."""
  if folds > count:
    raise ValueError(f"folds={folds}: expected at most as many as x has rows, "
                     f"{count}.")
  order = np.random.RandomState(seed).permutation(count)
  classes = arrays.classes((*batch, None)[1])
  if classes is not None:
    order = order[np.argsort(classes[order], kind="stable")]
  return [np.sort(order[i::folds]).astype(np.int32) for i in range(folds)]


def _check_weights(held_out, where):
  """Raises an error if held-out rows have no weight at all."""
  flat = rows_lib.flat_arrays(held_out.labels()[1])
  if flat and not any(np.any(np.asarray(one)) for one in flat):
    raise ValueError(
        f"The weights of all held-out rows{where} are 0: expected some that "
        "are greater, by which networks are compared.")


def _is_source(given):
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
      for i in order:
        yield data[int(i)]
      data.on_epoch_end()
    else:
      yield from data if isinstance(data, tf.data.Dataset) else self.given()

  def calls(self, epoch: int, start: int = 0) -> Iterator[rows_lib.Call]:
    """Yields chunks of batches behind the first `start` ones of an epoch."""
    chunk: list[list] = []
    shapes = None
    for batch in itertools.islice(
        map(_tensors, self._batches(epoch)), start, None):
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

  def all(self) -> Any:
    """Returns all batches of an epoch: `Rows` if they have one shape."""
    calls = list(self.calls(0))
    if not calls:
      raise ValueError(f"{self.name} has no batches.")
    if len({tuple(tuple(one.shape)[1:] for one in flat)
            for flat, _ in calls}) > 1:
      return rows_lib.Batches(self.layout, calls)
    return _all_rows(self.layout.packed(
        _joined([flat for flat, _ in calls])[0]), None)


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
    source: `BatchSource`; None in the file of the data of a search.
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

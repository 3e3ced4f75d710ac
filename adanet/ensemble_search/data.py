# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The data of a search: what trains, what is held out, and in which batches.

Arrays are in memory once in a process: batches are numbers of rows. A large
memmap goes in by chunks, and so do batches of a dataset, which is read once for
all networks of a process.
"""

from collections.abc import Iterator
import os
import pickle
from typing import Any

from adanet import tf_compat
from adanet.ensemble_search import arrays
from adanet.ensemble_search import steps
from adanet.ensemble_search import words
import numpy as np

keras, tf = tf_compat.keras_3, tf_compat.v2
#: Rows of a held-out batch, of networks and of ensembles alike.
CHECK_SIZE = 256
_CHUNK_BATCHES = 50
_CHUNK_BYTES = 32 << 20
# Data of an executor's task, by their folder: the last ones of this process.
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

  def __init__(self, batch: Any, rows: np.ndarray):
    """Copies nothing yet.

    Args:
      batch: `(x, y, weights)` or its beginning: nested arrays with all rows.
      rows: array of int32, the numbers of these rows.
    """
    self.batch = batch
    self.rows = rows
    self._tensors: Any = None

  def share(self, other: "Rows") -> None:
    """Lets these and other rows of the same arrays have the same tensors."""
    self._tensors = other.tensors()

  def tensors(self) -> Any:
    """Returns all arrays as tensors; None if these are too large."""
    flat = steps.flat_arrays(self.batch)
    if self._tensors is None and not any(map(arrays.is_large, flat)):
      self._tensors = list(map(arrays.tensor, flat))
    return self._tensors

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
      count = max(1, _CHUNK_BYTES // max(1, row_bytes * size))
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
    self._calls = calls

  def layout(self, size: int) -> steps.Layout:
    del size  # These have their own.
    return self._layout

  def calls(self, size: int) -> Iterator[Call]:
    del size
    return iter(self._calls)

  def labels(self) -> tuple[Any, Any]:
    """Returns the labels of all rows and their weights, or None, as tensors.

    Raises:
      ValueError: they have several shapes.
    """
    batches = [self._layout.packed(flat)[1:] for flat, _ in self._calls]
    try:
      parts = [keras.tree.map_structure(
          lambda *some: None if some[0] is None else tf.concat(some, 0),
          *(batch[i] for batch in batches)) for i in range(len(batches[0]))]
    except tf.errors.InvalidArgumentError:
      raise ValueError(
          "validation_data has labels whose shapes differ from batch to batch: "
          "expected one shape, because ensembles are judged on all.") from None
    return (*parts, None, None)[:2]


class ArrayData:
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

  def saved(self, folder: str) -> "Saved":
    """Writes all arrays to a folder, once; returns what a worker reads."""
    os.makedirs(folder, exist_ok=True)

    def written(array):
      if array is None:
        return None
      path = os.path.join(folder, arrays.digest(array))
      if isinstance(array, np.memmap) and array.filename:
        return array.filename, array.dtype.str, array.shape, array.offset
      if isinstance(array, np.ndarray) or (
          isinstance(array, tf.Tensor) and array.dtype != tf.string):
        path += ".npy"
      if not os.path.exists(path):
        temporary = f"{path}.{os.getpid()}.new"
        with open(temporary, "wb") as file:
          if path.endswith(".npy"):
            np.save(file, np.asarray(array))
          else:
            pickle.dump(_parts(array), file)
        os.replace(temporary, path)
      return path

    parts = {}
    for name, rows in (("trained", self.trained), ("held_out", self.held_out)):
      if not isinstance(rows, Rows):
        raise TypeError("validation_data has batches of several shapes, which "
                        "an executor cannot get: give arrays.")
      parts[name] = (keras.tree.map_structure(written, rows.batch), rows.rows)
    return Saved(folder, parts, self._batch_size, self._seed)


def _parts(array):
  """Returns a tensor of several parts as a function and NumPy's arrays."""
  if isinstance(array, tf.RaggedTensor):
    return "ragged", array.flat_values.numpy(), [
        one.numpy() for one in array.nested_row_splits]
  if isinstance(array, tf.SparseTensor):
    return "sparse", array.indices.numpy(), array.values.numpy(), (
        array.dense_shape.numpy())
  return "text", array.numpy()


class Saved:
  """Arrays in files, for a worker of an executor."""

  def __init__(self, folder: str, parts: Any, batch_size: int, seed: int):
    self._folder = folder
    self._parts = parts
    self._rest = batch_size, seed

  def loaded(self) -> ArrayData:
    """Returns the data, whose tensors this process has once."""
    key = repr((self._folder, self._rest, [
        part[0] for part in self._parts.values()], [
            len(part[1]) for part in self._parts.values()]))
    if key not in _of_process:
      _of_process.clear()
      opened: dict[Any, Any] = {}

      def read(path):
        if path is not None and path not in opened:
          opened[path] = _read(path)
        return opened.get(path)

      # A tuple of this file is an array, too.
      rows = [Rows(_mapped(read, batch), rows)
              for batch, rows in self._parts.values()]
      _of_process[key] = ArrayData(*rows, *self._rest)
    return _of_process[key]


def _mapped(function, value):
  """Returns a structure whose paths became arrays."""
  if value is None or isinstance(value, str) or (
      isinstance(value, tuple) and value and isinstance(value[0], str)):
    return function(value)
  if isinstance(value, dict):
    return {key: _mapped(function, one) for key, one in value.items()}
  return type(value)(_mapped(function, one) for one in value)


def _read(path):
  """Returns the array of a file that `ArrayData.saved` wrote or named."""
  if isinstance(path, tuple):
    name, dtype, shape, offset = path
    return np.memmap(name, dtype, "r", offset, shape)
  if path.endswith(".npy"):
    return np.load(path, mmap_mode="r")
  with open(path, "rb") as file:
    kind, *parts = pickle.load(file)
  if kind == "ragged":
    return tf.RaggedTensor.from_nested_row_splits(*parts)
  return tf.SparseTensor(*parts) if kind == "sparse" else tf.constant(
      parts[0], tf.string)


def _weighted(batch, class_weight):
  """Returns a batch with weights of its classes."""
  if class_weight is None:
    return batch
  if len(batch) != 2:
    raise ValueError("class_weight: expected None where data have weights, or "
                     "no labels.")
  return (*batch, tf.constant(arrays.weights_of_classes(
      batch[1], class_weight)))


class StreamData:
  """Batches that a dataset gives, of one epoch each time it is read.

  Attributes:
    held_out: `Rows` or `Batches`.
    is_shared: bool, whether networks that train together read the data once.
  """
  is_shared = True

  def __init__(self, name: str, given: Any, held_out: Any, class_weight: Any,
               seed: int):
    """Reads the held-out data.

    Args:
      name: str, the argument, for messages.
      given: `tf.data.Dataset`, `keras.utils.PyDataset`, or a function that
        returns a dataset or a generator.
      held_out: the same, or a tuple of arrays.
      class_weight: dict from class to weight, or None.
      seed: int, of the order of the batches of a `PyDataset`.

    Raises:
      TypeError: there is something else.
      ValueError: the batches cannot be used.
    """
    self._given = name, given, held_out, class_weight, seed
    self._source = _Source(name, given, class_weight, seed)
    if isinstance(held_out, (tuple, list)):
      batch = checked_batch("validation_data", held_out)
      if len(batch) < 3:
        batch = _weighted(batch, class_weight)
      rows = arrays.rows_of("validation_data", batch)
      self.held_out: Any = Rows(batch, np.arange(rows, dtype=np.int32))
    else:
      source = _Source("validation_data", held_out, None, seed)
      if class_weight is not None and len(source.layout.structure) == 2:
        source = _Source("validation_data", held_out, class_weight, seed)
      self.held_out = source.all()

  def layout(self) -> steps.Layout:
    return self._source.layout

  def calls(self, epoch: int, start: int = 0) -> Iterator[Call]:
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
    key = repr((self._given[0], self._given[-1], self.digest()))
    if key not in _of_process:
      _of_process.clear()
      _of_process[key] = self
    return _of_process[key]

  def __reduce__(self):
    return StreamData, self._given


class _Source:
  """A dataset: its batches, in chunks of batches that have one shape.

  Attributes:
    layout: `Layout` of a batch.
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

  def _layout(self):
    name, given = self._name, self._given
    if isinstance(given, tf.data.Dataset):
      element = given.element_spec
      batch = element if isinstance(element, tuple) else (element,)
      if given.cardinality() == tf.data.INFINITE_CARDINALITY:
        raise ValueError(f"{name} is a tf.data.Dataset without an end: expected "
                         "one of an epoch, such as dataset.take(100).")
    elif isinstance(given, keras.utils.PyDataset):
      if not getattr(given, "num_batches", None):
        raise ValueError(f"{name} is a PyDataset without an end: expected one "
                         "with __len__.")
      batch = _common([_tensors(given[i]) for i in {0, len(given) - 1}])
    elif hasattr(given, "__next__"):
      batch = _common([_tensors(one) for one, _ in zip(
          self._function(), range(2))])
    else:
      raise TypeError(
          f"{name} returned {words.described(given)}: expected a "
          "tf.data.Dataset, a keras.utils.PyDataset or a generator of batches.")
    specs = steps.flat_arrays(batch)
    if any(spec.shape.rank == 0 for spec in specs):
      raise ValueError(f"{name} has single examples: expected batches, such as "
                       "those of dataset.batch(32).")
    sizes = {spec.shape[0] for spec in specs if spec.shape.rank}
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
    chunk: list[list] = []
    shapes = None
    for i, batch in enumerate(self._batches(epoch)):
      if i < start:
        continue
      flat = steps.flat_arrays(_weighted(batch, self._class_weight))
      now = [_shape(one) for one in flat]
      size = sum(one.dtype.size * np.prod(shape, dtype=np.int64)
                 for one, shape in zip(flat, now))
      if chunk and (now != shapes or len(chunk) >= _CHUNK_BATCHES or
                    size * len(chunk) > _CHUNK_BYTES):
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
    if len({tuple(_shape(one)[1:] for one in flat) for flat, _ in calls}) == 1:
      flat = _joined([flat for flat, _ in calls])[0]
      rows = sum(index.size for _, index in calls)
      return Rows(self.layout.packed(flat), np.arange(rows, dtype=np.int32))
    return Batches(self.layout.structure, self.layout.specs, self.layout.size,
                   calls)


def _shape(array):
  """Returns the shape of a tensor, with None where it is ragged."""
  return tuple(array.shape)


def _tensors(batch):
  """Returns a batch that Python gave as tensors."""
  batch = tuple(batch) if isinstance(batch, (tuple, list)) else (batch,)
  return keras.tree.map_structure(
      lambda one: None if one is None else arrays.tensor(one), batch)


def _common(batches):
  """Returns the specs of batches; None where their shapes differ."""
  if not batches:
    return (tf.TensorSpec([], tf.float32),)
  return keras.tree.map_structure(
      lambda *some: None if some[0] is None else _common_spec(some), *batches)


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
  if len(parts) > 1:
    arrays.check_labels(names[1], parts[1])
  if len(parts) == 3:
    parts[2] = _weights_of(names[2], parts[1], parts[2])
  found: dict[str, Any] = {}
  for key, part in zip(names, parts):
    found.update(arrays.named(key, part))
  rows = [(key, int(one.shape[0])) for key, one in found.items()]
  for key, count in rows:
    if count != rows[0][1]:
      raise ValueError(f"{rows[0][0]} has {rows[0][1]} rows and {key} has "
                       f"{count}: expected as many.")
  if not rows or not rows[0][1]:
    raise ValueError(f"{names[0]} has no rows.")
  return tuple(parts)


def _weights_of(name, y, weights):
  """Returns weights in the structure of the labels, as Keras does."""
  for key, array in arrays.named(name, weights).items():
    smallest = float(np.min(arrays.tensor(array)))
    if smallest < 0:
      raise ValueError(f"{key} has {smallest}: expected weights of at least 0.")
  if isinstance(y, (dict, list, tuple)) and not isinstance(
      weights, (dict, list, tuple)):
    return keras.tree.map_structure(lambda _: weights, y)
  return weights


def _is_stream(given):
  """Returns whether data are no arrays, but batches."""
  return isinstance(given, (tf.data.Dataset, keras.utils.PyDataset)) or (
      hasattr(given, "__next__")) or (
          callable(given) and not hasattr(given, "__array__"))


def checked(x: Any, y: Any, batch_size: int, validation_data: Any,
            validation_split: float, sample_weight: Any, class_weight: Any,
            seed: int) -> tuple[Any, dict[str, str]]:
  """Returns the data of `fit`, checked, and their texts with a digest.

  Args: as those of `EnsembleSearch.fit`.

  Raises:
    TypeError: an argument is of another type.
    ValueError: an argument has a wrong value.
  """
  held_out_of_stream = _is_stream(validation_data)
  if _is_stream(x):
    for name, value in (("y", y), ("sample_weight", sample_weight)):
      if value is not None:
        raise ValueError(f"{name}: expected None where x has labels and "
                         "weights of its own.")
    if validation_data is None:
      raise ValueError("validation_data=None: expected another dataset, or "
                       "arrays, where x is a dataset.")
    stream = StreamData("x", x, validation_data, class_weight, seed)
    given = {"x": f"batches {stream.digest()}"}
    _check_weights(stream.held_out)
    return stream, given
  if x is None:
    raise ValueError("x=None: expected arrays, or a dataset.")
  arrays.check_frames(x, y, validation_data)
  batch = checked_batch("", (x, y, sample_weight))
  if class_weight is not None:
    if sample_weight is not None:
      raise ValueError("class_weight and sample_weight are both given: expected "
                       "one of them. Multiply the weights of classes into "
                       "sample_weight.")
    batch = (*batch[:2], arrays.weights_of_classes(
        batch[1] if len(batch) > 1 else None, class_weight))
  count = arrays.rows_of("x", batch[0])
  rows = np.arange(count, dtype=np.int32)
  given = {name: f"{arrays.shapes(part)} {arrays.digest(part)}"
           for name, part in zip(("x", "y", "sample_weight"), batch)}
  given["batch_size"] = str(batch_size)
  if validation_data is None:
    held_out = _picked(count, validation_split, seed)
    given["validation_split"] = repr(validation_split)
    data = ArrayData(Rows(batch, np.setdiff1d(rows, held_out)),
                     Rows(batch, held_out), batch_size, seed)
    # One copy in memory.
    data.held_out.share(data.trained)
  elif held_out_of_stream:
    data = ArrayData(Rows(batch, rows), StreamData(
        "validation_data", validation_data, validation_data, class_weight,
        seed).held_out, batch_size, seed)
  else:
    other = checked_batch("validation_data", validation_data)
    _check_shapes(batch, other)
    given["validation_data"] = (f"{arrays.shapes(other)} "
                                f"{arrays.digest(other)}")
    if class_weight is not None and len(other) == 2:
      other = (*other, arrays.weights_of_classes(other[1], class_weight))
    data = ArrayData(Rows(batch, rows), Rows(other, np.arange(
        arrays.rows_of("validation_data", other), dtype=np.int32)),
                     batch_size, seed)
  _check_weights(data.held_out)
  return data, given


def _picked(count, validation_split, seed):
  """Returns the rows to hold out."""
  if isinstance(validation_split, bool) or not isinstance(
      validation_split, (int, float)) or not 0 <= validation_split < 1:
    raise ValueError(f"validation_split={words.described(validation_split)}: "
                     "expected a number between 0 and 1.")
  size = int(count * validation_split)
  if not validation_split:
    raise ValueError("validation_split=0: expected more than 0, or "
                     "validation_data. Networks end by held-out rows.")
  if not size:
    raise ValueError(f"validation_split={validation_split!r}: holds out 0 of "
                     f"{count} rows: expected at least one.")
  return np.sort(np.random.RandomState(seed).permutation(count)[:size]).astype(
      np.int32)


def _check_shapes(batch, other):
  """Checks that held-out arrays are like those that train."""
  for i, (one, two) in enumerate(zip(batch[:2], other)):
    first, second = (arrays.named(name, part) for name, part in (
        ("xy"[i], one), (f"validation_data[{i}]", two)))
    if len(first) != len(second):
      raise ValueError(
          f"validation_data[{i}] has {len(second)} arrays, and {'xy'[i]} "
          f"{len(first)}: expected the same structure.")
    for (name, array), (key, held_out) in zip(first.items(), second.items()):
      shapes = [list(a.shape)[1:] for a in (array, held_out)]
      if len(shapes[0]) != len(shapes[1]) or (i == 0 and len(
          shapes[0]) == 1 and shapes[0] != shapes[1]):
        raise ValueError(f"{key} has rows of the shape {shapes[1]}, and {name} "
                         f"of {shapes[0]}: expected the same.")


def _check_weights(held_out):
  """Raises an error if held-out rows have no weight at all."""
  _, weights = held_out.labels()
  flat = steps.flat_arrays(weights)
  if flat and not any(np.any(np.asarray(one)) for one in flat):
    raise ValueError("The weights of all held-out rows are 0: expected some "
                     "that are greater, by which networks are compared.")

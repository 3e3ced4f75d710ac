# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Rows that train, and held-out ones, and the functions that step over them.

Rows are numbers of rows of arrays in memory: a process has each array once on
each device. A large memmap goes in by chunks. The TensorFlow functions of a
network (`Steps`) take data, and the numbers of the rows of some batches in
these data. A loop inside calls the model's own `train_step` for each batch. So
the same function trains from arrays that are in memory as a whole, and from
chunks of larger data.
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

# Tensors, and the numbers of the rows of some batches in them.
Call = tuple[list, np.ndarray]


class Layout(NamedTuple):
  """What is known about batches before there is one.

  Attributes:
    structure: a batch as `Model.train_step` takes it, `(x, y, weights)` or its
      beginning, with anything for each array.
    specs: list with the `TypeSpec` of each array that is not None: of any
      number of rows.
    size: int, the rows of a batch, if all have the same, or None. Keras traces
      a model with one or the other, too.
  """
  structure: Any
  specs: list
  size: int | None

  def packed(self, flat):
    """Returns a batch with these arrays."""
    rest = iter(flat)
    return mapped(lambda _: next(rest), self.structure)


def mapped(function, *structures):
  """Returns a structure of what a function returns of arrays; None stays."""
  return keras.tree.map_structure(
      lambda *some: None if some[0] is None else function(*some), *structures)


def flat_arrays(structure: Any) -> list:
  """Returns the arrays of a structure, without the Nones."""
  return [one for one in keras.tree.flatten(structure) if one is not None]


def layout_of(batch: Any, specs: list, size: int | None) -> Layout:
  """Returns the `Layout` of a batch of arrays or specs."""
  return Layout(mapped(lambda _: 0, batch), specs, size)


def spec_of(array: Any) -> Any:
  """Returns the spec of an array or a tensor with any number of rows."""
  if isinstance(array, (tf.RaggedTensor, tf.SparseTensor)):
    return with_rows(tf.type_spec_from_value(array))
  return tf.TensorSpec([None, *array.shape[1:]], array.dtype)


def with_rows(spec: Any) -> Any:
  """Returns the spec of a batch with any number of rows."""
  shape = [None, *spec.shape[1:]]
  if isinstance(spec, tf.RaggedTensorSpec):
    return tf.RaggedTensorSpec(shape, spec.dtype, spec.ragged_rank,
                               spec.row_splits_dtype)
  return type(spec)(shape, spec.dtype)


def readable(array):
  """Returns a function of row numbers that reads these rows of an array."""
  if isinstance(array, np.ndarray):
    return lambda rows: arrays.tensor(array[rows])
  if not isinstance(array, tf.SparseTensor):
    return lambda rows: tf.gather(array, rows, axis=0)
  # TensorFlow gathers no rows of a sparse tensor, but those of ragged ones.
  numbers, columns = array.indices[:, 0], array.indices[:, 1:]
  columns, values = (
      tf.RaggedTensor.from_value_rowids(one, numbers, array.dense_shape[0])
      for one in (columns, array.values))

  def read(rows):
    some = tf.gather(columns, rows)
    return tf.SparseTensor(
        tf.concat([some.value_rowids()[:, None], some.flat_values], 1),
        tf.gather(values, rows).flat_values,
        [rows.shape[0] or tf.shape(rows, tf.int64)[0], *array.shape[1:]])

  return read


def first_batch(held_out: Any, size: int) -> tuple:
  """Returns the first batch of held-out rows, as a model takes it."""
  flat, rows = held_out.first_call(size)
  return held_out.layout(size).packed(
      readable(tensor)(tf.constant(rows[0])) for tensor in flat)


def joined(tensors: Any) -> Any:
  """Returns tensors with the rows of all, one after the other."""
  return (tf.sparse.concat(0, list(tensors)) if isinstance(
      tensors[0], tf.SparseTensor) else tf.concat(list(tensors), 0))


def in_batches(rows: np.ndarray, size: int) -> Iterator[np.ndarray]:
  """Yields the whole batches of rows as one array, and then a smaller one."""
  whole = len(rows) // size * size
  if whole:
    yield rows[:whole].reshape(-1, size)
  if whole < len(rows):
    yield rows[whole:][None]


def _tensors(batch):
  return list(map(arrays.tensor, flat_arrays(batch)))


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
    self._tensors = tensors or devices.TensorsOfDevices(_tensors, batch)

  def __len__(self):
    return len(self.rows)

  @property
  def not_finite(self) -> tuple[str, "Rows"] | None:
    """Words about NaN or infinity, and the `Rows` that have these; or None."""
    text, bad = arrays.not_finite(self.batch)
    count = int(flat_arrays(self.batch)[0].shape[0])
    return (f"{text} in {len(bad)} of {count} rows", self.others(bad)
            ) if text else None

  def others(self, rows: np.ndarray) -> "Rows":
    """Returns other rows of the same arrays, which have the same tensors."""
    return Rows(self.batch, rows, self._tensors)

  def tensors(self) -> Any:
    """Returns all arrays as tensors of the device of this thread's scope.

    Returns None if the arrays are too large.
    """
    return None if any(map(arrays.is_large, flat_arrays(
        self.batch))) else self._tensors.here()

  def layout(self, size: int) -> Layout:
    """Returns the `Layout` of batches of some size."""
    return layout_of(
        self.batch, [self._spec(one) for one in flat_arrays(self.batch)],
        size if len(self.rows) % size == 0 else None)

  def _spec(self, array):
    spec = spec_of(array)
    return (tf.TensorSpec(spec.shape, keras.config.floatx())
            if spec.dtype.is_floating and isinstance(array, np.ndarray) else
            spec)

  def calls(self, size: int, order: Any = None, start: int = 0
           ) -> Iterator[Call]:
    """Yields tensors with the row numbers of batches, the last one smaller.

    `order` are the rows, of which the first `start` batches are left out.
    """
    order = self.rows if order is None else order
    tensors = self.tensors()
    flat = flat_arrays(self.batch)
    for rows in in_batches(order[start * size:], size):
      if tensors is not None:
        yield tensors, rows
        continue
      row_bytes = sum(one.nbytes // len(one) for one in flat if isinstance(
          one, np.ndarray))
      count = max(1, CHUNK_BYTES // max(1, row_bytes * size))
      for i in range(0, len(rows), count):
        some = rows[i:i + count]
        yield ([readable(one)(some.reshape(-1)) for one in flat],
               np.arange(some.size, dtype=np.int32).reshape(some.shape))

  def first_call(self, size: int) -> Call:
    """Returns the first of `calls`."""
    return next(self.calls(size))

  def labels(self) -> tuple:
    """Returns the labels and weights of these rows, or None, as tensors."""
    parts = mapped(lambda one: readable(one)(self.rows), self.batch[1:])
    return (*parts, None, None)[:2]


def joined_labels(parts: list[tuple]) -> tuple:
  """Returns labels and weights of several parts of the rows as those of all."""
  return mapped(lambda *some: joined(some), *parts)


@dataclasses.dataclass
class RowData:
  """Arrays that train, and held-out ones.

  Attributes:
    trained: `Rows`.
    held_out: `Rows` or `datasets.HeldOutBatches`.
    batch_size: int, the rows of a step.
    seed: int, of the order of the rows.
    source: None: there is no dataset that networks read together.
  """
  trained: Rows
  held_out: Any
  batch_size: int
  seed: int
  source: Any = None

  def layout(self) -> Layout:
    return self.trained.layout(self.batch_size)

  def steps(self) -> int:
    """Returns how many batches an epoch has."""
    return -(-len(self.trained.rows) // self.batch_size)

  def order(self, epoch: int) -> np.ndarray:
    """Returns the rows of an epoch: for all networks in the same order."""
    return np.random.RandomState([self.seed, epoch]).permutation(
        self.trained.rows)

  def calls(self, epoch: int, start: int = 0) -> Iterator[Call]:
    """Yields the batches of an epoch behind the first `start` ones."""
    return self.trained.calls(self.batch_size, self.order(epoch), start)


def is_of_keras(model: Any, step: str) -> bool:
  """Returns whether a step of a model, and its results, are Keras's own."""
  return all(getattr(getattr(model, name), "__func__", None) is
             getattr(keras.Model, name) for name in (
                 step, "compute_metrics", "get_metrics_result"))


def flat_logs(logs: Any) -> dict[str, float]:
  """Returns the single values of logs, also of the dicts inside, as Keras does.
  """
  found = {}
  for name, value in logs.items():
    if isinstance(value, dict):
      found.update(flat_logs(value))
    elif np.ndim(value) == 0 and not isinstance(value, str):
      found[name] = float(value)
  return found


class MaskReader(keras.layers.Layer):
  """Remembers the mask of what it is called on: Keras passes it in."""

  def __init__(self):
    super().__init__()
    self.supports_masking = True
    self.mask = None

  def call(self, inputs, mask=None):
    self.mask = mask
    return inputs


class Steps:
  """The functions of one network.

  Attributes:
    train: function of a list of tensors and an array of row numbers, of shape
      [batches, rows of one]; returns the logs of the last batch.
    check: function of a list of tensors and the rows of one held-out batch;
      returns the logs.
    check_batches: the same for several batches, as `train`: each call takes
      less, and to trace it takes more.
    predict: as `check`; returns the outputs, and the mask of each or None.
    outputs: the structure of the model's outputs, after a prediction.
  """

  def __init__(self, model: Any, trained: Layout,
               checked: Layout, seed: int):
    """Traces nothing yet; `seed` is of random ops that have none."""
    self._model = model
    self._seed = seed
    self._is_eager = bool(model.run_eagerly)
    self.outputs: Any = None
    self.train = self._stepping("train_step", trained)
    test = self._step("test_step")
    self.check = self._traced(
        lambda batch, rows: test(batch(rows)), checked, [checked.size])
    self.check_batches = self._stepping("test_step", checked)
    self.predict = self._traced(self._predicted, checked, [checked.size])

  def build(self) -> None:
    """Traces `check`, which makes the variables of a model that has none."""
    if not self._is_eager:
      self.check = self.check.get_concrete_function()

  def trace(self) -> None:
    """Traces the other functions, in the order that needs one trace each.

    TensorFlow warns of functions that are traced when they are called, and a
    call of a `ConcreteFunction` costs a third.
    """
    model = self._model
    if self._is_eager:
      return
    if model.built and model.optimizer is not None and is_of_keras(
        model, "train_step"):
      model.optimizer.build(model.trainable_variables)
    self.train = self.train.get_concrete_function()
    self.predict = self.predict.get_concrete_function()

  def logs(self, step: str, last: Any) -> dict[str, float]:
    """Returns what `Model.fit` shows of steps, of which the last returned this.
    """
    if not is_of_keras(self._model, step):
      # A step of a user may return what no metric has, and the other way round.
      try:
        results = self._model.get_metrics_result()
      except ValueError:  # These metrics were never used.
        results = {}
      last = results if results.keys() == last.keys() else last
    return flat_logs(last)

  def _step(self, name):
    step = getattr(self._model, name)
    return tf.function(step, jit_compile=True, autograph=False) if (
        self._model.jit_compile and not self._is_eager) else step

  def _traced(self, function, layout, shape):
    """Returns a function of tensors and rows, of one of a reader and rows."""

    def of_tensors(flat, rows):
      if not self._is_eager:
        # It is the seed of this graph, and not that of the user's program.
        tf_compat.v1.set_random_seed(self._seed)
      readers = list(map(readable, flat))
      return function(lambda some: layout.packed(
          read(some) for read in readers), rows)

    if self._is_eager:
      return of_tensors
    return tf.function(of_tensors, autograph=False, input_signature=[
        layout.specs, tf.TensorSpec(shape, tf.int32)])

  def _stepping(self, name, layout):
    """Returns a function that takes a step of the model for each batch."""

    def stepped(batch, rows):
      step = self._step(name)
      if self._is_eager:
        return [step(batch(some)) for some in rows][-1]
      is_own = not is_of_keras(self._model, name)
      end = tf.shape(rows)[0] - int(is_own)

      def body(i):
        step(batch(rows[i]))
        return i + 1

      tf.while_loop(lambda i: i < end, body, [tf.constant(0)],
                    parallel_iterations=1)
      # What a step of Keras returns is there without another trace of it.
      return (step(batch(rows[end])) if is_own else
              self._model.get_metrics_result())

    return self._traced(stepped, layout, [None, layout.size])

  def _predicted(self, batch, rows):
    # What test_step sees: a predict_step of a user may return something else,
    # of which the ensemble, a functional model, knows nothing.
    outputs = keras.Model.predict_step(self._model, (batch(rows)[0],))
    self.outputs = keras.tree.map_structure(lambda _: 0, outputs)
    found, masks = keras.tree.flatten(outputs), []
    for output in found:
      reader = MaskReader()
      reader(output)
      masks.append(reader.mask)
    return found, masks

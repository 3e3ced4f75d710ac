# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Rows of arrays on their devices, and the functions that step over rows.

Rows are numbers of rows of arrays in memory: a process has each array once on
each device. A large memmap is read by chunks. The TensorFlow functions of a
network (`Steps`) take data and the row numbers of several batches. A loop
inside calls the model's own `train_step` for each batch. So the same function
trains from whole arrays and from chunks of larger data.

A network is on one device: variables, steps and data. Networks are divided
among the GPUs. Without a GPU nothing is placed, as in `Model.fit`.
"""

import collections
from collections.abc import Callable, Iterable, Iterator
import contextlib
import dataclasses
import functools
import threading
from typing import Any, NamedTuple

from adanet import tf_compat
from adanet.ensemble_search import arrays
from adanet.tf_compat import runtime
from adanet.tf_compat import tensorflow_internals
import numpy as np

keras: Any = tf_compat.keras_3
tf = tf_compat.v2
#: Rows of a held-out batch, of networks and of ensembles alike.
CHECK_SIZE = 256
#: Bytes of a chunk of batches.
CHUNK_BYTES = 32 << 20
# TensorFlow runs the ops of a GPU one after the other. Further networks fill
# the time in which the CPU prepares the ops of small networks, and each takes
# memory of the GPU.
_NETWORKS_OF_A_GPU = 4
# The devices of the networks that workers of this process train.
_used: list[str | None] = []
_lock = threading.Lock()

# Tensors, and the numbers of the rows of some batches in these tensors.
Chunk = tuple[list, np.ndarray]


def least_loaded(used: Iterable[str | None], first: int = 0) -> str | None:
  """Returns the GPU that is the fewest times in `used`; None without a GPU.

  In a tie, the first GPU from the place `first` on.
  """
  devices, counts = runtime.gpu_names(), collections.Counter(used)
  start = first % len(devices) if devices else 0
  return min([*devices[start:], *devices[:start]],
             key=lambda device: counts[device], default=None)


@contextlib.contextmanager
def worker_device(first: int) -> Iterator[str | None]:
  """Yields the device of a network that a worker trains in a block."""
  with _lock:
    device = least_loaded(_used, first)
    _used.append(device)
  try:
    yield device
  finally:
    with _lock:
      _used.remove(device)


def networks_at_a_time() -> int:
  """Returns the number of networks that train at a time on all GPUs."""
  return _NETWORKS_OF_A_GPU * len(runtime.gpu_names())


def scope(device: str | None) -> Any:
  """Returns the scope of a device; None for TensorFlow's choice."""
  # tf.device(None) would leave a scope of the user.
  return contextlib.nullcontext() if device is None else tf.device(device)


def on_own_device(method: Callable[..., Any]) -> Callable[..., Any]:
  """Decorates a method to run in the scope of the object's `device`."""

  @functools.wraps(method)
  def on_device(self, *args, **kwargs):
    with scope(self.device):
      return method(self, *args, **kwargs)

  return on_device


class DeviceTensors:
  """The tensors that `make(*args)` returns, copied once to each device."""

  def __init__(self, make: Callable[..., list], *args: Any):
    self._make = make, args
    self._copies: dict[str, list] = {}
    self._lock = threading.Lock()

  def __reduce__(self):
    make, args = self._make
    return DeviceTensors, (make, *args)

  def here(self) -> list:
    """Returns the tensors of the device of this thread's scope."""
    device = tensorflow_internals.eager_device()
    with self._lock:
      if device not in self._copies:
        make, args = self._make
        # Without a scope, an op would copy the tensors to the first GPU.
        self._copies[device] = [
            _place(tensor) if device else tensor for tensor in make(*args)]
      return self._copies[device]


def _place(tensor):
  """Returns a tensor on the device of the scope."""
  # TensorFlow reads rows of ragged and sparse tensors on the CPU alone.
  with scope(None if isinstance(tensor, tf.Tensor) else "CPU:0"):
    return tf.identity(tensor)


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
  spec = spec_of(tensors[0])
  if len({tuple(tensor.shape)[1:] for tensor in tensors}) == 1:
    return spec
  return tf.TensorSpec([
      sizes[0] if len(set(sizes)) == 1 and i else None
      for i, sizes in enumerate(zip(*(tensor.shape for tensor in tensors)))],
                       spec.dtype)


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
               tensors: DeviceTensors | None = None):
    self.batch = batch
    self.numbers = numbers
    self._tensors = tensors or DeviceTensors(_make_tensors, batch)

  def __len__(self):
    return len(self.numbers)

  def select(self, numbers: np.ndarray) -> "Rows":
    """Returns other rows of the same arrays and tensors."""
    return Rows(self.batch, numbers, self._tensors)

  @property
  def not_finite(self) -> list[tuple[str, str, "Rows"]]:
    """Arguments with NaN or infinity, words, and the `Rows` that have these."""
    count = int(flat_arrays(self.batch)[0].shape[0])
    return [(argument, f"{text} in {len(rows)} of {count} rows{columns}",
             self.select(rows))
            for argument, text, columns, rows in arrays.find_not_finite(
                self.batch)]

  def tensors(self) -> Any:
    """Returns all arrays as tensors; None if the arrays are too large."""
    return None if any(map(arrays.is_large, flat_arrays(
        self.batch))) else self._tensors.here()

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
    order = self.numbers if order is None else order
    tensors = self.tensors()
    flat = flat_arrays(self.batch)
    for numbers in in_batches(order[start * size:], size):
      if tensors is not None:
        yield tensors, numbers
        continue
      row_bytes = sum(array.nbytes // len(array) for array in flat
                      if isinstance(array, np.ndarray))
      count = max(1, CHUNK_BYTES // max(1, row_bytes * size))
      for i in range(0, len(numbers), count):
        part = numbers[i:i + count]
        yield ([reader(array)(part.reshape(-1)) for array in flat],
               np.arange(part.size, dtype=np.int32).reshape(part.shape))

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
  held_out: Any  # `Rows` or `data.HeldOutBatches`.
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


def is_of_keras(model: Any, step: str) -> bool:
  """Returns whether a step of a model, and its results, are Keras's own."""
  return all(getattr(getattr(model, name), "__func__", None) is
             getattr(keras.Model, name) for name in (
                 step, "compute_metrics", "get_metrics_result"))


def flat_logs(logs: Any) -> dict[str, Any]:
  """Returns the numbers of logs, also of the dicts inside, as Keras does."""
  flat = {}
  for name, value in logs.items():
    if isinstance(value, dict):
      flat.update(flat_logs(value))
    elif np.ndim(value) == 0 and not isinstance(value, str):
      flat[name] = value
  return flat


class MaskReader(keras.layers.Layer):
  """Remembers the mask that Keras passes with the input of a call."""

  def __init__(self):
    super().__init__()
    self.supports_masking = True
    self.mask = None

  def call(self, inputs, mask=None):
    self.mask = mask
    return inputs


class Steps:
  """The TensorFlow functions of a model.

  Attributes:
    train: function of a list of tensors and an array of row numbers, of shape
      [batches, rows of a batch]; returns the logs of the last batch.
    check: function of a list of tensors and the rows of one held-out batch;
      returns the logs.
    check_batches: as `check`, for several batches as in `train`: a call takes
      less, and the trace takes more.
    predict: as `check`; returns the outputs, and the mask of each or None.
    outputs: the structure of the model's outputs, after a prediction.
  """

  def __init__(self, model: Any, trained: Layout, checked: Layout, seed: int):
    """Traces nothing yet; `seed` is for random ops without a seed."""
    self._model = model
    self._seed = seed
    self._is_eager = bool(model.run_eagerly)
    self.outputs: Any = None
    self.train = self._looped("train_step", trained)
    test = self._step("test_step")
    self.check = self._function(
        lambda batch, numbers: test(batch(numbers)), checked, [checked.size])
    self.check_batches = self._looped("test_step", checked)
    self.predict = self._function(self._predict, checked, [checked.size])

  def build(self) -> None:
    """Traces `check`, which makes the variables of a model that has none."""
    if not self._is_eager:
      self.check = self.check.get_concrete_function()

  def trace(self) -> None:
    """Traces the other functions, in the order that needs one trace each.

    TensorFlow warns of functions that are traced late, and a call of a
    `ConcreteFunction` costs a third.
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
    """Returns what `Model.fit` shows after steps; the last returned `last`."""
    if not is_of_keras(self._model, step):
      # A step of a user may return what no metric has, and the other way round.
      try:
        results = self._model.get_metrics_result()
      except ValueError:  # These metrics were never used.
        results = {}
      last = results if results.keys() == last.keys() else last
    return {name: float(value) for name, value in flat_logs(last).items()}

  def _step(self, name):
    step = getattr(self._model, name)
    return tf.function(step, jit_compile=True, autograph=False) if (
        self._model.jit_compile and not self._is_eager) else step

  def _function(self, function, layout, shape):
    """Returns a TensorFlow function of tensors and row numbers.

    `function` takes a reader of batches, and row numbers.
    """

    def call(flat, numbers):
      if not self._is_eager:
        # The seed of this graph; the seed of the user's program stays.
        tf_compat.v1.set_random_seed(self._seed)
      readers = list(map(reader, flat))
      return function(lambda batch_numbers: layout.pack(
          read(batch_numbers) for read in readers), numbers)

    if self._is_eager:
      return call
    return tf.function(call, autograph=False, input_signature=[
        layout.specs, tf.TensorSpec(shape, tf.int32)])

  def _looped(self, name, layout):
    """Returns a function that takes a step of the model for each batch."""

    def take_steps(batch, numbers):
      step = self._step(name)
      if self._is_eager:
        return [step(batch(rows)) for rows in numbers][-1]
      is_own = not is_of_keras(self._model, name)
      end = tf.shape(numbers)[0] - int(is_own)

      def body(i):
        step(batch(numbers[i]))
        return i + 1

      tf.while_loop(lambda i: i < end, body, [tf.constant(0)],
                    parallel_iterations=1)
      # The result of a step of Keras is known without another trace of it.
      return (step(batch(numbers[end])) if is_own else
              self._model.get_metrics_result())

    return self._function(take_steps, layout, [None, layout.size])

  def _predict(self, batch, numbers):
    # What test_step sees: a predict_step of a user may return something else,
    # of which the ensemble, a functional model, knows nothing.
    structure = keras.Model.predict_step(self._model, (batch(numbers)[0],))
    self.outputs = keras.tree.map_structure(lambda _: 0, structure)
    outputs, masks = keras.tree.flatten(structure), []
    for output in outputs:
      mask_reader = MaskReader()
      mask_reader(output)
      masks.append(mask_reader.mask)
    return outputs, masks

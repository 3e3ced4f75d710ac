# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The TensorFlow functions of one network: train, check and predict.

Each function takes data, and the numbers of the rows of some batches in these
data. A loop inside calls the model's own `train_step` or `test_step` for each
batch. So the same function trains from arrays that are in memory as a whole,
and from chunks of larger data.
"""

from typing import Any, NamedTuple

from adanet import tf_compat
import numpy as np

keras: Any = tf_compat.keras_3
tf = tf_compat.v2
_KERAS_STEPS = {"train_step": ("train_step", "compute_metrics",
                               "get_metrics_result"),
                "test_step": ("test_step", "compute_metrics",
                              "get_metrics_result")}


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
    return keras.tree.map_structure(
        lambda one: None if one is None else next(rest), self.structure)


def flat_arrays(structure: Any) -> list:
  """Returns the arrays of a structure, without the Nones."""
  return [one for one in keras.tree.flatten(structure) if one is not None]


def spec_of(array: Any) -> Any:
  """Returns the spec of an array or a tensor with any number of rows."""
  if isinstance(array, (tf.RaggedTensor, tf.SparseTensor)):
    spec = tf.type_spec_from_value(array)
    return with_rows(spec)
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


def is_of_keras(model: Any, step: str) -> bool:
  """Returns whether a step of a model, and its results, are Keras's own."""
  return all(getattr(getattr(model, name), "__func__", None) is
             getattr(keras.Model, name) for name in _KERAS_STEPS[step])


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


def _made_outside(creator, **kwargs):
  """Makes a variable outside of the graph that is traced.

  Else TensorFlow traces a function again that has made one.
  """
  if tf.executing_eagerly() or tf.is_symbolic_tensor(
      kwargs["initial_value"]):
    return creator(**kwargs)
  with tf.init_scope():
    return tf.Variable(**kwargs)


class Steps:
  """The functions of one network.

  Attributes:
    train: function of a list of tensors and an array of row numbers, of shape
      [batches, rows of one]; returns the logs of the last batch.
    check: the same for the rows of one batch.
    check_batches: the same for several batches: each call takes less, and to
      trace it takes more.
    predict: function of a list of tensors and the rows of one batch; returns
      the list of the outputs, and that of their masks.
    outputs: the structure of the model's outputs, after a prediction.
  """

  def __init__(self, model: Any, trained: Layout, checked: Layout, seed: int):
    """Traces nothing yet.

    Args:
      model: `keras.Model`, compiled.
      trained: `Layout` of batches that train.
      checked: `Layout` of held-out batches.
      seed: int, of random ops of TensorFlow that have none.
    """
    self._model = model
    self._seed = seed
    self._is_eager = bool(model.run_eagerly)
    self.outputs: Any = None
    self.train = self._stepping("train_step", trained)
    test = self._step("test_step")
    self.check = self._traced(
        lambda batch, rows: test(batch(rows)), checked, [checked.size])
    self.check_batches = self._stepping("test_step", checked)
    self.predict = self._traced(
        lambda batch, rows: self._predicted(batch(rows)), checked,
        [checked.size])

  def trace(self) -> None:
    """Traces all functions, in the order that needs one trace each.

    TensorFlow warns of functions that are traced when they are called.
    """
    model = self._model
    if self._is_eager:
      return
    self.check.get_concrete_function()
    if model.built and model.optimizer is not None and is_of_keras(
        model, "train_step"):
      model.optimizer.build(model.trainable_variables)
    self.train.get_concrete_function()
    self.predict.get_concrete_function()

  def functions(self) -> list:
    """Returns the `ConcreteFunction`s that `trace` has traced."""
    return [one.get_concrete_function()
            for one in (self.check, self.train, self.predict)]

  def logs(self, step: str, last: Any) -> dict[str, float]:
    """Returns what `Model.fit` shows of steps, of which the last returned this.

    Args:
      step: str, "train_step" or "test_step".
      last: dict of tensors, or of dicts of them.
    """
    if not is_of_keras(self._model, step):
      # A step of a user may return what no metric has, and the other way round.
      try:
        results = self._model.get_metrics_result()
      except ValueError:  # These metrics were never used.
        results = {}
      last = results if results.keys() == last.keys() else last
    return flat_logs(last)

  def _stepping(self, name, layout):
    """Returns a function that takes a step of the model for each batch."""
    step = self._step(name)
    run = self._run_eagerly if self._is_eager else (
        self._run_keras if is_of_keras(self._model, name) else self._run_own)
    return self._traced(lambda batch, rows: run(step, batch, rows), layout,
                        [None, layout.size])

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
      batch = lambda some: layout.packed(read(some) for read in readers)
      with tf.variable_creator_scope(_made_outside):
        return function(batch, rows)

    if self._is_eager:
      return of_tensors
    return tf.function(of_tensors, autograph=False, input_signature=[
        layout.specs, tf.TensorSpec(shape, tf.int32)])

  def _loop(self, step, batch, rows, end):
    def body(i):
      step(batch(rows[i]))
      return i + 1

    tf.while_loop(lambda i: i < end, body, [tf.constant(0)],
                  parallel_iterations=1)

  def _run_keras(self, step, batch, rows):
    self._loop(step, batch, rows, tf.shape(rows)[0])
    return self._model.get_metrics_result()

  def _run_own(self, step, batch, rows):
    last = tf.shape(rows)[0] - 1
    self._loop(step, batch, rows, last)
    return step(batch(rows[last]))

  def _run_eagerly(self, step, batch, rows):
    logs = {}
    for some in rows:
      logs = step(batch(some))
    return logs

  def _predicted(self, batch):
    # What test_step sees: a predict_step of a user may return something else,
    # of which the ensemble, a functional model, knows nothing.
    outputs = keras.Model.predict_step(self._model, (batch[0],))
    self.outputs = keras.tree.map_structure(lambda _: 0, outputs)
    found, masks = [], []
    for output in keras.tree.flatten(outputs):
      reader = MaskReader()
      reader(output)
      found.append(output)
      masks.append(reader.mask)
    return found, masks

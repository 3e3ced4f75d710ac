# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The TensorFlow functions that take the steps of a model.

A function takes data and the row numbers of several batches. A loop inside
calls the model's own `train_step` for each batch. So the same function trains
from whole arrays and from chunks of larger data.
"""

import operator
from typing import Any

from adanet import tf_compat
from adanet.ensemble_search import models
from adanet.ensemble_search import records
from adanet.ensemble_search import rows as rows_lib
import numpy as np

keras: Any = tf_compat.keras_3
tf = tf_compat.v2
# Attributes of a model that each training sets.
_OF_TRAINING = ("history", "stop_training")


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

  def __init__(self, model: Any, trained: rows_lib.Layout,
               checked: rows_lib.Layout, seed: int):
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

    `function` takes a rows_lib.reader of batches, and row numbers.
    """

    def call(flat, numbers):
      if not self._is_eager:
        # The seed of this graph; the seed of the user's program stays.
        tf_compat.v1.set_random_seed(self._seed)
      readers = list(map(rows_lib.reader, flat))
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


class TracedParts:
  """What the steps of a model of Keras are traced with.

  These are the attributes of the model, its layers, variables and optimizer.
  The values of variables change without another trace.

  Attributes:
    optimizer: the optimizer of the model.
    trainable: list with the variables that train.
    parts: list with the name and the value of each attribute.
  """

  def __init__(self, model: Any):
    self.optimizer = model.optimizer
    self.trainable = list(model.trainable_variables)
    self.parts: list = []
    for owner in (model, *models.list_layers(model), *model.variables,
                  *model.metrics, model.optimizer):
      for name, value in vars(owner).items():
        if name not in _OF_TRAINING:
          self.parts += [name, value]
          if isinstance(value, (list, tuple)):
            self.parts += value

  def are_of(self, model: Any) -> bool:
    """Returns whether a model is the traced one, unchanged."""
    return are_same(self.parts, TracedParts(model).parts)


def are_same(objects: list, others: list) -> bool:
  """Returns whether two lists have the same objects, not equal ones."""
  return len(objects) == len(others) and all(map(operator.is_, objects, others))


def join_predictions(structure: Any, parts: list[tuple[list, list]]
                    ) -> records.HeldOutPredictions:
  """Joins the outputs and masks for consecutive parts of the rows."""
  return records.HeldOutPredictions(structure, *(
      [None if arrays[0] is None else np.concatenate(list(map(
          _to_numpy, arrays))) for arrays in zip(*lists)]
      for lists in zip(*parts)))


def _to_numpy(tensor):
  """Returns predictions as an array of NumPy's types, not of low precision."""
  array = np.asarray(tensor)
  return (array.astype("float32") if array.dtype.name in (
      "bfloat16", "float16") else array)

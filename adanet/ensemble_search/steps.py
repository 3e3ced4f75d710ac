# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The TensorFlow functions of one network: train, check and predict.

Each function takes data, and the numbers of the rows of some batches in these
data. A loop inside calls the model's own `train_step` for each batch. So the
same function trains from arrays that are in memory as a whole, and from chunks
of larger data.
"""

from typing import Any

from adanet import tf_compat
from adanet.ensemble_search import rows as rows_lib
import numpy as np

keras: Any = tf_compat.keras_3
tf = tf_compat.v2


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

  def __init__(self, model: Any, trained: rows_lib.Layout,
               checked: rows_lib.Layout, seed: int):
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
    self.predict = self._traced(
        lambda batch, rows: self._predicted(batch(rows)), checked,
        [checked.size])

  def trace(self) -> None:
    """Traces all functions, in the order that needs one trace each.

    TensorFlow warns of functions that are traced when they are called, and a
    call of a `ConcreteFunction` costs a third.
    """
    model = self._model
    if self._is_eager:
      return
    self.check = self.check.get_concrete_function()
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
      readers = list(map(rows_lib.readable, flat))
      return function(lambda some: layout.packed(
          read(some) for read in readers), rows)

    if self._is_eager:
      return of_tensors
    return tf.function(of_tensors, autograph=False, input_signature=[
        layout.specs, tf.TensorSpec(shape, tf.int32)])

  def _stepping(self, name, layout):
    """Returns a function that takes a step of the model for each batch."""
    return self._traced(
        lambda batch, rows: self._stepped(name, batch, rows), layout,
        [None, layout.size])

  def _stepped(self, name, batch, rows):
    """Takes a step for each batch; returns the logs of the last one."""
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

  def _predicted(self, batch):
    # What test_step sees: a predict_step of a user may return something else,
    # of which the ensemble, a functional model, knows nothing.
    outputs = keras.Model.predict_step(self._model, (batch[0],))
    self.outputs = keras.tree.map_structure(lambda _: 0, outputs)
    found, masks = keras.tree.flatten(outputs), []
    for output in found:
      reader = MaskReader()
      reader(output)
      masks.append(reader.mask)
    return found, masks

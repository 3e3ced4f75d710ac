# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The judge: what the search's loss and metrics say of predictions.

Keras judges: a model of `Identity` layers, compiled with them, is evaluated on
predictions in batches of 256 rows. So a value is what `search.model.evaluate`
returns, for ensembles and for each network alone.
"""

from typing import Any

from adanet import tf_compat
from adanet.ensemble import selection as selection_lib
from adanet.ensemble_search import files
from adanet.ensemble_search import making
from adanet.ensemble_search import rows as rows_lib
from adanet.ensemble_search import steps as steps_lib
import numpy as np

keras: Any = tf_compat.keras_3
tf = tf_compat.v2


class Masked(keras.layers.Layer):
  """Returns an output with its mask, which the loss then heeds."""

  def __init__(self, **kwargs):
    super().__init__(**kwargs)
    self.supports_masking = True

  def call(self, inputs):
    return inputs[0] + 0

  def compute_output_shape(self, input_shape):
    return input_shape[0]

  def compute_mask(self, inputs, previous_mask):
    return inputs[1]


def named_outputs(layers: list, names: list[str] | None) -> list[str]:
  """Returns a name for each output of an ensemble.

  Args:
    layers: list with anything for each output.
    names: those of the first network's outputs, or None.
  """
  if names and len(set(names)) == len(names) == len(layers):
    return list(names)
  return [f"output_{i + 1}" for i in range(len(layers))]


class Judge:
  """Judges predictions of the held-out rows."""

  def __init__(self, compiling: making.Compiling, held_out: Any,
               example: files.HeldOutPredictions, names: list[str] | None):
    """Traces nothing yet.

    Args:
      compiling: what the ensemble is compiled with.
      held_out: `Rows` or `Batches`, of the labels and their weights.
      example: predictions of a network, for their shapes.
      names: list with the names of the outputs, or None.
    """
    self._compiling = compiling
    self._labels = held_out.labels()
    self._example = example
    self._names = named_outputs(example.outputs, names)
    self._functions: dict[bool, Any] = {}

  def _function(self, with_metrics):
    """Returns the model's `test_step` over all rows, as a function."""
    example = self._example
    x, outputs = [], []
    for name, array, mask in zip(self._names, example.outputs, example.masks):
      # A policy of low precision is not for what was predicted.
      kind = {"name": name, "dtype": array.dtype.name}
      given = keras.Input(array.shape[1:], dtype=array.dtype.name)
      x.append(given)
      if mask is None:
        outputs.append(keras.layers.Identity(**kind)(given))
      else:
        x.append(keras.Input(mask.shape[1:], dtype="bool"))
        outputs.append(Masked(**kind)(x[-2:]))
    model = keras.Model(x, keras.tree.pack_sequence_as(
        example.structure, outputs))
    self._compiling.compile(model, with_optimizer=False,
                            with_metrics=with_metrics)
    batch = (x, *self._labels)
    if batch[2] is None:
      batch = batch[:2]
    rows = len(example.outputs[0])
    size = rows_lib.CHECK_SIZE if rows % rows_lib.CHECK_SIZE == 0 else None
    layout = steps_lib.Layout(
        keras.tree.map_structure(
            lambda one: None if one is None else 0, batch),
        [tf.TensorSpec([None, *one.shape[1:]], one.dtype)
         if keras.backend.is_keras_tensor(one) else steps_lib.spec_of(one)
         for one in steps_lib.flat_arrays(batch)], size)
    steps = steps_lib.Steps(model, layout, layout, 0)
    steps.check_batches.get_concrete_function()
    calls = [tf.constant(some) for some in rows_lib.in_batches(
        np.arange(rows, dtype=np.int32), rows_lib.CHECK_SIZE)]

    def judged(outputs, masks):
      flat = []
      for array, mask in zip(outputs, masks):
        flat += [tf.constant(array)] + ([] if mask is None else [
            tf.constant(mask)])
      flat += steps_lib.flat_arrays(batch[1:])
      model.reset_metrics()
      logs = {}
      for some in calls:
        logs = steps.check_batches(flat, some)
      return {"val_" + name: value for name, value in steps.logs(
          "test_step", logs).items()}

    return judged

  def values(self, outputs: list, masks: list,
             with_metrics: bool = True) -> dict[str, float]:
    """Returns what `evaluate` returns, with "val_" before each name.

    Args:
      outputs: list of arrays.
      masks: list with the mask of each array, or None.
      with_metrics: bool, whether to have metrics, too.
    """
    if with_metrics not in self._functions:
      self._functions[with_metrics] = self._function(with_metrics)
    return self._functions[with_metrics](outputs, masks)

  def selected(self, networks: list[files.HeldOutPredictions]
              ) -> tuple[float, ...]:
    """Returns the networks' weights in the ensemble with the least loss."""
    if len(networks) == 1:
      return (1.,)
    masks = [None if some[0] is None else np.logical_or.reduce(some)
             for some in zip(*(one.masks for one in networks))]
    found = selection_lib.select(
        [dict(enumerate(one.outputs)) for one in networks],
        lambda mean: self.values(list(mean.values()), masks, False)["val_loss"],
        [0.] * len(networks))
    return found.weights


def mean_of(networks: list[files.HeldOutPredictions], weights: Any
           ) -> tuple[list, list]:
  """Returns the weighted outputs of an ensemble, and their masks."""
  members = [(one, weight) for one, weight in zip(networks, weights) if weight]
  outputs = [
      sum((one.outputs[i] * np.asarray(weight, one.outputs[i].dtype)
           for one, weight in members[1:]),
          members[0][0].outputs[i] * np.asarray(
              members[0][1], members[0][0].outputs[i].dtype))
      for i in range(len(members[0][0].outputs))]
  masks = [None if some[0] is None else np.logical_or.reduce(some)
           for some in zip(*(one.masks for one, _ in members))]
  return outputs, masks

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
from adanet.ensemble_search import history
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
  """Judges predictions of the held-out rows of one fold, or of all folds.

  Those of all folds are joined in the order of the folds.
  """

  def __init__(self, compiling: making.Compiling, held_out: list,
               example: files.HeldOutPredictions, names: list[str] | None):
    """Traces nothing yet.

    Args:
      compiling: what the ensemble is compiled with.
      held_out: list with the `Rows` or `Batches` of each fold, of the labels
        and their weights.
      example: predictions of a network, for their shapes.
      names: list with the names of the outputs, or None.
    """
    self._compiling = compiling
    self._labels = [one.labels() for one in held_out]
    if len(held_out) > 1:
      self._labels.append(rows_lib.joined_labels(held_out))
    self._example = example
    self._names = named_outputs(example.outputs, names)
    self._functions: dict[bool, Any] = {}

  def _function(self, with_metrics):
    """Returns the model's `test_step` over some rows, as a function."""
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
    batch = (x, *self._labels[0])
    if batch[2] is None:
      batch = batch[:2]
    size = rows_lib.CHECK_SIZE if len(self._labels) == 1 and len(
        example.outputs[0]) % rows_lib.CHECK_SIZE == 0 else None
    layout = steps_lib.Layout(
        keras.tree.map_structure(
            lambda one: None if one is None else 0, batch),
        [tf.TensorSpec([None, *one.shape[1:]], one.dtype)
         if keras.backend.is_keras_tensor(one) else steps_lib.spec_of(one)
         for one in steps_lib.flat_arrays(batch)], size)
    steps = steps_lib.Steps(model, layout, layout, 0)
    steps.check_batches.get_concrete_function()

    def judged(outputs, masks, labels):
      flat = []
      for array, mask in zip(outputs, masks):
        flat += [tf.constant(array)] + ([] if mask is None else [
            tf.constant(mask)])
      flat += steps_lib.flat_arrays(labels)
      model.reset_metrics()
      logs = {}
      for some in rows_lib.in_batches(np.arange(
          len(outputs[0]), dtype=np.int32), rows_lib.CHECK_SIZE):
        logs = steps.check_batches(flat, tf.constant(some))
      return {"val_" + name: value for name, value in steps.logs(
          "test_step", logs).items()}

    return judged

  def values(self, outputs: list, masks: list, with_metrics: bool = True,
             fold: int = -1) -> dict[str, float]:
    """Returns what `evaluate` returns, with "val_" before each name.

    Args:
      outputs: list of arrays.
      masks: list with the mask of each array, or None.
      with_metrics: bool, whether to have metrics, too.
      fold: int, the fold whose rows these are; -1 for the rows of all folds.
    """
    if with_metrics not in self._functions:
      self._functions[with_metrics] = self._function(with_metrics)
    return self._functions[with_metrics](outputs, masks, self._labels[fold])

  def selected(self, networks: list[files.HeldOutPredictions],
               max_members: int | None = None) -> tuple[float, ...]:
    """Returns the networks' weights in the ensemble with the least loss.

    Args:
      networks: list with the predictions of each for all rows.
      max_members: int, how many networks may have a weight; None for all.
    """
    if len(networks) == 1:
      return (1.,)
    masks = [None if some[0] is None else np.logical_or.reduce(some)
             for some in zip(*(one.masks for one in networks))]
    found = selection_lib.select(
        [dict(enumerate(one.outputs)) for one in networks],
        lambda mean: self.values(list(mean.values()), masks, False)["val_loss"],
        [0.] * len(networks), max_members=max_members)
    return found.weights


def of_all_folds(folds: list[files.HeldOutPredictions]
                ) -> files.HeldOutPredictions:
  """Returns the predictions of the networks of all folds as those of one."""
  if len(folds) == 1:
    return folds[0]
  outputs, masks = (
      [None if some[0] is None else np.concatenate(some)
       for some in zip(*lists)] for lists in (
           [one.outputs for one in folds], [one.masks for one in folds]))
  return files.HeldOutPredictions(folds[0].structure, outputs, masks)


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


def select(directory: files.Directory, judge: Judge, names: list[str] | None,
           max_members: int | None) -> None:
  """Selects an ensemble of all networks that have ended, and writes it.

  Args:
    directory: of the search.
    judge: of all held-out rows.
    names: list with the names of the outputs, or None.
    max_members: int, how many members the ensemble has at most; None for any.

  Raises:
    ValueError: no network has a finite loss.
  """
  ended: dict[str, dict] = {}  # The networks of each possible member.
  for key in directory.keys():
    if directory.folder(key).record() is not None:
      ended.setdefault(key.member, {})[key] = directory.folder(
          key).predictions()
  ended = {name: some for name, some in ended.items()
           if len(some) == next(iter(some)).folds}
  if not ended:
    return
  means = [of_all_folds(list(some.values())) for some in ended.values()]
  values = [judge.values(one.outputs, one.masks) for one in means]
  finite = [i for i, one in enumerate(values) if np.isfinite(one["val_loss"])]
  if not finite:
    raise ValueError(
        "val_loss is NaN for each network: expected a finite one. Try a "
        "smaller learning rate, or look for values in x and y that are too "
        "large.")
  weights = [0.] * len(means)
  for i, weight in zip(finite, judge.selected(
      [means[i] for i in finite], max_members)):
    weights[i] = weight
  directory.write_ensemble({"names": names, **history.content(
      [[(key, judge.values(one.outputs, one.masks, fold=key.fold))
        for key, one in some.items()] for some in ended.values()], weights,
      values, judge.values(*mean_of(means, weights)))})

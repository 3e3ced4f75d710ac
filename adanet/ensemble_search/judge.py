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
from adanet.ensemble_search import network as network_lib
from adanet.ensemble_search import rows as rows_lib
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
  """Returns a name for each output of an ensemble: of `names`, if they fit."""
  if names and len(set(names)) == len(names) == len(layers):
    return list(names)
  return [f"output_{i + 1}" for i in range(len(layers))]


class Judge:
  """Judges predictions of the held-out rows of one fold, or of all folds.

  Those of all folds are joined in the order of the folds.
  """

  def __init__(self, compiling: making.Compiling, held_out: list,
               example: files.HeldOutPredictions, names: list[str] | None):
    """Makes the model that evaluates predictions.

    Args:
      compiling: what the ensemble is compiled with.
      held_out: list with the `Rows` or `Batches` of each fold.
      example: predictions of a network, for their shapes.
      names: list with the names of the outputs, or None.
    """
    self._labels = [one.labels() for one in held_out]
    if len(held_out) > 1:
      self._labels.append(rows_lib.joined_labels(self._labels))
    x, outputs = [], []
    for name, array, mask in zip(named_outputs(example.outputs, names),
                                 example.outputs, example.masks):
      # A policy of low precision is not for what was predicted.
      kind = {"name": name, "dtype": array.dtype.name}
      x.append(keras.Input(array.shape[1:], dtype=array.dtype.name))
      if mask is None:
        outputs.append(keras.layers.Identity(**kind)(x[-1]))
      else:
        x.append(keras.Input(mask.shape[1:], dtype="bool"))
        outputs.append(Masked(**kind)(x[-2:]))
    model = keras.Model(x, keras.tree.pack_sequence_as(
        example.structure, outputs))
    compiling.compile(model)
    batch = (x, *self._labels[0])
    layout = rows_lib.layout_of(batch, list(map(
        rows_lib.spec_of, rows_lib.flat_arrays(batch))), None)
    self._model = model
    self._steps = rows_lib.Steps(model, layout, layout, 0)
    self._check_batches = self._steps.check_batches.get_concrete_function()

  def values(self, outputs: list, masks: list, fold: int = -1
            ) -> dict[str, float]:
    """Returns what `evaluate` returns, with "val_" before each name.

    The outputs and their masks are of the rows of a fold; -1 for all folds.
    """
    flat = [tf.constant(one) for pair in zip(outputs, masks) for one in pair
            if one is not None] + rows_lib.flat_arrays(self._labels[fold])
    self._model.reset_metrics()
    logs = {}
    for some in rows_lib.in_batches(np.arange(
        len(outputs[0]), dtype=np.int32), rows_lib.CHECK_SIZE):
      logs = self._check_batches(flat, tf.constant(some))
    return {"val_" + name: value for name, value in self._steps.logs(
        "test_step", logs).items()}

  def selected(self, networks: list[files.HeldOutPredictions],
               max_members: int | None = None) -> tuple[float, ...]:
    """Returns the networks' weights in the ensemble with the least loss."""
    if len(networks) == 1:
      return (1.,)
    masks = _masks_of_any(networks)
    return selection_lib.select(
        [dict(enumerate(one.outputs)) for one in networks],
        lambda mean: self.values(list(mean.values()), masks)["val_loss"],
        [0.] * len(networks), max_members=max_members).weights


def _masks_of_any(networks):
  """Returns for each output where a network has it."""
  return [None if some[0] is None else np.logical_or.reduce(some)
          for some in zip(*(one.masks for one in networks))]


def mean_of(networks: list[files.HeldOutPredictions], weights: Any
           ) -> tuple[list, list]:
  """Returns the weighted outputs of an ensemble, and their masks."""
  members = [(one, weight) for one, weight in zip(networks, weights) if weight]
  # As Keras's layers of the ensemble: each product in the type of the output.
  return [sum(array * np.asarray(weight, array.dtype)
              for array, (_, weight) in zip(some, members))
          for some in zip(*(one.outputs for one, _ in members))], (
              _masks_of_any([one for one, _ in members]))


def select(directory: files.Directory, judge: Judge,
           max_members: int | None) -> None:
  """Selects an ensemble of all networks that have ended, and writes it.

  Raises:
    ValueError: no network has a finite loss.
  """
  ended: dict[str, dict] = {}  # The networks of each possible member.
  for key in directory.keys():
    if directory.folder(key).record() is not None:
      ended.setdefault(key.member, {})[key] = directory.folder(
          key).predictions()
  members = [some for some in ended.values()
             if len(some) == next(iter(some)).folds]
  if not members:
    return
  means = [network_lib.joined(None, [one[1:] for one in some.values()])
           for some in members]
  values = [judge.values(one.outputs, one.masks) for one in means]
  finite = [i for i, one in enumerate(values) if np.isfinite(one["val_loss"])]
  if not finite:
    raise ValueError(
        "val_loss is NaN for each network: expected a finite one. Try a "
        "smaller learning rate, or look for values in x and y that are too "
        "large.")
  weights = dict(zip(finite, judge.selected(
      [means[i] for i in finite], max_members)))
  all_weights = [weights.get(i, 0.) for i in range(len(means))]
  judged = [[{"network": key, "values": judge.values(
      one.outputs, one.masks, fold=key.fold)} for key, one in some.items()]
            for some in members]
  directory.write({
      "values": judge.values(*mean_of(means, all_weights)), "members": [
          {"weight": weight, "values": value, "networks": some}
          for weight, value, some in zip(all_weights, values, judged)]
  }, files.ENSEMBLE)

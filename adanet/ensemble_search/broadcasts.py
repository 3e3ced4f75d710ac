# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Finds a loss that compares each label with the outputs of all rows.

Labels of the shape [rows] and outputs of the shape [rows, k] broadcast to
[rows, rows], and Keras trains on the loss of all pairs without a word. Keras's
own losses, and Keras's wrapper of functions, give labels the rank of outputs of
the shape [rows, 1] first.
"""

from typing import Any

from adanet import tf_compat
from adanet.ensemble_search import arrays
from adanet.ensemble_search import records
import numpy as np

keras: Any = tf_compat.keras_3
tf = tf_compat.v2
_ROWS = 4


def check_loss(owner: str, loss: Any, y: Any,
               predictions: records.HeldOutPredictions,
               names: list[str] | None) -> None:
  """Raises a ValueError about a loss that broadcasts labels and outputs.

  Some losses look at a whole batch on purpose. The mistake is certain if the
  loss is the mean or the sum over all pairs of a label and the outputs of a
  row, and over the rows alone where the same labels have another rank.

  Args:
    owner: the function of the model, in messages.
    loss: as in `Model.compile`.
    y: the labels of some rows.
    predictions: the outputs for these rows, and perhaps for more rows.
    names: the names of the outputs, or None.
  """
  labels = keras.tree.flatten(y)
  others = [_change_rank(array, predictions.outputs) for array in labels]
  changed = [i for i, pair in enumerate(zip(labels, others))
             if pair[0] is not pair[1]]
  if not changed or all(map(_is_of_keras, keras.tree.flatten(loss))) or (
      not all(isinstance(array, tf.Tensor) for array in labels)):
    return
  for i in changed:
    try:
      model = _make_model(loss, predictions, names)
      # The labels of other outputs may need another rank, too.
      is_wrong = any(_compares_all(
          model, y, [*rest[:i], labels[i], *rest[i + 1:]], i, others[i],
          predictions) for rest in (labels, others))
    except Exception:  # Of the user.  # pylint: disable=broad-except
      continue
    if is_wrong:
      name = list(arrays.name_arrays("y", y))[i]
      shapes = ", ".join(str([None, *array.shape[1:]])
                         for array in predictions.outputs)
      raise ValueError(
          f"{name} has the shape {[None, *labels[i].shape[1:]]}, and {owner} "
          f"returns {shapes}: {_describe(loss)} compares each label with the "
          "outputs of all rows. Expected labels of the shape "
          f"{[None, *others[i].shape[1:]]}: give {name}"
          f"[:, {None if labels[i].shape.rank == 1 else 0}].")


def _compares_all(model, y, labels, i, other, predictions):
  """Returns whether a loss compares labels with the outputs of all rows.

  `model` has the loss, and `other` has the labels of number `i` with another
  rank.
  """
  # Rows of other labels, and of other outputs even in a new model, which may
  # return the same for all rows. Probabilities stay from 0 to 1.
  order = np.argsort(np.asarray(other).reshape(-1), kind="stable")
  rows = order[np.linspace(0, len(order) - 1, _ROWS).astype(int)]
  outputs = [
      np.stack([array[row] * (1 - .05 * j) + .01 * j
                for j, row in enumerate(rows)]).astype(array.dtype)
      for array in predictions.outputs]

  def loss_of(own, own_rows, numbers):
    """Returns the loss of some rows of the labels `i`, and some outputs."""
    return np.mean(model.compute_loss(
        y=keras.tree.pack_sequence_as(y, [
            tf.gather(own, own_rows) if k == i else
            tf.gather(array, rows[numbers])
            for k, array in enumerate(labels)]),
        y_pred=keras.tree.pack_sequence_as(predictions.structure, [
            tf.gather(array, numbers) for array in outputs]), training=False))

  everything = list(range(_ROWS))
  of_batch = loss_of(labels[i], rows, everything)
  of_pairs = np.array([[loss_of(other, [row], [j]) for row in rows]
                       for j in everything])
  of_rows = of_pairs.diagonal()
  return _is_near(
      of_batch, of_pairs.mean(), of_pairs.sum(), of_pairs.sum() / _ROWS
  ) and not _is_near(of_batch, of_rows.mean(), of_rows.sum()) and _is_near(
      loss_of(other, rows, everything), of_rows.mean(), of_rows.sum())


def _describe(loss):
  if keras.tree.is_nested(loss):
    return "a loss"
  return f"the loss {getattr(loss, '__name__', type(loss).__name__)}"


def _make_model(loss, predictions, names):
  """Returns a model that returns its inputs as a network its outputs."""
  inputs = [keras.Input(array.shape[1:], dtype=array.dtype.name)
            for array in predictions.outputs]
  model = keras.Model(inputs, keras.tree.pack_sequence_as(
      predictions.structure, [
          keras.layers.Identity(dtype=tensor.dtype, name=name)(tensor)
          for name, tensor in zip(names or [None] * len(inputs), inputs)]))
  model.compile(loss=loss)
  return model


def _change_rank(labels, outputs):
  """Returns labels with one axis more or less, where outputs have that rank."""
  ranks = {array.ndim for array in outputs}
  shape = getattr(labels, "shape", ())
  if len(shape) == 1 and 2 in ranks:
    return labels[:, None]
  return labels[:, 0] if len(shape) == 2 and shape[1] == 1 and (
      1 in ranks) else labels


def _is_of_keras(loss):
  module = getattr(loss, "__module__", "")
  return loss is None or isinstance(loss, str) or (
      module.split(".")[0] == "keras")


def _is_near(value, *others):
  return any(np.isclose(value, other, 1e-3, 1e-6) for other in others)

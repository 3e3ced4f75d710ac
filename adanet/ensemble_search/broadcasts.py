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
from adanet.ensemble_search import frames
from adanet.ensemble_search import records
import numpy as np

keras: Any = tf_compat.keras_3
tf = tf_compat.v2
_ROWS = 5


def check_loss(owner: str, loss: Any, y: Any,
               predictions: records.HeldOutPredictions,
               names: list[str] | None) -> None:
  """Raises a ValueError about a loss that broadcasts labels and outputs.

  Some losses look at a whole batch on purpose. The mistake is certain if a label
  changes the gradient of other rows, and of its own row alone where the same
  labels have another rank.

  Args:
    owner: the function of the model, in messages.
    loss: as in `Model.compile`.
    y: the labels of some rows.
    predictions: the outputs for these rows, and perhaps for more rows.
    names: the names of the outputs, or None.
  """
  labels = keras.tree.flatten(y)
  for i, array in enumerate(labels):
    other = _change_rank(array, predictions.outputs)
    if other is None:
      continue
    try:
      _, spreads = _affected_rows(loss, y, i, array, predictions, names)
      has_effect, spreads_anyway = _affected_rows(
          loss, y, i, other, predictions, names)
    except Exception:  # Of the user.  # pylint: disable=broad-except
      continue
    if spreads and has_effect and not spreads_anyway:
      name = list(frames.name_arrays("y", y))[i]
      shapes = ", ".join(str([None, *output.shape[1:]])
                         for output in predictions.outputs)
      raise ValueError(
          f"{name} has the shape {[None, *array.shape[1:]]}, and {owner} "
          f"returns {shapes}: {_describe(loss)} compares each label with the "
          "outputs of all rows. Expected labels of the shape "
          f"{[None, *other.shape[1:]]}: give {name}"
          f"[:, {None if array.shape.rank == 1 else 0}].")


def _change_rank(labels, outputs):
  """Returns labels with another rank, which an output has; None if none has."""
  if isinstance(labels, tf.Tensor):
    ranks = {array.ndim for array in outputs}
    if labels.shape.rank == 1 and 2 in ranks:
      return labels[:, None]
    if labels.shape[1:] == [1] and 1 in ranks:
      return labels[:, 0]
  return None


def _affected_rows(loss, y, i, array, predictions, names):
  """Returns whether another label of a row changes gradients of the loss.

  Returns two bools: of the outputs of the row, and of other rows. `array` has
  the labels of number `i`, in any rank.
  """
  model = keras.Model()
  if names:
    model.output_names = names
  model.compile(loss=loss)
  # Rows from the least to the greatest label.
  order = np.argsort(np.reshape(array, [-1]), kind="stable")
  rows = order[np.linspace(0, len(order) - 1, _ROWS).astype(int)]
  outputs = [tf.constant(output[rows]) for output in predictions.outputs]
  gradients = []
  for first in rows[0], rows[-1]:
    labels = [tf.gather(part, rows) for part in keras.tree.flatten(y)]
    labels[i] = tf.gather(array, [first, *rows[1:]])
    with tf.GradientTape() as tape:
      tape.watch(outputs)
      value = model.compute_loss(
          y=keras.tree.pack_sequence_as(y, labels),
          y_pred=keras.tree.pack_sequence_as(predictions.structure, outputs))
    gradients.append(np.concatenate([
        np.reshape(part, [_ROWS, -1]) for part in tape.gradient(
            value, outputs, unconnected_gradients="zero")], 1))
  changes = np.abs(gradients[1] - gradients[0]).max(1)
  is_affected = changes > 1e-5 * np.abs(gradients).max()
  return is_affected[0], is_affected[1:].any()


def _describe(loss):
  if keras.tree.is_nested(loss):
    return "a loss"
  return f"the loss {getattr(loss, '__name__', type(loss).__name__)}"

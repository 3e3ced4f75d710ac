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


class _LossModel(keras.Model):
  """Computes a loss of outputs, perhaps by the names of the outputs."""

  def __init__(self, names):
    super().__init__()
    if names:
      self.output_names = names


def check_loss(owner: str, loss: Any, y: Any,
               predictions: records.HeldOutPredictions,
               names: list[str] | None) -> None:
  """Raises a ValueError about a loss that broadcasts labels and outputs.

  Some losses look at a whole batch on purpose. The mistake is certain if a
  label changes the gradient of other rows, and of its own row alone where the
  same labels have another rank.

  Args:
    owner: the function of the model, in messages.
    loss: as in `Model.compile`.
    y: the labels of some rows.
    predictions: the outputs for these rows, and perhaps for more rows.
    names: the names of the outputs, or None.
  """
  for name, labels in frames.name_arrays("y", y).items():
    other = _change_rank(labels, predictions.outputs)
    if other is None:
      continue
    model = _LossModel(names)
    try:
      model.compile(loss=loss)
      is_wrong = _affects(model, y, labels, labels, predictions)[1] and (
          _affects(model, y, labels, other, predictions) == [True, False])
    except Exception:  # Of the user.  # pylint: disable=broad-except
      continue
    if is_wrong:
      shapes = ", ".join(str([None, *output.shape[1:]])
                         for output in predictions.outputs)
      text = "a loss" if keras.tree.is_nested(loss) else (
          f"the loss {getattr(loss, '__name__', type(loss).__name__)}")
      raise ValueError(
          f"{name} has the shape {[None, *labels.shape[1:]]}, and {owner} "
          f"returns {shapes}: {text} compares each label with the outputs of "
          f"all rows. Expected labels of the shape {[None, *other.shape[1:]]}: "
          f"give {name}[:, {None if labels.shape.rank == 1 else 0}].")


def _change_rank(labels, outputs):
  """Returns labels with another rank, which an output has; None if none has."""
  if isinstance(labels, tf.Tensor):
    ranks = {array.ndim for array in outputs}
    if labels.shape.rank == 1 and 2 in ranks:
      return labels[:, None]
    if labels.shape[1:] == [1] and 1 in ranks:
      return labels[:, 0]
  return None


def _affects(model, y, labels, replacement, predictions):
  """Returns whether another label of a row changes gradients of the loss.

  Returns a bool about the outputs of the row, and about those of other rows.
  `model` has the loss, and `replacement` has the `labels` of y in any rank.
  """
  # Rows from the least to the greatest label.
  order = np.argsort(np.reshape(labels, [-1]), kind="stable")
  rows = order[np.linspace(0, len(order) - 1, _ROWS).astype(int)]
  outputs = [tf.constant(output[rows]) for output in predictions.outputs]

  def compute_gradients(label_rows):
    batch = keras.tree.map_structure(
        lambda part: tf.gather(replacement, label_rows) if part is labels else
        tf.gather(part, rows), y)
    with tf.GradientTape() as tape:
      tape.watch(outputs)
      value = model.compute_loss(y=batch, y_pred=keras.tree.pack_sequence_as(
          predictions.structure, outputs))
    return np.concatenate([
        np.reshape(part, [_ROWS, -1]) for part in tape.gradient(
            value, outputs, unconnected_gradients="zero")], 1)

  before = compute_gradients(rows)
  changes = np.abs(compute_gradients([rows[-1], *rows[1:]]) - before).max(1)
  is_affected = changes > 1e-5 * np.abs(before).max()
  return [bool(is_affected[0]), bool(is_affected[1:].any())]

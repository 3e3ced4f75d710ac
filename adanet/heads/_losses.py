# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""From the losses of examples to one loss."""

from adanet import tf_compat


def _sum_over_elements(losses, weights, total):
  del weights
  return _divide(total, tf_compat.v1.size(losses))


def _sum_over_weights(losses, weights, total):
  del losses
  return _divide(total, tf_compat.v1.reduce_sum(weights))


def _sum_over_nonzero_weights(losses, weights, total):
  del losses
  return _divide(total, tf_compat.v1.count_nonzero(weights))


def _divide(total, count):
  v1 = tf_compat.v1
  return v1.div_no_nan(total, v1.cast(count, v1.float32))


# How to reduce, given the weighted losses, the weights in the same shape, and
# the sum of the weighted losses. The names are those of TensorFlow 2, and then
# those of `tf.compat.v1.losses.Reduction`.
_REDUCTIONS = {
    "auto": _sum_over_elements,
    "sum": lambda losses, weights, total: total,
    "sum_over_batch_size": _sum_over_elements,
    "weighted_sum": lambda losses, weights, total: total,
    "weighted_sum_over_batch_size": _sum_over_elements,
    "weighted_mean": _sum_over_weights,
    "weighted_sum_by_nonzero_weights": _sum_over_nonzero_weights,
}


def check_reduction(loss_reduction):
  """Checks that a head can reduce losses in this way."""
  if loss_reduction not in _REDUCTIONS:
    raise ValueError(f"loss_reduction={loss_reduction!r}: expected one of "
                     f"{', '.join(map(repr, _REDUCTIONS))}.")


def reduce(losses, weights, loss_reduction):
  """Returns the loss of a batch.

  Args:
    losses: tensor of shape `[D0, ..., DN]`.
    weights: float32 tensor that broadcasts to that shape, or None.
    loss_reduction: str.

  Returns:
    Scalar of the dtype of `losses`.
  """
  v1 = tf_compat.v1
  dtype = losses.dtype
  losses = v1.cast(losses, v1.float32)
  weights = broadcast_weights(weights, losses)
  losses *= weights
  loss = _REDUCTIONS[loss_reduction](losses, weights, v1.reduce_sum(losses))
  return v1.cast(loss, dtype)


def broadcast_weights(weights, values):
  """Returns weights in the shape of `values`; ones if there are none."""
  ones = tf_compat.v1.ones_like(values)
  return ones if weights is None else ones * weights


def check_losses(losses, dimension, logits, owner):
  """Returns what a `loss_fn` returned, after checking its shape.

  Args:
    losses: tensor of shape `[D0, ..., DN, dimension]`.
    dimension: int.
    logits: tensor of shape `[D0, ..., DN, logits_dimension]`.
    owner: str, the head's kind and name, for the errors.
  """
  v1 = tf_compat.v1
  losses = v1.convert_to_tensor(losses)
  expected = logits.shape[:-1].concatenate([dimension])
  message = (f"loss_fn of {owner}: expected one loss for each example, of the "
             f"shape [batch_size, ..., {dimension}]")
  if not losses.shape.is_compatible_with(expected):
    raise ValueError(f"{message}, here {expected}, but it returned the shape "
                     f"{losses.shape}.")
  if losses.shape.is_fully_defined() and expected.is_fully_defined():
    return losses
  expected_shape = v1.concat([v1.shape(logits)[:-1], [dimension]], axis=0)
  with v1.control_dependencies([
      v1.assert_equal(v1.shape(losses), expected_shape, message=message)]):
    return v1.identity(losses)

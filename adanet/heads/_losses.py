# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""From the losses of examples to one loss."""

from adanet import tf_compat


def _size(losses, weights):
  del weights
  return tf_compat.v1.size(losses)


# The divisor of the sum of the weighted losses, given these and the weights in
# the same shape; None: no divisor. The names are TensorFlow 2's, and then the
# names of `tf.compat.v1.losses.Reduction`.
_DIVISORS = {
    "auto": _size,
    "sum": None,
    "sum_over_batch_size": _size,
    "weighted_sum": None,
    "weighted_sum_over_batch_size": _size,
    "weighted_mean": lambda losses, weights: tf_compat.v1.reduce_sum(weights),
    "weighted_sum_by_nonzero_weights":
        lambda losses, weights: tf_compat.v1.count_nonzero(weights),
}


def check_reduction(loss_reduction):
  """Checks that a head can reduce losses in this way."""
  if not is_known(loss_reduction):
    raise ValueError(f"loss_reduction={loss_reduction!r}: expected one of "
                     f"{', '.join(map(repr, _DIVISORS))}.")


def is_known(loss_reduction):
  """Returns whether losses can be reduced in this way."""
  return loss_reduction in _DIVISORS


def divides_by_weights(loss_reduction):
  """Returns whether the loss of a batch depends on the sum of its weights.
  """
  return _DIVISORS[loss_reduction] not in (None, _size)


def divisor(losses, weights, loss_reduction):
  """Returns the divisor of the sum of the weighted losses of a batch.

  Args:
    losses: see `reduce`.
    weights: see `reduce`.
    loss_reduction: see `reduce`.

  Returns:
    float32 scalar; 1 for a reduction that is a sum.
  """
  v1 = tf_compat.v1
  divide = _DIVISORS[loss_reduction]
  if divide is None:
    return v1.constant(1.)
  return v1.cast(
      divide(losses, broadcast_weights(weights, losses)), v1.float32)


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
  loss = v1.reduce_sum(losses * broadcast_weights(weights, losses))
  if _DIVISORS[loss_reduction] is not None:
    loss = v1.div_no_nan(loss, divisor(losses, weights, loss_reduction))
  return v1.cast(loss, dtype)


def broadcast_weights(weights, values):
  """Returns weights in the shape of `values`; ones if there are none."""
  ones = tf_compat.v1.ones_like(values)
  return ones if weights is None else ones * weights

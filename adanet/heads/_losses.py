# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Reduces the losses of examples to the loss of a batch."""

from adanet import tf_compat


def _size(losses, weights):
  del weights
  return tf_compat.v1.size(losses)


# From the weighted losses and the weights, of the same shape, to the divisor of
# the sum of the weighted losses; None for no divisor. The first names are
# TensorFlow 2's, the others are those of `tf.compat.v1.losses.Reduction`.
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
  """Checks that a `loss_reduction` is known."""
  if not is_known(loss_reduction):
    raise ValueError(f"loss_reduction={loss_reduction!r}: expected one of "
                     f"{', '.join(map(repr, _DIVISORS))}.")


def is_known(loss_reduction):
  """Returns whether a `loss_reduction` is known."""
  return loss_reduction in _DIVISORS


def divides_by_weights(loss_reduction):
  """Returns whether the loss of a batch depends on the sum of the weights."""
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
    weights: float32 tensor that broadcasts to the shape of `losses`, or None.
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
  """Returns weights in the shape of `values`; ones if `weights` is None."""
  ones = tf_compat.v1.ones_like(values)
  return ones if weights is None else ones * weights

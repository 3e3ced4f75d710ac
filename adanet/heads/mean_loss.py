# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The loss of a batch, and the mean loss over the batches of an evaluation.

Batches differ in size; usually the last batch is shorter. The divisor of a
batch's loss is the weight of the batch. So the mean is the loss of all
examples, regardless of the division into batches.
"""

from typing import Any, NamedTuple, Sequence, Tuple

from adanet import tf_compat
from adanet.heads import _checks
from adanet.heads import _metrics


class LossTerm(NamedTuple):
  """A term of the sum that is the loss of a batch.

  For example, in `Head.build`::

      num_examples = tf.cast(tf.shape(labels)[0], tf.float32)
      loss = tf.reduce_sum(tf.abs(logits[:, 0] - labels)) / num_examples
      return adanet.heads.HeadSpec(
          mode, predictions, loss,
          loss_terms=(adanet.heads.LossTerm(loss, num_examples),))

  Attributes:
    value: scalar tensor.
    weight: scalar, the weight of the batch in the mean over all batches: the
      number by which the head divided the sum of the losses, such as the number
      of examples. 1 if all batches count equally.
  """
  value: Any
  weight: Any = 1.


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
  if loss_reduction not in _DIVISORS:
    raise ValueError(f"loss_reduction={loss_reduction!r}: expected one of "
                     f"{', '.join(map(repr, _DIVISORS))}.")


def divisor(losses, weights, loss_reduction):
  """Returns the divisor of the sum of the weighted losses of a batch.

  See `reduce` for the arguments. Returns a float32 scalar; 1 for a reduction
  that is a sum.
  """
  v1 = tf_compat.v1
  divide = _DIVISORS[loss_reduction]
  if divide is None:
    return v1.constant(1.)
  return v1.cast(
      divide(losses, _metrics.broadcast_weights(weights, losses)), v1.float32)


def reduce(losses, weights, loss_reduction):
  """Returns the loss of a batch, a scalar of the dtype of `losses`.

  Args:
    losses: tensor of shape `[D0, ..., DN]`.
    weights: float32 tensor that broadcasts to the shape of `losses`, or None.
  """
  v1 = tf_compat.v1
  dtype = losses.dtype
  losses = v1.cast(losses, v1.float32)
  loss = v1.reduce_sum(losses * _metrics.broadcast_weights(weights, losses))
  if _DIVISORS[loss_reduction] is not None:
    loss = v1.div_no_nan(loss, divisor(losses, weights, loss_reduction))
  return v1.cast(loss, dtype)


def _reduction(head):
  """Returns the loss reduction of a head; None for an unknown reduction."""
  for part in (head, *getattr(head, "_heads", ())):
    for name in ("loss_reduction", "_loss_reduction"):
      try:
        reduction = getattr(part, name)
      except (AttributeError, ValueError):  # The heads of a MultiHead differ.
        continue
      return reduction
  return None


def _weight(head, features, logits):
  """Returns the weight of a batch for a loss without terms.

  Heads of `tf.estimator` have the same attributes as heads of `adanet`. For a
  head of unknown reduction, all examples count equally.
  """
  v1 = tf_compat.v1
  reduction = _reduction(head)
  if reduction not in _DIVISORS:
    reduction = "auto"
  weights = None
  logits = v1.convert_to_tensor(v1.nest.flatten(logits)[0])
  if _DIVISORS[reduction] not in (None, _size):
    weights = _checks.read_weights(
        features, getattr(head, "_weight_column", None), logits, True,
        type(head).__name__)
  return divisor(
      v1.ones(v1.concat([v1.shape(logits)[:-1], [1]], axis=0)), weights,
      reduction)


def terms_of(head: Any, spec: Any, features: Any,
             logits: Any) -> Tuple[LossTerm, ...]:
  """Returns the terms of the loss of a batch.

  A loss that a user's head adds to the loss of a head here is another term.

  Args:
    spec: the head's spec of the batch, in mode "eval".
    logits: tensor of shape `[D0, ..., DN, logits_dimension]`, or dict of
      tensors.
  """
  terms = tuple(getattr(spec, "loss_terms", None) or ())
  if len(terms) == 1 and terms[0].value is spec.loss:
    return terms
  rest = spec.loss
  if terms:
    v1 = tf_compat.v1
    known = v1.add_n([v1.cast(term.value, v1.float32) for term in terms])
    rest = v1.where(v1.math.is_finite(known), v1.cast(rest, v1.float32) - known,
                    v1.zeros_like(known))
  return terms + (LossTerm(rest, _weight(head, features, logits)),)


def metric(terms: Sequence[LossTerm]) -> Tuple[Any, Any]:
  """Returns the metric of the mean loss over many batches.

  Returns:
    A pair `(value, update_op)` of scalar tensors. The update op returns the
    value, too.
  """
  v1 = tf_compat.v1
  with v1.name_scope("mean_loss"):
    # A user's head may have a loss for each example.
    values = [v1.reduce_mean(v1.cast(term.value, v1.float32)) for term in terms]
    weights = [v1.cast(term.weight, v1.float32) for term in terms]
    # Waits for all tensors, because some are constants, and the end of the
    # input must not add a constant.
    with v1.control_dependencies(values + weights):
      means, updates = zip(*map(_mean, values, weights))
    with v1.control_dependencies(updates):
      update_op = v1.add_n([mean() for mean in means])
    return v1.add_n([mean() for mean in means]), update_op


def _mean(value, weight):
  """Returns a function that reads the mean of a term, and the update op."""
  v1 = tf_compat.v1
  total, count, first = (
      _metrics.variable(name, []) for name in ("total", "count", "first"))
  # A batch with the weight of the first batch counts 1. So for batches of equal
  # size, the result is the mean of the losses to the last digit.
  known = first.read_value()
  unit = v1.where(v1.equal(known, 0.), weight, known)
  share = v1.div_no_nan(weight, unit)
  return (
      lambda: v1.div_no_nan(total.read_value(), count.read_value()),
      v1.group(*[
          variable.assign_add(increment, read_value=False)
          for variable, increment in (
              # The loss of no examples may be NaN.
              (total, v1.math.multiply_no_nan(value, share)), (count, share),
              (first, unit - known))]))

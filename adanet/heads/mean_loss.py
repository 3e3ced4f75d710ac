# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The mean loss over the batches of an evaluation.

Batches differ in size: mostly the last one is shorter. So the weight of a
batch is the divisor of its loss. The mean is then the loss of all examples,
however they are cut into batches.
"""

from typing import Any, NamedTuple, Sequence, Tuple

from adanet import tf_compat
from adanet.heads import _inputs
from adanet.heads import _losses
from adanet.heads import _metrics


class LossTerm(NamedTuple):
  """One of the terms that add up to the loss of a batch.

  Attributes:
    value: scalar tensor.
    weight: scalar, the weight of the batch in the mean over all batches: the
      number by which the head has divided the sum of its losses, such as that
      of its examples. 1 if each batch counts the same.
  """
  value: Any
  weight: Any = 1.


def _reduction(head):
  """Returns how a head reduces its losses; None if it does not say."""
  for part in (head, *getattr(head, "_heads", ())):
    for name in ("loss_reduction", "_loss_reduction"):
      try:
        reduction = getattr(part, name)
      except (AttributeError, ValueError):  # The heads of a MultiHead differ.
        continue
      return reduction
  return None


def _weight(head, features, logits):
  """Returns the weight of a batch for a loss that has no terms.

  The heads of `tf.estimator` have the attributes of ours. Of one that does not
  say how it reduces its losses, each example counts the same.
  """
  v1 = tf_compat.v1
  reduction = _reduction(head)
  if not _losses.is_known(reduction):
    reduction = "auto"
  weights = None
  logits = v1.convert_to_tensor(v1.nest.flatten(logits)[0])
  if _losses.divides_by_weights(reduction):
    weights = _inputs.read_weights(
        features, getattr(head, "_weight_column", None), logits, True,
        type(head).__name__)
  return _losses.divisor(
      v1.ones(v1.concat([v1.shape(logits)[:-1], [1]], axis=0)), weights,
      reduction)


def terms_of(head: Any, spec: Any, features: Any,
             logits: Any) -> Tuple[LossTerm, ...]:
  """Returns the terms of the loss of a batch.

  A loss that a user's head has added to those of ours is one more term.

  Args:
    head: a head of `adanet.heads` or `tf.estimator`, or a user's own.
    spec: its spec of the batch, in mode "eval".
    features: dict from str to tensor.
    logits: tensor of shape `[D0, ..., DN, logits_dimension]`, or dict of them.
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

  Args:
    terms: of a batch, which the update op adds.

  Returns:
    A pair `(value, update_op)` of scalar tensors; the second one returns the
    value, too.
  """
  v1 = tf_compat.v1
  with v1.name_scope("mean_loss"):
    # A user's own head may have a loss for each example.
    values = [v1.reduce_mean(v1.cast(term.value, v1.float32)) for term in terms]
    weights = [v1.cast(term.weight, v1.float32) for term in terms]
    # Not all are of the batch: at the end of the input, nothing must be added.
    with v1.control_dependencies(values + weights):
      means, updates = zip(*map(_mean, values, weights))
    with v1.control_dependencies(updates):
      update_op = v1.add_n([mean() for mean in means])
    return v1.add_n([mean() for mean in means]), update_op


def _mean(value, weight):
  """Returns a function that reads the mean of a term, and its update op."""
  v1 = tf_compat.v1
  total, count, first = (
      _metrics.variable(name, []) for name in ("total", "count", "first"))
  # A batch as heavy as the first one counts 1. So where all are of one size,
  # the mean is that of their losses to the last digit.
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

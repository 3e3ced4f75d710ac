# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The head of several simultaneous tasks."""

import collections.abc
from typing import Any, Optional, Sequence, Tuple

from adanet import tf_compat
from adanet.heads import _checks
from adanet.heads import _metrics
from adanet.heads import export_output
from adanet.heads import head
from adanet.heads import mean_loss


class MultiHead(head.Head):
  """Several heads, with the weighted sum of the heads' losses as loss.

  Logits and labels are dicts from the name of a head to the input of the head.
  Logits may also be a single tensor, whose last dimension is divided among the
  heads in order.

  Predictions have the keys `(<head's name>, <head's key>)`. Metrics are the
  metrics of all heads and `loss/<head's name>` for each head. The default
  signature of the export is the default signature of the first head. The other
  signatures are `<name>` for the default of each head,
  `<name>/<signature>`, and `predict` with the predictions of all heads.

  For example::

      head = adanet.heads.MultiHead([
          adanet.heads.MultiClassHead(10, name="digit"),
          adanet.heads.RegressionHead(name="size")], head_weights=[1., .1])
  """

  def __init__(self, heads: Sequence[Any],
               head_weights: Optional[Sequence[float]] = None):
    """Makes a head.

    Args:
      heads: sequence of heads of `adanet.heads` or `tf.estimator`, with
        different names.
      head_weights: sequence of float, the weight of each head's loss in the
        sum; None for weights of 1.

    Raises:
      ValueError: `heads` is empty, a head has no name or the name of another
        head, or `head_weights` does not have a weight for each head.
    """
    self._heads = tuple(heads or ())
    self._head_weights = _checks.check_heads(self._heads, head_weights)

  @property
  def heads(self) -> Tuple[Any, ...]:
    """The heads, in order."""
    return self._heads

  @property
  def head_weights(self) -> Tuple[float, ...]:
    """The weight of each head's loss."""
    return self._head_weights

  @property
  def name(self) -> str:
    """The names of the heads, joined by underscores."""
    return "_".join(h.name for h in self._heads)

  @property
  def logits_dimension(self) -> int:
    """The sum of the heads' logits dimensions."""
    return sum(h.logits_dimension for h in self._heads)

  @property
  def loss_reduction(self) -> str:
    """The loss reduction of all heads.

    Raises:
      ValueError: the heads have different loss reductions.
    """
    reductions = {h.name: h.loss_reduction for h in self._heads}
    if len(set(reductions.values())) > 1:
      raise ValueError(
          f"heads: they have different values of loss_reduction, {reductions}. "
          "Give all the same to train them together.")
    return self._heads[0].loss_reduction

  def summary_key(self, key: str) -> str:
    """See `Head`. The tag of the sum of the losses contains no name."""
    return key

  def build(self, features: Any, mode: str, logits: Any, labels: Any,
            regularization_losses: Optional[Sequence[Any]]) -> head.HeadSpec:
    """See `Head`."""
    v1 = tf_compat.v1
    if mode == head.TRAIN:
      _ = self.loss_reduction  # Must be the same for all heads.
    logits = self._read_logits(logits)
    labels = self._read_labels(labels, mode)
    specs = [
        h.create_estimator_spec(
            features=features, mode=mode, logits=logits[h.name],
            labels=labels[h.name], train_op_fn=lambda _: v1.no_op())
        for h in self._heads
    ]
    predictions = {
        (h.name, key): tensor
        for h, spec in zip(self._heads, specs)
        for key, tensor in spec.predictions.items()
    }
    if mode == head.PREDICT:
      return head.HeadSpec(
          mode, predictions, export_outputs=self._export(specs))
    loss = head.add_regularization(
        v1.add_n([
            spec.loss * weight
            for spec, weight in zip(specs, self._head_weights)
        ]), regularization_losses)
    if mode == head.TRAIN:
      return head.HeadSpec(mode, predictions, loss)
    metrics = {}
    terms = []
    if regularization_losses is not None:
      metrics[self.regularization_key] = _metrics.mean(
          v1.add_n(regularization_losses))
    for h, spec, weight in zip(self._heads, specs, self._head_weights):
      of_head = mean_loss.terms_of(h, spec, features, logits[h.name])
      terms += [term._replace(value=term.value * weight) for term in of_head]
      metrics["loss/" + h.name] = mean_loss.metric(of_head)
      metrics.update(spec.eval_metric_ops)
    return head.HeadSpec(mode, predictions, loss, eval_metric_ops=metrics,
                         loss_terms=(*terms, *head.regularization_terms(
                             regularization_losses)))

  def _check_names(self, argument, values):
    """Checks that a dict has an entry for each head."""
    missing = [h.name for h in self._heads if h.name not in values]
    if missing:
      raise ValueError(
          f"{argument}: there is nothing for the heads {missing}. Expected a "
          f"dict with the keys {[h.name for h in self._heads]}, got "
          f"{sorted(map(str, values))}.")

  def _read_logits(self, logits):
    """Returns a dict from the name of a head to its logits."""
    v1 = tf_compat.v1
    if isinstance(logits, collections.abc.Mapping):
      self._check_names("logits", logits)
      return logits
    logits = _checks.check_logits(
        logits, self.logits_dimension, f"MultiHead {self.name!r}")
    sizes = [h.logits_dimension for h in self._heads]
    return dict(
        zip([h.name for h in self._heads], v1.split(logits, sizes, axis=-1)))

  def _read_labels(self, labels, mode):
    """Returns a dict from the name of a head to its labels."""
    if labels is None and mode == head.PREDICT:
      return dict.fromkeys(h.name for h in self._heads)
    if not isinstance(labels, collections.abc.Mapping):
      raise ValueError(
          f"labels: got a {type(labels).__name__}, expected a dict with the "
          f"keys {[h.name for h in self._heads]}, the names of the heads.")
    self._check_names("labels", labels)
    return labels

  def _export(self, specs):
    """Returns the outputs of all heads and a default output."""
    exported = {head.DEFAULT_SERVING_KEY: self._default_export(specs[0])}
    predictions = {}
    for h, spec in zip(self._heads, specs):
      for key, output in spec.export_outputs.items():
        default = key == head.DEFAULT_SERVING_KEY
        exported[h.name if default else f"{h.name}/{key}"] = output
      predict = spec.export_outputs.get(head.PREDICT_SERVING_KEY)
      for key, tensor in getattr(predict, "outputs", {}).items():
        predictions[f"{h.name}/{key}"] = tensor
    exported[head.PREDICT_SERVING_KEY] = export_output.PredictOutput(
        predictions)
    return exported

  def _default_export(self, spec):
    """Returns the default output of the first head."""
    outputs = spec.export_outputs
    if len(outputs) == 1:
      return next(iter(outputs.values()))
    if head.DEFAULT_SERVING_KEY not in outputs:
      raise ValueError(
          f"heads: export_outputs of {self._heads[0].name!r}, the first, have "
          f"no {head.DEFAULT_SERVING_KEY!r}, only {sorted(outputs)}.")
    return outputs[head.DEFAULT_SERVING_KEY]

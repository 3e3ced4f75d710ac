# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Heads with a single tensor of logits and a loss for each example."""

import abc
from typing import Any, Callable, Dict, NamedTuple, Optional, Sequence

from adanet import tf_compat
from adanet.heads import _arguments
from adanet.heads import _inputs
from adanet.heads import _losses
from adanet.heads import _metrics
from adanet.heads import head
from adanet.heads import mean_loss


class LabeledBatch(NamedTuple):
  """A batch of examples with labels.

  Attributes:
    logits: float32 tensor of shape `[D0, ..., DN, logits_dimension]`.
    labels: tensor of the label values, in the shape from `read_labels`.
    losses: tensor of shape `[D0, ..., DN, 1 or logits_dimension]`.
    weights: float32 tensor that broadcasts to the shape of `losses`, or None.
    predictions: dict from str to tensor.
  """

  logits: Any
  labels: Any
  losses: Any
  weights: Any
  predictions: Dict[str, Any]


class SingleHead(head.Head):
  """Base class of all heads except `MultiHead`."""

  # Whether each logit has a separate loss and optionally a separate weight.
  loss_per_logit = False

  def __init__(self, weight_column: Any, loss_reduction: str,
               loss_fn: Optional[Callable[..., Any]], name: Optional[str]):
    """Checks the common arguments of all subclasses."""
    _arguments.check_weight_column(weight_column)
    _losses.check_reduction(loss_reduction)
    self._optional_loss_arguments = _arguments.check_loss_fn(loss_fn)
    self._weight_column = weight_column
    self._loss_reduction = loss_reduction
    self._loss_fn = loss_fn
    self._name = name

  @property
  def name(self) -> Optional[str]:
    """See `Head`."""
    return self._name

  @property
  def loss_reduction(self) -> str:
    """See `Head`."""
    return self._loss_reduction

  @property
  def weight_column(self) -> Any:
    """The argument `weight_column`: the weights of examples, or None."""
    return self._weight_column

  @property
  def loss_fn(self) -> Optional[Callable[..., Any]]:
    """The function that replaces `default_losses`, or None."""
    return self._loss_fn

  @property
  def title(self) -> str:
    """The description of the head in errors."""
    kind = type(self).__name__
    return f"{kind} {self._name!r}" if self._name else kind

  @abc.abstractmethod
  def read_labels(self, labels: Any, logits: Any) -> Any:
    """Returns the labels as numbers, after checking them.

    Args:
      labels: the labels from `input_fn`; may be None.
      logits: float32 tensor of shape `[D0, ..., DN, logits_dimension]`.
    """

  @abc.abstractmethod
  def default_losses(self, labels: Any, logits: Any) -> Any:
    """Returns the loss of each example for a head without a `loss_fn`.

    Args:
      labels: tensor, as from `read_labels`.
      logits: float32 tensor of shape `[D0, ..., DN, logits_dimension]`.
    """

  @abc.abstractmethod
  def predict(self, logits: Any) -> Dict[str, Any]:
    """Returns the predictions, by key.

    Args:
      logits: float32 tensor of shape `[D0, ..., DN, logits_dimension]`.
    """

  @abc.abstractmethod
  def export(self, predictions: Dict[str, Any]) -> Dict[str, Any]:
    """Returns an `ExportOutput` for each name of a serving signature.

    Args:
      predictions: dict from `predict`.
    """

  @abc.abstractmethod
  def measure(self, batch: LabeledBatch) -> Dict[str, Any]:
    """Returns all metrics except losses, by key without this head's name.

    Args:
      batch: the `LabeledBatch` for the update ops to add.
    """

  def build(self, features: Any, mode: str, logits: Any, labels: Any,
            regularization_losses: Optional[Sequence[Any]]) -> head.HeadSpec:
    """See `Head`."""
    v1 = tf_compat.v1
    with v1.name_scope("logits"):
      logits = _inputs.check_logits(logits, self.logits_dimension, self.title)
    with v1.name_scope("predictions"):
      predictions = self.predict(logits)
      if mode == head.PREDICT:
        return head.HeadSpec(
            mode, predictions, export_outputs=self.export(predictions))
    batch = self._read_batch(features, logits, labels, predictions)
    with v1.name_scope("losses"):
      of_examples = _losses.reduce(
          batch.losses, batch.weights, self._loss_reduction)
      loss = head.add_regularization(of_examples, regularization_losses)
    if mode == head.TRAIN:
      return head.HeadSpec(mode, predictions, loss)
    with v1.name_scope("metrics"):
      metrics = dict(
          self.measure(batch),
          average_loss=_metrics.mean(batch.losses, batch.weights))
      metrics = {self.metric_key(key): op for key, op in metrics.items()}
      if regularization_losses is not None:
        metrics[self.regularization_key] = _metrics.mean(
            v1.add_n(regularization_losses))
      divisor = _losses.divisor(
          batch.losses, batch.weights, self._loss_reduction)
    return head.HeadSpec(
        mode, predictions, loss, eval_metric_ops=metrics,
        loss_terms=(mean_loss.LossTerm(of_examples, divisor),
                    *head.regularization_terms(regularization_losses)))

  def _read_batch(self, features, logits, labels, predictions):
    """Returns a `LabeledBatch`."""
    v1 = tf_compat.v1
    with v1.name_scope("labels"):
      labels = self.read_labels(labels, logits)
    with v1.name_scope("weights"):
      weights = _inputs.read_weights(
          features, self._weight_column, logits, self.loss_per_logit,
          self.title)
    with v1.name_scope("losses"):
      if self._loss_fn is None:
        losses = self.default_losses(labels, logits)
      else:
        optional = {
            "features": features,
            "loss_reduction": self._loss_reduction
        }
        losses = _inputs.check_losses(
            self._loss_fn(
                labels=labels, logits=logits,
                **{name: optional[name]
                   for name in self._optional_loss_arguments}),
            self.logits_dimension if self.loss_per_logit else 1, logits,
            self.title)
    return LabeledBatch(logits, labels, losses, weights, predictions)

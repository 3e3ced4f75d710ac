# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Heads with a single tensor of logits and a loss for each example.

The base class of all heads except `MultiHead`, and the head of regression.
"""

import abc
from typing import Any, Callable, Dict, NamedTuple, Optional, Sequence

from adanet import checks
from adanet import tf_compat
from adanet.heads import _checks
from adanet.heads import _metrics
from adanet.heads import export_output
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
    _checks.check_weight_column(weight_column)
    mean_loss.check_reduction(loss_reduction)
    self._optional_loss_arguments = _checks.check_loss_fn(loss_fn)
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
      logits = _checks.check_logits(logits, self.logits_dimension, self.title)
    with v1.name_scope("predictions"):
      predictions = self.predict(logits)
      if mode == head.PREDICT:
        return head.HeadSpec(
            mode, predictions, export_outputs=self.export(predictions))
    batch = self._read_batch(features, logits, labels, predictions)
    with v1.name_scope("losses"):
      of_examples = mean_loss.reduce(
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
      divisor = mean_loss.divisor(
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
      weights = _checks.read_weights(
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
        losses = _checks.check_losses(
            self._loss_fn(
                labels=labels, logits=logits,
                **{name: optional[name]
                   for name in self._optional_loss_arguments}),
            self.logits_dimension if self.loss_per_logit else 1, logits,
            self.title)
    return LabeledBatch(logits, labels, losses, weights, predictions)


class RegressionHead(SingleHead):
  """Regression, with the mean squared error as loss.

  Labels have the shape of the logits, `[D0, ..., DN, label_dimension]`, or
  `[D0, ..., DN]` if `label_dimension` is 1. Weights have a shape of labels, or
  `[D0, ..., DN, 1]`.

  Predictions: `predictions` and, with `inverse_link_fn`, `logits`.

  Metrics: `average_loss`, `prediction/mean`, `label/mean`.

  For example, for Poisson regression::

      head = adanet.heads.RegressionHead(
          loss_fn=lambda labels, logits: tf.nn.log_poisson_loss(labels, logits),
          inverse_link_fn=tf.exp)
  """

  loss_per_logit = True

  def __init__(self, label_dimension: int = 1, weight_column: Any = None,
               loss_reduction: str = "sum_over_batch_size",
               loss_fn: Optional[Callable[..., Any]] = None,
               inverse_link_fn: Optional[Callable[[Any], Any]] = None,
               name: Optional[str] = None):
    """Makes a head.

    Args:
      label_dimension: int, at least 1, the number of labels of an example.
      weight_column: the name of the feature with the weights of examples, or
        the `tf.feature_column.numeric_column` of the feature; None for no
        weights.
      loss_reduction: str, the reduction of the losses of examples to the loss
        of a batch: "sum_over_batch_size" for the mean over all labels, "sum"
        for the sum, or a value of `tf.compat.v1.losses.Reduction`.
      loss_fn: function `(labels, logits)` that returns the losses as a tensor
        in the shape of the logits. The function may also take `features` and
        `loss_reduction`. None for the squared errors.
      inverse_link_fn: function from logits to predictions, such as `tf.exp` in
        Poisson regression. None if the logits are the predictions.
      name: str, the suffix of the keys of metrics and summaries; or None.

    Raises:
      ValueError: `label_dimension` is less than 1, `loss_reduction` is
        unknown, or `loss_fn` has other arguments.
      TypeError: `label_dimension` is not an integer, or `weight_column` is
        neither a str nor a numeric column.
    """
    super().__init__(weight_column, loss_reduction, loss_fn, name)
    self._logits_dimension = checks.check_count(
        "label_dimension", label_dimension)
    self._inverse_link_fn = inverse_link_fn

  @property
  def logits_dimension(self) -> int:
    """See `Head`."""
    return self._logits_dimension

  def read_labels(self, labels: Any, logits: Any) -> Any:
    labels = _checks.check_labels(
        labels, self._logits_dimension, logits, self.title)
    _checks.check_labels_dtype(labels, _checks.is_number, "numbers", self.title)
    return tf_compat.v1.cast(labels, tf_compat.v1.float32)

  def default_losses(self, labels: Any, logits: Any) -> Any:
    return tf_compat.v1.squared_difference(logits, labels)

  def predict(self, logits: Any) -> Dict[str, Any]:
    if self._inverse_link_fn is None:
      return {"predictions": logits}
    return {"predictions": self._inverse_link_fn(logits), "logits": logits}

  def export(self, predictions: Dict[str, Any]) -> Dict[str, Any]:
    regression = export_output.RegressionOutput(predictions["predictions"])
    return {
        head.DEFAULT_SERVING_KEY: regression,
        head.REGRESS_SERVING_KEY: regression,
        head.PREDICT_SERVING_KEY: export_output.PredictOutput(predictions),
    }

  def measure(self, batch: LabeledBatch) -> Dict[str, Any]:
    return {
        "prediction/mean": _metrics.mean(
            batch.predictions["predictions"], batch.weights),
        "label/mean": _metrics.mean(batch.labels, batch.weights),
    }

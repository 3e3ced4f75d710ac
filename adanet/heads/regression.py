# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The head of a task with numeric labels."""

from typing import Any, Callable, Dict, Optional

from adanet import tf_compat
from adanet.heads import _arguments
from adanet.heads import _inputs
from adanet.heads import _metrics
from adanet.heads import export_output
from adanet.heads import head
from adanet.heads import single_head


class RegressionHead(single_head.SingleHead):
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
      ValueError: `label_dimension` is less than 1 or no int, `loss_reduction`
        is unknown, or `loss_fn` has other arguments.
      TypeError: `weight_column` is neither a str nor a numeric column.
    """
    super().__init__(weight_column, loss_reduction, loss_fn, name)
    self._logits_dimension = _arguments.check_integer(
        "label_dimension", label_dimension, 1)
    self._inverse_link_fn = inverse_link_fn

  @property
  def logits_dimension(self) -> int:
    """See `Head`."""
    return self._logits_dimension

  def read_labels(self, labels: Any, logits: Any) -> Any:
    labels = _inputs.check_labels(
        labels, self._logits_dimension, logits, self.title)
    _inputs.check_labels_dtype(labels, _inputs.is_number, "numbers", self.title)
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

  def measure(self, batch: single_head.LabeledBatch) -> Dict[str, Any]:
    return {
        "prediction/mean": _metrics.mean(
            batch.predictions["predictions"], batch.weights),
        "label/mean": _metrics.mean(batch.labels, batch.weights),
    }

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The head of a task with two classes."""

from typing import Any, Callable, Dict, Iterable, Optional, Sequence

from adanet import tf_compat
from adanet.heads import _arguments
from adanet.heads import _classes
from adanet.heads import _inputs
from adanet.heads import _metrics
from adanet.heads import export_output
from adanet.heads import head
from adanet.heads import single_head


class BinaryClassHead(single_head.SingleHead):
  """Two classes, with the sigmoid cross entropy as loss.

  Logits have the shape `[D0, ..., DN, 1]`. Labels and weights have the same
  shape, or `[D0, ..., DN]`. Labels are 0 and 1, or strings of
  `label_vocabulary`.

  Predictions: `logits`, `logistic`, `probabilities`, `class_ids`, `classes`,
  `all_class_ids`, `all_classes`.

  Metrics: `average_loss`, `accuracy`, `accuracy_baseline`, `precision`,
  `recall`, `auc`, `auc_precision_recall`, `prediction/mean`, `label/mean`; and
  for each threshold `accuracy/positive_threshold_<t>`,
  `precision/positive_threshold_<t>`, `recall/positive_threshold_<t>`.

  For example::

      head = adanet.heads.BinaryClassHead(
          thresholds=[.25, .75], label_vocabulary=["ham", "spam"])
  """

  def __init__(self, weight_column: Any = None,
               thresholds: Optional[Iterable[float]] = None,
               label_vocabulary: Optional[Sequence[str]] = None,
               loss_reduction: str = "sum_over_batch_size",
               loss_fn: Optional[Callable[..., Any]] = None,
               name: Optional[str] = None):
    """Makes a head.

    Args:
      weight_column: see `RegressionHead`.
      thresholds: floats between 0 and 1, or None. Each threshold adds metrics
        of the classifier that predicts class 1 above the threshold.
      label_vocabulary: list or tuple of the two labels (str) of class 0 and
        class 1; None if the labels are numbers.
      loss_reduction: see `RegressionHead`.
      loss_fn: see `RegressionHead`; the losses have the shape
        `[D0, ..., DN, 1]`. None for the sigmoid cross entropy.
      name: str, the suffix of the keys of metrics and summaries; or None.

    Raises:
      ValueError: a threshold is not between 0 and 1, `label_vocabulary` does
        not have two different str, `loss_reduction` is unknown, or `loss_fn`
        has other arguments.
      TypeError: `weight_column` is neither a str nor a numeric column.
    """
    super().__init__(weight_column, loss_reduction, loss_fn, name)
    self._thresholds = _arguments.check_thresholds(thresholds)
    self._label_vocabulary = _arguments.check_label_vocabulary(
        label_vocabulary, 2)

  @property
  def logits_dimension(self) -> int:
    """See `Head`."""
    return 1

  def read_labels(self, labels: Any, logits: Any) -> Any:
    labels = _classes.read_one(
        labels, self._label_vocabulary, _inputs.is_number, "numbers", logits,
        self.title)
    labels = tf_compat.v1.cast(labels, tf_compat.v1.float32)
    return _inputs.check_label_range(labels, 1, self.title)

  def default_losses(self, labels: Any, logits: Any) -> Any:
    return tf_compat.v1.nn.sigmoid_cross_entropy_with_logits(
        labels=labels, logits=logits)

  def predict(self, logits: Any) -> Dict[str, Any]:
    v1 = tf_compat.v1
    both = v1.concat([v1.zeros_like(logits), logits], axis=-1)
    return dict(
        _classes.predict_one(
            both, v1.nn.softmax(both), 2, self._label_vocabulary),
        logits=logits, logistic=v1.sigmoid(logits))

  def export(self, predictions: Dict[str, Any]) -> Dict[str, Any]:
    outputs = _classes.export_classes(predictions, predictions["all_classes"])
    outputs[head.REGRESS_SERVING_KEY] = export_output.RegressionOutput(
        predictions["logistic"])
    return outputs

  def measure(self, batch: single_head.LabeledBatch) -> Dict[str, Any]:
    labels, weights = batch.labels, batch.weights
    logistic = batch.predictions["logistic"]
    class_ids = batch.predictions["class_ids"]
    metrics = {
        "accuracy": _metrics.accuracy(labels, class_ids, weights),
        "prediction/mean": _metrics.mean(logistic, weights),
    }
    metrics["precision"], metrics["recall"] = _metrics.precision_and_recall(
        labels, class_ids > 0, weights)
    metrics["label/mean"], metrics["accuracy_baseline"] = (
        _metrics.mean_and_baseline(labels, weights))
    metrics["auc"], metrics["auc_precision_recall"] = (
        _metrics.areas_under_curves(labels, logistic, weights))
    metrics.update(
        _metrics.at_thresholds(self._thresholds, labels, logistic, weights))
    return metrics

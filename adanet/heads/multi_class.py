# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The head of a task with several exclusive classes."""

from typing import Any, Callable, Dict, Optional, Sequence

from adanet import tf_compat
from adanet.heads import _arguments
from adanet.heads import _classes
from adanet.heads import _inputs
from adanet.heads import _metrics
from adanet.heads import single_head


class MultiClassHead(single_head.SingleHead):
  """Exclusive classes, with the softmax cross entropy as loss.

  Logits have the shape `[D0, ..., DN, n_classes]`. Labels and weights have the
  shape `[D0, ..., DN, 1]` or `[D0, ..., DN]`. Labels are integers from 0, or
  strings of `label_vocabulary`.

  Predictions: `logits`, `probabilities`, `class_ids`, `classes`,
  `all_class_ids`, `all_classes`.

  Metrics: `average_loss`, `accuracy`.

  For example::

      head = adanet.heads.MultiClassHead(
          3, label_vocabulary=["setosa", "versicolor", "virginica"])
  """

  def __init__(self, n_classes: int, weight_column: Any = None,
               label_vocabulary: Optional[Sequence[str]] = None,
               loss_reduction: str = "sum_over_batch_size",
               loss_fn: Optional[Callable[..., Any]] = None,
               name: Optional[str] = None):
    """Makes a head.

    Args:
      n_classes: int, at least 2. For two classes, a `BinaryClassHead` needs
        only a single logit and has more metrics.
      weight_column: see `RegressionHead`.
      label_vocabulary: list or tuple of `n_classes` labels (str) in the order
        of the class ids; None if the labels are integers.
      loss_reduction: see `RegressionHead`.
      loss_fn: see `RegressionHead`; the losses have the shape
        `[D0, ..., DN, 1]`. None for the softmax cross entropy.
      name: str, the suffix of the keys of metrics and summaries; or None.

    Raises:
      ValueError: `n_classes` is less than 2 or no int, `label_vocabulary` does
        not have `n_classes` different str, `loss_reduction` is unknown, or
        `loss_fn` has other arguments.
      TypeError: `weight_column` is neither a str nor a numeric column.
    """
    super().__init__(weight_column, loss_reduction, loss_fn, name)
    self._n_classes = _arguments.check_integer("n_classes", n_classes, 2)
    self._label_vocabulary = _arguments.check_label_vocabulary(
        label_vocabulary, self._n_classes)

  @property
  def logits_dimension(self) -> int:
    """See `Head`."""
    return self._n_classes

  def read_labels(self, labels: Any, logits: Any) -> Any:
    labels = _classes.read_one(
        labels, self._label_vocabulary, lambda dtype: dtype.is_integer,
        "integers", logits, self.title)
    return _inputs.check_label_range(labels, self._n_classes - 1, self.title)

  def default_losses(self, labels: Any, logits: Any) -> Any:
    v1 = tf_compat.v1
    if labels.dtype not in (v1.int32, v1.int64):
      labels = v1.cast(labels, v1.int64)
    return v1.expand_dims(
        v1.nn.sparse_softmax_cross_entropy_with_logits(
            labels=v1.squeeze(labels, axis=[-1]), logits=logits), -1)

  def predict(self, logits: Any) -> Dict[str, Any]:
    return dict(
        _classes.predict_one(
            logits, tf_compat.v1.nn.softmax(logits), self._n_classes,
            self._label_vocabulary),
        logits=logits)

  def export(self, predictions: Dict[str, Any]) -> Dict[str, Any]:
    return _classes.export_classes(predictions, predictions["all_classes"])

  def measure(self, batch: single_head.LabeledBatch) -> Dict[str, Any]:
    return {
        "accuracy": _metrics.accuracy(
            batch.labels, batch.predictions["class_ids"], batch.weights),
    }

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The head of a task with any number of classes for an example."""

from typing import Any, Callable, Dict, Iterable, Optional, Sequence

from adanet import tf_compat
from adanet.heads import _arguments
from adanet.heads import _classes
from adanet.heads import _inputs
from adanet.heads import _metrics
from adanet.heads import single_head


class MultiLabelHead(single_head.SingleHead):
  """Independent classes, with the sigmoid cross entropy of each class as loss.

  The loss of an example is the mean over the classes. Logits have the shape
  `[D0, ..., DN, n_classes]`. Weights have the shape `[D0, ..., DN, 1]` or
  `[D0, ..., DN]`. Labels are 0 and 1 in the shape of the logits; or a
  `SparseTensor` whose last dimension lists the class ids of an example, or
  strings of `label_vocabulary`.

  Predictions: `logits`, `probabilities` and, as in `tf.estimator` since
  TensorFlow 2, `classes` with the names of all classes.

  Metrics: `average_loss`, `auc`, `auc_precision_recall`; for each threshold
  `accuracy/positive_threshold_<t>`, `precision/positive_threshold_<t>`,
  `recall/positive_threshold_<t>`; and for each class of
  `classes_for_class_based_metrics` `probability_mean/class<i>`,
  `auc/class<i>`, `auc_precision_recall/class<i>`. With a `label_vocabulary`,
  the label replaces `class<i>`.

  For example::

      head = adanet.heads.MultiLabelHead(
          20, thresholds=[.5], classes_for_class_based_metrics=[0, 7])
  """

  def __init__(self, n_classes: int, weight_column: Any = None,
               thresholds: Optional[Iterable[float]] = None,
               label_vocabulary: Optional[Sequence[str]] = None,
               loss_reduction: str = "sum_over_batch_size",
               loss_fn: Optional[Callable[..., Any]] = None,
               classes_for_class_based_metrics: Optional[Iterable[Any]] = None,
               name: Optional[str] = None):
    """Makes a head.

    Args:
      n_classes: int, at least 2.
      weight_column: see `RegressionHead`.
      thresholds: floats between 0 and 1, or None. Each threshold adds metrics
        of the classifier that predicts all classes above the threshold.
      label_vocabulary: list or tuple of `n_classes` labels (str) in the order
        of the class ids; None if the labels are numbers.
      loss_reduction: see `RegressionHead`.
      loss_fn: see `RegressionHead`; the losses have the shape
        `[D0, ..., DN, 1]`. None for the sigmoid cross entropy.
      classes_for_class_based_metrics: the classes with separate metrics, as ids
        or as labels of `label_vocabulary`; or None.
      name: str, the suffix of the keys of metrics and summaries; or None.

    Raises:
      ValueError: `n_classes` is less than 2 or no int, a threshold is not
        between 0 and 1, `label_vocabulary` does not have `n_classes` different
        str, `classes_for_class_based_metrics` has an unknown class,
        `loss_reduction` is unknown, or `loss_fn` has other arguments.
      TypeError: `weight_column` is neither a str nor a numeric column.
    """
    super().__init__(weight_column, loss_reduction, loss_fn, name)
    self._n_classes = _arguments.check_integer("n_classes", n_classes, 2)
    self._thresholds = _arguments.check_thresholds(thresholds)
    self._label_vocabulary = _arguments.check_label_vocabulary(
        label_vocabulary, self._n_classes)
    self._measured_classes = _arguments.check_classes(
        classes_for_class_based_metrics, self._n_classes,
        self._label_vocabulary)

  @property
  def logits_dimension(self) -> int:
    """See `Head`."""
    return self._n_classes

  def read_labels(self, labels: Any, logits: Any) -> Any:
    v1 = tf_compat.v1
    _inputs.check_labels_given(labels, self.title)
    labels = v1.convert_to_tensor_or_sparse_tensor(labels)
    if isinstance(labels, v1.SparseTensor):
      return _inputs.check_labels(
          self._indicators(labels), self._n_classes, logits, self.title)
    _inputs.check_labels_dtype(
        labels, _inputs.is_number, "0 and 1 for each class. Labels that are "
        "ids or strings must be in a SparseTensor", self.title)
    if labels.dtype.is_bool:
      labels = v1.cast(labels, v1.int64)
    labels = _inputs.check_labels(labels, self._n_classes, logits, self.title)
    return _inputs.check_label_range(labels, 1, self.title)

  def _indicators(self, labels):
    """Returns 0 or 1 for each class, from the classes of each example."""
    v1 = tf_compat.v1
    if self._label_vocabulary is not None and _inputs.is_string(labels.dtype):
      ids = _classes.look_up(labels.values, self._label_vocabulary)
    else:
      _inputs.check_labels_dtype(
          labels, lambda dtype: dtype.is_integer, "integers in a SparseTensor, "
          "or strings of its label_vocabulary", self.title)
      ids = labels.values
    ids = _inputs.check_label_range(ids, self._n_classes - 1, self.title)
    return v1.cast(
        v1.sparse_to_indicator(
            v1.SparseTensor(labels.indices, ids, labels.dense_shape),
            self._n_classes), v1.int64)

  def default_losses(self, labels: Any, logits: Any) -> Any:
    v1 = tf_compat.v1
    return v1.reduce_mean(
        v1.nn.sigmoid_cross_entropy_with_logits(
            labels=v1.cast(labels, v1.float32), logits=logits),
        axis=-1, keepdims=True)

  def predict(self, logits: Any) -> Dict[str, Any]:
    predictions = {
        "logits": logits,
        "probabilities": tf_compat.v1.sigmoid(logits),
    }
    if not tf_compat.IS_TENSORFLOW_1:
      predictions["classes"] = self._all_classes(logits)
    return predictions

  def _all_classes(self, logits):
    return _classes.all_classes(logits, self._n_classes, self._label_vocabulary)

  def export(self, predictions: Dict[str, Any]) -> Dict[str, Any]:
    return _classes.export_classes(
        predictions, self._all_classes(predictions["logits"]))

  def measure(self, batch: single_head.LabeledBatch) -> Dict[str, Any]:
    labels, weights = batch.labels, batch.weights
    probabilities = batch.predictions["probabilities"]
    metrics = _metrics.at_thresholds(
        self._thresholds, labels, probabilities, weights)
    metrics["auc"], metrics["auc_precision_recall"] = (
        _metrics.areas_under_curves(labels, probabilities, weights))
    for class_id in self._measured_classes:
      if self._label_vocabulary is None:
        label = f"class{class_id}"
      else:
        label = self._label_vocabulary[class_id]
      one = slice(class_id, class_id + 1)
      probability = probabilities[..., one]
      metrics["probability_mean/" + label] = _metrics.mean(probability, weights)
      metrics["auc/" + label], metrics["auc_precision_recall/" + label] = (
          _metrics.areas_under_curves(labels[..., one], probability, weights))
    return metrics

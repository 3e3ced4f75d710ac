# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The heads of classification: two classes, several, or any number at once."""

from typing import Any, Callable, Dict, Iterable, Optional, Sequence

from adanet import checks
from adanet import tf_compat
from adanet.heads import _checks
from adanet.heads import _metrics
from adanet.heads import export_output
from adanet.heads import head
from adanet.heads import single_head


class _Classifier(single_head.SingleHead):
  """The base class of heads with a fixed number of classes."""

  def __init__(self, n_classes, label_vocabulary, *args):
    super().__init__(*args)
    self._n_classes = checks.check_count("n_classes", n_classes, 2)
    self._label_vocabulary = _checks.check_label_vocabulary(
        label_vocabulary, self._n_classes)

  @property
  def logits_dimension(self) -> int:
    """See `Head`."""
    return self._n_classes

  def _names(self):
    """Returns the names of all classes, in the order of their ids.

    Without a vocabulary, the names fold to a constant in TFLite's converter,
    which lacks the op `as_string`.
    """
    v1 = tf_compat.v1
    if self._label_vocabulary is None:
      return v1.as_string(v1.range(self._n_classes))
    return v1.constant(self._label_vocabulary)

  def all_classes(self, logits: Any) -> Any:
    """Returns the names of all classes, of shape `[batch_size, n_classes]`."""
    return _tile(self._names(), logits)

  def predict_one(self, logits: Any, probabilities: Any) -> Dict[str, Any]:
    """Returns the predictions for examples with a single class.

    Args:
      logits: float32 tensor of shape `[D0, ..., DN, n_classes]`.
      probabilities: float32 tensor of the same shape.
    """
    v1 = tf_compat.v1
    class_ids = v1.expand_dims(v1.argmax(logits, axis=-1), -1)
    return {
        "probabilities": probabilities,
        "class_ids": class_ids,
        "classes": v1.gather(self._names(), class_ids),
        "all_class_ids": _tile(v1.range(self._n_classes), logits),
        "all_classes": self.all_classes(logits),
    }

  def look_up(self, labels: Any) -> Any:
    """Returns the ids of labels, int64; -1 outside of the vocabulary."""
    v1 = tf_compat.v1
    return v1.lookup.StaticHashTable(
        v1.lookup.KeyValueTensorInitializer(
            v1.constant(self._label_vocabulary),
            v1.range(self._n_classes, dtype=v1.int64)),
        default_value=-1).lookup(labels)

  def read_one(self, labels: Any, logits: Any, fits: Callable[[Any], bool],
               expected: str) -> Any:
    """Returns the class ids of the labels for examples with a single class.

    Args:
      labels: tensor of shape `[D0, ..., DN, 1]` or `[D0, ..., DN]`.
      logits: tensor of shape `[D0, ..., DN, logits_dimension]`.
      fits: function from a dtype to whether labels without a vocabulary may
        have the dtype.
      expected: str, the fitting dtypes, for the error.
    """
    labels = _checks.check_labels(
        labels, 1, logits, self.title,
        "class ids (argmax if they are one-hot) of ")
    if self._label_vocabulary is None:
      _checks.check_labels_dtype(
          labels, fits, f"{expected}. " + (
              "Give it a label_vocabulary if the labels are strings"
              if _checks.is_string(labels.dtype) else
              "Convert them by astype('int64')"), self.title)
      return labels
    _checks.check_labels_dtype(
        labels, _checks.is_string, "strings, because it has a label_vocabulary",
        self.title)
    return self.look_up(labels)


def _tile(row, logits):
  """Returns a row for each example of the logits."""
  v1 = tf_compat.v1
  return v1.tile(v1.expand_dims(row, 0), [v1.shape(logits)[0], 1])


def _exports(predictions, all_classes):
  """Returns the exported outputs common to all classifiers."""
  classification = export_output.ClassificationOutput(
      predictions["probabilities"], all_classes)
  return {
      head.DEFAULT_SERVING_KEY: classification,
      head.CLASSIFY_SERVING_KEY: classification,
      head.PREDICT_SERVING_KEY: export_output.PredictOutput(predictions),
  }


class BinaryClassHead(_Classifier):
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
      weight_column, loss_reduction: see `RegressionHead`.
      thresholds: floats between 0 and 1, or None. Each threshold adds metrics
        of the classifier that predicts class 1 above the threshold.
      label_vocabulary: list or tuple of the two labels (str) of class 0 and
        class 1; None if the labels are numbers.
      loss_fn: see `RegressionHead`; the losses have the shape
        `[D0, ..., DN, 1]`. None for the sigmoid cross entropy.
      name: str, the suffix of the keys of metrics and summaries; or None.

    Raises:
      ValueError: a threshold is not between 0 and 1, `label_vocabulary` does
        not have two different str, `loss_reduction` is unknown, or `loss_fn`
        has other arguments.
      TypeError: `weight_column` is neither a str nor a numeric column.
    """
    super().__init__(
        2, label_vocabulary, weight_column, loss_reduction, loss_fn, name)
    self._thresholds = _checks.check_thresholds(thresholds)

  @property
  def logits_dimension(self) -> int:
    """See `Head`."""
    return 1

  def read_labels(self, labels: Any, logits: Any) -> Any:
    labels = self.read_one(labels, logits, _checks.is_number, "numbers")
    labels = tf_compat.v1.cast(labels, tf_compat.v1.float32)
    return _checks.check_label_range(labels, 1, self.title)

  def default_losses(self, labels: Any, logits: Any) -> Any:
    return tf_compat.v1.nn.sigmoid_cross_entropy_with_logits(
        labels=labels, logits=logits)

  def predict(self, logits: Any) -> Dict[str, Any]:
    v1 = tf_compat.v1
    both = v1.concat([v1.zeros_like(logits), logits], axis=-1)
    return dict(self.predict_one(both, v1.nn.softmax(both)),
                logits=logits, logistic=v1.sigmoid(logits))

  def export(self, predictions: Dict[str, Any]) -> Dict[str, Any]:
    outputs = _exports(predictions, predictions["all_classes"])
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


class MultiClassHead(_Classifier):
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
      weight_column, loss_reduction: see `RegressionHead`.
      label_vocabulary: list or tuple of `n_classes` labels (str) in the order
        of the class ids; None if the labels are integers.
      loss_fn: see `RegressionHead`; the losses have the shape
        `[D0, ..., DN, 1]`. None for the softmax cross entropy.
      name: str, the suffix of the keys of metrics and summaries; or None.

    Raises:
      ValueError: `n_classes` is less than 2, `label_vocabulary` does not have
        `n_classes` different str, `loss_reduction` is unknown, or `loss_fn` has
        other arguments.
      TypeError: `n_classes` is not an integer, or `weight_column` is neither a
        str nor a numeric column.
    """
    super().__init__(n_classes, label_vocabulary, weight_column,
                     loss_reduction, loss_fn, name)

  def read_labels(self, labels: Any, logits: Any) -> Any:
    labels = self.read_one(
        labels, logits, lambda dtype: dtype.is_integer, "integers")
    return _checks.check_label_range(labels, self._n_classes - 1, self.title)

  def default_losses(self, labels: Any, logits: Any) -> Any:
    v1 = tf_compat.v1
    if labels.dtype not in (v1.int32, v1.int64):
      labels = v1.cast(labels, v1.int64)
    return v1.expand_dims(
        v1.nn.sparse_softmax_cross_entropy_with_logits(
            labels=v1.squeeze(labels, axis=[-1]), logits=logits), -1)

  def predict(self, logits: Any) -> Dict[str, Any]:
    return dict(self.predict_one(logits, tf_compat.v1.nn.softmax(logits)),
                logits=logits)

  def export(self, predictions: Dict[str, Any]) -> Dict[str, Any]:
    return _exports(predictions, predictions["all_classes"])

  def measure(self, batch: single_head.LabeledBatch) -> Dict[str, Any]:
    return {
        "accuracy": _metrics.accuracy(
            batch.labels, batch.predictions["class_ids"], batch.weights),
    }


class MultiLabelHead(_Classifier):
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
      weight_column, loss_reduction: see `RegressionHead`.
      thresholds: floats between 0 and 1, or None. Each threshold adds metrics
        of the classifier that predicts all classes above the threshold.
      label_vocabulary: list or tuple of `n_classes` labels (str) in the order
        of the class ids; None if the labels are numbers.
      loss_fn: see `RegressionHead`; the losses have the shape
        `[D0, ..., DN, 1]`. None for the sigmoid cross entropy.
      classes_for_class_based_metrics: the classes with separate metrics, as ids
        or as labels of `label_vocabulary`; or None.
      name: str, the suffix of the keys of metrics and summaries; or None.

    Raises:
      ValueError: `n_classes` is less than 2, a threshold is not between 0 and
        1, `label_vocabulary` does not have `n_classes` different str,
        `classes_for_class_based_metrics` has an unknown class, `loss_reduction`
        is unknown, or `loss_fn` has other arguments.
      TypeError: `n_classes` is not an integer, or `weight_column` is neither a
        str nor a numeric column.
    """
    super().__init__(n_classes, label_vocabulary, weight_column,
                     loss_reduction, loss_fn, name)
    self._thresholds = _checks.check_thresholds(thresholds)
    self._measured_classes = _checks.check_classes(
        classes_for_class_based_metrics, self._n_classes,
        self._label_vocabulary)

  def read_labels(self, labels: Any, logits: Any) -> Any:
    v1 = tf_compat.v1
    _checks.check_labels_given(labels, self.title)
    labels = v1.convert_to_tensor_or_sparse_tensor(labels)
    if isinstance(labels, v1.SparseTensor):
      return _checks.check_labels(
          self._indicators(labels), self._n_classes, logits, self.title)
    _checks.check_labels_dtype(
        labels, _checks.is_number, "0 and 1 for each class. Labels that are "
        "ids or strings must be in a SparseTensor", self.title)
    if labels.dtype.is_bool:
      labels = v1.cast(labels, v1.int64)
    labels = _checks.check_labels(labels, self._n_classes, logits, self.title)
    return _checks.check_label_range(labels, 1, self.title)

  def _indicators(self, labels):
    """Returns 0 or 1 for each class, from the classes of each example."""
    v1 = tf_compat.v1
    if self._label_vocabulary is not None and _checks.is_string(labels.dtype):
      ids = self.look_up(labels.values)
    else:
      _checks.check_labels_dtype(
          labels, lambda dtype: dtype.is_integer, "integers in a SparseTensor, "
          "or strings of its label_vocabulary", self.title)
      ids = labels.values
    ids = _checks.check_label_range(ids, self._n_classes - 1, self.title)
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
      predictions["classes"] = self.all_classes(logits)
    return predictions

  def export(self, predictions: Dict[str, Any]) -> Dict[str, Any]:
    return _exports(predictions, self.all_classes(predictions["logits"]))

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
      column = slice(class_id, class_id + 1)
      probability = probabilities[..., column]
      metrics["probability_mean/" + label] = _metrics.mean(probability, weights)
      metrics["auc/" + label], metrics["auc_precision_recall/" + label] = (
          _metrics.areas_under_curves(
              labels[..., column], probability, weights))
    return metrics

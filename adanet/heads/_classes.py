# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The ids and the names of classes, also repeated for every example."""

from adanet import tf_compat
from adanet.heads import _inputs
from adanet.heads import export_output
from adanet.heads import head


def all_class_ids(logits, n_classes):
  """Returns the ids of all classes, int32 of shape `[batch_size, n_classes]`.
  """
  return _tile(tf_compat.v1.range(n_classes), logits)


def all_classes(logits, n_classes, label_vocabulary):
  """Returns the names of all classes, of shape `[batch_size, n_classes]`."""
  return _tile(_names(n_classes, label_vocabulary), logits)


def _names(n_classes, label_vocabulary):
  """Returns the names of all classes, in the order of their ids.

  Without a vocabulary, the names fold to a constant in TFLite's converter,
  which lacks the op `as_string`.
  """
  v1 = tf_compat.v1
  if label_vocabulary is None:
    return v1.as_string(v1.range(n_classes))
  return v1.constant(label_vocabulary)


def _tile(row, logits):
  v1 = tf_compat.v1
  return v1.tile(v1.expand_dims(row, 0), [v1.shape(logits)[0], 1])


def predict_one(logits, probabilities, n_classes, label_vocabulary):
  """Returns the predictions of a head for examples with a single class.

  Args:
    logits: float32 tensor of shape `[D0, ..., DN, n_classes]`.
    probabilities: float32 tensor of the same shape.
    n_classes: int.
    label_vocabulary: tuple of str, or None.
  """
  v1 = tf_compat.v1
  class_ids = v1.expand_dims(v1.argmax(logits, axis=-1), -1)
  return {
      "probabilities": probabilities,
      "class_ids": class_ids,
      "classes": v1.gather(_names(n_classes, label_vocabulary), class_ids),
      "all_class_ids": all_class_ids(logits, n_classes),
      "all_classes": all_classes(logits, n_classes, label_vocabulary),
  }


def look_up(labels, label_vocabulary):
  """Returns the ids of labels, int64; -1 for labels not in the vocabulary."""
  v1 = tf_compat.v1
  table = v1.lookup.StaticHashTable(
      v1.lookup.KeyValueTensorInitializer(
          v1.constant(label_vocabulary),
          v1.range(len(label_vocabulary), dtype=v1.int64)),
      default_value=-1)
  return table.lookup(labels)


def read_one(labels, label_vocabulary, fits, expected, logits, owner):
  """Returns the class ids of the labels for examples with a single class.

  Args:
    labels: tensor of shape `[D0, ..., DN, 1]` or `[D0, ..., DN]`.
    label_vocabulary: tuple of str, or None.
    fits: function from a dtype to whether labels without a vocabulary may have
      the dtype.
    expected: str, the fitting dtypes, for the error.
    logits: tensor of shape `[D0, ..., DN, logits_dimension]`.
    owner: str, the head's kind and name, for the errors.
  """
  labels = _inputs.check_labels(
      labels, 1, logits, owner, "class ids (argmax if they are one-hot) of ")
  if label_vocabulary is None:
    _inputs.check_labels_dtype(
        labels, fits, f"{expected}. " + (
            "Give it a label_vocabulary if the labels are strings"
            if _inputs.is_string(labels.dtype) else
            "Convert them by astype('int64')"), owner)
    return labels
  _inputs.check_labels_dtype(
      labels, _inputs.is_string, "strings, because it has a label_vocabulary",
      owner)
  return look_up(labels, label_vocabulary)


def export_classes(predictions, all_names):
  """Returns the exported outputs common to all classifiers."""
  classification = export_output.ClassificationOutput(
      predictions["probabilities"], all_names)
  return {
      head.DEFAULT_SERVING_KEY: classification,
      head.CLASSIFY_SERVING_KEY: classification,
      head.PREDICT_SERVING_KEY: export_output.PredictOutput(predictions),
  }

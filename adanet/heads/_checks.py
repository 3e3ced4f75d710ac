# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks of a head's arguments, logits, labels and weights.

Static mistakes raise a ValueError while the graph is built. Ops check the
remaining conditions when the graph runs. `owner` is the head's kind and name
as str, for the errors.
"""

import collections.abc
import inspect

from adanet import checks
from adanet import tf_compat


def check_weight_column(weight_column):
  """Checks that `weight_column` is None, a str or a numeric column."""
  if (weight_column is None or isinstance(weight_column, str) or
      isinstance(getattr(weight_column, "key", None), str)):
    return
  raise TypeError(
      f"weight_column={weight_column!r}: expected the name of a feature, or a "
      "tf.feature_column.numeric_column.")


def check_loss_fn(loss_fn):
  """Checks the names of the parameters of a `loss_fn`; None is valid.

  Returns:
    The set of the optional arguments to pass to `loss_fn`: "features",
    "loss_reduction", or both. As in `tf.estimator`, a `loss_reduction` with a
    default value is not passed.
  """
  if loss_fn is None:
    return set()
  parameters = {
      name: parameter
      for name, parameter in inspect.signature(loss_fn).parameters.items()
      if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD,
                            parameter.KEYWORD_ONLY)}
  missing = {"labels", "logits"} - set(parameters)
  unknown = set(parameters) - {"labels", "logits", "features", "loss_reduction"}
  if missing or unknown:
    names = ", ".join(sorted(missing or unknown))
    raise ValueError(
        f"loss_fn={loss_fn!r}: " + (
            f"it has no argument {names}" if missing else
            f"no head has a value for its argument {names}") +
        ". Expected loss_fn(labels, logits), with features and loss_reduction "
        "if it needs them.")
  reduction = parameters.get("loss_reduction")
  is_passed = reduction is not None and reduction.default is reduction.empty
  return {"features"} & set(parameters) | set(["loss_reduction"] * is_passed)


def check_thresholds(thresholds):
  """Returns thresholds as a tuple of numbers, after checking their range."""
  thresholds = () if thresholds is None else tuple(thresholds)
  for threshold in thresholds:
    if not 0. < threshold < 1.:
      raise ValueError(
          f"thresholds={thresholds}: {threshold!r} is not between 0 and 1, "
          "both excluded.")
  return thresholds


def check_label_vocabulary(label_vocabulary, n_classes):
  """Returns the vocabulary as a tuple, or None without a vocabulary."""
  if label_vocabulary is None:
    return None
  if not isinstance(label_vocabulary, (list, tuple)):
    raise ValueError(
        f"label_vocabulary={label_vocabulary!r}: expected a list or tuple of "
        "str.")
  for label in label_vocabulary:
    if not isinstance(label, (str, bytes)):
      raise ValueError(
          f"label_vocabulary: {label!r} is not a str. Leave label_vocabulary out "
          "if the labels are integers from 0.")
  if len(label_vocabulary) != n_classes:
    raise ValueError(
        f"label_vocabulary has {len(label_vocabulary)} items: expected "
        f"{n_classes}, one for each class.")
  if len(set(label_vocabulary)) != n_classes:
    raise ValueError(
        f"label_vocabulary={label_vocabulary!r}: a label occurs twice. "
        f"Expected {n_classes} different ones.")
  return tuple(label_vocabulary)


def check_classes(classes, n_classes, label_vocabulary):
  """Returns the ids of classes, given by id or label, as a tuple."""
  argument = "classes_for_class_based_metrics"
  ids = []
  for class_or_label in () if classes is None else tuple(classes):
    if isinstance(class_or_label, (str, bytes)):
      if label_vocabulary is None or class_or_label not in label_vocabulary:
        raise ValueError(f"{argument}: {class_or_label!r} is not in "
                         f"label_vocabulary={label_vocabulary!r}.")
      ids.append(label_vocabulary.index(class_or_label))
    else:
      ids.append(checks.check_count(argument, class_or_label, 0, n_classes))
  return tuple(ids)


def check_heads(heads, head_weights):
  """Returns the weight of each head of a `MultiHead`, by default 1."""
  if not heads:
    raise ValueError(f"heads={heads!r}: expected at least one head.")
  names = []
  for head in heads:
    if not head.name:
      raise ValueError(
          f"heads: a {type(head).__name__} has no name. Give each head a "
          "different one.")
    if head.name in names:
      raise ValueError(
          f"heads: two have the name {head.name!r}. Give each head a different "
          "one.")
    names.append(head.name)
  if not head_weights:
    return (1.,) * len(heads)
  if len(head_weights) != len(heads):
    raise ValueError(
        f"head_weights={head_weights!r}: expected {len(heads)}, one for each "
        "head.")
  return tuple(head_weights)


def _show_shape(dimensions):
  return "[{}]".format(", ".join(
      "?" if size is None else str(size) for size in dimensions))


def check_logits(logits, dimension, owner):
  """Returns logits as float32 of shape `[D0, ..., DN, dimension]`."""
  v1 = tf_compat.v1
  if isinstance(logits, collections.abc.Mapping):
    raise ValueError(
        f"logits: got a dict with the keys {sorted(map(str, logits))}, and "
        f"{owner} takes one tensor. Use a MultiHead for several.")
  logits = v1.convert_to_tensor(logits)
  if not (logits.dtype.is_floating or logits.dtype.is_integer):
    raise ValueError(f"logits: dtype {logits.dtype.name}, and {owner} expects "
                     "floats.")
  logits = v1.cast(logits, v1.float32)
  message = f"logits: {owner} expects the shape [batch_size, ..., {dimension}]"
  if logits.shape.ndims is None:
    with v1.control_dependencies(
        [v1.assert_rank_at_least(logits, 2, message=message)]):
      logits = v1.identity(logits)
  else:
    shape = logits.shape.as_list()
    if len(shape) < 2:
      raise ValueError(f"{message}, but the shape is {_show_shape(shape)}.")
    if shape[-1] == dimension:
      return logits
    if shape[-1] is not None:
      raise ValueError(
          f"{message}, but the last dimension is {shape[-1]} in "
          f"{_show_shape(shape)}. Give the builder's last layer "
          f"logits_dimension={dimension} units.")
  with v1.control_dependencies([
      v1.assert_equal(v1.shape(logits)[-1], dimension, message=message)]):
    return v1.identity(logits)


def check_labels_given(labels, owner):
  """Checks that labels are given as a single tensor."""
  if labels is None:
    raise ValueError(
        f"labels=None: {owner} needs labels to train and to evaluate. Return "
        "them from input_fn, after the features.")
  if isinstance(labels, collections.abc.Mapping):
    raise ValueError(
        f"labels: got a dict with the keys {sorted(map(str, labels))}, and "
        f"{owner} takes one tensor. Use a MultiHead for several.")


def check_labels(labels, dimension, logits, owner, what=""):
  """Returns labels as a tensor of shape `[D0, ..., DN, dimension]`.

  Args:
    labels: tensor of the same shape, or of `[D0, ..., DN]` if `dimension` is 1.
    logits: tensor of shape `[D0, ..., DN, logits_dimension]`.
  """
  v1 = tf_compat.v1
  check_labels_given(labels, owner)
  labels = v1.convert_to_tensor_or_sparse_tensor(labels)
  if isinstance(labels, v1.SparseTensor):
    raise ValueError(
        f"labels: {owner} takes no SparseTensor. Make it dense in input_fn, "
        "with tf.sparse.to_dense.")
  shape = labels.shape
  if shape.ndims and not shape[:1].is_compatible_with(logits.shape[:1]):
    raise ValueError(
        f"labels: {shape.as_list()[0]} rows, and the logits of the features "
        f"have {logits.shape.as_list()[0]}: expected as many in each.")
  if shape.ndims is not None and shape.ndims + 1 == logits.shape.ndims:
    labels = v1.expand_dims(labels, -1)
  expected = logits.shape[:-1].concatenate([dimension])
  message = (f"labels: {owner} expects {what}the shape [batch_size, ..., "
             f"{dimension}]")
  if not labels.shape.is_compatible_with(expected):
    if logits.shape.ndims > 2 and shape.ndims is not None and (
        shape.ndims == 1 or shape.ndims == 2 and shape[-1] == dimension):
      raise ValueError(
          f"logits: {owner} expects the shape [batch_size, "
          f"{logits.shape[-1]}] for labels of the shape "
          f"{_show_shape(shape.as_list())}, but the shape is "
          f"{_show_shape(logits.shape.as_list())}. Put keras.layers.Flatten() "
          "before the last layer.")
    raise ValueError(f"{message}, here {_show_shape(expected.as_list())}, but "
                     f"the shape is {_show_shape(shape.as_list())}.")
  return _checked_in_run(labels, expected, dimension, logits, message)


def _checked_in_run(tensor, expected, dimension, logits, message):
  """Returns a tensor with a run-time check of a shape that is not static."""
  v1 = tf_compat.v1
  if tensor.shape.is_fully_defined() and expected.is_fully_defined():
    return tensor
  expected_shape = v1.concat([v1.shape(logits)[:-1], [dimension]], axis=0)
  with v1.control_dependencies([
      v1.assert_equal(v1.shape(tensor), expected_shape, message=message)]):
    return v1.identity(tensor)


def check_losses(losses, dimension, logits, owner):
  """Returns the tensor of shape `[D0, ..., DN, dimension]` of a `loss_fn`.

  Args:
    logits: tensor of shape `[D0, ..., DN, logits_dimension]`.
  """
  losses = tf_compat.v1.convert_to_tensor(losses)
  expected = logits.shape[:-1].concatenate([dimension])
  message = (f"loss_fn of {owner}: expected one loss for each example, of the "
             f"shape [batch_size, ..., {dimension}]")
  if not losses.shape.is_compatible_with(expected):
    raise ValueError(f"{message}, here {expected}, but it returned the shape "
                     f"{losses.shape}.")
  return _checked_in_run(losses, expected, dimension, logits, message)


def check_labels_dtype(labels, fits, expected, owner):
  """Checks the dtype of labels with the function `fits`."""
  if not fits(labels.dtype):
    raise ValueError(f"labels: dtype {labels.dtype.name}, but {owner} expects "
                     f"{expected}.")


def is_number(dtype):
  """Returns whether a dtype is of numbers or booleans."""
  return dtype.is_floating or dtype.is_integer or dtype.is_bool


def is_string(dtype):
  """Returns whether a dtype is of strings."""
  return dtype.base_dtype == tf_compat.v1.string


def check_label_range(labels, highest, owner):
  """Returns labels with a run-time check of the range [0, highest]."""
  v1 = tf_compat.v1
  # A narrow integer type may not hold `highest`.
  values = v1.cast(labels, v1.int64) if labels.dtype.is_integer else labels
  in_range = v1.reduce_all(v1.logical_and(values >= 0, values <= highest))
  message = (f"labels: {owner} expects values from 0 to {highest}, or of "
             "label_vocabulary; unknown ones are shown as -1 here: ")
  with v1.control_dependencies(
      [v1.Assert(in_range, [message, labels], summarize=20)]):
    return v1.identity(labels)


def _weight_feature(features, weight_column, owner):
  """Returns the weights from the features, float32, at least of rank 1."""
  v1 = tf_compat.v1
  key = weight_column if isinstance(weight_column, str) else weight_column.key
  names = (sorted(map(str, features))
           if isinstance(features, collections.abc.Mapping) else None)
  if names is None or key not in features:
    raise ValueError(
        "weight_column={!r}: {} expects a feature of this name, and features "
        "{}.".format(key, owner, "is not a dict" if names is None else
                     f"has {', '.join(names) or 'nothing'}"))
  weights = v1.convert_to_tensor_or_sparse_tensor(features[key])
  if isinstance(weights, v1.SparseTensor) or not is_number(weights.dtype):
    raise ValueError(
        f"weight_column={key!r}: {owner} expects a dense tensor of numbers, "
        f"not {weights}.")
  if weights.shape.ndims == 0:
    raise ValueError(
        f"weight_column={key!r}: the feature is a scalar, and {owner} expects "
        "a weight for each example.")
  if weights.shape.ndims == 1:
    weights = v1.expand_dims(weights, -1)
  normalizer_fn = getattr(weight_column, "normalizer_fn", None)
  if normalizer_fn is not None:
    weights = normalizer_fn(weights)
  return v1.cast(weights, v1.float32)


def read_weights(features, weight_column, logits, per_logit, owner):
  """Returns the weights of a batch, or None without a `weight_column`.

  A run fails if a weight is negative or NaN, because no metric is then
  meaningful.

  Args:
    logits: tensor of shape `[D0, ..., DN, logits_dimension]`.
    per_logit: bool, whether each logit may have a separate weight.

  Returns:
    float32 tensor of shape `[D0, ..., DN, 1]` or, if `per_logit`,
    `[D0, ..., DN, logits_dimension]`.
  """
  if weight_column is None:
    return None
  v1 = tf_compat.v1
  weights = _weight_feature(features, weight_column, owner)
  weights_shape = weights.shape
  if weights_shape.ndims is not None and (
      weights_shape.ndims + 1 == logits.shape.ndims):
    weights = v1.expand_dims(weights, -1)
  expected = [logits.shape[:-1].concatenate([1])]
  if per_logit:
    expected.append(logits.shape)
  message = "weight_column: {} expects weights of the shape {}".format(
      owner, f"[batch_size, ..., 1 or {logits.shape.as_list()[-1]}]"
      if per_logit else "[batch_size, ..., 1]")
  if not any(weights.shape.is_compatible_with(shape) for shape in expected):
    raise ValueError(f"{message}, but the shape is "
                     f"{_show_shape(weights_shape.as_list())} for logits of "
                     f"{_show_shape(logits.shape.as_list())}.")
  wrong = v1.gather_nd(weights, v1.where(v1.logical_not(weights >= 0.)))
  with v1.control_dependencies([v1.Assert(v1.equal(v1.size(wrong), 0), [
      f"weight_column: {owner} expects weights of at least 0. A loss_fn that "
      "takes features can multiply by negative ones: ", wrong])]):
    weights = v1.identity(weights)
  if weights.shape.is_fully_defined() and logits.shape.is_fully_defined():
    return weights
  shape = v1.shape(weights)
  logits_shape = v1.shape(logits)
  fits = v1.reduce_all(v1.equal(shape[:-1], logits_shape[:-1]))
  last = v1.equal(shape[-1], 1)
  if per_logit:
    last = v1.logical_or(last, v1.equal(shape[-1], logits_shape[-1]))
  with v1.control_dependencies([
      v1.Assert(v1.logical_and(fits, last), [message, shape, logits_shape])]):
    return v1.identity(weights)

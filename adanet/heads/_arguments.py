# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks of the arguments of heads."""

import inspect
import numbers


def check_integer(name, value, at_least):
  """Returns an argument as an int, after checking its type and range."""
  is_integer = (
      isinstance(value, numbers.Integral) and not isinstance(value, bool))
  if not is_integer or value < at_least:
    raise ValueError(f"{name}={value!r}: expected an integer of at least "
                     f"{at_least}.")
  return int(value)


def check_weight_column(weight_column):
  """Checks that `weight_column` is None, a str or a numeric column."""
  if (weight_column is None or isinstance(weight_column, str) or
      isinstance(getattr(weight_column, "key", None), str)):
    return
  raise TypeError(
      f"weight_column={weight_column!r}: expected the name of a feature, or a "
      "tf.feature_column.numeric_column.")


def _parameters(function):
  """Returns the named parameters of a function, by name."""
  return {
      name: parameter
      for name, parameter in inspect.signature(function).parameters.items()
      if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD,
                            parameter.KEYWORD_ONLY)
  }


def check_loss_fn(loss_fn):
  """Checks the names of the parameters of a `loss_fn`; None is valid.

  Returns:
    The set of the optional arguments to pass to `loss_fn`: "features",
    "loss_reduction", or both. As in `tf.estimator`, a `loss_reduction` with a
    default value is not passed.
  """
  if loss_fn is None:
    return frozenset()
  parameters = _parameters(loss_fn)
  for name in ("labels", "logits"):
    if name not in parameters:
      raise ValueError(
          f"loss_fn={loss_fn!r}: it has no argument {name}. Expected "
          "loss_fn(labels, logits), with features and loss_reduction if it "
          "needs them.")
  unknown = sorted(
      set(parameters) - {"labels", "logits", "features", "loss_reduction"})
  if unknown:
    raise ValueError(
        f"loss_fn={loss_fn!r}: no head has a value for its argument "
        f"{', '.join(unknown)}. Expected loss_fn(labels, logits), with "
        "features and loss_reduction if it needs them.")
  optional = {"features"} & set(parameters)
  reduction = parameters.get("loss_reduction")
  if reduction is not None and reduction.default is reduction.empty:
    optional.add("loss_reduction")
  return frozenset(optional)


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
  """Returns the vocabulary as a tuple, or None without a vocabulary.

  Args:
    label_vocabulary: None, or a list or tuple of `n_classes` different str.
    n_classes: int.
  """
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
  for given in () if classes is None else tuple(classes):
    if isinstance(given, (str, bytes)):
      if label_vocabulary is None or given not in label_vocabulary:
        raise ValueError(f"{argument}: {given!r} is not in "
                         f"label_vocabulary={label_vocabulary!r}.")
      ids.append(label_vocabulary.index(given))
    else:
      class_id = check_integer(argument, given, 0)
      if class_id >= n_classes:
        raise ValueError(
            f"{argument}: {class_id} is not a class. Expected integers below "
            f"n_classes={n_classes}.")
      ids.append(class_id)
  return tuple(ids)


def check_heads(heads, head_weights):
  """Returns the weights of a `MultiHead`'s heads, after checking the arguments.

  Args:
    heads: tuple of heads.
    head_weights: sequence of float, or None.

  Returns:
    tuple of float; 1. for each head if `head_weights` is None.
  """
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

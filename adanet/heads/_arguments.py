# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks of the arguments of heads."""

import inspect
import numbers


def check_integer(name, value, at_least, advice=""):
  """Returns an argument as an int, after checking its type and range."""
  is_integer = (
      isinstance(value, numbers.Integral) and not isinstance(value, bool))
  if not is_integer or value < at_least:
    raise ValueError("{}={!r}: expected an integer of at least {}{}.".format(
        name, value, at_least, advice))
  return int(value)


def check_weight_column(weight_column):
  """Checks that it is None, a str or a numeric column."""
  if (weight_column is None or isinstance(weight_column, str) or
      isinstance(getattr(weight_column, "key", None), str)):
    return
  raise TypeError(
      "weight_column={!r}: expected the name of a feature, or a "
      "tf.feature_column.numeric_column.".format(weight_column))


def _parameters(function):
  """Returns the parameters of a function that have a name, by name."""
  return {
      name: parameter
      for name, parameter in inspect.signature(function).parameters.items()
      if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD,
                            parameter.KEYWORD_ONLY)
  }


def check_loss_fn(loss_fn):
  """Checks the names of the parameters of a `loss_fn`, if there is one.

  Returns:
    The set of the optional arguments that must be given to it: "features",
    "loss_reduction", or both. As with `tf.estimator`, a `loss_reduction` that
    has a default keeps it.
  """
  if loss_fn is None:
    return frozenset()
  parameters = _parameters(loss_fn)
  for name in ("labels", "logits"):
    if name not in parameters:
      raise ValueError(
          "loss_fn={!r}: it has no argument {}. Expected loss_fn(labels, "
          "logits), with features and loss_reduction if it needs them.".format(
              loss_fn, name))
  unknown = sorted(
      set(parameters) - {"labels", "logits", "features", "loss_reduction"})
  if unknown:
    raise ValueError(
        "loss_fn={!r}: no head has a value for its argument {}. Expected "
        "loss_fn(labels, logits), with features and loss_reduction if it needs "
        "them.".format(loss_fn, ", ".join(unknown)))
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
          "thresholds={}: {!r} is not between 0 and 1, both excluded.".format(
              thresholds, threshold))
  return thresholds


def check_label_vocabulary(label_vocabulary, n_classes):
  """Returns the vocabulary as a tuple, or None if there is none.

  Args:
    label_vocabulary: None, or a list or tuple of `n_classes` different str.
    n_classes: int.
  """
  if label_vocabulary is None:
    return None
  if not isinstance(label_vocabulary, (list, tuple)):
    raise ValueError(
        "label_vocabulary={!r}: expected a list or tuple of str.".format(
            label_vocabulary))
  for label in label_vocabulary:
    if not isinstance(label, (str, bytes)):
      raise ValueError(
          "label_vocabulary: {!r} is no str. Leave label_vocabulary out if the "
          "labels are integers from 0.".format(label))
  if len(label_vocabulary) != n_classes:
    raise ValueError(
        "label_vocabulary has {} items: expected {}, one for each class."
        .format(len(label_vocabulary), n_classes))
  if len(set(label_vocabulary)) != n_classes:
    raise ValueError(
        "label_vocabulary={!r}: a label occurs twice. Expected {} different "
        "ones.".format(label_vocabulary, n_classes))
  return tuple(label_vocabulary)


def check_classes(classes, n_classes, label_vocabulary):
  """Returns the ids of classes that are given by id or label, as a tuple."""
  argument = "classes_for_class_based_metrics"
  ids = []
  for given in () if classes is None else tuple(classes):
    if isinstance(given, (str, bytes)):
      if label_vocabulary is None or given not in label_vocabulary:
        raise ValueError("{}: {!r} is not in label_vocabulary={!r}.".format(
            argument, given, label_vocabulary))
      ids.append(label_vocabulary.index(given))
    else:
      class_id = check_integer(argument, given, 0)
      if class_id >= n_classes:
        raise ValueError(
            "{}: {} is no class. Expected integers below n_classes={}.".format(
                argument, class_id, n_classes))
      ids.append(class_id)
  return tuple(ids)


def check_heads(heads, head_weights):
  """Returns the weights of a `MultiHead`'s heads, after checking both.

  Args:
    heads: tuple of heads.
    head_weights: sequence of float, or None.

  Returns:
    tuple of float, 1. for each head if there are no weights.
  """
  if not heads:
    raise ValueError("heads={!r}: expected at least one head.".format(heads))
  names = []
  for head in heads:
    if not head.name:
      raise ValueError(
          "heads: a {} has no name. Give each head a different one.".format(
              type(head).__name__))
    if head.name in names:
      raise ValueError(
          "heads: two have the name {!r}. Give each head a different one."
          .format(head.name))
    names.append(head.name)
  if not head_weights:
    return (1.,) * len(heads)
  if len(head_weights) != len(heads):
    raise ValueError(
        "head_weights={!r}: expected {}, one for each head.".format(
            head_weights, len(heads)))
  return tuple(head_weights)

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The loss of an `EnsembleSearch`, and whether outputs and labels fit it."""

from typing import Any, List, Mapping, NamedTuple, Sequence

from adanet import heads
from adanet import tf_compat
from adanet.core import user_input
from adanet.estimator.keras_fit import pool as pool_lib
import numpy as np

# Losses of Keras, without underscores.
_BINARY = ("binarycrossentropy", "binaryfocalcrossentropy")
_SPARSE = ("sparsecategoricalcrossentropy",)
_ONE_HOT = ("categoricalcrossentropy", "categoricalfocalcrossentropy",
            "kldivergence", "kullbackleiblerdivergence")
_SAME_SHAPE = (
    "meansquarederror", "mse", "meanabsoluteerror", "mae", "huber", "logcosh",
    "meanabsolutepercentageerror", "mape", "meansquaredlogarithmicerror",
    "msle", "poisson")
_AROUND_1 = 1e-3


class CompileArguments(NamedTuple):
  """Arguments of `Model.compile`.

  Attributes:
    loss: as there; for several outputs a dict by output.
    metrics: the same, or None.
    loss_weights: the same, or None.
  """
  loss: Any
  metrics: Any = None
  loss_weights: Any = None

  def head(self, weight_column: Any) -> heads.KerasHead:
    """Returns the head of these.

    Raises:
      ValueError: an argument is not as `Model.compile` takes it.
    """
    return heads.KerasHead(self.loss, self.loss_weights, self.metrics,
                           weight_column)


def _name(value):
  return getattr(value, "__name__", None) or type(value).__name__


def shown(value: Any) -> str:
  """Returns an argument of `Model.compile` as text."""
  if isinstance(value, str):
    return repr(value)
  return user_input.described(value) if value is None else _name(value)


def check_metrics(metrics: Any) -> None:
  """Checks the argument `metrics`.

  Raises:
    ValueError: Keras knows no such metric.
  """
  if isinstance(metrics, Mapping):
    for value in metrics.values():
      check_metrics(value)
  elif isinstance(metrics, (list, tuple)):
    for value in metrics:
      check_metrics(value)
  elif metrics not in (None, "accuracy", "acc", "crossentropy", "ce"):
    module = tf_compat.keras_3.metrics
    try:
      found = module.get(metrics)
    except (TypeError, ValueError):
      found = None
    if not callable(found):
      raise ValueError(
          f"metrics={metrics!r}: expected names of metrics of Keras, such as "
          "[\"accuracy\"], keras.metrics.Metric objects, or functions of "
          "y_true and y_pred.")


def check_losses(loss: Any) -> None:
  """Checks the argument `loss` alone, before any model is known.

  Raises:
    ValueError: Keras knows no such loss.
  """
  if loss is not None:
    heads.KerasHead(loss)


def of_outputs(arguments: CompileArguments, outputs: Sequence[str]
              ) -> CompileArguments:
  """Returns the arguments by output, as Keras reads them.

  Args:
    arguments: of the user.
    outputs: the names of several outputs, in their order; empty for one.

  Raises:
    ValueError: there is not a loss for each output.
  """
  loss, metrics, loss_weights = arguments
  if not outputs:
    if isinstance(loss, (Mapping, list, tuple)):
      if len(loss) != 1:
        raise ValueError(f"loss has {len(loss)} parts: expected one, because "
                         "the models have one output.")
      loss = list(loss.values() if isinstance(loss, Mapping) else loss)[0]
      metrics, loss_weights = _first(metrics), _first(loss_weights)
    return CompileArguments(loss, metrics, loss_weights)
  if not isinstance(loss, (Mapping, list, tuple)):
    loss = dict.fromkeys(outputs, loss)
  if not isinstance(loss, Mapping):
    if len(loss) != len(outputs):
      raise ValueError(f"loss has {len(loss)} parts: expected {len(outputs)}, "
                       f"one for each output: {', '.join(outputs)}.")
    loss = dict(zip(outputs, loss))
  if set(loss) != set(outputs) or None in loss.values():
    raise ValueError(
        f"loss has the keys {sorted(map(str, loss))}: expected a loss for each "
        f"output of the models: {', '.join(outputs)}. Name the last layers as "
        "the keys, and leave out outputs without a loss.")
  return CompileArguments({name: loss[name] for name in outputs}, metrics,
                          loss_weights)


def _first(value):
  """Returns the part of an argument that is for the only output."""
  if isinstance(value, Mapping):
    return next(iter(value.values()), None)
  if isinstance(value, (list, tuple)) and len(value) == 1 and isinstance(
      value[0], (list, tuple, int, float)):
    return value[0]
  return value


def _is_one_of(loss, names):
  return any(name.replace("_", "").lower() in names
             for name in (str(loss.name), type(loss).__name__))


def _activation(model):
  """Returns the name of the activation of a model's last layer, or ""."""
  layers = getattr(model, "layers", None)
  while layers:
    last = layers[-1]
    if hasattr(last, "activation"):
      return getattr(last.activation, "__name__", "")
    if type(last).__name__ in ("Softmax", "ReLU"):
      return type(last).__name__.lower()
    layers = getattr(last, "layers", None)
  return ""


def _are_probabilities(outputs, of_classes):
  if (outputs < 0).any() or (outputs > 1 + _AROUND_1).any():
    return False
  return not of_classes or bool(
      (np.abs(outputs.sum(-1) - 1) < _AROUND_1).all())


def check_outputs(tried: pool_lib.Tried, losses: Mapping[str, Any]) -> None:
  """Checks that the outputs of a model fit the loss.

  Args:
    tried: `Tried`.
    losses: dict from the name of each output to its `keras.losses.Loss`.

  Raises:
    ValueError: they are logits in place of probabilities, or the other way.
  """
  only = len(losses) == 1
  for name, loss in losses.items():
    outputs = np.asarray(tried.outputs[name], np.float32)
    of_classes = _is_one_of(loss, _SPARSE + _ONE_HOT)
    if not of_classes and not _is_one_of(loss, _BINARY):
      continue
    owner = tried.owner + (f", output {name!r}," if name else "")
    activation = _activation(tried.model) if only else ""
    expected = "softmax" if of_classes else "sigmoid"
    if not loss.get_config().get("from_logits", False):
      if activation == "linear" or not _are_probabilities(outputs, of_classes):
        raise ValueError(
            f"{owner} returns numbers that are not probabilities, and the loss "
            f"{loss.name} takes probabilities: expected a last layer with "
            f"activation=\"{expected}\", or a loss with from_logits=True.")
    elif activation in ("softmax", "sigmoid") or (
        of_classes and outputs.shape[-1] > 1 and
        _are_probabilities(outputs, True)):
      raise ValueError(
          f"{owner} returns probabilities, and the loss {loss.name} has "
          "from_logits=True: expected a last layer without "
          f"activation=\"{activation or expected}\", or a loss without "
          "from_logits=True.")


def check_labels(owner: str, labels: np.ndarray, outputs: np.ndarray, loss: Any,
                 argument: str = "y") -> None:
  """Checks that labels fit the loss and the outputs of a model.

  Args:
    owner: str, the model, for messages.
    labels: array of shape [n, ...].
    outputs: array of shape [m, ...].
    loss: `keras.losses.Loss`.
    argument: str, that of the labels.

  Raises:
    ValueError: they do not.
  """
  shape, expected = list(labels.shape[1:]), list(outputs.shape[1:])
  if _is_one_of(loss, _SPARSE):
    sizes = [expected[:-1], [*expected[:-1], 1]]
    if shape not in sizes:
      raise ValueError(
          f"{argument} has the shape {_batch(shape)}, and {owner} returns "
          f"{_batch(expected)}: the loss {loss.name} expects classes of the "
          f"shape {_batch(sizes[0])}. For one-hot labels use "
          "\"categorical_crossentropy\".")
    least, most = labels.min(), labels.max()
    if least < 0 or most >= expected[-1] or (labels != np.round(labels)).any():
      raise ValueError(
          f"{argument} has classes from {least} to {most}, and {owner} has "
          f"{expected[-1]} outputs: the loss {loss.name} expects integers from "
          f"0 to {expected[-1] - 1}.")
    return
  if _is_one_of(loss, _ONE_HOT) and shape != expected:
    raise ValueError(
        f"{argument} has the shape {_batch(shape)}, and {owner} returns "
        f"{_batch(expected)}: the loss {loss.name} expects one-hot labels of "
        "that shape. For classes as integers use "
        "\"sparse_categorical_crossentropy\".")
  if not _is_one_of(loss, _SAME_SHAPE + _BINARY):
    return
  if shape != expected and [*shape, 1] != expected and shape != [*expected, 1]:
    raise ValueError(
        f"{argument} has the shape {_batch(shape)}, and {owner} returns "
        f"{_batch(expected)}: the loss {loss.name} expects the same shape. "
        "Change the size of the last layer, or the labels.")
  if _is_one_of(loss, _BINARY) and (labels.min() < 0 or labels.max() > 1):
    raise ValueError(
        f"{argument} has numbers from {labels.min()} to {labels.max()}: the "
        f"loss {loss.name} expects 0 and 1.")


def _batch(shape: Sequence[int]) -> str:
  return f"[{', '.join(['n', *map(str, shape)])}]"


def from_models(tried: List[pool_lib.Tried], given: CompileArguments
               ) -> CompileArguments:
  """Returns the arguments that the models are compiled with.

  Args:
    tried: list of `Tried`.
    given: arguments of the user, with the loss None.

  Raises:
    ValueError: a model is not compiled, or with another loss than the first.
  """
  for one in tried:
    if one.compiled.get("loss") is None:
      raise ValueError(
          f"loss=None: {one.owner} is not compiled: expected a loss, such as "
          "loss=\"mse\", or models that are all compiled with the same one.")
  first = tried[0]
  head = heads.KerasHead(first.compiled["loss"])
  for one in tried[1:]:
    if not head.has_losses(one.compiled["loss"]):
      raise ValueError(
          f"loss=None: {first.owner} is compiled with "
          f"{shown(first.compiled['loss'])}, and {one.owner} with "
          f"{shown(one.compiled['loss'])}: expected the same loss in all, or "
          "the argument loss.")
  return CompileArguments(
      first.compiled["loss"],
      first.compiled.get("metrics") if given.metrics is None else given.metrics,
      first.compiled.get("loss_weights") if given.loss_weights is None
      else given.loss_weights)


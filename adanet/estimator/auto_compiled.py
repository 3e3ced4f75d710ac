# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Arguments of `Model.compile`: those that a head means, and those it drops.
"""

import re
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from adanet import tf_compat

# From the class of a head to its loss in words, to the names of the losses of
# Keras that mean the same, and to the names of its metrics.
_CROSS_ENTROPY = ("bce", "binarycrossentropy")
_ACCURACY = ("acc", "accuracy")
_HEADS: Dict[str, Tuple[str, Tuple[str, ...], Tuple[str, ...]]] = {
    "RegressionHead": ("squared error", ("mse", "meansquarederror"),
                       ("mse", "meansquarederror")),
    "BinaryClassHead": (
        "sigmoid cross entropy", _CROSS_ENTROPY,
        _ACCURACY + _CROSS_ENTROPY + ("binaryaccuracy",)),
    "MultiLabelHead": ("sigmoid cross entropy", _CROSS_ENTROPY, ("auc",)),
    "MultiClassHead": (
        "softmax cross entropy",
        ("sparsecategoricalcrossentropy", "categoricalcrossentropy"),
        _ACCURACY + ("sparsecategoricalaccuracy",
                     "sparsecategoricalcrossentropy")),
}
# Values of arguments that do not change a loss: heads always take logits.
_WITHOUT_MEANING = ("name", "from_logits", "dtype")
_ADVICE = {
    "loss": "Another loss is the head's loss_fn.",
    "loss_weights": "Weights of losses are the head_weights of a MultiHead.",
    "metrics": "Other metrics are the estimator's metric_fn.",
    "weighted_metrics": "Weights of examples are the head's weight_column.",
}
_MEAN = ("auto", "sum_over_batch_size", None)


def compile_arguments(model: Any) -> Dict[str, Any]:
  """Returns the arguments that a model was compiled with, by their names."""
  config = getattr(model, "_compile_config", None)  # Of Keras 3.
  if config is not None:
    return dict(config.config)
  return {"loss": getattr(model, "loss", None),
          "loss_weights": getattr(model, "loss_weights", None),
          "metrics": getattr(model, "_compile_metrics", None),
          "weighted_metrics": getattr(
              model, "_compile_weighted_metrics", None)}


def _name(value: Any) -> str:
  """Returns the name of a loss or metric, as a user writes it."""
  if isinstance(value, str):
    return value
  return getattr(value, "__name__", None) or type(value).__name__


def _shown(value: Any) -> str:
  """Returns an argument of compile as text."""
  if isinstance(value, dict):
    return "{%s}" % ", ".join(
        f"{key!r}: {_shown(one)}" for key, one in value.items())
  if isinstance(value, (list, tuple)):
    return f"[{', '.join(map(_shown, value))}]"
  if value is None or isinstance(value, (str, int, float)):
    return repr(value)
  return _name(value)


def _is_one_of(value, names):
  return re.sub("_", "", _name(value)).lower() in names


def _described(head: Any) -> Tuple[str, Sequence[str], Sequence[str]]:
  """Returns a head's loss in words, and Keras's names of it; see `_HEADS`."""
  title = type(head).__name__
  own = getattr(head, "loss_fn", None) or getattr(head, "_loss_fn", None)
  if own is not None:
    return f"the loss_fn of the {title}", (), ()
  for base in type(head).__mro__:
    if base.__name__ in _HEADS:
      words, losses, metrics = _HEADS[base.__name__]
      return f"the {words} of the {title}", losses, metrics
  return f"the loss of the {title}", (), ()


def _means(loss: Any, head: Any) -> bool:
  """Whether a loss of Keras means that of a head."""
  own = getattr(head, "loss_fn", None)
  if own is not None and loss is own:
    return True
  if not _is_one_of(loss, _described(head)[1]):
    return False
  if not hasattr(loss, "get_config"):
    return True
  given, usual = (
      {key: value for key, value in one.get_config().items()
       if key not in _WITHOUT_MEANING} for one in (loss, type(loss)()))
  usual.pop("reduction", None)
  reduction = given.pop("reduction", None)
  return given == usual and (
      reduction in _MEAN or reduction == head.loss_reduction)


def _of_heads(value: Any, names: List[Any], outputs: List[str]) -> List[Any]:
  """Returns the argument of compile for each head; `names` are the heads'."""
  if isinstance(value, dict):
    keys = names if set(value) & set(names) else outputs
    return [value.get(key) for key in keys]
  if isinstance(value, (list, tuple)):
    if set(outputs) == set(names):
      return [dict(zip(outputs, value)).get(name) for name in names]
    return list(value)
  return [value] * len(names)


def _flat(value: Any) -> List[Any]:
  """Returns the metrics in an argument of compile."""
  if isinstance(value, dict):
    value = list(value.values())
  if isinstance(value, (list, tuple)):
    return [one for part in value for one in _flat(part)]
  return [] if value is None else [value]


def _dropped_by_keras_head(model, head):
  """See `dropped`. A KerasHead has arguments of `compile` of its own."""
  compiled, used = compile_arguments(model), head.compile_arguments
  ignored = [
      name for name in _ADVICE if compiled.get(name) is not None and not (
          head.has_losses(compiled[name]) if name == "loss" else
          _shown(compiled[name]) == _shown(used.get(name)))]
  if not ignored:
    return None
  given = ", ".join(f"{name}={_shown(compiled[name])}" for name in ignored)
  return (f"is compiled with {given}, without effect: the KerasHead "
          f"({head.loss_names}) trains it. Give that what it is to use.")


def dropped(model: Any, head: Any) -> Optional[str]:
  """Returns the arguments of compile that training ignores, as text.

  Args:
    model: a model of Keras.
    head: the head that trains it.

  Returns:
    The end of a sentence that begins with the model, or None for nothing.
  """
  if hasattr(head, "compile_arguments"):
    return _dropped_by_keras_head(model, head)
  heads = list(getattr(head, "heads", ())) or [head]
  names = [getattr(part, "name", None) for part in heads]
  outputs = list(getattr(model, "output_names", None) or ())
  compiled = compile_arguments(model)
  weights = getattr(head, "head_weights", [1.] * len(heads))
  ignored = []
  losses = _of_heads(compiled.get("loss"), names, outputs)
  if any(loss is not None and not _means(loss, part)
         for loss, part in zip(losses, heads)):
    ignored.append("loss")
  if any(given is not None and given != weight for given, weight in zip(
      _of_heads(compiled.get("loss_weights"), names, outputs), weights)):
    ignored.append("loss_weights")
  known = [name for part in heads for name in _described(part)[2]]
  for argument in "metrics", "weighted_metrics":
    if not all(_is_one_of(metric, known)
               for metric in _flat(compiled.get(argument))):
      ignored.append(argument)
  if not ignored:
    return None
  given = ", ".join(f"{name}={_shown(compiled[name])}" for name in ignored)
  trains = " and ".join(dict.fromkeys(_described(part)[0] for part in heads))
  advice = " ".join(_ADVICE[name] for name in ignored if name in _ADVICE)
  return (f"is compiled with {given}, without effect: {trains} trains it. "
          f"{advice}")


# From the class of a head to the class of the Keras loss that means the same of
# logits, and to the metrics, as functions that make them.
_LOSSES: Dict[str, Tuple[str, Callable[[Any], List[Any]]]] = {
    "RegressionHead": ("MeanSquaredError", lambda metrics: []),
    "BinaryClassHead": (
        "BinaryCrossentropy", lambda metrics: [
            metrics.BinaryAccuracy(name="accuracy", threshold=0.)]),
    "MultiLabelHead": ("BinaryCrossentropy", lambda metrics: []),
    "MultiClassHead": (
        "SparseCategoricalCrossentropy", lambda metrics: [
            metrics.SparseCategoricalAccuracy(name="accuracy")]),
}


def _of_single_head(head):
  """Returns the loss and the metrics of a head; None if Keras has none."""
  keras = tf_compat.keras_3
  if getattr(head, "loss_fn", None) is not None or getattr(
      head, "_label_vocabulary", None) is not None:
    return None
  kind = type(head).__name__
  reduction = getattr(head, "loss_reduction", None)
  if kind not in _LOSSES or reduction not in ("sum", "sum_over_batch_size"):
    return None
  name, make_metrics = _LOSSES[kind]
  arguments = {} if kind == "RegressionHead" else {"from_logits": True}
  return (getattr(keras.losses, name)(reduction=reduction, **arguments),
          make_metrics(keras.metrics))


def of_head(head: Any) -> Optional[Dict[str, Any]]:
  """Returns the arguments of `compile` for a model of a head's logits.

  Args:
    head: a head.

  Returns:
    A dict with the arguments `loss` and `metrics`, and `loss_weights` for a
    multi-head; None if Keras has no loss that means the same.
  """
  if hasattr(head, "compile_arguments"):
    return head.compile_arguments
  heads = getattr(head, "heads", None)
  if not heads:
    found = _of_single_head(head)
    return found and {"loss": found[0], "metrics": found[1]}
  by_name = {part.name: _of_single_head(part) for part in heads}
  if None in by_name.values():
    return None
  return {
      "loss": {name: loss for name, (loss, _) in by_name.items()},
      "metrics": {name: metrics for name, (_, metrics) in by_name.items()},
      "loss_weights": dict(zip(by_name, head.head_weights))}

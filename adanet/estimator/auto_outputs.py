# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which outputs of a network are for which head."""

from typing import Any, List

from adanet import tf_compat

#: The outputs of a model that gives its last layer, too.
PAIR = ("last_layer", "logits")


def head_names(head: Any) -> List[str]:
  """Returns the names of the heads of a multi-head; [] for another head."""
  dimension = getattr(head, "logits_dimension", None)
  if isinstance(dimension, dict):
    return list(dimension)
  return [part.name for part in getattr(head, "heads", ())]


def by_head(result, model, heads, owner):
  """Returns the logits of a model for one head, or a dict for several.

  Args:
    result: the return value of a call of the model.
    model: model of Keras.
    heads: list of str, the names of the heads; empty for one without parts.
    owner: str, the owner of the model, for messages.

  Raises:
    ValueError: it is not clear which output is for which head.
  """
  if isinstance(result, dict) and set(result) == set(PAIR) and (
      not heads or isinstance(result[PAIR[1]], dict)):
    return [result[key] for key in PAIR]
  if not isinstance(result, (list, tuple)) or heads and (
      len(result) == 2 and isinstance(result[1], dict)):
    return result
  names = list(getattr(model, "output_names", None) or ())
  outputs = (f"{owner}: the model has the {len(result)} outputs "
             f"{', '.join(map(str, names)) or 'without names'}, and the ")
  if not heads:
    if len(result) == 1:
      return result[0]
    raise ValueError(
        f"{outputs}head takes one: expected the logits alone, or a dict with "
        f"the keys {' and '.join(PAIR)}, or an adanet.heads.MultiHead.")
  if len(result) == len(heads):
    if not set(names) & set(heads):
      return dict(zip(heads, result))  # As Keras reads a list of losses.
    if set(names) == set(heads):
      return dict(zip(names, result))
  raise ValueError(
      f"{outputs}heads are {', '.join(heads)}: expected one output for each "
      "head, all with the heads' names, or with others in the order of the "
      "heads.")


def as_float32(value):
  """Returns a tensor as ensembles and heads take it: float16 as float32."""
  v1 = tf_compat.v1
  if isinstance(value, dict):
    return {key: as_float32(one) for key, one in value.items()}
  if isinstance(value, v1.Tensor) and value.dtype.is_floating:
    return v1.cast(value, v1.float32)
  return value


def pair(result):
  """Returns the last layer and the logits of a network, unchecked.

  Several heads may share one last layer. A `Subnetwork` has it for each.
  """
  if not isinstance(result, (list, tuple)) or len(result) != 2:
    return result, result
  last_layer, logits = result
  if isinstance(logits, dict) and not isinstance(last_layer, dict):
    last_layer = dict.fromkeys(logits, last_layer)
  return last_layer, logits


def split(result, owner):
  """Returns the last layer and the logits of a network's return value."""
  last_layer, logits = pair(result)
  for tensor in [
      tensor for part in (logits, last_layer)
      for tensor in (part.values() if isinstance(part, dict) else [part])]:
    if hasattr(type(tensor), "trainable_weights"):
      raise ValueError(
          f"{owner} returned {tensor!r}: expected logits, because the function "
          "takes features. Call the model with them, or let the function take "
          "no arguments.")
    if not isinstance(tensor, tf_compat.v1.Tensor):
      raise ValueError(
          f"{owner} returned {result!r}: expected logits or (last_layer, "
          "logits), each a tensor, or a dict of tensors for a multi-head. If "
          "the function returns an estimator, name its parameter config.")
  if last_layer is logits:
    return (as_float32(logits),) * 2
  return as_float32(last_layer), as_float32(logits)

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Finds networks that return probabilities in place of logits."""

from typing import Any, Dict, Iterable, Optional

from adanet import log as logging

# These change no value, or only its type.
_PASSED = frozenset([
    "Cast", "ExpandDims", "Identity", "IdentityN", "Reshape", "Snapshot",
    "Squeeze", "StopGradient"])
_FUNCTIONS = {"Sigmoid": "sigmoid", "Softmax": "softmax"}


def _activation(tensor: Any) -> Optional[Any]:
  """Returns the op of a softmax or sigmoid that has a tensor as its output."""
  op = getattr(tensor, "op", None)
  while op is not None and op.type in _PASSED and len(op.inputs):
    # That of an IdentityN is the one of the same number.
    number = tensor.value_index if len(op.inputs) == len(op.outputs) else 0
    tensor = op.inputs[number]
    op = tensor.op
  return op if op is not None and op.type in _FUNCTIONS else None


def _has_probabilities(predictions: Iterable[Any], head: Optional[str]) -> bool:
  """Returns whether a head makes probabilities of its logits.

  Args:
    predictions: the keys of its predictions. A multi-head has pairs.
    head: str, of which head of a multi-head; None for any.
  """
  return any(
      key == "probabilities" or isinstance(key, tuple) and
      key[-1] == "probabilities" and head in (None, key[0])
      for key in predictions)


def warn_of_probabilities(logits: Any, predictions: Any, owner: str,
                          scope: str) -> None:
  """Warns if the logits that a network returns are probabilities.

  A regression head may want them, so only heads of classes are checked.

  Args:
    logits: tensor, or dict from a head to a tensor.
    predictions: the head's predictions from them.
    owner: str, the owner of the network, for the message.
    scope: str, the name scope of the network.
  """
  if not isinstance(predictions, dict):
    return
  parts: Dict[Any, Any] = logits if isinstance(logits, dict) else {None: logits}
  for head, tensor in parts.items():
    op = _activation(tensor)
    if op is None or not _has_probabilities(predictions, head):
      continue
    path = op.name
    if path.startswith(scope + "/"):
      path = path[len(scope) + 1:]
    layer, _, name = path.rpartition("/")
    function = _FUNCTIONS[op.type]
    logging.warning(
        "%s: its logits%s are the output of a %s: %s. The head applies one "
        "itself, so the network learns slowly and badly. Return what is before "
        "the %s: a last layer without activation.", owner,
        "" if head is None else f" for the head {head!r}", function,
        f"the op {name!r} of the layer {layer!r}" if layer else
        f"the op {name!r}", function)

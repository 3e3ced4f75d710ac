# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The head's loss of logits on the evaluator's data, all examples at once."""

from typing import Any, Mapping

from adanet import tf_compat
from adanet.core import scopes
from adanet.core import subnetworks
from adanet.training import model as model_lib
from adanet.training import recorded_logits as logits_lib
from adanet.training import sessions
import numpy as np


def _put(tensors):
  """Returns features and labels of a dict from path to tensor."""
  slots = {"features": {}, "labels": None}
  for path, tensor in tensors.items():
    inside = slots
    for i, key in enumerate(path[:-1]):
      inner = inside.get(key)
      inside[key] = inside = {} if inner is None else inner
    inside[path[-1]] = tensor
  return slots["features"], slots["labels"]


def is_finite(logits: Any) -> bool:
  """Returns whether an array, or each one of a dict, has no NaN or infinity."""
  return all(np.isfinite(array).all() for array in (
      logits.values() if isinstance(logits, dict) else [logits]))


class HeadLoss:
  """The function from logits to the head's loss, in a session of its own."""

  def __init__(self, model: model_lib.Model, like: Any,
               inputs: Mapping[logits_lib.InputPath, Any]):
    """Builds its graph.

    Args:
      model: `Model`.
      like: logits of a network; their shape.
      inputs: all that the head needs beside logits; see `RecordedLogits`.
    """
    v1 = tf_compat.v1
    with scopes.new_graph(None).as_default():
      is_dict = isinstance(like, dict)
      arrays = like if is_dict else {None: like}
      logits = {head: v1.placeholder(v1.float32, (None,) + array.shape[1:])
                for head, array in arrays.items()}
      # Constants, so that TensorFlow computes ops that depend on nothing else,
      # such as checks of labels, only once.
      features, labels = _put({
          path: v1.convert_to_tensor_or_sparse_tensor(value)
          for path, value in inputs.items()})
      loss = subnetworks.LearningTask(
          model.search.head, None, features, labels, "train").apply_head(
              logits if is_dict else logits[None], "a fitted ensemble").loss
      self._heads = list(logits) if is_dict else None
      self._session = sessions.local_session(model.config.session_config)
      self._session.run(sessions.local_init_op(()))
      self._run = self._session.make_callable(loss, list(logits.values()))

  def __call__(self, logits: Any) -> float:
    """Returns the loss of the logits of all examples."""
    if self._heads is None:
      return float(self._run(logits))
    return float(self._run(*[logits[head] for head in self._heads]))

  def close(self) -> None:
    """Frees the session."""
    self._session.close()

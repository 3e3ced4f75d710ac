# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The head's loss of logits on the evaluator's data, all examples at once.

It needs the labels of all examples, and their weights, but no other features.
"""

import hashlib
from typing import Any, Dict, Iterable, List, Mapping, Set

from adanet import tf_compat
from adanet.core import scopes
from adanet.core import subnetworks
from adanet.training import recorded_logits as logits_lib
from adanet.training import sessions
from adanet.training import setup as setup_lib
import numpy as np

# What it needs.


def tensors_of(task: subnetworks.LearningTask
              ) -> Dict[logits_lib.InputPath, Any]:
  """Returns all tensors of a batch, in an order that is always the same."""
  def leaves(value, path):
    if isinstance(value, dict):
      for key in sorted(value, key=str):
        yield from leaves(value[key], path + (key,))
    elif value is not None:
      yield path, value

  return dict(leaves({"features": task.features, "labels": task.labels}, ()))


def _parts(tensor):
  """Returns the dense tensors of which one consists, such as a sparse one."""
  return tf_compat.v1.nest.flatten(tensor, expand_composites=True)


def components(task: subnetworks.LearningTask) -> List[Any]:
  """Returns all dense tensors that the tensors of a batch consist of."""
  return [part for tensor in tensors_of(task).values()
          for part in _parts(tensor)]


def loss_inputs(task: subnetworks.LearningTask,
                logits: Any) -> Dict[logits_lib.InputPath, Any]:
  """Returns the tensors of a batch from which the head computes its loss.

  These are the labels, and features with weights, whatever their names are.

  Args:
    task: `LearningTask`.
    logits: of any network, in the default graph.

  Raises:
    ValueError: one of them is not dense.
  """
  loss = task._replace(mode="train", applies_head=True).apply_head(
      logits, "the loss of fitted ensembles").loss
  # An input that only the network reads is no input of the loss.
  seen = {tensor.op.name for tensor in logits_lib.by_head(logits).values()}
  names: Set[str] = set()
  waiting = [loss.op]
  while waiting:
    op = waiting.pop()
    if op.name not in seen:
      seen.add(op.name)
      names.update(tensor.name for tensor in op.inputs)
      waiting.extend([tensor.op for tensor in op.inputs])
      waiting.extend(op.control_inputs)
  inputs = {path: tensor for path, tensor in tensors_of(task).items()
            if not names.isdisjoint(part.name for part in _parts(tensor))}
  for path, tensor in inputs.items():
    if len(_parts(tensor)) > 1:
      name = path[0] + "".join(f"[{key!r}]" for key in path[1:])
      raise ValueError(
          f"evaluator.input_fn: {name} is a {type(tensor).__name__}: expected "
          "a dense tensor with fitted ensembles. Make it dense in input_fn, for "
          "example with tf.sparse.to_indicator")
  return inputs


def digest(values: Iterable[Any]) -> str:
  """Returns the digest of some arrays of a batch."""
  hashed = hashlib.sha256()
  for value in map(np.asarray, values):
    hashed.update(f"{value.dtype.str} {value.shape} ".encode())
    # An array of strings has only pointers to them.
    hashed.update(repr(value.tolist()).encode() if value.dtype == object
                  else np.ascontiguousarray(value).tobytes())
  return hashed.hexdigest()


# The loss.


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
  return all(np.isfinite(array).all()
             for array in logits_lib.by_head(logits).values())


class HeadLoss:
  """The function from logits to the head's loss, in a session of its own."""

  def __init__(self, setup: setup_lib.SearchSetup, like: Any,
               inputs: Mapping[logits_lib.InputPath, Any]):
    """Builds its graph.

    Args:
      setup: `SearchSetup`.
      like: logits of a network; their shape.
      inputs: all that the head needs beside logits; see `RecordedLogits`.
    """
    v1 = tf_compat.v1
    with scopes.new_graph(None).as_default():
      logits = {head: v1.placeholder(v1.float32, (None,) + array.shape[1:])
                for head, array in logits_lib.by_head(like).items()}
      # Constants, so that TensorFlow computes ops that depend on nothing else,
      # such as checks of labels, only once.
      features, labels = _put({
          path: v1.convert_to_tensor(value) for path, value in inputs.items()})
      loss = subnetworks.LearningTask(
          setup.search.head, None, features, labels, "train").apply_head(
              logits_lib.of_heads(logits), "a fitted ensemble").loss
      self._heads = list(logits)
      self._session = sessions.local_session(setup.config.session_config)
      self._session.run(sessions.local_init_op(()))
      self._run = self._session.make_callable(loss, list(logits.values()))

  def __call__(self, logits: Any) -> float:
    """Returns the loss of the logits of all examples."""
    arrays = logits_lib.by_head(logits)
    return float(self._run(*[arrays[head] for head in self._heads]))

  def close(self) -> None:
    """Frees the session."""
    self._session.close()

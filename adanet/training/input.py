# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Calls a user's input_fn in the graph that trains, evaluates or predicts."""

import functools
import inspect
import typing

from adanet import tf_compat
from adanet.training import arrays
from adanet.training import input_position


class Input(typing.NamedTuple):
  """A batch of input in the graph.

  Attributes:
    features: tensor or dict of tensors.
    labels: tensor, dict of tensors, or None.
    initializers: list of ops that start the input in a session.
  """
  features: typing.Any
  labels: typing.Any
  initializers: typing.List[typing.Any]


def _pair(batch, mode):
  """Returns features and labels, which may be absent for prediction."""
  if isinstance(batch, (list, tuple)):
    if len(batch) == 2:
      return batch[0], batch[1]
    raise ValueError(
        "input_fn must return a pair (features, labels), or a Dataset of such "
        f"pairs, got {len(batch)} values")
  if mode != "infer":
    raise ValueError(
        "input_fn must return labels, too, as a pair (features, labels) or a "
        f"Dataset of such pairs, got {type(batch).__name__} alone")
  return batch, None


def _parameters(function):
  """Returns the names of a function's parameters that are not bound yet."""
  names = set(inspect.signature(function).parameters)
  # A signature still has what a partial binds by name.
  while isinstance(function, functools.partial):
    names -= set(function.keywords)
    function = function.func
  return names


def call(input_fn: typing.Callable[..., typing.Any], mode: str,
         config: typing.Any, input_context: typing.Callable[[], typing.Any],
         ) -> Input:
  """Calls an input_fn in the default graph.

  Args:
    input_fn: function that returns `(features, labels)`, or a `tf.data.Dataset`
      of them; for prediction, features alone will do. Arrays are one batch:
      again and again to train, and else once. It may take `mode`, `config`,
      `params` (an empty dict) and `input_context`.
    mode: str, one of `tf.estimator.ModeKeys`.
    config: RunConfig.
    input_context: function that returns the `InputContext` of this worker.

  Raises:
    ValueError: input_fn is no function, or returns something else.
  """
  v1 = tf_compat.v1
  if not callable(input_fn):
    raise ValueError(
        "input_fn must be a function that returns (features, labels) or a "
        f"tf.data.Dataset, got {arrays.described(input_fn)}")
  taken = _parameters(input_fn)
  arguments: typing.Dict[str, typing.Any] = {
      name: value for name, value in (
          ("mode", mode), ("config", config), ("params", {}))
      if name in taken}
  if "input_context" in taken:
    arguments["input_context"] = input_context()
  initializers = []
  with v1.device("/cpu:0"):
    batch = input_fn(**arguments)
    if not isinstance(batch, tf_compat.v2.data.Dataset):
      features, labels = _pair(batch, mode)
      batch = arrays.in_graph(features, labels, repeats=mode == "train")
    if isinstance(batch, tf_compat.v2.data.Dataset):
      iterator = v1.data.make_initializable_iterator(batch)
      initializers.append(iterator.initializer)
      batch = iterator.get_next()
    if mode == "train" and not getattr(config, "num_ps_replicas", 0):
      batch = input_position.counted(batch, initializers)
  features, labels = _pair(batch, mode)
  if labels is None and mode != "infer":
    raise ValueError(
        "input_fn must return labels, too, got None: return a pair (features, "
        "labels)")
  return Input(features, labels, initializers)

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Calls a user's input_fn in the graph that trains, evaluates or predicts."""

import contextlib
import functools
import inspect
import re
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence

from adanet import log as logging
from adanet import messages
from adanet import tf_compat
from adanet.core import evaluator as evaluator_lib
from adanet.core import scopes
from adanet.core import user_input
from adanet.tf_compat import runtime
from adanet.training import arrays
from adanet.training import input_position
import numpy as np

_LOOK_SECS = 10.  # How long NaN is looked for.

_MADE_BEFORE = ("input_fn returned a {} that was made before: make it in the "
                "function, because each graph needs one")

# The arguments that an input_fn may take.
_ARGUMENTS = "mode", "config", "params", "input_context"


class Input(NamedTuple):
  """A batch of input in the graph.

  Attributes:
    features: tensor or dict of tensors.
    labels: tensor, dict of tensors, or None.
    initializers: list of ops that start the input in a session.
    turn: int32 [], a tensor to feed: the turn whose input is read. None if all
      turns have the same input.
  """
  features: Any
  labels: Any
  initializers: List[Any]
  turn: Any = None


def _pair(batch, mode):
  """Returns features and labels, which may be absent for prediction."""
  if isinstance(batch, (list, tuple)):
    if len(batch) == 2:
      return batch[0], batch[1]
    advice = "" if len(batch) != 3 else (
        ". If the third are weights, make them a feature, and give its name to "
        "the head as weight_column")
    raise ValueError(
        "input_fn must return a pair (features, labels), or a Dataset of such "
        f"pairs, got {len(batch)} values{advice}")
  instead = None
  if batch is None:
    instead = ""
  elif callable(batch):
    instead = ": give this function itself as input_fn"
  elif user_input.is_read_by_python(batch):
    instead = user_input.from_generator()
  if instead is not None:
    raise ValueError(
        "input_fn must return (features, labels) or a tf.data.Dataset, got "
        f"{messages.describe(batch)}{instead}")
  if mode != "infer":
    raise ValueError(
        "input_fn must return labels, too, as a pair (features, labels) or a "
        f"Dataset of such pairs, got {type(batch).__name__} alone")
  return batch, None


def _check_is_batch(features, labels):
  """Checks that features and labels are a batch of the default graph.

  A feature of shape [] beside other features may be an argument of the network.
  """
  graph = tf_compat.v1.get_default_graph()
  for leaf in tf_compat.v1.nest.flatten((features, labels)):
    if getattr(leaf, "graph", graph) is not graph:
      raise ValueError(_MADE_BEFORE.format("tensor"))
  for name, value in (features.items() if isinstance(features, dict) else
                      [("features", features)]):
    if isinstance(value, (list, tuple)) and not all(
        hasattr(leaf, "dtype") for leaf in tf_compat.v1.nest.flatten(value)):
      raise ValueError(
          f"input_fn: the feature {name!r} is a {type(value).__name__} of "
          "Python's values: make an array of it by numpy.asarray")
  named = {name: [getattr(getattr(leaf, "shape", None), "ndims", None)
                  for leaf in tf_compat.v1.nest.flatten(value)]
           for name, value in (("features", features), ("labels", labels))}
  for name, ranks in named.items():
    if 0 in ranks and (name == "labels" or not any(ranks)):
      raise ValueError(
          f"input_fn: the {name} have the shape [], without a dimension of the "
          "examples: call batch() on the dataset")


def _parameters(function):
  """Returns the unbound parameters of a function, by name."""
  parameters = dict(inspect.signature(function).parameters)
  # A signature still has the arguments that a partial binds by name.
  while isinstance(function, functools.partial):
    for name in function.keywords:
      parameters.pop(name, None)
    function = function.func
  return parameters


def _check_parameters(parameters):
  """Checks that adanet passes each argument that an input_fn needs."""
  unknown = [name for name, parameter in parameters.items()
             if name not in _ARGUMENTS and
             parameter.default is parameter.empty and parameter.kind not in (
                 parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)]
  if unknown:
    raise ValueError(
        f"input_fn needs the arguments {', '.join(unknown)}: expected a "
        f"function of some of {', '.join(_ARGUMENTS)}, or of none")


def takes_input_context(input_fn: Callable[..., Any]) -> bool:
  """Returns whether an input_fn takes the part of the input to read."""
  return callable(input_fn) and "input_context" in _parameters(input_fn)


def _in_turns(iterators, like):
  """Returns a batch of an iterator, and the tensor that selects the iterator.

  Args:
    iterators: the iterators of similar datasets.
    like: any of the datasets.
  """
  v1 = tf_compat.v1
  turn = v1.placeholder_with_default(v1.constant(0), [], name="input_turn")
  handles = v1.stack([iterator.string_handle() for iterator in iterators])
  return v1.data.Iterator.from_string_handle(
      handles[turn], v1.data.get_output_types(like),
      v1.data.get_output_shapes(like),
      v1.data.get_output_classes(like)).get_next(), turn


def _iterator(dataset):
  """Returns the iterator of an input_fn's result."""
  try:
    return tf_compat.v1.data.make_initializable_iterator(
        runtime.without_idle_tuning(dataset))
  except ValueError as error:
    # Those of TensorFlow 2, and that of 1.15.
    if not re.search("is different from the graph|Eager-defined Tensor|"
                     "from the same graph", str(error)):
      raise
    raise ValueError(_MADE_BEFORE.format("tf.data.Dataset")) from error


def _named(batch):
  """Returns the tensors of floats of an `Input`, by the user's names."""
  tensors = {}
  for kind, structure in (("feature", batch.features), ("label", batch.labels)):
    named = structure if isinstance(structure, dict) else {None: structure}
    tensors.update(
        (f"the {kind}s" if key is None else f"the {kind} {key!r}", tensor)
        for key, tensor in named.items()
        if isinstance(tensor, tf_compat.v1.Tensor) and
        tensor.dtype.is_floating)
  return tensors


def not_finite(read: Callable[[], Input], num_batches: Optional[int]) -> str:
  """Returns the tensors with NaN or infinity in an input's first batches.

  Reads the input again. No error ends training: an input that cannot be read
  has no such tensors.

  Args:
    read: function that builds the `Input` in the default graph.
    num_batches: int, the number of batches to read; None for all. Reading stops
      after some seconds.

  Returns:
    Such as "the feature 'x', the labels"; "" for none.
  """
  v1 = tf_compat.v1
  try:
    with scopes.new_graph(None).as_default() as graph:
      batch = read()
      tensors = _named(batch)
      if not tensors or graph.get_collection(v1.GraphKeys.QUEUE_RUNNERS):
        return ""
      with v1.Session() as session:
        session.run([v1.local_variables_initializer(), v1.tables_initializer(),
                     batch.initializers])
        end = time.monotonic() + _LOOK_SECS
        left = float("inf") if num_batches is None else num_batches
        while left > 0 and time.monotonic() < end:
          left -= 1
          values = session.run(tensors)
          names = [name for name, value in sorted(values.items())
                   if not np.isfinite(value).all()]
          if names:
            return ", ".join(names)
  except Exception as error:  # pylint: disable=broad-except
    logging.debug("The input is not looked at: %s", error)
  return ""


def call(input_fn: Callable[..., Any], mode: str, config: Any,
         input_contexts: Sequence[Any]) -> Input:
  """Calls an input_fn in the default graph.

  Args:
    input_fn: function that returns `(features, labels)`, or a `tf.data.Dataset`
      of such pairs; for prediction, features alone suffice. Arrays are one
      batch, repeated without end for training and read once otherwise. The
      function may take `mode`, `config`, `params` (an empty dict) and
      `input_context`.
    mode: str, a constant of `tf.estimator.ModeKeys`.
    config: RunConfig.
    input_contexts: list of the `InputContext` of the worker, or of each turn of
      the worker. Each turn has a separate `tf.data.Dataset`. Tensors are the
      same for all turns.

  Raises:
    ValueError: input_fn is no function, or the result is not as described.
  """
  v1 = tf_compat.v1
  user_input.check_input_fn(input_fn)
  parameters = _parameters(input_fn)
  _check_parameters(parameters)
  arguments: Dict[str, Any] = {
      name: value for name, value in (
          ("mode", mode), ("config", config), ("params", {}))
      if name in parameters}

  def read(context):
    if "input_context" in parameters:
      arguments["input_context"] = context
    # The workers of a cluster read the same order, whatever else they build.
    with (scopes.same_seeds("input") if len(input_contexts) > 1 or
          context.num_input_pipelines > 1 else contextlib.nullcontext()):
      with user_input.explained_in_input_fn():
        batch = input_fn(**arguments)
    if isinstance(batch, tf_compat.v2.data.Dataset):
      return batch
    return arrays.in_graph(*_pair(batch, mode), repeats=mode == "train")

  initializers = []
  turn = start = None
  with v1.device("/cpu:0"):
    batch = read(input_contexts[0])
    if isinstance(batch, tf_compat.v2.data.Dataset):
      iterators = [_iterator(batch)] + [
          _iterator(read(context)) for context in input_contexts[1:]]
      initializers += [iterator.initializer for iterator in iterators]
      if mode != "train":
        v1.add_to_collection(evaluator_lib.INPUT_CARDINALITY,
                             v1.data.experimental.cardinality(batch))
      if len(iterators) > 1:
        batch, turn = _in_turns(iterators, batch)
      else:
        start = getattr(batch, "adanet_start", None)
        batch = iterators[0].get_next()
    elif mode != "train" and input_position.is_the_same(batch):
      v1.add_to_collection(evaluator_lib.INPUT_CARDINALITY,
                           v1.constant(evaluator_lib.ENDLESS, v1.int64))
    if mode == "train" and not getattr(config, "num_ps_replicas", 0):
      batch = input_position.counted(batch, initializers, start)
  features, labels = _pair(batch, mode)
  _check_is_batch(features, labels)
  if labels is None and mode != "infer":
    raise ValueError(
        "input_fn must return labels, too, got None: return a pair (features, "
        "labels)")
  return Input(features, labels, initializers, turn)

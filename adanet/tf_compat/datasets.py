# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Options of `tf.data` that a session needs."""

from typing import Any

from adanet.tf_compat import _tensorflow

# These have a number that TensorFlow may tune: of threads, or of elements.
_TUNABLE = ("Parallel", "Prefetch", "MapAndBatch")


def _ops(graph_def):
  """Yields the types of all ops of a graph and of its functions."""
  for node in graph_def.node:
    yield node.op
  for function in graph_def.library.function:
    for node in function.node_def:
      yield node.op


def without_idle_tuning(dataset: Any) -> Any:
  """Returns a dataset without the thread that would have nothing to tune.

  The close of a session waits for that thread, which sleeps for up to a minute.

  Args:
    dataset: `tf.data.Dataset` of the default graph.
  """
  options = dataset.options()
  autotune = getattr(options, "autotune", None)  # Not in TensorFlow 1.15.
  name = "enabled"
  if autotune is None:
    autotune, name = options.experimental_optimization, "autotune"
  if getattr(autotune, name) is not None:
    return dataset
  graph_def = _tensorflow.v1.get_default_graph().as_graph_def()
  if any(op.startswith(_TUNABLE) for op in _ops(graph_def)):
    return dataset
  added = _tensorflow.v1.data.Options()
  setattr(added.experimental_optimization if name == "autotune"
          else added.autotune, name, False)
  return dataset.with_options(added)

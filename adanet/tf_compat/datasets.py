# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Options of `tf.data` that a session needs."""

from typing import Any

from adanet.tf_compat import _tensorflow

# These have a number that TensorFlow may tune: of threads, or of elements. Or
# they are options of a user.
_TUNABLE = ("Parallel", "Prefetch", "MapAndBatch", "OptionsDataset")


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
  A dataset with options of its own stays as it is.

  Args:
    dataset: `tf.data.Dataset` of the default graph.
  """
  options = _tensorflow.v1.data.Options()
  if hasattr(options, "autotune"):
    options.autotune.enabled = False
  else:  # TensorFlow 1.15, whose graph does not have the options.
    if dataset.options() != options:
      return dataset
    options.experimental_optimization.autotune = False
  ops = _ops(_tensorflow.v1.get_default_graph().as_graph_def())
  if any(op.startswith(_TUNABLE) for op in ops):
    return dataset
  return dataset.with_options(options)

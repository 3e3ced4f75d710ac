# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Weights that Keras 2 loads into a graph.

In a graph, Keras 2 either gives them to a session of its own, or makes ops that
never run. Training would then start from random weights.
"""

import contextlib
import os
from typing import Iterator

from adanet.tf_compat import _tensorflow

# Functions that assign for Keras 2, and their callers in Keras 2.
_ASSIGNING = frozenset(["batch_set_value", "load_own_variables", "restore"])
_LOADING = ("load_model", "load_weights", "set_weights")

# In the names of its files, where Keras 3 has functions with the same names.
_PACKAGE = os.path.join("tf_keras", "src")


def _loading_function(ops):
  """Returns the function that loads weights by one of some ops, or ""."""
  for op in ops:
    if not op.type.startswith("Assign"):
      continue
    frames = list(op.traceback)
    if _tensorflow.HAS_KERAS_3 and not any(
        _PACKAGE in frame[0] for frame in frames):
      continue
    names = [frame[2] for frame in frames]
    if not _ASSIGNING.isdisjoint(names):
      for function in _LOADING:
        if function in names:
          return function
  return ""


@contextlib.contextmanager
def not_loaded(owner: str) -> Iterator[None]:
  """Checks that Keras 2 loads no weights into the default graph in a block.

  Args:
    owner: str, the owner of the network, for messages.

  Raises:
    ValueError: it does.
  """
  graph = _tensorflow.v1.get_default_graph()
  num_ops = len(graph.get_operations())

  def check(cause=None):
    function = _loading_function(graph.get_operations()[num_ops:])
    if function:
      raise ValueError(
          f"{owner}: {function} of Keras 2 has no effect in this graph: "
          "training would start from random weights. Use Keras 3 on TensorFlow "
          "2.16 or later, or give each layer an initializer, such as "
          "tf_compat.v1.constant_initializer(array).") from cause

  try:
    yield
  except Exception as error:
    check(error)
    raise
  check()

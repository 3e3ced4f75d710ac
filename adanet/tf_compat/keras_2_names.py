# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The numbers in the names of Keras 2's layers, such as dense_2."""

import contextlib
import sys
from typing import Any, Dict, Iterator

from adanet.tf_compat import _tensorflow


def _backend():
  """Returns the module that has the numbers; None where it is not loaded.

  It is not public: it is the module of a public function.
  """
  package = ("tf_keras" if _tensorflow.HAS_KERAS_3 else
             "tensorflow" if _tensorflow.IS_TENSORFLOW_1 else "keras")
  if package not in sys.modules:
    return None
  return sys.modules[_tensorflow.keras.backend.reset_uids.__module__]


def _exchange(graph, state):
  """Makes some numbers of a graph the current ones, and returns the old ones.
  """
  backend = _backend()
  if backend is None:
    return {}
  numbers = backend.PER_GRAPH_OBJECT_NAME_UIDS
  # Names that a program has given. TensorFlow 1.15 does not keep them.
  given = getattr(backend, "OBSERVED_NAMES", set())
  before = {"numbers": numbers.pop(graph, None), "given": set(given)}
  if state.get("numbers") is not None:
    numbers[graph] = state["numbers"]
  given.clear()
  given.update(state.get("given", ()))
  return before


@contextlib.contextmanager
def numbered_apart(state: Dict[str, Any]) -> Iterator[None]:
  """Numbers the layers made in a block without the layers made before it.

  Args:
    state: dict, empty at first. Another block with it goes on.
  """
  graph = _tensorflow.v1.get_default_graph()
  before = _exchange(graph, state)
  try:
    yield
  finally:
    state.update(_exchange(graph, before))

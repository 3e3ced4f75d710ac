# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The names of TensorFlow that adanet uses and TensorFlow does not publish.

All of them stand here, seen in TensorFlow 1.15, 2.15 and 2.21. A version
without one of the names gets one line at the first use.
"""

import sys
from typing import Any, FrozenSet, Tuple

from adanet.tf_compat import _tensorflow


_SEEN = "TensorFlow 1.15, 2.15 or 2.21"


def _named(owner: Any, name: str, purpose: str) -> Any:
  """Returns an attribute of TensorFlow's inside.

  Raises:
    RuntimeError: this version of TensorFlow has no such attribute.
  """
  attribute = getattr(owner, name, None)
  if attribute is None:
    raise RuntimeError(
        f"TensorFlow {_tensorflow.v1.VERSION} has no {name}, which adanet "
        f"needs for {purpose}: install {_SEEN}.")
  return attribute


def has_started() -> bool:
  """Returns whether TensorFlow has made its threads for eager ops.

  No public function tells without making them. The answer is "no" in a release
  of TensorFlow that has no such name.
  """
  module = sys.modules.get("tensorflow.python.eager.context")
  context = getattr(module, "_context", None)
  return bool(getattr(context, "_initialized", False))


def eager_device() -> str:
  """Returns the device of the eager scope; "" outside all of them.

  A new tensor tells its device, but not whether a scope or a default chose it.
  """
  module = _tensorflow.load("tensorflow.python.eager.context")
  purpose = "the devices of variables that are made eagerly"
  return _named(_named(module, "context", purpose)(), "device_name", purpose)


def device_setter() -> Any:
  """Returns the module of `replica_device_setter`.

  It has the default strategy, `_RoundRobinStrategy`, and the list of the ops
  that hold variables, `STANDARD_PS_OPS`.
  """
  module = sys.modules[_tensorflow.v1.train.replica_device_setter.__module__]
  for name in ("_RoundRobinStrategy", "STANDARD_PS_OPS"):
    _named(module, name, "the devices of variables")
  return module


def variable_ops() -> FrozenSet[str]:
  """Returns the types of the ops that hold variables: TensorFlow's list."""
  return frozenset(device_setter().STANDARD_PS_OPS)


def op_counts() -> Any:
  """Returns the dict from graph to its number of random ops without a seed.

  TensorFlow makes their seeds of this number. TensorFlow 1.15 has no such dict,
  and asks the graph: then None.
  """
  if _tensorflow.IS_TENSORFLOW_1:
    return None
  module = sys.modules[_tensorflow.v1.get_seed.__module__]
  return _named(module, "_graph_to_seed_dict", "seeds of random ops")


def saveable_classes() -> Tuple[Any, Any]:
  """Returns the classes of what a `Saver` saves beside variables."""
  module = _tensorflow.load("tensorflow.python.training.saving.saveable_object")
  return tuple(_named(module, name, "checkpoints")
               for name in ("SaveableObject", "SaveSpec"))

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The private names of TensorFlow that adanet uses.

All such names stand in the module, seen in TensorFlow 1.15, 2.15 and 2.21. For
a version without a name, the first use raises a one-line error.
"""

import sys
from typing import Any, FrozenSet, Tuple

from adanet.tf_compat import _tensorflow


_SEEN = "TensorFlow 1.15, 2.15 or 2.21"


def _named(owner: Any, name: str, purpose: str) -> Any:
  """Returns an attribute of TensorFlow's inside."""
  attribute = getattr(owner, name, None)
  if attribute is None:
    raise RuntimeError(
        f"TensorFlow {_tensorflow.v1.VERSION} has no {name}, which adanet "
        f"needs for {purpose}: install {_SEEN}.")
  return attribute


def has_started() -> bool:
  """Returns whether TensorFlow has made the threads for eager ops.

  No public function tells without making threads. False in a release of
  TensorFlow without the private name.
  """
  module = sys.modules.get("tensorflow.python.eager.context")
  context = getattr(module, "_context", None)
  return bool(getattr(context, "_initialized", False))


def eager_device() -> str:
  """Returns the device of the eager scope; "" outside all scopes.

  A new tensor has a device, but not whether a scope or a default chose the
  device.
  """
  module = _tensorflow.load("tensorflow.python.eager.context")
  purpose = "the devices of variables that are made eagerly"
  return _named(_named(module, "context", purpose)(), "device_name", purpose)


def device_setter() -> Any:
  """Returns the module of `replica_device_setter`.

  The module has the default strategy, `_RoundRobinStrategy`, and the list of
  the ops that hold variables, `STANDARD_PS_OPS`.
  """
  module = sys.modules[_tensorflow.v1.train.replica_device_setter.__module__]
  for name in ("_RoundRobinStrategy", "STANDARD_PS_OPS"):
    _named(module, name, "the devices of variables")
  return module


def variable_ops() -> FrozenSet[str]:
  """Returns the types of the ops that hold variables: TensorFlow's list."""
  return frozenset(device_setter().STANDARD_PS_OPS)


def op_counts() -> Any:
  """Returns the dict from graph to the number of random ops without a seed.

  TensorFlow derives seeds from the number. None on TensorFlow 1.15, which asks
  the graph.
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

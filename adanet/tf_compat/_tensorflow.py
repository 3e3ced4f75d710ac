# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The parts of TensorFlow that adanet uses, each loaded at its first use.

Importing TensorFlow takes seconds, and most of adanet does not need it.
"""

import contextlib
import gc
import importlib
import sys
from typing import Any, ContextManager, Iterator


@contextlib.contextmanager
def _few_full_collections() -> Iterator[None]:
  """Lets full garbage collections wait. Collections of new objects go on.

  TensorFlow makes 600,000 objects, which live until the process ends. To search
  all of them again and again while they are made takes most of a second.
  """
  thresholds = gc.get_threshold()
  gc.set_threshold(*thresholds[:2], 1000000)
  try:
    yield
  finally:
    gc.set_threshold(*thresholds)


def _load(module):
  try:
    if "tensorflow" in sys.modules:
      return importlib.import_module(module)
    with _few_full_collections():
      return importlib.import_module(module)
  except ModuleNotFoundError as e:
    packages = {"tensorflow": "tensorflow (or tensorflow-cpu)",
                "keras": "keras", "tf_keras": "tf-keras"}
    if e.name not in packages:
      raise
    raise ModuleNotFoundError(
        f"{e.name} is not installed, and this use of adanet needs it: pip "
        f"install {packages[e.name]}.", name=e.name) from e


def eager_device() -> str:
  """Returns the device of the eager scope; "" outside all of them.

  No version has this in public. A new tensor tells its device, but not whether
  a scope or a default chose it.
  """
  return _load("tensorflow.python.eager.context").context().device_name


def eager_mode() -> ContextManager[None]:
  """Lets TensorFlow execute eagerly in a block, also where a graph is built.

  No version has this in public.
  """
  return _load("tensorflow.python.eager.context").eager_mode()


def _version():
  """Returns TensorFlow's version as a pair of int."""
  major, minor = _load("tensorflow.compat.v1").VERSION.split(".")[:2]
  return int(major), int(minor)


def _keras():
  # Since 2.16 TensorFlow's own Keras is Keras 3, and its variables cannot be in
  # a graph of TensorFlow 1. Keras 2 has become a package of its own.
  if _version() < (2, 16):
    return _load("tensorflow.compat.v1").keras
  return _load("tf_keras")


def _keras_3():
  if _version() < (2, 16):
    raise ImportError(
        "Keras 3 needs TensorFlow 2.16 or later, and this is TensorFlow "
        f"{_load('tensorflow.compat.v1').VERSION}: use tf_compat.keras.")
  return _load("keras")


def _standard_ps_ops():
  # Not public: TensorFlow's own list, in the module of a public function.
  setter = _load("tensorflow.compat.v1").train.replica_device_setter
  return frozenset(_load(setter.__module__).STANDARD_PS_OPS)


LOADERS = {
    "v1": lambda: _load("tensorflow.compat.v1"),
    "v2": lambda: _load("tensorflow.compat.v2"),
    "keras": _keras,
    "keras_3": _keras_3,
    "STANDARD_PS_OPS": _standard_ps_ops,
    "HAS_KERAS_3": lambda: _version() >= (2, 16),
    "IS_TENSORFLOW_1": lambda: _version() < (2, 0),
}


def __getattr__(name: str) -> Any:
  if name not in LOADERS:
    raise AttributeError(
        f"module 'adanet.tf_compat' has no attribute '{name}'")
  value = globals()[name] = LOADERS[name]()
  return value

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The parts of TensorFlow that adanet uses, each loaded at its first use.

Importing TensorFlow takes seconds, and most of adanet does not need it.
"""

import contextlib
import gc
import importlib
import sys
from typing import Any, Iterator


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


def load(module: str) -> Any:
  """Returns a module of TensorFlow or Keras, loaded at its first use."""
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


def _version():
  """Returns TensorFlow's version as a pair of int."""
  major, minor = load("tensorflow.compat.v1").VERSION.split(".")[:2]
  return int(major), int(minor)


def _keras():
  # Since 2.16 TensorFlow's own Keras is Keras 3, and its variables cannot be in
  # a graph of TensorFlow 1. Keras 2 has become a package of its own.
  if _version() < (2, 16):
    return load("tensorflow.compat.v1").keras
  return load("tf_keras")


def _keras_3():
  if _version() < (2, 16):
    raise ImportError(
        "Keras 3 needs TensorFlow 2.16 or later, and this is TensorFlow "
        f"{load('tensorflow.compat.v1').VERSION}: use tf_compat.keras.")
  return load("keras")


LOADERS = {
    "v1": lambda: load("tensorflow.compat.v1"),
    "v2": lambda: load("tensorflow.compat.v2"),
    "keras": _keras,
    "keras_3": _keras_3,
    "HAS_KERAS_3": lambda: _version() >= (2, 16),
    "IS_TENSORFLOW_1": lambda: _version() < (2, 0),
}


def __getattr__(name: str) -> Any:
  if name not in LOADERS:
    raise AttributeError(
        f"module 'adanet.tf_compat' has no attribute '{name}'")
  value = globals()[name] = LOADERS[name]()
  return value

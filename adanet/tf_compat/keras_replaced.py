# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Functions of TensorFlow and Keras 3 that are other ones in a scope.

Layers with tables are made and adapted eagerly in a scope, also where a graph
is built. Where its graph uses an eager tensor, it gets the copy of the
`keras_eager.EagerState`. Outside of the threads that are in a scope, and after
the last scope, everything is as before.
"""

import contextlib
import functools
import inspect
import threading
from typing import Any, Iterator, List, Tuple

from adanet.tf_compat import _tensorflow
from adanet.tf_compat import keras_eager
from adanet.tf_compat import keras_loaded

# Methods of layers that can be adapted which fill or read their state.
_EAGER_METHODS = (
    "__init__", "adapt", "update_state", "finalize_state", "reset_state",
    "set_vocabulary", "get_vocabulary", "vocabulary_size",
    "load_own_variables", "save_own_variables", "load_assets", "save_assets")


def _is_eager():
  return _tensorflow.v2.executing_eagerly()


def _converting(original):
  """Returns the function that makes an eager tensor one of a graph."""

  @functools.wraps(original)
  def convert(self, dtype=None, name=None):
    state = keras_eager.current()
    if state is None or _is_eager():
      return original(self, dtype, name)
    return state.tensor(self, original, dtype, name)

  return convert


def _assigning(original):
  """Returns the method with which a `keras.Variable` assigns."""

  @functools.wraps(original)
  def assign(self, value):
    state = keras_eager.current()
    if state is None or _is_eager() or not state.assigns(self, value):
      original(self, value)

  return assign


def _reading(original):
  """Returns the property `value` of a `keras.Variable`."""

  def value(self):
    read = original.fget(self)
    state = keras_eager.current()
    if state is None or _is_eager() or not isinstance(
        read, _tensorflow.v2.Variable):
      return read
    copy = state.copy_here(read) if keras_eager.is_eager(read) else None
    return read if copy is None else copy

  return property(value, doc=original.__doc__)


def _gathering(unused_original):
  """Returns the property `sparse_read` of a `keras.Variable`.

  `tf.gather` asks for it, and where there is none it reads the whole variable:
  the table of an `Embedding`, in each step, over the network from a parameter
  server.
  """

  def sparse_read(self):
    if keras_eager.current() is None or _is_eager():
      raise AttributeError("sparse_read")
    return self.value.sparse_read  # A tensor, as of an autocast, has none.

  return property(sparse_read)


def _eagerly(original):
  """Returns a method that runs eagerly in a scope."""

  @functools.wraps(original)
  def run(self, *args, **kwargs):
    if not keras_eager.current() or _is_eager():
      return original(self, *args, **kwargs)
    with keras_eager.eagerly():
      return original(self, *args, **kwargs)

  if original.__name__ == "__init__":  # Keras reads its arguments.
    run.__signature__ = inspect.signature(original)
  return run


def _built_eagerly(original):
  """Returns the `__call__` of `Normalization`.

  With the values that it was given it is built eagerly in a scope: it keeps
  tensors of them. It may have been made before, and have its `build` of then.
  """

  @functools.wraps(original)
  def call(self, inputs, *args, **kwargs):
    if keras_eager.current() and not _is_eager() and not self.built and (
        self.input_mean is not None and hasattr(inputs, "shape")):
      with keras_eager.eagerly():
        self.build(tuple(inputs.shape))
    return original(self, inputs, *args, **kwargs)

  return call


def _adapted_eagerly(original):
  """Returns the `adapt` of `Normalization`.

  To an array it adapts in the graph: its variables are in the checkpoint.
  """
  run = _eagerly(original)

  @functools.wraps(original)
  def adapt(self, data):
    if self.built or hasattr(data, "__array_interface__"):
      return original(self, data)
    return run(self, data)

  return adapt


class _Replaced:
  """Functions of TensorFlow and Keras that are other ones in a scope.

  Outside of the threads that are in a scope they do what they did.
  """

  def __init__(self) -> None:
    self._lock = threading.Lock()
    self._num_scopes = 0
    # A class, the name of its function, and the function; None for none.
    self._replaced: List[Tuple[Any, str, Any]] = []
    self._has_layers = False

  def begin(self) -> None:
    """Replaces the functions, unless another scope has."""
    with self._lock:
      if not self._num_scopes:
        self._replace(next(base for base in type(_eager_tensor()).__mro__
                           if "__tf_tensor__" in vars(base)),
                      "__tf_tensor__", _converting)
      self._num_scopes += 1
    self.add_layers()

  def add_layers(self) -> None:
    """Replaces the functions of layers, if Keras is loaded by now."""
    with self._lock:
      keras = keras_loaded.loaded()
      if self._has_layers or keras is None or not self._num_scopes:
        return
      self._has_layers = True
      variable = keras.src.backend.Variable
      self._replace(variable, "_direct_assign", _assigning)
      self._replace(next(base for base in variable.__mro__
                         if "value" in vars(base)), "value", _reading)
      if not hasattr(variable, "sparse_read"):
        self._replace(variable, "sparse_read", _gathering)
      normalization = keras.layers.Normalization
      self._replace(normalization, "__call__", _built_eagerly)
      self._replace(normalization, "adapt", _adapted_eagerly)
      layers = {base for layer in vars(keras.layers).values()
                if isinstance(layer, type) and hasattr(layer, "adapt")
                for base in layer.__mro__ if hasattr(base, "adapt")}
      for layer in layers - {normalization}:
        for name in _EAGER_METHODS:
          if name in vars(layer):
            self._replace(layer, name, _eagerly)

  def end(self) -> None:
    """Puts the functions back, unless another scope needs them."""
    with self._lock:
      self._num_scopes -= 1
      if self._num_scopes:
        return
      while self._replaced:
        owner, name, before = self._replaced.pop()
        if before is None:
          delattr(owner, name)
        else:
          setattr(owner, name, before)
      self._has_layers = False

  def _replace(self, owner, name, wrapped):
    self._replaced.append((owner, name, vars(owner).get(name)))
    setattr(owner, name, wrapped(getattr(owner, name, None)))


_REPLACED = _Replaced()


@functools.lru_cache(maxsize=None)
def _eager_tensor():
  with keras_eager.eagerly():
    return _tensorflow.v1.constant(0.)


@contextlib.contextmanager
def replaced() -> Iterator[None]:
  """Replaces the functions in a block."""
  _REPLACED.begin()
  try:
    yield
  finally:
    _REPLACED.end()


def load_keras() -> None:
  """Loads Keras 3 in a scope, so that layers are made as in a scope."""
  _tensorflow.keras_3  # pylint: disable=pointless-statement
  _REPLACED.add_layers()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The user's Keras callbacks, with separate objects for each network.

Networks call the hooks of epochs, of checks on held-out rows and of training.
Networks call no hooks of batches, because a call of a network runs many steps.
"""

import inspect
from typing import Any

from adanet import tf_compat
from adanet.ensemble_search import words

keras = tf_compat.keras_3
_HOOKS_OF_BATCHES = [
    f"on_{part}batch_{end}" for part in ("", "train_", "test_")
    for end in ("begin", "end")]
_EXPECTED = ("expected a function that returns a list of new callbacks for each "
             "network, such as lambda: [keras.callbacks.ReduceLROnPlateau()]")


def none() -> Any:
  """Returns a list without callbacks."""
  return keras.callbacks.CallbackList()


def check(callbacks: Any) -> None:
  """Checks the argument `callbacks` of `fit` and the returned callbacks.

  Raises:
    TypeError: `callbacks` is no function, or does not return a list of
      callbacks.
    ValueError: a callback has hooks of batches, or belongs to another network.
  """
  if callbacks is None:
    return
  if not callable(callbacks):
    raise TypeError(f"callbacks is {words.described(callbacks)}: {_EXPECTED}.")
  for one in _made(callbacks, "name"):
    for hook in _HOOKS_OF_BATCHES:
      if _has(one, hook):
        raise ValueError(
            f"callbacks: {type(one).__name__} has {hook}, which would never be "
            "called, because a call of a network takes many steps: expected "
            "hooks of epochs and of training alone.")


def _has(callback, hook):
  """Returns whether a callback needs a hook of batches."""
  if hook in vars(callback):  # As in a LambdaCallback.
    return True
  function = getattr(type(callback), hook)
  if function is getattr(keras.callbacks.Callback, hook):
    return False
  # By default, TensorBoard writes at the end of epochs.
  often = getattr(callback, "update_freq", getattr(callback, "save_freq", None))
  return often != "epoch"


def _made(callbacks, name):
  """Returns new callbacks for a network."""
  try:
    takes_name = any(
        one.default is one.empty and one.kind in (
            one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
        for one in inspect.signature(callbacks).parameters.values())
  except ValueError:  # A function that is not written in Python.
    takes_name = False
  found = callbacks(name) if takes_name else callbacks()
  if not isinstance(found, (list, tuple)) or not all(
      isinstance(one, keras.callbacks.Callback) for one in found):
    raise TypeError(f"callbacks returned {words.described(found)}: {_EXPECTED}.")
  if any(one.model is not None for one in found):
    raise ValueError(f"callbacks returned an object of another network: "
                     f"{_EXPECTED}.")
  return list(found)


def of_network(callbacks: Any, name: str, model: Any, epochs: int) -> Any:
  """Returns a `keras.callbacks.CallbackList` for a network.

  Args:
    callbacks: the user's argument of `fit`.
    name: str, the name of the network.
    model: `keras.Model`.
    epochs: int, the maximum number of epochs.
  """
  return keras.callbacks.CallbackList(
      [] if callbacks is None else _made(callbacks, name), model=model,
      verbose=0, epochs=epochs, steps=None)

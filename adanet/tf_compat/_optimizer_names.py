# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The optimizers that Keras has by name, with Keras's defaults."""

import functools
import inspect
from typing import Any, Callable, Dict

from adanet.tf_compat import _tensorflow

# Every version of Keras has these. They are known without loading it.
_EVERYWHERE = frozenset([
    "adadelta", "adagrad", "adam", "adamax", "ftrl", "nadam", "rmsprop", "sgd"])


@functools.lru_cache(maxsize=None)
def _classes() -> Dict[str, Any]:
  """Returns Keras's optimizers with default arguments, by name in lower case.

  These are Keras 3's since TensorFlow 2.16, and before it `tf.keras`'s.
  """
  keras = (_tensorflow.keras_3 if _tensorflow.HAS_KERAS_3 else
           _tensorflow.v2.keras)
  classes = {}
  for name in dir(keras.optimizers):
    value = getattr(keras.optimizers, name)
    if inspect.isclass(value) and value is not keras.optimizers.Optimizer:
      try:
        inspect.signature(value).bind()
      except TypeError:  # It needs another optimizer.
        continue
      classes[name.lower()] = value
  return classes


def check(name: str) -> None:
  """Checks that Keras has an optimizer with a name, in whatever case.

  Raises:
    ValueError: it has not.
  """
  if name.lower() not in _EVERYWHERE and name.lower() not in _classes():
    names = sorted(value.__name__ for value in _classes().values())
    raise ValueError(
        f"optimizer={name!r}: expected a name that Keras has "
        f"({', '.join(names)}), an optimizer, or a function that makes one.")


def _rms_prop():
  """Returns `tf.train`'s RMSProp as Keras starts it: from no gradients."""

  class RMSProp(_tensorflow.v1.train.RMSPropOptimizer):

    def _create_slots(self, var_list):
      for variable in var_list:
        for slot in ("rms", "momentum"):
          self._zeros_slot(variable, slot, self._name)

  # Keras adds 1e-7 to the root, and this one adds to the radicand.
  return RMSProp(.001, decay=.9, epsilon=1e-14)


def _of_tensorflow_1() -> Dict[str, Callable[[], Any]]:
  """Returns functions that make the optimizers of `tf.train`, too."""
  train = _tensorflow.v1.train
  # Keras begins at 0 on TensorFlow 1.15, which is not allowed here.
  accumulated = 1e-30 if _tensorflow.IS_TENSORFLOW_1 else .1
  return {
      "adadelta": lambda: train.AdadeltaOptimizer(.001, epsilon=1e-7),
      "adagrad": lambda: train.AdagradOptimizer(.001, accumulated),
      "adam": lambda: train.AdamOptimizer(.001, epsilon=1e-7),
      "ftrl": lambda: train.FtrlOptimizer(.001),
      "rmsprop": _rms_prop,
      "sgd": lambda: train.GradientDescentOptimizer(.01),
  }


def make(name: str, for_refs: bool) -> Any:
  """Returns a new optimizer.

  Args:
    name: str, its name in whatever case.
    for_refs: whether it is to change variables of TensorFlow 1 that are no
      resources. Keras cannot, so it is the same optimizer of `tf.train`, where
      there is one.

  Raises:
    ValueError: Keras has no optimizer of this name.
  """
  check(name)
  if for_refs and name.lower() in _of_tensorflow_1():
    return _of_tensorflow_1()[name.lower()]()
  # As `keras.optimizers.get` does: Adagrad of TensorFlow 1.15 begins at 0 then.
  return _classes()[name.lower()].from_config({})

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Optimizers in a graph of TensorFlow 1, whichever way they were made."""

import functools
import typing

from adanet.tf_compat import _tensorflow

_CLASSES = {
    "Adagrad": "AdagradOptimizer",
    "Adam": "AdamOptimizer",
    "Ftrl": "FtrlOptimizer",
    "RMSProp": "RMSPropOptimizer",
    "SGD": "GradientDescentOptimizer",
}

# What tf.estimator takes for an optimizer that is given by its name.
_LEARNING_RATE = .05


def _is_keras(optimizer):
  """Whether an optimizer is of `tf_compat.keras`, without loading that."""
  return hasattr(optimizer, "get_config") and not hasattr(
      optimizer, "stateless_apply")  # Which only Keras 3 has.


def for_any_graph(optimizer: typing.Any) -> typing.Any:
  """Returns an optimizer that `minimize` can use in many graphs.

  Args:
    optimizer: what `minimize` takes. A Keras optimizer belongs to the first
      graph that uses it, so a function that makes copies stands for it. Its
      arguments are read now, which is possible only outside of graphs.

  Raises:
    ValueError: `optimizer` is a str that names none.
  """
  if isinstance(optimizer, str) and optimizer not in _CLASSES:
    raise ValueError(
        f"optimizer={optimizer!r}: expected one of "
        f"{', '.join(sorted(_CLASSES))}, an optimizer, or a function that "
        "makes one.")
  if _is_keras(optimizer) and not callable(optimizer):
    return functools.partial(
        type(optimizer).from_config, optimizer.get_config())
  return optimizer


def _keras_step(optimizer, loss, var_list):
  """Returns the op of one step of a Keras optimizer."""
  tf = _tensorflow.v1
  if any(variable.dtype.name.endswith("_ref") for variable in var_list):
    raise ValueError(
        f"optimizer={optimizer!r}: a Keras optimizer needs resource variables. "
        "Call tf_compat.v1.enable_resource_variables() at the program's start, "
        "or use an optimizer of tf_compat.v1.train.")
  if hasattr(optimizer, "get_updates"):
    return tf.group(*optimizer.get_updates(loss, var_list))
  # The optimizers of Keras since 2.11 rely on the order of eager execution,
  # which a graph has only inside of a function.
  pairs = [(gradient, variable) for gradient, variable in zip(
      tf.gradients(loss, var_list), var_list) if gradient is not None]
  optimizer.build([variable for _, variable in pairs])

  @_tensorflow.v2.function
  def apply_gradients(gradients):
    optimizer.apply_gradients(
        [(gradient, v) for gradient, (_, v) in zip(gradients, pairs)])
    return optimizer.iterations.read_value()

  return apply_gradients([gradient for gradient, _ in pairs]).op


def minimize(optimizer: typing.Any, loss: typing.Any,
             var_list: typing.Sequence[typing.Any]) -> typing.Any:
  """Returns the op of one step that lowers a loss.

  Args:
    optimizer: an optimizer of `tf_compat.v1.train`; one of
      `tf_compat.keras.optimizers`, which no other graph has used; the name of
      one: "Adagrad", "Adam", "Ftrl", "RMSProp" or "SGD", with a learning rate
      of 0.05; a function without arguments that makes one of these; or None to
      change nothing.
    loss: float tensor of shape [].
    var_list: list of the variables to change.

  Raises:
    TypeError: `optimizer` is none of these.
    ValueError: it is a str that names no optimizer, or the variables are not of
      the kind that it can change.
  """
  tf = _tensorflow.v1
  if callable(optimizer):
    optimizer = optimizer()
  if optimizer is None:
    return tf.no_op()
  if isinstance(optimizer, str):
    for_any_graph(optimizer)
    optimizer = getattr(tf.train, _CLASSES[optimizer])(_LEARNING_RATE)
  if _is_keras(optimizer):
    # Keras names variables by the name scope, which is numbered where it is
    # opened again. This one is as the variable scope.
    scope = tf.get_variable_scope().name
    with tf.name_scope(scope + "/" if scope else ""):
      return _keras_step(optimizer, loss, list(var_list))
  if not hasattr(optimizer, "minimize") or hasattr(optimizer, "get_config"):
    raise TypeError(
        f"optimizer={optimizer!r}: expected an optimizer of tf_compat.v1.train "
        "or of tf_compat.keras.optimizers.")
  return optimizer.minimize(loss=loss, var_list=var_list)

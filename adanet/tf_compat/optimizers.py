# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""All kinds of optimizers in a graph of TensorFlow 1."""

from concurrent import futures
import contextlib
import functools
import inspect
import re
from typing import Any, Callable, Dict, Sequence

from adanet import messages
from adanet.tf_compat import _tensorflow
from adanet.tf_compat import keras_internals
from adanet.tf_compat import keras_scope


# Every version of Keras has these optimizers, so a check does not load Keras.
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


def _check_name(name: str) -> None:
  """Raises a ValueError if Keras has no optimizer of a name, in any case."""
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


def _make_by_name(name: str, for_refs: bool) -> Any:
  """Returns a new optimizer of Keras.

  With `for_refs`, for variables of TensorFlow 1 that are no resources, which
  Keras cannot change: the same optimizer of `tf.train`, where there is one.
  """
  _check_name(name)
  if for_refs and name.lower() in _of_tensorflow_1():
    return _of_tensorflow_1()[name.lower()]()
  # As `keras.optimizers.get` does: Adagrad of TensorFlow 1.15 begins at 0 then.
  return _classes()[name.lower()].from_config({})


def _is_keras(optimizer):
  """Whether an optimizer is of Keras 2 or Keras 3, without loading Keras."""
  return hasattr(optimizer, "get_config") and hasattr(
      optimizer, "apply_gradients")


def _is_keras_3(optimizer):
  """Whether a Keras optimizer is of Keras 3."""
  return hasattr(optimizer, "stateless_apply")  # Only in Keras 3.


def _has_number(optimizer):
  """Whether an optimizer has a default name of Keras 3, such as adam_1.

  The number counts the earlier optimizers in the process.
  """
  name = re.sub(r"_[0-9]+\Z", "", optimizer.name)
  return name.replace("_", "") == type(optimizer).__name__.lower()


def _plain(value):
  """Returns a copy of a part of a config, without trackers of variables."""
  if isinstance(value, dict):
    return {key: _plain(part) for key, part in value.items()}
  if isinstance(value, (list, tuple)):
    return [_plain(part) for part in value]
  return value


def _copy(optimizer_class, config, excluded):
  """Returns a new optimizer. See `for_any_graph`."""
  # Some classes remove their arguments from the dict.
  new_optimizer = optimizer_class.from_config(_plain(config))
  if excluded:
    new_optimizer.exclude_from_weight_decay(var_names=excluded)
  return new_optimizer


def _copies(optimizer):
  """Returns a function that makes copies of a Keras optimizer."""
  config = optimizer.get_config()
  make = functools.partial(
      _copy, type(optimizer), config, keras_internals.excluded_names(optimizer))
  if not _is_keras_3(optimizer):
    return make
  if _has_number(optimizer):
    del config["name"]
  inner = getattr(optimizer, "inner_optimizer", None)
  if inner is not None and _has_number(inner):
    del config["inner_optimizer"]["config"]["name"]
  state = keras_internals.exchange_state({})  # Keeps the program's names.
  try:
    make()  # Reports a failure early.
  finally:
    keras_internals.exchange_state(state)
  return make


def for_any_graph(optimizer: Any) -> Any:
  """Returns an optimizer that `minimize` can use in many graphs.

  Args:
    optimizer: a value for `minimize`. The arguments of a Keras optimizer can be
      read only outside of graphs.

  Returns:
    A function that makes copies of a Keras optimizer, because a Keras optimizer
    belongs to a single graph. Other values are returned unchanged.

  Raises:
    ValueError: `optimizer` is an unknown name or cannot be copied.
  """
  if isinstance(optimizer, str):
    _check_name(optimizer)
  if _is_keras(optimizer) and not callable(optimizer):
    try:
      return _copies(optimizer)
    except (NotImplementedError, TypeError, ValueError) as error:
      raise ValueError(
          f"optimizer={optimizer!r} cannot be copied: expected a function that "
          "makes it, because each graph needs its own. Its class says: "
          f"{messages.one_line(error)}") from error
  return optimizer


def _beside(update_step):
  """Returns an `update_step` that runs on the device of the variable."""

  def beside(gradient, variable, *args, **kwargs):
    with _tensorflow.v1.device(keras_scope.in_graph(variable).device):
      return update_step(gradient, variable, *args, **kwargs)

  return beside


@contextlib.contextmanager
def _steps_beside_variables(optimizer):
  """Makes a Keras optimizer run its step on the device of the variable.

  The optimizers of TensorFlow do the same. Otherwise a step would read the
  variable and the slots from a parameter server and send all values back. Even
  for the few rows of an `Embedding` with a gradient, a step would transfer the
  whole table.
  """
  optimizers = [optimizer, getattr(optimizer, "inner_optimizer", None)]
  optimizers = [part for part in optimizers if hasattr(part, "update_step")]
  for part in optimizers:
    part.update_step = _beside(part.update_step)
  try:
    yield
  finally:
    for part in optimizers:
      del part.update_step


def _trace(step, gradients):
  """Returns a concrete TensorFlow function of gradients."""
  # A gradient may be of only some rows.
  return _tensorflow.v2.function(step).get_concrete_function(
      [_tensorflow.v2.type_spec_from_value(gradient) for gradient in gradients])


def _eagerly(trace):
  """Calls a function in a thread, outside of graphs, with eager execution.

  A graph of TensorFlow 1 compares tensors by identity, also while tracing
  functions.
  """
  with futures.ThreadPoolExecutor(1) as thread:
    return thread.submit(trace).result()


def _keras_3_step(optimizer, loss, var_list):
  """Returns the op of a step of a Keras 3 optimizer."""
  tf = _tensorflow.v1
  keras_internals.check_keras()
  graphs = [getattr(keras_scope.in_graph(variable), "graph", None)
            for variable in optimizer.variables]
  if any(graph is not tf.get_default_graph() for graph in graphs):
    raise ValueError(
        f"optimizer={optimizer!r} was made in another graph or eagerly: "
        "expected one that this graph alone uses. Make it in "
        "build_subnetwork_train_op, or give a function that makes it.")
  if not optimizer.built:
    variables = [keras_scope.of_keras(variable) for variable in var_list]
    for part in (optimizer, getattr(optimizer, "inner_optimizer", None)):
      keras_internals.exclude_by_path(part, variables)
    try:
      optimizer.build(variables)
    except (AttributeError, NotImplementedError, ValueError) as error:
      raise ValueError(
          f"optimizer={type(optimizer).__name__} cannot train "
          f"{variables[0].name} in a graph: use another one. Some of Keras "
          "train variables of its own layers only, or begin from the values of "
          f"variables. It says: {messages.one_line(error)}") from error
  # A scale of the loss may be a variable, so it comes after `build`.
  pairs = [(gradient, variable) for gradient, variable in zip(
      tf.gradients(optimizer.scale_loss(loss), var_list), var_list)
           if gradient is not None]
  if not pairs:
    raise ValueError(
        f"optimizer={optimizer!r}: the loss depends on no variable of "
        f"{[variable.name for variable in var_list]}.")
  keras_internals.sum_over_one_replica(optimizer)
  trained = [keras_scope.of_keras(variable) for _, variable in pairs]

  def apply(gradients):
    with _steps_beside_variables(optimizer):
      optimizer.apply(gradients, trained)
    return tf.convert_to_tensor(optimizer.iterations)

  gradients = [gradient for gradient, _ in pairs]

  def trace():
    if not _tensorflow.v2.executing_eagerly() and (
        optimizer.gradient_accumulation_steps or
        optimizer.use_ema and optimizer.ema_overwrite_frequency):
      raise ValueError(
          f"optimizer={optimizer!r}: gradient_accumulation_steps and "
          "ema_overwrite_frequency need eager execution around graphs: do not "
          "call disable_v2_behavior or disable_eager_execution.")
    return _trace(apply, gradients)

  with keras_scope.assigning(trained + optimizer.variables):
    return _eagerly(trace)(gradients).op


def _keras_step(optimizer, loss, var_list):
  """Returns the op of a step of a Keras 2 optimizer."""
  tf = _tensorflow.v1
  if hasattr(optimizer, "get_updates"):
    return tf.group(*optimizer.get_updates(loss, var_list))
  # Since Keras 2.11, optimizers rely on the order of eager execution, which a
  # graph has only in a function.
  pairs = [(gradient, variable) for gradient, variable in zip(
      tf.gradients(loss, var_list), var_list) if gradient is not None]
  optimizer.build([variable for _, variable in pairs])
  keras_internals.sum_over_one_replica(optimizer)

  def apply(gradients):
    with _steps_beside_variables(optimizer):
      optimizer.apply_gradients(
          [(gradient, v) for gradient, (_, v) in zip(gradients, pairs)])
    return optimizer.iterations.read_value()

  gradients = [gradient for gradient, _ in pairs]
  return _eagerly(lambda: _trace(apply, gradients))(gradients).op


def minimize(optimizer: Any, loss: Any, var_list: Sequence[Any]) -> Any:
  """Returns the op of a step that lowers a loss.

  For example, in `Builder.build_subnetwork_train_op`::

      return tf_compat.optimizers.minimize("adam", loss, var_list)

  A Keras optimizer needs resource variables. TensorFlow 1.15 makes resource
  variables after `enable_resource_variables`; the pools and ensemblers of
  adanet always make resource variables. In a graph with other variables, the
  names Adadelta, Adagrad, Adam, Ftrl, RMSprop and SGD refer to optimizers of
  `tf_compat.v1.train`.

  Args:
    optimizer: an optimizer of `tf_compat.v1.train`; a Keras 3 optimizer, made
      in the current graph; an unused optimizer of `tf_compat.keras.optimizers`;
      the case-insensitive name of a Keras optimizer with default arguments, for
      example "adam" (of Keras 3 since TensorFlow 2.16, and of `tf.keras`
      before); a function without arguments that makes an optimizer; or None to
      change nothing.
    loss: float tensor of shape [].
    var_list: list of the variables to change.

  Returns:
    An op.

  Raises:
    TypeError: `optimizer` has an unsupported type.
    ValueError: `optimizer` is an unknown name, belongs to another graph, or
      cannot change the variables of `var_list`.
  """
  tf = _tensorflow.v1
  if callable(optimizer):
    optimizer = optimizer()
  if optimizer is None:
    return tf.no_op()
  var_list = [keras_scope.in_graph(variable) for variable in var_list]
  has_refs = any(
      variable.dtype.name.endswith("_ref") for variable in var_list)
  argument = optimizer
  if isinstance(optimizer, str):
    optimizer = _make_by_name(optimizer, has_refs)
  if _is_keras(optimizer) and has_refs:
    raise ValueError(
        f"optimizer={argument!r}: a Keras optimizer needs resource variables. "
        "Call tf_compat.v1.enable_resource_variables() at the program's start, "
        "or use an optimizer of tf_compat.v1.train.")
  if _is_keras(optimizer) and _is_keras_3(optimizer):
    return _keras_3_step(optimizer, loss, var_list)
  if _is_keras(optimizer):
    # Keras 2 names variables by the name scope, and a repeated name scope gets
    # a number. This name scope is the same as the variable scope.
    scope = tf.get_variable_scope().name
    with tf.name_scope(scope + "/" if scope else ""):
      return _keras_step(optimizer, loss, var_list)
  if not hasattr(optimizer, "minimize") or hasattr(optimizer, "get_config"):
    raise TypeError(
        f"optimizer={optimizer!r}: expected an optimizer of "
        "tf_compat.v1.train, keras.optimizers or tf_compat.keras.optimizers.")
  return optimizer.minimize(loss=loss, var_list=var_list)

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a user's functions make for each network: a model, and callbacks.

Arguments of `Model.compile` are here, too: in memory, and as JSON.
"""

from collections.abc import Iterator
import contextlib
import inspect
import json
from typing import Any, NamedTuple
import warnings

from adanet import tf_compat
from adanet.ensemble_search import digests
from adanet.ensemble_search import models
from adanet.ensemble_search import words
from adanet.tf_compat import runtime

keras = tf_compat.keras_3
_SETTINGS = ("floatx", "epsilon", "image_data_format", "dtype_policy")
_HOOKS_OF_BATCHES = [
    f"on_{part}batch_{end}" for part in ("", "train_", "test_")
    for end in ("begin", "end")]
_CALLBACKS = ("expected a function that returns a list of new callbacks for "
              "each network, such as lambda: "
              "[keras.callbacks.ReduceLROnPlateau()]")


class Compiling(NamedTuple):
  """What `Model.compile` gets, for models that are not compiled.

  Attributes:
    optimizer, loss, metrics, loss_weights: as `Model.compile` takes them. Each
      model has copies of objects that have a state.
    weighted_metrics: those of the user's compiled models.
  """
  optimizer: Any = "adam"
  loss: Any = None
  metrics: Any = None
  loss_weights: Any = None
  weighted_metrics: Any = None

  def compile(self, model: Any, jit_compile: bool | str = False) -> None:
    """Compiles a model.

    Args:
      model: `keras.Model`.
      jit_compile: as `Model.compile` takes it. An ensemble of many networks
        would compile for minutes, and a judge is too small to gain.

    Raises:
      ValueError: Keras refuses an argument, or an object cannot be copied.
    """
    model.compile(
        _copied(self.optimizer), loss=self.loss, loss_weights=self.loss_weights,
        metrics=_copied(self.metrics), jit_compile=jit_compile,
        weighted_metrics=_copied(self.weighted_metrics))


@contextlib.contextmanager
def without_warnings() -> Iterator[None]:
  """Leaves out Keras's warnings of lambdas: these are for files of models."""
  with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    yield


def _copied(value):
  """Returns optimizers or metrics without the state of the given ones."""
  if isinstance(value, dict) and "class_name" not in value:
    return {key: _copied(one) for key, one in value.items()}
  if isinstance(value, (list, tuple)):
    return type(value)(map(_copied, value))
  if not isinstance(value, (keras.optimizers.Optimizer, keras.metrics.Metric)):
    return value
  kind = type(value)
  try:
    # A user's own object, with a lambda perhaps: safe, it is from this program.
    with without_warnings(), keras.saving.custom_object_scope(
        {kind.__name__: kind}):
      return keras.saving.deserialize_keras_object(
          keras.saving.serialize_keras_object(value), safe_mode=False)
  except Exception:  # pylint: disable=broad-except
    try:
      return kind.from_config(value.get_config())
    except Exception as error:
      raise ValueError(
          f"each network needs a {kind.__name__} of its own, and Keras cannot "
          f"copy it: {words.one_line(error)} Give its class a get_config, or "
          "compile the models with it in their functions.") from error


def saved(given: Compiling) -> dict[str, Any]:
  """Returns arguments of `Model.compile` as JSON has them.

  What Keras cannot read again as it was is named alone: {"own": name}.
  """
  return {name: _saved(value) for name, value in given._asdict().items()}


def _saved(value):
  digest = digests.Digest()
  try:
    with without_warnings():
      # Keras leaves schedules of learning rates as objects.
      text = json.dumps(
          keras.saving.serialize_keras_object(_lists(value)),
          default=keras.saving.serialize_keras_object)
    # Keras changes what it reads, and leaves some options out of configs.
    again = keras.saving.deserialize_keras_object(json.loads(text))
    if isinstance(again, keras.optimizers.Optimizer) or (
        digest.text(again) == digest.text(_lists(value))):
      return {"keras": json.loads(text)}
  except Exception:  # An object of the user.  # pylint: disable=broad-except
    pass
  parts = keras.tree.flatten(value) if keras.tree.is_nested(value) else ()
  return next((one for one in map(_saved, parts) if "own" in one), {
      "own": getattr(value, "__name__", type(value).__name__)})


def _lists(value):
  """Returns a value with lists in place of tuples, which Keras cannot read."""
  if isinstance(value, dict):
    return {key: _lists(one) for key, one in value.items()}
  return list(map(_lists, value)) if isinstance(value, (list, tuple)) else value


def loaded(path: str, content: dict[str, Any],
           arguments: dict[str, Any]) -> Compiling:
  """Returns `arguments`, and in place of None what `saved` returned.

  Raises:
    ValueError: an object of the user's program is None.
  """
  found = {}
  for name, value in content.items():
    if arguments.get(name) is not None:
      found[name] = arguments[name]
    elif "own" in value:
      raise ValueError(
          f"{name}=None: the search in {path!r} has {value['own']}, which is "
          f"not of Keras: expected the {name} of before.")
    else:
      found[name] = keras.saving.deserialize_keras_object(value["keras"])
  return Compiling(**found)


def build_model(owner: str, function: Any, compiling: Compiling,
                copies: bool = False) -> Any:
  """Returns the model that a function makes, compiled.

  Args:
    owner: str, how messages name the function: "models['deep']".
    function: as the user gave it.
    compiling: for a model that is not compiled.
    copies: bool, whether the model gets copies of layers that were made outside
      of the function and that no network trains.

  Raises:
    ValueError: the function fails, or returns something else.
  """
  model = _call(owner, function)
  if copies:
    other = _call(owner, function)
    ids = set(map(id, models.parts(other)))
    model = models.copy_layers(model, {
        id(layer) for layer in models.layers(model)
        if id(layer) in ids and not layer.trainable_variables})
  check_scope(f"{owner} makes its model in",
              getattr(model, "distribute_strategy", None))
  if not model.compiled:
    if compiling.loss is None:
      raise ValueError(f"loss=None: {owner} is not compiled: expected a loss, "
                       "as Model.compile takes it.")
    try:
      # As Model.fit does. Keras counts the GPUs that a user hides, too.
      compiling.compile(
          model, jit_compile="auto" if runtime.gpu_names() else False)
    except Exception as error:
      raise ValueError(f"{owner}: {words.one_line(error)}") from error
  elif compiling.loss is None and getattr(model, "loss", None) is None:
    raise ValueError(
        f"loss=None: {owner} is compiled without a loss: give the loss that "
        "compares networks, and labels y for it.")
  return model


def _call(owner, function):
  """Returns the model that a function makes."""
  try:
    model = function()
  except Exception as error:
    raise ValueError(
        f"{owner} fails to make its model: {type(error).__name__}: "
        f"{words.one_line(error)}") from error
  if not isinstance(model, keras.Model):
    raise ValueError(f"{owner} returned {words.described(model)}: expected a "
                     "model of Keras 3.")
  return model


def check_scope(where: str, strategy: Any) -> None:
  """Raises a ValueError about a strategy of TensorFlow that is not the default.

  Args:
    where: str, the beginning of the message.
    strategy: `tf.distribute.Strategy`, or None.
  """
  distribute = tf_compat.v2.distribute
  if strategy is not None and (distribute.has_strategy() or (
      strategy is not distribute.get_strategy())):
    raise ValueError(
        f"{where} the scope of {type(strategy).__name__}: expected no strategy "
        "of tf.distribute. Leave out strategy.scope(): adanet divides the "
        "networks among the GPUs of a machine, and an executor among machines.")


def settings() -> dict[str, Any]:
  """Returns settings of Keras that a thread or a process may not have."""
  found = {name: getattr(keras.config, name)() for name in _SETTINGS}
  return {**found, "dtype_policy": found["dtype_policy"].name}


def set_settings(given: dict[str, Any]) -> None:
  """Sets what `settings` returned, where it is something else."""
  if given != settings():
    for name, value in given.items():
      getattr(keras.config, f"set_{name}")(value)


def check_callbacks(callbacks: Any) -> None:
  """Checks the argument `callbacks` of `fit` and the returned callbacks.

  Raises:
    TypeError: `callbacks` is no function, or does not return a list of
      callbacks.
    ValueError: a callback has hooks of batches, or belongs to another network.
  """
  if callbacks is None:
    return
  if not callable(callbacks):
    raise TypeError(f"callbacks is {words.described(callbacks)}: {_CALLBACKS}.")
  for one in made_callbacks(callbacks, "name"):
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
  if getattr(type(callback), hook) is getattr(keras.callbacks.Callback, hook):
    return False
  # By default, TensorBoard writes at the end of epochs.
  return getattr(callback, "update_freq", getattr(
      callback, "save_freq", None)) != "epoch"


def made_callbacks(callbacks: Any, name: str) -> list:
  """Returns new callbacks for a network.

  Args:
    callbacks: the user's argument of `fit`.
    name: str, the name of the network, which the function may take.

  Raises: as `check_callbacks`.
  """
  if callbacks is None:
    return []
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
    raise TypeError(
        f"callbacks returned {words.described(found)}: {_CALLBACKS}.")
  if any(one.model is not None for one in found):
    raise ValueError("callbacks returned an object of another network: "
                     f"{_CALLBACKS}.")
  return list(found)

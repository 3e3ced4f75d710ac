# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Keras models: built by a user's functions, compiled and copied."""

from collections.abc import Iterator
import contextlib
import inspect
import os
import tempfile
import types
from typing import Any, NamedTuple

from adanet import messages
from adanet import tf_compat
from adanet.ensemble_search import identity
from adanet.tf_compat import runtime
from adanet.tf_compat import seeds

keras, tf = tf_compat.keras_3, tf_compat.v2
_HOOKS_OF_BATCHES = [
    f"on_{part}batch_{end}" for part in ("", "train_", "test_")
    for end in ("begin", "end")]
# Packages whose functions and classes are not the user's.
_LIBRARIES = ("keras", "numpy", "tensorflow")
# What a model has that may be of the user's classes.
_WITH_OBJECTS = (keras.Layer, keras.losses.Loss, keras.metrics.Metric,
                 keras.optimizers.Optimizer)
_CALLBACKS = ("expected a function that returns a list of new callbacks for "
              "each network, such as lambda: "
              "[keras.callbacks.ReduceLROnPlateau()]")
# The ends of the methods of Optuna's trials, by the methods of KerasTuner.
_METHODS = {"Int": "int", "Float": "float", "Choice": "categorical",
            "Boolean": "categorical"}


class CompileArguments(NamedTuple):
  """The arguments of `Model.compile` for models that are not compiled.

  Each model has copies of objects that have a state. `weighted_metrics` are
  only known from the user's compiled models.
  """
  optimizer: Any = "adam"
  loss: Any = None
  metrics: Any = None
  loss_weights: Any = None
  weighted_metrics: Any = None

  def compile(self, model: Any, jit_compile: bool | str = False) -> None:
    """Compiles a model.

    XLA would compile an ensemble for minutes, and a judge is too small to gain.
    """
    model.compile(
        _copy(self.optimizer), loss=self.loss, loss_weights=self.loss_weights,
        metrics=_copy(self.metrics), jit_compile=jit_compile,
        weighted_metrics=_copy(self.weighted_metrics))

  def to_json(self) -> dict[str, Any]:
    """Returns JSON; {"own": name} is an object that Keras cannot restore."""
    return {name: _argument_to_json(value)
            for name, value in self._asdict().items()}


def _copy(value):
  """Returns optimizers or metrics without the state of the user's objects."""
  if isinstance(value, dict) and "class_name" not in value:
    return {key: _copy(part) for key, part in value.items()}
  if isinstance(value, (list, tuple)):
    return type(value)(map(_copy, value))
  if not isinstance(value, (keras.optimizers.Optimizer, keras.metrics.Metric)):
    return value
  kind = type(value)
  try:
    # The object may have a lambda, which is safe: it is of this program.
    with identity.without_warnings(), keras.saving.custom_object_scope(
        {kind.__name__: kind}):
      return keras.saving.deserialize_keras_object(
          keras.saving.serialize_keras_object(value), safe_mode=False)
  except Exception as error:
    raise ValueError(
        f"each network needs a {kind.__name__} of its own, and Keras cannot "
        f"copy it: {messages.one_line(error)} Give its class a get_config, or "
        "compile the models with it in their functions.") from error


def _argument_to_json(value):
  try:
    config = identity.to_config(value)
    # Keras changes the config that it reads, and leaves some options out.
    again = keras.saving.deserialize_keras_object(identity.to_config(value))
    if isinstance(again, keras.optimizers.Optimizer) or (
        identity.text_of(again) == identity.text_of(value)):
      return {"keras": config}
  except Exception:  # An object of the user.  # pylint: disable=broad-except
    pass
  parts = keras.tree.flatten(value) if keras.tree.is_nested(value) else ()
  return next((own for own in map(_argument_to_json, parts) if "own" in own), {
      "own": getattr(value, "__name__", type(value).__name__)})


def compile_arguments_from_json(path: str, content: dict[str, Any],
                                arguments: dict[str, Any]) -> CompileArguments:
  """Returns `arguments`, with the values that `to_json` wrote in place of None.

  `path` is the directory of the search, for messages.
  """
  values = {}
  for name, value in content.items():
    if arguments.get(name) is not None:
      values[name] = arguments[name]
    elif "own" in value:
      raise ValueError(
          f"{name}=None: the search in {path!r} has {value['own']}, which is "
          f"not of Keras: expected the {name} of the search.")
    else:
      values[name] = keras.saving.deserialize_keras_object(value["keras"])
  return CompileArguments(**values)


def build_model(owner: str, function: Any, arguments: CompileArguments,
                copies: bool = False) -> Any:
  """Returns the compiled model of a user's function without arguments.

  `owner` is the function in messages, such as "models['deep']". With `copies`,
  the model gets copies of untrained layers that the function did not make.
  """
  model = call_function(owner, function)
  if copies:
    with seeds.seeded_thread(0):  # The model's own draws stay as they are.
      ids = set(map(id, list_parts(call_function(owner, function))))
    model = copy_layers(model, {
        id(part) for layer in list_layers(model)
        if not layer.trainable_variables
        for part in (layer, *layer.variables) if id(part) in ids})
  check_scope(f"{owner} makes its model in",
              getattr(model, "distribute_strategy", None))
  if arguments.loss is None and getattr(model, "loss", None) is None:
    state = "compiled without a loss" if model.compiled else "not compiled"
    raise ValueError(f"loss=None: {owner} is {state}: give the loss that "
                     "compares networks, and labels y for it.")
  if not model.compiled:
    try:
      # As Model.fit does. Keras counts the GPUs that a user hides, too.
      arguments.compile(
          model, jit_compile="auto" if runtime.gpu_names() else False)
    except Exception as error:
      raise ValueError(f"{owner}: {messages.one_line(error)}") from error
  return model


def call_function(owner: str, function: Any) -> Any:
  """Returns the model of a user's function, compiled or not."""
  try:
    model = function()
  except Exception as error:
    raise ValueError(
        f"{owner} fails to make its model: {messages.with_type(error)}"
        f"{_advise_trial(error)}") from error
  if not isinstance(model, keras.Model):
    raise ValueError(f"{owner} returned {messages.describe(model)}: expected a "
                     "model of Keras 3.")
  return model


def _advise_trial(error):
  """Returns Optuna's word where a function uses KerasTuner's, or ""."""
  if not isinstance(error, AttributeError) or error.name not in _METHODS or (
      not type(error.obj).__module__.startswith("optuna")):
    return ""
  return (": expected the methods of a trial of Optuna. In place of "
          f"hp.{error.name}(...) of KerasTuner, give "
          f"trial.suggest_{_METHODS[error.name]}(...).")


def check_scope(where: str, strategy: Any) -> None:
  """Raises an error about a strategy of `tf.distribute`; None is none."""
  distribute = tf.distribute
  if strategy is not None and (distribute.has_strategy() or (
      strategy is not distribute.get_strategy())):
    raise ValueError(
        f"{where} the scope of {type(strategy).__name__}: expected no strategy "
        "of tf.distribute. Leave out strategy.scope(): adanet divides the "
        "networks among the GPUs of a machine, and an executor among machines.")


def check_callbacks(callbacks: Any) -> None:
  """Raises an error about the argument `callbacks` or a returned callback."""
  if callbacks is None:
    return
  if not callable(callbacks):
    raise TypeError(f"callbacks is {messages.describe(callbacks)}: "
                    f"{_CALLBACKS}.")
  for callback in build_callbacks(callbacks, "name"):
    hooks = [hook for hook in _HOOKS_OF_BATCHES if _has_hook(callback, hook)]
    if hooks:
      raise ValueError(
          f"callbacks: {type(callback).__name__} has {hooks[0]}, which would "
          "never be called, because a call of a network takes many steps: "
          "expected hooks of epochs and of training alone.")


def _has_hook(callback, hook):
  """Returns whether a callback needs a hook of batches."""
  if hook in vars(callback):  # As in a LambdaCallback.
    return True
  if getattr(type(callback), hook) is getattr(keras.callbacks.Callback, hook):
    return False
  # By default, TensorBoard writes at the end of epochs.
  return getattr(callback, "update_freq", getattr(
      callback, "save_freq", None)) != "epoch"


def count_arguments(function: Any) -> int:
  """Returns the number of positional arguments that a function requires."""
  try:
    parameters = inspect.signature(function).parameters.values()
  except ValueError:  # A function that is not written in Python.
    return 0
  return sum(parameter.default is parameter.empty and parameter.kind in (
      parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
             for parameter in parameters)


def build_callbacks(callbacks: Any, name: str) -> list:
  """Returns new callbacks of a function, which may take a network's name."""
  if callbacks is None:
    return []
  built = callbacks(name) if count_arguments(callbacks) else callbacks()
  if not isinstance(built, (list, tuple)) or not all(
      isinstance(callback, keras.callbacks.Callback) for callback in built):
    raise TypeError(
        f"callbacks returned {messages.describe(built)}: {_CALLBACKS}.")
  # MLflow's callback does not initialize its base class, and has no model.
  if any(getattr(callback, "model", None) is not None for callback in built):
    raise ValueError("callbacks returned an object of another network: "
                     f"{_CALLBACKS}.")
  return list(built)


def custom_objects(layer: Any) -> dict[str, Any]:
  """Returns the user's classes and functions in a layer, by name.

  Keras needs the objects to read a file of the layer: also those that a model
  is compiled with.
  """
  objects = {}
  parts, seen = [layer], set()
  while parts:
    part = parts.pop()
    if id(part) in seen:
      continue
    seen.add(id(part))
    if isinstance(part, (types.FunctionType, type)):
      if part.__module__.split(".")[0] not in _LIBRARIES:
        objects[part.__name__] = part
        objects[keras.saving.get_registered_name(part)] = part
    elif isinstance(part, _WITH_OBJECTS):
      parts += [type(part), *vars(part).values()]
    elif isinstance(part, (list, tuple)):
      parts += part
  return objects


def list_layers(model: Any) -> Iterator[Any]:
  """Yields all layers of a model."""
  for layer in getattr(model, "layers", ()):
    yield layer
    yield from list_layers(layer)


def list_parts(layer: Any) -> list:
  """Returns the layers inside of a layer, and all variables."""
  return [*list_layers(layer), *getattr(layer, "variables", ())]


def copy_layers(model: Any, ids: set[int]) -> Any:
  """Returns a model with copies of layers, by their ids or those of variables.

  Returns the model itself if there is nothing to copy, or if Keras cannot copy
  the model: a user's own class, or layers without a config.
  """

  def copy(layer):
    return copy_layer(layer) if ids.intersection(
        map(id, (layer, *list_parts(layer)))) else layer

  if not type(model).__module__.startswith("keras.") or model.run_eagerly or (
      not ids.intersection(map(id, list_parts(model)))):
    return model
  try:
    new = keras.models.clone_model(model, clone_function=copy)
    if model.compiled:
      new.compile_from_config(model.get_compile_config())
    return new
  except Exception:  # pylint: disable=broad-except
    return model


def copy_layer(layer: Any) -> Any:
  """Copies a layer or a model by a file of Keras; the copy is not compiled."""
  is_model = isinstance(layer, keras.Model)
  with tempfile.TemporaryDirectory() as folder, identity.without_warnings(), (
      keras.saving.custom_object_scope(custom_objects(layer))):
    path = os.path.join(folder, "layer.keras")
    (layer if is_model else keras.Sequential([layer])).save(path)
    new = keras.saving.load_model(path, compile=False, safe_mode=False)
  new = new if is_model else new.layers[0]
  for variable, value in zip(new.variables, layer.variables):
    variable.assign(value)  # A file has no seeds.
  return new


def copy_outer_model(owner: str, model: Any, again: Any) -> Any:
  """Returns a model, or a copy if the function returns the same model again.

  An ensemble renames members, and must not rename a user's object.
  """
  if again is not model:
    return model
  try:
    new = copy_layer(model)
  except Exception as error:
    raise ValueError(
        f"{owner} returns the same model each time, and Keras cannot copy it: "
        f"{messages.one_line(error)} Make the model in the function."
    ) from error
  try:
    new.compile_from_config(model.get_compile_config())
  except Exception:  # A loss of the user's.  # pylint: disable=broad-except
    pass
  return new


def unsaved_variables(model: Any) -> list:
  """Returns the variables that Keras's files of weights leave out.

  These are the states of random layers, the metrics of an epoch, and the
  matrices of LoRA, which the files have as a part of the kernel.
  """
  ids = {id(variable) for variable in model.weights}
  return [variable for variable in (*model.variables, *model.metrics_variables)
          if id(variable) not in ids] + [
              variable for layer in list_layers(model)
              if getattr(layer, "lora_enabled", False)
              for variable in layer.weights]


def reset_states(model: Any) -> None:
  """Resets the states of stateful layers."""
  for layer in list_layers(model):
    if getattr(layer, "stateful", False) and hasattr(layer, "reset_state"):
      layer.reset_state()


@contextlib.contextmanager
def kept_states(model: Any) -> Iterator[None]:
  """Restores the states of a model that counts or draws in a prediction."""
  before = [(variable, keras.ops.convert_to_numpy(variable))
            for variable in model.non_trainable_variables]
  try:
    yield
  finally:
    for variable, value in before:
      variable.assign(value)
    reset_states(model)


def fixed_size(model: Any) -> int | None:
  """Returns the batch size of a model with a fixed one; None otherwise."""
  try:
    inputs = keras.tree.flatten(model.inputs)
  except AttributeError:  # The model is not built.
    return None
  sizes = {tensor.shape[0] for tensor in inputs if tensor is not None}
  return sizes.pop() if len(sizes) == 1 else None

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What any Keras model has: layers, states, and the size of its batches."""

from collections.abc import Iterator
import contextlib
import os
import tempfile
from typing import Any
import warnings

from adanet import tf_compat

keras = tf_compat.keras_3


def states(model: Any) -> list:
  """Returns the variables that Keras's files of weights leave out.

  These are the states of random layers, the metrics of an epoch, and the
  matrices of LoRA, which the files have as a part of the kernel.
  """
  known = {id(one) for one in model.weights}
  return [one for one in (*model.variables, *model.metrics_variables)
          if id(one) not in known] + [
              one for layer in layers(model)
              if getattr(layer, "lora_enabled", False)
              for one in layer.weights]


def layers(model: Any) -> Iterator[Any]:
  """Yields all layers of a model."""
  for layer in getattr(model, "layers", ()):
    yield layer
    yield from layers(layer)


def parts(layer: Any) -> list:
  """Returns the layers inside of a layer, and its variables.

  By its variables, the layer in a wrapper such as `TimeDistributed` is known.
  Operations such as a cast have none.
  """
  return [*layers(layer), *getattr(layer, "variables", ())]


def copy_layers(model: Any, ids: set[int]) -> Any:
  """Returns a model with copies of some layers, compiled as the model is.

  A model stays as it is if none of its layers is to be copied, or if Keras
  cannot copy them: a model of a user's own class, and layers without a config.

  Args:
    model: `keras.Model`.
    ids: set with the ids of layers and variables: layers that have any of these
      are copied, with their values.
  """

  def copy(layer):
    if not ids.intersection(map(id, (layer, *parts(layer)))):
      return layer
    is_model = isinstance(layer, keras.Model)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), (
        keras.saving.custom_object_scope({type(layer).__name__: type(layer)})):
      warnings.simplefilter("ignore")  # A Sequential has no Input of its own.
      path = os.path.join(folder, "layer.keras")
      (layer if is_model else keras.Sequential([layer])).save(path)
      new = keras.saving.load_model(path, compile=False, safe_mode=False)
    new = new if is_model else new.layers[0]
    for variable, value in zip(new.variables, layer.variables):
      variable.assign(value)  # A file has no seeds.
    return new

  if not type(model).__module__.startswith("keras.") or model.run_eagerly or (
      not ids.intersection(map(id, parts(model)))):
    return model
  try:
    new = keras.models.clone_model(model, clone_function=copy)
    if model.compiled:
      new.compile_from_config(model.get_compile_config())
    return new
  except Exception:  # pylint: disable=broad-except
    return model


def reset_states(model: Any) -> None:
  """Resets the states of stateful layers."""
  for layer in layers(model):
    if getattr(layer, "stateful", False) and hasattr(layer, "reset_state"):
      layer.reset_state()


@contextlib.contextmanager
def kept_states(model: Any) -> Iterator[None]:
  """Keeps a model as it is, also if it counts or draws when it predicts."""
  before = [(one, keras.ops.convert_to_numpy(one))
            for one in model.non_trainable_variables]
  yield
  for variable, value in before:
    variable.assign(value)
  reset_states(model)


def fixed_size(model: Any) -> int | None:
  """Returns the rows of each batch of a model that was made for so many."""
  try:
    inputs = keras.tree.flatten(model.inputs)
  except AttributeError:  # It is not built.
    return None
  sizes = {one.shape[0] for one in inputs if one is not None}
  return sizes.pop() if len(sizes) == 1 else None

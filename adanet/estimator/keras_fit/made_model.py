# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The ensemble of an `EnsembleSearch`, with the inputs and outputs of its data.
"""

from typing import Any

from adanet import tf_compat
from adanet.core import model_dir as model_dir_lib
from adanet.estimator import auto_compiled
from adanet.estimator import auto_inputs
from adanet.estimator.keras_fit import arrangement as arrangement_lib


def _input_list(model, directory):
  """Returns the inputs of a model in the order of x, also unused ones."""
  known = {tensor.name: tensor for tensor in model.inputs}
  fingerprint = model_dir_lib.ModelDir(directory).fingerprint()
  kinds = fingerprint.features if fingerprint else {}
  names = [name for name in auto_inputs.numbered(len(kinds)) if name in kinds]
  return [known[name] if name in known else tf_compat.keras_3.Input(
      kinds[name].shape[1:], name=name, dtype=kinds[name].dtype)
          for name in names]


def _in_list(value, outputs):
  """Returns an argument of `compile` by output as a list."""
  if isinstance(value, dict):
    return [value.get(name) for name in outputs]
  return value


def as_given(model: Any, arrangement: arrangement_lib.Arrangement,
             directory: str) -> Any:
  """Returns a model that takes x, and returns y, as the data of the search are.

  Args:
    model: `keras.Model` with named inputs and outputs.
    arrangement: `Arrangement` of the data.
    directory: str, the folder of the search.
  """
  keras = tf_compat.keras_3
  lists = [kind == arrangement_lib.LIST
           for kind in (arrangement.inputs, arrangement.labels)]
  in_list = lists[1] and bool(arrangement.outputs)
  if not lists[0] and not in_list:
    return model
  inputs = _input_list(model, directory) if lists[0] else model.input
  outputs = model.output
  arguments = {
      name: value for name, value in auto_compiled.compile_arguments(
          model).items() if name in ("loss", "metrics", "loss_weights")}
  if in_list:
    outputs = [keras.layers.Identity(name=name)(outputs[name])
               for name in arrangement.outputs]
    arguments = {name: _in_list(value, arrangement.outputs)
                 for name, value in arguments.items()}
  made = keras.Model(inputs, outputs)
  made.compile("adam", **arguments)
  made.optimizer.build(made.trainable_variables)  # So that it is saved.
  return made

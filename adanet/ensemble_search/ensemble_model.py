# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The ensemble, built as one functional Keras model, and its members."""

from collections.abc import Mapping
import re
from typing import Any, NamedTuple
import warnings

from adanet import messages
from adanet import tf_compat
from adanet.ensemble_search import combining
from adanet.ensemble_search import files
from adanet.ensemble_search import models
from adanet.ensemble_search import rows as rows_lib
from adanet.ensemble_search import tasks as tasks_lib
import numpy as np

keras: Any = tf_compat.keras_3
tf = tf_compat.v2
# The greatest difference of predictions, as a part of the largest prediction.
_MAX_APART = .01


def name_outputs(outputs, names):
  """Returns a name for each output of an ensemble: of `names`, if they fit."""
  if names and len(set(names)) == len(names) == len(outputs):
    return list(names)
  return [f"output_{i + 1}" for i in range(len(outputs))]


class EnsembleMember(NamedTuple):
  """A member of an ensemble: with folds, the mean of a function's networks.

  For example, how far the members disagree about some rows::

      predictions = [member.model.predict(x) for member in search.members]
      print(np.std(predictions, axis=0))

  Attributes:
    name: str, "deep", or "deep (2)" in the second iteration.
    weight: float, the weight of the member's outputs. All weights sum to 1.
    model: `keras.Model`, with the values of the best epoch of each network.
  """
  name: str
  weight: float
  model: Any


def build_member(task: tasks_lib.NetworkTask, x: Any, folder: files.Folder
                ) -> Any:
  """Returns a trained model: built again by its function, with its values.

  Layers that were made outside of the function stay as they are: where their
  values are others, the model has copies. `x` has held-out rows of the fold.
  """
  with task.seeded():
    model = task.build_model()
    prepare(model, x)
  with task.seeded():
    again = task.build_model()
    outer_ids = set(map(id, models.list_parts(again)))
    model = models.copy_outer_model(task.owner, model, again)
  problem = ("its predictions of held-out rows are others. Give the original "
             "function, and keep values in weights of layers: Keras saves no "
             "tf.Variable.")
  try:
    changed = _load(model, folder, outer_ids)
    if changed:
      model = models.copy_layers(model, outer_ids)
      changed = _load(model, folder, outer_ids)
    if changed:  # Keras cannot copy the layer.
      raise ValueError(
          f"the variable {changed[0].path} outside of the function has other "
          "values now. Give its layer the original values, or make the layer "
          "in the function.")
    if predicts(model, x, folder.predictions().outputs):
      return model
  except files.DamagedFileError:
    raise
  except Exception as error:  # pylint: disable=broad-except
    problem = messages.one_line(error)
  damaged = folder.find_damage()
  if damaged is not None:
    raise files.DamagedFileError(f"{str(damaged)!r} is damaged. Call fit "
                                 "again, which trains the network anew.")
  raise ValueError(f"{task.owner} makes another model than the one that was "
                   f"trained: {problem}")


def _load(model, folder, outer_ids):
  """Loads the best values; returns outer variables that keep other values."""
  old_values = [(variable, keras.ops.convert_to_numpy(variable))
                for variable in model.variables if id(variable) in outer_ids]
  with warnings.catch_warnings():
    # The optimizer's variables are in the file, too, and are not needed.
    warnings.filterwarnings("ignore", message="Skipping variable loading")
    folder.load(model, files.BEST)
  changed = [(variable, value) for variable, value in old_values
             if not np.array_equal(keras.ops.convert_to_numpy(variable), value)]
  for variable, value in changed:
    variable.assign(value)
  return [variable for variable, _ in changed]


def prepare(model: Any, x: Any) -> None:
  """Builds a model on the first rows, for the call of an ensemble."""
  if model.built and not model.run_eagerly:
    return
  outputs = model(x)
  if model.run_eagerly:
    # Keras cannot ask layers for shapes that read values.
    model.compute_output_spec = lambda *_, **__: keras.tree.map_structure(
        lambda output: keras.KerasTensor(
            [None, *output.shape[1:]], output.dtype), outputs)


def predicts(model: Any, x: Any, expected: list) -> bool:
  """Returns whether a model predicts some outputs, the first ones, for rows.

  Weights alone do not tell a `relu` from a `tanh`.
  """
  count = rows_lib.flat_arrays(x)[0].shape[0]
  if (models.fixed_size(model) or count) != count:
    return True
  outputs, again = (_predict(model, x, expected) for _ in range(2))
  # Some models never predict the same twice.
  if not any(_are_apart(array, other[:count]) and (array == same).all()
             for array, other, same in zip(outputs, expected, again)):
    return True
  # Some predict a row by the other rows of its batch, of which x is a part.
  half = count // 2
  if half == 0 or count == len(expected[0]):
    return False
  part = keras.tree.map_structure(
      lambda array: array if array is None else rows_lib.reader(array)(
          tf.range(half)), x)
  return any(_are_apart(array, other[:half]) for array, other in zip(
      _predict(model, part, expected), outputs))


def _predict(model, x, like):
  """Returns predictions as a flat list of arrays of the types of others."""
  models.reset_states(model)
  outputs = keras.tree.flatten(keras.Model.predict_step(model, (x,)))
  models.reset_states(model)
  return [np.asarray(output, array.dtype)
          for output, array in zip(outputs, like)]


def _are_apart(array, other):
  """Returns whether predictions differ by more than those of two devices."""
  return np.abs(array - other).max() > _MAX_APART * np.abs(other).max() + 1e-6


def make_inputs(layout: rows_lib.Layout, members: list) -> Any:
  """Returns an `Input` for each array of x.

  Where the inputs of all members take any length, so does the `Input`.
  """
  specs = layout.pack(layout.specs)[0]
  names = _names(specs)
  # A Sequential may have its size from the rows that it was built on.
  sizes = {models.fixed_size(model) for model in members
           if not isinstance(model, keras.Sequential)} - {None}
  shapes = [_input_shapes(model, specs) for model in members]
  flat: list[Any] = []
  for i, spec in enumerate(keras.tree.flatten(specs)):
    if spec is None:
      flat.append(None)
      continue
    shape = list(spec.shape)
    if isinstance(spec, tf.TensorSpec) and None not in shapes:
      for axis in range(1, len(shape)):
        if all(shapes_of_member[i][axis] is None
               for shapes_of_member in shapes):
          shape[axis] = None
    if len(sizes) == 1:
      (shape[0],) = sizes
    flat.append(keras.Input(
        batch_shape=shape, dtype=spec.dtype.name, name=names and names[i],
        sparse=isinstance(spec, tf.SparseTensorSpec) or None,
        **({"ragged": True} if isinstance(spec, tf.RaggedTensorSpec) else {})))
  return keras.tree.pack_sequence_as(specs, flat)


def _names(specs):
  """Returns the keys of a dict of arrays in the order of Keras, or None."""
  if not isinstance(specs, Mapping) or any(map(
      keras.tree.is_nested, specs.values())) or any(
          not isinstance(key, str) or "/" in key for key in specs):
    return None
  return keras.tree.flatten({key: key for key in specs})


def _input_shapes(model, specs):
  """Returns the shapes of a model's own inputs for each array of x, or None."""
  try:
    inputs = (model.inputs[0] if isinstance(model, keras.Sequential) else
              model.input)
    keras.tree.assert_same_structure(inputs, specs)
    return [tensor.shape for tensor in keras.tree.flatten(inputs)]
  except (AttributeError, TypeError, ValueError):
    return None


def ensemble(members: list[EnsembleMember], layout: rows_lib.Layout,
             arguments: models.CompileArguments, names: list[str] | None,
             combine: Any = None) -> Any:
  """Returns the model whose outputs are those of the members, combined.

  `arguments`, `names` and `combine` are as the attributes of `Judge`.
  """
  # Outputs keep the user's names: those of losses and metrics.
  known = {*(_names(layout.pack(layout.specs)[0]) or ()), *(names or ())}
  layers: set[int] = set()
  copies = []
  for member in members:
    # TensorFlow takes few characters in names.
    name = re.sub("[^A-Za-z0-9_.-]+", "_", member.name).strip("_.-") or "member"
    while name in known:
      name += "_"
    known.add(name)
    # Keras's files would have a layer of two members once.
    model = models.copy_layers(member.model, layers)
    layers.update(map(id, models.list_parts(model)))
    model.name = name
    # Else a file could be read only with the losses of all members.
    model.compiled = False
    copies.append(EnsembleMember(name, member.weight, model))
  model = _combine_models(copies, layout, names, combine)
  arguments.compile(model)
  # Layers of a member may read values.
  model.run_eagerly = any(member.model.run_eagerly for member in copies)
  return model


def _combine_models(members, layout, names, combine):
  """Returns the functional model of `ensemble`, not compiled."""
  x = make_inputs(layout, [member.model for member in members])
  structures = [member.model(x) for member in members]
  outputs_of_each = list(map(keras.tree.flatten, structures))
  weights = [member.weight for member in members]
  layer, parts = keras.layers.Identity, outputs_of_each[0]
  # Layers, and not operators: a file in the format .h5 has layers only.
  if len(members) > 1 and combine is None:
    scaled = [[keras.layers.Rescaling(weight, dtype=_dtype(output))(output)
               for output in outputs]
              for outputs, weight in zip(outputs_of_each, weights)]
    layer, parts = keras.layers.Add, [list(terms) for terms in zip(*scaled)]
  elif len(members) > 1:
    cast = [[keras.layers.Identity(dtype=_dtype(output))(output)
             for output in outputs] for outputs in outputs_of_each]
    parts = combining.combine_tensors(combine, structures[-1], cast, weights)
  known = {array.name for array in rows_lib.flat_arrays(x)}
  flat = [layer(name=name + "_" * (name in known), dtype=_dtype(output))(part)
          for name, output, part in zip(name_outputs(parts, names),
                                          outputs_of_each[0], parts)]
  return keras.Model(x, keras.tree.pack_sequence_as(structures[-1], flat),
                     name="ensemble")


def _dtype(tensor):
  """Returns the type of an output in the ensemble: no lower precision."""
  name = keras.backend.standardize_dtype(tensor.dtype)
  return name if name in ("float32", "float64") else "float32"

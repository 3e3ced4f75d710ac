# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The ensemble as one functional Keras model, made of public layers."""

from collections.abc import Mapping
import re
from typing import Any, NamedTuple
import warnings

from adanet import tf_compat
from adanet.ensemble_search import files
from adanet.ensemble_search import judge
from adanet.ensemble_search import making
from adanet.ensemble_search import models
from adanet.ensemble_search import network
from adanet.ensemble_search import rows as rows_lib
from adanet.ensemble_search import words
import numpy as np

keras, tf = tf_compat.keras_3, tf_compat.v2
# Of predictions, in parts of the largest one.
_MAX_APART = .01
# Held-out rows by which a function of another program is checked.
_SAMPLE_SIZE = 32


class EnsembleMember(NamedTuple):
  """A member of an ensemble: with folds, the mean of a function's networks.

  For example, how far the members disagree about some rows::

      predictions = [one.model.predict(x) for one in search.members]
      print(np.std(predictions, axis=0))

  Attributes:
    name: str, "deep", or "deep (2)" in the second iteration.
    weight: float, the weight of the member's outputs. All weights sum to 1.
    model: `keras.Model`, with the values of the best epoch of each network.
  """
  name: str
  weight: float
  model: Any


def write_sample(directory: files.Directory, data: list) -> list:
  """Writes the first held-out rows of x of each fold; returns their specs."""
  layout = data[0].layout()
  count = len(rows_lib.flat_arrays(layout.structure[0]))
  found = {}
  for fold, one in enumerate(data):
    flat, rows = one.held_out.first_call(_SAMPLE_SIZE)
    for i, array in enumerate(flat[:count]):
      some = rows_lib.readable(array)(rows[0][:_SAMPLE_SIZE])
      for j, part in enumerate(tf.nest.flatten(some, expand_composites=True)):
        found[f"{fold}_{i}_{j}_{part.dtype.name}"] = np.frombuffer(
            tf.io.serialize_tensor(part).numpy(), np.uint8)
  with files.written(directory.path / "sample.npz") as temporary:
    with open(temporary, "wb") as file:
      np.savez(file, **found)
  return [(type(spec).__name__, spec.shape.as_list(), spec.dtype.name)
          for spec in layout.specs[:count]]


def sample(directory: files.Directory, content: dict[str, Any]
          ) -> tuple[rows_lib.Layout, list]:
  """Returns the `Layout` of x, and what `write_sample` wrote of each fold.

  `content` is that of `search.json`.
  """
  layout = rows_lib.Layout((content["x"],), [
      getattr(tf, kind)(shape, tf.dtypes.as_dtype(dtype))
      for kind, shape, dtype in content["specs"]], None)
  path = directory.path / "sample.npz"
  try:
    with np.load(path) as file:
      found = dict(file)
  except Exception as error:  # NumPy has one for each kind of damage.
    raise ValueError(f"{str(path)!r} cannot be read: {words.one_line(error)}. "
                     "Call fit again with the data of before.") from error
  parts: dict[tuple[str, str], list] = {}  # Of each array of each fold.
  for name in found:
    fold, i, _, kind = name.split("_")
    parts.setdefault((fold, i), []).append(
        tf.io.parse_tensor(found[name].tobytes(), kind))
  flat = [_whole(layout.specs[int(i)], some) for (_, i), some in parts.items()]
  count = len(layout.specs)
  return layout, [layout.packed(flat[i:i + count])[0]
                  for i in range(0, len(flat), count)]


def _whole(spec, parts):
  """Returns the array that has these parts; its type may not be the spec's."""
  if isinstance(spec, tf.SparseTensorSpec):
    return tf.SparseTensor(*parts)
  return (tf.RaggedTensor.from_nested_row_splits(parts[0], parts[1:])
          if isinstance(spec, tf.RaggedTensorSpec) else parts[0])


def member(task: network.NetworkTask, x: Any, folder: files.Folder) -> Any:
  """Returns a trained model: built again by its function, with its values.

  A layer that was made outside of the function stays as it is. Where the layer
  has other values than when the network trained, the model gets a copy.

  Raises:
    ValueError: the function makes another model than before.
  """
  with task.seeded():
    model = task.build_model()
    prepare(model, x)
  with task.seeded():
    ids = set(map(id, models.parts(task.build_model())))
  outer = [part for part in models.parts(model) if id(part) in ids]
  problem = ("its predictions of held-out rows are others. Give the function "
             "of before, and keep values in weights of layers: Keras saves no "
             "tf.Variable.")
  try:
    with warnings.catch_warnings():
      # The optimizer's variables are in the file, too, and are not needed.
      warnings.filterwarnings("ignore", message="Skipping variable loading")
      if _load(model, folder, outer):
        model = models.copy_layers(model, set(map(id, outer)))
        ids = set(map(id, models.parts(model)))
        outer = [part for part in outer if id(part) in ids]
        if _load(model, folder, outer):
          names = [part.name for part in outer if hasattr(part, "call")]
          raise ValueError(
              f"the layer {', '.join(names)} outside of the function has other "
              "values now. Give it those of before, or make it in the function.")
    if predicts(model, x, folder.predictions().outputs):
      return model
  except files.DamagedFileError:
    raise
  except Exception as error:  # pylint: disable=broad-except
    problem = words.one_line(error)
  raise ValueError(f"{task.owner} makes another model than the one that was "
                   f"trained: {problem}")


def _load(model, folder, outer):
  """Loads the best values; returns whether variables in `outer` had others.

  These variables are as before.
  """
  variables = [part for part in outer if isinstance(part, keras.Variable)]
  before = list(map(keras.ops.convert_to_numpy, variables))
  folder.load(model, files.BEST)
  differ = False
  for variable, value in zip(variables, before):
    if not np.array_equal(keras.ops.convert_to_numpy(variable), value):
      differ = True
      variable.assign(value)
  return differ


def prepare(model: Any, x: Any) -> None:
  """Builds a model on the first rows, so that an ensemble can call it."""
  if model.built and not model.run_eagerly:
    return
  outputs = model(x)
  if model.run_eagerly:
    # Keras cannot ask layers for shapes that read values.
    model.compute_output_spec = lambda *_, **__: keras.tree.map_structure(
        lambda one: keras.KerasTensor([None, *one.shape[1:]], one.dtype),
        outputs)


def predicts(model: Any, x: Any, expected: list) -> bool:
  """Returns whether a model predicts some outputs, the first ones, for rows.

  Weights alone do not tell a `relu` from a `tanh`.
  """
  rows = rows_lib.flat_arrays(x)[0].shape[0]
  if (models.fixed_size(model) or rows) != rows:
    return True

  def predicted(x):
    models.reset_states(model)
    found = keras.tree.flatten(keras.Model.predict_step(model, (x,)))
    models.reset_states(model)
    return [np.asarray(one, other.dtype) for one, other in zip(found, expected)]

  def is_apart(one, other):
    # Devices differ by less.
    return np.abs(one - other).max() > _MAX_APART * np.abs(other).max() + 1e-6

  found = predicted(x)
  # Some models never predict the same twice.
  if not any(is_apart(one, other[:rows]) and (one == again).all()
             for one, other, again in zip(found, expected, predicted(x))):
    return True
  # Some predict a row by the other rows of its batch, of which x is a part.
  half = rows // 2
  return 0 < half and rows < len(expected[0]) and any(
      is_apart(one, other[:half]) for one, other in zip(predicted(
          keras.tree.map_structure(lambda one: None if one is None else (
              rows_lib.readable(one)(tf.range(half))), x)), found))


def inputs(layout: rows_lib.Layout, members: list, open_axes: Any = ()) -> Any:
  """Returns an `Input` for each array of x.

  Args:
    layout: `Layout` of x.
    members: list of models.
    open_axes: pairs of the number of an array and an axis of any length.
  """
  given = layout.packed(layout.specs)[0]
  names = _names(given)
  # A Sequential may have its size from the rows that it was built on.
  sizes = {models.fixed_size(model) for model in members
           if not isinstance(model, keras.Sequential)} - {None}
  flat: list[Any] = []
  for i, spec in enumerate(keras.tree.flatten(given)):
    if spec is None:
      flat.append(None)
      continue
    shape = [None if (i, axis) in open_axes else size
             for axis, size in enumerate(spec.shape)]
    if len(sizes) == 1:
      (shape[0],) = sizes
    flat.append(keras.Input(
        batch_shape=shape, dtype=spec.dtype.name, name=names and names[i],
        sparse=isinstance(spec, tf.SparseTensorSpec) or None,
        **({"ragged": True} if isinstance(spec, tf.RaggedTensorSpec) else {})))
  return keras.tree.pack_sequence_as(given, flat)


def _names(given):
  """Returns the keys of a dict of arrays in the order of Keras, or None."""
  if not isinstance(given, Mapping) or any(map(
      keras.tree.is_nested, given.values())) or any(
          not isinstance(key, str) or "/" in key for key in given):
    return None
  return keras.tree.flatten({key: key for key in given})


def _open_axes(members, x):
  """Returns the axes of the arrays of x that may have any length.

  All members take arrays that are longer by one.
  """
  flat = keras.tree.flatten(x)
  return [(i, axis) for i, array in enumerate(flat)
          if isinstance(array, tf.Tensor) for axis in range(1, array.ndim)
          if all(_takes_longer(model, x, flat, i, axis) for model in members)]


def _takes_longer(model, x, flat, i, axis):
  """Returns whether a model takes rows that are longer along an axis."""
  array = flat[i]
  longer = tf.concat([array, tf.gather(array, [array.shape[axis] - 1],
                                       axis=axis)], axis)
  try:
    with models.kept_states(model):
      model(keras.tree.pack_sequence_as(x, [*flat[:i], longer, *flat[i + 1:]]))
    return True
  except Exception:  # Of any layer.  # pylint: disable=broad-except
    return False


def ensemble(members: list[EnsembleMember], layout: rows_lib.Layout,
             compiling: making.Compiling, names: list[str] | None,
             x: Any = None) -> Any:
  """Returns the model whose outputs are the members' weighted sums.

  Args:
    members: list of `EnsembleMember`.
    layout: `Layout` of x.
    compiling: what the ensemble is compiled with.
    names: names of the outputs, or None.
    x: some rows, for an ensemble that takes what all members take; None for an
      ensemble that takes rows of the shapes of the data.
  """
  # Those of outputs are the user's: names of losses and metrics.
  taken = {*(_names(layout.packed(layout.specs)[0]) or ()), *(names or ())}
  layers: set[int] = set()
  for i, (name, weight, model) in enumerate(members):
    # TensorFlow takes few characters in names.
    name = re.sub("[^A-Za-z0-9_.-]+", "_", name).strip("_.-") or "member"
    while name in taken:
      name += "_"
    taken.add(name)
    model = models.copy_layers(model, layers)
    layers.update(map(id, models.parts(model)))
    model.name = name
    # Else a file could be read only with the losses of all members.
    model.compiled = False
    members = [*members[:i], EnsembleMember(name, weight, model),
               *members[i + 1:]]
  open_axes = [] if x is None else _open_axes(
      [model for _, _, model in members], x)
  try:
    model = _functional(members, layout, names, open_axes)
  except Exception:  # A layer needs a length.  # pylint: disable=broad-except
    if not open_axes:
      raise
    model = _functional(members, layout, names, [])
  compiling.compile(model)
  # Layers of a member may read values.
  model.run_eagerly = any(one.model.run_eagerly for one in members)
  return model


def _functional(members, layout, names, open_axes):
  """Returns the functional model of `ensemble`, not compiled."""
  x = inputs(layout, [model for _, _, model in members], open_axes)
  sums: list[list] = []
  structure = None
  for _, weight, model in members:
    structure = model(x)
    # Layers, and not operators: a file in the format .h5 has layers only.
    sums.append([
        keras.layers.Rescaling(weight, dtype=_dtype(output))(output)
        if len(members) > 1 else output
        for output in keras.tree.flatten(structure)])
  known = {array.name for array in rows_lib.flat_arrays(x)}
  flat = []
  for name, outputs in zip(judge.named_outputs(sums[0], names), zip(*sums)):
    kind = {"name": name + "_" * (name in known), "dtype": _dtype(outputs[0])}
    flat.append(
        keras.layers.Add(**kind)(list(outputs)) if len(outputs) > 1 else
        keras.layers.Identity(**kind)(outputs[0]))
  return keras.Model(x, keras.tree.pack_sequence_as(structure, flat),
                     name="ensemble")


def _dtype(tensor):
  """Returns the type of an output in the ensemble: no lower precision."""
  name = keras.backend.standardize_dtype(tensor.dtype)
  return name if name in ("float32", "float64") else "float32"

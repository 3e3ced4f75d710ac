# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""How the networks of an ensemble become one output.

Either their weighted mean, or the user's function `combine`, which is called
for two networks or more: in an ensemble of one network, the outputs stay.
"""

from collections.abc import Sequence
import itertools
import types
from typing import Any, NamedTuple

from adanet import log
from adanet import messages
from adanet import tf_compat
from adanet.ensemble_search import candidates
from adanet.ensemble_search import files
from adanet.ensemble_search import records
from adanet.ensemble_search import rows as rows_lib
from adanet.ensemble_search import samples
import numpy as np

keras: Any = tf_compat.keras_3
tf = tf_compat.v2
# So many held-out rows are combined at a time, which bounds memory.
_COMBINED_ROWS = 1 << 16
# How far outputs of the same function may be apart, by rounding.
_RELATIVE = 1e-4
_MAX_PROBLEM = 400
_EXPECTED = ("expected a function combine(outputs, weights) in keras.ops, with "
             "outputs of the shape [networks, rows, ...] and weights of the "
             "shape [networks], that returns outputs of the shape [rows, ...]")


def check_combine(combine: Any) -> None:
  """Raises an error if `combine` is neither None nor a registered function."""
  is_function = isinstance(combine, types.FunctionType)
  if combine is not None and (
      not is_function or keras.saving.get_registered_object(
          keras.saving.get_registered_name(combine)) is not combine):
    name = combine.__name__ if is_function else messages.describe(combine)
    raise ValueError(
        f"combine={name}: {_EXPECTED}. Decorate the function with "
        "@keras.saving.register_keras_serializable(), so that Keras finds it "
        "when it loads the ensemble.")


def registered_name(combine: Any) -> str:
  """Returns the name under which Keras knows `combine`; "" for None."""
  return "" if combine is None else keras.saving.get_registered_name(combine)


def outputs_to_compare(directory: files.Directory, members: list,
                       combine: Any) -> list:
  """Returns what `combine` makes of held-out predictions, for each fold.

  An ensemble of one network needs no function: all networks are combined.
  `members` has the weight and the `NetworkKey`s of each member.
  """
  weights = [weight for weight, _ in members]
  if sum(map(bool, weights)) < 2:
    weights = [1 / len(members)] * len(members)
  return [array for keys in zip(*(keys for _, keys in members))
          for array in combine_predictions(combine, [
              directory.folder(key).predictions() for key in keys], weights)]


def find_change(directory: files.Directory, combine: Any) -> str:
  """Returns in words why a selected ensemble is not one of `combine`, or "".

  What counts is what the function returns: it may call any other code.
  """
  content = directory.read_ensemble() or {"combine": ""}
  before, now = content["combine"], registered_name(combine)
  if before != now:
    return (f"The ensemble was selected with combine={before or None}, and "
            f"this search has combine={now or None}")
  if not now:
    return ""
  try:
    recorded = directory.read_outputs(content["outputs"])
    outputs = outputs_to_compare(
        directory, candidates.CandidateStore(directory).members(content),
        combine)
    if all(array.shape == other.shape and np.allclose(
        array, other, _RELATIVE, _RELATIVE * np.abs(other).max(initial=0),
        equal_nan=True) for array, other in zip(outputs, recorded)):
      return ""
  except files.DamagedFileError:
    raise
  except Exception as error:  # Of any kind.  # pylint: disable=broad-except
    return (f"combine={combine.__name__} cannot be compared with "
            f"{content['outputs']!r}: {messages.one_line(error)}")
  return (f"combine={combine.__name__} returns other outputs for the held-out "
          "rows than when the ensemble was selected")


def is_unchanged(directory: files.Directory, combine: Any) -> bool:
  """Returns whether a selected ensemble is one of `combine`; or logs a line."""
  change = find_change(directory, combine)
  if change:
    log.warning("%s. Selecting the ensemble anew.", change)
  return not change


def check_recorded(directory: files.Directory, combine: Any) -> None:
  """Raises a ValueError if a selected ensemble has another `combine`."""
  change = find_change(directory, combine)
  if change:
    raise ValueError(f"{change}: give the same function, or call fit, which "
                     "selects another ensemble.")


def registered_function(recorded: str) -> Any:
  """Returns the registered function that a directory has recorded, or None."""
  if not recorded:
    return None
  combine = keras.saving.get_registered_object(recorded)
  if combine is None:
    raise ValueError(
        "combine=None: the ensemble was selected with the function "
        f"{recorded!r}, which this program has not registered. Import the "
        "module of the function, or give combine.")
  return combine


def check_outputs(combine: Any, owner: str,
                  predictions: records.HeldOutPredictions) -> None:
  """Raises a ValueError if `combine` does not fit the outputs of a network."""
  sizes = {size for array in predictions.outputs for size in array.shape}
  # No axis is as long, or weights of columns would fit.
  count = next(number for number in itertools.count(3) if number not in sizes)
  try:
    problem = _find_problem(combine, predictions, count)
  except Exception as error:  # Of the user.  # pylint: disable=broad-except
    problem = messages.one_line(error)
  if problem:
    raise ValueError(
        f"combine={combine.__name__} does not fit the outputs of {owner}, "
        "which are "
        f"{_describe_shapes(predictions.structure, predictions.outputs)}: "
        f"{problem[:_MAX_PROBLEM]}: {_EXPECTED}.")


def _find_problem(combine, predictions, count):
  """Returns what is wrong with the outputs of `count` networks, or ""."""
  if any(mask is not None for mask in predictions.masks):
    return "leave out combine, or the mask of the outputs"
  structure, outputs = predictions.structure, predictions.outputs
  weights = _to_array([1 / count] * count)
  # Networks differ, or the logarithm of their variance would be infinite.
  stacked = [tf.constant(np.stack([(array * (1 - .01 * i)).astype(array.dtype)
                                   for i in range(count)]))
             for array in outputs]
  combined = combine(keras.tree.pack_sequence_as(structure, stacked), weights)
  try:
    keras.tree.assert_same_structure(structure, combined)
    arrays = [np.asarray(array) for array in keras.tree.flatten(combined)]
  except (TypeError, ValueError):
    return f"it returns {messages.describe(combined)}"
  if [array.shape for array in arrays] != [array.shape for array in outputs]:
    return f"it returns {_describe_shapes(structure, arrays)}"
  for array, output in zip(arrays, outputs):
    if not np.isfinite(array).all() and np.isfinite(output).all():
      return "it returns NaN or infinity"
  # As the layer will, whose errors leave out what happened.
  specs = [tf.TensorSpec([count, None, *array.shape[1:]], array.dtype)
           for array in outputs]
  tf.function(combine, autograph=False).get_concrete_function(
      keras.tree.pack_sequence_as(structure, specs), weights)
  return ""


def _describe_shapes(structure, arrays):
  """Returns the shapes of the rows of outputs, with the number of rows."""
  return str(keras.tree.pack_sequence_as(structure, [
      f"{len(array)} rows of {list(array.shape[1:])}" if array.ndim else
      "one number" for array in arrays])).replace("'", "")


def combine_predictions(
    combine: Any, predictions: Sequence[records.HeldOutPredictions],
    weights: Sequence[float]) -> list:
  """Returns the outputs of an ensemble of the networks with a weight."""
  used = [(member, weight) for member, weight in zip(predictions, weights)
          if weight]
  outputs_of_all = list(zip(*(member.outputs for member, _ in used)))
  if combine is None or len(used) == 1:
    # As Keras's layers of the ensemble: each product in the type of the output.
    return [sum(array * np.asarray(weight, array.dtype)
                for array, (_, weight) in zip(outputs, used))
            for outputs in outputs_of_all]
  structure = used[0][0].structure
  used_weights = _to_array([weight for _, weight in used])
  parts = []
  for start in range(0, len(outputs_of_all[0][0]), _COMBINED_ROWS):
    rows = slice(start, start + _COMBINED_ROWS)
    stacked = [tf.constant(np.stack([array[rows] for array in outputs]))
               for outputs in outputs_of_all]
    parts.append(keras.tree.flatten(combine(
        keras.tree.pack_sequence_as(structure, stacked), used_weights)))
  return [np.concatenate(arrays).astype(outputs[0].dtype)
          for arrays, outputs in zip(zip(*parts), outputs_of_all)]


class HeldOutRows(NamedTuple):
  """The held-out rows, and what is predicted for these rows.

  With folds, these are the rows of the first fold, then those of the second.
  For example, the share of right classes among the surest half::

      held_out = search.held_out
      outputs = held_out.outputs["ensemble"]
      sure = outputs.max(1) > np.median(outputs.max(1))
      print((outputs.argmax(1) == held_out.labels)[sure].mean())

  Attributes:
    rows: array of int with the positions of the rows in `x`; None where
      `validation_data` are held out. Of a frame or a Series, take
      `x.iloc[held_out.rows]`: `x[held_out.rows]` would look for labels of the
      index.
    folds: array of int with the fold of each row, from 0.
    labels: the labels of the rows, in the structure of `y`; None without.
    weights: the weights of the rows in the loss; None without weights.
    outputs: dict from the name of each member, also of weight 0, to the outputs
      for these rows, with `rows` in the first axis and in the structure of the
      model's outputs. "ensemble" has the outputs of the ensemble. With folds, a
      member is the network that did not train on these rows.
  """
  rows: np.ndarray | None
  folds: np.ndarray
  labels: Any
  weights: Any
  outputs: dict[str, Any]


def read_held_out(directory: files.Directory, content: dict[str, Any],
                  combine: Any) -> HeldOutRows:
  """Returns the held-out rows that a selected ensemble was judged by."""
  members = candidates.CandidateStore(directory).members(
      directory.read_ensemble() or {})
  weights = [weight for weight, _ in members]
  labels = samples.read_labels(directory, content)
  rows_of_fold = samples.read_rows(directory)
  rows, folds, parts = [], [], []
  for fold, keys in enumerate(zip(*(keys for _, keys in members))):
    predictions = [directory.folder(key).predictions() for key in keys]
    outputs = {key.member: member.outputs
               for key, member in zip(keys, predictions)}
    outputs["ensemble"] = combine_predictions(combine, predictions, weights)
    parts.append({
        name: keras.tree.pack_sequence_as(predictions[0].structure, arrays)
        for name, arrays in outputs.items()})
    folds.append(np.full(len(outputs["ensemble"][0]), fold))
    rows.append(rows_of_fold.get(fold))
  # Labels may be sparse or ragged.
  y, weights_of_rows = rows_lib.map_arrays(
      lambda part: part.numpy() if isinstance(part, tf.Tensor) else part,
      rows_lib.join_labels(labels[:len(folds)]))
  if content["is_series"]:  # Keras has made columns of it.
    y = y[:, 0]
  return HeldOutRows(
      None if rows[0] is None else np.concatenate(rows), np.concatenate(folds),
      y, weights_of_rows, keras.tree.map_structure(
          lambda *arrays: np.concatenate(arrays), *parts))


def combine_tensors(combine: Any, structure: Any, outputs: list[list],
                    weights: Sequence[float]) -> list:
  """Returns the outputs of networks, combined in a functional model."""
  dtypes = {keras.backend.standardize_dtype(tensor.dtype)
            for tensor in outputs[0]}
  layer = keras.layers.Lambda(
      combine, arguments={"weights": _to_array(weights)}, name="combine",
      dtype="float64" if dtypes == {"float64"} else "float32")
  stacked = [keras.ops.stack(tensors) for tensors in zip(*outputs)]
  return keras.tree.flatten(layer(
      keras.tree.pack_sequence_as(structure, stacked)))


def _to_array(weights):
  return np.array(weights, keras.config.floatx())

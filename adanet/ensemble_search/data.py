# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The data of a search: what a user gives to `fit`, checked and divided."""

from typing import Any

from adanet import tf_compat
from adanet.ensemble_search import arrays
from adanet.ensemble_search import rows as rows_lib
from adanet.ensemble_search import steps
from adanet.ensemble_search import stream as stream_lib
from adanet.ensemble_search import words
import numpy as np

keras = tf_compat.keras_3


def checked_batch(name: str, given: Any) -> Any:
  """Returns `(x, y)` or `(x, y, weights)` of arrays, checked.

  Raises:
    TypeError: there is something else.
    ValueError: the arrays cannot be used.
  """
  if not isinstance(given, (tuple, list)) or not 1 <= len(given) <= 3:
    raise ValueError(
        f"{name} is {words.described(given)}: expected a tuple (x, y) or "
        "(x, y, sample_weight).")
  names = [f"{name}[{i}]" for i in range(3)] if name else [
      "x", "y", "sample_weight"]
  parts = [arrays.read(*one) for one in zip(names, given)]
  while parts and parts[-1] is None:
    parts.pop()
  if len(parts) > 1:
    arrays.check_labels(names[1], parts[1])
  if len(parts) == 3:
    parts[2] = _weights_of(names[2], parts[1], parts[2])
  found: dict[str, Any] = {}
  for key, part in zip(names, parts):
    found.update(arrays.named(key, part))
  arrays.check_rows(names[0], found)
  return tuple(parts)


def _weights_of(name, y, weights):
  """Returns weights in the structure of the labels, as Keras does."""
  for key, array in arrays.named(name, weights).items():
    smallest = float(np.min(arrays.tensor(array)))
    if smallest < 0:
      raise ValueError(f"{key} has {smallest}: expected weights of at least 0.")
  if isinstance(y, (dict, list, tuple)) and not isinstance(
      weights, (dict, list, tuple)):
    return keras.tree.map_structure(lambda _: weights, y)
  return weights


def checked(x: Any, y: Any, batch_size: int, validation_data: Any,
            validation_split: float, sample_weight: Any, class_weight: Any,
            folds: int | None, seed: int) -> tuple[list, dict[str, str]]:
  """Returns the data of each fold, checked, and their texts with a digest.

  Args: as those of `EnsembleSearch.fit`. Without folds, the list has one value.

  Raises:
    TypeError: an argument is of another type.
    ValueError: an argument has a wrong value.
  """
  held_out_of_stream = stream_lib.is_stream(validation_data)
  if stream_lib.is_stream(x):
    for name, value in (("y", y), ("sample_weight", sample_weight)):
      if value is not None:
        raise ValueError(f"{name}: expected None where x has labels and "
                         "weights of its own.")
    if folds is not None:
      raise ValueError(f"folds={folds}: expected None where x is a dataset, "
                       "which has no rows to divide. Give validation_data.")
    if validation_data is None:
      raise ValueError("validation_data=None: expected another dataset, or "
                       "arrays, where x is a dataset.")
    held_out, given = validation_data, {}
    if not held_out_of_stream:
      batch = checked_batch("validation_data", held_out)
      given["validation_data"] = _text(batch)
      held_out = _held_out(batch, class_weight)
    stream = stream_lib.StreamData("x", x, held_out, class_weight, seed)
    given["x"] = f"batches {stream.digest()}"
    _check_weights(stream.held_out)
    return [stream], given
  if x is None:
    raise ValueError("x=None: expected arrays, or a dataset.")
  arrays.check_frames(x, y, sample_weight, validation_data)
  batch = checked_batch("", (x, y, sample_weight))
  if class_weight is not None:
    if sample_weight is not None:
      raise ValueError("class_weight and sample_weight are both given: "
                       "expected one of them. Multiply the weights of classes "
                       "into sample_weight.")
    batch = (*batch[:2], arrays.weights_of_classes(
        batch[1] if len(batch) > 1 else None, class_weight))
  count = arrays.rows_of(batch)
  rows = np.arange(count, dtype=np.int32)
  given = dict(zip(("x", "y", "sample_weight"), map(_text, batch)))
  given["batch_size"] = str(batch_size)
  if validation_data is None:
    given["folds"] = repr(folds)
    if folds is None:
      given["validation_split"] = repr(validation_split)
      parts = [_picked(count, validation_split, seed)]
    else:
      parts = _divided(batch, folds, seed)
    shared = rows_lib.Rows(batch, rows)
    found = []
    for i, held_out in enumerate(parts):
      data = rows_lib.RowData(
          shared.others(np.setdiff1d(rows, held_out)),
          shared.others(held_out), batch_size, seed)
      _check_weights(data.held_out, f" in fold {i + 1} of {folds}" * bool(folds))
      found.append(data)
    return found, given
  if folds is not None:
    raise ValueError(f"folds={folds} and validation_data are both given: "
                     "expected one of them. Each fold holds out rows of x.")
  if held_out_of_stream:
    data = rows_lib.RowData(rows_lib.Rows(batch, rows), stream_lib.StreamData(
        "validation_data", validation_data, validation_data, class_weight,
        seed).held_out, batch_size, seed)
  else:
    other = checked_batch("validation_data", validation_data)
    _check_shapes(batch, other)
    given["validation_data"] = _text(other)
    data = rows_lib.RowData(
        rows_lib.Rows(batch, rows), _held_out(other, class_weight), batch_size,
        seed)
  _check_weights(data.held_out)
  return [data], given


def _text(structure):
  """Returns the shapes of arrays, and a digest of their values."""
  return f"{arrays.shapes(structure)} {arrays.digest(structure)}"


def _held_out(batch, class_weight):
  """Returns the rows of held-out arrays; with weights of classes."""
  if class_weight is not None and len(batch) == 2:
    batch = (*batch, arrays.weights_of_classes(batch[1], class_weight))
  return rows_lib.Rows(batch, np.arange(
      arrays.rows_of(batch), dtype=np.int32))


def _picked(count, validation_split, seed):
  """Returns the rows to hold out."""
  if isinstance(validation_split, bool) or not isinstance(
      validation_split, (int, float)) or not 0 <= validation_split < 1:
    raise ValueError(f"validation_split={words.described(validation_split)}: "
                     "expected a number between 0 and 1.")
  size = int(count * validation_split)
  if not validation_split:
    raise ValueError("validation_split=0: expected more than 0, or "
                     "validation_data. Networks end by held-out rows.")
  if not size:
    raise ValueError(f"validation_split={validation_split!r}: holds out 0 of "
                     f"{count} rows: expected at least one.")
  return np.sort(np.random.RandomState(seed).permutation(count)[:size]).astype(
      np.int32)


def _divided(batch, folds, seed):
  """Returns the rows of each fold; each has as many of a class, or one more."""
  count = arrays.rows_of(batch)
  if folds > count:
    raise ValueError(f"folds={folds}: expected at most as many as x has rows, "
                     f"{count}.")
  order = np.random.RandomState(seed).permutation(count)
  classes = arrays.classes(batch[1]) if len(batch) > 1 else None
  if classes is not None:
    order = order[np.argsort(classes[order], kind="stable")]
  return [np.sort(order[i::folds]).astype(np.int32) for i in range(folds)]


def _check_shapes(batch, other):
  """Checks that held-out arrays are like those that train."""
  for i, (one, two) in enumerate(zip(batch[:2], other)):
    first, second = (arrays.named(name, part) for name, part in (
        ("xy"[i], one), (f"validation_data[{i}]", two)))
    if len(first) != len(second):
      raise ValueError(
          f"validation_data[{i}] has {len(second)} arrays, and {'xy'[i]} "
          f"{len(first)}: expected the same structure.")
    for (name, array), (key, held_out) in zip(first.items(), second.items()):
      shapes = [list(a.shape)[1:] for a in (array, held_out)]
      if len(shapes[0]) != len(shapes[1]) or (i == 0 and len(
          shapes[0]) == 1 and shapes[0] != shapes[1]):
        raise ValueError(f"{key} has rows of the shape {shapes[1]}, and {name} "
                         f"of {shapes[0]}: expected the same.")


def _check_weights(held_out, where=""):
  """Raises an error if held-out rows have no weight at all."""
  _, weights = held_out.labels()
  flat = steps.flat_arrays(weights)
  if flat and not any(np.any(np.asarray(one)) for one in flat):
    raise ValueError(
        f"The weights of all held-out rows{where} are 0: expected some that "
        "are greater, by which networks are compared.")

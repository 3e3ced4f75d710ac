# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The data of a search: what a user gives to `fit`, checked and divided."""

from typing import Any

from adanet import tf_compat
from adanet.ensemble_search import arrays
from adanet.ensemble_search import datasets
from adanet.ensemble_search import rows as rows_lib
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
  if len(parts) == 3:
    for key, array in arrays.named(names[2], parts[2]).items():
      smallest = float(np.min(arrays.tensor(array)))
      if smallest < 0:
        raise ValueError(f"{key} has {smallest}: expected weights of at least "
                         "0.")
    # Weights for all outputs, as in Keras.
    if not keras.tree.is_nested(parts[2]):
      parts[2] = keras.tree.map_structure(lambda _: parts[2], parts[1])
  arrays.check_rows(names[0], {
      key: array for name, part in zip(names, parts)
      for key, array in arrays.named(name, part).items()})
  return tuple(parts)


def checked(x: Any, y: Any, batch_size: int, validation_data: Any,
            validation_split: float, sample_weight: Any, class_weight: Any,
            folds: int | None, seed: int) -> tuple[list, dict[str, str]]:
  """Returns the data of each fold, checked, and their texts with a digest.

  Args: as those of `EnsembleSearch.fit`. Without folds, the list has one value.

  Raises:
    TypeError: an argument is of another type.
    ValueError: an argument has a wrong value.
  """
  if x is None:
    raise ValueError("x=None: expected arrays, or a dataset.")
  is_source = datasets.is_source(x)
  if is_source:
    for name, value in (("y", y), ("sample_weight", sample_weight),
                        ("folds", folds)):
      if value is not None:
        raise ValueError(f"{name}: expected None where x is a dataset, which "
                         "has labels and weights of its own, and no rows to "
                         "divide.")
    if validation_data is None:
      raise ValueError("validation_data=None: expected another dataset, or "
                       "arrays, where x is a dataset.")
    source = datasets.BatchSource("x", x, class_weight, seed)
    given = {"x": f"batches {source.layout.specs} {source.layout.size}"}
  else:
    arrays.check_frames(x, y, sample_weight, validation_data)
    batch = checked_batch("", (x, y, sample_weight))
    if class_weight is not None and sample_weight is not None:
      raise ValueError("class_weight and sample_weight are both given: "
                       "expected one of them. Multiply the weights of classes "
                       "into sample_weight.")
    rows = _all_rows(batch, class_weight)
    given = dict(zip(("x", "y", "sample_weight"), map(
        arrays.digest, rows.batch)), batch_size=str(batch_size))
  if validation_data is None:
    given["folds"] = repr(folds)
    if folds is None:
      given["validation_split"] = repr(validation_split)
      parts = [_picked(len(rows.rows), validation_split, seed)]
    else:
      parts = _divided(batch, len(rows.rows), folds, seed)
    data: list[Any] = [rows_lib.RowData(
        rows.others(np.setdiff1d(rows.rows, part)), rows.others(part),
        batch_size, seed) for part in parts]
  else:
    if folds is not None:
      raise ValueError(f"folds={folds} and validation_data are both given: "
                       "expected one of them. Each fold holds out rows of x.")
    if datasets.is_source(validation_data):
      held_out = datasets.HeldOutBatches(datasets.BatchSource(
          "validation_data", validation_data, class_weight, seed, True))
      given["validation_data, in the order that the dataset gives"] = (
          held_out.digest)
    else:
      other = checked_batch("validation_data", validation_data)
      if not is_source:
        _check_alike(batch, other)
      given["validation_data"] = arrays.digest(other)
      held_out = _all_rows(other, class_weight)
    data = [datasets.StreamData(source, held_out) if is_source else rows_lib.RowData(
        rows, held_out, batch_size, seed)]
  for i, one in enumerate(data):
    _check_weights(one.held_out, f" in fold {i + 1} of {folds}" * bool(folds))
  return data, given


def _check_alike(batch, other):
  """Raises an error if held-out rows have other shapes than those of x, y."""
  for i, pair in enumerate(zip(batch[:2], other)):
    shapes = [[list(one.shape[1:]) for one in rows_lib.flat_arrays(some)]
              for some in pair]
    # Sequences and pictures may have other lengths.
    one, two = ([shape if not i and len(shape) == 1 else len(shape)
                 for shape in some] for some in shapes)
    if one != two:
      raise ValueError(
          f"validation_data[{i}] has rows of {str(shapes[1])[1:-1]}, and "
          f"{'xy'[i]} of {str(shapes[0])[1:-1]}: expected the same shapes.")


def _all_rows(batch, class_weight):
  """Returns the rows of arrays; with weights of classes if they have none."""
  if class_weight is not None and len(batch) < 3:
    batch = (*batch[:2], arrays.weights_of_classes(
        (*batch, None)[1], class_weight))
  return rows_lib.Rows(batch, np.arange(
      rows_lib.flat_arrays(batch)[0].shape[0], dtype=np.int32))


def _picked(count, validation_split, seed):
  """Returns the rows to hold out."""
  if isinstance(validation_split, bool) or not isinstance(
      validation_split, (int, float)) or not 0 < validation_split < 1:
    raise ValueError(f"validation_split={words.described(validation_split)}: "
                     "expected a number between 0 and 1, or validation_data. "
                     "Networks end by held-out rows.")
  size = int(count * validation_split)
  if not size:
    raise ValueError(f"validation_split={validation_split!r}: holds out 0 of "
                     f"{count} rows: expected at least one.")
  return np.sort(np.random.RandomState(seed).permutation(count)[:size]).astype(
      np.int32)


def _divided(batch, count, folds, seed):
  """Returns the rows of each fold; each has as many of a class, or one more."""
  if folds > count:
    raise ValueError(f"folds={folds}: expected at most as many as x has rows, "
                     f"{count}.")
  order = np.random.RandomState(seed).permutation(count)
  classes = arrays.classes((*batch, None)[1])
  if classes is not None:
    order = order[np.argsort(classes[order], kind="stable")]
  return [np.sort(order[i::folds]).astype(np.int32) for i in range(folds)]


def _check_weights(held_out, where):
  """Raises an error if held-out rows have no weight at all."""
  flat = rows_lib.flat_arrays(held_out.labels()[1])
  if flat and not any(np.any(np.asarray(one)) for one in flat):
    raise ValueError(
        f"The weights of all held-out rows{where} are 0: expected some that "
        "are greater, by which networks are compared.")

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The data of a search: divided into rows that train and held-out rows.

Arrays stay whole, and a part is the numbers of its rows. A dataset is not
divided: `batches` reads datasets.
"""

from typing import Any

from adanet import checks
from adanet import messages
from adanet import tf_compat
from adanet.ensemble_search import arrays
from adanet.ensemble_search import batches
from adanet.ensemble_search import rows as rows_lib
import numpy as np

keras, tf = tf_compat.keras_3, tf_compat.v2


def split_data(x: Any, y: Any, batch_size: int, validation_data: Any,
               validation_split: float, sample_weight: Any, class_weight: Any,
               folds: Any, seed: int) -> tuple[list, dict[str, str]]:
  """Returns a list with a split for each fold, and a digest of each argument.

  The arguments are those of `EnsembleSearch.fit`. The split of a dataset is a
  `DatasetSplit`.
  """
  if x is None:
    raise ValueError("x=None: expected arrays, or a dataset.")
  if batches.is_dataset(x):
    splits, digests = _split_dataset(
        x, y, validation_data, sample_weight, class_weight, folds, seed)
  else:
    splits, digests = _split_arrays(
        x, y, batch_size, validation_data, validation_split, sample_weight,
        class_weight, folds, seed)
  for i, split in enumerate(splits):
    flat = rows_lib.flat_arrays(split.held_out.labels()[1])
    if flat and not any(np.any(np.asarray(weights)) for weights in flat):
      where = f" in fold {i + 1} of {len(splits)}" if folds is not None else ""
      raise ValueError(
          f"The weights of all held-out rows{where} are 0: expected weights "
          "greater than 0, because networks are compared by these rows.")
  return splits, digests


def _split_dataset(x, y, validation_data, sample_weight, class_weight, folds,
                   seed):
  """Returns what `split_data` returns, for a dataset."""
  for name, value in (("y", y), ("sample_weight", sample_weight),
                      ("folds", folds)):
    if value is not None:
      raise ValueError(f"{name}: expected None where x is a dataset, which has "
                       "its own labels and weights, and no rows to divide.")
  if validation_data is None:
    raise ValueError("validation_data=None: expected another dataset, or "
                     "arrays, where x is a dataset.")
  source = batches.BatchSource("x", x, class_weight, seed)
  held_out, digests = _read_held_out(validation_data, (), class_weight, seed)
  return [batches.DatasetSplit(source, held_out)], {
      "x": f"batches {source.layout.specs} {source.layout.size}", **digests}


def _split_arrays(x, y, batch_size, validation_data, validation_split,
                  sample_weight, class_weight, folds, seed):
  """Returns what `split_data` returns, for arrays."""
  arrays.check_frames(x, y, sample_weight, validation_data)
  batch = arrays.read_batch("", (x, y, sample_weight))
  if class_weight is not None and sample_weight is not None:
    raise ValueError("class_weight and sample_weight are both given: expected "
                     "one of them. Multiply the weights of classes into "
                     "sample_weight.")
  rows = _all_rows(batch, class_weight)
  digests = dict(zip(("x", "y", "sample_weight"), map(
      arrays.digest, rows.batch)), batch_size=str(batch_size))
  if validation_data is not None:
    if folds is not None:
      raise ValueError("folds and validation_data are both given: expected one "
                       "of them. Each fold holds out rows of x.")
    held_out, others = _read_held_out(
        validation_data, batch, class_weight, seed)
    return [rows_lib.ArraySplit(rows, held_out, batch_size, seed)], {
        **digests, **others}
  if hasattr(folds, "__iter__"):
    pairs = _read_pairs(folds, len(rows))
    digests["folds"] = f"{len(pairs)} pairs {arrays.digest(pairs).split()[-1]}"
  else:
    if folds is None:
      digests["validation_split"] = repr(validation_split)
      parts = [_pick_rows(len(rows), validation_split, seed)]
    else:
      parts = _divide_rows(batch, len(rows), folds, seed)
    pairs = [(np.setdiff1d(rows.numbers, part), part) for part in parts]
    digests["folds"] = repr(folds)
  return [rows_lib.ArraySplit(
      rows.select(trained), rows.select(held_out), batch_size, seed)
          for trained, held_out in pairs], digests


def _read_held_out(validation_data, batch, class_weight, seed):
  """Returns held-out rows and a digest; `batch` has the arrays that train."""
  if batches.is_dataset(validation_data):
    held_out = batches.HeldOutBatches(batches.BatchSource(
        "validation_data", validation_data, class_weight, seed, True))
    return held_out, {"validation_data, in the order that the dataset gives":
                      held_out.digest}
  other = arrays.read_batch("validation_data", validation_data)
  for i, parts in enumerate(zip(batch[:2], other)):
    shapes = [[list(array.shape[1:]) for array in rows_lib.flat_arrays(part)]
              for part in parts]
    # Sequences and pictures may have other lengths.
    expected, actual = ([shape if not i and len(shape) == 1 else len(shape)
                         for shape in part] for part in shapes)
    if expected != actual:
      raise ValueError(
          f"validation_data[{i}] has rows of {str(shapes[1])[1:-1]}, and "
          f"{'xy'[i]} of {str(shapes[0])[1:-1]}: expected the same shapes.")
  return _all_rows(other, class_weight), {
      "validation_data": arrays.digest(other)}


def _all_rows(batch, class_weight):
  """Returns the rows of arrays; with weights of classes if they have none."""
  if class_weight is not None and len(batch) < 3:
    batch = (*batch[:2], arrays.class_weights((*batch, None)[1], class_weight))
  return rows_lib.Rows(batch, np.arange(
      rows_lib.flat_arrays(batch)[0].shape[0], dtype=np.int32))


def _pick_rows(count, validation_split, seed):
  """Returns the rows to hold out."""
  checks.check_number("validation_split", validation_split,
                      lambda split: 0 < split < 1,
                      "a number between 0 and 1, or validation_data. Networks "
                      "end by held-out rows")
  size = int(count * validation_split)
  if not size:
    raise ValueError(f"validation_split={validation_split!r}: holds out 0 of "
                     f"{count} rows: expected at least one.")
  return np.sort(np.random.RandomState(seed).permutation(count)[:size]).astype(
      np.int32)


def _divide_rows(batch, count, folds, seed):
  """Returns the rows of each fold; each has as many of a class, or one more."""
  if folds > count:
    raise ValueError(f"folds={folds}: expected at most as many as x has rows, "
                     f"{count}.")
  order = np.random.RandomState(seed).permutation(count)
  classes = arrays.classes((*batch, None)[1])
  if classes is not None:
    order = order[np.argsort(classes[order], kind="stable")]
  return [np.sort(order[i::folds]).astype(np.int32) for i in range(folds)]


def _read_pairs(folds, count):
  """Returns the rows that train and the held-out rows of each fold."""
  pairs = []
  expected = ("expected pairs of arrays with the numbers of rows that train "
              "and of held-out rows, as scikit-learn's splitters give them")
  for i, pair in enumerate(folds):
    try:
      parts = [np.asarray(part) for part in pair]
    except (TypeError, ValueError):
      parts = []
    if any(part.dtype.kind == "b" for part in parts):
      raise ValueError(f"folds[{i}] has booleans: expected numbers of rows. "
                       "Give numpy.flatnonzero(...) of each.")
    if len(parts) != 2 or any(
        part.ndim != 1 or part.size and part.dtype.kind not in "iu"
        for part in parts):
      raise ValueError(f"folds[{i}]={messages.describe(pair)}: {expected}.")
    for part, kind in zip(parts, ("that train", "held out")):
      if not part.size:
        raise ValueError(f"folds[{i}] has no rows {kind}: {expected}.")
      wrong = part[(part < 0) | (part >= count)]
      if wrong.size:
        raise ValueError(
            f"folds[{i}] has the row {wrong[0]}, and x has {count} rows: "
            f"expected numbers from 0 to {count - 1}.")
    common = np.intersect1d(*parts)
    if common.size:
      raise ValueError(
          f"folds[{i}] has the row {common[0]} among the rows that train and "
          "among those held out: expected each row in one of them.")
    pairs.append([part.astype(np.int32) for part in parts])
  if not pairs:
    raise ValueError(f"folds has no pairs: {expected}.")
  return pairs

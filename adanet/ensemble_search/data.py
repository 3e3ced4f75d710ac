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
from adanet.ensemble_search import frames
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
  source = batches.BatchSource("x", x, class_weight, seed)
  held_out, digests = _read_held_out(validation_data, (), class_weight, seed)
  return [batches.DatasetSplit(source, held_out)], {
      "x": f"batches {source.layout.specs} {source.layout.size}", **digests}


def _split_arrays(x, y, batch_size, validation_data, validation_split,
                  sample_weight, class_weight, folds, seed):
  """Returns what `split_data` returns, for arrays."""
  frames.check_frames(x, y, sample_weight, validation_data)
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
    if not parts[-1].size:
      argument = (f"folds={folds}" if folds is not None else
                  f"validation_split={validation_split!r}")
      raise ValueError(f"{argument}: holds out 0 of {len(rows)} rows: expected "
                       "at least one.")
    pairs = [(np.setdiff1d(rows.numbers, part), part) for part in parts]
    digests["folds"] = repr(folds)
  return [rows_lib.ArraySplit(
      rows.select(trained), rows.select(held_out), batch_size, seed)
          for trained, held_out in pairs], digests


def _read_held_out(validation_data, batch, class_weight, seed):
  """Returns held-out rows and a digest; `batch` has the arrays that train."""
  if batches.is_dataset(validation_data):
    held_out, digest = batches.read_held_out(batches.BatchSource(
        "validation_data", validation_data, class_weight, seed, True))
    return held_out, {
        "validation_data, in the order that the dataset gives": digest}
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
  order = np.random.RandomState(seed).permutation(count)
  return np.sort(order[:int(count * validation_split)]).astype(np.int32)


def _divide_rows(batch, count, folds, seed):
  """Returns the rows of each fold; each has as many of a class, or one more."""
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
      trained, held_out = map(np.asarray, pair)
      numbers = np.concatenate([trained, held_out])
    except (TypeError, ValueError):
      trained = held_out = numbers = np.array([])
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or not (
        trained.size and held_out.size):
      raise ValueError(f"folds[{i}]={messages.describe(pair)}: {expected}.")
    wrong = np.append(numbers[(numbers < 0) | (numbers >= count)],
                      np.intersect1d(trained, held_out))
    if wrong.size:
      raise ValueError(
          f"folds[{i}] has the row {wrong[0]}: expected numbers from 0 to "
          f"{count - 1}, and each row in one of the two arrays.")
    pairs.append([trained.astype(np.int32), held_out.astype(np.int32)])
  if not pairs:
    raise ValueError(f"folds has no pairs: {expected}.")
  return pairs

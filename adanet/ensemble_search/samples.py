# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the directory of a search keeps of the data, for use without the data.

The first held-out rows of x tell whether a function still makes the same model,
and the labels and weights of all held-out rows judge ensembles.
"""

from collections.abc import Iterable
import pathlib
from typing import Any

from adanet import log
from adanet import messages
from adanet import tf_compat
from adanet.ensemble_search import files
from adanet.ensemble_search import rows as rows_lib
import numpy as np

tf = tf_compat.v2
_SAMPLE_SIZE = 32


def write(directory: files.Directory, splits: list) -> dict[str, Any]:
  """Writes the samples of each fold; returns their structure as JSON has it."""
  labels = [split.held_out.labels() for split in splits]
  rows = [split.held_out_rows() for split in splits]
  files.write_arrays(directory.path / files.ROWS, {
      str(fold): numbers for fold, numbers in enumerate(rows)
      if numbers is not None})
  _write(directory.path / files.LABELS, map(rows_lib.flat_arrays, labels))
  layout = splits[0].layout()
  count = len(rows_lib.flat_arrays(layout.structure[0]))
  sample = []
  for split in splits:
    flat, numbers = split.held_out.first_chunk(_SAMPLE_SIZE)
    sample.append([rows_lib.reader(array)(numbers[0][:_SAMPLE_SIZE])
                   for array in flat[:count]])
  _write(directory.path / files.SAMPLE, sample)
  return {
      "folds": len(splits),
      # A list for a tuple, as the inputs of models have it.
      "x": (layout.structure[0], _specs_to_json(layout.specs[:count])),
      "labels": (
          files.to_json(rows_lib.map_arrays(lambda _: 0, labels[0])),
          _specs_to_json(map(
              rows_lib.spec_of, rows_lib.flat_arrays(labels[0]))))}


def remove_damaged(directory: files.Directory) -> None:
  """Removes damaged files that `fit` writes anew, each with a line."""
  for name in (files.ENSEMBLE, files.SAMPLE, files.LABELS, files.ROWS):
    path = directory.path / name
    read = files.read_json if name == files.ENSEMBLE else files.read_arrays
    try:
      if path.exists():
        read(path)
    except (OSError, ValueError) as error:
      log.warning("%r cannot be read: %s. It is made again.", str(path),
                  messages.one_line(error.__cause__ or error))
      path.unlink()


def read_x(directory: files.Directory, content: dict[str, Any]
          ) -> tuple[rows_lib.Layout, list]:
  """Returns the `Layout` of x, and the first held-out rows of each fold.

  `content` is the content of `search.json`.
  """
  structure, specs = _layout_from_json(content["x"])
  layout = rows_lib.Layout((structure,), specs, None)
  return layout, [layout.pack(flat)[0] for flat in _read(
      directory.path / files.SAMPLE, specs, content["folds"])]


def read_labels(directory: files.Directory, content: dict[str, Any]) -> list:
  """Returns the labels and weights of the held-out rows, or None, by fold."""
  structure, specs = _layout_from_json(content["labels"])
  layout = rows_lib.Layout(structure, specs, None)
  return [layout.pack(flat) for flat in _read(
      directory.path / files.LABELS, specs, content["folds"])]


def read_rows(directory: files.Directory) -> dict[int, np.ndarray]:
  """Returns the numbers of the held-out rows in x by fold, if x has numbers.
  """
  arrays = files.read_arrays(directory.path / files.ROWS)
  return {int(fold): numbers for fold, numbers in arrays.items()}


def _specs_to_json(specs):
  return [(type(spec).__name__, spec.shape.as_list(), spec.dtype.name)
          for spec in specs]


def _layout_from_json(content):
  structure, specs = content
  return files.from_json(structure), [
      getattr(tf, kind)(shape, tf.dtypes.as_dtype(dtype))
      for kind, shape, dtype in specs]


def _write(path: pathlib.Path, folds: Iterable[list]) -> None:
  """Writes a list of tensors for each fold."""
  arrays = {}
  for fold, tensors in enumerate(folds):
    for i, tensor in enumerate(tensors):
      for j, part in enumerate(tf.nest.flatten(
          tensor, expand_composites=True)):
        arrays[f"{fold}_{i}_{j}_{part.dtype.name}"] = np.frombuffer(
            tf.io.serialize_tensor(part).numpy(), np.uint8)
  files.write_arrays(path, arrays)


def _read(path: pathlib.Path, specs: list, count: int) -> list[list]:
  """Returns a list of tensors for each fold."""
  folds: list[list] = [[[] for _ in specs] for _ in range(count)]  # Of parts.
  for name, array in files.read_arrays(path).items():
    fold, i, _, dtype = name.split("_")
    folds[int(fold)][int(i)].append(
        tf.io.parse_tensor(array.tobytes(), dtype))
  return [list(map(_join_parts, specs, tensors)) for tensors in folds]


def _join_parts(spec, parts):
  """Returns the tensor of some parts, perhaps of another type than the spec."""
  if isinstance(spec, tf.SparseTensorSpec):
    return tf.SparseTensor(*parts)
  return (tf.RaggedTensor.from_nested_row_splits(parts[0], parts[1:])
          if isinstance(spec, tf.RaggedTensorSpec) else parts[0])

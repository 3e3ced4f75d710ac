# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Arrays that reach other processes as files, which are written once."""

import io
import os
from typing import Any, Dict, Optional, Tuple

from adanet import tf_compat
from adanet.tf_compat import files
from adanet.training import arrays as arrays_lib
import numpy as np


def _write(path, array):
  """Writes an array, if it has not been written before."""
  gfile = tf_compat.v1.io.gfile
  if not gfile.exists(path):
    with files.written_whole(path) as temporary:
      with gfile.GFile(temporary, "wb") as f:
        np.save(f, array)


def _read(path, has_objects):
  """Returns an array, which is mapped from its file where that is possible."""
  if "://" not in path:
    return np.load(path, mmap_mode=None if has_objects else "r",
                   allow_pickle=has_objects)
  with tf_compat.v1.io.gfile.GFile(path, "rb") as f:
    return np.load(io.BytesIO(f.read()), allow_pickle=has_objects)


class SavedArrays:
  """Arrays by name. Once they are written, they are pickled as their folder."""

  def __init__(self, arrays: Dict[str, np.ndarray]) -> None:
    """Writes nothing yet."""
    self._arrays: Optional[Dict[str, np.ndarray]] = arrays
    self._kinds = {name: array.dtype.kind for name, array in arrays.items()}
    self._folder: Optional[str] = None

  def write(self, folder: str) -> None:
    """Writes all arrays, where the folder does not have them.

    Args:
      folder: str, which belongs to these arrays alone.
    """
    for i, array in enumerate(self.arrays.values()):
      _write(os.path.join(folder, f"{i}.npy"), array)
    self._folder = folder

  def __getstate__(self) -> Dict[str, Any]:
    state = dict(self.__dict__)
    if self._folder is not None:
      state["_arrays"] = None
    return state

  @property
  def arrays(self) -> Dict[str, np.ndarray]:
    """The arrays; after unpickling they are read when they are first asked."""
    if self._arrays is None:
      self._arrays = {
          name: _read(os.path.join(str(self._folder), f"{i}.npy"), kind == "O")
          for i, (name, kind) in enumerate(self._kinds.items())}
    return self._arrays


class SavedArraysInput:
  """An input_fn of some rows of `SavedArrays`."""

  def __init__(self, saved: SavedArrays, features: Tuple[str, ...],
               labels: Tuple[str, ...], rows: Optional[str], batch_size: int,
               seed: Optional[int]) -> None:
    """Reads nothing yet.

    Args:
      saved: has the arrays "x/<name>" and "y/<name>".
      features: the names of the features; ("",) for one that is alone.
      labels: the same of the labels.
      rows: str, the name of the array with the rows to read; None for all.
      batch_size: int.
      seed: int, shuffles the rows, which have no end then; the last batch of
        each epoch may be smaller. None reads them once, in their order.
    """
    self._saved = saved
    self._features = features
    self._labels = labels
    self._rows = rows
    self._batch_size = batch_size
    self._seed = seed

  def __call__(self, config: Any = None, input_context: Any = None) -> Any:
    """Returns the dataset; see `arrays.ArrayInput`."""
    arrays = self._saved.arrays

    def structure(start, names):
      if names == ("",):
        return arrays[start]
      return {name: arrays[start + name] for name in names}

    repeats = self._seed is not None
    return arrays_lib.ArrayInput(
        structure("x/", self._features), structure("y/", self._labels),
        self._batch_size, None if repeats else 1, shuffle=repeats,
        seed=self._seed, rows=None if self._rows is None else np.asarray(
            arrays[self._rows]), ends_at_epoch=repeats)(config, input_context)

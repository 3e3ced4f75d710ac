# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Data of `EnsembleSearch.fit` in arrays: for training, and held out."""

import os
from typing import Any, Callable, Dict, Mapping, NamedTuple, Optional, Tuple

from adanet.core import user_input
from adanet.estimator.keras_fit import array_files
from adanet.estimator.keras_fit import arrangement as arrangement_lib
from adanet.estimator.keras_fit import structures
import numpy as np

_OF_VALIDATION = (
    "validation_data[0]", "validation_data[1]", "validation_data[2]")
_NUM_SAMPLED = 64  # Rows that the models are tried with.
# Held-out rows are read in batches of at least so many. Small rows come in
# larger ones: there a call of a network takes longer than what it computes.
_LEAST_BATCH, _MOST_SMALL_ROWS, _BYTES_OF_SMALL_ROWS = 128, 1024, 2**18


class _Given(NamedTuple):
  """Examples as the user gave them.

  Attributes:
    x: `structures.Structure`.
    y: the same.
    weights: the same, or None.
  """
  x: Any
  y: Any
  weights: Any

  @classmethod
  def read(cls, values, names):
    """Reads and checks them.

    Args:
      values: x, y and weights of the user; the last may be None.
      names: their names in messages.
    """
    x, y = (structures.read(*pair) for pair in zip(names, values[:2]))
    structures.check_labels(names[1], y)
    weights = values[2]
    if weights is not None:
      weights = structures.checked_weights(names[2], weights)
    structures.check_rows(dict(zip(names, (x, y, weights))))
    return cls(x, y, weights)

  @property
  def num_rows(self):
    return structures.check_rows({"x": self.x})


def _weighted(given, class_weight):
  """Returns examples with the weights of their classes."""
  if class_weight is None or given.weights is not None:
    return given
  y = given.y
  if isinstance(y, (dict, list)):
    if len(y) > 1:
      raise ValueError("class_weight: expected None for models with several "
                       "outputs. Give sample_weight, a dict by output.")
    y = list(y.values() if isinstance(y, dict) else y)[0]
  return given._replace(weights=structures.weights_of_classes(y, class_weight))


def _validation(value):
  """Returns the `_Given` of the argument validation_data."""
  if not isinstance(value, (tuple, list)):
    raise ValueError(
        f"validation_data is {user_input.described(value)}: expected a tuple "
        "(x, y) or (x, y, sample_weight) of arrays, as x is one.")
  if len(value) not in (2, 3):
    raise ValueError(f"validation_data has {len(value)} parts: expected (x, y) "
                     "or (x, y, sample_weight).")
  return _Given.read((*value, None)[:3], _OF_VALIDATION)


def _split(num_rows, validation_split, seed):
  """Returns the rows to train on, and the held-out rows."""
  if isinstance(validation_split, bool) or not isinstance(
      validation_split, (int, float, np.number)) or not (
          0 <= validation_split < 1):
    raise ValueError(
        f"validation_split={user_input.described(validation_split)}: expected "
        "a number between 0 and 1, the part of the rows that is held out.")
  if not validation_split:
    raise ValueError(
        "validation_split=0: expected more than 0, or validation_data: "
        "held-out data say when a network is done, and select the ensemble.")
  count = int(round(num_rows * validation_split))
  if not 0 < count < num_rows:
    raise ValueError(
        f"validation_split={validation_split}: holds out {count} of {num_rows} "
        "rows: expected at least 1 row in each part. Give more rows, or "
        "validation_data.")
  held_out = np.random.RandomState([seed, 1]).permutation(num_rows)[:count]
  is_held_out = np.zeros(num_rows, bool)
  is_held_out[held_out] = True
  return np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out)


class ArrayData:
  """Arrays to train on, and to check and to select on.

  Attributes:
    x: `structures.Structure`, all features that are not in `validation_data`.
    y: the same of the labels.
    steps_per_epoch: int.
  """

  def __init__(self, x: Any, y: Any, batch_size: int, validation_data: Any,
               validation_split: float, sample_weight: Any,
               class_weight: Optional[Mapping[int, float]], seed: int) -> None:
    """Reads and checks all; see `EnsembleSearch.fit`.

    Raises:
      TypeError: an argument is no array.
      ValueError: an argument is not as described.
    """
    if y is None:
      raise ValueError("y=None: expected the labels of x, an array with as "
                       "many rows.")
    if class_weight is not None:
      structures.check_class_weight(class_weight)
      if sample_weight is not None:
        raise ValueError("class_weight and sample_weight are both given: "
                         "expected one of them. Multiply them.")
    self._train = _weighted(_Given.read(
        (x, y, sample_weight), ("x", "y", "sample_weight")), class_weight)
    self.x, self.y = self._train.x, self._train.y
    num_rows = self._train.num_rows
    self._held_out: Optional[_Given] = None
    self._rows: Tuple[Optional[np.ndarray], ...] = (None, None)
    self._split = validation_split
    if validation_data is None:
      rows = _split(num_rows, validation_split, seed)
      self._rows, num_rows = rows, len(rows[0])
    else:
      self._held_out = _weighted(_validation(validation_data), class_weight)
      self._same_weights()
    self._seed = seed
    self._batch_size = min(batch_size, num_rows)
    self.steps_per_epoch = -(-num_rows // self._batch_size)

  def _same_weights(self):
    """Gives weights of 1 to the part that has none, if one has some."""
    train, held_out = self._train, self._held_out
    if train.weights is None and held_out.weights is not None:
      self._train = train._replace(
          weights=_ones(held_out.weights, train.num_rows))
    elif train.weights is not None and held_out.weights is None:
      self._held_out = held_out._replace(
          weights=_ones(train.weights, held_out.num_rows))

  def weight_names(self, arrangement: arrangement_lib.Arrangement
                  ) -> Tuple[str, ...]:
    """Returns the names of the features that are weights."""
    if self._train.weights is None:
      return ()
    return tuple(arrangement.weights_of("sample_weight", self._train.weights))

  def sample(self) -> Tuple[Any, Any]:
    """Returns x and y of some rows."""
    count = min(_NUM_SAMPLED, self._train.num_rows)
    # Of sorted data, the first ones are of one class.
    rows = np.random.RandomState([self._seed, 2]).permutation(
        self._train.num_rows)[:count]
    return (structures.rows_of(self.x, rows), structures.rows_of(self.y, rows))

  def all_labels(self) -> Dict[str, Any]:
    """Returns the labels of all examples, by the names of the arguments."""
    labels = {"y": self.y}
    if self._held_out is not None:
      labels["validation_data[1]"] = self._held_out.y
    return labels

  def digests(self) -> Dict[str, str]:
    """Returns a description of each argument, with a digest of its data."""
    parts = {"x": self.x, "y": self.y}
    if self._train.weights is not None:
      parts["sample_weight or class_weight"] = self._train.weights
    if self._held_out is not None:
      parts.update({
          f"validation_data[{i}]": part for i, part in enumerate(self._held_out)
          if part is not None})
    found = {name: f"{structures.shapes(part)} {structures.digest(part)}"
             for name, part in parts.items()}
    if self._held_out is None:
      found["validation_split"] = str(self._split)
    found["batch_size"] = str(self._batch_size)
    return found

  def input_fns(self, arrangement: arrangement_lib.Arrangement,
                folder: Optional[str]
               ) -> Tuple[Callable[..., Any], Callable[..., Any]]:
    """Returns the input_fn to train on, and that of the held-out rows.

    Args:
      arrangement: `Arrangement`.
      folder: str, where the arrays are written for other processes; None if
        there are none.

    Raises:
      ValueError: data are not as the arrangement says.
    """
    train = _arranged(self._train, arrangement, ("x", "y", "sample_weight"))
    held_out = None
    if self._held_out is not None:
      held_out = _arranged(self._held_out, arrangement, _OF_VALIDATION)
      _check_same(train, held_out)
    for key, rows in zip(("train", "held out"), self._rows):
      if rows is not None:
        train[key] = rows
    saved = array_files.SavedArrays(train)
    of_held_out = (saved if held_out is None else
                   array_files.SavedArrays(held_out))
    if folder is not None:
      digest = structures.digest([
          np.frombuffer(text.encode(), np.uint8) for text in
          (*map(str, self.digests().values()), str(arrangement),
           str(self._seed))])
      saved.write(os.path.join(folder, digest, "train"))
      if of_held_out is not saved:
        of_held_out.write(os.path.join(folder, digest, "held_out"))
    features, labels = (
        tuple(name[2:] for name in train if name.startswith(start))
        for start in ("x/", "y/"))
    has_rows = held_out is None
    return (
        array_files.SavedArraysInput(
            saved, features, labels, "train" if has_rows else None,
            self._batch_size, self._seed),
        array_files.SavedArraysInput(
            of_held_out, features, labels, "held out" if has_rows else None,
            max(self._batch_size, _rows_of_check([
                array for name, array in of_held_out.arrays.items()
                if name.startswith("x/")])), None))


def _rows_of_check(features):
  """Returns how many held-out rows are read at once, by the arrays of them."""
  num_bytes = sum(array[:1].nbytes for array in features)
  return max(_LEAST_BATCH, min(
      _MOST_SMALL_ROWS, _BYTES_OF_SMALL_ROWS // max(1, num_bytes)))


def _ones(like, num_rows):
  """Returns weights of 1, in the structure of other weights."""
  if isinstance(like, dict):
    return {key: np.ones([num_rows, *one.shape[1:]], np.float32)
            for key, one in like.items()}
  if isinstance(like, list):
    return [np.ones([num_rows, *one.shape[1:]], np.float32) for one in like]
  return np.ones([num_rows, *like.shape[1:]], np.float32)


def _arranged(given, arrangement, names):
  """Returns the arrays of examples by name, as `SavedArraysInput` takes them.
  """
  features = arrangement.features(names[0], given.x)
  if given.weights is not None:
    features = arrangement_lib.with_weights(
        features, arrangement.weights_of(names[2], given.weights))
  labels = arrangement.by_output(names[1], given.y)
  return {**{f"x/{key}": array for key, array in features.items()},
          **{f"y/{key}": array for key, array in labels.items()}}


def _check_same(train, held_out):
  """Checks that held-out data have the names and shapes of x and y.

  Raises:
    ValueError: they have not.
  """
  argument = {"x": "validation_data[0]", "y": "validation_data[1]"}
  for name in {**train, **held_out}:
    kind, _, key = name.partition("/")
    owner = argument[kind] + (f"[{key!r}]" if key else "")
    if name not in held_out or name not in train:
      raise ValueError(f"{owner} is only in one of {kind} and "
                       "validation_data: expected the same names in both.")
    shape, of_held_out = train[name].shape[1:], held_out[name].shape[1:]
    if shape != of_held_out:
      raise ValueError(
          f"{owner} has rows of the shape {list(of_held_out)}, and {kind} of "
          f"{list(shape)}: expected the same.")

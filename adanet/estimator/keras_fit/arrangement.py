# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which features and labels of a head the data of a Keras user become."""

from typing import Any, Dict, NamedTuple, Tuple

from adanet.estimator import auto_inputs
from adanet.estimator.keras_fit import structures
import numpy as np

ARRAY, LIST, DICT, COLUMNS = "array", "list", "dict", "columns"
_WEIGHT = "sample_weight"


def kind_of(value: Any) -> str:
  """Returns the kind of a structure of arrays or tensors."""
  if isinstance(value, structures.Columns):
    return COLUMNS
  if isinstance(value, dict):
    return DICT
  return LIST if isinstance(value, (list, tuple)) else ARRAY


def alone(named: Dict[str, Any]) -> Any:
  """Returns the only value by itself, or the dict of all values."""
  if list(named) == [structures.ALONE]:
    return named[structures.ALONE]
  return named


class Arrangement(NamedTuple):
  """How data are given, and how models take them.

  Attributes:
    inputs: str, how `x` is given. A data frame is an array if models take it as
      a matrix.
    outputs: tuple with the names of the outputs; empty for one that is alone.
    labels: str, how `y` is given.
    weights: tuple with the names of the features that are weights.
  """
  inputs: str
  outputs: Tuple[str, ...] = ()
  labels: str = ARRAY
  weights: Tuple[str, ...] = ()

  def features(self, name: str, x: Any) -> Dict[str, Any]:
    """Returns features by name; one that is alone has the name "".

    Args:
      name: str, the argument, for messages.
      x: structure of arrays or tensors.

    Raises:
      ValueError: it is not given as the data before.
    """
    kind = kind_of(x)
    if kind == COLUMNS and self.inputs == ARRAY:
      return {structures.ALONE: _matrix(name, x)}
    if kind != self.inputs and {kind, self.inputs} != {DICT, COLUMNS}:
      raise ValueError(f"{name} is given as {kind}: expected {self.inputs}, as "
                       "x of the search.")
    if kind == LIST:
      return dict(zip(auto_inputs.numbered(len(x)), x))
    return dict(x) if isinstance(x, dict) else {structures.ALONE: x}

  def by_output(self, name: str, value: Any) -> Dict[str, Any]:
    """Returns labels by output; of one that is alone the name is "".

    Args:
      name: str, the argument, for messages.
      value: structure of arrays or tensors.

    Raises:
      ValueError: it has not a value for each output.
    """
    if not self.outputs:
      if isinstance(value, (dict, list, tuple)) and len(value) == 1:
        value = list(value.values() if isinstance(value, dict) else value)[0]
      if isinstance(value, (dict, list, tuple)):
        raise ValueError(f"{name} has {len(value)} arrays, and the models have "
                         "one output: expected one array.")
      return {structures.ALONE: value}
    names = list(self.outputs)
    if isinstance(value, dict) and set(value) == set(names):
      return {key: value[key] for key in names}
    if isinstance(value, (list, tuple)) and len(value) == len(names):
      return dict(zip(names, value))
    got = f"{len(value)} arrays" if isinstance(value, (list, tuple)) else (
        sorted(map(str, value)) if isinstance(value, dict) else kind_of(value))
    raise ValueError(
        f"{name}: expected a dict with the keys {names}, or a list of "
        f"{len(names)} arrays, one for each output; got {got}.")

  def weights_of(self, name: str, value: Any) -> Dict[str, Any]:
    """Returns weights by the name of their feature.

    Args:
      name: str, the argument, for messages.
      value: structure of arrays or tensors. One array is for all outputs.
    """
    if kind_of(value) == ARRAY:
      return {_WEIGHT: value}
    if not self.outputs:
      return {_WEIGHT: alone(self.by_output(name, value))}
    return {f"{_WEIGHT}_{key}": one
            for key, one in self.by_output(name, value).items()}

  @property
  def weight_column(self) -> Any:
    """The argument of a `KerasHead`."""
    if not self.weights:
      return None
    if self.weights == (_WEIGHT,):
      return _WEIGHT
    return {name: f"{_WEIGHT}_{name}" for name in self.outputs}


def with_weights(features: Dict[str, Any], weights: Dict[str, Any]
                ) -> Dict[str, Any]:
  """Returns features with weights.

  Raises:
    ValueError: a feature has the name of a weight.
  """
  for name in weights:
    if name in features:
      raise ValueError(f"x has the key {name!r}, which is the name of the "
                       "weights: rename it.")
  return {**features, **weights}


def _matrix(name, columns):
  """Returns a data frame as Keras does: all columns in one array."""
  arrays = []
  for key, array in columns.items():
    if array.dtype.kind in "SUO":
      raise ValueError(
          f"{name}[{key!r}] has strings, and the models take the data frame as "
          "one matrix: expected numbers, or models with a keras.Input for each "
          "column, which has its name.")
    arrays.append(array)
  return np.concatenate(arrays, 1)

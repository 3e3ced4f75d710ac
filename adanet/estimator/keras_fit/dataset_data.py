# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Data of `EnsembleSearch.fit` in functions that return a `tf.data.Dataset`."""

from typing import Any, Callable, Dict, Mapping, Optional, Tuple

from adanet import log as logging
from adanet import tf_compat
from adanet.core import user_input
from adanet.estimator.keras_fit import arrangement as arrangement_lib
from adanet.estimator.keras_fit import structures
from adanet.progress import reporter
import numpy as np


def _dataset(function, name):
  """Returns the dataset of a user's function.

  Raises:
    ValueError: it returns something else, or elements that are no batches.
  """
  dataset = function()
  if not isinstance(dataset, tf_compat.v2.data.Dataset):
    raise ValueError(
        f"{name} returned {user_input.described(dataset)}: expected a "
        "tf.data.Dataset of (x, y) or (x, y, sample_weight) in batches.")
  spec = dataset.element_spec
  if not isinstance(spec, tuple) or len(spec) not in (2, 3):
    parts = len(spec) if isinstance(spec, tuple) else 1
    raise ValueError(
        f"{name} returned a tf.data.Dataset of {parts} "
        f"part{'s' * (parts > 1)}: expected elements (x, y) or (x, y, "
        "sample_weight).")
  for part in tf_compat.v2.nest.flatten(spec):
    if part.shape.rank == 0:
      raise ValueError(f"{name} returned a tf.data.Dataset of single examples: "
                       "expected batches. Call batch() on it.")
  return dataset


def _count(dataset, name):
  """Returns how many batches a dataset has.

  Raises:
    ValueError: it has none, or no end.
  """
  count = int(dataset.cardinality())
  if count == tf_compat.v2.data.INFINITE_CARDINALITY:
    raise ValueError(f"{name} returned a tf.data.Dataset without an end: "
                     "expected one epoch. Leave out repeat().")
  if count == tf_compat.v2.data.UNKNOWN_CARDINALITY:
    reporter.log_or_print(
        logging.INFO, f"{name} does not say how many batches it has: they are "
        "counted. dataset.apply(tf.data.experimental.assert_cardinality(n)) "
        "says it.")
    count = sum(1 for _ in dataset)
  if not count:
    raise ValueError(f"{name} returned a tf.data.Dataset without batches.")
  return count


def _as_arrays(structure):
  """Returns a batch of tensors as arrays."""
  if isinstance(structure, Mapping):
    return {key: one.numpy() for key, one in structure.items()}
  if isinstance(structure, (list, tuple)):
    return [one.numpy() for one in structure]
  return structure.numpy()


def _class_weights(y, class_weight):
  """Returns the weights of a batch of classes, in a graph."""
  v1 = tf_compat.v1
  shape = list(y.shape)
  weights = v1.numpy_function(
      lambda labels: structures.weights_of_classes(labels, class_weight), [y],
      v1.float32)
  weights.set_shape(shape[:1])
  return weights


class DatasetInput:
  """An input_fn of a user's function that returns a dataset."""

  def __init__(self, function: Callable[[], Any], name: str,
               arrangement: arrangement_lib.Arrangement,
               class_weight: Optional[Mapping[int, float]],
               repeats: bool) -> None:
    """Calls nothing yet.

    Args:
      function: returns a `tf.data.Dataset`, of an epoch.
      name: str, the argument, for messages.
      arrangement: `Arrangement`.
      class_weight: dict from class to weight, or None.
      repeats: whether epochs go on without an end.
    """
    self._function = function
    self._name = name
    self._arrangement = arrangement
    self._class_weight = class_weight
    self._repeats = repeats

  def __call__(self) -> Any:
    """Returns a dataset of features and labels, in the default graph."""
    dataset = _dataset(self._function, self._name)
    if self._repeats:
      dataset = dataset.repeat()
    return dataset.map(tf_compat.v2.autograph.experimental.do_not_convert(
        self._pair))

  def _pair(self, x, y, weights=None):
    """Returns features and labels of an element."""
    arrangement = self._arrangement
    features = arrangement.features(self._name, x)
    labels = arrangement.by_output(self._name, y)
    if weights is None and self._class_weight is not None:
      weights = _class_weights(arrangement_lib.alone(labels),
                               self._class_weight)
    if weights is None and arrangement.weights:
      ones = tf_compat.v1.ones_like(
          next(iter(labels.values())), tf_compat.v1.float32)
      # One for each example.
      weights = tf_compat.v1.reshape(ones, [tf_compat.v1.shape(ones)[0], -1])[
          :, 0]
      if arrangement.outputs and len(arrangement.weights) > 1:
        weights = dict.fromkeys(arrangement.outputs, weights)
    if weights is not None:
      features = arrangement_lib.with_weights(
          features, arrangement.weights_of(self._name, weights))
    return arrangement_lib.alone(features), arrangement_lib.alone(labels)


class DatasetData:
  """Functions of datasets to train on, and to check and to select on.

  Attributes:
    x: structure of arrays, the features of the first batch.
    y: the same of the labels.
    steps_per_epoch: int.
  """

  def __init__(self, x: Callable[[], Any], y: Any, validation_data: Any,
               sample_weight: Any,
               class_weight: Optional[Mapping[int, float]]) -> None:
    """Reads the first batch; see `EnsembleSearch.fit`.

    Raises:
      ValueError: an argument is not as described.
    """
    for name, value in (("y", y), ("sample_weight", sample_weight)):
      if value is not None:
        raise ValueError(f"{name}: expected None where x is a function, whose "
                         "tf.data.Dataset has (x, y) or (x, y, sample_weight).")
    if not callable(validation_data):
      raise ValueError(
          f"validation_data={user_input.described(validation_data)}: expected "
          "a function that returns a tf.data.Dataset of held-out data, as x is "
          "one.")
    if class_weight is not None:
      structures.check_class_weight(class_weight)
    self._class_weight = class_weight
    self._functions = {"x": x, "validation_data": validation_data}
    datasets = {name: _dataset(function, name)
                for name, function in self._functions.items()}
    specs = [str(one.element_spec[:2]) for one in datasets.values()]
    self._counts = {name: _count(one, name) for name, one in datasets.items()}
    self.steps_per_epoch = self._counts["x"]
    self._specs = dict(zip(datasets, specs))
    first = next(iter(datasets["x"]))
    if class_weight is not None and len(first) == 3:
      raise ValueError("class_weight: expected None where the tf.data.Dataset "
                       "has weights of its own.")
    self.x, self.y = _as_arrays(first[0]), _as_arrays(first[1])
    structures.check_labels("y", structures.read("y", self.y))
    structures.read("x", self.x)
    # Where one of the two has weights, the other one has some of 1.
    self._weights = next(
        (one.element_spec[2] for one in datasets.values()
         if len(one.element_spec) == 3), None)

  def weight_names(self, arrangement: arrangement_lib.Arrangement
                  ) -> Tuple[str, ...]:
    """Returns the names of the features that are weights."""
    if self._weights is not None:
      return tuple(arrangement.weights_of("x", self._weights))
    if self._class_weight is None:
      return ()
    if len(arrangement.outputs) > 1:
      raise ValueError("class_weight: expected None for models with several "
                       "outputs. Give weights as the third part of x.")
    return tuple(arrangement.weights_of("x", np.zeros([1])))

  def sample(self) -> Tuple[Any, Any]:
    """Returns x and y of the first batch."""
    return self.x, self.y

  def all_labels(self) -> Dict[str, Any]:
    """Returns the labels of the first batch."""
    return {"y": self.y}

  def digests(self) -> Dict[str, str]:
    """Returns a description of each argument: shapes and counts."""
    found = {name: f"{self._counts[name]} batches of {self._specs[name]}"
             for name in self._functions}
    found["class_weight"] = str(self._class_weight)
    return found

  def input_fns(self, arrangement: arrangement_lib.Arrangement,
                folder: Optional[str]
               ) -> Tuple[Callable[..., Any], Callable[..., Any]]:
    """Returns the input_fn to train on, and that of the held-out data."""
    del folder  # There are no arrays.
    train, held_out = (
        DatasetInput(function, name, arrangement, self._class_weight,
                     name == "x")
        for name, function in self._functions.items())
    return train, held_out

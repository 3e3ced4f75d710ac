# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which features a Keras model of a pool is called with."""

from typing import Any, Collection, List, Set

from adanet import tf_compat


def is_keras_3(value: Any) -> bool:
  """Whether a layer or model is of Keras 3, without loading Keras 3."""
  return hasattr(value, "stateless_call")


def weight_columns(head: Any) -> Set[str]:
  """Returns the names of a head's features with weights."""
  parts = getattr(head, "heads", None) or [head]
  # Heads of tf.estimator have no public one.
  columns = [getattr(part, "weight_column", None) or
             getattr(part, "_weight_column", None) for part in parts]
  return {getattr(column, "key", column) for column in columns if column}


def numbered(count: int) -> List[str]:
  """Returns the names of the features for a list of inputs."""
  return [f"input_{i}" for i in range(count)]


def _select_features(structure, features):
  """Returns the features in the structure of a model's inputs, by key.

  Raises:
    KeyError: a feature is missing.
  """
  if isinstance(structure, dict) and isinstance(features, dict):
    return {key: _select_features(part, features[key])
            for key, part in structure.items()}
  if isinstance(structure, (list, tuple)) and isinstance(
      features, (list, tuple)) and len(structure) == len(features):
    return [_select_features(*pair) for pair in zip(structure, features)]
  return features


class ModelInputs:
  """The inputs of a model: by key, by name or by position, as in Keras.

  A model's first call may change the list of inputs, so the constructor reads
  the inputs before.
  """

  def __init__(self, model: Any, owner: str,
               weights: Collection[str] = ()) -> None:
    """Reads the inputs of the model.

    Args:
      weights: names of features that are weights of examples, passed only to
        inputs with such a name.
    """
    self._owner = owner
    self._weights = weights
    keras = tf_compat.keras_3 if is_keras_3(model) else tf_compat.keras
    is_sequential = isinstance(model, keras.Sequential)
    tensors = list(getattr(model, "inputs", None) or ())
    self._names: List[str] = []
    self._structure: Any = None
    if tensors:
      self._names = ([tensor.name for tensor in tensors] if is_keras_3(model)
                     else list(model.input_names))
      self._structure = tensors[0] if is_sequential else model.input
    # Keras of TensorFlow 1 goes by the names in any case.
    self._has_keys = isinstance(self._structure, dict) and not (
        tf_compat.IS_TENSORFLOW_1)
    columns = getattr(keras.layers, "DenseFeatures", ())
    self._takes_one = is_sequential and not tensors and not isinstance(
        model.layers[0], columns)

  def of(self, features: Any) -> Any:
    """Returns the argument to call the model with.

    Raises:
      ValueError: a feature is missing.
    """
    if isinstance(features, dict) and "" in features:
      features = features[""]  # The others are weights.
    if self._has_keys or not isinstance(features, dict):
      return self._by_key(features)
    unweighted = [features[name] for name in self._unweighted(features)]
    in_list = [features[name] for name in numbered(len(unweighted))
               if name in features]
    is_list = bool(in_list) and len(in_list) == len(unweighted)
    if not self._names:
      if is_list and not self._takes_one:
        return in_list
      if self._takes_one and len(unweighted) == 1:
        return unweighted[0]
      return {name: features[name] for name in self._unweighted(features)}
    values = [features[name] for name in self._names if name in features]
    if is_list and not values and len(self._names) == len(in_list):
      values = in_list
    if len(self._names) == 1 and not values and len(unweighted) == 1:
      values = unweighted
    if len(values) < len(self._names):
      raise self._missing(
          "the inputs", self._names, features, "Name each keras.Input as its")
    return tf_compat.v2.nest.pack_sequence_as(self._structure, values)

  def _unweighted(self, features):
    return [name for name in features if name not in self._weights]

  def _by_key(self, features):
    """Returns the features in the structure of the inputs, as Keras does."""
    structure = self._structure
    if isinstance(structure, dict) and isinstance(features, dict):
      names = self._unweighted(features)
      if len(structure) == len(names) == 1 and not (
          structure.keys() & features.keys()):
        return {key: features[names[0]] for key in structure}
    try:
      return _select_features(structure, features)
    except KeyError as error:
      raise self._missing("a dict of the inputs", structure, features,
                          "Give each keras.Input the key of its") from error

  def _missing(self, what, names, features, advice):
    return ValueError(
        f"{self._owner}: the model has {what} {sorted(names)}, and the "
        f"features are {sorted(features)}. {advice} feature.")

  def explained(self, features: Any) -> str:
    """Returns how features may have made a call fail; "" if they did not."""
    if not (self._takes_one and isinstance(features, dict)):
      return ""
    names = sorted(self._unweighted(features))
    if len(names) < 2:
      return ""
    return (f"{self._owner}: a Sequential model takes one feature, and "
            f"input_fn gives {', '.join(map(repr, names))}: concatenate them "
            "in input_fn, or make a keras.Model with a keras.Input for each. "
            "Weights of examples are the head's weight_column.")

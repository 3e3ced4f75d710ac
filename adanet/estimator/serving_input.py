# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The input of an export, by the input_fn that a model was trained with."""

from typing import Any, Callable

from adanet import tf_compat
from adanet.training import input_fn as input_fn_lib

# The name in an example of a feature that has no name.
_FEATURE = "feature"


def features_of(input_fn: Callable[..., Any]) -> Any:
  """Returns the features of an input_fn, of which only the kind matters.

  Args:
    input_fn: see `adanet.Estimator.predict`.

  Returns:
    A `tf.TensorSpec` or a `SparseTensor` in a graph of its own, or a dict from
    name to these.
  """
  v1 = tf_compat.v1
  with v1.Graph().as_default():
    features = input_fn_lib.call(
        input_fn, "infer", tf_compat.RunConfig(),
        [v1.distribute.InputContext()]).features

  def without_name(tensor):
    if isinstance(tensor, v1.SparseTensor):
      return tensor
    return tf_compat.v2.TensorSpec(tensor.shape, tensor.dtype)

  if isinstance(features, dict):
    return {name: without_name(tensor) for name, tensor in features.items()}
  return without_name(features)


def request_dtype(dtype: Any) -> Any:
  """Returns the type that a request has for a tensor's.

  Arrays of Python and data frames have float64. Keras, which makes float32 of
  it, could not call the export.
  """
  v1 = tf_compat.v1
  return v1.float32 if dtype == v1.float64 else dtype


def _example_dtype(dtype):
  """Returns the type that an example has for a tensor's; None for none."""
  v1 = tf_compat.v1
  if dtype.is_integer or dtype.is_bool:
    return v1.int64
  if dtype.is_floating:
    return v1.float32
  return v1.string if dtype == v1.string else None


def _example_feature(name, like):
  """Returns how an example has a feature."""
  v1 = tf_compat.v1
  dtype = _example_dtype(like.dtype)
  if dtype is None:
    raise ValueError(
        f"input_fn gives the feature {name!r} with the type {like.dtype.name}, "
        "which no example has: give a feature_spec in place of the input_fn.")
  if isinstance(like, v1.SparseTensor):
    return v1.io.VarLenFeature(dtype)
  shape = like.shape[1:] if like.shape.rank else None
  if shape is None or not shape.is_fully_defined():
    raise ValueError(
        f"input_fn gives the feature {name!r} with the shape {like.shape}: "
        "expected a known size of each dimension but the first. Or give a "
        "feature_spec in place of the input_fn.")
  return v1.io.FixedLenFeature(shape.as_list(), dtype)


def parser(features: Any) -> Callable[[Any], Any]:
  """Returns a function from serialized examples to features as these.

  Args:
    features: the result of `features_of`.

  Raises:
    ValueError: an example cannot have such a feature.
  """
  v1 = tf_compat.v1
  named = features if isinstance(features, dict) else {_FEATURE: features}
  spec = {name: _example_feature(name, like) for name, like in named.items()}

  def parse(examples):
    parsed = {name: v1.cast(tensor, named[name].dtype) for name, tensor in
              v1.io.parse_example(examples, spec).items()}
    return parsed if isinstance(features, dict) else parsed[_FEATURE]

  return parse

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The inputs of SavedModels: the receivers of `tf.estimator.export`.

TensorFlow 2.16 and later lack the receivers of `tf.estimator.export`. Earlier
versions accept both kinds.
"""

import collections
import functools
from typing import Any, Callable, Mapping, Optional

from adanet import tf_compat
from adanet.training import input_fn as input_fn_lib

# The names of a tensor given without a name.
_FEATURE = "feature"
_RECEIVER = "input"


class ServingInputReceiver(
    collections.namedtuple(
        "ServingInputReceiver",
        ["features", "receiver_tensors", "receiver_tensors_alternatives"])):
  """The return value of a `serving_input_receiver_fn`.

  For example::

      def serving_input_receiver_fn():
        pixels = tf.placeholder(tf.float32, [None, 64])
        return export.ServingInputReceiver(
            features={"pixels": pixels}, receiver_tensors={"pixels": pixels})

  Attributes:
    features: dict from str or int to tensor, the features of the model. A
      single tensor becomes `{"feature": tensor}`.
    receiver_tensors: dict from str to tensor, the inputs of the SavedModel;
      typically a placeholder for serialized `tf.train.Example` protos. A single
      tensor becomes `{"input": tensor}`.
    receiver_tensors_alternatives: dict from str to alternative
      `receiver_tensors`, each with separate signatures; or None.

  A tensor may be a `SparseTensor` or a `RaggedTensor`.
  """

  def __new__(cls, features: Any, receiver_tensors: Any,
              receiver_tensors_alternatives: Optional[Mapping[str, Any]] = None
              ) -> "ServingInputReceiver":
    """Makes a receiver.

    Raises:
      ValueError: an argument has a key of another type, or a value that is no
        tensor; or `receiver_tensors_alternatives` is no dict.
    """
    features = _tensors("features", features, _FEATURE, (str, int))
    receiver_tensors = _receiver_tensors("receiver_tensors", receiver_tensors)
    if receiver_tensors_alternatives is not None:
      if not isinstance(receiver_tensors_alternatives, dict):
        raise ValueError(
            "receiver_tensors_alternatives is "
            f"{receiver_tensors_alternatives!r}. Expected a dict from str to "
            "receiver tensors.")
      receiver_tensors_alternatives = {
          name: _receiver_tensors(
              f"receiver_tensors_alternatives[{name!r}]", tensors)
          for name, tensors in receiver_tensors_alternatives.items()
      }
    return super().__new__(
        cls, features, receiver_tensors, receiver_tensors_alternatives)


class TensorServingInputReceiver(
    collections.namedtuple(
        "TensorServingInputReceiver",
        ["features", "receiver_tensors", "receiver_tensors_alternatives"])):
  """A receiver for a model whose features are a single tensor, not a dict.

  For example::

      def serving_input_receiver_fn():
        pixels = tf.placeholder(tf.float32, [None, 64])
        return export.TensorServingInputReceiver(pixels, pixels)

  Attributes:
    features: tensor, the features of the model.
    receiver_tensors, receiver_tensors_alternatives: see `ServingInputReceiver`.
  """

  def __new__(cls, features: Any, receiver_tensors: Any,
              receiver_tensors_alternatives: Optional[Mapping[str, Any]] = None
              ) -> "TensorServingInputReceiver":
    """Makes a receiver.

    Raises:
      ValueError: `features` is no tensor, or as in `ServingInputReceiver`.
    """
    if not _is_tensor(features):
      raise ValueError(f"features is {features!r}. Expected a tensor.")
    receiver = ServingInputReceiver(features, receiver_tensors,
                                    receiver_tensors_alternatives)
    return super().__new__(
        cls, features, receiver.receiver_tensors,
        receiver.receiver_tensors_alternatives)


def build_parsing_serving_input_receiver_fn(
    feature_spec: Any,
    default_batch_size: Optional[int] = None) -> Callable[[], Any]:
  """Returns a `serving_input_receiver_fn` for serialized examples.

  For example::

      export.build_parsing_serving_input_receiver_fn(
          {"pixels": tf.io.FixedLenFeature([64], tf.float32)})

  Args:
    feature_spec: dict from str to a feature configuration of
      `tf.io.parse_example`, such as `tf.io.FixedLenFeature` or
      `tf.io.VarLenFeature`. Or an input_fn, whose features the examples must
      have as float32, int64 or bytes values.
    default_batch_size: int, the number of examples in a request; None for any
      number.

  Returns:
    A function without arguments that returns a `ServingInputReceiver`. The only
    input, "examples", is a string tensor of shape [default_batch_size] of
    serialized `tf.train.Example` protos.
  """
  if callable(feature_spec):
    parse = _parser(_features_of(feature_spec))
  else:
    parse = functools.partial(
        tf_compat.v1.io.parse_example, features=feature_spec)

  def serving_input_receiver_fn():
    examples = tf_compat.v1.placeholder(
        tf_compat.v1.string, [default_batch_size], name="input_example_tensor")
    return _receiver(parse(examples), {"examples": examples})

  return serving_input_receiver_fn


def build_raw_serving_input_receiver_fn(features: Any,
                                        default_batch_size: Optional[int] = None
                                        ) -> Callable[[], Any]:
  """Returns a `serving_input_receiver_fn` for unserialized features.

  For example::

      export.build_raw_serving_input_receiver_fn(train_input_fn)

  Args:
    features: dict from str to tensor or array, or a single tensor or array, for
      the types and shapes. Or an input_fn that returns such features. A request
      then has float32 instead of float64 values, as in Keras.
    default_batch_size: int, the size of dimension 0 of each feature; None for
      any size.

  Returns:
    A function without arguments that returns a `ServingInputReceiver`.
  """
  v1 = tf_compat.v1
  # As in `tf.estimator`, features that are not from an input_fn are always a
  # dict and keep their types.
  receiver: Callable[..., Any] = ServingInputReceiver
  of_input_fn = callable(features)
  if of_input_fn:
    features = _features_of(features)
    receiver = _receiver

  def requested(dtype):
    # Arrays of Python and data frames have float64. Keras, which makes float32
    # of it, could not call the export.
    return v1.float32 if of_input_fn and dtype == v1.float64 else (
        v1.as_dtype(dtype))

  def placeholder(like):
    shape = v1.TensorShape([default_batch_size]).concatenate(
        v1.TensorShape(like.shape)[1:])
    if isinstance(like, v1.SparseTensor):
      return v1.sparse_placeholder(
          requested(like.dtype),
          None if shape.rank is None else shape.as_list())
    op = getattr(like, "op", None)  # Eager tensors have none.
    return v1.placeholder(requested(like.dtype), shape,
                          name=op.name if op is not None else None)

  def as_trained(tensor, like):
    return tensor if tensor.dtype == like.dtype else v1.cast(tensor, like.dtype)

  def serving_input_receiver_fn():
    if not isinstance(features, dict):
      tensor = placeholder(features)
      return receiver(as_trained(tensor, features), tensor)
    tensors = {name: placeholder(like) for name, like in features.items()}
    return receiver({name: as_trained(tensor, features[name])
                     for name, tensor in tensors.items()}, tensors)

  return serving_input_receiver_fn


def _receiver(features, receiver_tensors):
  """Returns the receiver of the features of an input_fn."""
  kind = (ServingInputReceiver if isinstance(features, dict) else
          TensorServingInputReceiver)
  return kind(features, receiver_tensors)


def _features_of(input_fn):
  """Returns the kinds of the features of an input_fn, by name if it is a dict.

  A kind is a `tf.TensorSpec`, or a `SparseTensor` in a graph of its own.
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


def _example_feature(name, like):
  """Returns how an example has a feature."""
  v1 = tf_compat.v1
  dtype = next((example_dtype for example_dtype, fits in (
      (v1.int64, like.dtype.is_integer or like.dtype.is_bool),
      (v1.float32, like.dtype.is_floating),
      (v1.string, like.dtype == v1.string)) if fits), None)
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


def _parser(features):
  """Returns a function from serialized examples to features of these kinds."""
  v1 = tf_compat.v1
  named = features if isinstance(features, dict) else {_FEATURE: features}
  spec = {name: _example_feature(name, like) for name, like in named.items()}

  def parse(examples):
    parsed = {name: v1.cast(tensor, named[name].dtype) for name, tensor in
              v1.io.parse_example(examples, spec).items()}
    return parsed if isinstance(features, dict) else parsed[_FEATURE]

  return parse


def _is_tensor(value):
  v1 = tf_compat.v1
  return isinstance(value, (v1.Tensor, v1.SparseTensor, v1.RaggedTensor))


def _tensors(argument, tensors, name, key_types):
  """Returns a dict of tensors, after checking it; a single tensor gets a name.
  """
  if not isinstance(tensors, dict):
    tensors = {name: tensors}
    label = f"{argument} is"
  else:
    label = f"{argument}[{{!r}}] is"
  for key, tensor in tensors.items():
    if not isinstance(key, key_types):
      raise ValueError(f"{argument} has the key {key!r}. Expected "
                       f"{' or '.join((t.__name__ for t in key_types))}.")
    if not _is_tensor(tensor):
      raise ValueError(f"{label.format(key)} {tensor!r}. Expected a tensor.")
  return dict(tensors)


def _receiver_tensors(argument, tensors):
  return _tensors(argument, tensors, _RECEIVER, (str,))

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""SavedModels of an Estimator, in the format of `tf.estimator`.

This module also has the input receivers of `tf.estimator.export`, which
TensorFlow 2.16 and later lack. Earlier versions accept both kinds.
"""

import collections
import functools
import os
import time
from typing import Any, Callable, Dict, Mapping, Optional, Union

from adanet import log as logging
from adanet import tf_compat
from adanet.estimator import serving_input
from adanet.heads import head

# The names of a tensor given without a name.
_FEATURE = "feature"
_RECEIVER = "input"

_MAX_ATTEMPTS = 10

_Path = Union[str, bytes, "os.PathLike[str]"]


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
    receiver_tensors: see `ServingInputReceiver`.
    receiver_tensors_alternatives: see `ServingInputReceiver`.
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
    parse = serving_input.parser(serving_input.features_of(feature_spec))
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
  requested = v1.as_dtype
  if callable(features):
    features = serving_input.features_of(features)
    receiver, requested = _receiver, serving_input.request_dtype

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


def signature_defs(receiver_tensors: Any,
                   receiver_tensors_alternatives: Optional[Mapping[str, Any]],
                   export_outputs: Mapping[str, Any]) -> Dict[str, Any]:
  """Returns the signatures of all inputs and outputs, as in `tf.estimator`.

  Inputs and an output that do not fit together have no signature; a log line
  gives the reason. For example, the "serving_default" of a head does not fit
  raw features. Then "serving_default" becomes the same as "predict", or as the
  only fitting signature. A warning reports a model without "serving_default".

  Args:
    receiver_tensors: tensor, or dict from str to tensor: the inputs.
    receiver_tensors_alternatives: dict from str to alternative inputs, or None.
    export_outputs: dict from the name of a signature to an object with a method
      `as_signature_def(receiver_tensors)`, which raises a ValueError where the
      inputs do not fit. A single output also becomes "serving_default". Several
      outputs must include "serving_default".

  Returns:
    A dict from str to `SignatureDef` proto. The names of alternatives are
    `<alternative>:<output>`.

  Raises:
    ValueError: `export_outputs` has several outputs without "serving_default".
    TypeError: `export_outputs` is no dict of export outputs.
  """
  saved_model = tf_compat.v1.saved_model
  default = saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY
  outputs = _with_default(export_outputs, default)
  inputs = [("", receiver_tensors)]
  for name, tensors in (receiver_tensors_alternatives or {}).items():
    inputs.append((f"{name or 'None'}:", tensors))
  signatures = {}
  reasons = {}
  for prefix, tensors in inputs:
    if not isinstance(tensors, dict):
      tensors = {_RECEIVER: tensors}
    for key, output in outputs.items():
      name = prefix + str(key or "None")
      try:
        signature = output.as_signature_def(tensors)
      except ValueError as e:
        reasons[name] = str(e)
        continue
      if saved_model.is_valid_signature(signature):
        signatures[name] = signature
      else:
        reasons[name] = ("TensorFlow Serving does not take its "
                         f"{signature.method_name}.")
    if not prefix and default not in signatures:
      meant = signatures.get(head.PREDICT_SERVING_KEY)
      if len(signatures) == 1:
        meant, = signatures.values()
      if meant is not None:
        signatures[default] = meant
        del reasons[default]
  for name in sorted(signatures):
    logging.info("The SavedModel has the signature %r (%s).", name,
                 signatures[name].method_name)
  for name in sorted(reasons):
    logging.info("The SavedModel has no signature %r: %s", name, reasons[name])
  if default not in signatures:
    logging.warning(
        "The SavedModel has no signature %r: requests must name one of %s.",
        default, sorted(signatures))
  return signatures


def timestamped_export_dir(export_dir_base: _Path) -> str:
  """Returns the path of a new folder, named by the current second.

  The function waits for the next second if the folder exists. TensorFlow
  Serving serves the folder with the highest number.

  Args:
    export_dir_base: path of the parent folder.

  Raises:
    RuntimeError: other exports have taken ten names in a row.
  """
  gfile = tf_compat.v2.io.gfile
  base = _text(export_dir_base)
  for _ in range(_MAX_ATTEMPTS):
    path = os.path.join(base, str(int(time.time())))
    if not gfile.exists(path) and not gfile.exists(_temporary(path)):
      return path
    logging.info("The folder %s exists. Waiting for the next second.", path)
    time.sleep(1.)
  raise RuntimeError(
      f"export_dir_base is {base!r}: others took {_MAX_ATTEMPTS} timestamps in "
      "a row. Export again, or to another folder.")


def write_saved_model(export_dir_base: _Path, session: Any,
                      signatures: Mapping[str, Any], main_op: Any,
                      assets_extra: Optional[Mapping[str, _Path]] = None,
                      as_text: bool = False,
                      strip_default_attrs: bool = True) -> bytes:
  """Writes a session's graph and variables as a SavedModel.

  The folder is first written as `temp-<timestamp>` and then renamed, so
  TensorFlow Serving never sees a partial model. An error leaves no folder.

  Args:
    export_dir_base: path of the folder in which to create the new folder
      `<timestamp>`.
    session: session with initialized variables and a graph that is not
      finalized.
    signatures: dict from str to `SignatureDef` proto.
    main_op: op to run when the SavedModel is loaded.
    assets_extra: dict from a path in the SavedModel's folder `assets.extra` to
      the path of the file to copy, or None.
    as_text: bool, whether to write the graph as readable text.
    strip_default_attrs: bool, whether to omit default attribute values, so that
      older versions of TensorFlow can load the graph.

  Returns:
    The path of the new folder, as bytes as in `tf.estimator`.
  """
  v1 = tf_compat.v1
  gfile = tf_compat.v2.io.gfile
  path = timestamped_export_dir(export_dir_base)
  temporary = _temporary(path)
  try:
    with session.graph.as_default():
      builder = v1.saved_model.Builder(temporary)
      builder.add_meta_graph_and_variables(
          session, [v1.saved_model.tag_constants.SERVING],
          signature_def_map=signatures,
          assets_collection=v1.get_collection(v1.GraphKeys.ASSET_FILEPATHS),
          main_op=main_op,
          strip_default_attrs=strip_default_attrs)
    builder.save(as_text)
    for relative, source in (assets_extra or {}).items():
      target = os.path.join(temporary, "assets.extra", _text(relative))
      gfile.makedirs(os.path.dirname(target))
      gfile.copy(_text(source), target)
    gfile.rename(temporary, path)
  except BaseException:
    if gfile.exists(temporary):
      gfile.rmtree(temporary)
    raise
  return path.encode()


def _receiver(features, receiver_tensors):
  """Returns the receiver of the features of an input_fn."""
  kind = (ServingInputReceiver if isinstance(features, dict) else
          TensorServingInputReceiver)
  return kind(features, receiver_tensors)


def _temporary(path):
  """Returns the temporary path of a folder that is renamed at the end."""
  base, name = os.path.split(path)
  return os.path.join(base, "temp-" + name)


def _text(path):
  path = os.fspath(path)
  return path.decode() if isinstance(path, bytes) else path


def _is_tensor(value):
  v1 = tf_compat.v1
  return isinstance(value, (v1.Tensor, v1.SparseTensor, v1.RaggedTensor))


def _tensors(argument, tensors, name, key_types):
  """Returns a dict of tensors; a single tensor gets a name.

  Args:
    argument: the name of the argument, for an error.
    tensors: tensor, or dict.
    name: the name of a single tensor.
    key_types: tuple of the types that keys may have.

  Returns:
    A dict.

  Raises:
    ValueError: a key or a value has a wrong type.
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


def _with_default(export_outputs, default):
  """Returns the export outputs with an output of the default name."""
  if not isinstance(export_outputs, dict) or not all(
      hasattr(output, "as_signature_def")
      for output in export_outputs.values()):
    raise TypeError(
        f"export_outputs is {export_outputs!r}. Expected a dict from str to "
        "export outputs, such as those of adanet.heads.")
  outputs = dict(export_outputs)
  if len(outputs) == 1:
    outputs.setdefault(default, *outputs.values())
  elif outputs and default not in outputs:
    raise ValueError(
        f"export_outputs has {sorted(outputs, key=str)}, and none is the "
        f"default. Name one of them {default!r}.")
  return outputs

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The exported outputs of a head: tensors and the kind of the signature.

The signatures are as in the classes of the same name in `tf.estimator.export`.
"""

import abc
from typing import Any, Mapping

from adanet import tf_compat
from adanet.heads import _checks


class ExportOutput(abc.ABC):
  """Tensors that a saved model serves under a signature.

  For example, in `Head.build` in mode "infer"::

      return adanet.heads.HeadSpec(mode, predictions, export_outputs={
          "serving_default": export_output.PredictOutput(predictions)})
  """

  @abc.abstractmethod
  def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> Any:
    """Returns the signature that maps inputs to the tensors of this output.

    Args:
      receiver_tensors: dict from str to the tensor that requests feed.

    Returns:
      A `SignatureDef` proto.

    Raises:
      ValueError: `receiver_tensors` does not fit this kind of signature.
    """


def _is_tensor(value, dtype_fits):
  return isinstance(value, tf_compat.v1.Tensor) and dtype_fits(value.dtype)


def _is_float(dtype):
  return dtype.is_floating


def _check_tensor(argument, value, dtype_fits, expected):
  if not _is_tensor(value, dtype_fits):
    raise ValueError(f"{argument}={' '.join(repr(value).split())}: expected "
                     f"{expected}.")


def _serialized_examples(receiver_tensors, method):
  """Returns the only input of a `classify` or `regress` signature."""
  inputs = list(receiver_tensors.values())
  if len(inputs) == 1 and _is_tensor(inputs[0], _checks.is_string):
    return inputs[0]
  raise ValueError(
      f"receiver_tensors={' '.join(repr(dict(receiver_tensors)).split())}: a "
      f"{method} signature takes one string tensor of serialized "
      "tf.train.Example protos.")


class ClassificationOutput(ExportOutput):
  """Scores of classes, names of classes, or both.

  For example::

      export_output.ClassificationOutput(scores=probabilities, classes=names)

  Attributes:
    scores: float tensor of shape `[batch_size, n_classes]`, or None.
    classes: string tensor, or None. With `scores`, the names of the classes in
      the same shape. Without `scores`, the best classes, best first.
  """

  def __init__(self, scores: Any = None, classes: Any = None):
    """Checks the tensors. See the class for their meaning.

    Raises:
      ValueError: both arguments are None, `scores` is no float tensor, or
        `classes` is no string tensor.
    """
    if scores is None and classes is None:
      raise ValueError(
          "scores=None, classes=None: expected a tensor for at least one.")
    if scores is not None:
      _check_tensor("scores", scores, _is_float, "a float tensor")
    if classes is not None:
      _check_tensor("classes", classes, _checks.is_string, "a string tensor")
    self.scores = scores
    self.classes = classes

  def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> Any:
    """See `ExportOutput`. The method is "tensorflow/serving/classify"."""
    return tf_compat.v1.saved_model.classification_signature_def(
        _serialized_examples(receiver_tensors, "classify"), self.classes,
        self.scores)


class RegressionOutput(ExportOutput):
  """Predicted values.

  For example::

      export_output.RegressionOutput(predictions["predictions"])

  Attributes:
    value: float tensor.
  """

  def __init__(self, value: Any):
    """Checks the tensor.

    Raises:
      ValueError: `value` is no float tensor.
    """
    _check_tensor("value", value, _is_float, "a float tensor")
    self.value = value

  def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> Any:
    """See `ExportOutput`. The method is "tensorflow/serving/regress"."""
    return tf_compat.v1.saved_model.regression_signature_def(
        _serialized_examples(receiver_tensors, "regress"), self.value)


class PredictOutput(ExportOutput):
  """Tensors of any kind, by name.

  For example::

      export_output.PredictOutput({"probabilities": probabilities})

  Attributes:
    outputs: dict from str to tensor.
  """

  def __init__(self, outputs: Any):
    """Checks the tensors.

    Args:
      outputs: dict from str to tensor, or a single tensor, which gets the name
        "output". A key may be a tuple of str, which are joined by "/".

    Raises:
      ValueError: a key in `outputs` is no str or tuple of str, or a value is no
        tensor.
    """
    if not isinstance(outputs, dict):
      outputs = {"output": outputs}
    self.outputs = {}
    for key, tensor in outputs.items():
      parts = key if isinstance(key, tuple) else (key,)
      if not all(isinstance(part, str) for part in parts):
        raise ValueError(
            f"outputs: key {key!r}: expected a str, or a tuple of str.")
      name = "/".join(parts)
      _check_tensor(f"outputs[{name!r}]", tensor, lambda dtype: True,
                    "a tensor")
      self.outputs[name] = tensor

  def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> Any:
    """See `ExportOutput`. The method is "tensorflow/serving/predict"."""
    return tf_compat.v1.saved_model.predict_signature_def(
        receiver_tensors, self.outputs)

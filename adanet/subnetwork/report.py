# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The reports of a search about each subnetwork.

A builder describes a subnetwork as a `Report` of tensors in the graph. The end
of an iteration evaluates the tensors to a `MaterializedReport` of plain values
for the generator.
"""

import collections
from typing import Any, Dict

from adanet import log as logging
from adanet import tf_compat


def _check_dtype(name, tensor):
  """Checks that report files can hold values of the tensor's type."""
  tf = tf_compat.v1
  accepted = (tf.bool, tf.int32, tf.float32, tf.float64, tf.string)
  if tensor.dtype.base_dtype not in accepted:
    raise ValueError(
        f"{name}={tensor}: expected a tensor of type "
        f"{', '.join((dtype.name for dtype in accepted))}. Use tf.cast.")


def _check_hparam(name, value):
  if not isinstance(value, (bool, int, float, str)):
    raise ValueError(
        f"{name}={value!r}: expected an int, float, bool or str, not "
        f"{type(value).__name__}.")


def _check_attribute(name, value):
  if not isinstance(value, tf_compat.v1.Tensor):
    raise ValueError(
        f"{name}={value!r}: expected a tensor, not {type(value).__name__}. Use "
        "tf.constant.")
  _check_dtype(name, value)
  if value.shape.ndims != 0:
    raise ValueError(f"{name}={value}: expected a tensor of shape [].")


def _checked_metric(name, metric):
  """Returns a metric as `(value, update_op)`, after checking it."""
  tf = tf_compat.v1
  metric = tf_compat.metric_op(metric)
  if not isinstance(metric, tuple) or len(metric) < 2:
    raise ValueError(
        f"{name}={metric!r}: expected a pair (value, update_op), as a function "
        "of tf.metrics returns it, or a Keras metric.")
  value, update_op = metric[:2]
  tensor_types = (tf.Tensor, tf_compat.v2.Variable)
  if not isinstance(value, tensor_types):
    raise ValueError(
        f"{name}[0]={value!r}: expected a tensor or a variable, not "
        f"{type(value).__name__}.")
  _check_dtype(name + "[0]", value)
  if not isinstance(update_op, tensor_types + (tf.Operation,)):
    raise ValueError(
        f"{name}[1]={update_op!r}: expected an op, a tensor or a variable, not "
        f"{type(update_op).__name__}.")
  return metric


class Report(
    collections.namedtuple("Report", ["hparams", "attributes", "metrics"])):
  """The values to report about a subnetwork.

  For example, in `Builder.build_subnetwork_report`::

      return adanet.subnetwork.Report(
          hparams={"num_layers": 2},
          attributes={"weight_norm": tf.norm(self.weights)},
          metrics={})

  Attributes:
    hparams: dict from name to int, float, bool or str: values that define the
      builder, such as the number of layers.
    attributes: dict from name to tensor of shape []: values that may change
      during training, such as the norm of the weights. Types: bool, int32,
      float32, float64, string.
    metrics: dict from name to a pair `(value, update_op)` as from `tf.metrics`,
      or to a Keras metric, evaluated on the data of the report materializer.
      Values have shape [] and a type as for `attributes`. A metric of another
      shape is dropped with a warning.
  """

  def __new__(cls, hparams: Dict[str, Any], attributes: Dict[str, Any],
              metrics: Dict[str, Any]) -> "Report":
    """Makes a report.

    Raises:
      ValueError: a value in `hparams` is no int, float, bool or str; a value in
        `attributes` is no tensor of shape [] and of a supported type; or a
        value in `metrics` is neither a pair nor a Keras metric.
    """
    for key, value in hparams.items():
      _check_hparam(f"hparams[{key!r}]", value)
    for key, value in attributes.items():
      _check_attribute(f"attributes[{key!r}]", value)
    scalar_metrics = {}
    for key, value in metrics.items():
      metric = _checked_metric(f"metrics[{key!r}]", value)
      if metric[0].shape.ndims == 0:
        scalar_metrics[key] = metric
      else:
        logging.warning(
            "metrics[%r] is left out of the report, because its shape is %s. "
            "Report files hold only single values.", key, metric[0].shape)
    return super().__new__(cls, hparams, attributes, scalar_metrics)


class MaterializedReport(
    collections.namedtuple("MaterializedReport", [
        "iteration_number", "name", "hparams", "attributes", "metrics",
        "included_in_final_ensemble"
    ])):
  """The reported values of a subnetwork at the end of an iteration.

  For example, in `Generator.generate_candidates`::

      num_layers = max((report.hparams["num_layers"]
                        for report in previous_ensemble_reports), default=0)

  Attributes:
    iteration_number: int, from 0, the iteration of the subnetwork.
    name: str, the builder's name.
    hparams: dict from name to int, float, bool or str, as in the `Report`.
    attributes: dict from name to int, float, bool or str.
    metrics: dict from name to int, float, bool or str, evaluated on the data of
      the report materializer.
    included_in_final_ensemble: bool, whether the subnetwork is in the ensemble
      that won the iteration.
  """

  def __new__(cls, iteration_number: int, name: str, hparams: Dict[str, Any],
              attributes: Dict[str, Any], metrics: Dict[str, Any],
              included_in_final_ensemble: bool = False) -> "MaterializedReport":
    return super().__new__(
        cls, iteration_number, name, hparams, attributes, metrics,
        included_in_final_ensemble)

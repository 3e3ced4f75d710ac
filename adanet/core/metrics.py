# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Metrics of candidates for evaluation.

A metric is a pair of tensors: the value, and the update by a batch.
"""

import collections.abc
import inspect
from typing import Any, Dict, Mapping, Sequence, Tuple

from adanet import tf_compat
from adanet.core import scopes
from adanet.heads import mean_loss


Metrics = Dict[str, Tuple[Any, Any]]

_METRIC_FN_ARGUMENTS = ("features", "labels", "predictions")


def check_metric_fn(metric_fn: Any) -> None:
  """Checks the arguments of a user's `metric_fn`."""
  if metric_fn is None:
    return
  if not callable(metric_fn):
    raise ValueError(
        f"metric_fn must be a function that returns a dict, got {metric_fn!r}")
  if hasattr(metric_fn, "update_state"):  # Some of these can be called.
    raise ValueError(
        f"metric_fn must be a function that returns a dict, got {metric_fn!r}: "
        "make the metric in a function of labels and predictions, call its "
        "update_state there, and return {\"name\": metric}")
  unknown = set(inspect.signature(metric_fn).parameters) - set(
      _METRIC_FN_ARGUMENTS)
  if unknown:
    raise ValueError(
        "metric_fn must take some of the arguments "
        f"{', '.join(_METRIC_FN_ARGUMENTS)}, got one with "
        f"{', '.join(sorted(unknown))}")


def _check_metrics(metrics):
  """Checks the return value of a user's `metric_fn`."""
  if not isinstance(metrics, collections.abc.Mapping):
    raise ValueError(
        f"metric_fn returned {metrics!r}: expected a dict from name to metric")
  for name, metric in metrics.items():
    if isinstance(metric, type) or not (
        isinstance(metric, (tuple, list)) or hasattr(metric, "result")):
      raise ValueError(
          f"metric_fn: the metric {name!r} is {metric!r}: expected a pair "
          "(value, update_op), as functions of tf.metrics return it, or a "
          "metric of Keras itself, after its update_state")


def of_candidate(task: Any, spec: Any,
                 terms: Sequence[mean_loss.LossTerm]) -> Metrics:
  """Returns the metrics of a subnetwork or an ensemble.

  The head's metrics, the mean loss, and the result of the user's `metric_fn`. A
  later metric replaces an earlier metric with the same name.

  Args:
    task: `subnetworks.Task`. Without evaluation there are no metrics.
  """
  if task.mode != "eval":
    return {}
  by_name = dict(spec.eval_metric_ops or {})
  by_name["loss"] = mean_loss.metric(terms)
  if task.metric_fn is not None:
    known = dict(features=task.features, labels=task.labels,
                 predictions=spec.predictions)
    with scopes.nan_scope(spec.predictions), scopes.metrics_scope():
      metrics = task.metric_fn(**{
          name: known[name]
          for name in inspect.signature(task.metric_fn).parameters})
    _check_metrics(metrics)
    by_name.update(metrics)
  return {name: tf_compat.metric_op(by_name[name]) for name in sorted(by_name)}


def architecture_metric(builder_names: Sequence[str]) -> Tuple[Any, Any]:
  """Returns a metric whose value is a text summary of an ensemble.

  Args:
    builder_names: the names of the builders, the oldest first.
  """
  v1 = tf_compat.v1
  summary = v1.Summary()
  summary.value.add(
      tag="architecture/adanet",
      metadata=v1.SummaryMetadata(
          plugin_data=v1.SummaryMetadata.PluginData(plugin_name="text")),
      tensor=v1.make_tensor_proto(
          f"| {' | '.join(builder_names)} |", dtype=v1.string))
  return v1.constant(summary.SerializeToString()), v1.no_op()


class MetricValues(Dict[str, Any]):
  """A dict of metrics, with hidden metrics that are available by key.

  Printing, comparison, iteration and JSON leave the hidden metrics out.
  """

  def __init__(self, metrics: Mapping[str, Any], more: Mapping[str, Any]):
    """Copies the metrics and the hidden metrics."""
    super().__init__(metrics)
    self.more = dict(more)

  def __missing__(self, key: str) -> Any:
    return self.more[key]

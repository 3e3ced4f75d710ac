# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""All kinds of metrics in a graph of TensorFlow 1."""

from typing import Any

from adanet.tf_compat import _tensorflow
from adanet.tf_compat import keras_internals
from adanet.tf_compat import keras_scope


def _add_to(name, variables):
  """Adds variables to a collection of the graph, without duplicates."""
  # Variables of TensorFlow 2 have no hash, and `==` compares their values.
  known = {id(variable) for variable in _tensorflow.v1.get_collection(name)}
  for variable in variables:
    if id(variable) not in known:
      _tensorflow.v1.add_to_collection(name, variable)


def _remove_from(name, variables):
  collection = _tensorflow.v1.get_collection_ref(name)
  removed = {id(variable) for variable in variables}
  collection[:] = [
      variable for variable in collection if id(variable) not in removed]


def metric_op(metric: Any) -> Any:
  """Returns a metric as a pair `(value, update_op)` as from `tf.metrics`.

  The variables of a Keras metric become local variables and metric variables,
  which the usual initializer resets and checkpoints omit.

  For example::

      accuracy = keras.metrics.Accuracy()
      accuracy.update_state(labels, predictions["class_ids"])
      value, update_op = tf_compat.metric_op(accuracy)

  Args:
    metric: a pair `(value, update_op)`, or a metric of Keras 2 or Keras 3 (an
      object with `result()`) that was updated in the current graph. A metric of
      Keras 3 must be in a `metric_fn`, a head or a report.

  Returns:
    A pair `(value, update_op)` for a Keras metric. Other values are returned
    unchanged.

  Raises:
    ValueError: the Keras metric was not updated in this graph, or the result of
      the metric is not a single tensor.
  """
  if isinstance(metric, (tuple, list)) or not callable(
      getattr(metric, "result", None)):
    return metric
  is_keras_3 = all(map(keras_internals.is_variable, metric.variables))
  variables = [keras_scope.in_graph(variable) for variable in metric.variables]
  updates = (keras_scope.updates_of(metric.variables) if is_keras_3
             else getattr(metric, "updates", None))
  if not updates:
    raise ValueError(
        f"metric={metric!r}: expected a Keras metric that was updated in this "
        "graph. Make it inside the graph, and call its update_state() first; "
        "one of Keras 3 in metric_fn or build_subnetwork_report.")
  v1 = _tensorflow.v1
  keys = v1.GraphKeys
  _remove_from(keys.GLOBAL_VARIABLES, variables)
  for name in (keys.LOCAL_VARIABLES, keys.METRIC_VARIABLES):
    _add_to(name, variables)
  update_op = updates[0] if len(updates) == 1 else v1.group(*updates)
  value = metric.result()
  if isinstance(value, dict):
    raise ValueError(
        f"metric={metric!r}: its result is a dict of {', '.join(value)}: "
        "expected a metric of one tensor. Use one metric for each.")
  return value, update_op

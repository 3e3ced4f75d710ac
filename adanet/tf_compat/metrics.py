# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Metrics in a graph of TensorFlow 1, whichever way they were made."""

import typing

from adanet.tf_compat import _tensorflow


def metric_op(metric: typing.Any) -> typing.Any:
  """Returns a metric as the pair that `tf.metrics` makes.

  A Keras metric keeps its variables out of all collections. This function adds
  them to the local variables and to the metric variables, so that the usual
  initializer sets them to 0.

  Args:
    metric: a pair `(value, update_op)`, or a Keras metric: an object with
      `result()` and `updates`. A Keras metric must have been updated in the
      current graph.

  Returns:
    `(value, update_op)` for a Keras metric. Anything else is returned as it is.

  Raises:
    ValueError: the Keras metric was not updated in this graph.
  """
  if isinstance(metric, (tuple, list)) or not callable(
      getattr(metric, "result", None)):
    return metric
  updates = getattr(metric, "updates", None)
  if not updates:
    raise ValueError(
        f"metric={metric!r}: expected a Keras metric that was updated in this "
        "graph. Make it with tf_compat.keras.metrics inside the graph and call "
        "its update_state() first.")
  v1 = _tensorflow.v1
  for name in (v1.GraphKeys.LOCAL_VARIABLES, v1.GraphKeys.METRIC_VARIABLES):
    # Variables of TensorFlow 2 have no hash, and `==` compares their values.
    known = {id(variable) for variable in v1.get_collection(name)}
    for variable in metric.variables:
      if id(variable) not in known:
        v1.add_to_collection(name, variable)
  update_op = updates[0] if len(updates) == 1 else v1.group(*updates)
  return metric.result(), update_op

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Metrics over many batches in a graph, as pairs `(value, update_op)`.

`value` is a tensor, the result of the batches so far; `update_op` adds a batch.
Metrics with the same variables share an update op.

The metrics equal the Keras metrics of the `tf.estimator` heads. The variables
are local, so a session starts each evaluation with zeros.

In every function `labels`, `predictions` and `values` are tensors of the same
shape, and `weights` is a float32 tensor that broadcasts to the shape, or None.
"""

from adanet import tf_compat

_NUM_THRESHOLDS = 200  # Keras's default.


def variable(name, shape):
  """Returns a local float32 variable of a metric, initially zero."""
  v1 = tf_compat.v1
  return v1.Variable(
      lambda: v1.zeros(shape, v1.float32),
      trainable=False,
      collections=[
          v1.GraphKeys.LOCAL_VARIABLES, v1.GraphKeys.METRIC_VARIABLES
      ],
      name=name,
      # The same kind of variable on every version.
      use_resource=True)


def _accumulate(scope, increments, *results):
  """Returns a metric for each of `results`, all with the same variables.

  Args:
    increments: dict from the name of a variable to the float32 tensor, of
      static shape, to add for a batch.
    *results: functions from the values of the variables to the value of a
      metric.
  """
  v1 = tf_compat.v1
  with v1.name_scope(scope):
    variables = [
        variable(name, increment.shape.as_list())
        for name, increment in increments.items()
    ]
    # Waits for all increments, so that the end of the input, which has no
    # batch, does not add a constant increment.
    with v1.control_dependencies(list(increments.values())):
      update_op = v1.group(*[
          v.assign_add(increment, read_value=False)
          for v, increment in zip(variables, increments.values())
      ])
    values = [v.read_value() for v in variables]
    return [(result(*values), update_op) for result in results]


def broadcast_weights(weights, values):
  """Returns weights in the shape of `values`; ones if `weights` is None."""
  ones = tf_compat.v1.ones_like(values)
  return ones if weights is None else ones * weights


def _ratio(numerator, denominator):
  return tf_compat.v1.div_no_nan(numerator, denominator)


def _sums(values, weights):
  v1 = tf_compat.v1
  values = v1.cast(values, v1.float32)
  weights = broadcast_weights(weights, values)
  return {
      "total": v1.reduce_sum(values * weights),
      "count": v1.reduce_sum(weights),
  }


def mean(values, weights=None):
  """Returns the weighted mean of values."""
  return _accumulate("mean", _sums(values, weights), _ratio)[0]


def mean_and_baseline(labels, weights):
  """Returns the mean of labels and the accuracy of the most common label."""
  def baseline(total, count):
    return _ratio(tf_compat.v1.maximum(total, count - total), count)

  return _accumulate("label", _sums(labels, weights), _ratio, baseline)


def accuracy(labels, predictions, weights):
  """Returns the weighted fraction of predictions that equal the labels."""
  v1 = tf_compat.v1
  return mean(
      v1.equal(v1.cast(labels, v1.float32), v1.cast(predictions, v1.float32)),
      weights)


def precision_and_recall(labels, predictions, weights):
  """Returns the metrics precision and recall.

  Args:
    labels: tensor; non-zero values are positive.
    predictions: tensor of bool.
  """
  v1 = tf_compat.v1
  labels = v1.cast(labels, v1.bool)

  def weight_of(condition):
    condition = v1.cast(condition, v1.float32)
    return v1.reduce_sum(
        condition * broadcast_weights(weights, condition))

  def precision(true_positives, false_positives, unused_false_negatives):
    return _ratio(true_positives, true_positives + false_positives)

  def recall(true_positives, unused_false_positives, false_negatives):
    return _ratio(true_positives, true_positives + false_negatives)

  return _accumulate(
      "precision_and_recall", {
          "true_positives": weight_of(v1.logical_and(labels, predictions)),
          "false_positives": weight_of(
              v1.logical_and(v1.logical_not(labels), predictions)),
          "false_negatives": weight_of(
              v1.logical_and(labels, v1.logical_not(predictions))),
      }, precision, recall)


def _reached(weight_by_interval):
  """Returns the weight of predictions above each threshold."""
  v1 = tf_compat.v1
  above = v1.cumsum(weight_by_interval, reverse=True)
  # No prediction is above the last threshold, 1.
  return v1.concat([above, [0.]], axis=0)


def _roc_area(positives, negatives):
  """Returns the area under the ROC curve, by the trapezoidal rule."""
  true_positives = _reached(positives)
  false_positives = _reached(negatives)
  x = _ratio(false_positives, false_positives[0])
  y = _ratio(true_positives, true_positives[0])
  return tf_compat.v1.reduce_sum((x[:-1] - x[1:]) * (y[:-1] + y[1:]) / 2.)


def _pr_area(positives, negatives):
  """Returns the area under the precision-recall curve.

  Between two thresholds, the true positives are a linear function of all
  positives, as in section 4 of Davis and Goadrich, The Relationship Between
  Precision-Recall and ROC Curves, ICML 2006. With tp = a + s p, the area
  of precision tp / p over tp is, between p1 and p2,
  s (tp2 - tp1 + a log(p2 / p1)).
  """
  v1 = tf_compat.v1
  true_positives = _reached(positives)
  reached = true_positives + _reached(negatives)
  more, less = reached[:-1], reached[1:]
  gain = true_positives[:-1] - true_positives[1:]
  slope = _ratio(gain, v1.maximum(more - less, 0.))
  offset = true_positives[1:] - slope * less
  both = v1.logical_and(more > 0., less > 0.)
  ones = v1.ones_like(more)
  growth = v1.where(both, more, ones) / v1.where(both, less, ones)
  return _ratio(
      v1.reduce_sum(slope * (gain + offset * v1.log(growth))),
      v1.maximum(true_positives[0], 0.))


def areas_under_curves(labels, predictions, weights):
  """Returns the areas under the ROC curve and the precision-recall curve.

  The curves have 200 evenly spaced thresholds from 0 to 1. The variables hold
  the weight of the examples between neighboring thresholds.

  Args:
    labels: tensor; non-zero values are positive.
    predictions: float tensor of values from 0 to 1.
  """
  v1 = tf_compat.v1
  num_intervals = _NUM_THRESHOLDS - 1
  # A prediction equal to a threshold is not above the threshold. A NaN is above
  # only the first threshold, below 0, so a diverged model has values, too.
  predictions = v1.where(
      v1.math.is_nan(predictions), v1.zeros_like(predictions),
      v1.clip_by_value(predictions, 0., 1.))
  interval = v1.nn.relu(v1.ceil(predictions * num_intervals) - 1.)
  interval = v1.reshape(v1.cast(interval, v1.int32), [-1])
  weights = broadcast_weights(weights, predictions)

  def weight_by_interval(condition):
    return v1.unsorted_segment_sum(
        v1.reshape(v1.cast(condition, v1.float32) * weights, [-1]), interval,
        num_intervals)

  labels = v1.cast(labels, v1.bool)
  return _accumulate(
      "areas_under_curves", {
          "positives": weight_by_interval(labels),
          "negatives": weight_by_interval(v1.logical_not(labels)),
      }, _roc_area, _pr_area)


def at_thresholds(thresholds, labels, predictions, weights):
  """Returns accuracy, precision and recall at each threshold, by key.

  Args:
    thresholds: tuple of float. A prediction above a threshold is positive.
    predictions: float tensor of values from 0 to 1.
  """
  metrics = {}
  for threshold in thresholds:
    positive = predictions > threshold
    key = "{}/positive_threshold_{:g}".format
    metrics[key("accuracy", threshold)] = accuracy(labels, positive, weights)
    metrics[key("precision", threshold)], metrics[key("recall", threshold)] = (
        precision_and_recall(labels, positive, weights))
  return metrics

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of a user's `metric_fn`, and of the metrics of a candidate."""

import types

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.core import metrics
from adanet.core import scopes
from adanet.heads import mean_loss
import numpy as np

v1 = tf_compat.v1


class _Keras:
  """Stands for a metric of Keras, which can be called."""

  def __call__(self, labels, predictions):
    return None

  def update_state(self, labels, predictions):
    pass


class MetricFnTest(parameterized.TestCase):

  @parameterized.parameters(
      None, lambda: {}, lambda features, labels, predictions: {})
  def test_arguments_that_are_known(self, metric_fn):
    metrics.check_metric_fn(metric_fn)

  @parameterized.parameters(
      (3, "must be a function that returns a dict, got 3"),
      (_Keras(), "make the metric in a function of labels and predictions"),
      (lambda labels, logits: {}, "got one with logits"))
  def test_no_metric_fn(self, metric_fn, message):
    with self.assertRaisesRegex(ValueError, message):
      metrics.check_metric_fn(metric_fn)


class OfCandidateTest(parameterized.TestCase):

  def _of_candidate(self, metric_fn, mode="eval"):
    """Returns the metrics of a candidate with a mean loss of 2."""
    return metrics.of_candidate(
        types.SimpleNamespace(
            mode=mode, metric_fn=metric_fn, features=v1.constant(3.),
            labels=v1.constant(4.)),
        types.SimpleNamespace(
            eval_metric_ops={"auc": (v1.constant(.5), v1.no_op())},
            predictions=v1.constant(5.)),
        (mean_loss.LossTerm(v1.constant(2.)),))

  @parameterized.parameters(
      (None, {"auc": .5, "loss": 2.}),
      (lambda: {}, {"auc": .5, "loss": 2.}),
      # One of a name replaces the head's.
      (lambda labels: {"auc": (labels, v1.no_op())}, {"auc": 4., "loss": 2.}),
      (lambda predictions, features: {
          "sum": [predictions + features, v1.no_op()]},
       {"auc": .5, "loss": 2., "sum": 8.}))
  def test_metrics(self, metric_fn, expected):
    with scopes.new_graph(1).as_default(), v1.Session() as session:
      found = self._of_candidate(metric_fn)
      self.assertEqual(sorted(expected), list(found))
      session.run(v1.local_variables_initializer())
      session.run([update for _, update in found.values()])
      for name, (value, _) in found.items():
        np.testing.assert_allclose(
            expected[name], session.run(value), err_msg=name)

  def test_training_has_none(self):
    self.assertEmpty(self._of_candidate(lambda: 1 / 0, "train"))

  @parameterized.parameters(
      (lambda: 3, "metric_fn returned 3: expected a dict"),
      (lambda: [(1, 2)], "metric_fn returned .*: expected a dict"),
      (lambda: {"m": 3}, "the metric 'm' is 3: expected a pair"),
      (lambda: {"m": _Keras}, "the metric 'm' is <class .*: expected a pair"))
  def test_no_dict_of_metrics(self, metric_fn, message):
    with scopes.new_graph(1).as_default():
      with self.assertRaisesRegex(ValueError, message):
        self._of_candidate(metric_fn)


if __name__ == "__main__":
  absltest.main()

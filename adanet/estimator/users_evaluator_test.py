# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that the evaluator of a user decides who wins."""

from absl.testing import absltest
import adanet
from adanet.testing import builders
from adanet.testing import level
from adanet.testing import searches
import numpy as np


class _Judge:
  """What AdaNet 0.8 asks of an evaluator, without being one.

  It knows the values of the candidates by how many there are.
  """

  def __init__(self, objective_fn, values):
    self.input_fn = builders.input_fn(1)
    self.metric_name = "taste"
    self.objective_fn = objective_fn
    self._values = {len(one): one for one in values}

  def evaluate(self, sess, ensemble_metrics):
    del sess
    return self._values[len(ensemble_metrics)]


@level.gate
class EvaluatorOfAUserTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self._model_dir = self.create_tempdir().full_path

  def _train(self, evaluator, **kwargs):
    """Trains, and returns the estimator and the lines about who won."""
    estimator = searches.estimator(
        self._model_dir, builders.Dense("a"), builders.Dense("b", width=3),
        max_iteration_steps=1, evaluator=evaluator,
        enable_ensemble_summaries=False, enable_subnetwork_summaries=False,
        **kwargs)
    with self.assertLogs(level="INFO") as logged:
      estimator.train(builders.input_fn())
    return estimator, [line.partition(": ")[2] for line in logged.output
                       if " won with " in line]

  def _indices(self, estimator):
    metrics = estimator.evaluate(builders.input_fn(1))
    return [metrics[f"best_ensemble_index_{t}"] for t in range(2)]

  def test_object(self):
    values = [9., 4., 5.]
    estimator, won = self._train(
        _Judge(np.argmax, [[1., 3.], values]), force_grow=True)
    self.assertLen(won, 2)
    for line, text in zip(won, ("t0_b.. won with taste 3", "t1_b.. won with "
                                "taste 5")):
      self.assertEndsWith(" ".join(line.split()),
                          text + ": objective_fn chose it of 2 candidates.")
    self.assertEqual([1, 2], self._indices(estimator))
    record = adanet.report(self._model_dir).iterations[1]
    self.assertEqual(("taste", "", None), (
        record.metric_name, record.reason, record.margin))
    self.assertEqual(values, [c.value for c in record.candidates])


if __name__ == "__main__":
  absltest.main()

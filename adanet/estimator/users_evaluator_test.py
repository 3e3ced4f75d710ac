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
  """What AdaNet 0.8 asks of an evaluator, without being one."""

  def __init__(self, values):
    self.input_fn = builders.input_fn(1)
    self.metric_name = "taste"
    self.objective_fn = np.argmax
    self._values = values

  def evaluate(self, sess, ensemble_metrics):
    del sess, ensemble_metrics
    return self._values


@level.gate
class EvaluatorOfAUserTest(absltest.TestCase):

  def test_object(self):
    values = [3., 1.]
    model_dir = self.create_tempdir().full_path
    estimator = searches.estimator(
        model_dir, builders.Dense("a"), builders.Dense("b", width=3),
        max_iteration_steps=1, max_iterations=1, evaluator=_Judge(values))
    with self.assertLogs(level="INFO") as logged:
      estimator.train(builders.input_fn())
    line, = [line for line in logged.output if " won with " in line]
    self.assertEndsWith(" ".join(line.split()), "t0_a.. won with taste 3: "
                        "objective_fn chose it of 2 candidates.")
    metrics = estimator.evaluate(builders.input_fn(1))
    self.assertEqual(0, metrics["best_ensemble_index_0"])
    record, = adanet.report(model_dir).iterations
    self.assertEqual(("taste", "", None), (
        record.metric_name, record.reason, record.margin))
    self.assertEqual(values, [c.value for c in record.candidates])


if __name__ == "__main__":
  absltest.main()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what a search records for its report."""

import json

from absl.testing import absltest
import adanet
from adanet import tf_compat
from adanet.history import store
from adanet.testing import builders
from adanet.testing import searches


class RecordingTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self._model_dir = self.create_tempdir().full_path

  def _estimator(self):
    return searches.estimator(
        self._model_dir, builders.Dense("a"), builders.Dense("b"),
        force_grow=True, config=tf_compat.RunConfig(tf_random_seed=1))

  def test_seconds_of_all_processes(self):
    self._estimator().train(builders.input_fn(), steps=2)
    history = store.History(self._model_dir)
    before = history.task("chief:0", 0)
    self.assertGreater(before.total_seconds, before.seconds)
    self.assertTrue(before.has_ended)
    history.write_task(before._replace(total_seconds=1000., seconds=500.))
    self._estimator().train(builders.input_fn())
    report = adanet.report(self._model_dir)
    self.assertGreater(report.iterations[0].seconds, 1000.)
    self.assertLess(report.iterations[1].seconds, 500.)
    chief = report.tasks[0]
    self.assertEqual(4, chief.steps)
    self.assertGreater(chief.seconds, 500.)
    self.assertLess(chief.seconds, 1000.)

  def test_iteration_that_has_not_ended(self):
    self._estimator().train(builders.input_fn(), steps=6)
    report = adanet.report(self._model_dir)
    text = str(report)
    self.assertLen(report.iterations, 1)
    self.assertIn("\nIteration 1 has not ended\n\nTrained: t1_a (2 steps, loss ",
                  text)
    self.assertNotIn("t1_a_grow_complexity_regularized", text)

  def test_evaluations(self):
    estimator = self._estimator()
    estimator.train(builders.input_fn(), steps=6)
    first = estimator.evaluate(builders.input_fn(1), checkpoint_path=(
        self._model_dir + "/increment.ckpt-1"))
    last = estimator.evaluate(builders.input_fn(1), name="held_out")
    content = json.loads(json.dumps(
        adanet.report(self._model_dir).to_json_dict()))
    self.assertEqual(
        [(0, 4, ""), (1, 6, "held_out")],
        [(found["iteration"], found["global_step"], found["name"])
         for found in content["evaluations"]])
    for found, result in zip(content["evaluations"], (first, last)):
      self.assertRegex(
          found["ensemble"], "^t[01]_[ab]_grow_complexity_regularized$")
      self.assertEqual(
          {key: float(result[key]) for key in (
              "average_loss", "label/mean", "loss", "prediction/mean")},
          found["metrics"])


if __name__ == "__main__":
  absltest.main()

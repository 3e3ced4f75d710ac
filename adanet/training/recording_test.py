# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what a search records for its report."""

import json

from absl import logging
from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet.testing import level
from adanet import tf_compat
from adanet.history import store
from adanet.testing import builders
from adanet.testing import engines
from adanet.testing import searches


class RecordingTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._model_dir = self.create_tempdir().full_path

  def _estimator(self, **arguments):
    return searches.estimator(
        self._model_dir, builders.Dense("a"), builders.Dense("b"),
        force_grow=True, config=tf_compat.RunConfig(tf_random_seed=1),
        **arguments)

  @parameterized.parameters((None, "chief:0"), (engines.Here(), "worker:0"))
  @level.gate
  def test_seconds_of_all_processes(self, executor, task):
    self._estimator().train(builders.input_fn(), steps=2, executor=executor)
    history = store.Store(self._model_dir)
    before = history.task(task, 0)
    self.assertGreater(before.total_seconds, before.seconds)
    self.assertTrue(before.has_ended)
    history.write_task(before._replace(total_seconds=1000., seconds=500.))
    self._estimator().train(builders.input_fn(), executor=executor)
    report = adanet.report(self._model_dir)
    self.assertGreater(report.iterations[0].seconds, 1000.)
    self.assertLess(report.iterations[1].seconds, 500.)
    task_report = report.tasks[0]
    self.assertEqual((task, 4), (task_report.task, task_report.steps))
    self.assertGreater(task_report.seconds, 500.)
    self.assertLess(task_report.seconds, 1000.)

  @parameterized.parameters((4, False, 0), (8, True, 1))
  @level.gate
  def test_which_one_answers_at_the_last_step(self, step, on_executor, number):
    executor = engines.Here() if on_executor else None
    estimator = self._estimator()
    with self.assertLogs(logging.get_absl_logger(), "INFO") as logs:
      estimator.train(builders.input_fn(), max_steps=step, executor=executor)
    line, = [line for line in logs.output if "has no winner yet" in line]
    report = adanet.report(self._model_dir)
    self.assertLen(report.iterations, number)
    undecided = report.undecided
    self.assertEqual(
        (number, step), (undecided.iteration, undecided.global_step))
    # It is the one that answers, and leads as in the checkpoint.
    estimator.evaluate(builders.input_fn(1))
    self.assertEqual(adanet.report(self._model_dir).evaluations[-1].ensemble,
                     undecided.leader)
    values = sorted(
        float(estimator.get_variable_value(name))
        for name in estimator.get_variable_names() if name.startswith(
            f"adanet/iteration_{number}/candidate_") and name.endswith("_loss"))
    self.assertAlmostEqual(values[0], undecided.value, places=6)
    self.assertAlmostEqual(
        values[1] - values[0], undecided.margin, places=6)
    for text in (line, " ".join(str(report).split())):
      self.assertRegex(text, (
          f"Iteration {number} has no winner yet at step {step}, the last one: "
          r"t\d_[ab]\.\. leads with adanet_loss "))
    # More steps decide.
    estimator.train(builders.input_fn(), max_steps=step + 3, executor=executor)
    report = adanet.report(self._model_dir)
    self.assertLen(report.iterations, number + 1)
    if number == 1:
      self.assertIsNone(report.undecided)

  @level.gate
  def test_rerun_of_a_finished_search(self):
    def train(**more):
      with self.assertLogs(logging.get_absl_logger(), "INFO") as logs:
        self._estimator(
            ensemblers=[adanet.ensemble.GreedyEnsembler()],
            evaluator=adanet.Evaluator(builders.input_fn(1)), **more).train(
                # Other data than before.
                builders.input_fn(batch_size=3 + len(more)))
      return [line for line in logs.output if "raining" in line or
              "trained" in line or "Iteration" in line]

    train()
    history = store.Store(self._model_dir)
    history.write_end(history.end()._replace(time=1e9))
    history.write_iteration(history.iteration(1)._replace(seconds=1000.))
    before = history.read()
    line, = train()
    self.assertRegex(
        line, "Nothing was trained: the search in model_dir .* ended at step 8 "
        r"on 2001-09-0[89] at \d\d:\d\d: it reached max_iterations=2. To train "
        "anew, also on other data, use another model_dir.$")
    self.assertEqual(before, history.read())
    # Further iterations begin with its winner, which is told again.
    train(max_iterations=3)
    report = history.read()
    self.assertLen(report.iterations, 3)
    self.assertEqual(1000., report.iterations[1].seconds)
    self.assertLess(report.iterations[2].seconds, 500.)

  @level.gate
  def test_networks_of_a_fitted_search(self):
    boards = []
    for executor in None, engines.Here():
      self._model_dir = self.create_tempdir().full_path
      self._estimator(
          max_iterations=1, ensemblers=[adanet.ensemble.GreedyEnsembler()],
          evaluator=adanet.Evaluator(builders.input_fn(1))).train(
              builders.input_fn(), executor=executor)
      report = adanet.report(self._model_dir)
      boards.append(report.to_json_dict()["leaderboard"])
      record, = report.iterations
      losses = {name: network.held_out_loss
                for name, network in record.subnetworks.items()}
      self.assertLen(losses, 2)
      self.assertEqual(min(losses.values()), record.fit.best_loss)
      self.assertEqual(record.fit.best_loss, losses[record.fit.best_network])
    for row in boards[0] + boards[1]:
      self.assertGreater(row.pop("seconds"), 0.)
    self.assertEqual(*boards)
    self.assertEqual({"t0_a", "t0_b"}, {
        row["name"] for row in boards[0] if row["kind"] == "network"})

  @level.gate
  def test_evaluator_at_the_last_step(self):
    self._estimator(evaluator=adanet.Evaluator(builders.input_fn(1))).train(
        builders.input_fn(), max_steps=4)
    undecided = adanet.report(self._model_dir).undecided
    self.assertEqual((0, 4, "adanet_loss", None), undecided[:4])

  @level.gate
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
        [tuple(evaluation[key] for key in ("iteration", "global_step", "name"))
         for evaluation in content["evaluations"]])
    for evaluation, result in zip(content["evaluations"], (first, last)):
      self.assertRegex(
          evaluation["ensemble"], "^t[01]_[ab]_grow_complexity_regularized$")
      self.assertEqual(
          {key: float(result[key]) for key in (
              "average_loss", "label/mean", "loss", "prediction/mean")},
          evaluation["metrics"])


if __name__ == "__main__":
  absltest.main()

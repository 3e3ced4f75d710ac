# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of searches that end by their time, or when they no longer gain."""

import os

from absl.testing import absltest
import adanet
from adanet.testing import level
from adanet import tf_compat
from adanet.testing import builders
from adanet.testing import engines

_TIME_IS_UP = "its max_seconds are over"
_ALWAYS = 10**6


def _estimator(model_dir, max_iteration_steps=4, **kwargs):
  return adanet.Estimator(
      adanet.heads.RegressionHead(),
      builders.generator(builders.Dense("a"), builders.Dense("b", width=3)),
      max_iteration_steps=max_iteration_steps, force_grow=True,
      ensemblers=[adanet.ensemble.ComplexityRegularizedEnsembler(
          lambda: tf_compat.v1.train.GradientDescentOptimizer(.05))],
      config=tf_compat.RunConfig(
          model_dir=model_dir, tf_random_seed=1, save_checkpoints_steps=100),
      enable_ensemble_summaries=False, enable_subnetwork_summaries=False,
      **kwargs)


def _held_out():
  return builders.input_fn(repeat=1)


class EndingTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self._model_dir = os.path.join(self.create_tempdir().full_path, "model")

  def _check_what_answers(self, estimator):
    """Checks that evaluation is of the step at which training has ended."""
    history = estimator.history()
    end = history.end
    self.assertEndsWith(estimator.latest_checkpoint(), f"-{end.global_step}")
    self.assertEqual(
        end.global_step,
        estimator.evaluate(_held_out())["global_step"])
    return history

  @level.gate
  def test_a_part_that_waits_until_time_is_up_is_not_trained(self):
    estimator = _estimator(self._model_dir, _ALWAYS)
    with self.assertLogs(level="WARNING") as logs:
      estimator.train(
          builders.input_fn(), max_seconds=1e-3, executor=engines.Here())
    line, = [record.getMessage() for record in logs.records
             if "not trained" in record.getMessage()]
    self.assertEqual(
        "Iteration 0: 1 of 2 parts are not trained, because max_seconds=0.001 "
        "were over before a worker began them: 'b'. Use more workers, or more "
        "seconds.", line)
    step = "adanet/iteration_0/subnetwork_t0_{}/step".format
    self.assertEqual([1, 0], [
        estimator.get_variable_value(step(name)) for name in "ab"])
    # Its average, of nothing, is 0.
    self._check_what_answers(estimator)
    history = estimator.history()
    leader = "t0_a_grow_complexity_regularized"
    self.assertEqual([leader] * 2, [
        history.undecided.leader, history.evaluations[-1].ensemble])
    self.assertIn("leads: it is the only one that has trained.",
                  " ".join(str(history).split()))
    self.assertNotIn("t0_b (1 step", str(history))
    estimator.train(builders.input_fn(), max_steps=3, executor=engines.Here())
    self.assertEqual(3, estimator.get_variable_value(step("b")))

  @level.gate
  def test_time_is_up(self):
    estimator = _estimator(self._model_dir, _ALWAYS)
    metrics, _ = adanet.train_and_evaluate(
        estimator, adanet.TrainSpec(builders.input_fn()),
        adanet.EvalSpec(_held_out(), steps=None), max_seconds=.5)
    history = self._check_what_answers(estimator)
    self.assertEqual((_TIME_IS_UP, metrics["global_step"]),
                     (history.end.reason, history.end.global_step))
    self.assertEmpty(history.iterations)
    self.assertEqual(estimator.history().evaluations[-1].ensemble,
                     history.undecided.leader)
    # It goes on from there, and its time is forgotten.
    estimator.train(builders.input_fn(), steps=3)
    last, end = history.end.global_step + 3, self._check_what_answers(
        estimator).end
    self.assertStartsWith(end.reason, "it reached the number of steps")
    self.assertEqual(last, end.global_step)

  @level.gate
  def test_validation_input_is_an_evaluator(self):
    found = []
    for evaluator in (None, adanet.Evaluator(_held_out())):
      model_dir = os.path.join(self._model_dir, str(len(found)))
      estimator = _estimator(
          model_dir, evaluator=evaluator, max_iterations=1)
      estimator.train(
          builders.input_fn(),
          validation_input_fn=None if evaluator else _held_out())
      record, = estimator.history().iterations
      found.append({c.name: c.value for c in record.candidates})
      # Who has no evaluator takes what was decided.
      self.assertEqual(
          estimator.evaluate(_held_out())["loss"],
          _estimator(model_dir).evaluate(_held_out())["loss"])
    self.assertEqual(found[0], found[1])
    self.assertLen(found[0], 2)

  def test_refused(self):
    estimator = _estimator(
        self._model_dir, evaluator=adanet.Evaluator(_held_out()))
    with self.assertRaisesRegex(
        ValueError, "^validation_input_fn=.*: expected None beside evaluator="):
      estimator.train(builders.input_fn(), validation_input_fn=_held_out())
    with self.assertRaisesRegex(
        ValueError, "^max_seconds must be a number > 0, or None, got 0$"):
      estimator.train(builders.input_fn(), max_seconds=0)
    self.assertFalse(os.path.exists(self._model_dir))


if __name__ == "__main__":
  absltest.main()

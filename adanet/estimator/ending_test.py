# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of searches that end by their time, or when they no longer gain."""

import functools
import os
import time
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet import tf_compat
from adanet.testing import builders
from adanet.testing import engines
from adanet.testing import jobs

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


def _no_gain(evaluator=None, patience=1):
  """Returns arguments of a search in which no winner gains enough."""
  return dict(patience=patience, min_delta=1e9, evaluator=evaluator,
              max_iterations=9)


def _held_out():
  return builders.input_fn(repeat=1)


class EndingTest(parameterized.TestCase):

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

  @parameterized.parameters((None, .5), (engines.Here(), 1.))
  def test_time_is_up(self, executor, seconds):
    estimator = _estimator(self._model_dir, _ALWAYS)
    estimator.train(builders.input_fn(), max_seconds=seconds, executor=executor)
    history = self._check_what_answers(estimator)
    self.assertEqual(_TIME_IS_UP, history.end.reason)
    self.assertEmpty(history.iterations)
    self.assertEqual(estimator.history().evaluations[-1].ensemble,
                     history.undecided.leader)
    # It goes on from there, and its time is forgotten. On an executor the
    # parts have ended at unequal steps: the one that is behind comes nearer.
    estimator.train(builders.input_fn(), steps=3, executor=executor)
    last, end = history.end.global_step + 3, self._check_what_answers(
        estimator).end
    self.assertStartsWith(end.reason, "it reached the number of steps")
    (self.assertLessEqual if executor else self.assertEqual)(
        last, end.global_step)

  @parameterized.parameters(None, engines.Here())
  def test_time_is_up_in_train_and_evaluate(self, executor):
    estimator = _estimator(self._model_dir, _ALWAYS)
    metrics, _ = adanet.train_and_evaluate(
        estimator, adanet.TrainSpec(builders.input_fn()),
        adanet.EvalSpec(_held_out(), steps=None), executor, max_seconds=.5)
    end = self._check_what_answers(estimator).end
    self.assertEqual((_TIME_IS_UP, metrics["global_step"]),
                     (end.reason, end.global_step))

  @parameterized.parameters(None, engines.Here())
  def test_no_iteration_begins_that_would_end_too_late(self, executor):
    late = [0.]
    real_time = time.time

    def slow():
      late[0] += 4000.  # As if the iteration had taken so long.
      return builders.input_fn()()

    estimator = _estimator(self._model_dir)
    with mock.patch.object(time, "time", lambda: real_time() + late[0]):
      estimator.train(slow, max_seconds=6000., executor=executor)
    history = self._check_what_answers(estimator)
    self.assertLen(history.iterations, 1)
    self.assertRegex(
        history.end.reason,
        r"^max_seconds=6000: 19\d\d\.\d s are left, and the last iteration took "
        r"40\d\d\.\d s$")
    _estimator(self._model_dir, max_iterations=2).train(
        builders.input_fn(), executor=executor)
    self.assertLen(adanet.report(self._model_dir).iterations, 2)

  @parameterized.parameters(
      (None, adanet.Evaluator(_held_out())),
      (engines.Here(), None))
  def test_no_gain(self, executor, evaluator):
    estimator = _estimator(self._model_dir, **_no_gain(evaluator))
    for _ in range(2):  # It begins no other when it is called again.
      estimator.train(builders.input_fn(), executor=executor)
      history = self._check_what_answers(estimator)
      self.assertLen(history.iterations, 2)
      self.assertRegex(history.end.reason,
                       r"^patience=1: the last winner is no better than ")
    # Who asks for less goes on.
    _estimator(self._model_dir, evaluator=evaluator, max_iterations=3).train(
        builders.input_fn(), executor=executor)
    self.assertLen(adanet.report(self._model_dir).iterations, 3)

  def test_gain(self):
    estimator = _estimator(self._model_dir, 20, patience=1, max_iterations=3)
    estimator.train(builders.input_fn(), validation_input_fn=_held_out())
    values = [record.winning.value for record in estimator.history().iterations]
    self.assertEqual(sorted(set(values), reverse=True), values)
    self.assertLen(values, 3)

  @parameterized.parameters((adanet.Evaluator(_held_out()), 3), (None, 4))
  def test_only_candidate(self, evaluator, num_iterations):
    # Nothing is known of the first winner without an evaluator.
    estimator = adanet.Estimator(
        adanet.heads.RegressionHead(), builders.generator(builders.Dense("a")),
        max_iteration_steps=4, force_grow=True, model_dir=self._model_dir,
        **_no_gain(evaluator, patience=2))
    estimator.train(builders.input_fn())
    history = estimator.history()
    self.assertLen(history.iterations, num_iterations)
    self.assertStartsWith(history.end.reason,
                          "patience=2: the last 2 winners are no better than ")

  @parameterized.parameters(None, engines.Here())
  def test_validation_input_is_an_evaluator(self, executor):
    found = []
    for evaluator in (None, adanet.Evaluator(_held_out())):
      model_dir = os.path.join(self._model_dir, str(len(found)))
      estimator = _estimator(
          model_dir, evaluator=evaluator, max_iterations=2)
      estimator.train(
          builders.input_fn(), executor=executor,
          validation_input_fn=None if evaluator else _held_out())
      found.append([
          {c.name: c.value for c in record.candidates}
          for record in estimator.history().iterations])
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
    with self.assertRaisesRegex(
        ValueError, "^patience must be a whole number > 0, or None, got 0$"):
      _estimator(self._model_dir, patience=0)
    with self.assertRaisesRegex(
        ValueError, "^min_delta must be a number >= 0, got -1$"):
      _estimator(self._model_dir, min_delta=-1)

    class _Chooser(adanet.Evaluator):

      @property
      def objective_fn(self):
        return lambda values: 0

    with self.assertRaisesRegex(ValueError, "^min_delta=0.1: expected 0 with "):
      _estimator(self._model_dir, evaluator=_Chooser(_held_out()), patience=1,
                 min_delta=.1)
    self.assertFalse(os.path.exists(self._model_dir))


def _program(model_dir, kwargs, max_seconds):
  """A user's program: one task."""
  _estimator(model_dir, **kwargs).train(
      builders.input_fn(), max_seconds=max_seconds)


class ClusterTest(absltest.TestCase):
  """Its name is the first one, so that its jobs start before all else here.

  Processes are forks, and forks of a process that has used TensorFlow 1.15 use
  the same ids for their requests.
  """

  def _ended(self, kwargs, max_seconds):
    """Runs a job to its end; returns the model_dir."""
    folder = self.create_tempdir().full_path
    model_dir = os.path.join(folder, "model")
    jobs.started(
        self, functools.partial(_program, model_dir, kwargs, max_seconds),
        dict(chief=1, worker=1, ps=1), folder).finish(120.)
    return model_dir

  def test_all_tasks_end(self):
    model_dirs = [self._ended(dict(max_iteration_steps=_ALWAYS), 3.),
                  self._ended(_no_gain(), None)]
    for model_dir, num_iterations, reason in zip(
        model_dirs, (0, 2), (f"^{_TIME_IS_UP}$", "^patience=1: ")):
      estimator = _estimator(model_dir)
      history = estimator.history()
      self.assertRegex(history.end.reason, reason)
      self.assertLen(history.iterations, num_iterations)
      self.assertEqual(history.end.global_step,
                       estimator.evaluate(_held_out())["global_step"])


if __name__ == "__main__":
  absltest.main()

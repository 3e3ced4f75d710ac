# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of when a checkpoint is evaluated and exported, and as the last one."""

import types
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet.estimator import train_and_evaluate as train_lib
from adanet.estimator import specs
from adanet.history import records
from adanet.history import store


class _Exporter:
  """Notes what it is told. It exports all checkpoints, or the last one alone.
  """

  name = "notes"

  def __init__(self):
    self.is_final = []
    self.exports_all = False

  def export(self, estimator, export_path, checkpoint_path, eval_result,
             is_the_final_export):
    self.is_final.append(is_the_final_export)
    return f"export of {checkpoint_path}" if (
        self.exports_all or is_the_final_export) else None


class CheckpointEvaluatorTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._now = 100.
    self._exporter = _Exporter()
    self._has_ensembles_behind = self.enter_context(mock.patch.object(
        train_lib.model_dir_lib.ModelDir, "has_ensembles_behind",
        return_value=False))

  def _make(self, max_steps):
    self._estimator = mock.Mock(model_dir="/m")
    self._estimator.evaluate.return_value = {"global_step": 5, "loss": .5}
    return train_lib.CheckpointEvaluator(
        self._estimator, specs.EvalSpec(
            lambda: None, exporters=[self._exporter], throttle_secs=10),
        max_steps, clock=lambda: self._now)

  @parameterized.parameters(
      # max_steps, whether ensembles are behind, and what exporters are told
      # then, and when training is over.
      (5, False, [True]), (4, False, [True]), (5, True, [False, True]),
      (6, False, [False, True]), (None, False, [False, True]))
  def test_which_one_is_the_last(self, max_steps, is_behind, is_final):
    self._has_ensembles_behind.return_value = is_behind
    evaluator = self._make(max_steps)
    evaluator.evaluate("c-5")
    for _ in range(2):
      evaluator.finish("c-5")
    self.assertEqual(is_final, self._exporter.is_final)
    self.assertEqual(1, self._estimator.evaluate.call_count)
    self.assertEqual(
        ({"global_step": 5, "loss": .5}, ["export of c-5"]), evaluator.results)

  def test_what_was_exported_is_not_exported_again(self):
    self._exporter.exports_all = True
    evaluator = self._make(6)
    evaluator.evaluate("c-5")
    evaluator.finish("c-5")
    self.assertEqual([False], self._exporter.is_final)
    self.assertEqual(["export of c-5"], evaluator.results[1])

  def test_another_one_is_the_last(self):
    evaluator = self._make(None)
    evaluator.evaluate("c-3")
    evaluator.finish("c-5")
    self.assertEqual([False, True], self._exporter.is_final)
    self.assertEqual("c-5", evaluator.checkpoint)

  @parameterized.parameters(
      ("model.ckpt-5", "e", False), ("model.ckpt-5", "f", True),
      ("model.ckpt-4", "f", False))
  def test_winner_that_is_known_only_then(self, decided, winner, is_again):
    model_dir = self.create_tempdir().full_path
    evaluator = self._make(5)
    self._estimator.model_dir = model_dir
    self._estimator.evaluate.return_value = {"global_step": 5, "iteration": 1}
    evaluator.evaluate("x/model.ckpt-5")
    history = store.Store(model_dir)
    evaluator.finish("x/model.ckpt-5")  # Nothing is known yet.
    history.write_evaluation(records.EvaluationRecord(1, 5, "e", {}))
    history.write_iteration(records.IterationRecord(
        1, (), winner, "loss", None, "", {}, 5, 1., None, decided, "{}"))
    evaluator.finish("x/model.ckpt-5")
    self.assertEqual(1 + is_again, self._estimator.evaluate.call_count)
    self.assertEqual([True] * (1 + is_again), self._exporter.is_final)

  @parameterized.parameters((None, 0), ("c-5", 1))
  def test_finish_latest(self, latest, count):
    evaluator = self._make(None)
    self._estimator.latest_checkpoint.return_value = latest
    evaluator.finish_latest()
    self.assertEqual(count, self._estimator.evaluate.call_count)

  def test_listener(self):
    evaluated = []
    evaluator = self._make(None)
    self._estimator.evaluate.side_effect = lambda *args, **kwargs: (
        evaluated.append(kwargs["checkpoint_path"]) or {"global_step": 5})
    current = types.SimpleNamespace(step=2)
    listener = train_lib.EvaluatingListener(
        evaluator, lambda: f"c-{current.step}" if current.step else None,
        first_step=2)
    for secs, step, expected in (
        (0, 2, []),  # It has learned nothing new.
        (0, 3, ["c-3"]), (9, 4, []), (1, 5, ["c-5"]), (10, 0, [])):
      self._now += secs
      current.step = step
      listener.after_save(None, step)
      self.assertEqual(expected, evaluated)
      del evaluated[:]


if __name__ == "__main__":
  absltest.main()

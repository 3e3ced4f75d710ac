# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Trains on from checkpoints of a cluster whose ensembles are behind.

On a cluster ensembles may have trained less than their subnetworks when a
checkpoint is saved, and its global step does not say so.
"""

import os

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet import tf_compat
from adanet.estimator import checkpoint_evaluation
from adanet.testing import builders
from adanet.testing import variables
import numpy as np

_STEPS = 8
_ENSEMBLES = ("t0_a_grow_complexity_regularized",
              "t0_b_grow_complexity_regularized")
_SUBNETWORKS = ("t0_a", "t0_b")


def _hold_back(model_dir, steps):
  """Saves the latest checkpoint again, with other steps of ensembles.

  Args:
    model_dir: str.
    steps: dict from an ensemble's name to its step.
  """
  values = variables.latest(model_dir)
  for name, step in steps.items():
    values[f"adanet/iteration_0/ensemble_{name}/step"] = np.int64(step)
  variables.save(tf_compat.v1.train.latest_checkpoint(model_dir), values)


class _Exports:
  """An exporter that notes what it is told."""

  name = "notes"

  def __init__(self):
    self.is_final = []

  def export(self, estimator, export_path, checkpoint_path, eval_result,
             is_the_final_export):
    self.is_final.append(is_the_final_export)


class BehindTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._model_dir = os.path.join(self.create_tempdir().full_path, "model")

  def _estimator(self):
    v1 = tf_compat.v1
    return adanet.Estimator(
        adanet.heads.RegressionHead(),
        builders.generator(builders.Dense("a"), builders.Dense("b")),
        max_iteration_steps=_STEPS, max_iterations=1,
        ensemblers=[adanet.ensemble.ComplexityRegularizedEnsembler(
            lambda: v1.train.GradientDescentOptimizer(.001))],
        config=tf_compat.RunConfig(
            model_dir=self._model_dir, tf_random_seed=1))

  def _steps(self, kind, names):
    return {name: int(self._estimator().get_variable_value(
        f"adanet/iteration_0/{kind}_{name}/step")) for name in names}

  @parameterized.parameters(
      # The steps of subnetworks, of ensembles, and up to which to train.
      (5, 2, None),
      (_STEPS, 3, _STEPS),
      (5, 2, 5),
      (5, 5, 5),
  )
  def test_ensembles_catch_up(self, step, ensemble_step, max_steps):
    self._estimator().train(builders.input_fn(), max_steps=step)
    _hold_back(self._model_dir, dict.fromkeys(_ENSEMBLES, ensemble_step))
    before = self._estimator().latest_checkpoint()
    self._estimator().train(builders.input_fn(), max_steps=max_steps)
    end = max_steps or _STEPS
    self.assertEqual(dict.fromkeys(_SUBNETWORKS, end),
                     self._steps("subnetwork", _SUBNETWORKS))
    self.assertEqual(dict.fromkeys(_ENSEMBLES, end),
                     self._steps("ensemble", _ENSEMBLES))
    self.assertEqual(end, self._estimator().get_variable_value("global_step"))
    # Without a step there is nothing to save.
    self.assertEqual(ensemble_step == end,
                     before == self._estimator().latest_checkpoint())

  def test_one_of_two_catches_up(self):
    self._estimator().train(builders.input_fn(), max_steps=_STEPS)
    _hold_back(self._model_dir, {_ENSEMBLES[1]: 3})
    self._estimator().train(builders.input_fn())
    self.assertEqual(dict.fromkeys(_ENSEMBLES, _STEPS),
                     self._steps("ensemble", _ENSEMBLES))

  @parameterized.parameters((3, [False, True]), (5, [True]))
  def test_a_checkpoint_with_ensembles_behind_is_not_the_last(
      self, ensemble_step, is_final):
    self._estimator().train(builders.input_fn(), max_steps=5)
    _hold_back(self._model_dir, dict.fromkeys(_ENSEMBLES, ensemble_step))
    exports = _Exports()
    evaluator = checkpoint_evaluation.CheckpointEvaluator(
        self._estimator(), adanet.EvalSpec(
            builders.input_fn(1), exporters=[exports]), max_steps=5)
    evaluator.evaluate(self._estimator().latest_checkpoint())
    evaluator.finish(self._estimator().latest_checkpoint())
    self.assertEqual(is_final, exports.is_final)


if __name__ == "__main__":
  absltest.main()

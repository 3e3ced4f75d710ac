# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests a search that goes on in other ways, a cluster with a ps among them."""

import functools
import os

from absl.testing import absltest
import adanet
from adanet import distributed
from adanet import tf_compat
from adanet.testing import builders
from adanet.testing import engines
from adanet.testing import jobs
from adanet.testing import variables
import numpy as np

_CLUSTER = {"chief": 1, "worker": 1, "ps": 1}


def _program(model_dir, way, max_steps):
  """A user's program: one task, or all of the search."""
  if way != "cluster":
    del os.environ["TF_CONFIG"]
  estimator = adanet.Estimator(
      adanet.heads.RegressionHead(),
      builders.generator(builders.Dense("a"), builders.Dense("b", 3)),
      max_iteration_steps=4,
      config=tf_compat.RunConfig(model_dir=model_dir, tf_random_seed=1),
      placement_strategy=distributed.RoundRobinStrategy())
  adanet.train_and_evaluate(
      estimator, adanet.TrainSpec(builders.input_fn(), max_steps=max_steps),
      adanet.EvalSpec(builders.input_fn(1)),
      executor=engines.Here() if way == "executor" else None)


class ExecutorWaysTest(absltest.TestCase):

  def test_goes_on(self):
    model_dir = os.path.join(self.create_tempdir().full_path, "model")
    for i, way in enumerate(
        ["cluster", "executor", "cluster", "alone", "executor"]):
      step = 3 * (i + 1)  # Most are in the middle of an iteration.
      jobs.started(
          self, functools.partial(_program, model_dir, way, step),
          _CLUSTER if way == "cluster" else {"chief": 1}).finish(90.)
      found = variables.latest(model_dir)
      # Workers of a cluster may be further than they were asked to be.
      self.assertGreaterEqual(found["global_step"], step)
      for name, value in found.items():
        self.assertTrue(np.all(np.isfinite(value)), name)
      self.assertFalse(os.path.exists(os.path.join(model_dir, "parts")))
    for t in range(found["current_iteration"]):
      self.assertTrue(os.path.exists(
          os.path.join(model_dir, f"architecture-{t}.json")), t)


if __name__ == "__main__":
  absltest.main()

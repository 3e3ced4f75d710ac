# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that another search is told from the same one on a cluster, too."""

import functools
import sys

from absl import logging
from absl.testing import absltest
from adanet import tf_compat
from adanet.testing import builders
from adanet.testing import jobs
from adanet.testing import searches


class _Tanh(builders.Dense):
  """Has another activation."""

  def build_subnetwork(self, *args, **kwargs):
    made = super().build_subnetwork(*args, **kwargs)
    return made._replace(logits=tf_compat.v1.tanh(made.logits))


def _train(model_dir, kind, max_steps):
  logging.use_absl_handler()
  searches.estimator(
      model_dir, kind("a"), kind("b", width=3), max_iteration_steps=20).train(
          builders.input_fn(), max_steps=max_steps)


class AnotherSearchOnClusterTest(absltest.TestCase):

  def test_another_one(self):
    model_dir = self.create_tempdir().full_path
    for kind, max_steps, expected in (
        (builders.Dense, 10, 0), (builders.Dense, 30, 0), (_Tanh, 35, 1)):
      job = jobs.started(
          self, functools.partial(_train, model_dir, kind, max_steps),
          dict(chief=1, worker=1, ps=1))
      job.finish(120.)
      logs = [[line for line in job.log(name).splitlines()
               if "Another search" in line] for name in job.names]
      self.assertEqual([expected, 0, 0], list(map(len, logs)), logs)
      if expected:
        self.assertRegex(logs[0][0], "graph of t0_[ab], t1_a, t1_b: none of "
                         "these before, 1 Tanh now")
    # One process builds the same.
    with self.assertLogs(logging.get_absl_logger(), "INFO") as logs:
      _train(model_dir, _Tanh, 38)
    self.assertNotIn("Another search", "".join(logs.output))


if __name__ == "__main__":
  # Imported once, before the tasks are forked.
  assert tf_compat.v1.Graph
  sys.exit(absltest.main())

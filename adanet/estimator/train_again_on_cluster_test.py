# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A program that trains more than once, with all tasks of one cluster."""

import functools
import os
import re
import sys
import time

from absl import logging
from absl.testing import absltest
import adanet
from adanet import tf_compat
from adanet.testing import builders
from adanet.testing import jobs
from adanet.testing import processes
from adanet.testing import searches


def _program(folder):
  """A user's program, the same in each task."""
  logging.use_absl_handler()
  first = searches.estimator(os.path.join(folder, "first"), builders.Dense("a"))
  second = searches.estimator(
      os.path.join(folder, "second"), builders.Dense("a", width=3),
      max_iterations=1)
  first.train(builders.input_fn(), max_steps=2)
  if first.config.task_type == "ps":
    time.sleep(5.)  # The chief does not take what it said before for new.
  second.train(builders.input_fn())
  print("step", first.evaluate(builders.input_fn(1))["global_step"])
  # The first one goes on in another iteration. The second one is over.
  for estimator in (first, second):
    metrics, _ = adanet.train_and_evaluate(
        estimator, adanet.TrainSpec(builders.input_fn(), 6),
        adanet.EvalSpec(builders.input_fn(1)))
    print("step", metrics["global_step"])
  processes.end_as_a_program(0)


class TrainAgainOnClusterTest(absltest.TestCase):

  def test_trains_again(self):
    job = jobs.started(
        self, functools.partial(_program, self.create_tempdir().full_path),
        dict(chief=1, worker=2, ps=1))
    job.finish(180.)
    self.assertEmpty(job.listening())
    steps = {name: [int(step) for step in re.findall(
        r"^step (\d+)$", job.log(name), re.MULTILINE)] for name in job.names}
    chief = steps["chief:0"]
    # A step that a worker has begun counts, too.
    self.assertBetween(chief[0], 2, 4)
    self.assertBetween(chief[1], 6, 8)
    self.assertBetween(chief[2], 4, 6)
    for name in job.names:
      self.assertLen(steps[name], 3, name)
      self.assertEqual(chief[1:], steps[name][1:], name)


if __name__ == "__main__":
  # Imported once, before the tasks are forked.
  assert tf_compat.v1.Graph
  sys.exit(absltest.main())

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A program that trains more than once, with all tasks of one cluster.

Then one process goes on, on an executor.
"""

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
from adanet.testing import engines
from adanet.testing import jobs
from adanet.testing import processes
from adanet.testing import searches


class _Tanh(builders.Dense):
  """Has another activation, and the same variables."""

  def build_subnetwork(self, *args, **kwargs):
    subnetwork = super().build_subnetwork(*args, **kwargs)
    return subnetwork._replace(logits=tf_compat.v1.tanh(subnetwork.logits))


def _first(folder, kind=builders.Dense):
  return searches.estimator(
      os.path.join(folder, "first"), kind("a"), max_iterations=3,
      enable_ensemble_summaries=False, enable_subnetwork_summaries=False)


def _program(folder):
  """A user's program, the same in each task."""
  logging.use_absl_handler()
  first = _first(folder)
  second = searches.estimator(
      os.path.join(folder, "second"), builders.Dense("a", width=3),
      max_iterations=1)
  first.train(builders.input_fn(), max_steps=2)
  if first.config.task_type == "ps":
    time.sleep(5.)  # The chief does not take what it said before for new.
  second.train(builders.input_fn())
  print("step", first.evaluate(builders.input_fn(1))["global_step"])
  # The first one goes on in another iteration, and in a third one as another
  # search. The second one is over.
  for estimator, max_steps in (
      (first, 6), (second, 6), (_first(folder, _Tanh), 9)):
    results = adanet.train_and_evaluate(
        estimator, adanet.TrainSpec(builders.input_fn(), max_steps),
        adanet.EvalSpec(builders.input_fn(1)))
    if results:
      print("step", results[0]["global_step"])
  processes.end_as_a_program(0)


class TrainAgainOnClusterTest(absltest.TestCase):

  def test_trains_again(self):
    folder = self.create_tempdir().full_path
    job = jobs.started(self, functools.partial(_program, folder),
                       dict(chief=1, worker=1, ps=1))
    job.finish(180.)
    self.assertEmpty(job.listening())
    steps = {name: [int(step) for step in re.findall(
        r"^step (\d+)$", job.log(name), re.MULTILINE)] for name in job.names}
    chief = steps["chief:0"]
    # A step that a worker has begun counts, too.
    for step, asked in zip(chief, (2, 6, 4, 9)):
      self.assertBetween(step, asked, asked + 2)
    self.assertEqual([4, 1, 1], [len(steps[name]) for name in job.names])
    # The chief alone tells another search from the same one.
    logs = [[line for line in job.log(name).splitlines()
             if "Another search" in line] for name in job.names]
    self.assertEqual([1, 0, 0], list(map(len, logs)), logs)
    self.assertRegex(logs[0][0], "graph of t0_a.*: none of these before, "
                     "1 Tanh now")
    self.assertNotIn("Start all tasks again", job.log("worker:0"))

    # An executor of one process builds the same, and goes on.
    with self.assertLogs(logging.get_absl_logger(), "INFO") as logged:
      estimator = _first(folder, _Tanh)
      estimator.train(builders.input_fn(), executor=engines.Here())
    self.assertNotIn("Another search", "".join(logged.output))
    self.assertBetween(estimator.get_variable_value("global_step"), 12, 14)
    self.assertLen(estimator.history().iterations, 3)


if __name__ == "__main__":
  # Imported once, before the tasks are forked.
  assert tf_compat.v1.Graph
  sys.exit(absltest.main())

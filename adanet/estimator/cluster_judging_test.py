# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""At the end of an iteration all workers of a cluster judge its candidates."""

import functools
import os
import signal
import sys
import time

from absl import logging
from absl.testing import absltest
import adanet
from adanet import distributed
from adanet import tf_compat
from adanet.core import reports
from adanet.core import scopes
from adanet.testing import builders
from adanet.testing import jobs
from adanet.testing import processes

_STEPS = 8
_BUILDERS = "abcd"
_BATCHES = 3  # Of 8, so the order of the input matters.


def _shuffled(repeat=1):
  """Returns an input_fn without a seed of its own."""
  def call():
    features, labels = builders.data()
    dataset = tf_compat.v1.data.Dataset.from_tensor_slices(
        ({"x": features}, labels))
    return dataset.shuffle(len(labels)).repeat(repeat).batch(4)

  return call


class _Evaluator(adanet.Evaluator):
  """Takes its time; in a task that is told so, until it is killed."""

  def evaluate(self, sess, ensemble_metrics):
    logging.info("Evaluates %d ensembles.", len(ensemble_metrics))
    task = tf_compat.RunConfig().task_type
    behavior = os.environ.get("TEST_BEHAVIOR", "")
    if behavior == "fails":
      raise ValueError("This evaluator fails.")
    while behavior == "hangs":
      sess.run([])
      time.sleep(.05)
    del task
    return super().evaluate(sess, ensemble_metrics)


def _estimator(model_dir, steps):
  return adanet.Estimator(
      adanet.heads.RegressionHead(),
      builders.generator(*[
          # The last two are the same network.
          builders.Dense(name, width=min(2 + i, 4))
          for i, name in enumerate(_BUILDERS)]),
      max_iteration_steps=_STEPS, max_iterations=2, force_grow=True,
      evaluator=_Evaluator(_shuffled(), steps=steps),
      report_materializer=adanet.ReportMaterializer(_shuffled(), steps=steps),
      config=tf_compat.RunConfig(
          model_dir=model_dir, save_checkpoints_secs=None,
          keep_checkpoint_max=None),
      placement_strategy=distributed.RoundRobinStrategy())


def _program(model_dir, steps=None):
  """A user's program: one task."""
  logging.use_absl_handler()
  logging.set_verbosity(logging.INFO)
  _estimator(model_dir, steps).train(builders.input_fn())


class ClusterJudgingTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self._folder = self.create_tempdir().full_path
    self._model_dir = os.path.join(self._folder, "model")

  def test_smoke(self):
    job = jobs.Job(functools.partial(_program, self._model_dir),
                   dict(chief=1, worker=2, ps=1), self._folder)
    self.addCleanup(job.close)
    job.start_all()
    job.finish(60.)
    for n in job.names: print(n, job.log(n))
    for i in adanet.report(self._model_dir).iterations:
      print([(c.name, c.value) for c in i.candidates])
    print(os.listdir(os.path.join(self._model_dir, "cluster")))


if __name__ == "__main__":
  # Imported once, before the tasks are forked.
  assert tf_compat.v1.Graph
  sys.exit(absltest.main())

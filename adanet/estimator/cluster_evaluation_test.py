# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""At the end of an iteration all workers of a cluster evaluate its candidates.

The input of the evaluation is shuffled, and nothing has a seed.
"""

import functools
import json
import os
import signal
import sys
import time

from absl import logging
from absl.testing import absltest
import adanet
from adanet import distributed
from adanet import tf_compat
from adanet.core import model_dir as model_dir_lib
from adanet.core import reports
from adanet.testing import builders
from adanet.testing import jobs
from adanet.testing import processes
from adanet.testing import searches
from adanet.testing import shuffled_evaluation
from adanet.training import candidates

_TASKS = dict(chief=1, worker=2, ps=1)
_CANDIDATES = [f"t0_{name}_grow_complexity_regularized" for name in "abc"]


def _hold(path, most):
  """Lets evaluations of more ensembles on a worker last until a file is gone.

  A user's own `evaluate` would get all ensembles, on the chief.
  """
  evaluate = adanet.Evaluator.evaluate

  def held(self, sess, metrics):
    task = json.loads(os.environ["TF_CONFIG"])["task"]["type"]
    while (task == "worker" and len(metrics) - 1 > most and  # One is of data.
           os.path.exists(path)):
      sess.run([])
      time.sleep(.02)
    return evaluate(self, sess, metrics)

  adanet.Evaluator.evaluate = held


def _program(model_dir, iterations, held="", most=0, steps=None, last=None):
  """A user's program: one task."""
  logging.use_absl_handler()
  logging.set_verbosity(logging.INFO)
  _hold(held, most)
  *others, same = shuffled_evaluation.candidates()
  searches.estimator(
      model_dir, *others, last or same, max_iteration_steps=2,
      max_iterations=iterations, evaluator=adanet.Evaluator(
          shuffled_evaluation.input_fn, steps=steps),
      report_materializer=adanet.ReportMaterializer(
          shuffled_evaluation.input_fn, steps=steps),
      enable_ensemble_summaries=False, enable_subnetwork_summaries=False,
      config=tf_compat.RunConfig(
          model_dir=model_dir, save_checkpoints_secs=None),
      placement_strategy=distributed.RoundRobinStrategy()).train(
          builders.input_fn())


def _of_one_process(connection, model_dir):
  """Sends the values that one process finds of the last checkpoint."""
  model = shuffled_evaluation.model(model_dir)
  values = candidates.values(model, 0, model.model_dir.latest_checkpoint())
  connection.send({name: float(value) for name, value in values.items()})


class ClusterEvaluationTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self._folder = self.create_tempdir().full_path
    self._model_dir = os.path.join(self._folder, "model")
    self._held = os.path.join(self._folder, "held")
    with open(self._held, "w"):
      pass

  def _job(self, *arguments):
    return jobs.started(
        self, functools.partial(_program, self._model_dir, *arguments),
        _TASKS, self._folder)

  def _wait(self, job, name, line, count=1):
    """Waits until a task has logged a line so often."""
    job.wait(lambda: os.path.exists(job.log_path(name)) and
             job.log(name).count(line) >= count, 40., f"{line!r} of {name}")

  def _values(self):
    """Returns the values of the first iteration, as they are recorded."""
    return {candidate.name: candidate.value for candidate in
            adanet.report(self._model_dir).iterations[0].candidates}

  def test_all_see_the_same_batches(self):
    # What is found on 3 of 8 batches depends on their order.
    job = self._job(2, self._held, 1, 3)
    # In the second iteration a worker has the previous ensemble, too.
    for name, part in (("worker:0", "b"), ("worker:1", "c")):
      self._wait(job, name, f"Iteration 1: {name} evaluates {part}.")
    # A signal ends all.
    asked = time.monotonic()
    job.signal("chief:0", signal.SIGINT)
    job.finish(20., status=130, names=["chief:0"])
    job.finish(20., status=143, names=["worker:0", "worker:1", "ps:0"])
    self.assertLess(time.monotonic() - asked, 10.)
    values = self._values()
    self.assertEqual(_CANDIDATES, list(values))
    self.assertAlmostEqual(
        values[_CANDIDATES[1]], values[_CANDIDATES[2]], delta=1e-6)
    # They were asked for values, and for reports.
    for name, part in (("worker:0", "b"), ("worker:1", "c")):
      self.assertEqual(2, job.log(name).count(
          f"Iteration 0: {name} evaluates {part}."), job.log(name))
    self.assertNotIn(" itself, because", job.log("chief:0"))
    (_, of_b, of_c), = reports.ReportStore(
        model_dir_lib.ModelDir(self._model_dir).report_dir).read()
    self.assertEqual({"average_loss", "adanet_loss"}.union(of_c.metrics),
                     set(of_b.metrics))
    for metric, value in of_b.metrics.items():
      self.assertAlmostEqual(value, of_c.metrics[metric], delta=1e-6)

  def test_nan_in_a_variable(self):
    job = self._job(1, "", 0, None, builders.HidingNan("c", width=3))
    job.finish(60., names=["chief:0", "worker:0", "worker:1", "ps:0"])
    self.assertIn(
        f"Iteration 0: {_CANDIDATES[2]} counts as NaN, because its variable "
        "'adanet/iteration_0/subnetwork_t0_c/hides'", job.log("chief:0"))
    nan = [name for name, value in self._values().items() if value != value]
    self.assertEqual(_CANDIDATES[2:], nan)

  def test_lost_tasks(self):
    evaluates = {f"worker:{i}": f"Iteration 0: worker:{i} evaluates {name}."
                 for i, name in enumerate("bc")}
    job = self._job(1, self._held)
    for name, line in evaluates.items():
      self._wait(job, name, line)
    # The chief asks again when it was lost.
    job.signal("chief:0", signal.SIGKILL)
    job.start("chief:0")
    for name, line in evaluates.items():
      self._wait(job, name, line, 2)
    # It does what a lost worker leaves. That one comes back.
    job.signal("worker:0", signal.SIGKILL)
    self._wait(job, "chief:0", "the chief evaluates b itself, because worker:0 "
               f"({job.cluster['worker'][0]}) does not answer.")
    job.start("worker:0")
    self._wait(job, "worker:0", evaluates["worker:0"], 3)
    # A signal ends it in the middle.
    job.signal("worker:0", signal.SIGTERM)
    job.finish(10., status=143, names=["worker:0"])
    os.remove(self._held)
    job.finish(30., names=["chief:0", "worker:1", "ps:0"])
    self.assertEmpty(job.listening())
    values = self._values()
    self.assertEqual(_CANDIDATES, list(values))
    expected = processes.Process(_of_one_process, self._model_dir).receive()
    for name, value in expected.items():
      self.assertAlmostEqual(value, values[name], delta=1e-6)
    self.assertEmpty({"question.json", "answers"}.intersection(
        os.listdir(os.path.join(self._model_dir, "cluster"))))


if __name__ == "__main__":
  # Imported once, before the tasks are forked.
  assert tf_compat.v1.Graph
  sys.exit(absltest.main())

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Breaks and stops clusters of real processes.

`tools/fault_test` does more of it, and takes minutes.
"""

import collections
import functools
import json
import os
import re
import signal
import sys
import time

from absl import logging
from absl.testing import absltest
import adanet
from adanet import distributed
from adanet import tf_compat
from adanet.core import events
from adanet.testing import builders
from adanet.testing import jobs
from adanet.testing import searches
import numpy as np

_STEPS = 60  # Of an iteration.


class _Slow(builders.Slow, builders.Remembering):
  """A slow network with a table and resources, which are on the ps as well."""

  def build_subnetwork(self, *args, **kwargs):
    if os.environ.pop("STOP_WHEN_BUILT", None):
      os.kill(os.getpid(), signal.SIGTERM)
    return super().build_subnetwork(*args, **kwargs)

  def build_subnetwork_train_op(self, *args, **kwargs):
    train_op = super().build_subnetwork_train_op(*args, **kwargs)
    return adanet.subnetwork.TrainOpSpec(
        train_op, chief_hooks=[tf_compat.v1.train.SessionRunHook()])


def _program(model_dir, strategy=None, wait_secs=60, step_secs=.02,
             iterations=2):
  """A user's program: one task."""
  logging.use_absl_handler()
  logging.set_verbosity(logging.INFO)
  config = tf_compat.RunConfig(
      model_dir=model_dir, save_checkpoints_steps=20, tf_random_seed=1)
  estimator = adanet.Estimator(
      adanet.heads.RegressionHead(),
      builders.generator(_Slow("a", step_secs), _Slow("b", step_secs)),
      max_iteration_steps=_STEPS, max_iterations=iterations, config=config,
      worker_wait_timeout_secs=wait_secs,
      placement_strategy=strategy or distributed.RoundRobinStrategy())
  adanet.train_and_evaluate(
      estimator, adanet.TrainSpec(builders.input_fn()),
      adanet.EvalSpec(builders.input_fn(1)))


class ClusterFaultsTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self._model_dir = os.path.join(self.create_tempdir().full_path, "model")

  def _job(self, tasks=None, **arguments):
    job = jobs.Job(
        functools.partial(_program, self._model_dir, **arguments),
        tasks or dict(chief=1, worker=2, ps=1), self.create_tempdir().full_path)
    self.addCleanup(job.close)
    return job

  def _started(self, *args, **kwargs):
    job = self._job(*args, **kwargs)
    job.start_all()
    return job

  def _finish(self, job, iterations=2):
    """Waits for the end of a job, and checks what it leaves."""
    job.finish(90.)
    self.assertEmpty(job.listening())
    self.assertEqual(iterations > 1, os.path.exists(
        os.path.join(self._model_dir, "architecture-0.json")))
    # A worker may have read the global step before the chief's last one.
    self.assertGreaterEqual(job.progress("chief:0")[-1].event.global_step,
                            iterations * _STEPS)

  def test_kill_chief_and_parameter_server(self):
    job = self._started(step_secs=.05, strategy=distributed.BalancedStrategy(
        costs="measured", sizes="measured"))

    def saved():
      return max((s.event.global_step for s in job.seen
                  if isinstance(s.event, events.CheckpointSaved)), default=0)

    job.wait(saved, 60., "a checkpoint in the middle of the iteration")
    step = job.progress("chief:0")[-1].event.global_step
    count = len(job.seen)
    job.signal("chief:0", signal.SIGKILL)
    time.sleep(.3)
    job.start("chief:0")
    job.await_step(max(40, step + 1), "chief:0", since=job.started("chief:0"))
    # It goes on with the variables that the parameter server has kept.
    resumed = next(s.event for s in job.seen[count:]
                   if isinstance(s.event, events.Resumed))
    self.assertGreaterEqual(resumed.global_step, step)
    self.assertIsNotNone(resumed.saved_step)
    self.assertNotIn("parameter server", job.log("worker:0"))
    last_saved = saved()
    count = len(job.seen)
    job.signal("ps:0", signal.SIGKILL)
    time.sleep(.3)
    job.start("ps:0")
    self._finish(job)
    # It was restored once, from the last checkpoint or a later one.
    steps = [s.event.global_step for s in job.seen[count:]
             if s.task == "chief:0" and isinstance(s.event, events.Resumed)]
    self.assertLen(steps, 1)
    self.assertGreaterEqual(steps[0], last_saved)
    # What was measured was used again.
    for what in ("costs", "sizes"):
      for number in range(2):
        self.assertEqual(1, job.log("chief:0").count(
            f"Iteration {number}: measured {what}"))
    # The report has it, and the losses that only the workers know.
    for iteration in adanet.report(self._model_dir).iterations:
      self.assertLen(iteration.subnetworks, 2)
      for subnetwork in iteration.subnetworks.values():
        self.assertGreater(subnetwork.measured_seconds, .05)
        self.assertGreater(subnetwork.measured_bytes, 0)
        self.assertIsNotNone(subnetwork.loss)

  def test_stop_and_go_on_in_another_size(self):
    job = self._started(step_secs=.1)
    step = job.await_step(5, "worker:1")
    # A worker that comes back trains on. Nothing is restored for it.
    job.signal("worker:1", signal.SIGKILL)
    job.start("worker:1")
    job.await_step(step + 1, "worker:1", since=job.started("worker:1"))
    self.assertEmpty([s for s in job.seen
                      if isinstance(s.event, events.Resumed)])
    asked = time.monotonic()
    for name in job.names:
      job.signal(name, signal.SIGTERM)
    job.finish(30., status=128 + signal.SIGTERM)
    self.assertLess(time.monotonic() - asked, 10)
    stopped = re.search(r"Stopped: step (\d+) of iteration 0 is saved",
                        job.log("chief:0"))
    self.assertIsNotNone(stopped, job.log("chief:0"))
    self.assertIn("Iteration 0: the chief_hooks of t0_b do not run",
                  job.log("chief:0"))
    other = self._started(
        dict(chief=1, worker=1, ps=2), iterations=1,
        strategy=distributed.ReplicationStrategy())
    self._finish(other, iterations=1)
    self.assertIn(
        f"Resumed from step {stopped.group(1)} of iteration 0",
        other.log("chief:0"))

  def test_signal_to_the_chief_ends_all(self):
    job = self._started(step_secs=.1)
    job.await_step(10, "worker:0")
    other = self._job()
    other.start("chief:0")
    other.finish(30., status=1)
    self.assertRegex(other.log("chief:0"), "InUseError: .*in use by process")
    asked = time.monotonic()
    job.signal("chief:0", signal.SIGINT)
    job.finish(30., status=130, names=["chief:0"])
    job.finish(30., status=128 + signal.SIGTERM,
               names=[name for name in job.names if name != "chief:0"])
    self.assertLess(time.monotonic() - asked, 10)

  def test_stop_while_the_chief_takes_over(self):
    job = self._started(step_secs=.1)
    job.await_step(1, "chief:0")
    job.signal("chief:0", signal.SIGKILL)
    latest = lambda: tf_compat.v1.train.latest_checkpoint(self._model_dir)
    step = "adanet/iteration_0/subnetwork_t0_a/step"
    saved = tf_compat.v1.train.load_variable(latest(), step)
    trained = job.wait(lambda: max(
        (s.event.steps["t0_a"] for s in job.progress("worker:0")
         if s.event.steps["t0_a"] > saved + 5), default=0), 60., "t0_a")
    job.start("chief:0", {"STOP_WHEN_BUILT": "1"})
    job.finish(60., status=128 + signal.SIGTERM)
    self.assertGreaterEqual(
        tf_compat.v1.train.load_variable(latest(), step), trained)
    self.assertIn("is saved, and training goes on", job.log("chief:0"))

  def test_stop_while_the_chief_cannot_take_over(self):
    job = self._started(step_secs=.1)
    job.await_step(1, "chief:0")
    job.signal("chief:0", signal.SIGKILL)
    job.signal("ps:0", signal.SIGSTOP)
    job.start("chief:0")
    time.sleep(5.)  # It waits for the parameter server.
    asked = time.monotonic()
    job.signal("chief:0", signal.SIGTERM)
    job.finish(30., status=128 + signal.SIGTERM, names=["chief:0"])
    self.assertLess(time.monotonic() - asked, 20.)
    self.assertIn("what was trained since the last checkpoint is lost",
                  job.log("chief:0"))

  def test_worker_that_does_not_come_back(self):
    job = self._started(wait_secs=20)
    job.await_step(1, "worker:1")
    job.signal("worker:1", signal.SIGKILL)
    job.finish(60., status=1, names=["chief:0"])
    self.assertRegex(
        job.log("chief:0"), r"WaitTimeoutError: waited 20 s for worker:1 "
        r"\(127.0.0.1:\d+\), which does not answer, to train t\d_b \(at step")


class _HeldOut:
  """The evaluator's input; workers wait for the end of a file."""

  def __init__(self, path=""):
    self._path = path

  def __call__(self):
    task = json.loads(os.environ.get("TF_CONFIG", "{}")).get("task", {})
    while task.get("type") == "worker" and os.path.exists(self._path):
      time.sleep(.02)
    features, labels = builders.data()
    return tf_compat.v1.data.Dataset.from_tensor_slices(
        ({"x": features}, labels)).batch(7)


def _fitted(model_dir, held=""):
  """Returns an estimator whose ensembles are fitted.

  Its builders do not ask for the previous ensemble, so no task builds a network
  of the iteration before.
  """
  return searches.estimator(
      model_dir, *[builders.Alone(name, 1 + i) for i, name in enumerate("abc")],
      force_grow=True, ensemblers=[adanet.ensemble.GreedyEnsembler()],
      evaluator=adanet.Evaluator(_HeldOut(held)),
      config=tf_compat.RunConfig(tf_random_seed=1),
      placement_strategy=distributed.RoundRobinStrategy())


def _fitted_program(model_dir, held):
  logging.use_absl_handler()
  logging.set_verbosity(logging.INFO)
  _fitted(model_dir, held).train(builders.input_fn())


class FittedTest(absltest.TestCase):
  """All workers evaluate, and tasks are lost between training and choice.

  What is chosen then is what is saved, reported, evaluated and predicted.
  """

  def _wait(self, job, name, line):
    """Waits until a task has logged a line."""
    job.wait(lambda: line in job.log(name), 60., f"{line!r} of {name}")

  def test_lost_tasks(self):
    folder = self.create_tempdir().full_path
    model_dir = os.path.join(folder, "model")
    held = os.path.join(folder, "held")
    with open(held, "w", encoding="utf-8"):
      pass
    job = jobs.started(
        self, functools.partial(_fitted_program, model_dir, held),
        dict(chief=1, worker=2, ps=1), folder)
    for name, part in (("worker:0", "b"), ("worker:1", "c")):
      self._wait(job, name, f"Iteration 0: {name} evaluates {part}.")
    trained = max(seen.event.global_step for seen in job.progress("chief:0"))
    # The chief does what a lost worker leaves. That one comes back.
    job.signal("worker:0", signal.SIGKILL)
    self._wait(job, "chief:0", "the chief evaluates b itself, because worker:0 "
               f"({job.cluster['worker'][0]}) does not answer.")
    job.start("worker:0")
    # It asks again when it was lost.
    job.signal("chief:0", signal.SIGKILL)
    job.start("chief:0")
    os.remove(held)
    job.finish(60.)
    self.assertEmpty(job.listening())
    self.assertEmpty({"evaluation_request.json", "answers"}.intersection(
        os.listdir(os.path.join(model_dir, "cluster"))))

    # The second iteration has not recorded the members of the first one again.
    for name in ("chief:0", "worker:0", "worker:1"):
      self.assertNotIn("gives other data", job.log(name))
    with open(os.path.join(model_dir, "logits", "library.json"),
              encoding="utf-8") as f:
      kept = [member["iteration"] for member in json.load(f)["members"]]
    self.assertEqual({0: len(kept) - 3, 1: 3}, dict(collections.Counter(kept)))

    estimator = _fitted(model_dir)
    iterations = estimator.history().iterations
    self.assertLen(iterations, 2)
    # It trained nothing again.
    self.assertEqual(trained, iterations[0].global_step)
    # All networks of the first iteration were there to choose from.
    self.assertEqual(3, iterations[0].fit.num_networks)
    networks = iterations[0].subnetworks.values()
    self.assertEqual(iterations[0].fit.best_loss, min(
        network.held_out_loss for network in networks))
    record = iterations[1]
    prefix = f"adanet/iteration_1/ensemble_{record.winner}/"
    saved = [float(estimator.get_variable_value(
        f"{prefix}weighted_subnetwork_{i}/logits/mixture_weight"))
             for i in range(len(record.winning.subnetworks))]
    np.testing.assert_allclose(record.winning.weights, saved, rtol=1e-6)
    self.assertEqual(list(record.fit.members), list(record.winning.subnetworks))
    self.assertAlmostEqual(record.winning.value,
                           estimator.evaluate(_HeldOut())["loss"], places=5)
    predicted = np.array([
        prediction["predictions"]
        for prediction in estimator.predict(builders.input_fn(1))])
    self.assertAlmostEqual(
        record.fit.loss, np.square(predicted - builders.data()[1]).mean(),
        places=5)


if __name__ == "__main__":
  # Imported once, before the tasks are forked.
  assert tf_compat.v1.Graph
  sys.exit(absltest.main())

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the evaluator of a cluster, with the time faked."""

import contextlib
import functools
import os
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet import log
from adanet import tf_compat
from adanet import waiting
from adanet.core import checkpoints
from adanet.core import events
from adanet.core import model_dir as model_dir_lib
from adanet.engines.cluster import evaluator_task
from adanet.engines.cluster import jobs
from adanet.estimator import train_and_evaluate as train_lib
from adanet.testing import builders
from adanet.testing import variables
import numpy as np

_JOB = jobs.JobId("job", True)


class _Time:
  """A clock that stands still but for `sleep`, and what happens as it goes."""

  def __init__(self, what_happens):
    """Takes dict from a second to a function that is called then."""
    self.now = 0.
    self._what_happens = dict(what_happens)

  def time(self):
    return 1000. + self.now

  def monotonic(self):
    return self.now

  def sleep(self, secs):
    """Lets the time go on, and everything happen that is due."""
    self.now += secs
    if self.now > 20000:
      raise AssertionError("it does not end")
    for second in sorted(self._what_happens):
      if second <= self.now:
        self._what_happens.pop(second)()


class _Exporter:
  """Notes what it is asked for."""
  name = "notes"

  def __init__(self):
    self.calls = []

  def export(self, estimator, export_path, checkpoint_path, eval_result,
             is_the_final_export):
    del estimator, export_path
    self.calls.append((os.path.basename(checkpoint_path),
                       eval_result["global_step"], is_the_final_export))


class _FakeEstimator:
  """Evaluates checkpoints that have a global step and nothing else."""

  def __init__(self, model_dir):
    self.model_dir = model_dir
    self.config = tf_compat.RunConfig(
        model_dir=model_dir, session_creation_timeout_secs=100)
    self.evaluated = []  # Pairs of a time and a global step.
    self.time = None
    self.before = {}  # From a step to what happens when it is evaluated.
    self.after = {}

  def latest_checkpoint(self):
    return checkpoints.latest(self.model_dir)

  def evaluate(self, input_fn, steps, name, checkpoint_path, hooks):
    """Reads the step of a checkpoint."""
    del input_fn, steps, name
    step = int(checkpoint_path.rpartition("-")[2].partition(".")[0])
    self.before.pop(step, lambda: None)()
    for hook in hooks:
      hook.begin()
      self.time.sleep(1.5)
      hook.before_run(None)
    step = model_dir_lib.ModelDir(self.model_dir).global_step(checkpoint_path)
    self.evaluated.append((int(self.time.now), step))
    self.after.pop(step, lambda: None)()
    return {"loss": 1. / step, "global_step": step}

  def train(self):
    raise AssertionError("the evaluator does not train")


def _run(clock, estimator, spec, job, report):
  """Runs the evaluator that `train_and_evaluate` would make, in a `_Time`."""
  with mock.patch.object(evaluator_task, "time", clock), \
       mock.patch.object(jobs, "time", clock), \
       mock.patch.object(waiting, "Wait", functools.partial(
           waiting.Wait, clock=clock.monotonic, sleep=clock.sleep)):
    evaluator_task.EvaluatorTask(
        estimator.config, train_lib.CheckpointEvaluator(
            estimator, spec, None, clock.monotonic),
        name=spec.name, start_delay_secs=spec.start_delay_secs,
        job_watch=jobs.JobWatch(job), report=report).run()


class EvaluatorTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._model_dir = self.create_tempdir().full_path
    self._estimator = _FakeEstimator(self._model_dir)
    self._exporter = _Exporter()
    self._reported = []

  def _save(self, step, name="model.ckpt", suffix=""):
    """Returns a function that writes a checkpoint, as a chief does."""
    return functools.partial(
        variables.save,
        os.path.join(self._model_dir, f"{name}-{step}{suffix}"),
        {"global_step": np.int64(step)})

  def _announce(self, state, job="job"):
    """Returns a function that writes the job state, as a chief does."""

    def announce():
      with mock.patch.object(jobs, "time", self._estimator.time):
        jobs.JobStateFile(self._model_dir).write(jobs.JobState(
            job, 1, 0, ("a",), 2, 1, "RoundRobinStrategy", None,
            jobs.State(state)))

    return announce

  def _run(self, what_happens, job=_JOB, **spec):
    """Runs an evaluator; returns when it ended."""
    self._estimator.time = _Time(what_happens)
    arguments = dict(start_delay_secs=0, throttle_secs=0,
                     exporters=self._exporter)
    arguments.update(spec)
    _run(self._estimator.time, self._estimator,
         adanet.EvalSpec(builders.input_fn(1), **arguments), job,
         self._reported.append)
    return self._estimator.time.now

  @property
  def _steps(self):
    return [step for _, step in self._estimator.evaluated]

  def test_each_checkpoint_until_the_end(self):
    now = self._run({
        3: self._save(10), 10: self._save(20), 20: self._save(30),
        25: self._announce("over")})
    self.assertEqual([10, 20, 30], self._steps)
    self.assertLess(now, 28)
    self.assertEqual([events.Working("evaluator:0")], self._reported)
    self.assertEqual(  # The chief makes the final export.
        [("model.ckpt-10", 10, False), ("model.ckpt-20", 20, False),
         ("model.ckpt-30", 30, False)], self._exporter.calls)

  def test_throttle(self):
    self._run(dict([(t, self._save(t)) for t in range(5, 65, 5)] +
                   [(65, self._announce("over"))]), throttle_secs=20)
    times = [time for time, _ in self._estimator.evaluated]
    self.assertLen(times, 3)
    for first, second in zip(times, times[1:]):
      self.assertBetween(second - first, 20, 22)

  def test_start_delay(self):
    self._run({2: self._save(10), 5: self._save(20), 300: self._save(30),
               310: self._announce("over")}, start_delay_secs=120)
    self.assertEqual([20, 30], self._steps)
    self.assertBetween(self._estimator.evaluated[0][0], 120, 123)

  def test_late(self):
    self._save(10)()
    self._estimator.time = _Time({})
    self._announce("over")()
    self.assertLess(self._run({}, start_delay_secs=120), 3)
    self.assertEmpty(self._estimator.evaluated)

  def test_waits_for_the_first_checkpoint_with_a_message_and_an_end(self):
    with self.assertLogs(level="WARNING") as logged:
      with self.assertRaisesRegex(
          waiting.WaitTimeoutError, "waited 100 s for the first checkpoint in "
                                    f"{self._model_dir}, which must be the "
                                    "chief's model_dir too: start the chief"):
        self._run({})
    self.assertIn("5 s so far", logged.output[0])

  @parameterized.parameters((60, 1), (100, 0))  # 180 s, and 200 s.
  @mock.patch.object(evaluator_task, "_NO_NEWS_SECS", 180)
  def test_warns_if_there_is_no_new_checkpoint_for_long(
      self, save_checkpoints_secs, expected):
    self._estimator.config = self._estimator.config.replace(
        save_checkpoints_secs=save_checkpoints_secs)
    with mock.patch.object(log, "warning") as warning:
      self._run({3: self._save(10), 100: self._save(20),
                 270: self._announce("training"),
                 285: self._announce("over")})
    said = [call[0][0] % call[0][1:] for call in warning.call_args_list]
    self.assertLen(said, expected)
    for line in said:
      self.assertIn("No new checkpoint in " + self._model_dir, line)

  @parameterized.parameters("other", "job")
  def test_file_of_an_earlier_job(self, job):
    self._estimator.time = _Time({})
    self._estimator.time.sleep(-500)
    self._announce("over" if job == "other" else "stopped", job)()
    self._save(10)()
    self._run({50: self._announce("training"), 90: self._save(20),
               100: self._announce("over")})
    self.assertEqual([10, 20], self._steps)

  @parameterized.parameters(
      ({10: "stopped"}, []), ({3: 10, 10: "stopped"}, [10]),
      ({3: 10, 10: 20, 10.5: "stopped"}, [10]))
  def test_stopped(self, what_happens, expected):
    with self.assertRaises(SystemExit) as caught:
      self._run({second: (self._announce(what) if what == "stopped" else
                          self._save(what))
                 for second, what in what_happens.items()})
    self.assertEqual(143, caught.exception.code)
    self.assertLess(self._estimator.time.now, 14)
    self.assertEqual(expected, self._steps)

  @parameterized.parameters("stopped", "over")
  def test_training_ends_while_it_evaluates(self, state):
    self._estimator.before[10] = self._announce(state)
    with contextlib.ExitStack() as exits:
      if state == "stopped":
        exits.enter_context(self.assertRaisesRegex(SystemExit, "143"))
      self._run({3: self._save(10)})
    self.assertEmpty(self._estimator.evaluated)
    self.assertEmpty(self._exporter.calls)

  def test_training_ends_before_it_exports(self):
    # An export of a checkpoint before the last would follow the chief's.
    self._estimator.after[10] = self._announce("over")
    self._run({3: self._save(10)})
    self.assertEqual([10], self._steps)
    self.assertEmpty(self._exporter.calls)

  def test_checkpoint_that_the_chief_evaluates(self):

    def save():
      self._save(20)()
      evaluator_task.mark_evaluated(
          self._model_dir, None, checkpoints.latest(self._model_dir))

    self._run({3: self._save(10), 10: save, 20: self._save(30),
               30: self._announce("over")})
    self.assertEqual([10, 30], self._steps)

  def _delete(self, step, ending=""):
    for name in os.listdir(self._model_dir):
      if name.startswith(f"model.ckpt-{step}.{ending}"):
        os.remove(os.path.join(self._model_dir, name))

  @parameterized.parameters("", "data")  # The chief deletes the data first.
  def test_checkpoint_deleted_while_it_is_evaluated(self, ending):

    def chief_goes_on():
      self._save(20)()
      self._delete(10, ending)

    self._estimator.before[10] = chief_goes_on
    with self.assertLogs(level="WARNING") as logged:
      self._run({3: self._save(10), 10: self._announce("over")})
    self.assertEqual([20], self._steps)
    self.assertIn("model.ckpt-10 was deleted", logged.output[0])

  def test_checkpoint_that_cannot_be_read_is_an_error(self):

    def damage():
      with open(os.path.join(self._model_dir, "model.ckpt-10.index"), "w"):
        pass

    self._estimator.before[10] = damage
    with self.assertRaises(checkpoints.CheckpointError):
      self._run({3: self._save(10)})

  def test_shared_disk_is_late(self):
    moved = os.path.join(self.create_tempdir().full_path, "index")

    def save():
      self._save(10)()
      os.rename(os.path.join(self._model_dir, "model.ckpt-10.index"), moved)

    self._run({
        3: save, 33: lambda: os.rename(
            moved, os.path.join(self._model_dir, "model.ckpt-10.index")),
        40: self._announce("over")})
    self.assertEqual([10], self._steps)

  def test_lost_checkpoint_is_an_error_in_the_end(self):

    def save():
      self._save(10)()
      self._delete(10)

    with self.assertRaisesRegex(checkpoints.CheckpointError, "model.ckpt-10"):
      self._run({3: save})
    self.assertBetween(self._estimator.time.now, 60, 70)

  def test_started_again(self):

    def kill():
      raise RuntimeError("killed")

    self._estimator.before[20] = kill
    with self.assertRaisesRegex(RuntimeError, "killed"):
      self._run({3: self._save(10), 10: self._save(20)})
    with self.assertRaisesRegex(RuntimeError, "killed"):
      self._run({10: kill})
    self.assertEqual([10, 20], self._steps)
    self._run({5: self._save(30), 30: self._announce("over")})
    self.assertEqual([10, 20, 30], self._steps)
    self.assertTrue(os.path.exists(
        os.path.join(self._model_dir, "eval", "evaluated.json")))
    self._run({3: self._save(40), 30: self._announce("over", "next")},
              jobs.JobId("next", True), name="held_out")
    self.assertTrue(os.path.exists(
        os.path.join(self._model_dir, "eval_held_out", "evaluated.json")))

  def test_step_is_not_evaluated_twice(self):

    def begin_iteration():
      self._save(10, "increment.ckpt")()

    self._run({3: self._save(10), 10: begin_iteration, 20: self._save(20),
               30: self._announce("over")})
    self.assertEqual([10, 20], self._steps)

  def test_another_checkpoint_of_a_step(self):
    # Ensembles have trained on where the subnetworks were done.
    self._run({3: self._save(10), 10: self._save(10, suffix=".1"),
               20: self._announce("over")})
    self.assertEqual(
        [("model.ckpt-10", 10, False), ("model.ckpt-10.1", 10, False)],
        self._exporter.calls)

if __name__ == "__main__":
  absltest.main()

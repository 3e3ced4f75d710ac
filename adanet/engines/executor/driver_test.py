# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of searches on executors that break, and of how parts are merged.

`execution_test` has what happens to parts that are lost.
"""

import collections
import contextlib
import functools
import glob
import multiprocessing
import os
import pickle
import re
import tempfile
import threading
import time
from typing import List
from concurrent import futures
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet import replay
from adanet.testing import level
from adanet import tf_compat
from adanet import waiting
from adanet.core import events
from adanet.engines.executor import driver
from adanet.engines.executor import execution
from adanet.history import store
from adanet.progress import reporter
from adanet.testing import builders
from adanet.testing import engines
from adanet.testing import processes
from adanet.testing import searches
from adanet.testing import variables
from adanet.tf_compat import files
from adanet.training import setup as setup_lib
import numpy as np


def _estimator(model_dir, steps=4, names="ab", learning_rates=None,
               save_summary_steps=100, **arguments):
  """Returns an estimator whose every third step is saved."""
  return searches.estimator(
      model_dir, *[
          builders.Dense(name, 2 + i, (learning_rates or {}).get(name, .05))
          for i, name in enumerate(names)],
      max_iteration_steps=steps, config=tf_compat.RunConfig(
          tf_random_seed=1, save_checkpoints_steps=3,
          save_summary_steps=save_summary_steps), **arguments)


@functools.lru_cache(maxsize=None)
def _alone():
  """Returns the model_dir of a search in one process. Nothing may change it."""
  model_dir = tempfile.mkdtemp(dir=absltest.get_default_test_tmpdir())
  return _estimator(model_dir).train(builders.input_fn()).model_dir


def _results(model_dir):
  """Returns what each file of a result is on the disk, by its path."""
  contents = {}
  for path in glob.glob(os.path.join(model_dir, "parts", "*", "*", "result")):
    with open(path, "rb") as f:
      contents[path] = os.stat(path).st_mtime_ns, f.read()
  return contents


class _Stopping(tf_compat.v1.train.SessionRunHook):
  """Stops the training of its builder after some steps."""

  def __init__(self, steps):
    self._left = steps

  def after_run(self, run_context, run_values):
    self._left -= 1
    if not self._left:
      run_context.request_stop()


class _Waiting(tf_compat.v1.train.SessionRunHook):
  """Lets time pass in each step."""

  def after_run(self, run_context, run_values):
    mock.patch.object(time, "time", return_value=time.time() + 2000.).start()


class _Here(engines.Here):
  """Trains each part at once, in this process.

  Attributes:
    trained: list of the names of the builders of each part that it got.
  """

  def __init__(self, most: int = 100):
    """Takes how many to take at most."""
    self.trained: List[str] = []
    self._most = most

  def submit(self, fn, task):
    if len(self.trained) >= self._most:
      raise ValueError("it gets one part after the other")
    self.trained.append("".join(task.part))
    return super().submit(fn, task)


def _shuffled():
  x, y = builders.data()
  return tf_compat.v1.data.Dataset.from_tensor_slices(
      ({"x": x}, y)).shuffle(32).batch(4)


class _Weighing(_Here):
  """Weighs what it is given.

  Attributes:
    num_bytes: int, the most for a part.
  """
  num_bytes = 0

  def submit(self, fn, task):
    self.num_bytes = max(self.num_bytes, len(pickle.dumps((fn, task))))
    return super().submit(fn, task)


class _Twice(futures.ThreadPoolExecutor):
  """Trains each part twice at once, as an engine that thinks it lost one."""

  def submit(self, fn, task):
    super().submit(fn, task)
    return super().submit(fn, task)


class _Breaking(_Here):
  """Trains some parts, and breaks."""

  def __init__(self, num_parts):
    super().__init__()
    self._num_parts = num_parts

  def submit(self, fn, task):
    if len(self.trained) == self._num_parts:
      raise futures.BrokenExecutor("a worker died")
    return super().submit(fn, task)


class _ForkingItself(_Here):
  """Trains each part in a fork, in a way of its own."""

  def submit(self, fn, task):
    # `Process` itself refuses to fork what has made sessions.
    with mock.patch.object(processes, "session_count", int):
      worker = processes.Process(lambda connection: connection.send(fn(task)))
    try:
      self.trained.append("".join(task.part))
      worker.has_replied(20)  # One that hangs is killed.
      return engines.Here().submit(
          worker.receive if worker.has_replied() else worker.kill)
    finally:
      worker.kill()


class _ForkingWithMultiprocessing(_Here):
  """Trains each part in a process of multiprocessing that is a fork."""

  def submit(self, fn, task):
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    worker = context.Process(target=lambda: sender.send(fn(task)), daemon=True)
    worker.start()
    try:
      self.trained.append("".join(task.part))
      receiver.poll(20)
      return engines.Here().submit(
          receiver.recv if receiver.poll() else worker.kill)
    finally:
      worker.kill()
      worker.join()


def _zero():
  return 0


class ResultArgumentsTest(parameterized.TestCase):

  @parameterized.parameters(
      ({}, {}, True), (dict(generator=None), dict(patience=3), True),
      (dict(metric_fn=_zero), {}, False),
      (dict(adanet_loss_decay=.99), {}, False),
      (dict(max_iteration_steps=5), {}, False),
      ({}, dict(evaluator=adanet.Evaluator(_shuffled)), False))
  def test_result_arguments(self, search, rules, is_same):
    setup = setup_lib.SearchSetup(searches.make([], 4), None, None, None)
    self.assertEqual(is_same, driver.result_arguments(setup) == (
        driver.result_arguments(setup._replace(
            search=setup.search._replace(**search),
            rules=setup_lib.Rules(**rules)))))

  def test_evaluators(self):
    texts = {
        driver.result_arguments(setup_lib.SearchSetup(
            searches.make([]), None, None, None,
            setup_lib.Rules(adanet.Evaluator(**arguments))))["evaluation"]
        for arguments in [
            dict(input_fn=_shuffled), dict(input_fn=_zero),
            dict(input_fn=_shuffled, metric_name="loss"),
            dict(input_fn=_shuffled, steps=1),
            dict(input_fn=functools.partial(_shuffled)),
            dict(input_fn=functools.partial(_zero))]}
    self.assertLen(texts, 6)

  def test_report_materializers(self):
    self.assertLen({
        driver.result_arguments(setup_lib.SearchSetup(
            searches.make([]), None, None, None,
            report_materializer=materializer))["evaluation"]
        for materializer in [
            None, adanet.ReportMaterializer(_zero),
            adanet.ReportMaterializer(_shuffled),
            adanet.ReportMaterializer(_shuffled, steps=1)]}, 4)

  def test_an_evaluator_that_cannot_be_described(self):
    setup = setup_lib.SearchSetup(
        searches.make([])._replace(metric_fn=threading.Lock().acquire),
        None, None, None)
    self.assertNotEqual(*(driver.result_arguments(setup)["evaluation"]
                          for _ in range(2)))



class DriverTest(parameterized.TestCase):

  def _train(self, executor=None, model_dir=None, max_steps=None, repeat=None,
             hooks=(), max_seconds=None, **arguments):
    """Trains a search, and returns its model_dir."""
    model_dir = model_dir or tempfile.mkdtemp(
        dir=absltest.get_default_test_tmpdir())
    _estimator(model_dir, **arguments).train(
        builders.input_fn(repeat), hooks=hooks, max_steps=max_steps,
        max_seconds=max_seconds, executor=executor)
    self.assertFalse(os.path.exists(os.path.join(model_dir, "parts")))
    return model_dir

  def _assert_same(self, expected, actual):
    variables.assert_equal(
        variables.latest(expected), variables.latest(actual))

  @level.gate
  def test_part_that_runs_twice_does_no_harm(self):
    with _Twice(6) as executor:
      self._assert_same(_alone(), self._train(executor))

  @level.gate
  def test_an_executor_sends_little(self):
    array = np.zeros(10**5)  # The input_fn refers to it.
    executor = _Weighing()
    _estimator(self.create_tempdir().full_path, max_iterations=1).train(
        lambda: builders.input_fn()() if array.size else None,
        executor=executor)
    self.assertBetween(executor.num_bytes, 100, 3000)

  @level.gate
  def test_what_is_done_stays_done_at_every_start(self):
    model_dir = self.create_tempdir().full_path
    search = dict(names="abc", max_iterations=1)
    trained, results = [], {}
    for start in range(2):
      executor = _Breaking(1)
      with self.assertRaises(execution.ExecutorError):
        self._train(executor, model_dir, **search)
      trained += executor.trained
      contents = _results(model_dir)
      self.assertLen(contents, start + 1)
      self.assertEqual(results, {path: contents[path] for path in results})
      results = contents
    self.assertLen(set(trained), 2)
    new = _Here()
    self._assert_same(self._train(**search),
                      self._train(new, model_dir, **search))
    self.assertEqual(set("abc") - set(trained), set(new.trained))

  @parameterized.named_parameters(
      ("evaluator", {}, dict(
          evaluator=adanet.Evaluator(builders.input_fn(1), steps=1))),
      # The steps of one are from two calls, each of which begins its input.
      ("more_steps", dict(steps=2), {}, False))
  @level.gate
  def test_search_that_changes_when_a_part_is_done(
      self, before, after, has_same_values=True):
    search = dict(names="ab", max_iterations=1)
    model_dir = self.create_tempdir().full_path
    with self.assertRaises(execution.ExecutorError):
      self._train(_Breaking(1), model_dir, **search, **before)
    executor = _Here()
    self._train(executor, model_dir, **search, **after)
    self.assertLen(executor.trained, 2)
    iteration, = adanet.report(model_dir).iterations
    self.assertEqual([("t0_a", 4), ("t0_b", 4)], [
        (name, subnetwork.steps)
        for name, subnetwork in iteration.subnetworks.items()])
    if has_same_values:
      alone = adanet.report(self._train(**search, **after))
      self.assertEqual(alone.iterations[0].candidates, iteration.candidates)

  @level.gate
  def test_activation_that_changes_when_a_part_is_done(self):
    search = dict(names="ab", max_iterations=1)
    model_dir = self.create_tempdir().full_path
    with self.assertRaises(execution.ExecutorError):
      self._train(_Breaking(1), model_dir, **search)
    executor = _Here()
    with self.assertLogs(level="WARNING") as logs, mock.patch.object(
        tf_compat.v1.nn, "relu", tf_compat.v1.nn.tanh):
      self._train(executor, model_dir, **search)
    self.assertEqual(["b"], executor.trained)
    line, = [line for line in logs.output if "Another search" in line]
    self.assertIn(": graph of t0_a: 1 Relu before, 1 Tanh now.", line)

  @level.gate
  def test_all_are_compared_on_the_same_examples_without_a_seed(self):
    def train(executor):
      searches.estimator(
          model_dir, *[builders.Dense(name, learning_rate=0.) for name in "ab"],
          max_iterations=1,
          evaluator=adanet.Evaluator(_shuffled, steps=1)).train(
              builders.input_fn(), executor=executor)

    model_dir = self.create_tempdir().full_path
    with self.assertRaises(execution.ExecutorError):
      train(_Breaking(1))
    executor = _Here()
    train(executor)
    self.assertLen(executor.trained, 1)
    first, second = adanet.report(model_dir).iterations[0].candidates
    self.assertEqual(first.value, second.value)

  @level.gate
  def test_part_that_diverges_says_nothing_of_the_others(self):
    # It is the first one, and knows the previous ensemble for a few steps.
    search = dict(steps=6, learning_rates={"a": 1e30})
    expected, actual = self._train(**search), self._train(_Here(), **search)
    self.assertEqual(*[
        {candidate.name: candidate.value
         for candidate in store.report(folder).iterations[1].candidates
         if not candidate.name.startswith("t1_a")}
        for folder in (expected, actual)])
    expected, actual = [
        {name: value for name, value in variables.latest(folder).items()
         if not re.search("t[01]_a", name)} for folder in (expected, actual)]
    self.assertTrue([name for name in expected
                     if name.startswith("adanet/iteration_1/candidate_t0_")])
    variables.assert_equal(expected, actual)

  @level.gate
  def test_max_steps_where_one_has_stopped(self):
    """The other part does not know in the first call, and says so."""
    search = dict(steps=15, learning_rates={"a": 1e30}, max_iterations=1)
    model_dir, executor = self.create_tempdir().full_path, _Here()
    for max_steps, step_of_b, is_short in [
        (6, 6, True), (6, 9, False), (8, 13, False), (20, 15, False)]:
      with self.assertLogs(level="INFO") as logged:
        self._train(executor, model_dir, max_steps=max_steps, **search)
      values = variables.latest(model_dir)
      steps = [int(values[f"adanet/iteration_0/subnetwork_t0_{name}/step"])
               for name in "ab"]
      self.assertEqual(3, steps[0])
      self.assertEqual((step_of_b, sum(steps) // 2),
                       (steps[1], values["global_step"]))
      history = store.report(model_dir)
      self.assertEqual(values["global_step"], history.end.global_step)
      self.assertLen(history.iterations, 1 if max_steps == 20 else 0)
      self.assertEqual(is_short, (
          "Iteration 0: training ends at step 4 instead of 6, because a "
          "builder stopped earlier in this call" in "".join(logged.output)))
    self.assertEqual(list("ab" * 4), executor.trained)

  @parameterized.parameters(6, 20)
  @level.gate
  def test_max_steps_where_one_has_stopped_before(self, limit):
    """All others are at the limit, which is then raised, or below."""
    search = dict(names="abc", learning_rates={"a": 1e30}, max_iterations=1)
    values = []
    for executor in None, _Here():
      model_dir = self._train(max_steps=5, steps=limit, **search)
      for max_steps in 9, 13:
        self._train(
            executor, model_dir, max_steps=max_steps, steps=20, **search)
      values.append({
          name: value for name, value in variables.latest(model_dir).items()
          if "/candidate_t0_a" not in name})  # Of NaN.
    self.assertEqual(13, values[0]["global_step"])
    variables.assert_equal(*values)

  @level.gate
  def test_curves_of_the_previous_ensemble_are_drawn_once(self):
    counts = []
    for executor in None, _Here():
      folder = self._train(executor, save_summary_steps=1)
      counts.append(collections.Counter(
          (value.tag, event.step) for path in glob.glob(os.path.join(
              folder, "ensemble", "t0_*", "events*"))
          for event in tf_compat.v1.train.summary_iterator(path)
          for value in event.summary.value))
    self.assertNotEmpty(counts[0])
    self.assertEqual(*counts)

  @level.gate
  def test_disk_that_is_full_for_a_while(self):
    left = {}

    def write(path, content):
      kind = os.path.basename(path).split("-")[0]
      if left.setdefault(kind, 2):
        left[kind] -= 1
        raise tf_compat.v1.errors.ResourceExhaustedError(
            None, None, f"{path}; No space left on device")
      write_bytes(path, content)

    write_bytes = files.write_bytes
    with mock.patch.object(files, "write_bytes", write):
      with mock.patch.object(waiting, "_SPACE_SECS", .01):
        model_dir = self._train(_Here())
    self.assertIn("progress.json", left)
    self.assertIn("result", left)
    self._assert_same(_alone(), model_dir)

  @level.gate
  def test_max_iterations_lowered_between_two_iterations(self):
    model_dir = self.create_tempdir().full_path
    with self.assertRaises(execution.ExecutorError):
      self._train(_Breaking(3), model_dir)
    none, rest = _Here(), _Here()
    _estimator(model_dir, max_iterations=1).train(
        builders.input_fn(), executor=none)
    self.assertEmpty(none.trained)
    self._assert_same(self._train(max_iterations=1), model_dir)
    # What it has begun of the next iteration waits for this.
    self._assert_same(_alone(), self._train(rest, model_dir))
    self.assertLen(rest.trained, 1)

  @parameterized.parameters(_ForkingItself, _ForkingWithMultiprocessing)
  def test_workers_that_were_forked(self, make):
    executor = make()
    with self.assertRaisesRegex(
        execution.ExecutorError, r"\Aexecutor=.*: its workers are forks.*"
        r"get_context.\"spawn\".*\Z"):
      self._train(executor, names="a")

  def test_pool_that_forks(self):
    with self.assertRaisesRegex(ValueError, "are forks of the program"):
      self._train(futures.ProcessPoolExecutor(
          1, mp_context=multiprocessing.get_context("fork")))

  def test_says_what_one_process_says_of_an_iteration(self):
    """Fitted ensembles are none that train."""
    beginnings = []
    for executor in None, _Here():
      told = []
      with mock.patch.object(
          reporter, "reporter",
          lambda told=told, **arguments: contextlib.nullcontext(told.append)):
        self._train(
            executor, max_iterations=1, evaluator=adanet.Evaluator(
                builders.input_fn(1)),
            ensemble_strategies=[adanet.ensemble.SoloStrategy()],
            ensemblers=[adanet.ensemble.MeanEnsembler(),
                        adanet.ensemble.GreedyEnsembler()])
      beginnings.append(next(
          event for event in told if isinstance(event, events.IterationBegan)))
    self.assertEqual(
        ("t0_a_solo_mean", "t0_b_solo_mean"), beginnings[0].ensembles)
    self.assertEqual(*beginnings)

  def test_names_that_differ_in_their_case(self):
    with self.assertRaisesRegex(
        ValueError, "iteration 0: .*'a', 'A'.* only in upper and lower case"):
      self._train(_Here(), names="aA")

  def test_replay_of_a_candidate_that_is_not_there(self):
    executor = _Here()
    with self.assertRaisesRegex(
        ValueError, r"index=7 \(replay_config says so\): expected one of the 2"):
      self._train(executor, replay_config=replay.Config([7]))
    self.assertEmpty(executor.trained)

  @level.gate
  def test_longest_part_of_the_last_iteration_is_the_first_one(self):
    executor = _Here()
    searches.estimator(
        self.create_tempdir().full_path, builders.Dense("a"),
        builders.Slow("slow", .5)).train(
            builders.input_fn(), max_steps=5, executor=executor)
    self.assertEqual(["a", "slow", "slow", "a"], executor.trained)

  def test_error_in_a_part_stops_the_others(self):
    model_dir = self.create_tempdir().full_path
    estimator = searches.estimator(
        model_dir, builders.Slow("slow", .1),
        builders.Dense("bad", logits="no tensor"), max_iteration_steps=300)
    with futures.ThreadPoolExecutor(2) as executor:
      with self.assertRaises(execution.PartError):
        estimator.train(builders.input_fn(), executor=executor)
    self.assertEmpty(_results(model_dir))

  @level.gate
  def test_part_that_begins_in_time_is_not_late(self):
    self.addCleanup(mock.patch.stopall)
    with self.assertLogs(level="WARNING") as logs:
      _estimator(self.create_tempdir().full_path).train(
          builders.input_fn(), hooks=[_Waiting()], max_seconds=1000,
          executor=_Here())
    line, = [line for line in logs.output if "a single step" in line]
    self.assertIn("Iteration 0: 1 of 2 parts took a single step, ", line)
    self.assertIn(": 'b'. Use more", line)

  @level.gate
  def test_part_that_stops_early(self):
    # Its ensembles train on until all subnetworks have stopped.
    folders = []
    for executor in None, _Here():
      folders.append(self.create_tempdir().full_path)
      searches.estimator(
          folders[-1], builders.Hooked("stops", [_Stopping(2)]),
          builders.Dense("goes_on"), max_iterations=1).train(
              builders.input_fn(), executor=executor)
    self._assert_same(*folders)


if __name__ == "__main__":
  absltest.main()

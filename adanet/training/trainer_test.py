# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the training of an iteration, as a task of a cluster and alone.

There is one process. What other workers do, the test does itself.
"""

import contextlib
import json
import os
import threading
import time
from unittest import mock

from absl.testing import absltest
from adanet import distributed
from adanet import tf_compat
from adanet.core import checkpoints
from adanet.core import event_files
from adanet.core import events
from adanet.core import model_dir as model_dir_lib
from adanet.testing import builders
from adanet.testing import level
from adanet.testing import searches
from adanet.training import ending as ending_lib
from adanet.training import loop as loop_lib
from adanet.training import sessions
from adanet.training import setup as setup_lib
from adanet.training import trained
from adanet.training import trainer

_STEPS = 12
_NAMES = ("t0_a", "t0_b", "t0_c")
_ENSEMBLES = tuple(name + "_grow_complexity_regularized" for name in _NAMES)


class _Counts(tf_compat.v1.train.SessionRunHook):
  """Counts the runs that it sees."""

  def __init__(self):
    self.count = 0

  def after_run(self, run_context, run_values):
    self.count += 1


class _Steps(tf_compat.v1.train.SessionRunHook):
  """Reads the steps of all after each run."""

  def __init__(self, names):
    self._names = names
    self.steps = []

  def begin(self):
    variables = {v.op.name: v for v in tf_compat.v1.global_variables()}
    self._read = {
        name: variables[f"adanet/iteration_0/{kind}_{name}/step"]
        for kind, names in (("subnetwork", _NAMES), ("ensemble", _ENSEMBLES))
        for name in names if name in self._names}

  def after_run(self, run_context, run_values):
    self.steps.append(run_context.session.run(self._read))


class TrainerTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self._steps_of_others = {}  # How many others take while this one waits.
    self._session = None

  def _wait_for(self, unfinished):
    """Lets others take a step, as `LoopContext.wait_for`."""
    stopped = {}
    for name in unfinished:
      if self._steps_of_others.get(name, 0):
        self._steps_of_others[name] -= 1
        self._session.run(self._advance[name])
      else:
        stopped[name] = "nobody trains it"
    return stopped

  def _train(self, strategy, index, builder_list=None, hooks=(), repeat=None,
             num_workers=2, writer=None, num_others=0):
    """Trains as a worker of a cluster; returns the loop and why it ended.

    Args:
      strategy: `PlacementStrategy`.
      index: int, the worker's.
      made: the builders of `_NAMES`.
      hooks: the user's.
      repeat: how often the input has its 4 batches; None for endlessly.
      num_workers: int.
      writer: `SummaryWriter` or None.
      num_others: int, how often others train each one.
    """
    self._steps_of_others = dict.fromkeys(_NAMES, num_others)
    folder = self.create_tempdir().full_path
    names = [f"x:{i + 1}" for i in range(num_workers)]
    task = ({"type": "worker", "index": index - 1} if index else
            {"type": "chief", "index": 0})
    with mock.patch.dict(os.environ, TF_CONFIG=json.dumps({
        "cluster": {"chief": names[:1], **(
            {"worker": names[1:]} if names[1:] else {})},
        "task": task})):
      config = tf_compat.RunConfig(model_dir=folder, tf_random_seed=1)
    setup = setup_lib.SearchSetup(
        searches.make(
            builder_list or [builders.Dense(n) for n in "abc"], _STEPS),
        model_dir_lib.ModelDir(folder), config, strategy)
    request = trainer.Request(
        builders.input_fn(repeat), hooks=hooks, max_iterations=1,
        wait_timeout_secs=10.)
    training = trainer.Training(
        request, mock.Mock(asked=None, deferred=mock.MagicMock()),
        lambda event: None, writer)
    context = loop_lib.LoopContext(
        lambda event: None,
        lambda *note: setup.model_dir.mark_stopped(0, *note),
        wait_for=self._wait_for)
    with setup.graph(request.input_fn, "train", 0) as built:
      it = trainer.IterationTraining(
          setup, training, built, trained.Start(0, None), trainer.TrainingTask(
              "a task", index == 0, context, time.time()))
      self._advance = {s.name: tf_compat.v1.assign_add(s.step, 1)
                       for s in built.iteration.subnetworks}
      with sessions.local_session(None) as self._session:
        it.initializers.set_variables(self._session)
        with it.initializers.started(self._session) as coordinator:
          ending = it.train(self._session, coordinator)
    return it.loop, ending

  def test_a_worker_trains_one_in_each_run(self):
    seen = _Steps(_NAMES)
    loop, ending = self._train(
        distributed.BalancedStrategy(num_ensemble_workers=1), 1, hooks=[seen])
    self.assertEqual(ending_lib.Ending.ITERATION_OVER, ending)
    self.assertEqual(
        list(range(1, 3 * _STEPS + 1)), [sum(s.values()) for s in seen.steps])
    self.assertEqual(dict.fromkeys(_NAMES, _STEPS), loop.trained)
    self.assertEqual(_STEPS, loop.global_step)

  def test_one_subnetwork_takes_no_turns_and_observes_nothing(self):
    with self.assertLogs(level="WARNING") as logs:
      loop, ending = self._train(
          distributed.BalancedStrategy(num_ensemble_workers=1), 1, repeat=1,
          num_workers=4)
    self.assertEqual(ending_lib.Ending.INPUT_ENDED, ending)
    self.assertEqual({"t0_a": 4}, loop.trained)
    self.assertEqual({"t0_a": 4}, loop.steps)
    self.assertIn("the input ended after 4 of 12 steps", logs.output[-1])

  @level.gate
  def test_a_chief_that_trains(self):
    builder_list = [builders.Hooked(n, [_Counts()], [_Counts()]) for n in "abc"]
    seen, user = _Steps(_NAMES + _ENSEMBLES), _Counts()
    writer = mock.create_autospec(event_files.SummaryWriter, instance=True)
    loop, ending = self._train(
        distributed.BalancedStrategy(num_ensemble_workers=0), 0, builder_list,
        hooks=[seen, user], num_others=_STEPS, writer=writer)
    self.assertEqual(ending_lib.Ending.ITERATION_OVER, ending)
    self.assertEqual(dict.fromkeys(_NAMES + _ENSEMBLES, _STEPS), loop.steps)
    self.assertEqual(_STEPS, loop.global_step)
    # Of the third it trains nothing, and of the rest all, as nobody else was
    # quick enough.
    self.assertEqual(
        dict.fromkeys(_NAMES[:2] + _ENSEMBLES, _STEPS), loop.trained)
    for steps in seen.steps:
      slowest = min(steps[name] for name in _NAMES)
      for name in _ENSEMBLES:
        self.assertLessEqual(steps[name], slowest + 1)
    writer.add_scalars.assert_called()
    # Hooks of builders run while theirs trains. As always, those that are not
    # for the chief do not see the last step.
    self.assertEqual([_STEPS, _STEPS, 0],
                     [b.chief_hooks[0].count for b in builder_list])
    self.assertEqual([_STEPS - 1, _STEPS - 1, 0],
                     [b.hooks[0].count for b in builder_list])
    self.assertEqual(3 * _STEPS, user.count)

  @level.gate
  def test_where_a_chief_goes_on(self):
    folder = self.create_tempdir().full_path
    setup = setup_lib.SearchSetup(
        searches.make([builders.Dense("a")], _STEPS),
        model_dir_lib.ModelDir(folder),
        tf_compat.RunConfig(model_dir=folder, tf_random_seed=1),
        distributed.ReplicationStrategy())
    said = []
    training = trainer.Training(
        trainer.Request(builders.input_fn(), max_iterations=1), mock.Mock(),
        said.append)

    def begin(start, steps_since=0, **arguments):
      with setup.graph(builders.input_fn(), "train", 0) as built:
        it = trainer.IterationTraining(
            setup, training, built, start, trainer.TrainingTask(
                "chief:0", True, loop_lib.LoopContext(said.append, mock.Mock()),
                time.time()))
        others = [tf_compat.v1.assign_add(s.step, steps_since)
                  for s in built.iteration.subnetworks]
        with sessions.local_session(None) as session:
          it.initializers.set_variables(session)
          with it.initializers.started(session):
            session.run(others)
            it.begin(session, **arguments)
      return said.pop()

    checkpoint = begin(trained.Start(0, None), 7).path
    self.assertEndsWith(checkpoint, "model.ckpt-7")
    start = trained.Start(0, checkpoint, starts_iteration=False)
    self.assertEqual(events.Resumed(0, 7, checkpoint), begin(start))
    self.assertEqual(events.Resumed(0, 12, checkpoint, 7),
                     begin(start, 5, is_taken_over=True))


class _Held(tf_compat.v1.train.SessionRunHook):
  """Holds the first run of a task before its end, and stops the task."""

  def __init__(self):
    self.may_end = threading.Event()

  def begin(self):
    # What the hooks fetch comes before the global step.
    self._hold = tf_compat.v1.py_func(
        lambda: self.may_end.wait(20.), [], tf_compat.v1.bool)

  def before_run(self, run_context):
    return tf_compat.v1.train.SessionRunArgs(self._hold)

  def after_run(self, run_context, run_values):
    run_context.request_stop()


class GlobalStepTest(absltest.TestCase):
  """Two tasks train the same subnetwork: two sessions of a server."""

  def setUp(self):
    super().setUp()
    self._folder = self.create_tempdir().full_path
    self._server = tf_compat.v1.train.Server.create_local_server()

  @contextlib.contextmanager
  def _task(self, is_chief, *hooks):
    """Yields the training of a task, and its session and coordinator."""
    setup = setup_lib.SearchSetup(
        searches.make([builders.Dense("a")], _STEPS),
        model_dir_lib.ModelDir(self._folder),
        tf_compat.RunConfig(model_dir=self._folder, tf_random_seed=1),
        distributed.ReplicationStrategy())
    request = trainer.Request(
        builders.input_fn(), hooks=hooks, max_steps=6, max_iterations=1)
    training = trainer.Training(
        request, mock.Mock(asked=None, deferred=mock.MagicMock()),
        lambda event: None)
    with setup.graph(request.input_fn, "train", 0) as built:
      it = trainer.IterationTraining(
          setup, training, built, trained.Start(0, None), trainer.TrainingTask(
              "a task", is_chief, loop_lib.LoopContext(
                  lambda event: None, mock.Mock()), time.time()))
      self._set_global_step = tf_compat.v1.assign(it.iteration.global_step, 1)
      with tf_compat.v1.Session(self._server.target) as session:
        if is_chief:
          it.initializers.set_variables(session)
        with it.initializers.started(session) as coordinator:
          yield it, session, coordinator

  def _train_worker(self, hook):
    with self._task(False, hook) as (it, session, coordinator):
      it.train(session, coordinator)

  def test_only_the_chief_stores_the_global_step(self):
    """A worker reads the steps early, and ends its run late."""
    held = _Held()
    worker = threading.Thread(target=self._train_worker, args=(held,))
    self.addCleanup(worker.join)
    self.addCleanup(held.may_end.set)
    with self._task(True) as (it, session, coordinator):
      it.begin(session)
      worker.start()
      step = it.iteration.subnetworks[0].step
      end = time.monotonic() + 20.
      while not session.run(step) and time.monotonic() < end:
        time.sleep(.01)
      it.train(session, coordinator)
      self.assertEqual(6, it.loop.global_step)
      held.may_end.set()
      worker.join()
      self.assertEqual(6, session.run(it.iteration.global_step))

  def test_a_checkpoint_has_the_global_step_of_its_networks(self):
    with self._task(True) as (it, session, coordinator):
      it.begin(session)
      it.train(session, coordinator)
      # A run that was given up may end now, on a parameter server.
      session.run(self._set_global_step)
      it.end(session)
      trained_iteration = it.trained(session, ending_lib.Ending.MAX_STEPS)
    checkpoint = trained_iteration.candidates.checkpoint
    self.assertEndsWith(checkpoint, "model.ckpt-6")
    self.assertEqual(6, checkpoints.integer(checkpoint, "global_step"))
    self.assertEqual(6, trained_iteration.global_step)


if __name__ == "__main__":
  absltest.main()

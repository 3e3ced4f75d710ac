# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Trains the iterations of a search, one after the other."""

import copy
import time
import typing

from absl import logging
from adanet import tf_compat
from adanet.core import events
from adanet.core import hooks as hooks_lib
from adanet.core import loop as loop_lib
from adanet.core import saving
from adanet.core import sessions
from adanet.core import summary
from adanet.core import train_ops
from adanet.core import training_summaries
from adanet.estimator import choosing
from adanet.estimator import model as model_lib


class Training(typing.NamedTuple):
  """How to train.

  Attributes:
    input_fn: see `adanet.Estimator.train`.
    hooks: sequence of the user's `SessionRunHook`s.
    saving_listeners: sequence of the user's `CheckpointSaverListener`s.
    max_steps: int, the global step at which training ends, or None.
    max_iterations: int, or None.
    report_materializer: `adanet.ReportMaterializer` or None.
    writer: `SummaryWriter`.
    report: called with each event.
  """
  input_fn: typing.Callable[..., typing.Any]
  hooks: typing.Sequence[typing.Any]
  saving_listeners: typing.Sequence[typing.Any]
  max_steps: typing.Optional[int]
  max_iterations: typing.Optional[int]
  report_materializer: typing.Any
  writer: summary.SummaryWriter
  report: events.Report


class _Trained(typing.NamedTuple):
  """An iteration after its training.

  Attributes:
    ending: `Ending`.
    iteration: `Iteration`.
    averages: the moving averages of its candidates.
    checkpoint: str, the prefix of its last checkpoint.
    seconds: float, how long it took.
  """
  ending: loop_lib.Ending
  iteration: typing.Any
  averages: typing.List[float]
  checkpoint: str
  seconds: float


def _for_this_graph(hook):
  """Returns a hook of the user for one iteration.

  A `CheckpointSaverHook` keeps the saver of the first graph that it sees.
  """
  if isinstance(hook, tf_compat.v1.train.CheckpointSaverHook):
    return copy.copy(hook)
  return hook


def _hook_runner(training, ops):
  """Returns the runner of the hooks of trainees and of the user."""
  owned = [hooks_lib.Owned(hook, t.name)
           for t in ops.trainees.values() for hook in t.chief_hooks]
  owned += [hooks_lib.Owned(_for_this_graph(hook)) for hook in training.hooks]
  owned += [hooks_lib.Owned(hook, t.name, sees_last_step=False)
            for t in ops.trainees.values() for hook in t.hooks]
  return hooks_lib.HookRunner(owned)


def _restorer(checkpoint, number, begins):
  if checkpoint is None:
    return None
  return sessions.Restorer(
      checkpoint, "adanet/iteration_{}/".format(number) if begins else None)


def _train_iteration(model: model_lib.Model, training: Training, number: int,
                     checkpoint: typing.Optional[str], begins: bool
                    ) -> _Trained:
  """Trains an iteration, as far as it comes.

  Args:
    model: `Model`.
    training: `Training`.
    number: int, the iteration's.
    checkpoint: str, what it begins with or goes on from, or None.
    begins: whether the checkpoint is that of the iteration before.
  """
  started = time.time()
  with model.graph(training.input_fn, "train", number) as built:
    iteration = built.iteration
    ops = train_ops.TrainOps(iteration, model.search.global_step_combiner_fn)
    set_number = tf_compat.v1.assign(iteration.current_iteration, number)
    hooks = _hook_runner(training, ops)
    hooks.begin()
    summaries = training_summaries.TrainingSummaries(
        iteration, training.writer, model.config.save_summary_steps)
    restorer = _restorer(checkpoint, number, begins)
    saver = saving.CheckpointSaver(
        model.model_dir, model.config, training.saving_listeners,
        training.report)
    loop = loop_lib.Loop(
        number, ops,
        loop_lib.Limits(model.search.max_iteration_steps, training.max_steps),
        hooks, saver, summaries,
        lambda name, reason: model.model_dir.mark_stopped(
            number, name, reason), training.report)
    with sessions.ready_session(
        model.config.session_config, restorer, iteration.local_init_ops,
        built.initializers) as (session, coordinator):
      session.run(set_number)
      global_step = int(session.run(iteration.global_step))
      if begins:
        saver.begin_iteration(session, number, global_step)
      elif checkpoint is not None:
        saver.skip(global_step)
        training.report(events.Resumed(number, global_step, checkpoint))
      else:
        saver.save(session, global_step)
      hooks.after_create_session(session, coordinator)
      loop.start(session, model.model_dir.stopped(number))
      training.report(events.IterationBegan(
          number, tuple(s.name for s in iteration.subnetworks),
          tuple(choosing.candidate_names(iteration)),
          model.search.max_iteration_steps, global_step))
      try:
        ending = loop.run(session, global_step)
      except KeyboardInterrupt:
        saver.save(session, loop.global_step)
        logging.warning("Interrupted at step %d, which is saved.",
                        loop.global_step)
        raise
      hooks.end(session)
      saver.end(session, loop.global_step)
      averages = choosing.averages(session, iteration)
  training.writer.flush()
  latest = model.model_dir.latest_checkpoint()
  assert latest is not None
  return _Trained(ending, iteration, averages, latest, time.time() - started)


def _end_iteration(model, rules, training, trained, goes_on):
  """Finds the winner, and writes what the next iteration needs of it."""
  choice, architecture = choosing.winner(
      model, rules, trained.iteration, trained.averages, trained.checkpoint)
  number = trained.iteration.number
  training.report(events.IterationEnded(
      number, choice, trained.seconds, rules.metric_name))
  if not goes_on:
    return
  if training.report_materializer:
    choosing.write_reports(model, training.report_materializer, number,
                           architecture, trained.checkpoint)
  model.model_dir.write_architecture(number, architecture._replace(
      global_step=model.model_dir.global_step(trained.checkpoint)))


def train(model: model_lib.Model, rules: choosing.Rules,
          training: Training) -> None:
  """Trains until the search ends, the steps are done, or the input ends.

  Args:
    model: `Model`.
    rules: `Rules`, how a winner is found.
    training: `Training`.
  """
  checkpoint = model.model_dir.latest_checkpoint()
  number = model.model_dir.current_iteration(checkpoint)
  model.model_dir.remove_temporary_files()
  begins = False
  while True:
    trained = _train_iteration(model, training, number, checkpoint, begins)
    global_step = model.model_dir.global_step(trained.checkpoint)
    reason = trained.ending
    if (training.max_steps is not None and
        global_step >= training.max_steps):
      reason = loop_lib.Ending.MAX_STEPS
    if reason != loop_lib.Ending.ITERATION_OVER:
      training.report(events.TrainingEnded(global_step, reason.value))
      return
    last = (training.max_iterations is not None and
            number + 1 >= training.max_iterations)
    _end_iteration(model, rules, training, trained, goes_on=not last)
    if last:
      training.report(events.TrainingEnded(
          global_step, "it reached max_iterations={}".format(
              training.max_iterations)))
      return
    number, checkpoint, begins = number + 1, trained.checkpoint, True

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Trains an iteration of a search, wherever its session runs."""

import time
import typing

from absl import logging
from adanet import tf_compat
from adanet import waiting
from adanet.core import checkpoints
from adanet.core import events
from adanet.core import summary
from adanet.tf_compat import saver_hooks
from adanet.training import choosing
from adanet.training import hooks as hooks_lib
from adanet.training import loop as loop_lib
from adanet.training import model as model_lib
from adanet.training import recording
from adanet.training import saving
from adanet.training import sessions
from adanet.training import signals
from adanet.training import train_ops
from adanet.training import training_summaries


class Training(typing.NamedTuple):
  """How to train.

  Attributes:
    input_fn: see `adanet.Estimator.train`.
    hooks: sequence of the user's `SessionRunHook`s.
    saving_listeners: sequence of the user's `CheckpointSaverListener`s.
    max_steps: int, the global step at which training ends, or None.
    max_iterations: int, or None.
    report_materializer: `adanet.ReportMaterializer` or None.
    wait_timeout_secs: float, how long to wait for another task, or for space on
      the disk.
    writer: `SummaryWriter`; None for a worker that writes no summaries.
    stops: `StopRequests`.
    report: called with each event.
  """
  input_fn: typing.Callable[..., typing.Any]
  hooks: typing.Sequence[typing.Any]
  saving_listeners: typing.Sequence[typing.Any]
  max_steps: typing.Optional[int]
  max_iterations: typing.Optional[int]
  report_materializer: typing.Any
  wait_timeout_secs: float
  writer: typing.Optional[summary.SummaryWriter]
  stops: signals.StopRequests
  report: events.Report

  def asked_to_stop(self) -> bool:
    """Returns whether a signal asked for a stop."""
    return self.stops.asked is not None


class Start(typing.NamedTuple):
  """From where an iteration trains.

  Attributes:
    number: int, the iteration's.
    checkpoint: str, the prefix of the latest checkpoint, or None.
    begins: whether the checkpoint is that of the iteration before.
  """
  number: int
  checkpoint: typing.Optional[str]
  begins: bool = False


class Trained(typing.NamedTuple):
  """An iteration after its training.

  Attributes:
    ending: `Ending`.
    iteration: `Iteration`.
    averages: the moving averages of its candidates.
    weights: dict from an ensemble's name to its mean mixture weights.
    progress: the last event of its progress.
    checkpoint: str, the prefix of its last checkpoint.
    global_step: int, that of the checkpoint.
    seconds: float, how long it took, in all processes that led it.
    generation: int, that of a cluster; None without one.
    costs: what a step of each subnetwork costs, if a placement strategy asked:
      a number for each builder, or None.
    sizes: likewise the bytes of its variables.
  """
  ending: loop_lib.Ending
  iteration: typing.Any
  averages: typing.List[float]
  weights: typing.Dict[str, typing.List[float]]
  progress: events.Progress
  checkpoint: str
  global_step: int
  seconds: float
  generation: typing.Optional[int] = None
  costs: typing.Optional[typing.Sequence[float]] = None
  sizes: typing.Optional[typing.Sequence[float]] = None


def _hook_runner(training, ops, is_chief):
  """Returns the runner of the hooks of trainees and of the user."""
  # Only the chief has all variables to save.
  left_out = () if is_chief else saver_hooks.among(training.hooks)
  owned = [hooks_lib.Owned(hook, t.name)
           for t in ops.trainees.values() if is_chief for hook in t.chief_hooks]
  owned += [hooks_lib.Owned(hook) for hook in training.hooks
            if hook not in left_out]
  owned += [hooks_lib.Owned(hook, t.name, sees_last_step=False)
            for t in ops.trainees.values() for hook in t.hooks]
  return hooks_lib.HookRunner(owned)


def _warn_of_hooks_left_out(iteration, ops):
  """Names subnetworks whose `chief_hooks` have no chief that trains them."""
  for spec in iteration.subnetworks:
    if spec.train_op.chief_hooks and spec.name not in ops.trainees:
      logging.warning(
          "Iteration %d: the chief_hooks of %s do not run, because the chief "
          "does not train it. An estimator of boosted trees then grows no "
          "tree. Use ReplicationStrategy.", iteration.number, spec.name)


class IterationTraining:
  """Trains one iteration in sessions on its graph, which is the default one.

  Attributes:
    iteration: `Iteration`.
    initializers: `Initializers` of a session.
    loop: `Loop`.
  """

  def __init__(self, model: model_lib.Model, training: Training,
               built: model_lib.Built, start: Start, task: str, is_chief: bool,
               surroundings: loop_lib.Surroundings, began: float):
    """Completes the graph.

    Args:
      model: `Model`.
      training: `Training`.
      built: `Built`, for training.
      start: `Start`.
      task: str, the name of this task.
      is_chief: whether this task restores and saves.
      surroundings: `Surroundings` of the loop.
      began: float, when this process began with the iteration; of `time.time`.
    """
    self.iteration = built.iteration
    self._model = model
    self._training = training
    self._start = start
    ops = train_ops.TrainOps(
        self.iteration, model.search.global_step_combiner_fn)
    self._set_number = tf_compat.v1.assign(
        self.iteration.current_iteration, start.number)
    if is_chief:
      _warn_of_hooks_left_out(self.iteration, ops)
    user_savers = saver_hooks.among(training.hooks)
    saver_hooks.prepare(user_savers, training.saving_listeners)
    self._hooks = _hook_runner(training, ops, is_chief)
    self._hooks.begin()
    summaries = training_summaries.TrainingSummaries(
        self.iteration, training.writer, model.config)
    restorer = None
    if is_chief and start.checkpoint is not None:
      restorer = sessions.Restorer(
          start.checkpoint, f"adanet/iteration_{start.number}/"
          if start.begins else None)
    self._chief_saver = None
    if is_chief:
      self._chief_saver = self._make_saver(user_savers)
    saver = self._chief_saver or saving.Saver()
    self.loop = loop_lib.Loop(
        start.number, ops,
        loop_lib.Limits(model.search.max_iteration_steps, training.max_steps),
        self._hooks, saver, summaries,
        surroundings._replace(report=self._report))
    self._pass_on = surroundings.report
    self._recorder = recording.TaskRecorder(
        model.model_dir.path, task, self.iteration, began)
    self.initializers = sessions.Initializers(
        restorer, self.iteration.local_init_ops, built.initializers)

  def _make_saver(self, user_savers):
    """Returns the `CheckpointSaver` of the chief."""
    training, model = self._training, self._model
    steps = list(self.iteration.steps.values())
    wait = waiting.Wait(training.wait_timeout_secs, "free some space")
    wait_for_space = lambda problem: wait.pause(2., lambda: problem)
    if user_savers:
      return saving.HookedSaver(
          user_savers, model.model_dir, model.config, steps, training.report,
          wait_for_space)
    return saving.CheckpointSaver(
        model.model_dir, model.config, steps, training.saving_listeners,
        training.report, wait_for_space)

  def _report(self, event):
    if isinstance(event, events.Progress):
      self._recorder.write_now_and_then(self.loop)
    self._pass_on(event)

  def begin(self, session: typing.Any) -> None:
    """Saves the first checkpoint, or says from which one training goes on.

    Args:
      session: `Session` in which all variables have their values.
    """
    saver, start = self._chief_saver, self._start
    assert saver is not None
    session.run(self._set_number)
    global_step = int(session.run(self.iteration.global_step))
    if start.begins:
      saver.begin_iteration(session, start.number, global_step)
    elif start.checkpoint is None:
      saver.save(session, global_step)
    else:
      saver.go_on_from(start.checkpoint)
      self._training.report(events.Resumed(
          start.number, global_step, start.checkpoint))

  def train(self, session: typing.Any, coordinator: typing.Any
           ) -> loop_lib.Ending:
    """Trains in a session, as far as it comes.

    A signal ends it after its step. The chief then saves, and the signal does
    what it means.

    Args:
      session: `Session` that is ready.
      coordinator: `Coordinator` of its input.
    """
    number = self._start.number
    self._hooks.after_create_session(session, coordinator)
    self.loop.start(session, lambda steps: self._model.model_dir.stopped(
        number, steps))
    if self._chief_saver is not None and self._training.writer is not None:
      self._chief_saver.graph_files.write(self._training.writer)
    self._training.report(events.IterationBegan(
        number, tuple(s.name for s in self.iteration.subnetworks),
        tuple(choosing.candidate_names(self.iteration)),
        self._model.search.max_iteration_steps, self.loop.global_step,
        self._training.max_iterations, self._training.max_steps))
    try:
      with self._training.stops.deferred():
        ending = self.loop.run(session)
        if ending == loop_lib.Ending.SIGNAL:
          self._save_for_signal(session)
        elif ending == loop_lib.Ending.INPUT_ENDED:
          self._warn_of_short_input()
        return ending
    finally:
      self._recorder.write(self.loop)

  def _warn_of_short_input(self):
    """Says so if the input ended before the iteration could."""
    limit = self._model.search.max_iteration_steps
    short = [self.loop.steps[name] for name in self.loop.trained
             if limit is not None and self.loop.steps[name] < limit]
    if short:
      logging.warning(
          "Iteration %d: the input ended after %d of %d steps: call repeat() "
          "on the dataset.", self._start.number, max(short), limit)

  def _save_for_signal(self, session):
    """Saves the checkpoint of a run that a signal ends."""
    if self._chief_saver is None:
      return
    step, number = self.loop.global_step, self._start.number
    try:
      self._chief_saver.save_or_fail(session, step)
    except saving.DiskFullError as error:
      logging.error("Stopped at step %d of iteration %d, which is not saved: "
                    "%s.", step, number, error)

  def end(self, session: typing.Any) -> None:
    """Saves the last checkpoint, if this is the chief, and ends the hooks."""
    saver = self._chief_saver or saving.Saver()
    saver.end(session, self.loop.global_step,
              lambda: self._hooks.end(session))

  def trained(self, session: typing.Any, ending: loop_lib.Ending) -> Trained:
    """Returns what the chief has trained and saved.

    It is read from the checkpoint, with which all that follows begins: on a
    cluster, others may have trained since.
    """
    assert self._chief_saver is not None
    checkpoint = self._chief_saver.checkpoint
    assert checkpoint is not None
    steps = checkpoints.values(
        checkpoint, [step.op.name for step in self.iteration.steps.values()])
    global_step = self._model.model_dir.global_step(checkpoint)
    progress = self.loop.progress()._replace(
        global_step=global_step,
        steps={name: int(steps[step.op.name])
               for name, step in self.iteration.steps.items()})
    self._recorder.write_parameter_servers()
    if self._training.writer:
      self._training.writer.flush()
    return Trained(
        ending, self.iteration,
        choosing.saved_averages(checkpoint, self.iteration),
        recording.mixture_weights(session, self.iteration, checkpoint),
        progress, checkpoint, global_step, self._recorder.total_seconds)


def _end_iteration(model, rules, training, trained, goes_on):
  """Finds the winner, and writes what the next iteration needs of it."""
  winner = choosing.winner(
      model, rules, trained.iteration, trained.averages, trained.checkpoint)
  number = trained.iteration.number
  ended = events.IterationEnded(
      number, winner.choice, trained.seconds, rules.metric_name)
  training.report(ended)
  recording.write_iteration(
      model.model_dir.path, trained.iteration, ended, winner.values,
      trained.weights, trained.progress, trained.generation, trained.costs,
      trained.sizes)
  if not goes_on:
    return

  def write():
    if training.report_materializer:
      choosing.write_reports(model, training.report_materializer, number,
                             winner.architecture, trained.checkpoint)
    model.model_dir.write_architecture(number, winner.architecture._replace(
        global_step=trained.global_step))

  waiting.until_space(
      write, waiting.Wait(training.wait_timeout_secs, "free some space"),
      model.model_dir.path)


def after_iteration(model: model_lib.Model, rules: choosing.Rules,
                    training: Training, trained: Trained
                   ) -> typing.Union[Start, str]:
  """Ends an iteration that the chief has trained.

  Args:
    model: `Model`.
    rules: `Rules`, how a winner is found.
    training: `Training`.
    trained: `Trained`.

  Returns:
    How the next iteration starts, or why training is over.
  """
  def over(reason):
    training.report(events.TrainingEnded(trained.global_step, reason))
    return reason

  ending = trained.ending
  if (training.max_steps is not None and
      trained.global_step >= training.max_steps):
    ending = loop_lib.Ending.MAX_STEPS
  if ending != loop_lib.Ending.ITERATION_OVER:
    return over(ending.value)
  number = trained.iteration.number
  last = (training.max_iterations is not None and
          number + 1 >= training.max_iterations)
  _end_iteration(model, rules, training, trained, goes_on=not last)
  if last:
    return over(f"it reached max_iterations={training.max_iterations}")
  return Start(number + 1, trained.checkpoint, begins=True)


def latest_start(model: model_lib.Model) -> Start:
  """Returns from where training goes on, and removes what is broken."""
  checkpoint = model.model_dir.latest_checkpoint()
  number = model.model_dir.current_iteration(checkpoint)
  model.model_dir.remove_temporary_files()
  return Start(number, checkpoint)


def _train_iteration(model, training, start):
  """Trains an iteration in this process."""
  began = time.time()
  surroundings = loop_lib.Surroundings(
      training.report,
      lambda *note: model.model_dir.mark_stopped(start.number, *note),
      training.asked_to_stop)
  with model.graph(training.input_fn, "train", start.number) as built:
    it = IterationTraining(
        model, training, built, start, "chief:0", True, surroundings, began)
    with sessions.local_session(model.config.session_config) as session:
      it.initializers.set_variables(session)
      with it.initializers.started(session) as coordinator:
        it.begin(session)
        ending = it.train(session, coordinator)
        if ending == loop_lib.Ending.SIGNAL:
          training.stops.raise_asked()
        it.end(session)
        return it.trained(session, ending)


def train(model: model_lib.Model, rules: choosing.Rules,
          training: Training) -> str:
  """Trains in this process until the search ends, or its steps or input do.

  Args:
    model: `Model`.
    rules: `Rules`, how a winner is found.
    training: `Training`.

  Returns:
    Why training is over.
  """
  start: typing.Union[Start, str] = latest_start(model)
  while isinstance(start, Start):
    start = after_iteration(
        model, rules, training, _train_iteration(model, training, start))
  return start

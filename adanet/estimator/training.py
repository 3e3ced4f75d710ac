# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Trains an iteration of a search, wherever its session runs."""

import copy
import time
import typing

from absl import logging
from adanet import tf_compat
from adanet.cluster import signals
from adanet.cluster import waiting
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
from adanet.estimator import recording


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
    seconds: float, how long it took.
  """
  ending: loop_lib.Ending
  iteration: typing.Any
  averages: typing.List[float]
  weights: typing.Dict[str, typing.List[float]]
  progress: events.Progress
  checkpoint: str
  global_step: int
  seconds: float


def _for_this_graph(hook):
  """Returns a hook of the user for one iteration.

  A `CheckpointSaverHook` keeps the saver of the first graph that it sees.
  """
  if isinstance(hook, tf_compat.v1.train.CheckpointSaverHook):
    return copy.copy(hook)
  return hook


def _hook_runner(training, ops, is_chief):
  """Returns the runner of the hooks of trainees and of the user."""
  owned = [hooks_lib.Owned(hook, t.name)
           for t in ops.trainees.values() if is_chief for hook in t.chief_hooks]
  owned += [hooks_lib.Owned(_for_this_graph(hook)) for hook in training.hooks]
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


class IterationTraining(object):
  """Trains one iteration in sessions on its graph, which is the default one.

  Attributes:
    iteration: `Iteration`.
    initializers: `Initializers` of a session.
    loop: `Loop`.
  """

  def __init__(self, model: model_lib.Model, training: Training,
               built: model_lib.Built, start: Start, task: str, is_chief: bool,
               surroundings: loop_lib.Surroundings):
    """Completes the graph.

    Args:
      model: `Model`.
      training: `Training`.
      built: `Built`, for training.
      start: `Start`.
      task: str, the name of this task.
      is_chief: whether this task restores and saves.
      surroundings: `Surroundings` of the loop.
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
    self._hooks = _hook_runner(training, ops, is_chief)
    self._hooks.begin()
    summaries = training_summaries.TrainingSummaries(
        self.iteration, training.writer, model.config.save_summary_steps)
    restorer = None
    if is_chief and start.checkpoint is not None:
      restorer = sessions.Restorer(
          start.checkpoint, "adanet/iteration_{}/".format(start.number)
          if start.begins else None)
    self._chief_saver = None
    if is_chief:
      wait = waiting.Wait(training.wait_timeout_secs, "free some space")
      self._chief_saver = saving.CheckpointSaver(
          model.model_dir, model.config, training.saving_listeners,
          training.report, lambda problem: wait.pause(2., lambda: problem))
    saver = self._chief_saver or saving.Saver()
    self.loop = loop_lib.Loop(
        start.number, ops,
        loop_lib.Limits(model.search.max_iteration_steps, training.max_steps),
        self._hooks, saver, summaries, surroundings)
    self._recorder = recording.TaskRecorder(
        model.model_dir.path, task, self.iteration)
    self.initializers = sessions.Initializers(
        restorer, self.iteration.local_init_ops, built.initializers)

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
      saver.skip(self._model.model_dir.global_step(start.checkpoint))
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
    self._training.report(events.IterationBegan(
        number, tuple(s.name for s in self.iteration.subnetworks),
        tuple(choosing.candidate_names(self.iteration)),
        self._model.search.max_iteration_steps, self.loop.global_step))
    try:
      with self._training.stops.deferred():
        ending = self.loop.run(session)
        if ending == loop_lib.Ending.SIGNAL:
          self._save_for_signal(session)
        return ending
    finally:
      self._recorder.write(self.loop)

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
      return
    logging.warning("Stopped at step %d of iteration %d, which is saved.",
                    step, number)

  def end(self, session: typing.Any) -> None:
    """Saves the last checkpoint, if this is the chief, and ends the hooks."""
    self._hooks.end(session)
    if self._chief_saver is not None:
      self._chief_saver.end(session, self.loop.global_step)

  def trained(self, session: typing.Any, ending: loop_lib.Ending,
              seconds: float) -> Trained:
    """Returns what the chief has trained and saved."""
    averages = choosing.averages(session, self.iteration)
    weights = recording.mixture_weights(session, self.iteration)
    self._recorder.write_parameter_servers()
    if self._training.writer:
      self._training.writer.flush()
    model_dir = self._model.model_dir
    latest = model_dir.latest_checkpoint()
    assert latest is not None
    return Trained(ending, self.iteration, averages, weights,
                   self.loop.progress(), latest, model_dir.global_step(latest),
                   seconds)


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
      trained.weights, trained.progress)
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
    return over("it reached max_iterations={}".format(training.max_iterations))
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
        model, training, built, start, "chief:0", True, surroundings)
    with sessions.local_session(model.config.session_config) as session:
      it.initializers.set_variables(session)
      with it.initializers.started(session) as coordinator:
        it.begin(session)
        ending = it.train(session, coordinator)
        if ending == loop_lib.Ending.SIGNAL:
          training.stops.raise_asked()
        it.end(session)
        return it.trained(session, ending, time.time() - began)


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

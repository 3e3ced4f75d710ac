# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Trains an iteration of a search, in sessions on any machine."""

import functools
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from adanet import log as logging
from adanet import tf_compat
from adanet import waiting
from adanet.core import checkpoints
from adanet.core import event_files
from adanet.core import events
from adanet.core import fingerprint
from adanet.core import model_dir as model_dir_lib
from adanet.core import user_input
from adanet.tf_compat import checkpoint_file
from adanet.training import candidates as candidates_lib
from adanet.training import ending as ending_lib
from adanet.training import input_position
from adanet.training import loop as loop_lib
from adanet.training import merge_checkpoints
from adanet.training import recorded_logits
from adanet.training import recording
from adanet.training import runs
from adanet.training import saving
from adanet.training import sessions
from adanet.training import setup as setup_lib
from adanet.training import signals
from adanet.training import train_ops
from adanet.training import trained as trained_lib
from adanet.training import training_summaries

# In how many more batches NaN is looked for than training has read.
_MORE_BATCHES = 100


class Request(NamedTuple):
  """The arguments of a user's call of `train`.

  Attributes:
    input_fn: see `adanet.Estimator.train`.
    hooks: tuple of `SessionRunHook`s.
    saving_listeners: tuple of `CheckpointSaverListener`s.
    steps: int, the number of global steps to train now, or None. The leading
      task replaces `steps` by `max_steps`.
    max_steps: int, the global step at which training ends, or None.
    max_iterations: int, or None.
    max_seconds: float, the time until training ends, or None.
    deadline: float, the end of `max_seconds` by `time.time`, or None.
    wait_timeout_secs: float, the longest wait for another task, or for space on
      the disk.
  """
  input_fn: Callable[..., Any]
  hooks: Tuple[Any, ...] = ()
  saving_listeners: Tuple[Any, ...] = ()
  steps: Optional[int] = None
  max_steps: Optional[int] = None
  max_iterations: Optional[int] = None
  max_seconds: Optional[float] = None
  deadline: Optional[float] = None
  wait_timeout_secs: float = 7200.

  def retry_until_space(self, write: Callable[[], Any], folder: str) -> Any:
    """Writes a file that training needs; waits while the disk is full.

    Args:
      write: function that writes in a folder.
      folder: str, the path of the folder.

    Returns:
      The result of `write`.
    """
    return waiting.wait_until_space(
        write, waiting.Wait(self.wait_timeout_secs, "free some space"), folder)


class Training(NamedTuple):
  """How a task trains: the user's request, and the task's open resources.

  Attributes:
    request: `Request`.
    stops: `StopRequests`.
    report: called with each event.
    writer: `SummaryWriter`; None for a worker, which writes no summaries.
  """
  request: Request
  stops: signals.StopRequests
  report: events.Report
  writer: Optional[event_files.SummaryWriter] = None

  def asked_to_stop(self) -> bool:
    """Returns whether a signal asked for a stop."""
    return self.stops.asked is not None


class TrainingTask(NamedTuple):
  """The task that trains an iteration.

  Attributes:
    name: str, the name of the task.
    is_chief: whether the task restores and saves.
    context: `LoopContext` of the task's loop.
    began: float, when this process began the iteration, by `time.time`.
    folder: `ModelDir` for checkpoints and the record; None for the setup's.
    position: `InputPosition`, if the process reads all input; or None.
  """
  name: str
  is_chief: bool
  context: loop_lib.LoopContext
  began: float
  folder: Optional[model_dir_lib.ModelDir] = None
  position: Optional[input_position.InputPosition] = None


def _hook_runner(training, ops, is_chief):
  """Returns the runner of the hooks of trainees and of the user."""
  owned = [runs.Owned(hook, t.name)
           for t in ops.trainees.values() if is_chief for hook in t.chief_hooks]
  owned += [runs.Owned(hook) for hook in training.request.hooks]
  owned += [runs.Owned(hook, t.name, sees_last_step=False)
            for t in ops.trainees.values() for hook in t.hooks]
  # Only the chief has all variables to save.
  return runs.HookRunner([
      owned_hook for owned_hook in owned
      if is_chief or not checkpoint_file.is_saver_hook(owned_hook.hook)])


def _warn_of_hooks_left_out(iteration, ops):
  """Names subnetworks with `chief_hooks` that the chief does not train."""
  for spec in iteration.subnetworks:
    if spec.train_op.chief_hooks and spec.name not in ops.trainees:
      logging.warning(
          "Iteration %d: the chief_hooks of %s do not run, because the chief "
          "does not train it. An estimator of boosted trees then grows no "
          "tree. Use ReplicationStrategy.", iteration.number, spec.name)


class IterationTraining:
  """Trains an iteration in sessions on the default graph.

  Attributes:
    iteration: `Iteration`.
    initializers: `Initializers` of a session.
    loop: `Loop`.
  """

  def __init__(self, setup: setup_lib.SearchSetup, training: Training,
               built: setup_lib.BuiltGraph, start: trained_lib.Start,
               task: TrainingTask):
    """Completes the graph.

    Args:
      built: `BuiltGraph`, for training.
    """
    self.iteration = built.iteration
    self._features = built.task.features
    self._setup = setup
    self._training = training
    self._start = start
    self._task = task
    self._folder = task.folder or setup.model_dir
    self._position = task.position or input_position.InputPosition({})
    self._ops = train_ops.TrainOps(
        self.iteration, setup.search.global_step_combiner_fn,
        is_part=setup.part is not None and
        len(self.iteration.subnetworks) < len(self.iteration.builder_names),
        shares_ensembles=task.context.shares_ensembles, stopped=start.stopped,
        is_chief=task.is_chief)
    self._set_number = tf_compat.v1.assign(
        self.iteration.current_iteration, start.number)
    if task.is_chief:
      self._set_global_step = self._ops.global_step(after=())
      self._chief_saver = self._make_saver()
    self._saver = self._chief_saver or saving.Saver()
    # Hooks may add ops in `begin`: ops of summaries and savers come after.
    self._hooks = _hook_runner(training, self._ops, task.is_chief)
    self._hooks.begin()
    summaries = training_summaries.TrainingSummaries(
        self.iteration, training.writer, setup.config)
    restorer = self._prepare_chief() if task.is_chief else None
    load = self._carry_earlier() if restorer else lambda session: None
    self._saver.build()
    self.loop = loop_lib.Loop(
        start.number, self._ops, setup.search.max_iteration_steps,
        training.request.max_steps, training.request.deadline, self._hooks,
        self._saver, summaries,
        task.context._replace(
            report=self._report, is_chief=task.is_chief,
            not_finite=functools.lru_cache()(self._not_finite)),
        built.input_turn)
    self._recorder = recording.TaskRecorder(
        self._folder.path, task.name, self.iteration, task.began)
    self.initializers = sessions.Initializers(
        restorer, self.iteration.local_init_ops, built.initializers, load)

  _fingerprint_check: Optional[fingerprint.FingerprintCheck] = None
  _chief_saver: Optional[saving.CheckpointSaver] = None

  def _prepare_chief(self):
    """Prepares the objects of the chief; returns a `Restorer` or None."""
    setup, start = self._setup, self._start
    if self._task.folder is None:
      self._fingerprint_check = fingerprint.FingerprintCheck(
          setup.model_dir.path, fingerprint.of(setup.search, self.iteration),
          start.number, self._training.request.max_iterations,
          has_weights=start.checkpoint is not None,
          resumes=not start.starts_iteration)
    _warn_of_hooks_left_out(self.iteration, self._ops)
    if start.checkpoint is None:
      return None
    return sessions.Restorer(
        start.checkpoint,
        f"adanet/iteration_{start.number}/" if start.starts_iteration else None)

  def _carry_earlier(self):
    """Carries networks that are not in the graph; see `Initializers.load`."""
    if not self.iteration.leaves_out_earlier:
      return lambda session: None
    setup, number = self._setup, self._start.number
    return merge_checkpoints.Carried(
        self._start.checkpoint, setup.history(number), number,
        recorded_logits.kept_variables(setup.model_dir.path)).load

  def _make_saver(self):
    setup, request = self._setup, self._training.request
    wait = waiting.Wait(request.wait_timeout_secs, "free some space")

    def wait_for_space(problem):
      self._training.stops.raise_asked()  # Who asks for a stop does not wait.
      wait.pause(2., lambda: problem)

    arguments = dict(
        model_dir=self._folder, config=setup.config,
        steps=list(self.iteration.steps.values()),
        global_step=self._set_global_step,
        report=self._training.report,
        wait_for_space=wait_for_space,
        input_position=self._position.read, search_dir=setup.model_dir.path)
    of_user = list(filter(checkpoint_file.is_saver_hook, request.hooks))
    if of_user:
      checkpoint_file.add_listeners(of_user, request.saving_listeners)
      return saving.HookedSaver(of_user, **arguments)
    return saving.CheckpointSaver(
        listeners=request.saving_listeners, **arguments)

  def _not_finite(self):
    """Returns the input tensors with NaN, if training may have read NaN."""
    return self._setup.not_finite(
        self._training.request.input_fn, "train",
        _MORE_BATCHES + max(self.loop.trained.values()),
        len(self.iteration.builder_names))

  def _report(self, event):
    if isinstance(event, events.Progress):
      self._recorder.write_now_and_then(self.loop)
    self._task.context.report(event)

  def begin(self, session: Any, is_taken_over: bool = False) -> None:
    """Saves the first checkpoint, or reports the checkpoint that resumes.

    Args:
      session: `Session` with initialized variables.
      is_taken_over: whether other tasks train already.
    """
    saver, start = self._chief_saver, self._start
    assert saver is not None
    if self._fingerprint_check is not None:
      self._fingerprint_check.write(self._training.request.wait_timeout_secs)
      recording.mark_resumed(self._setup.model_dir.path)
    _, global_step, steps = session.run((
        self._set_number, self._set_global_step, {
            **{spec.name: spec.step for spec in self.iteration.subnetworks},
            **{spec.name: spec.step for spec in self.iteration.candidates}}))
    global_step = int(global_step)
    if not is_taken_over:  # Else a note may have been written just now.
      self._setup.model_dir.forget_stops(
          start.number, steps, self._setup.search.max_iteration_steps)
    if start.starts_iteration:
      saver.begin_iteration(session, start.number)
    elif start.checkpoint is None or start.from_other_folder:
      saver.save(session)
    else:
      saver.go_on_from(start.checkpoint)
      self._training.report(events.Resumed(
          start.number, global_step, start.checkpoint,
          self._setup.model_dir.global_step(start.checkpoint)
          if is_taken_over else None))

  def train(self, session: Any, coordinator: Any) -> ending_lib.Ending:
    """Trains in a session until an `Ending`.

    A signal ends training after the current step, and takes effect when the
    chief has saved.

    Args:
      session: `Session` that is ready.
      coordinator: `Coordinator` of the session's input.

    Raises:
      EmptyInputError: the input has no batch.
    """
    number, request = self._start.number, self._training.request
    self._hooks.after_create_session(session, coordinator)
    self.loop.start(session, lambda steps: self._setup.model_dir.stopped(
        number, steps))
    if self._chief_saver is not None and self._training.writer is not None:
      self._chief_saver.graph_files.write(self._training.writer)
    self._training.report(events.IterationBegan(
        number, tuple(s.name for s in self.iteration.subnetworks),
        tuple(c.name for c in self.iteration.candidates),
        self._setup.search.max_iteration_steps, self.loop.global_step,
        request.max_iterations, request.max_steps))
    try:
      with self._training.stops.deferred(), user_input.explained_in_run(
          self._features):
        ending = ending_lib.Ending.SIGNAL
        if self._restore_input(session):
          ending = self.loop.run(session)
        if ending == ending_lib.Ending.SIGNAL:
          self._save_for_signal(session)
        elif ending == ending_lib.Ending.INPUT_ENDED:
          self._check_input()
        return ending
    finally:
      self._recorder.write(self.loop)

  def _restore_input(self, session):
    """Resumes the input where training was; returns False on a stop request."""
    if self.loop.ending():
      return True
    self._say_what_is_kept()
    self._position.warn_of_differences(self._start.number, self._ops.all())
    return self._position.restore(
        session, self._task.context.asked_to_stop)

  def _say_what_is_kept(self) -> None:
    """Warns of learning rates that a checkpoint keeps."""
    kept: Dict[Tuple[float, float], List[str]] = {}
    for name, rates in self.initializers.kept_rates.items():
      kept.setdefault(rates, []).append(name)
    for (configured, restored), names in kept.items():
      logging.warning(
          "Iteration %d: the learning rate of %s stays %g, as in the "
          "checkpoint: %g holds from the next iteration on. To train with it "
          "now, use another model_dir.", self._start.number,
          ", ".join(names), restored, configured)

  def _check_input(self):
    """Warns if the input ended before the iteration.

    The share of a worker in a cluster may have no batch. An input that can be
    read only once has no batch for the second iteration of a call.
    """
    if not any(self.loop.trained.values()):
      if self._position.is_resumed:
        return
      if self._chief_saver is not None and (
          self._setup.part is not None or not self._start.starts_iteration):
        raise user_input.empty_input_error("train")
      logging.warning("Iteration %d: the input has no batch for this process.",
                      self._start.number)
      return
    limit = self._setup.search.max_iteration_steps
    short = [self.loop.steps[name] for name in self.loop.trained
             if limit is not None and self.loop.steps[name] < limit]
    if short:
      logging.warning(
          "Iteration %d: the input ended after %d of %d steps: call repeat() "
          "on the dataset, or give num_epochs=None to numpy_input_fn.",
          self._start.number, max(short), limit)

  def _save_for_signal(self, session):
    if self._chief_saver is None:
      return
    step, number = self.loop.global_step, self._start.number
    try:
      self._chief_saver.save_or_fail(session)
    except saving.DiskFullError as error:
      logging.error("Stopped at step %d of iteration %d, which is not saved: "
                    "%s.", step, number, error)

  def end(self, session: Any) -> None:
    """Saves the last checkpoint on the chief, and ends the hooks.

    A signal takes effect after the save.
    """
    with self._training.stops.deferred():
      self._saver.end(session, lambda: self._hooks.end(session))
    self._training.stops.raise_asked()

  def trained(self, session: Any, ending: ending_lib.Ending
             ) -> trained_lib.TrainedIteration:
    """Returns the iteration that the chief has trained and saved.

    The values are of the checkpoint, because other tasks may train further.
    """
    assert self._chief_saver is not None
    checkpoint: Any = self._chief_saver.checkpoint
    steps = checkpoints.values(
        checkpoint, [step.op.name for step in self.iteration.steps.values()])
    global_step = self._setup.model_dir.global_step(checkpoint)
    progress = self.loop.progress()._replace(
        global_step=global_step,
        steps={name: int(steps[step.op.name])
               for name, step in self.iteration.steps.items()})
    self._recorder.write_parameter_servers()
    if self._training.writer:
      self._training.writer.flush()
    return trained_lib.TrainedIteration(
        ending, candidates_lib.of_iteration(self.iteration, checkpoint),
        recording.mixture_weights(session, self.iteration, checkpoint),
        progress, self._recorder.total_seconds,
        is_stop_asked=self._chief_saver.is_stop_asked)

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the tasks that lead a search share: how they start, and go on."""

import contextlib
import os
import math
import time
from typing import Any, Callable, Iterator, Optional, Tuple, Union

from adanet import log as logging
from adanet import waiting
from adanet.cluster import lock
from adanet.core import events
from adanet.core import model_dir as model_dir_lib
from adanet.core import selection
from adanet.core import summary
from adanet.progress import event_text
from adanet.progress import reporter
from adanet.training import choosing
from adanet.training import deciding
from adanet.training import joining
from adanet.training import input_position
from adanet.training import loop as loop_lib
from adanet.training import model as model_lib
from adanet.training import noting
from adanet.training import recording
from adanet.training import sessions
from adanet.training import signals
from adanet.training import trainer
import numpy as np


def resolved(model: model_lib.Model, request: trainer.Request
            ) -> Tuple[trainer.Request, Optional[str]]:
  """Finds out up to which global step to train.

  If there is nothing to train, it says so: since when, and why.

  Args:
    model: `Model`.
    request: `Request`.

  Returns:
    The request with that `max_steps`; and why there is nothing to train, or
    None.
  """
  checkpoint = model.model_dir.latest_checkpoint()
  first = model.model_dir.global_step(checkpoint)
  if request.steps is not None:
    request = request._replace(steps=None, max_steps=first + request.steps)
  number = model.model_dir.current_iteration(checkpoint)
  over = _no_gain(model, number) if _is_decided(model, checkpoint) else ""
  if over:
    noting.SearchNote(model, number, request.max_iterations)
  elif _is_finished(model, request, number, checkpoint):
    over = _reached(request)
    with model.graph(request.input_fn, "train", number) as built:
      noting.SearchNote(model, number, request.max_iterations,
                        built.iteration.builder_names, built.iteration.graphs)
  elif request.max_steps is None or first < request.max_steps or (
      model.model_dir.has_ensembles_behind(checkpoint)):
    return request, None
  else:
    noting.SearchNote(model, number, request.max_iterations)
    over = f"step {request.max_steps} is reached already"
  reporter.log_or_print(logging.INFO, _nothing_trained(model, first, over))
  return request, over


def _reached(request):
  """Returns why no iteration follows the last one."""
  return f"it reached max_iterations={request.max_iterations}"


def _is_finished(model, request, number, checkpoint):
  """Returns whether the last iteration has a winner, by the same rules."""
  return (request.max_iterations is not None and
          number + 1 >= request.max_iterations and
          deciding.record_of(model, number, checkpoint) is not None)


def _nothing_trained(model, global_step, over):
  """Returns the line of a search that has nothing to train."""
  end = recording.read_end(model.model_dir.path)
  since = ""
  if end is not None and end.global_step == global_step:
    since = event_text.since(end.time)
  return (f"Nothing was trained: the search in model_dir "
          f"{model.model_dir.path!r} ended at step {global_step}{since}: "
          f"{over}. To train anew, also on other data, use another model_dir.")


def what_is_saved(model: model_lib.Model) -> str:
  """Returns a line that says from where training goes on that was stopped."""
  latest = model.model_dir.latest_checkpoint()
  return (
      "Stopped before the first checkpoint: nothing is saved."
      if latest is None else
      f"Stopped: step {model.model_dir.global_step(latest)} of iteration "
      f"{model.model_dir.current_iteration(latest)} is saved, and training "
      "goes on from there.")


@contextlib.contextmanager
def opened(model: model_lib.Model, request: trainer.Request,
           saved: Callable[[model_lib.Model], str] = what_is_saved
          ) -> Iterator[trainer.Training]:
  """Takes the model_dir for this task, and ends what it opens.

  Args:
    model: `Model`.
    request: `Request`.
    saved: returns the line for the user when training was stopped.

  Yields:
    `Training`.
  """
  with contextlib.ExitStack() as exits:
    exits.enter_context(lock.owned(model.model_dir.path))
    stops = exits.enter_context(signals.StopRequests())
    report = exits.enter_context(reporter.reporter(
        log_step_count_steps=model.config.log_step_count_steps,
        say=reporter.log_or_print))
    writer = summary.SummaryWriter(model.model_dir.path)
    exits.callback(writer.close)
    try:
      yield trainer.Training(request, stops, report, writer)
    except (KeyboardInterrupt, SystemExit):
      reporter.log_or_print(logging.INFO, saved(model))
      raise


def written_surely(write: Callable[[], Any],
                   model: model_lib.Model,
                   request: trainer.Request) -> Any:
  """Writes what training cannot go on without; a full disk is waited for.

  Args:
    write: function that writes in the model_dir.
    model: `Model`.
    request: `Request`, which says how long to wait.

  Returns:
    What `write` returns.
  """
  return waiting.wait_until_space(
      write, waiting.Wait(request.wait_timeout_secs, "free some space"),
      model.model_dir.path)


def _is_decided(model, checkpoint):
  """Returns whether a checkpoint is of the end of an iteration with a winner.
  """
  if checkpoint is None:
    return False
  won = model.model_dir.architecture(
      model.model_dir.current_iteration(checkpoint))
  return won is not None and (
      won.global_step == model.model_dir.global_step(checkpoint))


def _no_gain(model, number):
  """Returns why no iteration begins after one, by `patience`; "" if one may.
  """
  rules, best, since = model.rules, None, 0
  for t in range(number + 1):
    record = recording.read_iteration(model.model_dir.path, t)
    value = record and record.winning and record.winning.value
    if value is None or math.isnan(value) or (
        record.metric_name != rules.metric_name):  # By another evaluator.
      continue
    if best is None or choosing.gains(rules, value, best):
      best, since = value, 0
    else:
      since += 1
  if rules.patience is None or since < rules.patience:
    return ""
  winners = "winner is" if since == 1 else f"{since} winners are"
  return (f"patience={rules.patience}: the last {winners} no better than "
          f"{best:.4g} ({rules.metric_name})")


def _no_time(training, trained):
  """Returns why the next iteration would end too late; "" if it would not.

  It is taken to last as long as the one before.
  """
  deadline = training.request.deadline
  if deadline is None or time.time() + trained.seconds <= deadline:
    return ""
  return (f"max_seconds={training.request.max_seconds:g}: "
          f"{max(0., deadline - time.time()):.1f} s are left, and the last "
          f"iteration took {trained.seconds:.1f} s")


def latest_start(model: model_lib.Model) -> trainer.Start:
  """Returns from where training goes on, and removes what is broken."""
  checkpoint = model.model_dir.latest_checkpoint()
  number = model.model_dir.current_iteration(checkpoint)
  model.model_dir.remove_temporary_files()
  return trainer.Start(number, checkpoint)


def undecided_start(model: model_lib.Model,
                    max_iterations: Optional[int]) -> trainer.Start:
  """Returns from where training goes on: where nothing is decided yet.

  Args:
    model: `Model`.
    max_iterations: int, after how many iterations the search ends, or None.
  """
  start = latest_start(model)
  if (max_iterations is None or start.number + 1 < max_iterations) and (
      _is_decided(model, start.checkpoint)):
    return trainer.Start(start.number + 1, start.checkpoint, begins=True)
  return start


def _noted_position(model, start):
  """Returns where the input was at the checkpoint of a `Start`."""
  if start.checkpoint is None or start.begins or not getattr(
      model.config, "rereads_input", True):
    return {}
  return model_dir_lib.ModelDir(
      os.path.dirname(start.checkpoint)).input_position(start.checkpoint)


def train_here(
    model: model_lib.Model, training: trainer.Training, start: trainer.Start,
    surroundings: loop_lib.Surroundings,
    folder: Optional[model_dir_lib.ModelDir] = None,
    adapt: Callable[[model_lib.BuiltGraph], model_lib.BuiltGraph] =
    lambda built: built) -> Optional[trainer.Trained]:
  """Trains an iteration, or a part of one, in this process alone.

  Args:
    model: `Model`.
    training: `Training`.
    start: `Start`.
    surroundings: `Surroundings` of the loop.
    folder: `ModelDir` for its checkpoints; None for the model's.
    adapt: function from the `BuiltGraph` to the one that is trained.

  Returns:
    `Trained`; None if a signal asked for a stop. Then its checkpoint is saved,
    if there was space.
  """
  began = time.time()
  with model.graph(
      training.request.input_fn, "train", start.number) as built:
    it = trainer.IterationTraining(
        model, training, adapt(built), start, trainer.TrainingTask(
            "chief:0", True, surroundings, began, folder,
            input_position.InputPosition(_noted_position(model, start))))
    with sessions.local_session(model.config.session_config) as session:
      it.initializers.set_variables(session)
      with it.initializers.started(session) as coordinator:
        it.begin(session)
        ending = it.train(session, coordinator)
        if ending == loop_lib.Ending.SIGNAL:
          return None
        it.end(session)
        return it.trained(session, ending)


def _end_iteration(model, training, trained, goes_on):
  """Finds the winner, and writes what the next iteration needs of it.

  Returns:
    The prefix of the checkpoint that has all of the winner.
  """
  number = trained.contest.number
  not_finite = trained.contest.not_finite()
  contest = trained.contest._replace(not_finite=lambda: not_finite)
  for name, variable in sorted(choosing.broken(contest).items()):
    # Of the others it was told already.
    if not math.isnan(trained.averages.get(name, 0.)):
      logging.warning(
          "Iteration %d: %s counts as NaN, because its variable %r has NaN or "
          "infinity. Check the data for NaN, or lower the learning rate.",
          number, name, variable)
  winner = choosing.winner(model, contest)
  known = recording.read_iteration(model.model_dir.path, number)
  seconds = trained.seconds
  if known is not None and known.global_step == trained.global_step:
    # It has trained no further, and is only decided again.
    seconds = known.seconds or seconds
  ended = events.IterationEnded(
      number, winner.choice, seconds, model.rules.metric_name,
      winner.fits.get(winner.name))
  checkpoint = trained.checkpoint
  if winner.variables:
    # Nothing that is decided has to catch up with its subnetworks.
    furthest = np.int64(max(trained.progress.steps.values(), default=0))
    checkpoint = joining.with_variables(model, training, checkpoint, {
        name: furthest if name.endswith("/step") else value
        for name, value in winner.variables.items()})
  training.report(ended)
  weights = dict(trained.weights, **{
      name: list(fit.members.values()) for name, fit in winner.fits.items()})
  before = recording.read_iteration(model.model_dir.path, number - 1)
  if before is not None and before.winning is not None:
    weights.setdefault(before.winner, list(before.winning.weights))
  recording.write_iteration(
      model.model_dir.path, ended, winner.architectures, winner.values, weights,
      trained.progress, checkpoint, generation=trained.generation,
      costs_by_name=trained.costs, held_out_losses=winner.network_losses)
  if not goes_on:
    return checkpoint

  reports = None
  if model.report_materializer:
    reports = trained.reports(winner.architecture.subnetworks_of(number))

  def write():
    if reports is not None:
      assert model.report_store is not None
      model.report_store.write(number, reports)
    model.model_dir.write_architecture(number, winner.architecture._replace(
        global_step=trained.global_step))

  written_surely(write, model, training.request)
  return checkpoint


def _has_diverged(trained):
  """Returns whether the last loss of all new subnetworks is NaN."""
  losses = [trained.progress.losses.get(name, 0.)
            for name in trained.progress.steps
            if name not in trained.contest.architectures]
  return bool(losses) and all(map(math.isnan, losses))


def _tell_undecided(model, training, trained):
  """Says which ensemble answers after the last step, without a winner."""
  choice, averages = None, trained.averages
  if averages and not any(value < math.inf for value in averages.values()):
    return
  if not model.rules.evaluator:  # Its values are not known.
    architectures = trained.contest.architectures
    known = {name: architectures[name] for name in architectures
             if averages.get(name) != math.inf}
    choice = choosing.winner(
        model._replace(rules=model.rules._replace(force_grow=False)),
        trained.contest._replace(
            values=lambda: averages, architectures=known)).choice
    if len(known) == 1 < len(architectures):
      choice = selection.preset(
          list(known), 0, "it is the only one that has trained")
  event = events.IterationUndecided(
      trained.contest.number, trained.global_step, choice,
      model.rules.metric_name, tuple(
          name for name, steps in trained.progress.steps.items()
          if not steps and name not in trained.contest.architectures))
  training.report(event)
  recording.write_undecided(model.model_dir.path, event)


def after_iteration(model: model_lib.Model, training: trainer.Training,
                    trained: trainer.Trained) -> Union[trainer.Start, str]:
  """Ends an iteration that this task has trained: chooses and writes.

  Args:
    model: `Model`.
    training: `Training`.
    trained: `Trained`.

  Returns:
    How the next iteration starts, or why training is over.
  """
  def over(reason):
    # Another `train` begins its input anew, as AdaNet's does.
    model.model_dir.forget_input_positions()
    recording.write_end(model.model_dir.path, trained.global_step, reason)
    training.report(events.TrainingEnded(trained.global_step, reason))
    return reason

  request, ending = training.request, trained.ending
  if (request.max_steps is not None and
      trained.global_step >= request.max_steps):
    ending = loop_lib.Ending.MAX_STEPS
  if ending in (loop_lib.Ending.MAX_STEPS, loop_lib.Ending.TIME_IS_UP):
    _tell_undecided(model, training, trained)
  if ending != loop_lib.Ending.ITERATION_OVER:
    return over(ending.value)
  number = trained.contest.number
  last = (request.max_iterations is not None and
          number + 1 >= request.max_iterations)
  checkpoint = _end_iteration(model, training, trained, goes_on=not last)
  if last:
    diverged = ("all subnetworks of the last iteration diverged, and "
                if _has_diverged(trained) else "")
    return over(diverged + _reached(request))
  reason = _no_gain(model, number) or _no_time(training, trained)
  if reason:
    return over(reason)
  return trainer.Start(number + 1, checkpoint, begins=True)

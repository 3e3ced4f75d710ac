# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the tasks that lead a search share: how they start, and go on."""

import contextlib
import typing

from absl import logging
from adanet import waiting
from adanet.cluster import lock
from adanet.core import events
from adanet.core import summary
from adanet.progress import reporter
from adanet.training import choosing
from adanet.training import loop as loop_lib
from adanet.training import model as model_lib
from adanet.training import recording
from adanet.training import signals
from adanet.training import trainer


def resolved(model: model_lib.Model, request: trainer.Request
            ) -> typing.Tuple[trainer.Request, typing.Optional[str]]:
  """Finds out up to which global step to train.

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
  if (request.max_steps is None or first < request.max_steps or
      model.model_dir.has_ensembles_behind(checkpoint)):
    return request, None
  over = f"step {request.max_steps} is reached already"
  logging.info("Skipped training: %s.", over)
  return request, over


def _say_what_is_saved(model_dir):
  """Says from where training goes on that was stopped."""
  latest = model_dir.latest_checkpoint()
  reporter.log_or_print(
      logging.INFO,
      "Stopped before the first checkpoint: nothing is saved."
      if latest is None else
      f"Stopped: step {model_dir.global_step(latest)} of iteration "
      f"{model_dir.current_iteration(latest)} is saved, and training goes on "
      "from there.")


@contextlib.contextmanager
def opened(model: model_lib.Model, request: trainer.Request
          ) -> typing.Iterator[trainer.Training]:
  """Takes the model_dir for this task, and ends what it opens.

  Args:
    model: `Model`.
    request: `Request`.

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
      _say_what_is_saved(model.model_dir)
      raise


def latest_start(model: model_lib.Model) -> trainer.Start:
  """Returns from where training goes on, and removes what is broken."""
  checkpoint = model.model_dir.latest_checkpoint()
  number = model.model_dir.current_iteration(checkpoint)
  model.model_dir.remove_temporary_files()
  return trainer.Start(number, checkpoint)


def _end_iteration(model, training, trained, goes_on):
  """Finds the winner, and writes what the next iteration needs of it."""
  winner = choosing.winner(model, trained.iteration, trained.checkpoint)
  number = trained.iteration.number
  ended = events.IterationEnded(
      number, winner.choice, trained.seconds, model.rules.metric_name)
  training.report(ended)
  recording.write_iteration(
      model.model_dir.path, trained.iteration, ended, winner.values,
      trained.weights, trained.progress, generation=trained.generation,
      costs=trained.costs, sizes=trained.sizes)
  if not goes_on:
    return

  def write():
    if model.report_materializer:
      choosing.write_reports(
          model, number, winner.architecture, trained.checkpoint)
    model.model_dir.write_architecture(number, winner.architecture._replace(
        global_step=trained.global_step))

  waiting.wait_until_space(
      write, waiting.Wait(training.request.wait_timeout_secs,
                          "free some space"), model.model_dir.path)


def after_iteration(model: model_lib.Model, training: trainer.Training,
                    trained: trainer.Trained
                   ) -> typing.Union[trainer.Start, str]:
  """Ends an iteration that this task has trained: chooses and writes.

  Args:
    model: `Model`.
    training: `Training`.
    trained: `Trained`.

  Returns:
    How the next iteration starts, or why training is over.
  """
  def over(reason):
    training.report(events.TrainingEnded(trained.global_step, reason))
    return reason

  request, ending = training.request, trained.ending
  if (request.max_steps is not None and
      trained.global_step >= request.max_steps):
    ending = loop_lib.Ending.MAX_STEPS
  if ending != loop_lib.Ending.ITERATION_OVER:
    return over(ending.value)
  number = trained.iteration.number
  last = (request.max_iterations is not None and
          number + 1 >= request.max_iterations)
  _end_iteration(model, training, trained, goes_on=not last)
  if last:
    return over(f"it reached max_iterations={request.max_iterations}")
  return trainer.Start(number + 1, trained.checkpoint, begins=True)

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Trains as the task that this process is."""

import contextlib
import os
import signal
import typing

from absl import logging
from adanet import tf_compat
from adanet.cluster import agreement as agreement_lib
from adanet.cluster import ended
from adanet.cluster import lock
from adanet.cluster import task as task_lib
from adanet.core import events
from adanet.core import nan_loss
from adanet.core import summary
from adanet.progress import reporter
from adanet.roles import cluster_training
from adanet.tf_compat import files
from adanet.training import choosing
from adanet.training import model as model_lib
from adanet.training import signals
from adanet.training import trainer


class Given(typing.NamedTuple):
  """What a user gives to train; see `Training` for the attributes."""
  input_fn: typing.Callable[..., typing.Any]
  hooks: typing.Sequence[typing.Any]
  saving_listeners: typing.Sequence[typing.Any]
  max_iterations: typing.Optional[int]
  report_materializer: typing.Any
  wait_timeout_secs: float


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
def _opened(model, given, max_steps, leads):
  """Yields the `Training` of this task, and ends what it opens."""
  with contextlib.ExitStack() as exits:
    if leads:
      exits.enter_context(lock.owned(model.model_dir.path))
    stops = exits.enter_context(signals.StopRequests())
    # On a cluster the chief says how far all are.
    report = exits.enter_context(reporter.reporter(
        log_step_count_steps=model.config.log_step_count_steps,
        say=reporter.log_or_print if leads else reporter.log))
    writer = None
    if leads:
      writer = summary.SummaryWriter(model.model_dir.path)
      exits.callback(writer.close)
    try:
      yield trainer.Training(
          given.input_fn, given.hooks, given.saving_listeners, max_steps,
          given.max_iterations, given.report_materializer,
          given.wait_timeout_secs, writer, stops, report)
    except (KeyboardInterrupt, SystemExit):
      if leads:
        _say_what_is_saved(model.model_dir)
      raise


def _limit(model, steps, max_steps):
  """Returns the global step to train up to, and whether all is done there."""
  checkpoint = model.model_dir.latest_checkpoint()
  start = model.model_dir.global_step(checkpoint)
  if steps is not None:
    max_steps = start + steps
  return max_steps, (max_steps is not None and start >= max_steps and
                     not model.model_dir.has_ensembles_behind(checkpoint))


def _train_alone(model, rules, training):
  """Trains in this process, and tells an evaluator if there may be one."""
  config = model.config
  if not config.cluster_spec:
    trainer.train(model, rules, training)
    return
  file = agreement_lib.AgreementFile(model.model_dir.path)
  job = ended.job_id(config, os.environ).text
  file.announce(job, 1, 0, training.max_steps)
  try:
    reason = trainer.train(model, rules, training)
  except (KeyboardInterrupt, SystemExit):
    file.announce(job, 1, 0, None, agreement_lib.State.STOPPED,
                  "the chief was asked to stop")
    raise
  file.announce(job, 1, 0, None, agreement_lib.State.OVER, reason)


def _lead(model, rules, given, steps, max_steps, task):
  """Trains as the chief, or alone.

  Args:
    model: `Model`.
    rules: `Rules`.
    given: `Given`.
    steps: int, or None.
    max_steps: int, or None.
    task: `Task`; None for a task without parameter servers.
  """
  max_steps, done = _limit(model, steps, max_steps)
  if done:
    reason = f"step {max_steps} is reached already"
    logging.info("Skipped training: %s.", reason)
    if model.config.cluster_spec:  # Others wait for the end.
      with lock.owned(model.model_dir.path):
        if task is not None:
          task.end(agreement_lib.State.OVER, reason)
        else:
          agreement_lib.AgreementFile(model.model_dir.path).announce(
              ended.job_id(model.config, os.environ).text, 1, 0, max_steps,
              agreement_lib.State.OVER, reason)
    return
  with _opened(model, given, max_steps, leads=True) as training:
    if task is None:
      _train_alone(model, rules, training)
    else:
      cluster_training.Chief(model, rules, training, task).train()


def _follow(model, given, task):
  """Trains, or serves, as the chief says."""
  with _opened(model, given, None, leads=False) as training:
    try:
      if model.config.task_type == tf_compat.TaskType.PS:
        task.serve(lambda: training.report(events.Working(task.name)),
                   training.stops)
      else:
        cluster_training.Worker(model, training, task).train()
    except ended.StoppedError as stopped:
      logging.warning("%s ends: %s.", task.name, stopped)
      raise SystemExit(128 + (
          training.stops.asked or signal.SIGTERM)) from None


def train(model: model_lib.Model, rules: choosing.Rules,
          steps: typing.Optional[int], max_steps: typing.Optional[int],
          given: Given) -> None:
  """Trains as this task of the cluster, or alone.

  Args:
    model: `Model`.
    rules: `Rules`, how a winner is found.
    steps: int, how many global steps to train now, or None.
    max_steps: int, the global step up to which to train, or None.
    given: `Given`.

  Raises:
    selection.AllNaNError: no ensemble can win. It is a
      `tf.train.NanLossDuringTrainingError`, too.
    KeyboardInterrupt, SystemExit: a signal stopped the job, which goes on when
      it is started again.
  """
  with nan_loss.raised_in_training():
    _train(model, rules, steps, max_steps, given)


def _train(model, rules, steps, max_steps, given):
  config = model.config
  reporter.tell(events.Joined(files.real_path(model.model_dir.path)))
  if config.task_type == tf_compat.TaskType.EVALUATOR:
    logging.info("An evaluator does not train: see adanet.train_and_evaluate.")
  elif not config.num_ps_replicas:
    _lead(model, rules, given, steps, max_steps, None)
  else:
    task = task_lib.Task(config, given.wait_timeout_secs)
    if config.is_chief:
      _lead(model, rules, given, steps, max_steps, task)
    else:
      _follow(model, given, task)

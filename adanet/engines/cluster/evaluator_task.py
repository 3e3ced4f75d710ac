# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The evaluator of a cluster: evaluates checkpoints until training is over.

The evaluator task is not an `adanet.Evaluator`: the task does not choose
winners and is not in the training cluster. Once a second, the task reads the
latest checkpoint and the chief's job state from `model_dir`. The task asks a
parameter server only to check that the chief writes to the same `model_dir`.
`<model_dir>/eval/evaluated.json` names the last evaluated checkpoint, so a
restarted evaluator does not evaluate a checkpoint twice.

The chief evaluates and exports the last checkpoint, and names it in the same
file before, for the evaluator of the next job.
"""

import os
import time
from typing import Any, NamedTuple, Optional, Tuple

from adanet import log as logging
from adanet import tf_compat
from adanet import waiting
from adanet.core import checkpoints
from adanet.core import events
from adanet.core import model_dir as model_dir_lib
from adanet.engines.cluster import addresses
from adanet.engines.cluster import announcements
from adanet.engines.cluster import jobs
from adanet.progress import reporter
from adanet.tf_compat import checkpoint_file
from adanet.tf_compat import files

_POLL_SECS = 1.
# How long files that do not fit together may be a delay of a shared disk.
_DISK_DELAY_SECS = 60.
# After how long without a new checkpoint a user hears of it.
_NO_NEWS_SECS = 1800.
_FULL_DISK_SECS = 10.
_STOPPED_STATUS = 143  # As of a task that was stopped by SIGTERM.


def evaluate(config: Any, evaluation: Any,
             name: Optional[str],
             start_delay_secs: float) -> None:
  """Evaluates the checkpoints of a cluster's chief, until training is over.

  Args:
    config: RunConfig of the evaluator, with a model_dir.
    evaluation: see `EvaluatorTask`.
    name: see `EvaluatorTask`.
    start_delay_secs: see `EvaluatorTask`.

  Raises:
    ValueError: this is a second evaluator.
  """
  if config.task_id:
    raise ValueError(
        "TF_CONFIG['task'] must have index 0 for an evaluator, got "
        f"{config.task_id}: there is one evaluator")
  job = jobs.job_id(config)
  reporter.tell(events.Joined(files.real_path(config.model_dir), job.number))
  with reporter.reporter() as report:
    EvaluatorTask(
        config, evaluation, name=name, start_delay_secs=start_delay_secs,
        job_watch=jobs.watch(config, chief_answers=_chief_answers(config)),
        report=report, observer=_observer(config, job)).run()


def _observer(config, job):
  """Returns the `ReadOnlyObserver`; None without a parameter server."""
  ps = (jobs.cluster(config) or {}).get(tf_compat.TaskType.PS)
  if not ps:
    return None
  address = ps[min(ps, key=int)] if isinstance(ps, dict) else ps[0]
  return announcements.ReadOnlyObserver(config.model_dir, job, address)


def _chief_answers(config):
  """Returns a function that says whether the chief listens."""
  cluster = jobs.cluster(config) or {}
  tasks = cluster.get("chief") or cluster.get("master") or ()
  chiefs = {"chief": address for address in (
      tasks.values() if isinstance(tasks, dict) else tasks)}
  return lambda: bool(chiefs) and not addresses.unreachable(chiefs)


class _NotTraining(Exception):
  """Training is over, or the job was stopped."""


class _PatientReader:
  """Reads files again and again while a shared disk is late.

  `read` returns the value, or the last value while a read fails.
  """

  def __init__(self, function, error):
    self._function = function
    self._errors = tf_compat.v1.errors.OpError, error
    self._value = None
    self._failing_since = None

  def read(self):
    try:
      self._value = self._function()
      self._failing_since = None
    except self._errors:
      now = time.monotonic()
      if self._failing_since is None:
        self._failing_since = now
      if now - self._failing_since >= _DISK_DELAY_SECS:
        raise
    return self._value


def _stop_hook(raise_if_over):
  """Returns a hook that ends an evaluation when training has ended.

  The hook looks once a second.
  """
  next_time = time.monotonic() + _POLL_SECS

  class StopEvaluation(tf_compat.v1.train.SessionRunHook):

    def before_run(self, run_context):
      nonlocal next_time
      if time.monotonic() >= next_time:
        raise_if_over()
        next_time = time.monotonic() + _POLL_SECS

  return StopEvaluation()


class _Evaluated(NamedTuple):
  """The last evaluated checkpoint.

  Attributes:
    global_step: int, the global step; None if not known.
    checkpoint: str, the name without a folder; None if not known.
  """
  global_step: Optional[int] = None
  checkpoint: Optional[str] = None

  def covers(self, checkpoint: str, global_step: int) -> bool:
    """Returns whether evaluating a checkpoint would show nothing new.

    A global step may have several checkpoints: ensembles train on where
    subnetworks are done. An iteration begins with a checkpoint that has the
    last step and the ensemble of the iteration before.

    Args:
      checkpoint: str, the prefix.
      global_step: int, the global step of the checkpoint.
    """
    if global_step != self.global_step:
      return False
    name = os.path.basename(checkpoint)
    return self.checkpoint in (None, name) or name.startswith("increment.ckpt")


class _EvaluatedFile:
  """The file that names the last evaluated checkpoint."""

  def __init__(self, model_dir, name):
    self._path = os.path.join(
        model_dir, "eval_" + name if name else "eval", "evaluated.json")

  def read(self) -> _Evaluated:
    """Returns the content; an empty `_Evaluated` for an unreadable file."""
    try:
      return files.read_json(
          self._path, _Evaluated, skips_unknown=True) or _Evaluated()
    except tf_compat.v1.errors.OpError:
      return _Evaluated()

  def write(self, evaluated: _Evaluated) -> None:
    """Writes the file."""
    files.write_json(self._path, _Evaluated, evaluated)


def mark_evaluated(model_dir: str, name: Optional[str],
                   checkpoint: Optional[str]) -> None:
  """Lets no evaluator evaluate a checkpoint again; for the chief.

  Args:
    model_dir: str.
    name: see `EvaluatorTask`.
    checkpoint: str, the prefix; None if there is no checkpoint.
  """
  if checkpoint is not None:
    _EvaluatedFile(model_dir, name).write(_Evaluated(
        model_dir_lib.ModelDir(model_dir).global_step(checkpoint),
        os.path.basename(checkpoint)))


class EvaluatorTask:
  """Evaluates the checkpoints of a job in training."""

  def __init__(self, config: Any, evaluation: Any,
               name: Optional[str], start_delay_secs: float,
               job_watch: jobs.JobWatch, report: events.Report,
               observer: Optional[announcements.ReadOnlyObserver] = None
              ) -> None:
    """Reads nothing yet. The task starts now.

    Args:
      config: RunConfig with a model_dir.
      evaluation: the `CheckpointEvaluator` of `adanet.estimator`, which
        evaluates and exports a checkpoint.
      name: str, distinguishes evaluations in TensorBoard, or None.
      start_delay_secs: float, how long to wait at the start.
      job_watch: `JobWatch`.
      report: called with a `Working` at the start of the wait for checkpoints.
      observer: `ReadOnlyObserver`; None if there is no parameter server.
    """
    self._start_delay_secs = start_delay_secs
    self._report = report
    self._observer = observer
    self._model_dir = model_dir_lib.ModelDir(config.model_dir)
    self._timeout_secs = getattr(
        config, "session_creation_timeout_secs", None)
    self._evaluation = evaluation
    self._evaluated_file = _EvaluatedFile(config.model_dir, name)
    self._job_watch = job_watch
    self._job_state = _PatientReader(
        jobs.JobStateFile(config.model_dir).read,
        jobs.JobStateError)
    self._latest = _PatientReader(
        self._model_dir.latest_checkpoint, checkpoints.CheckpointError)
    # The last checkpoint that was looked at, and its step.
    self._seen: Tuple[Optional[str], Optional[int]] = (None, None)
    self._evaluated = _Evaluated()
    self._no_news_secs = max(
        _NO_NEWS_SECS, 2. * (config.save_checkpoints_secs or 0))
    self._news_time = time.monotonic()

  def _state(self):
    job_state = self._job_state.read()
    if self._observer is not None and self._observer.check_seen(job_state):
      self._job_watch.end()
    return self._job_watch.after(job_state)

  def _raise_if_over(self):
    """Raises `_NotTraining` if training is over or stopped.

    The chief exports the last checkpoint, and no older checkpoint may be
    exported later.
    """
    if self._state() != jobs.State.TRAINING:
      raise _NotTraining()

  def _wait_until_start(self):
    """Waits for `start_delay_secs`, at most until the end of training."""
    end = time.monotonic() + self._start_delay_secs
    if self._start_delay_secs:
      logging.info("Evaluation begins after start_delay_secs=%g.",
                   self._start_delay_secs)
    while (time.monotonic() < end and
           self._state() == jobs.State.TRAINING):
      time.sleep(_POLL_SECS)

  def _is_gone(self, checkpoint):
    """Returns whether a checkpoint is deleted, or is about to be."""
    for _ in range(2):
      # A shared disk may show the file "checkpoint", or the index, of before.
      if not checkpoint_file.is_there(checkpoint) or (
          checkpoints.successor(checkpoint) is not None):
        return True
      time.sleep(_POLL_SECS)
    return False

  def _evaluate(self, checkpoint):
    """Evaluates a checkpoint, unless training ends or the chief deletes it."""
    try:
      self._evaluation.evaluate(
          checkpoint, hooks=[_stop_hook(self._raise_if_over)],
          before_export=self._raise_if_over)
      self._evaluated = _Evaluated(
          int(self._evaluation.metrics["global_step"]),
          os.path.basename(checkpoint))
      self._evaluated_file.write(self._evaluated)
    except _NotTraining:
      pass
    # TensorFlow 2's Saver raises ValueError for a checkpoint that is gone.
    except (tf_compat.v1.errors.OpError, ValueError, OSError) as error:
      if files.is_disk_full(error):
        logging.warning("The disk of %s is full: the evaluation is tried again "
                        "in %g s.", self._model_dir.path, _FULL_DISK_SECS)
        time.sleep(_FULL_DISK_SECS)
      elif self._is_gone(checkpoint):
        logging.warning("%s was deleted while it was evaluated: the latest one "
                        "is next.", checkpoint)
      else:
        raise

  def _step(self, checkpoint):
    """Returns the global step of a checkpoint; None for a deleted one."""
    if self._seen[0] != checkpoint:
      try:
        self._seen = checkpoint, self._model_dir.global_step(checkpoint)
      except checkpoints.CheckpointError:
        if not self._is_gone(checkpoint):
          raise
        return None
      self._news_time = time.monotonic()
    return self._seen[1]

  def _warn_without_news(self):
    """Warns, now and then, if the chief no longer saves checkpoints."""
    now = time.monotonic()
    if now - self._news_time >= self._no_news_secs:
      logging.warning(
          "No new checkpoint in %s for %.0f minutes: see what the chief prints."
          " The evaluator waits until training is over.",
          self._model_dir.path, self._no_news_secs / 60)
      self._news_time = now

  def _evaluate_new(self, checkpoint):
    """Evaluates a new checkpoint if an evaluation is due."""
    self._warn_without_news()
    if not self._evaluation.is_due:
      return
    step = self._step(checkpoint)
    if step is None or self._evaluated.covers(checkpoint, step):
      return
    self._evaluated = self._evaluated_file.read()
    if not self._evaluated.covers(checkpoint, step):
      self._evaluate(checkpoint)

  def run(self) -> None:
    """Evaluates until training is over.

    Raises:
      SystemExit: the job was stopped, to be resumed later.
      announcements.SharedFilesError: the chief writes to another folder.
      waiting.WaitTimeoutError: there was no checkpoint for too long.
    """
    self._report(events.Working("evaluator:0"))
    self._wait_until_start()
    wait = waiting.Wait(
        self._timeout_secs, "start the chief, with the same model_dir")
    state = self._state()
    while state == jobs.State.TRAINING:
      checkpoint = self._latest.read()
      if checkpoint is None:
        wait.pause(_POLL_SECS, lambda: (
            f"the first checkpoint in {self._model_dir.path}, which must be "
            "the chief's model_dir too"))
      else:
        wait.done()
        self._evaluate_new(checkpoint)
        time.sleep(_POLL_SECS)
      state = self._state()
    if state == jobs.State.STOPPED:
      logging.info("Evaluation ends: the job was stopped.")
      raise SystemExit(_STOPPED_STATUS)
    logging.info("Evaluation ends: training is over. The chief evaluates the "
                 "last checkpoint.")

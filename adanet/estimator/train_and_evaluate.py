# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""`adanet.train_and_evaluate`: the main program of every task of a cluster."""

import os
import time
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from adanet import log as logging
from adanet import tf_compat
from adanet.core import model_dir as model_dir_lib
from adanet.engines.cluster import evaluator_task
from adanet.engines.cluster import jobs
from adanet.engines.executor import driver
from adanet.estimator import estimator as estimator_lib
from adanet.estimator import specs
from adanet.history import store
from adanet.training import signals

# How long the report waits for records of other tasks after their last step.
_LAST_STEP_SECS = 3.


def _print_report(model_dir):
  """Prints the result of a search that has ended on a cluster.

  Other tasks may still run their last step and write their records afterward.
  """
  end = time.monotonic() + _LAST_STEP_SECS
  while True:
    report = store.report(model_dir)
    last = max((task.iteration for task in report.tasks), default=0)
    if time.monotonic() > end or all(
        task.has_ended for task in report.tasks if task.iteration == last):
      break
    time.sleep(.1)
  try:
    print(report)
  except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "rich":
      raise
    logging.info("The report needs the package rich: see adanet.report.")


def _train(estimator, train_spec, saving_listeners=(), **kwargs):
  """Trains or serves variables, depending on the type of this task."""
  estimator.train(
      train_spec.input_fn, hooks=train_spec.hooks,
      max_steps=train_spec.max_steps,
      saving_listeners=train_spec.saving_listeners + tuple(saving_listeners),
      **kwargs)


def _train_and_evaluate_during(evaluator, estimator, train_spec, **kwargs):
  """Trains, and evaluates checkpoints in between."""
  first_step = model_dir_lib.ModelDir(estimator.model_dir).global_step(
      estimator.latest_checkpoint())
  _train(estimator, train_spec, [EvaluatingListener(
      evaluator, estimator.latest_checkpoint, first_step)], **kwargs)


def _train_and_evaluate_here(estimator, train_spec, eval_spec, **kwargs):
  """Trains and evaluates in this process; returns the results."""
  evaluator = CheckpointEvaluator(estimator, eval_spec, train_spec.max_steps)
  _train_and_evaluate_during(evaluator, estimator, train_spec, **kwargs)
  evaluator.finish_latest()
  return evaluator.results


def _lead(estimator, train_spec, eval_spec, **kwargs):
  """Trains as the chief, and then evaluates and exports the last checkpoint.

  Returns the results; None if this restarted chief has skipped training because
  a later job trains in the model_dir. The latest checkpoint is then of that
  job.
  """
  is_master = estimator.config.task_type == tf_compat.TaskType.MASTER
  evaluator = CheckpointEvaluator(estimator, eval_spec, train_spec.max_steps)
  if is_master:
    _train_and_evaluate_during(evaluator, estimator, train_spec, **kwargs)
  else:
    _train(estimator, train_spec, **kwargs)
  if jobs.job_id(estimator.config).is_followed_by(
      jobs.JobStateFile(estimator.model_dir).read()):
    logging.warning(
        "A later call trains in %s: this call evaluates and exports nothing, "
        "and returns None.", estimator.model_dir)
    return None
  # First, so that no evaluator evaluates the last checkpoint meanwhile.
  evaluator_task.mark_evaluated(
      estimator.model_dir, eval_spec.name, estimator.latest_checkpoint())
  evaluator.finish_latest()
  if not is_master:
    _print_report(estimator.model_dir)
  return evaluator.results


def _as_this_task(estimator, train_spec, eval_spec, **kwargs):
  """Runs the part of this task; returns results in the chief only."""
  role = estimator_lib.role_of(estimator.config)
  if role == estimator_lib.Role.EVALUATOR:
    # Without max_steps, because the chief makes the final export.
    evaluator_task.evaluate(
        estimator.config, CheckpointEvaluator(estimator, eval_spec, None),
        name=eval_spec.name, start_delay_secs=eval_spec.start_delay_secs)
    return None
  if role in (estimator_lib.Role.WORKER, estimator_lib.Role.PARAMETER_SERVER):
    _train(estimator, train_spec)
    return None
  if estimator.config.cluster_spec:
    return _lead(estimator, train_spec, eval_spec, **kwargs)
  return _train_and_evaluate_here(estimator, train_spec, eval_spec, **kwargs)


def train_and_evaluate(
    estimator: Any, train_spec: Any, eval_spec: Any,
    executor: Any = None,
    max_seconds: Optional[float] = None) -> Any:
  """Trains, evaluates and exports; in a cluster, runs the part of this task.

  For example::

      results = adanet.train_and_evaluate(
          estimator,
          adanet.TrainSpec(train_input_fn, max_steps=3000),
          adanet.EvalSpec(test_input_fn, steps=None))
      if results:  # None in all tasks of a cluster but the chief.
        metrics, exports = results

  Without a cluster, each saved checkpoint is evaluated, at most once per
  `throttle_secs`. The last checkpoint is always evaluated.

  In a cluster (`TF_CONFIG` or `RunConfig.from_cluster_resolver`), call this
  function in each task with the same arguments. The chief and the workers
  train, parameter servers hold the variables, and a task of type "evaluator"
  evaluates checkpoints during training. When training ends, all tasks return,
  the chief after the evaluation and the export of the last checkpoint.

  Training ends after `max_steps`, after the Estimator's `max_iterations`, with
  the input, after `max_seconds`, or when a hook requests the end.

  Args:
    estimator: `adanet.Estimator`.
    train_spec: `adanet.TrainSpec` or `tf.estimator.TrainSpec`.
    eval_spec: `adanet.EvalSpec` or `tf.estimator.EvalSpec`.
    executor: see `adanet.Estimator.train`. Evaluations between iterations run
      in this process.
    max_seconds: see `adanet.Estimator.train`. The time includes all evaluations
      except the evaluation of the last checkpoint.

  Returns:
    In a single process and in the chief of a cluster, a pair: the metrics of
    the last checkpoint as from `Estimator.evaluate`, and a list of the results
    of all exporters. In all other tasks of a cluster, None, and also in a
    restarted chief whose program has begun a later call in the same model_dir:
    the latest checkpoint is then of the later call.

  Raises:
    TypeError: `estimator`, `train_spec` or `eval_spec` has another type, or
      `executor` is no executor.
    ValueError: an argument has a wrong value, or the shapes or heads of the
      subnetworks do not fit together.
    KeyboardInterrupt: the user pressed Ctrl-C; the last checkpoint is saved. A
      program that does not catch KeyboardInterrupt ends without a traceback and
      with exit status 130.
    SystemExit: SIGTERM stopped the job, which resumes when started again.
  """
  for method in ("train", "evaluate", "latest_checkpoint"):
    if isinstance(estimator, type) or not callable(
        getattr(estimator, method, None)):
      raise TypeError(
          f"estimator must be an adanet.Estimator, got {estimator!r}")
  train_spec = specs.train_spec(train_spec)
  eval_spec = specs.eval_spec(eval_spec)
  # A `train` of a user, as for AdaNet 0.8, has no such argument.
  limit = {} if max_seconds is None else {"max_seconds": max_seconds}
  with signals.StopRequests():
    if executor is not None:
      driver.check_executor(executor, estimator.config)
      return _train_and_evaluate_here(
          estimator, train_spec, eval_spec, executor=executor, **limit)
    with jobs.as_job(estimator.config):
      return _as_this_task(estimator, train_spec, eval_spec, **limit)


_Metrics = Dict[str, Any]
_Results = Tuple[Optional[_Metrics], Optional[List[Any]]]


class CheckpointEvaluator:
  """Evaluates and exports checkpoints for an `EvalSpec`.

  Attributes:
    checkpoint: str, the prefix of the last checkpoint that it evaluated, or
      None.
    metrics: dict, its metrics, or None.
    exports: list of the results of all exporters for it, or None.
  """

  def __init__(self, estimator: Any, eval_spec: specs.EvalSpec,
               max_steps: Optional[int],
               clock: Callable[[], float] = time.monotonic) -> None:
    """Evaluates nothing yet."""
    self._estimator = estimator
    self._model_dir = model_dir_lib.ModelDir(estimator.model_dir)
    self._spec = eval_spec
    self._max_steps = max_steps
    self._clock = clock
    self._next_time: Optional[float] = None
    self._is_final = False
    self.checkpoint: Optional[str] = None
    self.metrics: Optional[_Metrics] = None
    self.exports: Optional[List[Any]] = None

  @property
  def results(self) -> _Results:
    """The metrics of the last checkpoint, and the exporters' results."""
    return self.metrics, self.exports

  @property
  def is_due(self) -> bool:
    """Whether the last evaluation began long enough ago."""
    return self._next_time is None or self._clock() >= self._next_time

  def evaluate(self, checkpoint: str, is_final: bool = False,
               hooks: Sequence[Any] = (),
               before_export: Callable[[], None] = lambda: None) -> None:
    """Evaluates and exports a checkpoint.

    Args:
      is_final: whether training is over. It is, too, where `max_steps` is
        reached and no ensemble has to train on.
      hooks: more `SessionRunHook`s than the spec has.
      before_export: called before each exporter; an error ends the evaluation.
    """
    self._next_time = self._clock() + self._spec.throttle_secs
    metrics = self._estimator.evaluate(
        self._spec.input_fn, steps=self._spec.steps, name=self._spec.name,
        checkpoint_path=checkpoint,
        hooks=self._spec.hooks + tuple(hooks))
    self._is_final = is_final or self._is_last(
        checkpoint, metrics["global_step"])
    exports = []
    for exporter in self._spec.exporters:
      before_export()
      exports.append(self._export(exporter, checkpoint, metrics))
    self.checkpoint, self.metrics, self.exports = checkpoint, metrics, exports

  def _is_last(self, checkpoint, global_step):
    """Returns whether a checkpoint is known to be the last one of training."""
    return (self._max_steps is not None and global_step >= self._max_steps and
            not self._model_dir.has_ensembles_behind(checkpoint))

  def _export(self, exporter, checkpoint, metrics):
    return exporter.export(
        estimator=self._estimator,
        export_path=os.path.join(
            self._estimator.model_dir, "export", exporter.name),
        checkpoint_path=checkpoint, eval_result=metrics,
        is_the_final_export=self._is_final)

  def finish(self, checkpoint: str) -> None:
    """Evaluates and exports the last checkpoint of training.

    If that is done already, exporters that did not export it are asked again,
    because only now it is known to be the last one. If its iteration was not
    decided then, and another ensemble has won, all is done again.
    """
    if checkpoint != self.checkpoint or self._has_another_winner(checkpoint):
      self.evaluate(checkpoint, is_final=True)
      return
    if self._is_final:
      return
    self._is_final = True
    self.exports = [
        self._export(exporter, checkpoint, self.metrics)
        if exported is None else exported
        for exporter, exported in zip(
            self._spec.exporters, self.exports or ())]

  def _has_another_winner(self, checkpoint):
    """Returns whether another ensemble than the evaluated one has won since."""
    number = (self.metrics or {}).get("iteration")
    if number is None:
      return False
    history = store.Store(self._estimator.model_dir)
    decided = history.iteration(number)
    evaluated = history.evaluation(number, self._spec.name or "")
    return (decided is not None and decided.is_of(checkpoint) and
            evaluated is not None and evaluated.ensemble != decided.winner)

  def finish_latest(self) -> None:
    """Does `finish` for the latest checkpoint, if there is one."""
    latest = self._estimator.latest_checkpoint()
    if latest is not None:
      self.finish(latest)


class EvaluatingListener:
  """A `CheckpointSaverListener` that evaluates checkpoints during training."""

  def __init__(self, evaluator: CheckpointEvaluator,
               latest_checkpoint: Callable[[], Optional[str]],
               first_step: int) -> None:
    """Evaluates nothing yet.

    Args:
      evaluator: `CheckpointEvaluator`.
      latest_checkpoint: returns the prefix of the latest checkpoint, or None.
      first_step: int, the global step at which training begins. A checkpoint
        of it has learned nothing new.
    """
    self._evaluator = evaluator
    self._latest_checkpoint = latest_checkpoint
    self._first_step = first_step

  def begin(self) -> None:
    """Does nothing."""

  def before_save(self, session: Any, global_step: int) -> None:
    """Does nothing."""

  def after_save(self, session: Any, global_step: int) -> None:
    """Evaluates the checkpoint, unless the last evaluation was just now."""
    if global_step == self._first_step:
      return
    if not self._evaluator.is_due:
      logging.info("Step %d is not evaluated: the last evaluation was less "
                   "than throttle_secs ago.", global_step)
      return
    checkpoint = self._latest_checkpoint()
    if checkpoint is not None:
      self._evaluator.evaluate(checkpoint)

  def end(self, session: Any, global_step: int) -> None:
    """Does nothing: an iteration's end need not be that of training."""

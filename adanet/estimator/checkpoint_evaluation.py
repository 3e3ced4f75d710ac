# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Evaluates checkpoints one after the other, and calls the exporters."""

import os
import time
from typing import Any, Callable, Dict, List, Optional, Sequence

from adanet import log as logging
from adanet.core import model_dir as model_dir_lib
from adanet.engines.cluster import results as results_lib
from adanet.estimator import specs
from adanet.history import store

_Metrics = Dict[str, Any]


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
    """Evaluates nothing yet.

    Args:
      estimator: `adanet.Estimator`.
      eval_spec: `EvalSpec`.
      max_steps: int, the global step at which training ends, or None.
      clock: returns the time, in seconds from any moment.
    """
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
  def results(self) -> results_lib.Results:
    """The metrics of the last checkpoint, and the exporters' results."""
    return self.metrics, self.exports

  @property
  def is_due(self) -> bool:
    """Whether the last evaluation began long enough ago."""
    return self._next_time is None or self._clock() >= self._next_time

  def evaluate(self, checkpoint: str, is_final: bool = False,
               hooks: Sequence[Any] = ()) -> None:
    """Evaluates and exports a checkpoint.

    Args:
      checkpoint: str, its prefix.
      is_final: whether training is over. It is, too, where `max_steps` is
        reached and no ensemble has to train on.
      hooks: more `SessionRunHook`s than the spec has.
    """
    self._next_time = self._clock() + self._spec.throttle_secs
    metrics = self._estimator.evaluate(
        self._spec.input_fn, steps=self._spec.steps, name=self._spec.name,
        checkpoint_path=checkpoint,
        hooks=self._spec.hooks + tuple(hooks))
    self._is_final = is_final or self._is_last(
        checkpoint, metrics["global_step"])
    exports = [self._export(exporter, checkpoint, metrics)
               for exporter in self._spec.exporters]
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

  def finish(self, checkpoint: str, hooks: Sequence[Any] = ()) -> None:
    """Evaluates and exports the last checkpoint of training.

    If that is done already, exporters that did not export it are asked again,
    because only now it is known to be the last one. If its iteration was not
    decided then, and another ensemble has won, all is done again.

    Args:
      checkpoint: str, its prefix.
      hooks: see `evaluate`.
    """
    if checkpoint != self.checkpoint or self._has_another_winner(checkpoint):
      self.evaluate(checkpoint, is_final=True, hooks=hooks)
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

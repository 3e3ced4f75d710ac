# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The engine that trains an iteration in this process.

In a cluster without parameter servers, the engine announces the job state to
the evaluator.
"""

import contextlib
import os
import time
from typing import Any, Callable, Dict, Iterator, List, Optional
from typing import Sequence

from adanet.core import model_dir as model_dir_lib
from adanet.core import selection
from adanet.engines import engine
from adanet.engines import lock
from adanet.engines.cluster import jobs
from adanet.training import candidates as candidates_lib
from adanet.training import ending as ending_lib
from adanet.training import held_out_pass
from adanet.training import input_position
from adanet.training import loop as loop_lib
from adanet.training import recorded_logits
from adanet.training import sessions
from adanet.training import setup as setup_lib
from adanet.training import trained as trained_lib
from adanet.training import trainer


class LocalEngine(engine.Engine):
  """Trains and evaluates in this process."""

  _training: trainer.Training

  @contextlib.contextmanager
  def opened(self, request: trainer.Request) -> Iterator[trainer.Training]:
    with self.opened_here(request) as self._training:
      self._announce(jobs.State.TRAINING, "", request)
      yield self._training

  def train(self, start: trained_lib.Start) -> trained_lib.TrainedIteration:
    setup, training = self.setup, self._training
    trained = train_here(
        setup, training, start, loop_lib.LoopContext(
            report=training.report,
            mark_stopped=lambda *stop: training.request.retry_until_space(
                lambda: setup.model_dir.mark_stopped(start.number, *stop),
                setup.model_dir.path),
            asked_to_stop=training.asked_to_stop))
    if trained is None:
      training.stops.raise_asked()
    assert trained is not None
    return trained

  def values(self, candidates: trained_lib.Candidates) -> Dict[str, float]:
    return candidates_lib.values(
        self.setup, candidates.number, candidates.checkpoint)

  @contextlib.contextmanager
  def logits(self, candidates: trained_lib.Candidates
            ) -> Iterator[recorded_logits.RecordedLogits]:
    yield held_out_pass.record(
        self.setup, candidates.number, candidates.checkpoint)[1]

  def reports(self, candidates: trained_lib.Candidates,
              included: Sequence[str]) -> List[Any]:
    return candidates_lib.reports(
        self.setup, candidates.number, candidates.checkpoint, included)

  def skipped(self, request: trainer.Request, reason: str) -> None:
    if self.setup.config.cluster_spec:  # The evaluator waits for the end.
      with lock.owned(self.setup.model_dir.path):
        self._announce(jobs.State.OVER, reason, request)

  def finished(self, outcome: engine.SearchOutcome, reason: str) -> None:
    self._announce(jobs.State(outcome.value), reason)

  def _announce(self, state, reason, request=None):
    """Tells the evaluator of a cluster how far the job is."""
    if self.setup.config.cluster_spec:
      jobs.JobStateFile(self.setup.model_dir.path).announce(
          jobs.job_id(self.setup.config).text, num_workers=1, num_ps=0,
          max_steps=request and request.max_steps, state=state, reason=reason)


def _saved_position(setup, start):
  """Returns the input position at the checkpoint of a `Start`."""
  if start.checkpoint is None or start.starts_iteration or not getattr(
      setup.config, "rereads_input", True):
    return {}
  return model_dir_lib.ModelDir(
      os.path.dirname(start.checkpoint)).input_position(start.checkpoint)


def _with_saved_nan(error, model_dir, iteration):
  """Adds to an error whether the last checkpoint has NaN."""
  checkpoint = model_dir.latest_checkpoint()
  if checkpoint is None or (
      model_dir.current_iteration(checkpoint) != iteration.number) or (
          not candidates_lib.of_iteration(iteration, checkpoint).not_finite):
    return error
  return selection.AllNaNError(
      f"{error} The last checkpoint has NaN already ({checkpoint}), so train "
      "anew in another model_dir.")


def train_here(
    setup: setup_lib.SearchSetup, training: trainer.Training,
    start: trained_lib.Start, context: loop_lib.LoopContext,
    folder: Optional[model_dir_lib.ModelDir] = None,
    adapt: Callable[[setup_lib.BuiltGraph], setup_lib.BuiltGraph] =
    lambda built: built) -> Optional[trained_lib.TrainedIteration]:
  """Trains an iteration, or a part of one, in this process.

  Args:
    setup: `SearchSetup`.
    training: `Training`.
    start: `Start`.
    context: `LoopContext`.
    folder: `ModelDir` for checkpoints; None for the setup's.
    adapt: function from the `BuiltGraph` to the `BuiltGraph` to train.

  Returns:
    `TrainedIteration`; None if a signal asked for a stop. The last step is then
    saved if the disk had space.
  """
  began = time.time()
  with setup.graph(
      training.request.input_fn, "train", start.number) as built:
    it = trainer.IterationTraining(
        setup, training, adapt(built), start, trainer.TrainingTask(
            "chief:0", True, context, began, folder,
            input_position.InputPosition(_saved_position(setup, start))))
    with sessions.local_session(setup.config.session_config) as session:
      it.initializers.set_variables(session)
      with it.initializers.started(session) as coordinator:
        it.begin(session)
        try:
          ending = it.train(session, coordinator)
        except selection.AllNaNError as error:
          if folder is not None:  # Its checkpoints go.
            raise
          raise _with_saved_nan(
              error, setup.model_dir, it.iteration) from error
        if ending == ending_lib.Ending.SIGNAL:
          return None
        it.end(session)
        return it.trained(session, ending)

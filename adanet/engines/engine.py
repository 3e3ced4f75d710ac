# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The interface between a search and the engine that runs its iterations.

The search asks, and gets values. An engine knows how to train and to evaluate
an iteration: in this process (`local`), with the workers of an executor, or
with the tasks of a cluster. An engine chooses no winner.
"""

import abc
import contextlib
import enum
from typing import Any, ContextManager, Dict, Iterator, List, Mapping, Optional
from typing import Sequence, Tuple

from adanet import log as logging
from adanet.core import event_files
from adanet.core import fingerprint
from adanet.engines import lock
from adanet.progress import reporter
from adanet.training import candidates as candidates_lib
from adanet.training import fitting
from adanet.training import held_out_pass
from adanet.training import merge_checkpoints
from adanet.training import recorded_logits
from adanet.training import recording
from adanet.training import setup as setup_lib
from adanet.training import signals
from adanet.training import trained as trained_lib
from adanet.training import trainer


class SearchOutcome(enum.Enum):
  """How the training of a search ended, for all tasks of the job."""
  OVER = "over"  # Also after the last step, or at the end of the time.
  STOPPED = "stopped"  # A new start resumes the search.


class AlreadyOverError(Exception):
  """The job of this task is over: there is nothing to train."""


class Engine(abc.ABC):
  """Trains and evaluates the iterations of one search.

  Attributes:
    setup: `SearchSetup`.
  """

  def __init__(self, setup: setup_lib.SearchSetup):
    """Opens nothing yet."""
    self.setup = setup

  @abc.abstractmethod
  def opened(self, request: trainer.Request
            ) -> ContextManager[trainer.Training]:
    """Opens the lock of the model_dir, signals, servers: all for training.

    Args:
      request: `Request`.

    Returns:
      A context manager of the `Training`. The end of the block closes all.

    Raises:
      AlreadyOverError: the job is over.
    """

  @abc.abstractmethod
  def train(self, start: trained_lib.Start) -> trained_lib.TrainedIteration:
    """Trains an iteration until the iteration, or training, is over.

    The engine handles lost workers and servers.

    Args:
      start: `Start`.

    Returns:
      `TrainedIteration`, whose `ending` says why training has ended.

    Raises:
      selection.AllNaNError: the loss of every ensemble is NaN.
      KeyboardInterrupt, SystemExit: a signal asked for a stop. The trained
        steps are saved.
    """

  @abc.abstractmethod
  def values(self, candidates: trained_lib.Candidates) -> Dict[str, float]:
    """Evaluates the candidates that are not fitted, by the evaluator's metric.

    Args:
      candidates: `Candidates`. An executor and a cluster know only the
        candidates of the last `train`.

    Returns:
      dict from the name of each candidate to a value.
    """

  @abc.abstractmethod
  def logits(self, candidates: trained_lib.Candidates
            ) -> ContextManager[recorded_logits.RecordedLogits]:
    """Records the logits of networks on the evaluator's data.

    The members of the previous ensemble may be left out.

    Args:
      candidates: see `values`.

    Returns:
      A context manager of the `RecordedLogits`, which may remove files at the
      end.
    """

  @abc.abstractmethod
  def reports(self, candidates: trained_lib.Candidates,
              included: Sequence[str]) -> List[Any]:
    """Returns the `MaterializedReport`s of all builders.

    Args:
      candidates: see `values`.
      included: the names of the builders that are in the winner.
    """

  def fits(self, candidates: trained_lib.Candidates) -> fitting.Fits:
    """Fits the candidates that are fitted, and evaluates them.

    Args:
      candidates: see `values`.
    """
    number, checkpoint = candidates.number, candidates.checkpoint
    with self.logits(candidates) as recorded:
      logits = held_out_pass.completed(
          self.setup, number, checkpoint, recorded)
      fits = fitting.fits(self.setup, candidates, logits)
      model_dir = self.setup.model_dir.path
      recorded_logits.keep(model_dir, logits)
      recording.write_or_warn(
          lambda graphs: fingerprint.write_answers(
              model_dir, self.setup.search, number, graphs), logits.graphs)
      return fits

  def fits_at(self, number: int, checkpoint: Optional[str]
             ) -> Tuple[trained_lib.Candidates, fitting.Fits]:
    """Fits the candidates of an iteration that this process did not train.

    Args:
      number: int, the iteration's.
      checkpoint: str, the prefix of the checkpoint; None for initial values.
    """
    iteration, logits = held_out_pass.recorded(self.setup, number, checkpoint)
    candidates = candidates_lib.of_iteration(iteration, checkpoint)
    return candidates, fitting.fits(self.setup, candidates, logits)

  def saved_with(self, training: trainer.Training, checkpoint: str,
                 variables: Mapping[str, Any]) -> str:
    """Adds variables to a checkpoint; returns the prefix of the new checkpoint.

    Args:
      training: `Training`.
      checkpoint: str, the prefix of a checkpoint with all remaining variables.
      variables: dict from a name to a value.
    """
    return merge_checkpoints.with_variables(
        self.setup, training, checkpoint, variables)

  def nan_in_evaluator_input(self) -> str:
    """Returns a sentence that names NaN in the evaluator's input, or ""."""
    return self.setup.not_finite_of_evaluator()

  def compare_search(self, request: trainer.Request, number: int,
                     with_builders: bool) -> None:
    """Warns if another search wrote the model_dir, where nothing is trained.

    Args:
      request: `Request`.
      number: int, the iteration.
      with_builders: whether to compare the builders of the iteration, too.
    """
    with (self.setup.graph(request.input_fn, "train", number)
          if with_builders else contextlib.nullcontext()) as built:
      fingerprint.FingerprintCheck(
          self.setup.model_dir.path, fingerprint.of(
              self.setup.search, built and built.iteration),
          number, request.max_iterations)

  def skipped(self, request: trainer.Request, reason: str) -> None:
    """Tells all tasks that there is nothing to train. Nothing is open then.

    Args:
      request: `Request`.
      reason: str, why.
    """

  def finished(self, outcome: SearchOutcome, reason: str) -> None:
    """Tells all tasks that training has ended.

    Args:
      outcome: `SearchOutcome`.
      reason: str, why.
    """

  def what_is_saved(self) -> str:
    """Returns a line that says where stopped training resumes."""
    model_dir = self.setup.model_dir
    latest = model_dir.latest_checkpoint()
    return (
        "Stopped before the first checkpoint: nothing is saved."
        if latest is None else
        f"Stopped: step {model_dir.global_step(latest)} of iteration "
        f"{model_dir.current_iteration(latest)} is saved, and training goes on "
        "from there.")

  @contextlib.contextmanager
  def opened_here(self, request: trainer.Request
                 ) -> Iterator[trainer.Training]:
    """Opens what each leader of a search needs: lock, signals, reporter."""
    setup = self.setup
    with contextlib.ExitStack() as exits:
      exits.enter_context(lock.owned(setup.model_dir.path))
      stops = exits.enter_context(signals.StopRequests())
      report = exits.enter_context(reporter.reporter(
          log_step_count_steps=setup.config.log_step_count_steps))
      writer = event_files.SummaryWriter(setup.model_dir.path)
      exits.callback(writer.close)
      try:
        yield trainer.Training(request, stops, report, writer)
      except (KeyboardInterrupt, SystemExit):
        reporter.log_or_print(logging.INFO, self.what_is_saved())
        raise

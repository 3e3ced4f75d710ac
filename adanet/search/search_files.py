# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The files of a search in the model_dir: the progress and the winners.

A decided iteration is not decided again: the record has the winner and the
checkpoint.
"""

import os
import time
from typing import Any, Callable, Dict, Mapping, Optional, Sequence, Tuple

from adanet.core import architecture as architecture_lib
from adanet.core import checkpoints
from adanet.core import events
from adanet.core import iteration as iteration_lib
from adanet.core import model_dir as model_dir_lib
from adanet.core import selection
from adanet.engines import engine as engine_lib
from adanet.history import records
from adanet.history import store
from adanet.search import winner as winner_lib
from adanet.training import recording
from adanet.training import setup as setup_lib
from adanet.training import trained as trained_lib


class SearchFiles:
  """The model_dir of a search, as used by the loop."""

  def __init__(self, model_dir: model_dir_lib.ModelDir):
    """Reads and writes nothing."""
    self.model_dir = model_dir
    self._store = store.Store(model_dir.path)

  def iteration(self, number: int) -> Optional[records.IterationRecord]:
    """Returns the record of an iteration with a winner, or None."""
    return self._store.iteration(number)

  def end(self) -> Optional[records.EndRecord]:
    """Returns why training ended last, or None."""
    return self._store.end()

  def write_end(self, global_step: int, reason: str) -> None:
    """Writes why training ended, at the last global step."""
    recording.write_or_warn(self._store.write_end, records.EndRecord(
        global_step, reason, time.time()))

  def write_undecided(self, event: events.IterationUndecided) -> None:
    """Writes which ensemble answers while an iteration has no winner."""
    recording.write_or_warn(
        self._store.write_undecided, records.undecided_record(event))

  def write_iteration(
      self, ended: events.IterationEnded, winner: winner_lib.Winner,
      trained: trained_lib.TrainedIteration, checkpoint: str,
      weights: Mapping[str, Sequence[float]]) -> None:
    """Writes the record of an iteration.

    Args:
      ended: the event of the iteration's end.
      winner: `Winner`.
      trained: `TrainedIteration`.
      checkpoint: str, the prefix of the checkpoint with all of the winner.
      weights: dict from the name of an ensemble to the mixture weights.
    """
    members = {
        name: ["t{}_{}".format(*pair) for pair in architecture.subnetworks]
        for name, architecture in winner.architectures.items()}
    progress = trained.progress
    record = records.iteration_record(
        ended, members, winner.values,
        {name: numbers for name, numbers in weights.items()
         if len(numbers) == len(members[name])}, progress, progress.global_step,
        trained.generation, trained.costs, winner.network_losses)
    recording.write_or_warn(self._store.write_iteration, record._replace(
        checkpoint=os.path.basename(checkpoint),
        architecture=winner.architecture._replace(
            global_step=progress.global_step).to_json()))

  def record_of(self, rules: setup_lib.Rules, number: int,
                checkpoint: Optional[str]) -> Optional[records.IterationRecord]:
    """Returns the record of an iteration, if the winner is of a checkpoint.

    Args:
      rules: `Rules`.
      number: int, the number of the iteration.
      checkpoint: str, the prefix of the checkpoint; None for initial values.

    Returns:
      `IterationRecord`; None without a record, or if the record is of another
      checkpoint or of other rules.
    """
    record = self.iteration(number)
    if (record is None or checkpoint is None or record.winning is None or
        not record.is_of(checkpoint)):
      return None
    # Without an evaluator, a user has no rule of his own: the record counts.
    if record.metric_name != rules.metric_name and rules.evaluator:
      return None
    if rules.replay_config:
      index = rules.replay_config.get_best_ensemble_index(number)
      names = [candidate.name for candidate in record.candidates]
      if index is not None and names[index:index + 1] != [record.winner]:
        return None
    return record

  def winner(self, rules: setup_lib.Rules, number: int,
             checkpoint: Optional[str]) -> Optional[winner_lib.Winner]:
    """Returns the recorded `Winner`; None if `record_of` returns none.

    As in AdaNet, all candidates are compared, the previous ensemble too, unless
    an evaluator compares: `force_grow` is a rule of training.
    """
    record = self.record_of(rules, number, checkpoint)
    if record is None or record.winning is None:
      return None
    won = _winner(record.winning, recorded_architecture(record))
    if (not rules.force_grow or rules.evaluator or not number or
        record.metric_name != rules.metric_name):
      return won
    before, value = record.candidates[0], record.winning.value
    previous = self.model_dir.architecture(number - 1)
    if previous is None or before.value is None or value is None:
      return None
    return _winner(before, previous) if before.value <= value else won


def recorded_architecture(
    record: records.IterationRecord) -> architecture_lib.Architecture:
  """Returns the `Architecture` of the winner of an iteration."""
  return architecture_lib.Architecture.from_json(
      record.architecture, f"the record of iteration {record.iteration}")


def _winner(candidate, architecture):
  """Returns the `Winner` of a `CandidateRecord`."""
  return winner_lib.Winner(
      selection.Choice(0, candidate.name, candidate.value),
      {candidate.name: architecture})


class AnsweringWinner:
  """Decides which ensemble of a search answers: the winner, or the best so far.

  In the middle of an iteration, nothing is recorded. Then the decision about
  the last checkpoint is kept until the checkpoint or the rules change.
  """

  def __init__(self) -> None:
    self._kept: Dict[str, Tuple[Any, Any]] = {}

  def _once(self, what, setup, checkpoint, decide):
    """Returns the decision of a function, or the kept decision."""
    if checkpoint is None:  # Values that are initial need not be the same.
      return decide()
    key = checkpoint, checkpoints.digest(checkpoint), setup.rules
    if self._kept.get(what, (None,))[0] != key:
      self._kept[what] = key, decide()
    return self._kept[what][1]

  def decided(self, engine: engine_lib.Engine, number: int,
              checkpoint: Optional[str]) -> Optional[winner_lib.Winner]:
    """Returns the winner, if the winner is known before a graph is built.

    The winner is that of the record, if the checkpoint has a record. Otherwise,
    an iteration with fitted ensembles is decided now.

    Args:
      engine: `Engine` that evaluates if nothing is recorded.
      number: int, the number of the iteration.
      checkpoint: str, the prefix of the checkpoint, or None.
    """
    setup = engine.setup
    winner = SearchFiles(setup.model_dir).winner(
        setup.rules, number, checkpoint)
    if winner is not None or not any(
        map(iteration_lib.is_fitted, setup.search.ensemblers)):
      return winner

    def decide():
      winner_lib.check_fitted(setup.search, setup.rules)
      candidates, fits = engine.fits_at(number, checkpoint)
      return winner_lib.choose(setup.rules, candidates, engine, fits)

    return self._once("winner", setup, checkpoint, decide)

  def best(self, engine: engine_lib.Engine, checkpoint: Optional[str],
           candidates: Callable[[], trained_lib.Candidates]) -> str:
    """Returns the name of the candidate that answers: the best so far.

    As in AdaNet, the previous ensemble is compared too, unless an evaluator
    compares.

    Args:
      engine: `Engine` that evaluates the candidates.
      checkpoint: str, the prefix of the checkpoint, or None.
      candidates: function that returns the `Candidates` at the checkpoint.

    Raises:
      selection.AllNaNError: no candidate has a number as value.
    """
    rules = engine.setup.rules
    if not rules.evaluator:
      rules = rules._replace(force_grow=False)
    return self._once(
        "best", engine.setup, checkpoint,
        lambda: winner_lib.choose(rules, candidates(), engine).name)

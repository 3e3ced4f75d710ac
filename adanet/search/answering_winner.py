# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which ensemble answers: who has won at a checkpoint, or is the best so far.

A decided iteration is not decided again: its record says who won, and at which
checkpoint.
"""

from typing import Any, Callable, Dict, Optional, Tuple

from adanet.core import architecture as architecture_lib
from adanet.core import checkpoints
from adanet.core import iteration as iteration_lib
from adanet.core import selection
from adanet.engines import engine as engine_lib
from adanet.history import records
from adanet.search import search_files
from adanet.search import winner as winner_lib
from adanet.training import setup as setup_lib
from adanet.training import trained as trained_lib


class AnsweringWinner:
  """Decides who answers, for one search.

  In the middle of an iteration nothing is recorded. Then the decision about the
  last checkpoint is kept, until that or the rules change.
  """

  def __init__(self) -> None:
    self._kept: Dict[str, Tuple[Any, Any]] = {}

  def _once(self, what, setup, checkpoint, decide):
    """Returns the decision of a function, or the kept one."""
    if checkpoint is None:  # Values that are initial need not be the same.
      return decide()
    key = checkpoint, checkpoints.digest(checkpoint), setup.rules
    if self._kept.get(what, (None,))[0] != key:
      self._kept[what] = key, decide()
    return self._kept[what][1]

  def decided(self, engine: engine_lib.Engine, number: int,
              checkpoint: Optional[str]) -> Optional[winner_lib.Winner]:
    """Returns who has won, if that is known before a graph is built.

    It is the recorded one, if this checkpoint has a record. Otherwise, an
    iteration with fitted ensembles is decided now.

    Args:
      engine: `Engine` that evaluates if nothing is recorded.
      number: int, the iteration's.
      checkpoint: str, the prefix of the checkpoint that is asked, or None.
    """
    setup = engine.setup
    winner = recorded(
        setup.rules, search_files.SearchFiles(setup.model_dir), number,
        checkpoint)
    if winner is not None or not any(
        map(iteration_lib.is_fitted, setup.search.ensemblers)):
      return winner
    return self._once("winner", setup, checkpoint, lambda: _decided_now(
        engine, number, checkpoint))

  def best(self, engine: engine_lib.Engine, checkpoint: Optional[str],
           candidates: Callable[[], trained_lib.Candidates]) -> str:
    """Returns the name of the candidate that answers: the best so far.

    As in AdaNet, the previous ensemble is compared too, unless an evaluator
    compares.

    Args:
      engine: `Engine` that evaluates them.
      checkpoint: str, its prefix, or None.
      candidates: returns the `Candidates` at that checkpoint.

    Raises:
      selection.AllNaNError: no candidate has a number as its value.
    """
    rules = engine.setup.rules
    if not rules.evaluator:
      rules = rules._replace(force_grow=False)
    return self._once(
        "best", engine.setup, checkpoint,
        lambda: winner_lib.choose(rules, candidates(), engine).name)


def _decided_now(engine, number, checkpoint):
  """Fits the ensembles to the trained networks; returns the `Winner`."""
  setup = engine.setup
  winner_lib.check_fitted(setup.search, setup.rules)
  candidates, fits = engine.fits_at(number, checkpoint)
  return winner_lib.choose(setup.rules, candidates, engine, fits)


def record_of(
    rules: setup_lib.Rules, files: search_files.SearchFiles, number: int,
    checkpoint: Optional[str]) -> Optional[records.IterationRecord]:
  """Returns the record of an iteration, if it has the winner at a checkpoint.

  Args:
    rules: `Rules`.
    files: `SearchFiles`.
    number: see `AnsweringWinner.decided`.
    checkpoint: see `AnsweringWinner.decided`.

  Returns:
    `IterationRecord`; None if there is none of this checkpoint, or it was made
    by other rules.
  """
  record = files.iteration(number)
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


def recorded(
    rules: setup_lib.Rules, files: search_files.SearchFiles, number: int,
    checkpoint: Optional[str]) -> Optional[winner_lib.Winner]:
  """Returns the winner that the record of an iteration has.

  As in AdaNet, all candidates are compared, the previous ensemble too, unless
  an evaluator compares: `force_grow` is a rule of training.

  Args:
    rules: see `record_of`.
    files: see `record_of`.
    number: see `record_of`.
    checkpoint: see `record_of`.

  Returns:
    `Winner`; None if there is no record of this checkpoint by these rules.
  """
  record = record_of(rules, files, number, checkpoint)
  if record is None or record.winning is None:
    return None
  won = _winner(record.winning, architecture_lib.Architecture.from_json(
      record.architecture, f"the record of iteration {number}"))
  if (not rules.force_grow or rules.evaluator or not number or
      record.metric_name != rules.metric_name):
    return won
  before, value = record.candidates[0], record.winning.value
  previous = files.model_dir.architecture(number - 1)
  if previous is None or before.value is None or value is None:
    return None
  return _winner(before, previous) if before.value <= value else won


def _winner(candidate, architecture):
  """Returns the `Winner` that a `CandidateRecord` tells of."""
  return winner_lib.Winner(
      selection.Choice(0, candidate.name, candidate.value),
      {candidate.name: architecture})

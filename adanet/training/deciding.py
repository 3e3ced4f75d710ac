# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which ensemble answers: who has won at a checkpoint, or is the best so far.

What was decided is not decided again: the record of an iteration says who won,
and at which checkpoint.
"""

import contextlib
import tempfile
from typing import Any, Dict, Optional, Tuple

from adanet.core import architecture as architecture_lib
from adanet.core import checkpoints
from adanet.core import ensembles
from adanet.core import iteration as iteration_lib
from adanet.core import selection
from adanet.history import records
from adanet.training import choosing
from adanet.training import library as library_lib
from adanet.training import model as model_lib
from adanet.training import recording


class Decider:
  """Decides who answers, for one search.

  In the middle of an iteration nothing is recorded. Then what was decided of
  the last checkpoint is kept, until that or the rules change.
  """

  def __init__(self) -> None:
    self._kept: Dict[str, Tuple[Any, Any]] = {}

  def _once(self, what, model, checkpoint, decide):
    """Returns what a function decides, or has decided of the same before."""
    if checkpoint is None:  # Values that are initial need not be the same.
      return decide()
    question = checkpoint, checkpoints.digest(checkpoint), model.rules
    if self._kept.get(what, (None,))[0] != question:
      self._kept[what] = question, decide()
    return self._kept[what][1]

  def decided(self, model: model_lib.Model, number: int,
              checkpoint: Optional[str]) -> Optional[choosing.Winner]:
    """Returns who has won, if that is known before a graph is built.

    It is what was recorded of this checkpoint. What was not, and has fitted
    ensembles, is decided now.

    Args:
      model: `Model`.
      number: int, the iteration's.
      checkpoint: str, the prefix of the checkpoint that is asked, or None.
    """
    found = recorded(model, number, checkpoint)
    if found is not None or all(map(choosing.trains, model.search.ensemblers)):
      return found
    return self._once("winner", model, checkpoint, lambda: _decided_now(
        model, number, checkpoint))

  def best(self, model: model_lib.Model, iteration: iteration_lib.Iteration,
           checkpoint: Optional[str]) -> ensembles.EnsembleSpec:
    """Returns the candidate that answers: the best so far.

    As in AdaNet, the previous ensemble is compared too, unless an evaluator
    compares.

    Args:
      model: see `choosing.contest`.
      iteration: see `choosing.contest`.
      checkpoint: see `choosing.contest`.

    Raises:
      selection.AllNaNError: there is none whose value is a number.
    """
    rules = model.rules
    if not rules.evaluator:
      rules = rules._replace(force_grow=False)
    name = self._once("best", model, checkpoint, lambda: choosing.winner(
        model._replace(rules=rules),
        choosing.contest(model, iteration, checkpoint)).name)
    return next(c for c in iteration.candidates if c.name == name)


def _decided_now(model, number, checkpoint):
  """Fits the fitted ensembles to what there is; returns the `Winner`."""
  choosing.check_fitted(model.search, model.rules)
  with tempfile.TemporaryDirectory() as folder:
    iteration = library_lib.record(model, number, checkpoint, folder)
    return choosing.winner(model, choosing.contest_of(
        iteration, lambda: choosing.evaluated(model, number, checkpoint),
        lambda: contextlib.nullcontext(library_lib.read(folder)),
        lambda: choosing.not_finite(iteration, checkpoint)))


def record_of(model: model_lib.Model, number: int, checkpoint: Optional[str]
             ) -> Optional[records.IterationRecord]:
  """Returns the record of an iteration, if it has the winner at a checkpoint.

  Args:
    model: see `decided`.
    number: see `decided`.
    checkpoint: see `decided`.

  Returns:
    `IterationRecord`; None if there is none of this checkpoint, or it was made
    by other rules.
  """
  record = recording.read_iteration(model.model_dir.path, number)
  rules = model.rules
  if (record is None or checkpoint is None or record.winning is None or
      not record.is_of(checkpoint)):
    return None
  # Who gives no evaluator has no rule of his own, and takes what was decided.
  if record.metric_name != rules.metric_name and rules.evaluator:
    return None
  if rules.replay_config:
    index = rules.replay_config.get_best_ensemble_index(number)
    names = [candidate.name for candidate in record.candidates]
    if index is not None and names[index:index + 1] != [record.winner]:
      return None
  return record


def recorded(model: model_lib.Model, number: int,
             checkpoint: Optional[str]) -> Optional[choosing.Winner]:
  """Returns the winner that the record of an iteration has.

  As in AdaNet, all candidates are compared, the previous ensemble too, unless
  an evaluator compares: `force_grow` is a rule of training.

  Args:
    model: see `Decider.decided`.
    number: see `Decider.decided`.
    checkpoint: see `Decider.decided`.

  Returns:
    `Winner`; None if there is no record of this checkpoint by these rules.
  """
  record, rules = record_of(model, number, checkpoint), model.rules
  if record is None or record.winning is None:
    return None
  won = _winner(record.winning, architecture_lib.Architecture.from_json(
      record.architecture, f"the record of iteration {number}"))
  if (not rules.force_grow or rules.evaluator or not number or
      record.metric_name != rules.metric_name):
    return won
  before, value = record.candidates[0], record.winning.value
  previous = model.model_dir.architecture(number - 1)
  if previous is None or before.value is None or value is None:
    return None
  if before.value <= value:
    return _winner(before, previous)
  return won


def _winner(candidate, architecture):
  """Returns the `Winner` that a `CandidateRecord` tells of."""
  return choosing.Winner(
      selection.Choice(0, candidate.name, candidate.value),
      {candidate.name: architecture})

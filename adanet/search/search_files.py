# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The files of a search in its model_dir: how far it is, and why."""

import os
import time
from typing import Mapping, Optional, Sequence

from adanet.core import events
from adanet.core import model_dir as model_dir_lib
from adanet.history import records
from adanet.history import store
from adanet.search import winner as winner_lib
from adanet.training import recording
from adanet.training import trained as trained_lib


class SearchFiles:
  """The model_dir of a search, as the loop sees it."""

  def __init__(self, model_dir: model_dir_lib.ModelDir):
    """Reads and writes nothing."""
    self.model_dir = model_dir
    self._store = store.Store(model_dir.path)

  def iteration(self, number: int) -> Optional[records.IterationRecord]:
    """Returns the record of an iteration that has a winner, or None."""
    return self._store.iteration(number)

  def end(self) -> Optional[records.EndRecord]:
    """Returns why training ended last, or None."""
    return self._store.end()

  def write_end(self, global_step: int, reason: str) -> None:
    """Writes why training ended.

    Args:
      global_step: int, the last one.
      reason: str.
    """
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
      ended: the event of its end.
      winner: `Winner`.
      trained: `TrainedIteration`.
      checkpoint: str, the prefix of the checkpoint that has all of the winner.
      weights: dict from an ensemble's name to its mixture weights.
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

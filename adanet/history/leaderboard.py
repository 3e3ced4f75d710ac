# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The candidates and the networks of a search as rows."""

from typing import Dict, Iterator, List, NamedTuple, Optional

from adanet.history import records
from adanet.history import summary


class Row(NamedTuple):
  """An ensemble that could win, or a network that trained.

  Attributes:
    name: str.
    kind: str, "ensemble" or "network".
    iteration: int, in which it trained; that of the previous ensemble is the
      last one in which it was a candidate.
    won: bool, whether an ensemble won its iteration; or whether a network is
      part of the ensemble that won last.
    metric: str, the name of `value`.
    value: float, on which an ensemble was compared. Of a network it is the
      head's loss of it alone on the evaluator's data, which is known where
      ensembles are fitted. None if it is not known.
    networks: int, how many it has.
    weight: float, that of a network in the ensemble that won last; 0 if it is
      not in it, None if it has none.
    train_loss: float, that of a network's last step; None if not known.
    steps: int, how many a network took; 0 if it was not trained.
    global_step: int, that of the iteration's end.
    seconds: float, how long the iteration took; or, a network's steps.
    weights: dict from the networks of an ensemble to their mean absolute
      weights, each None where there is none.
  """
  name: str
  kind: str
  iteration: int
  won: bool
  metric: str
  value: Optional[float]
  networks: int = 1
  weight: Optional[float] = None
  train_loss: Optional[float] = None
  steps: Optional[int] = None
  global_step: Optional[int] = None
  seconds: Optional[float] = None
  weights: Dict[str, Optional[float]] = {}


def rows(search: records.Records) -> List[Row]:
  """Returns a row for each candidate and network; see `History.leaderboard`."""
  by_name: Dict[str, Row] = {}
  for record in reversed(search.iterations):
    for candidate in summary.best_first(record):
      by_name.setdefault(candidate.name, Row(
          candidate.name, "ensemble", record.iteration,
          candidate.name == record.winner, record.metric_name, candidate.value,
          len(candidate.subnetworks), global_step=record.global_step,
          seconds=record.seconds,
          weights=dict(zip(candidate.subnetworks, candidate.weights))))
    for row in _networks(record, search.final):
      by_name.setdefault(row.name, row)
  return list(by_name.values())


def _networks(record: records.IterationRecord,
              final: Optional[records.CandidateRecord]) -> Iterator[Row]:
  """Yields the rows of the networks of an iteration, the best first."""
  members = dict(zip(final.subnetworks, final.weights)) if final else {}
  for name, network in summary.networks_best_first(record).items():
    yield Row(
        name, "network", record.iteration, name in members, "loss",
        network.held_out_loss, weight=members.get(name, 0.),
        train_loss=network.loss, steps=network.steps,
        global_step=record.global_step, seconds=network.seconds)

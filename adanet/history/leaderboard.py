# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The candidates and the networks of a search as rows."""

from typing import Dict, Iterator, List, NamedTuple, Optional

from adanet.history import overview
from adanet.history import records


class Row(NamedTuple):
  """A candidate ensemble, or a trained network.

  For example::

      for row in leaderboard.rows(adanet.report("digits")):
        print(row.kind, row.name, row.value)

  Attributes:
    name: str.
    kind: str, "ensemble" or "network".
    iteration: int, the iteration of the training; for an ensemble, the last
      iteration with the ensemble as a candidate.
    won: bool, whether an ensemble won the iteration, or whether a network is
      part of the last winner.
    metric: str, the name of `value`.
    value: float, the compared value of an ensemble; for a network, the head's
      loss of the network alone on the evaluator's data, which is known only
      with fitted ensembles. None if unknown.
    networks: int, the number of networks.
    weight: float, the weight of a network in the last winner: 0 for a network
      outside the last winner, and None without mixture weights.
    train_loss: float, the loss of a network's last step; None if unknown.
    steps: int, the training steps of a network; 0 if not trained.
    global_step: int, the global step at the end of the iteration.
    seconds: float, the duration of the iteration, or of a network's steps.
    weights: dict from the networks of an ensemble to the mean absolute weights,
      each None without mixture weights.
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
  """Returns a row for each candidate and network. See `History.leaderboard`."""
  by_name: Dict[str, Row] = {}
  for record in reversed(search.iterations):
    for candidate in overview.best_first(record):
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
  for name, network in overview.networks_best_first(record).items():
    yield Row(
        name, "network", record.iteration, name in members, "loss",
        network.held_out_loss, weight=members.get(name, 0.),
        train_loss=network.loss, steps=network.steps,
        global_step=record.global_step, seconds=network.seconds)

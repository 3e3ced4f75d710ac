# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The part of the input's rows that each worker of an iteration reads.

A worker that trains several subnetworks in each step has a single input.
Workers that train the same subnetworks divide the rows, and no subnetwork may
miss a row. A worker that trains in turns has an input for each turn.
"""

import collections
import functools
import math
from typing import Any, Dict, Iterable, List, NamedTuple, Sequence

_ENSEMBLES = -1  # Stands for the ensembles among indices of subnetworks.


class InputPart(NamedTuple):
  """Every `num_parts`-th row, starting at the row `first`.

  Attributes:
    num_parts: int, at least 1; 1 for all rows.
    first: int in [0, num_parts).
  """
  num_parts: int
  first: int


ALL_ROWS = InputPart(1, 0)


def _containing(parts):
  """Returns the smallest `InputPart` that contains all of some parts."""
  result = parts[0]
  for num_parts, first in parts[1:]:
    common = math.gcd(math.gcd(result.num_parts, num_parts),
                      result.first - first)
    result = InputPart(common, result.first % common)
  return result


def _trained(share):
  """Returns the indices of trained subnetworks, and possibly `_ENSEMBLES`."""
  # Fitted ensembles have no training steps and no fraction of the time.
  has_ensembles = share.builds_ensemble and share.ensemble_fraction != 0
  return list(share.trained) + [_ENSEMBLES] * has_ensembles


def of_workers(shares: Iterable[Any]) -> List[InputPart]:
  """Returns the part of each worker.

  See `PlacementStrategy.worker_input_context`. Together, the trainers of a
  subnetwork read each row. If all trainers train the same subnetworks, each row
  is read once in an epoch.
  """
  kinds: Dict[Any, int] = {}  # From a share to its number.
  kind_of_worker = [kinds.setdefault(share, len(kinds)) for share in shares]
  trainers: Dict[int, List[int]] = collections.defaultdict(list)
  for share, kind in kinds.items():
    for index in _trained(share):
      trainers[index].append(kind)
  # For each kind of worker, the groups of trainers that include the kind.
  groups_of = [{tuple(trainers[index]) for index in _trained(share)}
               for share in kinds]
  reads_all = [
      not share.trained or _ENSEMBLES in _trained(share) and len(groups) > 1
      for share, groups in zip(kinds, groups_of)]
  sizes = collections.Counter(
      group for kind in kind_of_worker for group in groups_of[kind])
  before: collections.Counter = collections.Counter()
  parts = []
  for kind in kind_of_worker:
    parts.append(ALL_ROWS if reads_all[kind] else _containing([
        InputPart(sizes[group], before[group]) for group in groups_of[kind]]))
    before.update(groups_of[kind])
  return parts


def rows_read(shares: Sequence[Any], num_subnetworks: int) -> List[float]:
  """Returns the fraction of the rows that each subnetwork's trainers read."""
  parts = of_workers(shares)
  workers_with: Dict[Any, List[int]] = collections.defaultdict(list)
  for worker, share in enumerate(shares):
    workers_with[share].append(worker)
  trainers: List[List[Any]] = [[] for _ in range(num_subnetworks)]
  for share in workers_with:
    for i in share.trained:
      trainers[i].append(share)

  @functools.lru_cache(maxsize=None)
  def read(kinds):
    workers = sorted(w for share in kinds for w in workers_with[share])
    num_rows = len(workers)  # A multiple of all numbers of parts.
    seen = {row for place, w in enumerate(workers) for row in (
        [place] if shares[w].takes_turns else
        range(parts[w].first, num_rows, parts[w].num_parts))}
    return len(seen) / num_rows if workers else 0.

  return [read(tuple(kinds)) for kinds in trainers]

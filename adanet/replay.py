# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Makes a search repeatable, with winners that are given."""

import numbers
from typing import Optional, Sequence


class Config:
  """Which ensemble wins each iteration.

  With the indices of an earlier search, which are the `replay_indices` of its
  last `architecture-<t>.json`, a new one arrives at the same ensemble, and
  evaluates no candidates.
  """

  def __init__(self, best_ensemble_indices: Optional[Sequence[int]] = None):
    """Replays the winners that are given.

    Args:
      best_ensemble_indices: list of int, the index of the winner among the
        candidates of iteration 0, of iteration 1, and so on. In later
        iterations the candidates are compared, as without a `Config`.

    Raises:
      ValueError: an index is no int of at least 0.
    """
    for index in best_ensemble_indices or ():
      if not isinstance(index, numbers.Integral) or index < 0:
        raise ValueError(
            f"best_ensemble_indices={best_ensemble_indices!r}: expected the "
            f"index of a candidate for each iteration, from 0, got {index!r}")
    self._best_ensemble_indices = best_ensemble_indices

  @property
  def best_ensemble_indices(self) -> Optional[Sequence[int]]:
    """The index of the winner of each iteration that is given, or None."""
    return self._best_ensemble_indices

  def get_best_ensemble_index(self, iteration_number: int) -> Optional[int]:
    """Returns the index of the winner of an iteration; None if not given."""
    indices = self._best_ensemble_indices
    if indices is None or iteration_number >= len(indices):
      return None
    return indices[iteration_number]

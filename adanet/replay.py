# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Repeats a search with given winners."""

from typing import Optional, Sequence

from adanet import checks


class Config:
  """The winner of each iteration of a search.

  For example::

      estimator = adanet.Estimator(
          head, generator, max_iteration_steps=1000,
          replay_config=adanet.replay.Config([1, 0, 2]))

  The last `architecture-<t>.json` in a `model_dir` has the winners of a search
  as `replay_indices`. A new search with these indices finds the same ensemble
  without evaluating candidates.
  """

  def __init__(self, best_ensemble_indices: Optional[Sequence[int]] = None):
    """Makes a config.

    Args:
      best_ensemble_indices: list of int, the index of the winner among the
        candidates of iteration 0, of iteration 1, and so on. Iterations beyond
        the list compare their candidates.

    Raises:
      TypeError: an index in `best_ensemble_indices` is not an integer.
      ValueError: an index is negative.
    """
    for i, index in enumerate(best_ensemble_indices or ()):
      checks.check_count(f"best_ensemble_indices[{i}]", index, 0)
    self._best_ensemble_indices = best_ensemble_indices

  @property
  def best_ensemble_indices(self) -> Optional[Sequence[int]]:
    """The given indices of the winners, or None."""
    return self._best_ensemble_indices

  def get_best_ensemble_index(self, iteration_number: int) -> Optional[int]:
    """Returns the index of an iteration's winner; None to compare candidates.

    Args:
      iteration_number: int, from 0.
    """
    indices = self._best_ensemble_indices
    if indices is None or iteration_number >= len(indices):
      return None
    return indices[iteration_number]

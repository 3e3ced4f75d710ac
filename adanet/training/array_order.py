# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The order in which the rows of arrays are read."""

import collections
import math
import sys
from typing import Dict, Optional

import numpy as np


class Order:
  """Which rows each batch has.

  Where an epoch ends in the middle of a batch, that goes on in the next one, or
  is smaller.

  Attributes:
    num_batches: int, how many there are.
  """

  def __init__(self, rows: np.ndarray, batch_size: int,
               num_epochs: Optional[int], seed: Optional[int],
               ends_at_epoch: bool = False, first: int = 0):
    """Copies nothing.

    Args:
      rows: array of int, all of them in order.
      batch_size: int.
      num_epochs: int; None for no end.
      seed: int, shuffles the rows, in each epoch in another way; None for their
        own order.
      ends_at_epoch: whether a batch ends where an epoch does.
      first: int, with how many rows each epoch ends in place of beginning.
    """
    self._rows = rows
    self._first = first
    self._batch_size = batch_size
    self._seed = seed
    self._num_rows = math.inf if num_epochs is None else num_epochs * len(rows)
    self._of_epoch = -(-len(rows) // batch_size) if ends_at_epoch else None
    self.num_batches = (
        sys.maxsize if num_epochs is None else
        -(-self._num_rows // batch_size) if self._of_epoch is None else
        num_epochs * self._of_epoch)
    self._shuffled: Dict[int, np.ndarray] = collections.OrderedDict()

  def _epoch(self, number):
    """Returns the rows of an epoch; the last two are kept."""
    if self._seed is None and not self._first:
      return self._rows
    if number not in self._shuffled:
      rows = self._rows
      if self._seed is not None:
        random = np.random.RandomState([self._seed, number])
        rows = random.permutation(rows)
      self._shuffled[number] = np.roll(rows, -self._first)
      while len(self._shuffled) > 2:
        self._shuffled.popitem(last=False)
    return self._shuffled[number]

  def batch(self, number: int) -> np.ndarray:
    """Returns the rows of a batch, by its number from 0."""
    if self._of_epoch is not None:
      epoch, of_epoch = divmod(number, self._of_epoch)
      start = of_epoch * self._batch_size
      return self._epoch(epoch)[start:start + self._batch_size]
    start = number * self._batch_size
    end = min(start + self._batch_size, self._num_rows)
    pieces = []
    while start < end:
      epoch, row = divmod(start, len(self._rows))
      pieces.append(self._epoch(epoch)[row:row + end - start])
      start += len(pieces[-1])
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)

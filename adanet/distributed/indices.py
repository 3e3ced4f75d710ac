# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Sets of indices that stay small if the cluster is large."""

import itertools
import operator
from typing import Any, Callable, Collection, Dict, Iterable, Iterator, List
from typing import Tuple, TypeVar

_Key = TypeVar("_Key")


def _canonical(run):
  """Returns an equal range, the same for all that are equal; not empty."""
  if len(run) == 1:
    return range(run[0], run[0] + 1)
  return range(run[0], run[-1] + 1, run.step)


def _merge(parts):
  """Returns the same integers as tuple of a few ranges.

  Args:
    parts: iterable of range with positive steps. Each begins after the end of
      the one before. Equal integers give equal results, in whatever parts.
  """
  runs = []
  run = range(0)
  for part in parts:
    while part:
      first = part[0]
      continues = len(run) > 1 and first == run[-1] + run.step
      if continues and (len(part) == 1 or part.step == run.step):
        run = range(run[0], part[-1] + 1, run.step)
        break
      part = part[1:]
      if not run:
        run = range(first, first + 1)
      elif len(run) == 1:
        run = range(run[0], first + 1, first - run[0])
      elif continues:
        run = range(run[0], first + 1, run.step)
      elif len(run) == 2:  # The second may begin a longer run.
        runs.append(run[:1])
        run = range(run[1], first + 1, first - run[1])
      else:
        runs.append(run)
        run = range(first, first + 1)
  if run:
    runs.append(run)
  return tuple(map(_canonical, runs))


def _name_run(run, name):
  if len(run) <= 2:
    return ", ".join(map(name, run))
  by = "" if run.step == 1 else f" by {run.step}"
  return f"{name(run[0])} to {name(run[-1])}{by}"


class Indices(Collection[int]):
  """An immutable set of indices in increasing order, stored as a few ranges.

  `str` lists up to 20 indices, and more of them as ranges: "0, 4, 8" or
  "0 to 400 by 4".

  Attributes:
    ranges: tuple of range, the same for equal sets.
  """

  __slots__ = ("ranges",)

  def __init__(self, indices: Iterable[int] = ()):
    """Makes a set; of a range in constant time."""
    self.ranges: Tuple[range, ...] = ()
    if isinstance(indices, range) and indices.step > 0:
      if indices:
        self.ranges = (_canonical(indices),)
      return
    indices = sorted(set(map(operator.index, indices)))
    if not indices:
      return
    step = indices[1] - indices[0] if len(indices) > 1 else 1
    run = range(indices[0], indices[-1] + 1, step)
    if len(run) == len(indices) and all(map(operator.eq, run, indices)):
      self.ranges = (run,)  # The usual case, and faster.
    else:
      self.ranges = _merge(range(i, i + 1) for i in indices)

  @classmethod
  def union(cls, parts: Iterable["Indices"]) -> "Indices":
    """Returns the indices that are in any of several sets."""
    parts = tuple(parts)
    if len(parts) == 1:
      return parts[0]
    ranges = sorted((r for part in parts for r in part.ranges),
                    key=operator.itemgetter(0))
    if any(b[0] <= a[-1] for a, b in zip(ranges, ranges[1:])):
      return cls(itertools.chain.from_iterable(ranges))
    union = cls()
    union.ranges = _merge(ranges)
    return union

  def __len__(self) -> int:
    return sum(map(len, self.ranges))

  def __iter__(self) -> Iterator[int]:
    return itertools.chain.from_iterable(self.ranges)

  def __contains__(self, index: Any) -> bool:
    # `in range(...)` takes linear time for an integer of NumPy.
    index = operator.index(index)
    return any(index in r for r in self.ranges)

  def __eq__(self, other):
    if not isinstance(other, Indices):
      return NotImplemented
    return self.ranges == other.ranges

  def __hash__(self):
    return hash(self.ranges)

  def __str__(self):
    return self.to_text()

  def __repr__(self):
    return f"Indices({', '.join(map(repr, self.ranges))})"

  def to_text(self, name: Callable[[int], str] = str, num_more: int = 0) -> str:
    """Returns the same text as `str`, with names instead of indices.

    Args:
      name: function from an index to its name.
      num_more: int, the number of indices to add to those that are not listed.
    """
    if len(self) <= 20:
      names = [name(i) for i in self]
    else:
      names = [_name_run(run, name) for run in self.ranges[:10]]
      num_more += sum(map(len, self.ranges[10:]))
    return ", ".join(names) + (f" and {num_more} more" if num_more else "")

  def slices(self) -> List[slice]:
    """Returns slices that together select these indices of an array."""
    return [slice(r.start, r.stop, r.step) for r in self.ranges]

  def to_json(self) -> List[List[int]]:
    """Returns list of [start, stop, step], each as in Python's `range`."""
    return [[r.start, r.stop, r.step] for r in self.ranges]


def places_of(keys: Iterable[_Key]) -> Dict[_Key, Indices]:
  """Returns the indices at which each key is in an iterable."""
  places: Dict[_Key, List[int]] = {}
  for i, key in enumerate(keys):
    places.setdefault(key, []).append(i)
  return {key: Indices(indices) for key, indices in places.items()}

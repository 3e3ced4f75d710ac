# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Sets of indices, as people and programs read them: "0, 4, 8" or [0, 9, 4]."""

import operator
from typing import Callable, Dict, Hashable, Iterable, List, Tuple, TypeVar

_Key = TypeVar("_Key", bound=Hashable)


def _ranges(indices):
  """Returns increasing indices as ranges, each as long as can be.

  Two indices alone are a range only at the end: the second one may begin a
  longer range.
  """
  if len(indices) > 2:  # The usual case, and faster.
    run = range(indices[0], indices[-1] + 1, indices[1] - indices[0])
    if len(run) == len(indices) and tuple(run) == indices:
      return (run,)
  runs = [[]]
  for i in indices:
    run = runs[-1]
    if len(run) > 1 and i - run[-1] != run[1] - run[0]:
      runs.append([run.pop()] if len(run) == 2 else [])
    runs[-1].append(i)
  return tuple(
      range(run[0], run[-1] + 1, run[1] - run[0] if len(run) > 1 else 1)
      for run in runs if run)


def _name_run(run, name):
  if len(run) <= 2:
    return ", ".join(map(name, run))
  by = "" if run.step == 1 else f" by {run.step}"
  return f"{name(run[0])} to {name(run[-1])}{by}"


class Indices(Tuple[int, ...]):
  """A tuple of indices in increasing order, each once.

  `str` lists up to 20 indices, and more of them as ranges: "0, 4, 8" or
  "0 to 400 by 4".
  """

  __slots__ = ()

  def __new__(cls, indices: Iterable[int] = ()) -> "Indices":
    return super().__new__(cls, sorted(set(map(operator.index, indices))))

  @property
  def ranges(self) -> Tuple[range, ...]:
    """The same indices as ranges, the same for equal sets."""
    return _ranges(self)

  def __str__(self):
    return self.to_text()

  def __repr__(self):
    return f"Indices({', '.join(map(repr, self.ranges))})"

  def to_text(self, name: Callable[[int], str] = str) -> str:
    """Returns the same text as `str`, with `name(index)` for each index."""
    if len(self) <= 20:
      return ", ".join(map(name, self))
    ranges = self.ranges
    text = ", ".join(_name_run(run, name) for run in ranges[:10])
    num_more = sum(map(len, ranges[10:]))
    return text + (f" and {num_more} more" if num_more else "")

  def to_json(self) -> List[List[int]]:
    """Returns list of [start, stop, step], each as in Python's `range`."""
    return [[r.start, r.stop, r.step] for r in self.ranges]


def places_of(keys: Iterable[_Key]) -> Dict[_Key, Indices]:
  """Returns the indices at which each key is in an iterable."""
  places: Dict[_Key, List[int]] = {}
  for i, key in enumerate(keys):
    places.setdefault(key, []).append(i)
  return {key: Indices(indices) for key, indices in places.items()}

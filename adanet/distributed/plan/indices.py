# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Sets of indices, of workers say, that stay small where clusters are large."""

import collections.abc
import itertools
import operator


def _canonical(run):
  """Returns the one way to write a non-empty range of positive step."""
  if len(run) == 1:
    return range(run[0], run[0] + 1)
  return range(run[0], run[-1] + 1, run.step)


def _coalesce(parts):
  """Returns the same integers in few ranges, however they were cut into parts.

  Args:
    parts: iterable of range, of positive step; all their integers increase.

  Returns:
    Tuple of non-empty range, the same for the same integers.
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
      elif len(run) == 2:  # Its second may begin a longer run.
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
  by = "" if run.step == 1 else " by {}".format(run.step)
  return "{} to {}{}".format(name(run[0]), name(run[-1]), by)


class Indices(collections.abc.Collection):
  """An immutable set of indices, in increasing order, held as few ranges.

  `str` names every index where there are few, and runs of them where there are
  many: "0, 4, 8" or "0 to 400 by 4".

  Attributes:
    ranges: tuple of range, the same for equal sets.
  """

  __slots__ = ("ranges",)

  def __init__(self, indices=()):
    """Makes a set.

    Args:
      indices: iterable of int; of a range, only the ends are looked at.
    """
    if isinstance(indices, range) and indices.step > 0:
      self.ranges = (_canonical(indices),) if indices else ()
      return
    indices = sorted(set(map(operator.index, indices)))
    step = indices[1] - indices[0] if len(indices) > 1 else 1
    run = range(indices[0], indices[-1] + 1, step) if indices else ()
    if len(run) == len(indices) and all(map(operator.eq, run, indices)):
      self.ranges = (run,) if indices else ()  # The usual, and fast.
    else:
      self.ranges = _coalesce([range(i, i + 1) for i in indices])

  @classmethod
  def union(cls, parts):
    """Returns the set of the indices that are in any of several sets.

    Args:
      parts: iterable of `Indices`.
    """
    parts = tuple(parts)
    if len(parts) == 1:
      return parts[0]
    ranges = sorted((r for part in parts for r in part.ranges),
                    key=lambda r: r[0])
    if any(b[0] <= a[-1] for a, b in zip(ranges, ranges[1:])):
      return cls(itertools.chain.from_iterable(ranges))
    union = cls()
    union.ranges = _coalesce(ranges)
    return union

  def __len__(self):
    return sum(map(len, self.ranges))

  def __iter__(self):
    return itertools.chain.from_iterable(self.ranges)

  def __contains__(self, index):
    # With NumPy's integers, `in range` takes linear time.
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
    return "Indices({})".format(", ".join(map(repr, self.ranges)))

  def to_text(self, name=str, num_more=0):
    """Returns what `str` does, by other names.

    Args:
      name: function from an index to the str to call it by.
      num_more: int, further indices that the text is about and only counts.
    """
    if len(self) <= 20:
      names = map(name, self)
    else:
      names = (_name_run(run, name) for run in self.ranges[:10])
      num_more += sum(map(len, self.ranges[10:]))
    return ", ".join(names) + (
        " and {} more".format(num_more) if num_more else "")

  def slices(self):
    """Returns list of slice, which together select the indices of an array."""
    return [slice(r.start, r.stop, r.step) for r in self.ranges]

  def to_json(self):
    """Returns list of [start, stop, step], each as in Python's `range`."""
    return [[r.start, r.stop, r.step] for r in self.ranges]

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Lengths laid end to end on a line, and the line cut into equal parts.

This is McNaughton's wrap-around rule (R. McNaughton, "Scheduling with deadlines
and loss functions", Management Science 6(1), 1959): the parts are machines, and
a segment of the line is a job. Everything is in exact integers, so all tasks
of a cluster cut at the same places, whatever their platforms.
"""

import bisect
import fractions
import functools
import itertools
import math
from typing import Iterable, NamedTuple, Sequence, Tuple, Union

Number = Union[int, float, fractions.Fraction]

#: The number of bits of a hash that `Segment.part_of_hash` takes.
HASH_BITS = 256


class Segment(NamedTuple):
  """The place of one length on a line that is cut into equal parts.

  A small value, whatever the number of segments and parts. Two lines that have
  the same segment in the same place have equal ones.

  Attributes:
    start: int, where it starts on the line.
    length: int, greater than 0.
    total: int, the length of the line.
    num_parts: int, at least 1.
  """
  start: int
  length: int
  total: int
  num_parts: int

  @property
  def parts(self) -> range:
    """The parts that it overlaps, in [0, num_parts); at least one."""
    end = self.start + self.length
    return range(self.start * self.num_parts // self.total,
                 -(-end * self.num_parts // self.total))

  def overlap(self, part: int) -> int:
    """Returns the length that it shares with a part, times `num_parts`."""
    end = self.start + self.length
    return (min(end * self.num_parts, (part + 1) * self.total) -
            max(self.start * self.num_parts, part * self.total))

  def part_of_hash(self, name_hash: int) -> int:
    """Returns the part of the point that a hash picks on the segment.

    Args:
      name_hash: int in [0, 2**HASH_BITS). The point is this part of the
        segment's length behind its start.
    """
    point = (self.start << HASH_BITS) + name_hash * self.length
    return point * self.num_parts // (self.total << HASH_BITS)


class Line:
  """Lengths laid end to end, behind a head.

  Attributes:
    starts: increasing sequence of int, where each segment starts on the line:
      the first one behind the head; the last element is the length of the line.
  """

  def __init__(self, lengths: Iterable[Number], head: Number = 0):
    """Lays out segments.

    Args:
      lengths: iterable of numbers greater than 0, at least one. They are taken
        by their exact values, and scaled to integers.
      head: number, at least 0, the length of what is before the first segment.
    """
    exact = [fractions.Fraction(length) for length in (head, *lengths)]
    # Powers of two, for floats: then each step of this is fast.
    denominator = functools.reduce(_least_common_multiple,
                                   {f.denominator for f in exact}, 1)
    numerators = [f.numerator * (denominator // f.denominator) for f in exact]
    divisor = functools.reduce(math.gcd, numerators)
    self.starts: Sequence[int] = tuple(
        itertools.accumulate(n // divisor for n in numerators))

  @classmethod
  def of_equal(cls, num_segments: int, head: Number = 0) -> "Line":
    """Returns a line with segments of length 1, in constant time."""
    line = cls.__new__(cls)
    head = fractions.Fraction(head)
    start, step = head.numerator, head.denominator
    line.starts = range(start, start + step * num_segments + 1, step)
    return line

  def segment(self, index: int, num_parts: int) -> Segment:
    """Returns a segment by its index, on the line cut into equal parts."""
    start = self.starts[index]
    return Segment(
        start, self.starts[index + 1] - start, self.starts[-1], num_parts)

  def part(self, index: int, num_parts: int) -> "Part":
    """Returns one of `num_parts` equal parts, in time O(log(segments))."""
    total = self.starts[-1]
    first = bisect.bisect_right(self.starts, index * total // num_parts) - 1
    stop = bisect.bisect_left(self.starts, -(-(index + 1) * total // num_parts))
    return Part(self, index, num_parts, range(max(first, 0), stop))

  def head_of_part(self, index: int, num_parts: int) -> fractions.Fraction:
    """Returns which fraction of a part the head covers."""
    total = self.starts[-1]
    covered = self.starts[0] * num_parts - index * total
    return fractions.Fraction(min(max(covered, 0), total), total)

  def parts_of_head(self, num_parts: int) -> int:
    """Returns how many parts the head overlaps: the first ones."""
    return -(-self.starts[0] * num_parts // self.starts[-1])


def _least_common_multiple(a, b):
  return a // math.gcd(a, b) * b


class Part(Sequence[Tuple[int, fractions.Fraction]]):
  """A part of a line, as pairs of a segment's index and a fraction.

  The fraction is that of the part, without the head, which the segment covers.
  The pairs are made when they are asked for, and equal those of a tuple.

  Attributes:
    segments: range, the indices of the segments that the part overlaps.
  """

  def __init__(self, line: Line, index: int, num_parts: int, segments: range):
    """Makes a part; use `Line.part`."""
    self.segments = segments
    self._line = line
    self._index = index
    self._num_parts = num_parts
    start = max(index * line.starts[-1], line.starts[0] * num_parts)
    self._length = (index + 1) * line.starts[-1] - start

  def _pair(self, i):
    segment = self._line.segment(i, self._num_parts)
    return i, fractions.Fraction(segment.overlap(self._index), self._length)

  def __len__(self):
    return len(self.segments)

  def __getitem__(self, index):
    if isinstance(index, slice):
      return tuple(map(self._pair, self.segments[index]))
    return self._pair(self.segments[index])

  def __eq__(self, other):
    if not isinstance(other, (Part, tuple)):
      return NotImplemented
    return tuple(self) == tuple(other)

  def __hash__(self):
    return hash(tuple(self))

  def __repr__(self):
    return repr(tuple(self))

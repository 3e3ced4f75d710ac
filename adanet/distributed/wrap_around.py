# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Weights laid end to end on a line, and the line cut into equal parts.

This is McNaughton's wrap-around rule (R. McNaughton, "Scheduling with deadlines
and loss functions", Management Science 6(1), 1959): the parts are machines,
and an interval of the line is a job. Everything is in exact integers, so all
tasks of a cluster cut at the same places, whatever their platforms.
"""

import bisect
import fractions
import functools
import itertools
import math
from typing import Iterable, NamedTuple, Tuple, Union

Number = Union[int, float, fractions.Fraction]
Fractions = Tuple[Tuple[int, fractions.Fraction], ...]

#: The number of bits of a hash that `Interval.part_of_hash` takes.
HASH_BITS = 256


def common_denominator(numbers: Iterable[fractions.Fraction]) -> int:
  """Returns the least number that makes integers of all of these."""
  # Powers of two, for floats: then each step of this is fast.
  return functools.reduce(lambda a, b: a // math.gcd(a, b) * b,
                          {n.denominator for n in numbers}, 1)


def exact_sum(numbers: Iterable[Number]) -> fractions.Fraction:
  """Returns the sum of numbers by their exact values."""
  return sum((fractions.Fraction(n) for n in numbers), fractions.Fraction(0))


class Interval(NamedTuple):
  """The place of one weight on a line that is cut into equal parts.

  Attributes:
    start: int, where it starts on the line.
    weight: int, greater than 0.
    total: int, the length of the line.
    num_parts: int, at least 1.
  """
  start: int
  weight: int
  total: int
  num_parts: int

  @property
  def parts(self) -> range:
    """The parts that it overlaps, in [0, num_parts); at least one."""
    end = self.start + self.weight
    return range(self.start * self.num_parts // self.total,
                 -(-end * self.num_parts // self.total))

  def overlap(self, part: int) -> int:
    """Returns the weight that it shares with a part, times `num_parts`."""
    end = self.start + self.weight
    return (min(end * self.num_parts, (part + 1) * self.total) -
            max(self.start * self.num_parts, part * self.total))

  def part_of_hash(self, name_hash: int) -> int:
    """Returns the part of the point that a hash picks on the interval.

    Args:
      name_hash: int in [0, 2**HASH_BITS). The point is this part of the
        interval's weight behind its start.
    """
    point = (self.start << HASH_BITS) + name_hash * self.weight
    return point * self.num_parts // (self.total << HASH_BITS)


class Intervals:
  """Weights laid end to end, behind a head.

  Attributes:
    starts: tuple of int, where each interval starts on the line: the first one
      behind the head; the last element is the length of the line.
  """

  def __init__(self, weights: Iterable[Number], head: Number = 0):
    """Lays out intervals; the numbers are taken exactly, as integers."""
    exact = [fractions.Fraction(weight) for weight in (head, *weights)]
    scale = common_denominator(exact)
    scaled = [f.numerator * (scale // f.denominator) for f in exact]
    divisor = functools.reduce(math.gcd, scaled)
    self.starts = tuple(itertools.accumulate(n // divisor for n in scaled))

  def interval(self, index: int, num_parts: int) -> Interval:
    """Returns an interval by its index, on the line cut into equal parts."""
    start = self.starts[index]
    return Interval(
        start, self.starts[index + 1] - start, self.starts[-1], num_parts)

  def part(self, index: int,
           num_parts: int) -> Tuple[fractions.Fraction, Fractions]:
    """Returns the intervals that one of `num_parts` equal parts covers.

    Returns:
      The fraction of the part that covers the head. And for each interval that
      the part overlaps, its index and a fraction of the rest of the part; none
      if the head is all of it.
    """
    total = self.starts[-1]
    begin, end = index * total, (index + 1) * total  # Times num_parts.
    behind_head = max(begin, self.starts[0] * num_parts)
    first = max(bisect.bisect_right(self.starts, begin // num_parts) - 1, 0)
    stop = bisect.bisect_left(self.starts, -(-end // num_parts))
    return fractions.Fraction(min(behind_head, end) - begin, total), tuple(
        (i, fractions.Fraction(
            self.interval(i, num_parts).overlap(index), end - behind_head))
        for i in range(first, stop))

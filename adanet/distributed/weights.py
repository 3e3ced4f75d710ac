# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The user's costs and sizes, laid end to end and cut into equal parts.

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
from typing import Any, Callable, Iterable, NamedTuple, Optional, Sequence
from typing import Tuple, Union

from adanet.distributed import _arguments
from adanet import messages

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


#: Requests numbers that the chief measures.
MEASURED = "measured"

#: The types of the user's arguments.
WeightsArgument = Union[
    None, str, Sequence[Number], Callable[[int], Sequence[Number]]]
EnsembleCostArgument = Union[None, Number, Callable[[int], Number]]

#: A step of all ensembles runs the subnetworks forward: a third of the time of
#: their training, by J. Kaplan et al., "Scaling laws for neural language
#: models", 2020: 2 of 6 operations for each parameter.
FORWARD = fractions.Fraction(1, 3)


_once = functools.lru_cache(maxsize=1024)


class Weights:
  """Costs or sizes: a number for each subnetwork.

  Immutable: a deep copy is the same object, so copies of a strategy call the
  user's function only once.

  Attributes:
    argument: None for equal numbers; a tuple of numbers; a function from the
      number of subnetworks to a sequence of numbers; or `MEASURED`.
  """

  def __init__(self, name: str, argument: WeightsArgument,
               measured: Optional[Sequence[Number]] = None):
    """Makes weights, and checks the arguments.

    Args:
      name: str, the name of the user's argument, for errors.
      argument: as the attribute, or any sequence of numbers.
      measured: the numbers for `MEASURED`, for as many subnetworks. For other
        numbers of subnetworks the weights are equal.

    Raises:
      TypeError: `argument` or `measured` contains a value that is no number.
      ValueError: a number is not greater than 0 or not finite.
    """
    self._name = name
    self.argument = argument
    if not (argument is None or callable(argument) or self.is_measured):
      self.argument = _arguments.check_weights(
          name, argument, "None, a sequence of numbers greater than 0, a "
          f"function from num_subnetworks to one, or {MEASURED!r}")
    if measured is not None:
      measured = _arguments.check_weights(
          name, measured, "None or a sequence of numbers greater than 0")
    self._measured = measured

  def __deepcopy__(self, memo):
    return self

  @property
  def is_measured(self) -> bool:
    """Whether the user asked for measured weights."""
    return isinstance(self.argument, str) and self.argument == MEASURED

  def with_measured(self, measured: Optional[Sequence[Number]]) -> "Weights":
    """Returns weights with other numbers if `argument` is `MEASURED`."""
    return (Weights(self._name, self.argument, measured) if self.is_measured
            else self)

  @_once
  def given_numbers(self, num_subnetworks: int) -> Optional[Sequence[Number]]:
    """Returns a number for each subnetwork, or None for equal weights.

    Raises:
      TypeError: the user's function returns no sequence of numbers.
      ValueError: the user gave another number of weights than
        `num_subnetworks`, or a weight is not greater than 0.
    """
    numbers: Any = self._measured if self.is_measured else self.argument
    if numbers is None or self.is_measured and len(numbers) != num_subnetworks:
      return None  # The numbers may be of another iteration's candidates.
    source = self._name
    if callable(numbers):
      source = f"{self._name}({num_subnetworks})"
      numbers = _arguments.check_weights(
          source, numbers(num_subnetworks), "a sequence of numbers greater "
                                            "than 0")
    if len(numbers) != num_subnetworks:
      raise ValueError(
          f"{source}={messages.describe(numbers)}: expected "
          f"num_subnetworks={num_subnetworks} numbers, one for each subnetwork, "
          f"not {len(numbers)}. Iterations that differ need a function from "
          "num_subnetworks to them.")
    return numbers

  def numbers(self, num_subnetworks: int) -> Sequence[Number]:
    """Returns `given_numbers`, or ones for equal weights."""
    return self.given_numbers(num_subnetworks) or (1,) * num_subnetworks

  @_once
  def intervals(self, num_subnetworks: int) -> Intervals:
    """Returns the weights end to end."""
    return Intervals(self.numbers(num_subnetworks))

  def __repr__(self):
    return show(self.argument)


def show(argument: Any) -> str:
  """Returns the `repr` of a value, or the name of a function."""
  if callable(argument):
    return getattr(argument, "__qualname__", type(argument).__qualname__)
  return repr(argument)


class Work(Weights):
  """The costs of a step of each subnetwork and of all ensembles.

  Attributes:
    ensembles: the cost of a step of all ensembles in the units of the costs: a
      number, or a function from the number of subnetworks to a number. None for
      the measured cost, or `FORWARD` of the sum of the costs if the costs are
      not measured.
  """

  def __init__(self, costs: WeightsArgument, ensembles: EnsembleCostArgument,
               measured: Optional[Sequence[Number]] = None,
               measured_ensembles: Optional[Number] = None):
    """Makes a value, and checks the arguments. See `Weights`."""
    super().__init__("costs", costs, measured)
    if not (ensembles is None or callable(ensembles)):
      ensembles = _arguments.check_weight(
          "ensemble_cost", ensembles, "None, a finite number of at least 0, or "
          "a function from num_subnetworks to one", may_be_zero=True)
    self.ensembles = ensembles
    self._measured_ensembles = measured_ensembles

  def with_measured(self, measured: Optional[Sequence[Number]],
                    measured_ensembles: Optional[Number] = None) -> "Work":
    """Returns work with other measured numbers if `argument` is `MEASURED`."""
    return (Work(self.argument, self.ensembles, measured, measured_ensembles)
            if self.is_measured else self)

  @_once
  def ensemble_cost(self, num_subnetworks: int) -> Number:
    """Returns the cost of all ensembles. Raises as `given_numbers`."""
    costs = self.given_numbers(num_subnetworks)
    if callable(self.ensembles):
      return _arguments.check_weight(
          f"ensemble_cost({num_subnetworks})", self.ensembles(num_subnetworks),
          "a finite number of at least 0", may_be_zero=True)
    if self.ensembles is not None:
      return self.ensembles
    if self._measured_ensembles is not None and costs is not None:
      return self._measured_ensembles
    return FORWARD * exact_sum(self.numbers(num_subnetworks))

  @_once
  def intervals_behind_ensembles(self, num_subnetworks: int) -> Intervals:
    """Returns the subnetworks end to end by cost, behind the ensembles."""
    return Intervals(self.numbers(num_subnetworks),
                     self.ensemble_cost(num_subnetworks))

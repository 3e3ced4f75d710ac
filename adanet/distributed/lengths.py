# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a user says of the subnetworks' costs or sizes, for any number of them.
"""

from typing import Callable, Dict, Optional, Sequence, Tuple, Union

from adanet.distributed import _arguments
from adanet.distributed import line as line_lib

#: Stands for numbers that the chief measures.
MEASURED = "measured"

#: What a user may give.
Given = Union[
    None, str, Sequence[line_lib.Number],
    Callable[[int], Sequence[line_lib.Number]]]


class Lengths:
  """The lengths of segments on a line.

  It does not change, so its deep copies are itself. It asks a user's function
  once for each number of segments.

  Attributes:
    given: None, for equal lengths; a tuple of numbers; a function from the
      number of segments to as many numbers; or `MEASURED`.
  """

  def __init__(self, name: str, given: Given,
               measured: Optional[Sequence[line_lib.Number]] = None):
    """Makes lengths, and checks what was given.

    Args:
      name: str, the name of the user's argument, for errors.
      given: as the attribute, or any sequence of numbers.
      measured: sequence of numbers to take for `MEASURED`, if there are as many
        segments. Otherwise the lengths are equal.

    Raises:
      TypeError: an argument has a wrong type.
      ValueError: a number is not greater than 0.
    """
    self._name = name
    self.given = given
    if not (given is None or callable(given) or self.is_measured):
      self.given = _arguments.check_lengths(
          name, given, "None, a sequence of numbers greater than 0, a function "
                       f"from num_subnetworks to one, or {MEASURED!r}")
    self._measured = None
    if measured is not None:
      self._measured = _arguments.check_lengths(
          name, measured, "None or a sequence of numbers greater than 0")
    # From the number of segments to numbers and line.
    self._known: Dict[int, Tuple[tuple, line_lib.Line]] = {}

  def __reduce__(self):
    return Lengths, (self._name, self.given, self._measured)

  def __deepcopy__(self, memo):
    return self

  @property
  def is_measured(self) -> bool:
    """Whether the user asked for measured lengths."""
    return isinstance(self.given, str) and self.given == MEASURED

  def with_measured(self,
                    measured: Optional[Sequence[line_lib.Number]]) -> "Lengths":
    """Returns lengths with other measured numbers, if these are asked for."""
    return (Lengths(self._name, self.given, measured) if self.is_measured
            else self)

  def _look_up(self, num_segments):
    """Returns `(numbers, line)`; None for equal lengths."""
    known = self._known.get(num_segments)
    if known is None:
      numbers = self._numbers(num_segments)
      if numbers is None:
        return None
      known = numbers, line_lib.Line(numbers)
      self._known[num_segments] = known
    return known

  def _numbers(self, num_segments):
    """Returns tuple of as many numbers, or None for equal lengths."""
    if self.given is None:
      return None
    if self.is_measured:
      # An iteration of other candidates: theirs have been forgotten.
      fits = self._measured and len(self._measured) == num_segments
      return self._measured if fits else None
    if not callable(self.given):
      numbers, source = self.given, self._name
    else:
      source = f"{self._name}({num_segments})"
      numbers = _arguments.check_lengths(
          source, self.given(num_segments),
          "a sequence of numbers greater than 0")
    if len(numbers) != num_segments:
      raise ValueError(
          f"{source}={_arguments.show(numbers)}: expected "
          f"num_subnetworks={num_segments} numbers, one for each subnetwork, "
          f"not {len(numbers)}. Iterations that differ need a function from "
          "num_subnetworks to them.")
    return numbers

  def numbers(self, num_segments: int) -> Sequence[line_lib.Number]:
    """Returns the lengths as they were given; ones if they are equal.

    Raises:
      TypeError: the user's function returned no numbers.
      ValueError: there are not as many numbers as segments.
    """
    known = self._look_up(num_segments)
    return (1,) * num_segments if known is None else known[0]

  def line(self, num_segments: int) -> line_lib.Line:
    """Returns the lengths end to end.

    Raises:
      TypeError, ValueError: as for `numbers`.
    """
    known = self._look_up(num_segments)
    return (line_lib.Line.of_equal(num_segments) if known is None else known[1])

  def __repr__(self):
    """Returns what was given; Python can evaluate all but a function's name."""
    if callable(self.given):
      return getattr(self.given, "__qualname__", type(self.given).__qualname__)
    return repr(self.given)

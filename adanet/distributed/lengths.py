# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a user says of costs and sizes, for any number of subnetworks."""

import fractions
from typing import Any, Callable, Dict, Optional, Sequence, Tuple, Union

from adanet.distributed import _arguments
from adanet.distributed import line as line_lib

#: Stands for numbers that the chief measures.
MEASURED = "measured"

#: What a user may give.
Given = Union[
    None, str, Sequence[line_lib.Number],
    Callable[[int], Sequence[line_lib.Number]]]
GivenEnsembleCost = Union[
    None, line_lib.Number, Callable[[int], line_lib.Number]]

#: A step of all ensembles runs the subnetworks forward: a third of what their
#: training takes, by J. Kaplan et al., "Scaling laws for neural language
#: models", 2020: 2 of 6 operations for each parameter.
FORWARD = fractions.Fraction(1, 3)


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
      numbers = self.given_numbers(num_segments)
      if numbers is None:
        return None
      known = numbers, line_lib.Line(numbers)
      self._known[num_segments] = known
    return known

  def given_numbers(
      self, num_segments: int) -> Optional[Sequence[line_lib.Number]]:
    """Returns as many numbers, or None for equal lengths.

    Raises:
      TypeError, ValueError: as for `numbers`.
    """
    if self.given is None:
      return None
    if self.is_measured:
      # An iteration of other candidates: theirs have been forgotten.
      fits = self._measured and len(self._measured) == num_segments
      return self._measured if fits else None
    numbers: Any = self.given
    source = self._name
    if callable(self.given):
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
    return _show(self.given)


def _show(given):
  """Returns what was given; Python can evaluate all but a function's name."""
  if callable(given):
    return getattr(given, "__qualname__", type(given).__qualname__)
  return repr(given)


class Work:
  """What a step of an iteration takes: of all ensembles, and each subnetwork.

  It does not change, so its deep copies are itself. It asks a user's function
  once for each number of subnetworks.

  Attributes:
    costs: the `Lengths` of the subnetworks.
    given: what a step of all ensembles takes, in the units of the costs: a
      number, a function from the number of subnetworks to one, or None. Then it
      is what was measured with the costs, or else `FORWARD` of their sum.
  """

  def __init__(self, costs: Lengths, given: GivenEnsembleCost,
               measured: Optional[line_lib.Number] = None):
    """Makes a value, and checks what was given.

    Args:
      costs: as the attribute.
      given: as the attribute.
      measured: number, what was measured with the costs.

    Raises:
      TypeError: an argument has a wrong type.
      ValueError: a number is not greater than 0.
    """
    self.costs = costs
    self.given = given
    self._measured = measured
    if not (given is None or callable(given)):
      self.given = _arguments.check_length(
          "ensemble_cost", given, "None, a number greater than 0, or a function "
          "from num_subnetworks to one")
    # From the number of subnetworks to what ensembles take, and the line.
    self._known: Dict[int, Tuple[line_lib.Number, line_lib.Line]] = {}

  def __reduce__(self):
    return Work, (self.costs, self.given, self._measured)

  def __deepcopy__(self, memo):
    return self

  def with_measured(self, costs: Optional[Sequence[line_lib.Number]],
                    ensemble_cost: Optional[line_lib.Number]) -> "Work":
    """Returns other measured numbers, if they are asked for."""
    return (Work(self.costs.with_measured(costs), self.given, ensemble_cost)
            if self.costs.is_measured else self)

  def ensemble_cost(self, num_subnetworks: int) -> line_lib.Number:
    """Returns what a step of all ensembles takes.

    Raises:
      TypeError: a user's function returned no number.
      ValueError: there are not as many costs as subnetworks, or the number is
        not greater than 0.
    """
    return self._look_up(num_subnetworks)[0]

  def line(self, num_subnetworks: int) -> line_lib.Line:
    """Returns the subnetworks end to end by cost, behind the ensembles.

    Raises:
      TypeError, ValueError: as for `ensemble_cost`.
    """
    return self._look_up(num_subnetworks)[1]

  def _look_up(self, num_subnetworks):
    known = self._known.get(num_subnetworks)
    if known is None:
      numbers = self.costs.given_numbers(num_subnetworks)
      total = (num_subnetworks if numbers is None else
               sum(map(fractions.Fraction, numbers)))
      cost = self._ensemble_cost(num_subnetworks, numbers, total)
      line = (line_lib.Line.of_equal(num_subnetworks, cost)
              if numbers is None else line_lib.Line(numbers, cost))
      self._known[num_subnetworks] = known = cost, line
    return known

  def _ensemble_cost(self, num_subnetworks, numbers, total):
    if callable(self.given):
      return _arguments.check_length(
          f"ensemble_cost({num_subnetworks})", self.given(num_subnetworks),
          "a number greater than 0")
    if self.given is not None:
      return self.given
    if self._measured is not None and numbers is not None:
      return self._measured
    return total * FORWARD

  def __repr__(self):
    """Returns the ensembles' cost as it was given."""
    return _show(self.given)

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the results of all parts say of their iteration together."""

from typing import Any, Callable, Dict, List, Mapping

from adanet.core import parts
from adanet.engines.executor import part_files
import numpy as np

_Results = Mapping[parts.Part, part_files.Result]


def check_nothing_is_shared(
    number: int, results: _Results,
    read: Callable[[part_files.Result, str], Any]) -> None:
  """Checks that no two parts have trained a variable, each its own copy.

  Args:
    number: int, the iteration's.
    results: dict from each `Part` to its `Result`.
    read: function from a `Result` and the name of a variable to its value.

  Raises:
    ValueError: some have.
  """
  owners: Dict[str, List[parts.Part]] = {}
  for part, result in results.items():
    for name in result.shareable:
      owners.setdefault(name, []).append(part)
  for name, owning in owners.items():
    if len(owning) == 1:
      continue
    first, *others = (read(results[part], name) for part in owning)
    if not all(np.array_equal(first, other) for other in others):
      sharing = map(part_files.part_name, owning)
      raise ValueError(
          f"iteration {number}: the builders {', '.join(map(repr, sharing))} "
          f"share the variable {name!r}, and on an executor each trains its "
          "own copy: give each builder its own, or train in one process")


def may_be_compared(results: _Results) -> bool:
  """Returns whether the candidates of all were evaluated on the same data."""
  first, *others = (result.compared for result in results.values())
  return all(map(first.may_be_compared_with, others))


def longest_first(results: _Results) -> List[part_files.Result]:
  """Returns results, that of the part which trained in most steps first.

  The previous ensemble, which all parts have, is taken from this one: in one
  process, too, it is run until the last subnetwork is done.
  """
  return sorted(results.values(), key=lambda result: -result.runs)


def of_first(results: _Results, get: Callable[
    [part_files.Result], Mapping[str, Any]]) -> Dict[str, Any]:
  """Returns the dicts of all results as one; see `longest_first`."""
  merged = {name: None for result in results.values() for name in get(result)}
  for result in reversed(longest_first(results)):
    merged.update(get(result))
  return merged

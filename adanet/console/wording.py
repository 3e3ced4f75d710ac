# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""The words of messages, tables and pictures: indices, tasks, printable text.

Tasks are named as TF_CONFIG does. To a strategy and a plan the chief is worker
0, and worker 1 is "worker:0".
"""

import operator
from typing import (
    Any, Callable, Dict, Hashable, Iterable, List, Sequence, Tuple, TypeVar)

from adanet import messages

#: The place of what is left out.
MARK = ".."

_Key = TypeVar("_Key", bound=Hashable)


def printable(text: str) -> str:
  """Returns a text of the same length that any terminal and any page shows.

  Control characters, which may begin an escape sequence, and all else that is
  not to be seen become "?", and whitespace becomes spaces.
  """
  return "".join(c if c.isprintable() else " " if c.isspace() else "?"
                 for c in text)


def cut(text: str, width: int) -> str:
  """Returns a text with at most this many characters, at least 5.

  Names often differ at their ends, so the middle is left out.
  """
  if len(text) <= width:
    return text
  tail = (width - len(MARK)) // 2
  return text[:width - len(MARK) - tail] + MARK + text[-tail:]


def all_printable(value: Any) -> Any:
  """Returns a value in which each str is as `printable` returns it.

  Args:
    value: str, tuple, named tuple or dict of such values; or anything else,
      which is returned as it is.
  """
  if isinstance(value, str):
    return printable(value)
  if isinstance(value, dict):
    return {all_printable(key): all_printable(part)
            for key, part in value.items()}
  if isinstance(value, tuple):
    parts = map(all_printable, value)
    return (type(value)(*parts) if hasattr(value, "_fields") else
            tuple(parts))
  return value


def _ranges(indices):
  """Returns increasing indices as ranges, each as long as can be.

  Two indices alone are a range only at the end: the second one may begin a
  longer range.
  """
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


def worker_names(num_workers: int, chief: str = "chief") -> List[str]:
  """Returns the names of a plan's workers: "chief:0", "worker:0", "worker:1"...

  Args:
    num_workers: int, with the chief.
    chief: str, the job of the chief: "chief" or "master".
  """
  return [chief + ":0"] + [f"worker:{w}" for w in range(num_workers - 1)]


def ps_name(index: int) -> str:
  """Returns the name of a parameter server of a plan."""
  return f"ps:{index}"


def workers_text(workers: Indices, names: Sequence[str]) -> str:
  """Returns `Indices` as text; ranges of workers begin after the chief."""
  name = names.__getitem__
  if 0 not in workers or len(workers) == 1:
    return workers.to_text(name)
  rest = Indices(workers[1:])
  return f"{name(0)}, {rest.to_text(name)}"


def trainers_text(num_workers: int) -> str:
  """Returns for example "chief and 3 workers" for `num_workers=4`."""
  if num_workers == 1:
    return "chief"
  return "chief and " + messages.count(f"{num_workers - 1:,}", "worker")


def cluster_text(num_workers: int, num_ps: int, num_subnetworks: int) -> str:
  """Returns the shape of a plan in words: "a chief and 3 workers, ..."."""
  return ", ".join(["a " + trainers_text(num_workers),
                    messages.count(f"{num_ps:,}", "parameter server"),
                    messages.count(f"{num_subnetworks:,}", "subnetwork")])

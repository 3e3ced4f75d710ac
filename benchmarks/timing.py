# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Times one statement against another, on a machine that does other things too.

Absolute times are not reliable there. So the two statements take turns, each
turn gives a ratio, and the median of the ratios is the result. Times are CPU
times of this process.
"""

import collections
import contextlib
import os
import statistics
import time
import timeit
from typing import NamedTuple

_MIN_TURN_SECS = .005
_WARM_UP_SECS = 1.


class Timing(NamedTuple):
  """The medians of the turns: seconds a call, and the ratio of the two."""
  secs: float
  ratio: float


def warm_up():
  """Keeps the processor busy for a while; an idle one is slow at first."""
  end = time.monotonic() + _WARM_UP_SECS
  while time.monotonic() < end:
    pass


def tree_cpu_secs():
  """Returns the CPU seconds of this process and of all that it has started.

  Also of those that have ended, if their parent has waited for them.
  """
  secs = {}
  children = collections.defaultdict(list)
  for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
    with contextlib.suppress(OSError):  # It has ended.
      with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        # The name, which may have blanks and brackets, is before them.
        fields = list(map(int, f.read().rpartition(")")[2].split()[1:]))
      children[fields[0]].append(pid)
      # Its user and system time, and those of its ended children.
      secs[pid] = sum(fields[10:14]) / os.sysconf("SC_CLK_TCK")
  pids = [os.getpid()]
  for pid in pids:
    pids += children[pid]
  return sum(secs[pid] for pid in pids)


def take_turns(functions, num_turns):
  """Returns the `Timing` of the first of two functions against the second.

  Args:
    functions: pair of functions; each returns the seconds of one call.
    num_turns: int, at least 2.
  """
  turns = []
  for turn in range(num_turns):
    # The second of the two finds warmer caches and more memory in use.
    order = (0, 1) if turn % 2 else (1, 0)
    secs = {i: functions[i]() for i in order}
    turns.append((secs[0], secs[1]))
  return summary(turns)


def in_turns(statement, baseline, names, num_turns):
  """Returns the `Timing` of a statement against a baseline.

  Args:
    statement: str.
    baseline: str.
    names: dict, the names that both use.
    num_turns: int, at least 2.
  """
  functions = []
  for code in (statement, baseline):
    timer = timeit.Timer(code, timer=time.process_time, globals=names)
    number = 1
    while timer.timeit(number) < _MIN_TURN_SECS:
      number *= 2
    functions.append(lambda t=timer, n=number: t.timeit(n) / n)
  return take_turns(functions, num_turns)


def standard_error(values):
  """Returns the standard error of the mean of a list of numbers."""
  return statistics.stdev(values) / len(values)**.5


def summary(turns):
  """Returns the `Timing` of a list of pairs of times, in seconds."""
  return Timing(statistics.median(secs for secs, _ in turns),
                statistics.median(secs / baseline for secs, baseline in turns))

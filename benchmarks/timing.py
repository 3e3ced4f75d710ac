# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Times one thing against another on a machine that does other things too.

No absolute time is trusted: the two take turns, each turn gives a ratio, and
the median of the ratios is what counts. The times are the process's own: what
others do in between is not in them.
"""

import collections
import statistics
import time
import timeit

_MIN_TURN_SECS = .005
_WARM_UP_SECS = 1.


def warm_up():
  """Keeps the processor busy for a while: one that has idled is slow at first.
  """
  end = time.monotonic() + _WARM_UP_SECS
  while time.monotonic() < end:
    pass


class Timing(
    collections.namedtuple("Timing", "secs baseline_secs ratio quartiles")):
  """What came out of the turns.

  Attributes:
    secs: float, the median time of one call, in seconds.
    baseline_secs: float, that of what it is held against.
    ratio: float, the median over the turns of the ratio of the two.
    quartiles: pair of float, between which half of the ratios are.
  """
  __slots__ = ()


def _calls_a_turn(timer):
  number = 1
  while timer.timeit(number) < _MIN_TURN_SECS:
    number *= 2
  return number


def in_turns(statement, baseline, names, num_turns):
  """Times a statement against a baseline.

  Args:
    statement: str, what is timed.
    baseline: str, what it is held against.
    names: dict, the names that the two use.
    num_turns: int, at least 2.

  Returns:
    A `Timing`.
  """
  timers = [timeit.Timer(s, timer=time.process_time, globals=names)
            for s in (statement, baseline)]
  numbers = [_calls_a_turn(timer) for timer in timers]
  turns = []
  for turn in range(num_turns):
    # Whoever is second inherits a warmer and a fuller process.
    order = (0, 1) if turn % 2 else (1, 0)
    secs = {i: timers[i].timeit(numbers[i]) / numbers[i] for i in order}
    turns.append((secs[0], secs[1]))
  return summary(turns)


def summary(turns):
  """Returns the `Timing` of a list of pairs of times, in seconds."""
  ratios = sorted(secs / baseline for secs, baseline in turns)
  quarter = len(ratios) // 4
  return Timing(
      statistics.median(secs for secs, _ in turns),
      statistics.median(baseline for _, baseline in turns),
      statistics.median(ratios), (ratios[quarter], ratios[-1 - quarter]))

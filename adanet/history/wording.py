# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What tables and pictures say of a search."""

import math
import os
from typing import Callable, List, Optional, Sequence

from adanet.history import records
from adanet.history import report as report_lib
from adanet.progress import event_text

_MIN_END = 6  # Characters.


def counted(number: int, noun: str) -> str:
  """Returns how many of something there are."""
  return "{} {}{}".format(number, noun, "" if number == 1 else "s")


def result(report: report_lib.Report) -> str:
  """Returns the result of a search as one line of any length."""
  if not report.iterations:
    return "No iteration has ended yet."
  last = report.iterations[-1]
  final = report.final
  text = "{} won".format(last.winner)
  if final is not None and final.value is not None:
    text += " with {} {:.6g}".format(last.metric_name, final.value)
  # With force_grow=False an ensemble may be older than the last iteration.
  text += " after " + counted(len(report.iterations), "iteration")
  if last.global_step is not None:
    text += ", " + counted(last.global_step, "step")
  if report.seconds is not None:
    text += ", " + event_text.duration(report.seconds)
  if final is not None:
    text += ": " + counted(len(final.subnetworks), "subnetwork")
  return text + "."


def best_first(record: records.IterationRecord
              ) -> List[records.CandidateRecord]:
  """Returns the candidates of an iteration: the winner, then by their values.
  """
  winning = record.winning
  # Without a direction of better: values farther from the winner's are worse.
  best = winning.value if winning and winning.value is not None else 0.

  def key(candidate):
    value = candidate.value
    is_number = value is not None and not math.isnan(value)
    return (candidate.name != record.winner, not is_number,
            abs(value - best) if is_number else 0.)

  return sorted(record.candidates, key=key)


def common_end(names: Sequence[str]) -> str:
  """Returns what all names end with, from a "_" on; "" if it is not long."""
  if len(names) < 2:
    return ""
  end = os.path.commonprefix([name[::-1] for name in names])[::-1]
  end = end[end.find("_"):] if "_" in end else ""
  if len(end) < _MIN_END or any(len(end) >= len(name) for name in names):
    return ""
  return end


def span(values: Sequence[Optional[float]],
         to_text: Callable[[float], str]) -> str:
  """Returns the least and the greatest value, as text."""
  known = [value for value in values if value is not None]
  if not known:
    return ""
  texts = [to_text(min(known)), to_text(max(known))]
  return texts[0] if texts[0] == texts[1] else " to ".join(texts)

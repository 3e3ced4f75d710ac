# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""What tables and pictures say of a search."""

import math
from typing import Callable, List, Optional, Sequence, Set

from adanet.history import records
from adanet.history import report as report_lib
from adanet.progress import event_text
from adanet.progress import names as names_lib


def counted(number: int, noun: str) -> str:
  """Returns how many of something there are."""
  return f"{number} {noun}{'' if number == 1 else 's'}"


def names_of(record: records.IterationRecord) -> names_lib.Names:
  """Returns the short names of an iteration."""
  return names_lib.Names(c.name for c in record.candidates)


def ensembles_of(report: report_lib.Report) -> Set[str]:
  """Returns the names of all ensembles, also of an iteration under way."""
  return {c.name for record in report.iterations
          for c in record.candidates}.union(
              *[task.ensembles for task in report.tasks])


def result(report: report_lib.Report) -> str:
  """Returns the result of a search as one line of any length."""
  if not report.iterations:
    return "No iteration has ended yet."
  last = report.iterations[-1]
  final = report.final
  text = f"{names_of(last).short(last.winner)} won"
  if final is not None and final.value is not None:
    text += f" with {last.metric_name} {final.value:.6g}"
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


def span(values: Sequence[Optional[float]],
         to_text: Callable[[float], str]) -> str:
  """Returns the least and the greatest value, as text."""
  known = [value for value in values if value is not None]
  if not known:
    return ""
  texts = [to_text(min(known)), to_text(max(known))]
  return texts[0] if texts[0] == texts[1] else " to ".join(texts)

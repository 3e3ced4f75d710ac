# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A report as tables, for a terminal or a file.

Lines of plain text have at most 80 columns, but for long names of tasks. Of
many candidates the best are shown, and tasks that did the same share a row.
"""

import io
import math
import os
import textwrap
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from adanet.distributed import plan as plan_lib
from adanet.distributed.plan import console as console_lib
from adanet.history import records
from adanet.history import report as report_lib
from adanet.progress import event_text
from rich import console as rich_console
from rich import text as rich_text

_WIDTH = 80
# A row of rich's on a terminal has lines and spaces between its cells.
_FRAME = 3
_MAX_ROWS = 20
_MAX_NAMES = 12
_MAX_NAMES_OF_LOSER = 3
_MAX_INDICES = 4
_MIN_END = 6  # Characters.
_NAME_WIDTH = 42


def _wrapped(parts: Sequence[str], width: int) -> str:
  """Returns parts with commas between them, as lines of at most this width."""
  lines: List[str] = []
  for i, part in enumerate(parts):
    part = event_text.shortened(part, width - 1) + "," * (i + 1 < len(parts))
    if lines and len(lines[-1]) + 1 + len(part) <= width:
      lines[-1] += " " + part
    else:
      lines.append(part)
  return "\n".join(lines)


def _few(parts: Sequence[str]) -> List[str]:
  """Returns the first parts, and how many more there are."""
  if len(parts) <= _MAX_NAMES:
    return list(parts)
  return list(parts[:_MAX_NAMES]) + [
      "and {} more".format(len(parts) - _MAX_NAMES)]


def _number(value: Optional[float]) -> str:
  return "" if value is None else "{:.4g}".format(value)


def _counted(number: int, noun: str) -> str:
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
  text += " after " + _counted(len(report.iterations), "iteration")
  if last.global_step is not None:
    text += ", " + _counted(last.global_step, "step")
  if report.seconds is not None:
    text += ", " + event_text.duration(report.seconds)
  if final is not None:
    text += ": " + _counted(len(final.subnetworks), "subnetwork")
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


def _subnetwork_texts(candidate, is_winner):
  """Returns the subnetworks of a candidate; of a loser, the newest."""
  weights = candidate.weights or (None,) * len(candidate.subnetworks)
  texts = [
      name if weight is None else "{} x {:.3g}".format(name, weight)
      for name, weight in zip(candidate.subnetworks, weights)]
  if is_winner or len(texts) <= _MAX_NAMES_OF_LOSER:
    return _few(texts)
  return texts[-_MAX_NAMES_OF_LOSER:] + ["and {} more".format(
      len(texts) - _MAX_NAMES_OF_LOSER)]


def common_end(names: Sequence[str]) -> str:
  """Returns what all names end with, from a "_" on; "" if it is not long."""
  if len(names) < 2:
    return ""
  end = os.path.commonprefix([name[::-1] for name in names])[::-1]
  end = end[end.find("_"):] if "_" in end else ""
  if len(end) < _MIN_END or any(len(end) >= len(name) for name in names):
    return ""
  return end


def _candidates_table(record: records.IterationRecord) -> Any:
  """Returns the table of the candidates of an iteration, the best first."""
  shown = best_first(record)
  rest = shown[_MAX_ROWS:]
  shown = shown[:_MAX_ROWS]
  end = common_end([c.name for c in record.candidates])
  names = [event_text.shortened(c.name[:len(c.name) - len(end)], _NAME_WIDTH)
           for c in shown]
  values = [_number(c.value) for c in shown]
  width = _WIDTH - max([9] + [len(name) + 2 for name in names]) - _FRAME * 3 - 1
  columns = ["candidate"]
  has_values = any(values)
  if has_values:
    columns.append(">" + record.metric_name)
    width -= max(map(len, values + [record.metric_name]))
  columns.append("made of, x mean weight" if any(
      weight is not None for c in shown for weight in c.weights) else "made of")
  table = console_lib.new_table(*columns)
  for candidate, name, value in zip(shown, names, values):
    is_winner = candidate.name == record.winner
    console_lib.add_row(
        table, ("* " if is_winner else "  ") + name, *[value] * has_values,
        _wrapped(_subnetwork_texts(candidate, is_winner), max(width, 12)),
        style="bold green" if is_winner else None)
  if rest:
    console_lib.add_row(
        table, "  and {}".format(_counted(len(rest), "more candidate")),
        *[""] * (len(columns) - 1))
  return table


def _iteration_parts(record: records.IterationRecord) -> List[Any]:
  """Returns the heading, the candidates and the subnetworks of an iteration."""
  facts = [_counted(len(record.candidates), "candidate")]
  end = common_end([c.name for c in record.candidates])
  if end:
    facts[0] += " named ..." + end
  if record.global_step is not None:
    facts.append("to step {}".format(record.global_step))
  if record.seconds is not None:
    facts.append(event_text.duration(record.seconds))
  notes = []
  if record.reason:
    notes.append(textwrap.fill("Nothing was compared: {}.".format(
        record.reason.rstrip(".")), _WIDTH))
  trained = [
      "{} ({}{})".format(
          name, _counted(s.steps, "step"),
          "" if s.loss is None else ", loss {:.4g}".format(s.loss))
      for name, s in record.subnetworks.items()]
  if trained:
    trained[0] = "Trained: " + trained[0]
    notes.append(_wrapped(_few(trained), _WIDTH))
  parts = [
      rich_text.Text(textwrap.fill("Iteration {}: {}".format(
          record.iteration, ", ".join(facts)), _WIDTH), style="bold"),
      _candidates_table(record)]
  return parts + [rich_text.Text("\n".join(notes))] * bool(notes)


class _Task:
  """What a task did in all iterations."""

  def __init__(self, task):
    self.kind, _, self.index = task.partition(":")
    self.trained: Dict[str, int] = {}
    self.steps = 0
    self.seconds = 0.
    self.bytes: Optional[int] = None

  def add(self, record: records.TaskRecord) -> None:
    """Adds the record of an iteration."""
    for name, steps in record.trained.items():
      self.trained[name] = self.trained.get(name, 0) + steps
    self.steps += record.steps
    self.seconds += record.seconds
    if record.bytes is not None:
      self.bytes = max(record.bytes, self.bytes or 0)

  @property
  def speed(self) -> Optional[float]:
    """Its steps a second; None if it takes none."""
    return self.steps / self.seconds if self.steps and self.seconds else None


def tasks_of(report: report_lib.Report) -> List[List[_Task]]:
  """Returns the tasks of a search: lists of those that did the same.

  If there are many different ones, tasks share a list if they trained as many
  subnetworks and ensembles.
  """
  tasks: Dict[str, _Task] = {}
  for record in report.tasks:
    tasks.setdefault(record.task, _Task(record.task)).add(record)
  keys: Sequence[Callable[[_Task], Any]] = (
      lambda task: (task.kind, tuple(sorted(task.trained))),
      lambda task: (task.kind, len(task.trained)),
      lambda task: task.kind)
  groups: Dict[Any, List[_Task]] = {}
  for key in keys:
    groups = {}
    for task in tasks.values():
      groups.setdefault(key(task), []).append(task)
    if len(groups) <= _MAX_ROWS:
      break
  kinds = list(dict.fromkeys(task.kind for task in tasks.values()))
  return sorted(groups.values(), key=lambda group: kinds.index(group[0].kind))


def name_of(group: Sequence[_Task]) -> str:
  """Returns the names of tasks of the same kind."""
  indices = plan_lib.Indices(sorted(
      int(task.index) for task in group if task.index))
  if not indices:
    return group[0].kind
  if len(indices) > _MAX_INDICES and len(indices.ranges) == 1:
    run = indices.ranges[0]
    text_of_run = "{} to {}".format(run[0], run[-1])
    if run.step > 1:
      text_of_run += " by {}".format(run.step)
    return "{}:{}".format(group[0].kind, text_of_run)
  return "{}:{}".format(group[0].kind, indices.to_text())


def span(values: Sequence[Optional[float]],
         to_text: Callable[[float], str]) -> str:
  """Returns the least and the greatest value, as text."""
  known = [value for value in values if value is not None]
  if not known:
    return ""
  texts = [to_text(min(known)), to_text(max(known))]
  return texts[0] if texts[0] == texts[1] else " to ".join(texts)


def _trained_text(group, ensembles, width):
  """Returns what each task of a group trained."""
  names = list(group[0].trained)
  subnetworks = [name for name in names if name not in ensembles]
  if any(set(task.trained) != set(names) for task in group):
    return span([len(task.trained) for task in group], "{:.0f}".format
               ) + " names each"
  parts = _few(subnetworks)
  number = len(names) - len(subnetworks)
  return _wrapped(
      parts + [_counted(number, "ensemble")] * bool(number), width)


def _tasks_parts(report: report_lib.Report) -> List[Any]:
  """Returns the heading and the table of the tasks; nothing if none is known.
  """
  groups = tasks_of(report)
  if not groups:
    return []
  number = sum(map(len, groups))
  ensembles = {c.name for record in report.iterations
               for c in record.candidates}
  rows: List[Tuple[str, List[_Task], List[str]]] = []
  for group in groups:
    rows.append((name_of(group), group, [
        span([task.steps or None for task in group], "{:.0f}".format),
        span([task.speed for task in group], "{:.3g}".format),
        span([None if task.bytes is None else task.bytes / 1e6
              for task in group], "{:.3g}".format)]))
  headings = ["task", "steps", "steps/s", "MB"]
  first = [_wrapped(name.split(", "), 24) for name, _, _ in rows]
  width = _WIDTH - 5 * _FRAME - 1 - max(
      len(line) for text in first + [headings[0]] for line in text.split("\n"))
  for i, heading in enumerate(headings[1:]):
    width -= max([len(heading)] + [len(figures[i]) for _, _, figures in rows])
  table = console_lib.new_table("task", "trained", ">steps", ">steps/s", ">MB")
  for name, (_, group, figures) in zip(first, rows):
    console_lib.add_row(
        table, name, _trained_text(group, ensembles, max(width, 20)), *figures)
  return [rich_text.Text(_counted(number, "task"), style="bold"), table,
          rich_text.Text(
              "steps: of its training loop. MB: of the variables that it builds "
              "or holds.", style="dim")]


def show(report: report_lib.Report, console: rich_console.Console) -> None:
  """Prints a report.

  Args:
    report: `Report`.
    console: a `rich.console.Console`. If it is no terminal, the output is plain
      text.
  """
  parts: List[Any] = [rich_text.Text(
      textwrap.fill(result(report), _WIDTH, break_on_hyphens=False),
      style="bold")]
  for record in report.iterations:
    parts += _iteration_parts(record)
  parts += _tasks_parts(report)
  console_lib.print_parts(console, parts)


def text(report: report_lib.Report) -> str:
  """Returns a report as plain text."""
  output = io.StringIO()
  show(report, rich_console.Console(
      file=output, width=_WIDTH, color_system=None, force_terminal=False))
  return output.getvalue()

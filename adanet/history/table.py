# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A report as tables, for a terminal or a file.

Lines of plain text have at most 80 columns, but for long names of tasks. Of
many candidates the best are shown, and tasks that did the same share a row.
"""

import io
import textwrap
from typing import Any, List, Optional, Sequence, Tuple

from adanet.distributed.plan import console as console_lib
from adanet.history import groups as groups_lib
from adanet.history import records
from adanet.history import report as report_lib
from adanet.history import wording
from adanet.progress import event_text
from rich import console as rich_console
from rich import text as rich_text

_WIDTH = 80
# A row of rich's on a terminal has lines and spaces between its cells.
_FRAME = 3
_MAX_ROWS = 20
_NUM_OF_MANY = 5
_MAX_NAMES = 12
_MAX_NAMES_OF_LOSER = 3
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


def _candidates_table(record: records.IterationRecord) -> Any:
  """Returns the table of the candidates of an iteration, the best first."""
  shown = wording.best_first(record)
  number = _MAX_ROWS if len(shown) <= _MAX_ROWS else _NUM_OF_MANY
  rest = shown[number:]
  shown = shown[:number]
  end = wording.common_end([c.name for c in record.candidates])
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
        table, "  and {}".format(wording.counted(len(rest), "more candidate")),
        *[""] * (len(columns) - 1))
  return table


def _iteration_parts(record: records.IterationRecord) -> List[Any]:
  """Returns the heading, the candidates and the subnetworks of an iteration."""
  facts = [wording.counted(len(record.candidates), "candidate")]
  end = wording.common_end([c.name for c in record.candidates])
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
          name, wording.counted(s.steps, "step"),
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


def _trained_text(group, ensembles, width):
  """Returns what each task of a group trained."""
  names = list(group[0].trained)
  subnetworks = [name for name in names if name not in ensembles]
  if any(set(task.trained) != set(names) for task in group):
    return wording.span([len(task.trained) for task in group], "{:.0f}".format
               ) + " names each"
  parts = _few(subnetworks)
  number = len(names) - len(subnetworks)
  return _wrapped(
      parts + [wording.counted(number, "ensemble")] * bool(number), width)


def _tasks_parts(report: report_lib.Report) -> List[Any]:
  """Returns the heading and the table of the tasks; nothing if none is known.
  """
  tasks = groups_lib.tasks_of(report.tasks)
  if not tasks:
    return []
  groups = groups_lib.grouped(tasks, _MAX_ROWS)
  ensembles = {c.name for record in report.iterations
               for c in record.candidates}
  rows: List[Tuple[str, List[groups_lib.Task], List[str]]] = []
  for group in groups:
    rows.append((groups_lib.name_of(group), group, [
        wording.span([task.steps or None for task in group], "{:.0f}".format),
        wording.span([task.speed for task in group], "{:.3g}".format),
        wording.span([None if task.bytes is None else task.bytes / 1e6
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
  return [
      rich_text.Text(wording.counted(len(tasks), "task"), style="bold"), table,
      rich_text.Text(
          "steps: of its training loop. MB: of the variables that it builds or "
          "holds.", style="dim")]


def show(report: report_lib.Report, console: rich_console.Console) -> None:
  """Prints a report.

  Args:
    report: `Report`.
    console: a `rich.console.Console`. If it is no terminal, the output is plain
      text.
  """
  parts: List[Any] = [rich_text.Text(
      textwrap.fill(wording.result(report), _WIDTH, break_on_hyphens=False),
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

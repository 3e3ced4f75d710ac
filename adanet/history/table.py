# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A report as tables, for a terminal or a file.

Lines have at most 80 columns, but for long names of tasks. Of many candidates
the best are shown, and tasks that did the same share a row.
"""

import io
import shutil
import textwrap
from typing import (
    Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple)

from adanet.console import tables
from adanet.history import groups as groups_lib
from adanet.history import records
from adanet.history import report as report_lib
from adanet.history import wording
from adanet.progress import event_text
from adanet.progress import names as names_lib
from rich import console as rich_console
from rich import text as rich_text

_MAX_WIDTH = 80
_MIN_WIDTH = 60
_NO_BREAK = "\xa0"  # A space at which no line ends.
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
    part = names_lib.cut(part, width - 1) + "," * (i + 1 < len(parts))
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
      f"and {len(parts) - _MAX_NAMES} more"]


def _number(value: Optional[float]) -> str:
  return "" if value is None else f"{value:.4g}"


def _subnetwork_texts(candidate, is_winner):
  """Returns the subnetworks of a candidate; of a loser, the newest."""
  weights = candidate.weights or (None,) * len(candidate.subnetworks)
  texts = [
      name if weight is None else f"{name} x {weight:.3g}"
      for name, weight in zip(candidate.subnetworks, weights)]
  if is_winner or len(texts) <= _MAX_NAMES_OF_LOSER:
    return _few(texts)
  return texts[-_MAX_NAMES_OF_LOSER:] + ["and "
                                         f"{len(texts) - _MAX_NAMES_OF_LOSER} "
                                         "more"]


def _candidates_table(record: records.IterationRecord, width: int) -> Any:
  """Returns the table of the candidates of an iteration, the best first."""
  shown = wording.best_first(record)
  number = _MAX_ROWS if len(shown) <= _MAX_ROWS else _NUM_OF_MANY
  rest = shown[number:]
  shown = shown[:number]
  short = wording.names_of(record).short
  names = [short(c.name, min(_NAME_WIDTH, width // 2)) for c in shown]
  values = [_number(c.value) for c in shown]
  width -= max([9] + [len(name) + 2 for name in names]) + _FRAME * 3 + 1
  columns = ["candidate"]
  has_values = any(values)
  if has_values:
    columns.append(">" + record.metric_name)
    width -= max(map(len, values + [record.metric_name]))
  columns.append("made of, x mean weight" if any(
      weight is not None for c in shown for weight in c.weights) else "made of")
  table = tables.new_table(*columns)
  for candidate, name, value in zip(shown, names, values):
    is_winner = candidate.name == record.winner
    tables.add_row(
        table, ("* " if is_winner else "  ") + name, *[value] * has_values,
        _wrapped(_subnetwork_texts(candidate, is_winner), max(width, 12)),
        style="bold green" if is_winner else None)
  if rest:
    tables.add_row(
        table, f"  and {wording.counted(len(rest), 'more candidate')}",
        *[""] * (len(columns) - 1))
  return table


def _listed(title: str, items: Sequence[Tuple[str, Sequence[str]]],
            width: int) -> Iterator[str]:
  """Yields lines with names and what is known of each, if there are any."""
  parts = [f"{name} ({', '.join(facts)})" for name, facts in items]
  if parts:
    parts[0] = f"{title}: {parts[0]}"
    yield _wrapped(_few(parts), width)


def _trained_notes(subnetworks: Mapping[str, records.SubnetworkRecord],
                   width: int) -> Iterator[str]:
  """Yields what is known of the subnetworks that trained in an iteration."""
  def known(*pairs):
    """Returns the subnetworks of which something is known, and what."""
    found = [(name, [text.format(value) for text, value in (
        (text, of(s)) for text, of in pairs) if value is not None])
             for name, s in subnetworks.items()]
    return [(name, facts) for name, facts in found if facts]

  yield from _listed("Trained", known(
      ("{}", lambda s: wording.counted(s.steps, "step")),
      ("loss {:.4g}", lambda s: s.loss)), width)
  yield from _listed("Measured", known(
      ("{:.3g} ms a step", lambda s: s.measured_seconds and
       s.measured_seconds * 1e3),
      ("{:.3g} MB", lambda s: s.measured_bytes and s.measured_bytes / 1e6)),
                     width)
  yield from _listed("As the builders say", known(
      ("cost {:.4g}", lambda s: s.stated_cost),
      ("size {:.4g}", lambda s: s.stated_size)), width)


def _evaluation_note(evaluation: records.EvaluationRecord,
                     names: names_lib.Names, width: int) -> str:
  """Returns the metrics of an evaluation."""
  metrics = ", ".join(f"{name}{_NO_BREAK}{value:.4g}"
                      for name, value in evaluation.metrics.items())
  return textwrap.fill("Evaluated {} at step {}{}: {}".format(
      names.short(evaluation.ensemble), evaluation.global_step,
      f" ({evaluation.name})" * bool(evaluation.name), metrics),
                       width, break_on_hyphens=False).replace(_NO_BREAK, " ")


def _iteration_parts(record: records.IterationRecord,
                     evaluations: Sequence[records.EvaluationRecord],
                     width: int) -> List[Any]:
  """Returns the heading, the candidates and the notes of an iteration."""
  names = wording.names_of(record)
  facts = [wording.counted(len(record.candidates), "candidate") +
           names.meaning]
  if record.global_step is not None:
    facts.append(f"to step {record.global_step}")
  if record.seconds is not None:
    facts.append(event_text.duration(record.seconds))
  notes = []
  if record.reason:
    notes.append(textwrap.fill("Nothing was compared: "
                               f"{record.reason.rstrip('.')}.", width))
  notes.extend(_trained_notes(record.subnetworks, width))
  notes.extend(_evaluation_note(evaluation, names, width)
               for evaluation in evaluations)
  parts = [
      rich_text.Text(textwrap.fill(f"Iteration {record.iteration}: "
                                   f"{', '.join(facts)}", width), style="bold"),
      _candidates_table(record, width)]
  return parts + [rich_text.Text("\n".join(notes))] * bool(notes)


def _under_way_parts(report: report_lib.Report, width: int) -> List[Any]:
  """Returns what is known of the iteration that has not ended, if there is one.
  """
  number = len(report.iterations) and report.iterations[-1].iteration + 1
  tasks = [task for task in report.tasks if task.iteration == number]
  evaluations = [evaluation for evaluation in report.evaluations
                 if evaluation.iteration == number]
  if not tasks and not evaluations:
    return []
  names = names_lib.Names(name for task in tasks for name in task.ensembles)
  trained: Dict[str, records.SubnetworkRecord] = {}
  for task in tasks:
    for name, steps in task.trained.items():
      if name not in task.ensembles:
        before = trained.get(name, records.SubnetworkRecord(0))
        trained[name] = records.SubnetworkRecord(before.steps + steps)
  ended = records.IterationRecord(number, (), "", subnetworks=trained)
  notes = list(_trained_notes(
      records.with_losses(ended, tasks).subnetworks, width))
  notes.extend(_evaluation_note(evaluation, names, width)
               for evaluation in evaluations)
  return [rich_text.Text(f"Iteration {number} has not ended",
                         style="bold")] + [
                             rich_text.Text("\n".join(notes))] * bool(notes)


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


def _tasks_parts(report: report_lib.Report, width: int) -> List[Any]:
  """Returns the heading and the table of the tasks; nothing if none is known.
  """
  tasks = groups_lib.tasks_of(report.tasks)
  if not tasks:
    return []
  groups = groups_lib.grouped(tasks, _MAX_ROWS)
  ensembles = wording.ensembles_of(report)
  rows: List[Tuple[str, List[groups_lib.Task], List[str]]] = []
  for group in groups:
    rows.append((groups_lib.name_of(group), group, [
        wording.span([task.steps or None for task in group], "{:.0f}".format),
        wording.span([task.speed for task in group], "{:.3g}".format),
        wording.span([None if task.bytes is None else task.bytes / 1e6
              for task in group], "{:.3g}".format)]))
  headings = ["task", "steps", "steps/s", "MB"]
  first = [_wrapped(name.split(", "), 24) for name, _, _ in rows]
  total_width = width
  width -= 5 * _FRAME + 1 + max(
      len(line) for text in first + [headings[0]] for line in text.split("\n"))
  for i, heading in enumerate(headings[1:]):
    width -= max([len(heading)] + [len(figures[i]) for _, _, figures in rows])
  table = tables.new_table("task", "trained", ">steps", ">steps/s", ">MB")
  for name, (_, group, figures) in zip(first, rows):
    tables.add_row(
        table, name, _trained_text(group, ensembles, max(width, 20)), *figures)
  return [
      rich_text.Text(wording.counted(len(tasks), "task"), style="bold"), table,
      rich_text.Text(textwrap.fill(
          "steps: of its training loop. MB: of the variables that it builds or "
          "holds.", total_width), style="dim")]


def show(report: report_lib.Report, console: rich_console.Console) -> None:
  """Prints a report.

  Args:
    report: `Report`.
    console: a `rich.console.Console`. If it is no terminal, the output is plain
      text.
  """
  width = max(_MIN_WIDTH, min(_MAX_WIDTH, console.width))
  parts: List[Any] = [rich_text.Text(
      textwrap.fill(wording.result(report), width, break_on_hyphens=False),
      style="bold")]
  for record in report.iterations:
    parts += _iteration_parts(record, [
        evaluation for evaluation in report.evaluations
        if evaluation.iteration == record.iteration], width)
  parts += _under_way_parts(report, width)
  parts += _tasks_parts(report, width)
  tables.print_parts(console, parts)


def text(report: report_lib.Report) -> str:
  """Returns a report as plain text."""
  output = io.StringIO()
  show(report, rich_console.Console(
      file=output, color_system=None, force_terminal=False,
      width=shutil.get_terminal_size((_MAX_WIDTH, 24)).columns))
  return output.getvalue()

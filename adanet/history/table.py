# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A report as tables, for a terminal, a file or a web page.

Lines have at most 80 columns, unless a task's name is long. Of many candidates
the best are shown, and tasks that did the same share a row.
"""

import collections
import io
import shutil
import textwrap
from typing import (Any, Counter, Iterator, List, Mapping, Optional,
                    Sequence, Tuple)

from adanet.console import tables
from adanet.console import wording
from adanet.history import overview
from adanet.history import records
from adanet import messages
from adanet.progress import event_text
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
_MIN_NAME_WIDTH = 12


def _filled(text: str, width: int) -> str:
  """Returns a text as lines of at most this width."""
  return textwrap.fill(text, width, break_on_hyphens=False).replace(
      _NO_BREAK, " ")


def _wrapped(parts: Sequence[str], width: int) -> str:
  """Returns parts with commas between them, as lines of at most this width."""
  return _filled(", ".join(
      wording.cut(part, width - 1).replace(" ", _NO_BREAK)
      for part in parts), width)


def _few(parts: Sequence[str]) -> List[str]:
  """Returns the first parts, and how many more there are."""
  more = len(parts) - _MAX_NAMES
  return [*parts[:_MAX_NAMES]] + [f"and {more} more"] * (more > 0)


def _bold(text: str, width: int) -> rich_text.Text:
  return rich_text.Text(_filled(text, width), style="bold")


def _number(value: Optional[float]) -> str:
  return "" if value is None else f"{value:.4g}"


def _subnetwork_texts(candidate: records.CandidateRecord,
                      is_winner: bool) -> List[str]:
  """Returns the subnetworks of a candidate; of a loser, the newest."""
  weights = candidate.weights or (None,) * len(candidate.subnetworks)
  texts = [
      name if weight is None else f"{name} x {weight:.3g}"
      for name, weight in zip(candidate.subnetworks, weights)]
  older = len(texts) - _MAX_NAMES_OF_LOSER
  if is_winner or older <= 0:
    return _few(texts)
  return texts[older:] + [f"and {older} more"]


def _candidates_table(record: records.IterationRecord, width: int) -> Any:
  """Returns the table of the candidates of an iteration, the best first."""
  shown = overview.best_first(record)
  number = _MAX_ROWS if len(shown) <= _MAX_ROWS else _NUM_OF_MANY
  rest = len(shown) - number
  shown = shown[:number]
  short = overview.names_of(record).short
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
  if rest > 0:
    tables.add_row(table, f"  and {messages.count(rest, 'more candidate')}",
                   *[""] * (len(columns) - 1))
  return table


def _seconds(value: Optional[float]) -> str:
  return "" if value is None else messages.short_duration(value)


def _networks_tables(record: records.IterationRecord, width: int) -> List[Any]:
  """Returns the table of the networks that trained in an iteration, if any."""
  networks = list(overview.networks_best_first(record).items())
  number = _MAX_ROWS if len(networks) <= _MAX_ROWS else _NUM_OF_MANY
  rest, networks = len(networks) - number, networks[:number]
  if not networks:
    return []
  winning = record.winning or records.CandidateRecord("")
  members = dict(zip(winning.subnetworks, winning.weights or (
      None,) * len(winning.subnetworks)))
  columns = [(heading, cells) for heading, cells in (
      (">weight", ["" if members.get(name) is None else
                   f"{members[name]:.3g}" for name, _ in networks]),
      (">held-out loss", [_number(n.held_out_loss) for _, n in networks]),
      (">loss", [_number(n.loss) for _, n in networks]),
      (">steps", [str(n.steps or "not trained") for _, n in networks]),
      (">time", [_seconds(n.seconds) for _, n in networks])) if any(cells)]
  left = width - _FRAME - 1 - len("* ") - sum(
      max(map(len, [heading[1:]] + cells)) + _FRAME
      for heading, cells in columns)
  name_width = max(_MIN_NAME_WIDTH, min(_NAME_WIDTH, width // 3, left))
  columns.insert(0, ("network", [
      ("* " if name in members else "  ") + wording.cut(name, name_width)
      for name, _ in networks]))
  table = tables.new_table(*(heading for heading, _ in columns))
  for row in zip(*(cells for _, cells in columns)):
    tables.add_row(table, *row,
                   style="bold green" if row[0].startswith("*") else None)
  if rest > 0:
    tables.add_row(table, f"  and {messages.count(rest, 'more network')}",
                   *[""] * (len(columns) - 1))
  return [table]


def _cost_notes(subnetworks: Mapping[str, records.SubnetworkRecord],
                width: int) -> Iterator[str]:
  """Yields the known costs of subnetworks."""
  for title, facts_of in (
      ("Measured", lambda s: [
          s.measured_seconds is not None and
          f"{s.measured_seconds * 1e3:.3g} ms a step",
          s.measured_bytes is not None and
          f"{s.measured_bytes / 1e6:.3g} MB"]),
      ("As the builders say", lambda s: [
          s.stated_cost is not None and f"cost {s.stated_cost:.4g}",
          s.stated_size is not None and f"size {s.stated_size:.4g}"])):
    known = {name: [fact for fact in facts_of(subnetwork) if fact]
             for name, subnetwork in subnetworks.items()}
    parts = [f"{name} ({', '.join(facts)})"
             for name, facts in known.items() if facts]
    if parts:
      yield _wrapped(_few([f"{title}: {parts[0]}"] + parts[1:]), width)


def _notes(subnetworks: Mapping[str, records.SubnetworkRecord],
           search: records.Records, iteration: int, names: event_text.Names,
           width: int) -> List[str]:
  """Returns what is known of an iteration's subnetworks, and its evaluations.
  """
  notes = list(_cost_notes(subnetworks, width))
  for evaluation in search.evaluations:
    if evaluation.iteration == iteration:
      metrics = ", ".join(f"{name}{_NO_BREAK}{value:.4g}"
                          for name, value in evaluation.metrics.items())
      name = f" ({evaluation.name})" if evaluation.name else ""
      notes.append(_filled(
          f"Evaluated {names.short(evaluation.ensemble)} at step "
          f"{evaluation.global_step}{name}: {metrics}", width))
  return notes


def _iteration_parts(record: records.IterationRecord, search: records.Records,
                     width: int) -> List[Any]:
  """Returns the heading, the candidates and the notes of an iteration."""
  names = overview.names_of(record)
  facts = [messages.count(len(record.candidates), "candidate") + names.meaning]
  if record.global_step is not None:
    facts.append(f"to step {record.global_step}")
  if record.seconds is not None:
    facts.append(messages.duration(record.seconds))
  parts = [_bold(f"Iteration {record.iteration}: {', '.join(facts)}", width),
           _candidates_table(record, width)]
  if record.reason:
    parts.append(rich_text.Text(_filled(
        f"Nothing was compared: {record.reason.rstrip('.')}.", width)))
  if record.fit is not None:
    parts.append(rich_text.Text(_filled(record.fit.message(), width)))
  parts += _networks_tables(record, width)
  notes = _notes(record.subnetworks, search, record.iteration, names, width)
  return parts + [rich_text.Text("\n".join(notes))] * bool(notes)


def _under_way_parts(search: records.Records, width: int) -> List[Any]:
  """Returns the known facts about the iteration that has not ended, if any.
  """
  number = len(search.iterations) and search.iterations[-1].iteration + 1
  tasks = [task for task in search.tasks if task.iteration == number]
  names = event_text.Names(name for task in tasks for name in task.ensembles)
  steps: Counter[str] = collections.Counter()
  for task in tasks:
    steps.update({name: count for name, count in task.trained.items()
                  if name not in task.ensembles})
  if search.undecided is not None:
    steps.update(dict.fromkeys(search.undecided.untrained, 0))
  so_far = records.with_tasks(records.IterationRecord(
      number, (), "", subnetworks={
          name: records.SubnetworkRecord(count)
          for name, count in steps.items()}), tasks)
  notes = _notes(so_far.subnetworks, search, number, names, width)
  if search.undecided is not None:
    notes.append(_filled(event_text.undecided(
        records.undecided_event(search.undecided), names), width))
  if not tasks and not notes:
    return []
  return [_bold(f"Iteration {number} has not ended", width),
          *_networks_tables(so_far, width)] + [
              rich_text.Text("\n".join(notes))] * bool(notes)


def _trained_text(group, ensembles, width):
  """Returns the names of the candidates that each task of a group trained."""
  names = group[0].trained
  if any(set(task.trained) != set(names) for task in group):
    return overview.span([len(task.trained) for task in group], "{:.0f}".format
                       ) + " names each"
  subnetworks = [name for name in names if name not in ensembles]
  number = len(names) - len(subnetworks)
  return _wrapped(_few(subnetworks) + [
      messages.count(number, "ensemble")] * bool(number), width)


def _tasks_parts(search: records.Records, width: int) -> List[Any]:
  """Returns the heading and the table of the tasks; nothing if none is known.
  """
  tasks = overview.tasks_of(search)
  if not tasks:
    return []
  ensembles = overview.ensembles_of(search)
  rows: List[Tuple[str, List[overview.TaskSummary], List[str]]] = []
  for group in overview.grouped(tasks, _MAX_ROWS):
    rows.append((_wrapped(overview.name_of(group).split(", "), 24), group, [
        overview.span([task.steps or None for task in group], "{:.0f}".format),
        overview.span([task.speed for task in group], "{:.3g}".format),
        overview.span([task.megabytes for task in group], "{:.3g}".format)]))
  names = [line for name, _, _ in rows for line in name.split("\n")]
  left = width - 5 * _FRAME - 1 - max(map(len, names + ["task"]))
  for heading, *values in zip(("steps", "steps/s", "MB"),
                              *(values for _, _, values in rows)):
    left -= max(map(len, [heading] + values))
  table = tables.new_table("task", "trained", ">steps", ">steps/s", ">MB")
  for name, group, values in rows:
    tables.add_row(
        table, name, _trained_text(group, ensembles, max(left, 20)), *values)
  return [
      _bold(messages.count(len(tasks), "task"), width), table,
      rich_text.Text(_filled(
          "steps: of its training loop. MB: of the variables that it builds or "
          "holds.", width), style="dim")]


def show(search: records.Records, console: rich_console.Console) -> None:
  """Prints the history of a search.

  Args:
    console: a `rich.console.Console`. If it is no terminal, the output is plain
      text.
  """
  search = wording.all_printable(search)
  width = max(_MIN_WIDTH, min(_MAX_WIDTH, console.width))
  parts: List[Any] = [_bold(overview.result(search), width)]
  if search.end is not None:
    parts.append(rich_text.Text(_filled(overview.ending(search.end), width)))
  for record in search.iterations:
    parts += _iteration_parts(record, search, width)
  parts += _under_way_parts(search, width)
  parts += _tasks_parts(search, width)
  tables.print_parts(console, parts)


def text(search: records.Records) -> str:
  """Returns the history of a search as plain text."""
  output = io.StringIO()
  show(search, rich_console.Console(
      file=output, color_system=None, force_terminal=False, force_jupyter=False,
      width=shutil.get_terminal_size((_MAX_WIDTH, 24)).columns))
  return output.getvalue()

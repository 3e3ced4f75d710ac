# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A plan as tables, for a terminal or a file.

On a terminal they have lines and colors, and fit its width. Elsewhere they are
plain text, as wide as it comes, to be searched and pasted. Small clusters are
shown whole. Of large ones, what does as much as its neighbours is one row, so
that no table is long, however large the cluster::

    console = rich.console.Console()
    plan_table.show(plan, console)
    plan_table.show_comparison([plan, other_plan], console)
"""

import collections
import io

from adanet.distributed import plan as plan_lib
from rich import box
from rich import console as rich_console
from rich import table as rich_table
from rich import text as rich_text

_MAX_ROWS = 20
# So many indices of a union are looked at. More only change a count.
_MAX_UNION = 100000
# Wider than any line: Rich pads to the widest cell only.
_PLAIN_WIDTH = 10**7

_ENSEMBLE = "ensemble"

# What is better, of the figures of which one can say.
_LESS_IS_BETTER = frozenset([
    "max_subnetworks_per_worker", "mean_subnetworks_per_worker",
    "training_time", "max_stale_gradients", "max_staleness",
    "fetches", "max_fetches_per_ps", "max_load_per_ps", "duplicated_ensembles",
    "wasted_training", "num_problems"
])
_MORE_IS_BETTER = frozenset(["min_effective_speed"])


def _count(number, noun):
  return "{} {}{}".format(number, noun, "" if number == 1 else "s")


def _number(value):
  """Returns a figure as a short text."""
  if isinstance(value, float) and not value.is_integer():
    return "{:.4g}".format(value) if value < 1000 else "{:.1f}".format(value)
  return str(int(value))


def _table(*columns):
  """Returns a table whose columns are names, or names after a ">" to the right.
  """
  table = rich_table.Table(header_style="bold cyan")
  for column in columns:
    name = column.lstrip(">")
    table.add_column(
        rich_text.Text(name), justify="right" if name != column else "left",
        overflow="fold")
  return table


def _add_row(table, *cells, style=None):
  table.add_row(*(rich_text.Text(cell) for cell in cells), style=style)


def _namer(names):
  """Returns a function from an index to its name."""
  return str if names is None else names.__getitem__


def _union_text(parts, name):
  """Returns the text of the union of disjoint sets, in bounded time for each.

  Args:
    parts: list of `Indices`.
    name: function from an index to its name.
  """
  if len(parts) == 1:
    return parts[0].to_text(name)
  ranges = [r for part in parts for r in part.ranges]
  # Interleaved ranges must be taken apart, and a worker in a million is not
  # worth it: below the first index that is left out, all are known.
  length = max(1, _MAX_UNION // len(ranges))
  end = min((r[length] for r in ranges if len(r) > length), default=None)
  known = plan_lib.Indices(
      i for r in ranges for i in r[:length] if end is None or i < end)
  return known.to_text(name, sum(map(len, ranges)) - len(known))


def _folded(groups, key):
  """Returns lists of groups, each to be one row, and the groups left out.

  Args:
    groups: sequence of groups.
    key: function from a group to what rows are made by, where there are too
      many groups for a row each.
  """
  rows = [[group] for group in groups]
  if len(rows) > _MAX_ROWS:
    folds = collections.OrderedDict()
    for group in groups:
      folds.setdefault(key(group), []).append(group)
    rows = list(folds.values())
  return rows[:_MAX_ROWS], [g for row in rows[_MAX_ROWS:] for g in row]


def _subnetworks_text(groups, name):
  """Returns the subnetworks that each of some groups has to do with."""
  if len(groups) == 1:
    return groups[0].subnetworks.to_text(name)
  return _count(len(groups[0].subnetworks), "subnetwork") + " each"


def _add_rest(table, groups, noun, num_members):
  """Adds the row that counts the groups left out, if there are any."""
  if groups:
    _add_row(
        table, "and {}, of {}".format(
            _count(len(groups), "more group"), _count(num_members, noun)),
        *[""] * (len(table.columns) - 1))


def workers_table(plan, worker_names=None, subnetwork_names=None):
  """Returns what the workers build and train, as a table of Rich's.

  Workers that do the same are one row. Where that makes more than 20, so are
  those that do as much.

  Args:
    plan: a `PlacementPlan`.
    worker_names: sequence of str, what to call each worker; None for its index.
    subnetwork_names: sequence of str, what to call each subnetwork; None for
      its index.

  Returns:
    A `rich.table.Table` with the columns worker, builds and trains.
  """
  worker_name, subnetwork_name = _namer(worker_names), _namer(subnetwork_names)
  rows, rest = _folded(
      plan.worker_groups,
      lambda g: (g.builds_ensemble, len(g.subnetworks), g.trains_subnetworks))
  table = _table("worker", "builds", "trains")
  for groups in rows:
    group = groups[0]
    subnetworks = _subnetworks_text(groups, subnetwork_name)
    ensemble = [_ENSEMBLE] * group.builds_ensemble
    builds = [subnetworks] * bool(group.subnetworks) + ensemble
    trains = [subnetworks] * bool(group.num_trained) + ensemble
    _add_row(table, _union_text([g.workers for g in groups], worker_name),
             ", ".join(builds), ", ".join(trains))
  _add_rest(table, rest, "worker", sum(len(g.workers) for g in rest))
  return table


def _subnetworks_table(plan, subnetwork_names):
  rows, rest = _folded(plan.subnetwork_groups, lambda g: g[1:])
  table = _table("subnetwork", ">builders", ">trainers", ">speed",
                 ">stale gradients", ">of the slowest")
  for groups in rows:
    group = groups[0]
    _add_row(table,
             _union_text([g.subnetworks for g in groups],
                         _namer(subnetwork_names)),
             *map(_number, group[1:]),
             style=None if group.num_trainers else "bold red")
  _add_rest(table, rest, "subnetwork", sum(len(g.subnetworks) for g in rest))
  return table


def _ps_table(plan, subnetwork_names):
  rows, rest = _folded(plan.ps_groups,
                       lambda g: (len(g.subnetworks), g.fetches, g.load))
  table = _table("ps", "variables of", ">fetches", ">load")
  for groups in rows:
    group = groups[0]
    _add_row(table, _union_text([g.ps for g in groups], str),
             _subnetworks_text(groups, _namer(subnetwork_names)),
             _number(group.fetches), _number(group.load),
             style=None if group.subnetworks else "bold red")
  _add_rest(table, rest, "parameter server", sum(len(g.ps) for g in rest))
  return table


def _figure(name, value):
  """Returns the text of a figure; None has two meanings."""
  if value is None:
    return "without end" if name == "training_time" else "not known"
  return _number(value)


def _figures_table(plan):
  table = _table("figure", ">value")
  for name, value in plan.figures().items():
    _add_row(table, name, _figure(name, value))
  return table


def _print(console, parts):
  """Prints tables and lines with an empty line between them.

  Args:
    console: a `rich.console.Console`.
    parts: list of `rich.table.Table` and `rich.text.Text`.
  """
  if console.is_terminal:
    for part in parts:
      console.print(part)
    return
  output = io.StringIO()
  # Of its own, because the console's may be as narrow as 80 columns.
  plain = rich_console.Console(
      file=output, width=_PLAIN_WIDTH, color_system=None, force_terminal=False)
  for i, part in enumerate(parts):
    if isinstance(part, rich_table.Table):
      part.box, part.pad_edge = None, False
    plain.print("\n" * bool(i), end="")
    plain.print(part, soft_wrap=isinstance(part, rich_text.Text))
  lines = [line.rstrip() for line in output.getvalue().splitlines()]
  console.print(rich_text.Text("\n".join(lines)), soft_wrap=True)


def _problems_text(problems):
  """Returns sentences, each on a line of its own if lines are wide enough."""
  if not problems:
    return rich_text.Text("No problems.", style="green")
  text = rich_text.Text("Problems:", style="bold red")
  for sentence in problems:
    text.append("\n" + sentence, style="not bold")
  return text


def _one_line(strategy):
  """Returns a strategy's `repr`, which may be a user's, on one line."""
  return " ".join(strategy.split())


def show(plan, console, worker_names=None, subnetwork_names=None):
  """Prints a plan: who does what, the figures, and the problems.

  Args:
    plan: a `PlacementPlan`.
    console: a `rich.console.Console`. Where it is no terminal, plain text is
      printed, its lines as long as they come.
    worker_names: sequence of str, what to call each worker in the table of
      workers and in the problems; None for its index.
    subnetwork_names: sequence of str, what to call each subnetwork in the
      tables and in the problems; None for its index.
  """
  parts = [
      rich_text.Text("{}: {}, {}, {}".format(
          _one_line(plan.strategy), _count(plan.num_workers, "worker"),
          _count(plan.num_ps, "parameter server"),
          _count(plan.num_subnetworks, "subnetwork")), style="bold"),
      workers_table(plan, worker_names, subnetwork_names),
      _subnetworks_table(plan, subnetwork_names),
  ]
  if plan.ps_groups is None:
    parts.append(rich_text.Text(
        "The strategy does not say what it puts on parameter servers."))
  elif plan.ps_groups:
    parts.append(_ps_table(plan, subnetwork_names))
  parts.append(_figures_table(plan))
  parts.append(_problems_text([
      p.message for p in plan.problems(worker_names, subnetwork_names)]))
  _print(console, parts)


def _best(name, values):
  """Returns the best of the values of a figure; None if that is not clear."""
  if name == "training_time":
    values = [float("inf") if v is None else v for v in values]
  if None in values or len(set(values)) == 1:
    return None
  if name in _LESS_IS_BETTER:
    return min(values)
  return max(values) if name in _MORE_IS_BETTER else None


def show_comparison(plans, console):
  """Prints the figures of plans side by side, and the problems of each.

  A star marks the best of the values of a figure, where they differ, all are
  known, and it is clear which is better.

  Args:
    plans: sequence of `PlacementPlan`, at least one.
    console: as in `show`.
  """
  rows = plan_lib.compare(plans)
  strategies = [_one_line(s) for s in rows.pop("strategy")]
  table = _table("figure", *(">" + s for s in strategies))
  for name, values in rows.items():
    best = _best(name, values)
    cells = [rich_text.Text(name)]
    for value in values:
      is_best = best is not None and value == best
      # A place for the star in every cell keeps the digits in line.
      cells.append(rich_text.Text(
          _figure(name, value) + (" *" if is_best else "  "),
          style="bold green" if is_best else ""))
    table.add_row(*cells)
  problems = [
      "{}: {}".format(strategy, problem.message)
      for strategy, plan in zip(strategies, plans)
      for problem in plan.problems()
  ]
  _print(console, [table, _problems_text(problems)])

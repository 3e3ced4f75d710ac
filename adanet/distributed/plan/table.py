# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""A plan as tables, for a terminal or a file.

On a terminal the tables have lines and colors and fit its width. Elsewhere they
are plain text with lines of any length, to search and to paste. A small cluster
is shown whole. The tables of a large cluster stay short: groups with the same
amount of work share a row::

    console = rich.console.Console()
    plan_table.show(plan, console)
    plan_table.show_comparison([plan, other_plan], console)
    plan_table.show_executor(executor_plan, console)
"""

import itertools
import operator
from typing import Dict, Optional, Sequence

from adanet.console import tables
from adanet.console import wording
from adanet.distributed import plan as plan_lib
from adanet.distributed.plan import groups as groups_lib
from adanet.distributed.plan import value
from adanet import messages
from rich import console as rich_console
from rich import table as rich_table
from rich import text as rich_text

_MAX_ROWS = 20
# A worker with more different fractions of its time is shown without them.
_MAX_FRACTIONS = 5

# Of all other figures, less is better.
_MORE_IS_BETTER = ("min_effective_speed", "ensemble_speed")
_NEITHER_IS_BETTER = ("workers", "ps", "subnetworks", "min_trainers")


def _number(value):
  """Returns a figure as text of at most nine characters."""
  value = float(value)
  if value >= 10**9 or not (value >= 1000 or value.is_integer()):
    return f"{value:.4g}"
  return f"{value:.0f}"


def _figure(name, value):
  """Returns the text of a figure. None means never, or not known."""
  if value is None:
    return "never" if name == "training_time" else "unknown"
  return _number(value)


def _namer(names):
  """Returns a function from an index to its name."""
  return str if names is None else names.__getitem__


def _texts(name):
  return lambda indices: indices.to_text(name)


def _groups_table(columns, groups, key, to_text, cells, noun):
  """Returns a table of groups, each in a row while they are few.

  Args:
    columns: as for `new_table`.
    key: from a group to a key. Of more than 20 groups, those of one key share a
      row.
    cells: from the groups of a row to the cells after the first, and whether
      the row is a problem.
  """
  has_row_each = len(groups) <= _MAX_ROWS
  rows = {}
  for i, group in enumerate(groups):
    rows.setdefault(i if has_row_each else key(group), []).append(group)
  rows = list(rows.values())
  table = tables.new_table(*columns)
  for row in rows[:_MAX_ROWS]:
    texts, is_problem = cells(row)
    members = to_text(plan_lib.Indices(
        itertools.chain.from_iterable(group[0] for group in row)))
    tables.add_row(
        table, members, *texts, style="bold red" if is_problem else None)
  rest = [group for row in rows[_MAX_ROWS:] for group in row]
  if rest:
    tables.add_row(
        table, "and {}, of {}".format(
            messages.count(len(rest), "more group"),
            messages.count(sum(len(group[0]) for group in rest), noun)),
        *[""] * (len(columns) - 1))
  return table


def _subnetworks_text(parts, name):
  """Returns the subnetworks, list of `Indices`, of the groups in one row."""
  if len(parts) == 1:
    return parts[0].to_text(name)
  return (messages.count(len(parts[0]), "subnetwork") + " each" if parts[0] else
          "")


def _trained_text(groups, name):
  """Returns what the groups in one row train, with fractions of the time."""
  group = groups[0]
  ensemble = ["ensemble"] * group.builds_ensemble
  if len(groups) == 1 and group.fractions and (
      group.num_trained + group.builds_ensemble > 1):
    equal = [(fraction, plan_lib.Indices(i for i, _ in pairs))
             for fraction, pairs in itertools.groupby(
                 group.time_fractions().items(), operator.itemgetter(1))]
    if len(equal) <= _MAX_FRACTIONS:
      parts = ["{} ({}{})".format(
          part.to_text(name), groups_lib.format_fraction(fraction),
          "" if len(part) == 1 else " each") for fraction, part in equal]
      return ", ".join(parts + [
          f"{text} ({groups_lib.format_fraction(group.ensemble_fraction)})"
          for text in ensemble])
  text = _subnetworks_text([g.trained for g in groups], name)
  return ", ".join(filter(None, [text] + ensemble))


def workers_table(
    plan: plan_lib.PlacementPlan,
    worker_names: Optional[Sequence[str]] = None,
    subnetwork_names: Optional[Sequence[str]] = None) -> rich_table.Table:
  """Returns a table of the subnetworks that the workers build and train.

  Workers that do the same share a row. If that makes more than 20 rows, workers
  with as many subnetworks share a row.

  Args:
    worker_names: sequence of str, a name for each worker; None for that in a
      TF_CONFIG, such as "chief:0" or "worker:0".
    subnetwork_names: sequence of str, a name for each subnetwork; None for its
      index.

  Returns:
    A `rich.table.Table` with the columns task, builds and trains.
  """
  if worker_names is None:
    worker_names = wording.worker_names(plan.num_workers)

  def cells(groups):
    name = _namer(subnetwork_names)
    built = _subnetworks_text([g.subnetworks for g in groups], name)
    ensemble = ["ensemble"] * groups[0].builds_ensemble
    return [", ".join(filter(None, [built] + ensemble)),
            _trained_text(groups, name)], False

  return _groups_table(
      ["task", "builds", "trains"], plan.worker_groups,
      lambda g: (g.builds_ensemble, len(g.subnetworks), g.num_trained),
      lambda indices: wording.workers_text(indices, worker_names), cells,
      "task")


def _subnetworks_table(plan, subnetwork_names):
  return _groups_table(
      ["subnetwork", ">builders", ">trainers", ">rows", ">speed", ">staleness",
       ">max staleness"], plan.subnetwork_groups,
      lambda g: tuple(map(_number, g[1:])),
      _texts(_namer(subnetwork_names)),
      lambda gs: (map(_number, gs[0][1:]), not gs[0].num_trainers),
      "subnetwork")


def _ps_table(plan, subnetwork_names):
  return _groups_table(
      ["ps", "variables of", ">fetches", ">load"], plan.ps_groups,
      lambda g: (len(g.subnetworks), g.fetches, _number(g.load)),
      _texts(wording.ps_name),
      lambda gs: ([_subnetworks_text([g.subnetworks for g in gs],
                                     _namer(subnetwork_names)),
                   _number(gs[0].fetches), _number(gs[0].load)],
                  not gs[0].subnetworks), "parameter server")


def _weights_table(plan, subnetwork_names):
  """Returns a table of the costs and sizes that a plan knows."""
  columns = {}
  if "ensemble cost" in plan.given_weights():
    columns["cost"] = plan.costs or (1,) * plan.num_subnetworks
  if plan.sizes is not None:
    columns["size"] = plan.sizes
  groups = [(subnetworks,) + weights for weights, subnetworks in
            wording.places_of(zip(*columns.values())).items()]
  table = _groups_table(
      ["subnetwork"] + [">" + name for name in columns], groups,
      lambda g: g[1:], _texts(_namer(subnetwork_names)),
      lambda gs: (map(_number, gs[0][1:]), False), "subnetwork")
  if "cost" in columns:
    tables.add_row(table, "all ensembles", _number(plan.ensemble_cost),
                   *[""] * (len(columns) - 1))
  return table


def _figures_table(plan):
  figures = tables.new_table("figure", ">value")
  for name, value in plan.figures().items():
    tables.add_row(figures, name, _figure(name, value))
  return figures


def _problems_text(problems):
  """Returns the messages of problems, each on a line."""
  if not problems:
    return rich_text.Text("No problems.", style="green")
  text = rich_text.Text("Problems:", style="bold red")
  for message in problems:
    text.append("\n" + message, style="not bold")
  return text


def _one_line(strategy):
  """Returns a strategy's `repr` on one line; a user's may be anything."""
  return messages.shorten(wording.printable(" ".join(strategy.split())))


def show(plan: plan_lib.PlacementPlan, console: rich_console.Console,
         worker_names: Optional[Sequence[str]] = None,
         subnetwork_names: Optional[Sequence[str]] = None) -> None:
  """Prints a plan: the work of each task, the figures, and the problems.

  Args:
    console: a `rich.console.Console`. If it is no terminal, the output is plain
      text with lines of any length.
    subnetwork_names: as in `workers_table`; for all tables and the problems.
  """
  parts = [
      rich_text.Text("{}: {}".format(
          _one_line(plan.strategy), wording.cluster_text(
              plan.num_workers, plan.num_ps, plan.num_subnetworks)),
                     style="bold"),
      workers_table(plan, worker_names, subnetwork_names),
  ]
  if plan.given_weights():
    parts.append(_weights_table(plan, subnetwork_names))
  parts.append(_subnetworks_table(plan, subnetwork_names))
  if plan.ps_groups is None:
    parts.append(rich_text.Text(
        "The strategy does not say what it puts on parameter servers."))
  elif plan.ps_groups:
    parts += [_ps_table(plan, subnetwork_names), rich_text.Text(
        "The load assumes equally large subnetworks and evenly spread bytes."
        if plan.sizes is None else
        "The load is in the unit of the sizes, and assumes evenly spread bytes."
    )]
  parts += [_figures_table(plan), _problems_text([
      problem.message
      for problem in plan.problems(worker_names, subnetwork_names)])]
  tables.print_parts(console, parts)


def _letters(plans):
  """Returns a list of letters; plans that place everything alike share one."""
  letters = [""] * len(plans)
  for i, numbers in enumerate(value.alike(plans)):
    for number in numbers:
      letters[number] = chr(ord("A") + i)
  return letters


def _weights_text(plan):
  """Returns the costs and sizes that a plan knows, after a strategy's name."""
  return "".join(
      f", {noun} {messages.shorten(', '.join(map(_number, weights)))}"
      for noun, weights in plan.given_weights().items())


def _compared_rows(figures):
  """Returns the cells of each figure, with a star at the best values."""
  # A plan that never ends is not the best at anything.
  ends = [time is not None for time in figures["training_time"]]
  rows = []
  for name, values in figures.items():
    # Plans that differ by rounding only are equally good.
    rounded = [v if v is None else float(f"{v:.9g}") for v in values]
    candidates = {v for v, ending in zip(rounded, ends) if ending}
    best = ()
    if (len(candidates) > 1 and None not in candidates and
        name not in _NEITHER_IS_BETTER):
      best = (max(candidates) if name in _MORE_IS_BETTER else min(candidates),)
    # A place for the star in every cell keeps the digits in line.
    rows.append([name] + [
        _figure(name, v) + (" *" if ending and r in best else "  ")
        for v, r, ending in zip(values, rounded, ends)])
  return rows


def show_comparison(plans: Sequence[plan_lib.PlacementPlan],
                    console: rich_console.Console,
                    worker_names: Optional[Sequence[str]] = None) -> None:
  """Prints the figures of plans side by side, and the problems of each.

  Plans that place everything alike share a column. A star marks the best value
  of a figure, if the values differ and are known and it is clear which is
  better. A plan that leaves a subnetwork untrained gets no star.

  Args:
    worker_names: as in `workers_table`; for the problems.
  """
  legend = []
  shown: Dict[str, plan_lib.PlacementPlan] = {}
  weights = list(map(_weights_text, plans))
  is_same = len(set(weights)) == 1
  for letter, plan, text in zip(_letters(plans), plans, weights):
    legend.append(f"{letter}  "
                  f"{_one_line(plan.strategy)}{'' if is_same else text}")
    shown.setdefault(letter, plan)
  if is_same and weights[0]:
    legend.append(f"All with {weights[0].lstrip(', ')}.")
  if len(shown) < len(plans):
    legend.append("Plans with the same letter place everything alike.")
  figures = plan_lib.compare(shown.values())
  for name in ("strategy", "costs", "sizes", "ensemble_cost"):
    del figures[name]
  # As the flags of adanet-plan.
  num_workers, num_ps, num_subnetworks = (
      figures.pop(name) for name in ("num_workers", "num_ps",
                                     "num_subnetworks"))
  figures = dict(workers=tuple(m - 1 for m in num_workers), ps=num_ps,
                 subnetworks=num_subnetworks, **figures)
  rows = [["figure"] + [letter + "  " for letter in shown]]
  rows += _compared_rows(figures)
  parts = [rich_text.Text("\n".join(legend))]
  parts += tables.new_tables(
      console, rows, lambda cell: "bold green" if "*" in cell else "")
  if any("*" in cell for row in rows for cell in row):
    parts.append(rich_text.Text("* best of the plans that train everything"))
  parts.append(_problems_text([
      f"{letter}: {problem.message}"
      for letter, plan in shown.items()
      for problem in plan.problems(worker_names)]))
  tables.print_parts(console, parts)


def _ideal_text(plan):
  """Returns the sentence that compares an `ExecutorPlan` with the ideal."""
  time, ideal = plan.training_time(), plan.ideal_time()
  return "The time is {}: {}.".format(
      "the ideal" if time == ideal else
      f"{time / ideal:.3g} times the ideal of {_number(ideal)}",
      "that of the longest subnetwork" if ideal == max(plan.costs or (1,)) else
      "all costs, divided by the workers")


def show_executor(plan: plan_lib.ExecutorPlan,
                  console: rich_console.Console) -> None:
  """Prints the subnetworks of an executor's workers, on a console of Rich."""
  time = plan.training_time()
  tables.print_parts(console, [
      rich_text.Text("An executor: {}, {}, the longest first".format(
          messages.count(f"{plan.num_workers:,}", "worker"),
          messages.count(f"{plan.num_subnetworks:,}", "subnetwork")),
                     style="bold"),
      _groups_table(
          ["worker", "trains", ">time", ">busy"], plan.worker_groups,
          lambda g: (len(g.subnetworks), _number(g.time)), _texts(str),
          lambda gs: ([_subnetworks_text([g.subnetworks for g in gs], str),
                       _number(gs[0].time), f"{gs[0].time / time:.0%}"], False),
          "worker"),
      _figures_table(plan),
      rich_text.Text(_ideal_text(plan))])

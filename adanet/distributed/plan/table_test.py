# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the tables: whole for small clusters, short for large ones."""

import fractions
import io
import itertools
import re

from absl.testing import absltest
from absl.testing import parameterized
from adanet.testing import level
from adanet import distributed
from adanet.distributed import plan as plan_lib
from adanet.distributed.plan import table as plan_table
from adanet.testing import answers as answers_lib
from rich import console as rich_console

# Three tables of 20 rows, the figures, the problems, and the lines between.
_MAX_LINES = 105


class Odd(distributed.RoundRobinStrategy):

  def __repr__(self):
    return "Odd[red]\n(b)"  # Rich would take brackets for a color.


_ROUND_ROBIN = distributed.RoundRobinStrategy()
_DROP_REMAINDER = distributed.RoundRobinStrategy(drop_remainder=True)
_REPLICATION = distributed.ReplicationStrategy()
# Two are equal, but do not say what they put on parameter servers.
_STRATEGIES = answers_lib.ALL + [answers_lib.OwnDevices(), Odd()]


def _plan(num_workers, num_ps, num_subnetworks, strategy=_ROUND_ROBIN,
          **kwargs):
  return plan_lib.PlacementPlan(
      strategy, num_workers, num_ps, num_subnetworks, **kwargs)


def _printed(show, *args, **kwargs):
  """Returns the output on a console that is no terminal."""
  output = io.StringIO()
  show(*args, console=rich_console.Console(file=output, width=40), **kwargs)
  return output.getvalue()


def _on_terminal(show, plans, width):
  """Returns the output on a terminal without colors, and without its lines."""
  output = io.StringIO()
  show(plans, console=rich_console.Console(
      file=output, width=width, force_terminal=True, color_system=None))
  return re.sub("[\u2500-\u257f]", " ", output.getvalue())


def _tables(text):
  """Returns dict from a table's first heading to its rows, lists of cells."""
  tables = {}
  for block in text.split("\n\n"):
    header, *rows = block.splitlines()
    if re.match("[a-z]+  ", header):
      tables[header.split()[0]] = [re.split("  +", row) for row in rows]
  return tables


class ShowTest(parameterized.TestCase):

  def test_whole(self):
    plan = _plan(4, 2, 5, _DROP_REMAINDER)
    text = _printed(plan_table.show, plan)
    self.assertStartsWith(text, """\
RoundRobinStrategy(drop_remainder=True): a chief and 3 workers, 2 parameter servers, 5 subnetworks

task      builds                   trains
chief:0   0, 1, 2, 3, 4, ensemble  ensemble
worker:0  0                        0
worker:1  1                        1
worker:2  2                        2

subnetwork  builders  trainers  rows  speed  staleness  max staleness
0, 1, 2            2         1     1      1          0              0
3, 4               1         0     0      0          0              0

ps    variables of  fetches  load
ps:0  0, 2, 4             5     5
ps:1  1, 3                3     3

The load assumes equally large subnetworks and evenly spread bytes.

figure                       value
max_subnetworks_per_worker       5
""")
    self.assertIn("\ntraining_time                never\n", text)
    self.assertEndsWith(text, """

Problems:
No worker trains subnetworks 3, 4. Fix: use BalancedStrategy().
""")

  def test_costs_and_fractions(self):
    plan = _plan(5, 2, 3, distributed.BalancedStrategy((1, 2, 4.5)),
                 sizes=[10**9, 5, 10**9])
    self.assertStartsWith(_printed(plan_table.show, plan), """\
BalancedStrategy(costs=(1, 2, 4.5)): a chief and 4 workers, 2 parameter servers, 3 subnetworks

task                builds             trains
chief:0             0, 1, 2, ensemble  ensemble
worker:0            0, 1, 2, ensemble  0 (1/2), 1 (1/4), ensemble (1/4)
worker:1            1, 2               1 (3/4), 2 (1/4)
worker:2, worker:3  2                  2

subnetwork     cost   size
0                 1  1e+09
1                 2      5
2               4.5  1e+09
all ensembles   2.5

subnetwork  builders  trainers  rows  speed  staleness  max staleness
0                  2         1     1    0.5          0              0
1                  3         2     1    0.5      0.375           0.75
2                  5         3     1    0.5      1.333              2

ps    variables of  fetches     load
ps:0  0, 1                5  2.5e+09
ps:1  1, 2                8  2.5e+09

The load is in the unit of the sizes, and assumes evenly spread bytes.
""")

  @parameterized.parameters(
      ((1,) * 9, 2, 0, "0, 1, 2 (1/6 each), ensemble (1/2)"),
      ((1,) * 9, 2, 1, "3, 4, 5, 6, 7, 8 (1/6 each)"),
      ((1,) * 3, 5, 1, "0 (3/4), ensemble (1/4)"),
      ((1, 1e5), 1, 0, "0 (<0.001), 1 (0.75), ensemble (1/4)"),
      ((3.7, .1, .2), 1, 0, "0 (0.694), 1 (0.019), 2 (0.037), ensemble (1/4)"),
      ((1, 2, 3, 4, 5, 6), 1, 0, "0, 1, 2, 3, 4, 5, ensemble"),
  )
  def test_fractions_of(self, costs, num_workers, worker, trains):
    text = _printed(plan_table.show, _plan(
        num_workers, 0, len(costs), distributed.BalancedStrategy(costs)))
    self.assertEqual(trains, _tables(text)["task"][worker][2])

  def test_ensemble_cost(self):
    text = _printed(plan_table.show, _plan(4, 0, 3, ensemble_cost=2.5))
    self.assertIn("""
subnetwork     cost
0, 1, 2           1
all ensembles   2.5
""", text)
    text = _printed(plan_table.show, _plan(
        4, 0, 3, costs=[fractions.Fraction(1, 3)] * 3))
    self.assertIn("\n0, 1, 2        0.3333\nall ensembles  0.3333\n", text)
    self.assertNotIn("all ensembles", _printed(
        plan_table.show, _plan(4, 0, 3, sizes=(1, 2, 3))))

  def test_large_cluster(self):
    text = _printed(plan_table.show, _plan(9600, 0, 399))
    self.assertEqual([
        ["chief:0, worker:399 to worker:9199 by 400",
         "0 to 398, ensemble", "ensemble"],
        [", ".join(f"worker:{i * 400} to worker:{i * 400 + 398}"
                   for i in range(10)) + " and 5586 more",
         "1 subnetwork each", "1 subnetwork each"]], _tables(text)["task"])
    self.assertNotIn("variables of", text)

  def test_names(self):
    names = {
        "worker_names": ["a", "b", "c", "d", "e"],
        "subnetwork_names": ["[b]wide[/b]", "deep"],
    }
    plan = _plan(5, 1, 2)
    text = _printed(plan_table.show, plan, **names)
    tables = _tables(text)
    self.assertEqual(
        [["a, d", "[b]wide[/b], deep, ensemble", "ensemble"],
         ["b", "[b]wide[/b]", "[b]wide[/b]"],
         ["c", "deep", "deep"],
         ["e", "[b]wide[/b], deep", "[b]wide[/b], deep"]],
        tables["task"])
    self.assertEqual("[b]wide[/b], deep", tables["subnetwork"][0][0])
    self.assertEqual("[b]wide[/b], deep", tables["ps"][0][1])
    self.assertIn("\na, d build the ensembles; one is enough. ", text)

  def test_many_groups(self):
    # Each worker does something else: groups as large share a row.
    costs = [1 + i % 7 for i in range(90)]
    plan = _plan(60, 50, 90, distributed.BalancedStrategy(costs, costs))
    tables = _tables(_printed(plan_table.show, plan))
    for heading, groups in (
        ("task", plan.worker_groups), ("subnetwork", plan.subnetwork_groups),
        ("ps", plan.ps_groups)):
      self.assertGreater(len(groups), 20)
      self.assertLessEqual(len(tables[heading]), 21)
    self.assertEqual(
        ["worker:21, worker:28, worker:35, worker:42"] +
        ["5 subnetworks each"] * 2, tables["task"][-1])
    self.assertEqual(["and 19 more groups, of 20 subnetworks"],
                     tables["subnetwork"][-1])

  def test_unknown_parameter_servers(self):
    text = _printed(plan_table.show, _plan(3, 2, 2, answers_lib.OwnDevices()))
    self.assertIn("does not say what it puts on parameter servers", text)
    self.assertNotIn("ps", _tables(text))
    self.assertIn(["fetches", "unknown"], _tables(text)["figure"])

class TerminalTest(parameterized.TestCase):

  @parameterized.parameters(level.first([
      (9, 2, 5), (30, 7, 12), (400, 30, 50)]))
  def test_is_short_and_breaks_no_word_at_80_columns(self, *shape):
    k = shape[-1]
    plans = [_plan(*shape, strategy) for strategy in
             answers_lib.LOCKSTEP + answers_lib.BALANCED[:2]]
    plans += [
        _plan(*shape, strategy, costs=costs, sizes=[2**i for i in range(k)])
        for strategy in (_ROUND_ROBIN, distributed.BalancedStrategy())
        for costs in ([(i + 1) / 1e9 for i in range(k)],
                      [10**i for i in range(k)])]
    for show, what in [(plan_table.show, plan) for plan in plans] + [
        (plan_table.show_comparison, plans)]:
      text = _on_terminal(show, what, 80)
      self.assertLessEqual(max(map(len, text.splitlines())), 80)
      plain = _printed(show, what)
      self.assertContainsSubset(plain.split(), text.split())
      self.assertLess(plain.count("\n"), _MAX_LINES)
      self.assertLess(max(map(len, plain.splitlines())), 1000)

  def test_fits_any_width(self):
    for show, what in ((plan_table.show, _plan(9, 2, 5)),
                       (plan_table.show_comparison, [_plan(9, 2, 5)])):
      for width in 10, 40:
        text = _on_terminal(show, what, width)
        self.assertLessEqual(max(map(len, text.splitlines())), max(width, 16))


class ShowComparisonTest(parameterized.TestCase):

  def test_whole(self):
    plans = [_plan(4, 2, 3, s)
             for s in (_ROUND_ROBIN, _DROP_REMAINDER, _REPLICATION)]
    self.assertEqual("""\
A  RoundRobinStrategy()
A  RoundRobinStrategy(drop_remainder=True)
B  ReplicationStrategy()
Plans with the same letter place everything alike.

figure                           A     B
workers                          3     3
ps                               2     2
subnetworks                      3     3
max_subnetworks_per_worker       3     3
mean_subnetworks_per_worker  1.5 *     3
min_trainers                     1     4
min_effective_speed              1     1
ensemble_speed                   1     1
training_time                    1     1
max_stale_gradients            0 *     3
max_staleness                  0 *     3
fetches                        6 *    24
max_fetches_per_ps             4 *    12
max_load_per_ps                4 *     6
duplicated_ensembles           0 *     3
wasted_training                  0     0
num_problems                   0 *     1

* best of the plans that train everything

Problems:
B: chief:0, worker:0, worker:1, worker:2 build the ensembles; one is enough. \
Fix: use BalancedStrategy().
""", _printed(plan_table.show_comparison, plans))

  def test_costs(self):
    plans = [_plan(4, 2, 3, s, costs=(1, 2, 4.5), sizes=(1, 2, 3))
             for s in (_ROUND_ROBIN, _REPLICATION)]
    self.assertStartsWith(_printed(plan_table.show_comparison, plans), """\
A  RoundRobinStrategy()
B  ReplicationStrategy()
All with costs 1, 2, 4.5, ensemble cost 2.5, sizes 1, 2, 3.

figure """)
    plans.append(_plan(4, 2, 3, costs=(3, 2, 1)))
    self.assertStartsWith(_printed(plan_table.show_comparison, plans), """\
A  RoundRobinStrategy(), costs 1, 2, 4.5, ensemble cost 2.5, sizes 1, 2, 3
B  ReplicationStrategy(), costs 1, 2, 4.5, ensemble cost 2.5, sizes 1, 2, 3
C  RoundRobinStrategy(), costs 3, 2, 1, ensemble cost 2

figure """)

  @parameterized.parameters(level.first([
      (4, 2, 5), (1, 0, 1), (12, 4, 3)]))
  def test_letters_and_stars(self, *shape):
    plans = [_plan(*shape, strategy) for strategy in _STRATEGIES]
    text = _printed(plan_table.show_comparison, plans)
    letters = [line[0] for line in text.splitlines()[:len(plans)]]
    self.assertIn(f"\n{letters[-1]}  Odd[red] (b)", text)
    for (a, plan), (b, other) in itertools.combinations(
        zip(letters, plans), 2):
      self.assertEqual(a == b, plan.ps_groups is not None and all(
          getattr(plan, name) == getattr(other, name)
          for name in ("costs", "sizes", "ensemble_cost", "worker_groups",
                       "ps_groups")))
    # Of plans that are alike, the problems of the first.
    shown = dict(zip(letters[::-1], plans[::-1]))
    for name, *cells in _tables(text)["figure"][3:]:
      values = [shown[a].figures()[name] for a in sorted(shown)]
      # Rounding is no difference.
      values = [v if v is None else float(f"{v:.9g}") for v in values]
      ends = [shown[a].training_time() < float("inf") for a in sorted(shown)]
      candidates = list(itertools.compress(values, ends))
      extreme = max if name.endswith("_speed") else min
      for value, ending, cell in zip(values, ends, cells):
        self.assertEqual(
            ending and None not in candidates and len(set(candidates)) > 1 and
            value == extreme(candidates) and name != "min_trainers",
            cell.endswith("*"))
    for a, plan in shown.items():
      for problem in plan.problems():
        self.assertIn(f"\n{a}: {problem.message}\n", text)


if __name__ == "__main__":
  absltest.main()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the tables: whole for small clusters, short for large ones."""

import collections
import io
import itertools
import random
import re

from absl.testing import absltest
from absl.testing import parameterized
from adanet import distributed
from adanet.distributed import plan as plan_lib
from adanet.distributed.plan import table as plan_table
import hypothesis
from hypothesis import strategies as st
from rich import console as rich_console

hypothesis.settings.register_profile(
    "hermetic", database=None, deadline=None, derandomize=True)
hypothesis.settings.load_profile("hermetic")

# Three tables of 20 rows, one of the figures, the problems, and what is between
# them.
_MAX_LINES = 100


class Any(distributed.PlacementStrategy):
  """A user's strategy: any decisions, the same only for few workers."""

  def __init__(self, seed, says_ps):
    self._seed = seed
    self._says_ps = says_ps

  def _random(self, *key):
    return random.Random(repr((self._seed,) + key))

  def should_build_ensemble(self, num_subnetworks):
    w = self.config.global_id_in_cluster
    return self._random("ensemble", w).random() < .3

  def should_build_subnetwork(self, num_subnetworks, subnetwork_index):
    w = self.config.global_id_in_cluster
    return self._random("build", w, subnetwork_index).random() < .4

  def should_train_subnetworks(self, num_subnetworks):
    w = self.config.global_id_in_cluster
    return self._random("train", w).random() < .7

  def subnetwork_devices(self, num_subnetworks, subnetwork_index):
    raise NotImplementedError("needs TensorFlow")

  def subnetwork_parameter_servers(self, num_subnetworks, subnetwork_index):
    if not self._says_ps:
      return None
    draw = self._random("ps", subnetwork_index)
    return [p for p in range(self.config.num_ps_replicas) if draw.random() < .5]

  def __repr__(self):
    return "Any[red]\n(b)"  # Rich would take brackets for a color.


class Uneven(distributed.PlacementStrategy):
  """Of 35 ways to build three of seven, the even workers share one."""

  _WAYS = tuple(itertools.combinations(range(7), 3))

  def should_build_ensemble(self, num_subnetworks):
    return False

  def should_build_subnetwork(self, num_subnetworks, subnetwork_index):
    w = self.config.global_id_in_cluster
    way = 0 if w % 2 == 0 else w % len(self._WAYS)
    return subnetwork_index in self._WAYS[way]

  def should_train_subnetworks(self, num_subnetworks):
    return self.config.global_id_in_cluster % 5 > 0

  def subnetwork_devices(self, num_subnetworks, subnetwork_index):
    raise NotImplementedError("needs TensorFlow")


_STRATEGIES = [
    distributed.RoundRobinStrategy(),
    distributed.RoundRobinStrategy(drop_remainder=True),
    distributed.RoundRobinStrategy(dedicate_parameter_servers=False),
    distributed.ReplicationStrategy(),
    Any(0, says_ps=True),
    Any(1, says_ps=False),
]


def _plan(num_workers, num_ps, num_subnetworks,
          strategy=distributed.RoundRobinStrategy()):
  return plan_lib.PlacementPlan(
      strategy, num_workers, num_ps, num_subnetworks)


def _printed(show, *args, **kwargs):
  """Returns what a function prints on a console that is no terminal."""
  output = io.StringIO()
  show(*args, console=rich_console.Console(file=output, width=40), **kwargs)
  return output.getvalue()


def _tables(text):
  """Returns dict from a table's first heading to its rows, lists of cells."""
  tables = {}
  for block in text.split("\n\n"):
    header, *rows = block.splitlines()
    if "  " in header:
      tables[header.split()[0]] = [re.split("  +", row) for row in rows]
  return tables


def _indices(text):
  """Returns the indices that a text names, and how many more it counts."""
  text, _, more = text.partition(" and ")
  named = []
  for part in filter(None, text.split(", ")):
    first, last, step = re.fullmatch(
        r"(\d+)(?: to (\d+)(?: by (\d+))?)?", part).groups()
    named.extend(range(int(first), int(last or first) + 1, int(step or 1)))
  return named, int(more.partition(" ")[0] or 0)


class ShowTest(parameterized.TestCase):

  @parameterized.parameters(
      # m, k, the table.
      (1, 1, [["0", "0, ensemble", "0, ensemble"]]),
      (3, 1, [["0, 1, 2", "0, ensemble", "0, ensemble"]]),
      (4, 3, [["0", "0, 1, 2, ensemble", "ensemble"], ["1", "0", "0"],
              ["2", "1", "1"], ["3", "2", "2"]]),
      (6, 2, [["0, 3", "0, 1, ensemble", "ensemble"], ["1, 4", "0", "0"],
              ["2, 5", "1", "1"]]),
      (20, 19, [["0", ", ".join(map(str, range(19))) + ", ensemble",
                 "ensemble"]] +
       [[str(w), str(w - 1), str(w - 1)] for w in range(1, 20)]),
      (21, 20, [["0", ", ".join(map(str, range(20))) + ", ensemble",
                 "ensemble"],
                [", ".join(map(str, range(1, 21))), "1 subnetwork each",
                 "1 subnetwork each"]]),
      (10**6, 10**4, [
          ["0 to 990099 by 10001", "0 to 9999, ensemble", "ensemble"],
          ["1 to 10000, 10002 to 20001, 20003 to 30002, 30004 to 40003, "
           "40005 to 50004, 50006 to 60005, 60007 to 70006, 70008 to 80007, "
           "80009 to 90008, 90010 to 100009 and 899800 more",
           "1 subnetwork each", "1 subnetwork each"],
          ["990100 to 990199", "2 subnetworks each", "2 subnetworks each"]]),
  )
  def test_workers(self, num_workers, num_subnetworks, expected):
    text = _printed(plan_table.show, _plan(num_workers, 0, num_subnetworks))
    self.assertEqual(expected, _tables(text)["worker"])

  def test_whole(self):
    self.assertEqual("""\
RoundRobinStrategy(drop_remainder=True): 4 workers, 2 parameter servers, 5 subnetworks

worker  builds                   trains
0       0, 1, 2, 3, 4, ensemble  ensemble
1       0                        0
2       1                        1
3       2                        2

subnetwork  builders  trainers  speed  stale gradients  of the slowest
0, 1, 2            2         1      1                0               0
3, 4               1         0      0                0               0

ps  variables of  fetches  load
0   0, 2, 4             5     5
1   1, 3                3     3

figure                             value
max_subnetworks_per_worker             5
mean_subnetworks_per_worker            2
min_trainers                           0
min_effective_speed                    0
training_time                without end
max_stale_gradients                    0
max_staleness                          0
fetches                                8
max_fetches_per_ps                     5
max_load_per_ps                        5
duplicated_ensembles                   0
wasted_training                        3
num_problems                           1

Problems:
No worker trains subnetworks 3, 4. It would be mended with 6 workers, or with RoundRobinStrategy().
""", _printed(plan_table.show, _plan(
    4, 2, 5, distributed.RoundRobinStrategy(drop_remainder=True))))

  def test_names(self):
    tables = _tables(_printed(
        plan_table.show, _plan(5, 1, 2),
        worker_names=["chief:0"] + ["worker:{}".format(i) for i in range(4)],
        subnetwork_names=["[b]wide[/b]", "deep"]))
    self.assertEqual(
        [["chief:0, worker:2", "[b]wide[/b], deep, ensemble", "ensemble"],
         ["worker:0", "[b]wide[/b]", "[b]wide[/b]"],
         ["worker:1", "deep", "deep"],
         ["worker:3", "[b]wide[/b], deep", "[b]wide[/b], deep"]],
        tables["worker"])
    self.assertEqual("[b]wide[/b], deep", tables["subnetwork"][0][0])
    self.assertEqual("[b]wide[/b], deep", tables["ps"][0][1])

  def test_names_in_problems(self):
    self.assertIn(
        "No worker trains subnetworks wide, deep. ", _printed(
            plan_table.show,
            _plan(3, 1, 4, distributed.RoundRobinStrategy(drop_remainder=True)),
            subnetwork_names=["linear", "flat", "wide", "deep"]))
    self.assertIn(
        "\nWorkers chief:0, worker:2 build the ensemble", _printed(
            plan_table.show, _plan(5, 1, 2), worker_names=[
                "chief:0"] + ["worker:{}".format(i) for i in range(4)]))

  def test_names_of_many(self):
    names = ["w{}".format(w) for w in range(99)]
    tables = _tables(
        _printed(plan_table.show, _plan(99, 0, 1), worker_names=names))
    self.assertEqual("w0 to w98", tables["worker"][0][0])

  def test_parameter_servers_that_are_not_known(self):
    text = _printed(plan_table.show, _plan(3, 2, 2, Any(1, says_ps=False)))
    self.assertIn("does not say what it puts on parameter servers", text)
    self.assertNotIn("variables of", text)
    self.assertIn(["fetches", "not known"], _tables(text)["figure"])

  def test_no_parameter_servers(self):
    text = _printed(plan_table.show, _plan(3, 0, 2))
    self.assertNotIn("variables of", text)
    self.assertIn("0 parameter servers", text)

  def test_no_problems(self):
    self.assertEndsWith(
        _printed(plan_table.show, _plan(4, 2, 3)), "\nNo problems.\n")

  @hypothesis.given(
      st.sampled_from(_STRATEGIES), st.integers(1, 60), st.integers(0, 40),
      st.integers(1, 40))
  def test_any_shape(self, strategy, num_workers, num_ps, num_subnetworks):
    plan = _plan(num_workers, num_ps, num_subnetworks, strategy)
    text = _printed(plan_table.show, plan)
    lines = text.splitlines()
    self.assertLess(len(lines), _MAX_LINES)
    self.assertEqual(
        "{}: {} worker".format(" ".join(plan.strategy.split()), num_workers),
        lines[0].partition("s,")[0].partition(",")[0])
    self.assertEqual([line.rstrip() for line in lines], lines)
    for problem in plan.problems():
      self.assertIn(problem.message, lines)
    # Every worker, subnetwork and parameter server is in one row.
    for heading, number, groups in (
        ("worker", num_workers, plan.worker_groups),
        ("subnetwork", num_subnetworks, plan.subnetwork_groups),
        ("ps", num_ps, plan.ps_groups or ())):
      rows = _tables(text).get(heading, [])
      self.assertEqual(bool(groups), bool(rows))
      named, num_more = [], 0
      for first, *_ in rows:
        rest = re.match(r"and \d+ more groups?, of (\d+) ", first)
        more_named, more = ([], int(rest.group(1))) if rest else _indices(first)
        named += more_named
        num_more += more
      self.assertLen(set(named), len(named))
      self.assertContainsSubset(named, range(number))
      if groups:
        self.assertEqual(number, len(named) + num_more)
      if len(groups) <= 20:
        self.assertLen(rows, len(groups))

  @hypothesis.given(
      st.sampled_from(_STRATEGIES), st.integers(1, 19), st.integers(1, 8))
  def test_small_clusters_are_shown_whole(
      self, strategy, num_workers, num_subnetworks):
    plan = _plan(num_workers, 0, num_subnetworks, strategy)
    rows = _tables(_printed(plan_table.show, plan))["worker"]
    shown = {}
    for row in rows:
      row += [""] * (3 - len(row))
      for w in _indices(row[0])[0]:
        shown[w] = row[1:]
    for w in range(num_workers):
      group = plan.worker(w)
      built = list(map(str, group.subnetworks))
      ensemble = ["ensemble"] * group.builds_ensemble
      trained = built * group.trains_subnetworks
      self.assertCountEqual(
          [", ".join(built + ensemble), ", ".join(trained + ensemble)],
          (shown.pop(w) + [""])[:2])
    self.assertEmpty(shown)

  @parameterized.parameters(
      (10**6, 10**4, 10**4), (10**12, 7, 10**4), (10**12, 0, 3),
      (2 * 10**4, 10**4, 10**4), (10**5 + 7, 10**5, 30))
  def test_large_clusters_are_short(self, *shape):
    for strategy in _STRATEGIES[:4]:
      text = _printed(plan_table.show, _plan(*shape, strategy))
      self.assertLess(text.count("\n"), _MAX_LINES)
      self.assertLess(max(map(len, text.splitlines())), 1000)


  def test_what_is_named_has_no_gap(self):
    # More than are looked at, in ranges of many lengths that interleave.
    num_workers = 150000
    rows = _tables(
        _printed(plan_table.show, _plan(num_workers, 0, 7, Uneven())))["worker"]
    self.assertLen(rows, 2)
    for (text, *_), trains in zip(rows, (False, True)):
      named, num_more = _indices(text)
      workers = [w for w in range(num_workers) if (w % 5 > 0) == trains]
      self.assertNotEmpty(named)
      self.assertEqual(workers[:len(named)], named)
      self.assertEqual(len(workers), len(named) + num_more)


class TerminalTest(parameterized.TestCase):

  def show(self, width, show, *args, **environment):
    output = io.StringIO()
    show(*args, console=rich_console.Console(
        file=output, width=width, force_terminal=True, color_system="standard",
        _environ=dict(TERM="xterm", **environment)))
    return output.getvalue()

  def test_has_lines_and_colors(self):
    text = self.show(80, plan_table.show, _plan(4, 2, 3))
    self.assertIn("┃", text)
    self.assertIn("\033[", text)
    self.assertIn("\033[32mNo problems.", text)

  @parameterized.parameters(1, 10, 40, 80, 300)
  def test_fits_the_width(self, width):
    for shape in ((4, 2, 3), (9, 2, 5), (10**6, 100, 10**4)):
      for show, what in ((plan_table.show, _plan(*shape)),
                         (plan_table.show_comparison, [_plan(*shape)])):
        text = self.show(width, show, what)
        for line in re.sub("\033\\[[0-9;]*m", "", text).splitlines():
          self.assertLessEqual(len(line), max(width, 10))


class ShowComparisonTest(parameterized.TestCase):

  def test_whole(self):
    plans = [_plan(4, 2, 3, s) for s in (
        distributed.RoundRobinStrategy(), distributed.ReplicationStrategy())]
    self.assertEqual("""\
figure                       RoundRobinStrategy()  ReplicationStrategy()
num_workers                                     4                      4
num_ps                                          2                      2
num_subnetworks                                 3                      3
max_subnetworks_per_worker                      3                      3
mean_subnetworks_per_worker                 1.5 *                      3
min_trainers                                    1                      4
min_effective_speed                             1                1.333 *
training_time                                   1                 0.75 *
max_stale_gradients                           0 *                      3
max_staleness                                 0 *                      3
fetches                                       6 *                     24
max_fetches_per_ps                            4 *                     12
max_load_per_ps                               4 *                      6
duplicated_ensembles                          0 *                      3
wasted_training                                 0                      0
num_problems                                  0 *                      1

Problems:
ReplicationStrategy(): Workers 0, 1, 2, 3 build the ensemble, where one is enough. It would be mended with 1 worker, or with RoundRobinStrategy().
""", _printed(plan_table.show_comparison, plans))

  def test_what_is_without_end_or_not_known_is_not_the_best(self):
    plans = [_plan(2, 1, 3, s) for s in (
        distributed.RoundRobinStrategy(drop_remainder=True), _STRATEGIES[-1],
        distributed.ReplicationStrategy())]
    rows = {name: values for name, *values in _tables(
        _printed(plan_table.show_comparison, plans))["figure"]}
    self.assertEqual("without end", rows["training_time"][0])
    self.assertEqual("1.5 *", rows["training_time"][2])
    self.assertEqual(["4", "not known", "6"],
                     [cell.strip() for cell in rows["fetches"]])

  @hypothesis.given(
      st.lists(
          st.tuples(st.sampled_from(_STRATEGIES), st.integers(1, 12),
                    st.integers(0, 4), st.integers(1, 6)),
          min_size=1, max_size=4))
  def test_a_row_has_one_cell_for_each_plan(self, arguments):
    plans = [_plan(m, n, k, s) for s, m, n, k in arguments]
    text = _printed(plan_table.show_comparison, plans)
    rows = _tables(text)["figure"]
    compared = plan_lib.compare(plans)
    del compared["strategy"]
    self.assertEqual(list(compared), [row[0] for row in rows])
    for name, *cells in rows:
      values = compared[name]
      self.assertLen(cells, len(plans))
      marked = {v for v, cell in zip(values, cells) if cell.endswith("*")}
      self.assertLessEqual(len(marked), 1)
      for value in marked:
        extreme = max if name == "min_effective_speed" else min
        self.assertEqual(
            value, extreme(v for v in values if v is not None))
    sentences = collections.Counter(
        p.message for plan in plans for p in plan.problems())
    for sentence, count in sentences.items():
      self.assertGreaterEqual(text.count(sentence), count)


if __name__ == "__main__":
  absltest.main()

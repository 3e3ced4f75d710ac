# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the tables, on records of a job written by hand."""

import contextlib
import io
import json
import os

from absl.testing import absltest
from absl.testing import parameterized
from adanet import distributed
from adanet.distributed import plan as plan_lib
from adanet.examples.digits import report

_KERNEL = {"device": "/job:ps/task:0", "bytes": 2560}
_BIAS = {"device": "/job:ps/task:1", "bytes": 40}


class ReportTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.model_dir = self.create_tempdir().full_path
    os.mkdir(os.path.join(self.model_dir, "records"))
    self.write_record("chief:0", ["a", "b", "ensemble"], ["ensemble"],
                      {"a/kernel": _KERNEL, "b/kernel": _KERNEL, "bias": _BIAS},
                      {"a": .5, "ensemble": .975})
    self.write_record("worker:0", ["a"], ["a"], {"a/kernel": _KERNEL}, None)
    self.plan = self.make_plan(num_workers=2)

  def make_plan(self, num_workers):
    return report.Plan(
        plan_lib.PlacementPlan(
            distributed.RoundRobinStrategy(drop_remainder=True), num_workers,
            num_ps=2, num_subnetworks=2),
        "chief", ["a", "b"])

  def write_record(self, task, builds, trains, variables, accuracy):
    path = os.path.join(self.model_dir, "records",
                        task.replace(":", "-") + ".json")
    with open(path, "w", encoding="utf-8") as f:
      json.dump(
          dict(
              task=task,
              builds=builds,
              trains=trains,
              variables=variables,
              accuracy=accuracy), f)

  def shown(self):
    """Returns the cells of each line that has any."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
      report.show(self.plan, self.model_dir, wall_secs=12.34)
    lines = (line.strip("│┃ ").replace("┃", "│")
             for line in output.getvalue().splitlines())
    return [[cell.strip() for cell in line.split("│")] for line in lines]

  def test_tables(self):
    shown = self.shown()
    for row in (["chief:0", "a, b, ensemble", "ensemble"],
                ["worker:0", "a", "a"],
                ["/job:ps/task:0", "2", "5,120"],
                ["/job:ps/task:1", "1", "40"],
                ["a", "50.0%"],
                ["ensemble", "97.5%"],
                ["wall time 12.3 s"]):
      self.assertIn(row, shown)

  def test_workers_that_do_the_same(self):
    self.plan = self.make_plan(num_workers=7)
    for w in range(1, 7):
      builds = [["a", "b", "ensemble"], ["a"], ["b"]][w % 3]
      self.write_record("worker:{}".format(w - 1), builds, builds[-1:], {},
                        None)
    self.assertEqual(
        ["chief:0, worker:2, worker:5", "worker:0, worker:3",
         "worker:1, worker:4"],
        [row[0] for row in self.shown() if "worker:" in row[0]])

  @parameterized.named_parameters(
      ("builds", "worker:0", ["a", "b"], ["a"],
       "worker:0 builds .a, b., against the plan: .a."),
      ("trains", "worker:0", ["a"], [],
       "worker:0 trains .., against the plan: .a."),
      ("ensemble", "chief:0", ["a", "b"], [],
       "chief:0 builds .a, b., against the plan: .a, b, ensemble."),
      ("one_too_many", "worker:1", ["b"], ["b"],
       "records of chief:0, worker:0, got those of chief:0, worker:0, wor"),
  )
  def test_against_the_plan(self, task, builds, trains, expected):
    self.write_record(task, builds, trains, {}, {})
    with self.assertRaisesRegex(report.RecordError, expected):
      self.shown()

  def test_a_worker_without_a_record(self):
    self.plan = self.make_plan(num_workers=3)
    with self.assertRaisesRegex(report.RecordError, "expected.*worker:1, got"):
      self.shown()

  def test_workers_that_disagree(self):
    self.write_record("worker:0", ["a"], ["a"],
                      {"a/kernel": dict(_KERNEL, device="/job:ps/task:1")},
                      None)
    with self.assertRaisesRegex(report.RecordError,
                                "a/kernel: the workers disagree"):
      self.shown()


if __name__ == "__main__":
  absltest.main()

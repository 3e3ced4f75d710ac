# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the tables, with records made by hand."""

import contextlib
import io

from absl.testing import absltest
from absl.testing import parameterized
from adanet import distributed
from adanet.distributed import plan as plan_lib
from adanet.examples.digits import report

_KERNEL = {"device": "/job:ps/task:0", "bytes": 2560}
_BIAS = {"device": "/job:ps/task:1", "bytes": 40}


def _record(task, builds, trains, variables=None, accuracy=None):
  return dict(task=task, builds=builds, trains=trains,
              variables=variables or {}, accuracy=accuracy)


_CHIEF = _record("chief:0", ["a", "b", "ensemble"], ["ensemble"],
                 {"a/kernel": _KERNEL, "b/kernel": _KERNEL, "bias": _BIAS},
                 {"a": .5, "ensemble": .975})
_WORKER = _record("worker:0", ["a", "b"], ["a", "b"], {"a/kernel": _KERNEL})


def _shown(*records):
  """Returns the cells of each line that is shown for a chief and a worker."""
  plan = plan_lib.PlacementPlan(distributed.RoundRobinStrategy(), 2, 2, 2)
  job = report.Job(plan, ["chief:0", "worker:0"], ["a", "b"])
  output = io.StringIO()
  with contextlib.redirect_stdout(output):
    report.show(job, records, wall_secs=12.34)
  return [[cell.strip() for cell in line.strip("│ ").split("│")]
          for line in output.getvalue().splitlines()]


class ReportTest(parameterized.TestCase):

  def test_tables(self):
    shown = _shown(_WORKER, _CHIEF)
    for row in (["chief:0", "a, b, ensemble", "ensemble"],
                ["worker:0", "a, b", "a, b"],
                ["/job:ps/task:0", "2", "5,120"],
                ["/job:ps/task:1", "1", "40"],
                ["a", "50.0%"],
                ["ensemble", "97.5%"],
                ["wall time 12.3 s"]):
      self.assertIn(row, shown)

  @parameterized.parameters(
      ([_CHIEF, _record("worker:0", ["a"], ["a", "b"])],
       "worker:0 builds .a., but its plan is .a, b."),
      ([_CHIEF, _record("worker:0", ["a", "b"], [])],
       "worker:0 trains .., but its plan is .a, b."),
      ([_record("chief:0", ["a", "b"], []), _WORKER],
       "chief:0 builds .a, b., but its plan is .a, b, ensemble."),
      ([_CHIEF], "expected .*worker:0, got records of chief:0."),
      ([_CHIEF, _WORKER, _record("worker:1", [], [])], "got .*, worker:1."),
      ([_CHIEF, _record("worker:0", ["a", "b"], ["a", "b"],
                        {"a/kernel": dict(_KERNEL, bytes=8)})],
       "disagree on a/kernel"))
  def test_a_record_is_not_as_planned(self, records, error):
    with self.assertRaisesRegex(report.RecordError, error):
      _shown(*records)


if __name__ == "__main__":
  absltest.main()

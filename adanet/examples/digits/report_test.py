# Copyright 2026 The adanet.distributed Authors. All Rights Reserved.
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     https://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""Tests of the tables, on records of a job written by hand."""

import contextlib
import io
import json
import os

from absl.testing import absltest
from adanet.examples.digits import report

_KERNEL = {"device": "/job:ps/task:0", "bytes": 2560}
_BIAS = {"device": "/job:ps/task:1", "bytes": 40}


class ReportTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self.model_dir = self.create_tempdir().full_path
    os.mkdir(os.path.join(self.model_dir, "records"))
    self.write_record("chief:0", ["a", "b", "ensemble"], ["ensemble"],
                      {"a/kernel": _KERNEL, "b/kernel": _KERNEL, "bias": _BIAS},
                      {"a": .5, "ensemble": .975})
    self.write_record("worker:0", ["a"], ["a"], {"a/kernel": _KERNEL}, None)

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
      report.show(self.model_dir, wall_secs=12.34)
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

  def test_workers_in_order(self):
    for index in (10, 2):
      self.write_record("worker:{}".format(index), ["b"], ["b"], {}, None)
    tasks = [row[0] for row in self.shown() if row[0].startswith("worker:")]
    self.assertEqual(["worker:0", "worker:2", "worker:10"], tasks)

  def test_workers_that_disagree(self):
    self.write_record("worker:1", ["a"], ["a"],
                      {"a/kernel": dict(_KERNEL, device="/job:ps/task:1")},
                      None)
    with self.assertRaisesRegex(ValueError, "a/kernel: the workers disagree"):
      self.shown()


if __name__ == "__main__":
  absltest.main()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the records in a model_dir."""

import os
import subprocess
import sys

from absl.testing import absltest
from absl.testing import parameterized
import adanet
from adanet.core import architecture as architecture_lib
from adanet.history import records
from adanet.history import store
from adanet.testing import histories
from adanet.testing import level

_NO_TENSORFLOW = """
import sys
import adanet
print(adanet.report(sys.argv[1]).final.name)
assert "tensorflow" not in sys.modules
"""


class StoreTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.folder = self.create_tempdir().full_path
    self.history = store.Store(self.folder)

  def _write(self, report):
    histories.write(report, self.folder)

  def _file(self, *path):
    return os.path.join(self.folder, *path)

  def _write_text(self, path, text):
    with open(self._file(path), "w", encoding="utf-8") as f:
      f.write(text)

  def _write_architecture(self, iteration, candidate, subnetworks):
    self._write_text(
        f"architecture-{iteration}.json",
        architecture_lib.Architecture(
            candidate, "complexity_regularized", subnetworks,
            global_step=100 * (iteration + 1)).to_json())

  def test_round_trip(self):
    report = histories.search(num_iterations=11, num_workers=12, num_ps=2)
    self._write(report)
    self.assertEqual(
        report._replace(model_dir=self.folder), adanet.report(self.folder))
    self.assertCountEqual(
        ["chief-0.json", "ps-0.json", "ps-1.json"] +
        [f"worker-{i}.json" for i in range(11)],
        os.listdir(self._file("history", "iteration-10")))

  @level.gate
  def test_file_system_of_tensorflow(self):
    report = histories.search()
    self._write(report)
    path = "file://" + self.folder
    self.assertEqual(
        report._replace(model_dir=path), adanet.report(path))
    self.assertIsNone(store.Store(path).task("worker:9", 0))
    with self.assertRaisesRegex(ValueError, "expected a folder"):
      adanet.report(path + "/other")

  def test_evaluations(self):
    record = records.EvaluationRecord(0, 100, "a_grow_mean", {"loss": .5})
    other = record._replace(name="other/data", global_step=90)
    self._write(histories.search(2, steps=100)._replace(evaluations=(
        record, record._replace(global_step=80), other,
        # The second iteration begins with the ensemble of the first.
        record._replace(iteration=1, metrics={"loss": .4}),
        record._replace(iteration=2, global_step=250))))
    self.assertEqual(
        (other, record._replace(metrics={"loss": .4}),
         record._replace(iteration=2, global_step=250)),
        adanet.report(self.folder).evaluations)

  def test_losses_that_only_workers_know(self):
    report = histories.search(1)
    known = report.iterations[0]
    self._write(report._replace(iterations=(known._replace(subnetworks={
        name: subnetwork._replace(loss=None)
        for name, subnetwork in known.subnetworks.items()}),)))
    self.assertEqual((known,), adanet.report(self.folder).iterations)

  def test_needs_no_tensorflow(self):
    self._write(histories.search())
    output = subprocess.run(
        [sys.executable, "-c", _NO_TENSORFLOW, self.folder],
        env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)),
        stdout=subprocess.PIPE, encoding="utf-8", check=True).stdout
    self.assertEqual("t2_2_layers_grow_complexity_regularized\n", output)

  @level.gate
  def test_restarted_task_adds(self):
    record = records.TaskRecord("worker:1", 3, ("a",), {"a": 5}, 1., 10)
    self.assertIsNone(self.history.task("worker:1", 3))
    self.history.write_task(record)
    left = self.history.task("worker:1", 3)
    self.assertEqual(record, left)
    self.history.write_task(records.added(left, record._replace(
        trained={"a": 7}, seconds=2.)))
    self.assertEqual(
        (record._replace(trained={"a": 12}, seconds=3.),),
        self.history.read().tasks)

  @parameterized.parameters("", '{"version": 1}')
  def test_records_that_cannot_be_read(self, text):
    report = histories.search()
    self._write(report)
    self._write_text("history/iteration-1.json", text)
    self._write_text("history/iteration-1/worker-1.json", text)
    with self.assertLogs(level="WARNING") as logs:
      history = adanet.report(self.folder)
    self.assertLen(logs.records, 1)
    self.assertRegex(
        logs.records[0].getMessage(),
        "^2 of the files .* are left out: the first is .*iteration-1.json: ")
    self.assertNotIn("\n", logs.records[0].getMessage())
    self.assertEqual([0, 2], [r.iteration for r in history.iterations])
    self.assertLen(history.tasks, len(report.tasks) - 1)
    with self.assertLogs(level="WARNING"):
      self.assertIsNone(self.history.task("worker:1", 1))

  def test_other_files(self):
    report = histories.search()
    self._write(report)
    for name in ("notes.txt", "iteration-0.json.adanet-tmp-1", "iteration-x",
                 "iteration-0/chief-0.json.adanet-tmp-1", "iteration-0/chief"):
      self._write_text("history/" + name, "x")
    self.assertEqual(report._replace(model_dir=self.folder),
                     adanet.report(self.folder))

  def test_model_dir_without_records(self):
    self._write_architecture(0, "linear_grow", [(0, "linear")])
    self._write_architecture(
        1, "dnn_grow", [(0, "linear"), (1, "dnn")])
    self._write_architecture(
        2, "dnn_grow", [(0, "linear"), (1, "dnn")])  # It did not grow.
    report = adanet.report(self.folder)
    self.assertEqual(
        ["t0_linear_grow_complexity_regularized",
         "t1_dnn_grow_complexity_regularized",
         "t1_dnn_grow_complexity_regularized"],
        [record.winner for record in report.iterations])
    self.assertEqual(("t0_linear", "t1_dnn"), report.final.subnetworks)
    self.assertEqual([100, 200, 300],
                     [record.global_step for record in report.iterations])
    self.assertIn("only its architecture is known", str(report))

  def test_records_say_more_than_architectures(self):
    self._write_architecture(0, "linear_grow", [(0, "linear")])
    self._write_architecture(3, "other_grow", [(3, "other")])
    self._write_text("architecture-4.json", "{}")
    report = histories.search()
    self._write(report)
    with self.assertLogs(level="WARNING") as logs:
      history = adanet.report(self.folder)
    self.assertLen(logs.records, 1)
    self.assertEqual(report.iterations, history.iterations[:3])
    self.assertEqual("t3_other_grow_complexity_regularized",
                     history.iterations[3].winner)
    self.assertLen(history.iterations, 4)

  def test_empty_folder(self):
    report = adanet.report(self.folder)
    self.assertEqual(((), ()), (report.iterations, report.tasks))
    self.assertIsNone(report.final)
    self.assertIsNone(report.seconds)
    self.assertEqual("No iteration has ended yet.\n", str(report))

  def test_no_folder(self):
    with self.assertRaisesRegex(ValueError, "^model_dir='.*': expected a fol"):
      adanet.report(self._file("nothing"))


if __name__ == "__main__":
  absltest.main()

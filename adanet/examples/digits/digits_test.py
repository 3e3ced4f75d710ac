# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs the digits job: real processes, a real cluster, real data."""

import os
import re
import subprocess
import sys

from absl.testing import absltest
import adanet
from adanet.testing import launches
from adanet.testing import processes
import runfiles

_PROGRAM = ("-m", "adanet.examples.digits.digits", "--verbosity=-1",
            "--steps=80")
_SERVED = re.compile(r"^\[chief:0\] (.*) reads (.*)% of new digits$",
                     re.MULTILINE)


class DigitsTest(absltest.TestCase):

  def test_search_and_serve(self):
    model_dir = os.path.join(self.create_tempdir().full_path, "model dir")
    with launches.Launch(
        "--model_dir=" + model_dir, "--workers=3", "--ps=1", *_PROGRAM,
        # No Keras 3, which loads scikit-learn and Matplotlib in each task.
        variables={"TF_USE_LEGACY_KERAS": "1"}) as launch:
      status, output, errors = launch.finish()
      self.assertEmpty(launch.left())
    self.assertEqual(0, status, errors)
    # TensorFlow is quiet, and the report is not broken by what is before it.
    self.assertEmpty([line for line in errors.splitlines()
                      if not line.startswith("adanet-launch: ")])
    self.assertEmpty([line for line in output.splitlines()
                      if len(line) > 80 and not _SERVED.match(line)])
    (folder, accuracy), = _SERVED.findall(output)
    self.assertStartsWith(folder, os.path.join(model_dir, "export"))
    self.assertTrue(os.path.exists(os.path.join(folder, "saved_model.pb")))
    self.assertGreaterEqual(float(accuracy), 95)
    report = adanet.report(model_dir)
    self.assertEqual(
        [1, 2, 3], [len(i.winning.subnetworks) for i in report.iterations])
    for iteration in report.iterations:
      self.assertNotIn(None, [
          subnetwork.loss for subnetwork in iteration.subnetworks.values()])
    self.assertCountEqual(
        [(f"worker:{i}", [f"t{t}_depth_{i}"])
         for i in range(3) for t in range(3)],
        [(task.task, list(task.trained)) for task in report.tasks
         if task.task.startswith("worker")])

  def test_first_command(self):
    path = runfiles.Create().Rlocation("adanet/adanet/examples/digits/main.py")
    output = subprocess.check_output(
        [sys.executable, path, "--dry_run", "--subnetworks=3"],
        env=processes.python_environment(), text=True)
    self.assertEqual(
        ["chief:0", "worker:0", "worker:1", "worker:2", "ps:0", "ps:1"],
        re.findall("^# (.*)$", output, re.MULTILINE))
    self.assertIn("a chief and 3 workers, 2 parameter servers, 3 subnetworks",
                  output)


if __name__ == "__main__":
  absltest.main()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of a job: its tasks, their TF_CONFIG, and the command of a task."""

import json
import os
import sys

from absl.testing import absltest
from absl.testing import parameterized
from adanet.launch import job as job_lib


class JobTest(parameterized.TestCase):

  @parameterized.parameters(
      (0, 0, False, ["chief:0"]),
      (0, 0, True, ["chief:0", "evaluator:0"]),
      (2, 1, False, ["chief:0", "worker:0", "worker:1", "ps:0"]),
      (1, 2, True, ["chief:0", "worker:0", "ps:0", "ps:1", "evaluator:0"]))
  def test_tasks(self, num_workers, num_ps, has_evaluator, names):
    addresses = ["h:%d" % i for i in range(1 + num_workers + num_ps)]
    job = job_lib.make_job(num_workers, num_ps, has_evaluator, addresses)
    self.assertEqual(names, [task.name for task in job.tasks()])
    self.assertEqual(
        job.tasks(), job_lib.make_tasks(num_workers, num_ps, has_evaluator))
    in_order = []
    for task in job.tasks():
      config = json.loads(job.tf_config(task))
      self.assertEqual({"type": task.job, "index": task.index}, config["task"])
      self.assertNotIn("evaluator", config["cluster"])
      self.assertNotIn("model_dir", config)
      in_order.extend(config["cluster"].get(task.job, [])[task.index:][:1])
    self.assertEqual(addresses, in_order)


class CommandTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.addCleanup(os.chdir, os.getcwd())
    os.chdir(self.create_tempdir().full_path)
    for name, mode in (("train.py", 0o644), ("run", 0o755), ("data", 0o644)):
      with open(name, "w"):
        pass
      os.chmod(name, mode)

  @parameterized.parameters(
      (["train.py", "--a", "b"], False, [sys.executable, "train.py", "--a",
                                         "b"]),
      (["./train.py"], False, [sys.executable, "./train.py"]),
      (["a.train", "-m"], True, [sys.executable, "-m", "a.train", "-m"]))
  def test_python(self, words, is_module, command):
    self.assertEqual(command, job_lib.command(words, is_module))

  def test_executable(self):
    self.assertEqual([os.path.join(os.getcwd(), "run"), "a"],
                     job_lib.command(["run", "a"], False))

  @parameterized.parameters(
      ("no.py", r"no\.py: expected a file, such as train\.py\."),
      ("train", r"train: expected a file.*-m is for Python modules"),
      ("/", "/: expected a file"),
      ("data", r"data: expected \*\.py, or .* \(chmod \+x\)"))
  def test_bad(self, name, message):
    with self.assertRaisesRegex(ValueError, message):
      job_lib.command([name], False)


class ModelDirTest(parameterized.TestCase):

  def test_model_dir(self):
    self.assertEqual('{"a": 1}', job_lib.with_model_dir('{"a": 1}', None))
    self.assertEqual(
        {"a": 1, "model_dir": "/m"},
        json.loads(job_lib.with_model_dir('{"a": 1, "model_dir": "x"}', "/m")))

  @parameterized.parameters("", "{", "[]", "null")
  def test_bad(self, value):
    with self.assertRaisesRegex(ValueError,
                                "TF_CONFIG: expected a JSON object"):
      job_lib.with_model_dir(value, None)


if __name__ == "__main__":
  absltest.main()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the command that runs the program of a user."""

import json
import os
import sys

from absl.testing import absltest
from absl.testing import parameterized
from adanet.launch import program


class CommandTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self._old = os.getcwd()
    self.addCleanup(lambda: os.chdir(self._old))
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
    self.assertEqual(command, program.command(words, is_module))

  def test_executable(self):
    self.assertEqual([os.path.join(os.getcwd(), "run"), "a"],
                     program.command(["run", "a"], False))

  @parameterized.parameters(
      ("no.py", r"no\.py: expected a file, such as train\.py\."),
      ("train", r"train: expected a file.*-m is for Python modules"),
      ("/", "/: expected a file"),
      ("data", r"data: expected \*\.py, or .* \(chmod \+x\)"))
  def test_bad(self, name, message):
    with self.assertRaisesRegex(program.ProgramError, message):
      program.command([name], False)


class ModelDirTest(parameterized.TestCase):

  def test_model_dir(self):
    self.assertEqual('{"a": 1}', program.with_model_dir('{"a": 1}', None))
    self.assertEqual(
        {"a": 1, "model_dir": "/m"},
        json.loads(program.with_model_dir('{"a": 1, "model_dir": "x"}', "/m")))

  @parameterized.parameters("", "{", "[]", "null")
  def test_bad(self, value):
    with self.assertRaisesRegex(program.ProgramError,
                                "TF_CONFIG: expected a JSON object"):
      program.with_model_dir(value, None)


if __name__ == "__main__":
  absltest.main()

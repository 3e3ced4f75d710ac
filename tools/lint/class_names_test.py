# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the check of class names, on small modules."""

from absl.testing import absltest
from tools.lint import class_names


class ClassNamesTest(absltest.TestCase):

  def test_finds(self):
    self.assertEqual(
        ["Task: a.py:1, b.py:3, c.py:2"], class_names.check({
            "a.py": "class Task:\n  pass\n",
            "b.py": "class Job:\n  pass\nclass _Task(Job):\n  pass\n",
            "c.py": "def f():\n  class Task:\n    pass\n"}))

  def test_finds_nothing(self):
    self.assertEqual([], class_names.check({
        "a.py": "class Task:\n  pass\n",
        "b.py": "from a import Task\nclass TaskOfJob(Task):\n  pass\n"}))


if __name__ == "__main__":
  absltest.main()

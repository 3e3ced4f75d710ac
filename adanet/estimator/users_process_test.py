# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that importing and training leave a program's process as it was."""

import os
import subprocess
import sys

from absl.testing import absltest
from adanet.testing import processes

_PROGRAM = os.path.join(
    os.path.dirname(__file__), "testdata", "users_process.py")


class UsersProcessTest(absltest.TestCase):

  def test_is_as_before(self):
    done = subprocess.run(
        [sys.executable, _PROGRAM], timeout=300, check=False,
        env=processes.python_environment(TF_CPP_MIN_LOG_LEVEL=None),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        universal_newlines=True)
    self.assertEqual((0, "\n"), (done.returncode, done.stdout), done.stderr)


if __name__ == "__main__":
  absltest.main()

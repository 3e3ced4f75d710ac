# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of how quiet TensorFlow is. They need none."""

import os
import subprocess
import sys

from absl.testing import absltest
from absl.testing import parameterized

_NOTICES = """\
WARNING: All log messages before absl::InitializeLog() is called are written \
to STDERR
I0000 00:00:1795336624.687257   15327 port.cc:153] oneDNN custom operations
"""
_OTHERS = """\
F0000 00:00:1795336624.687257   15327 cpu_feature_guard.cc:1] No AVX
I1122 08:48:41.195002 139957237042048 mine.py:52] Mine
a line without an end"""

# Loads what stands for TensorFlow; it aborts if an argument says so.
_PROGRAM = """
import os, sys
from adanet.tf_compat import _noise
with _noise.loading():
  os.write(2, sys.argv[1].encode())
  if sys.argv[2:]:
    os.abort()
os.write(2, b"\\nafter\\n")
assert "TF_CPP_MIN_LOG_LEVEL" in os.environ
"""

_WARNINGS = """
import logging
from adanet.tf_compat import _noise
_noise.hide_deprecations()
for line in ("From %s: is deprecated\\\\nInstructions for updating:\\\\n%s", "%s%s"):
  logging.getLogger("tensorflow").warning(line, "A", "B")
"""


def _errors(level, *args, **kwargs):
  """Returns what a program writes to standard error."""
  environment = dict(os.environ, PYTHONPATH=os.pathsep.join(
      filter(None, sys.path)), TF_CPP_MIN_LOG_LEVEL=level or "")
  if level is None:
    del environment["TF_CPP_MIN_LOG_LEVEL"]
  return subprocess.run(
      (sys.executable, "-c") + args, env=environment, timeout=60, check=False,
      stderr=subprocess.PIPE, universal_newlines=True, **kwargs).stderr


class NoiseTest(parameterized.TestCase):

  @parameterized.parameters(
      ("0", _NOTICES), ("", _NOTICES), ("quiet", _NOTICES), ("1", ""),
      ("3", ""), (None, ""))
  def test_notices(self, level, hidden):
    text = _errors(level, _PROGRAM, _NOTICES + _OTHERS)
    self.assertEqual(hidden + _OTHERS, text.replace("\nafter\n", "").rstrip())
    self.assertEndsWith(text, "\nafter\n")

  def test_what_it_says_before_it_aborts(self):
    self.assertEqual(
        _OTHERS, _errors("2", _PROGRAM, _NOTICES + _OTHERS, "abort").rstrip())

  def test_without_a_filter(self):
    self.assertIn(_NOTICES, _errors(
        "2", "import os; os.environ['PATH'] = '/none'" + _PROGRAM, _NOTICES))

  @parameterized.parameters(
      ("0", True), ("1", True), ("2", False), (None, False))
  def test_deprecations(self, level, shown):
    text = _errors(level, _WARNINGS)
    self.assertEqual(shown, "Instructions for updating" in text)
    self.assertIn("AB", text)


if __name__ == "__main__":
  absltest.main()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of how lines of tasks are shown and kept."""

import contextlib
import io
import os
import re
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet.launch import job as job_lib
from adanet.launch import output as output_lib
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
import hypothesis
from hypothesis import strategies as st

_CHIEF = job_lib.Task("chief", 0)
_PS = job_lib.Task("ps", 1)


class LineBufferTest(absltest.TestCase):

  @hypothesis.given(st.lists(st.binary() | st.sampled_from([b"\n", b"ab\n"])))
  def test_any_pieces(self, pieces):
    buffer = output_lib.LineBuffer()
    lines = []
    for piece in pieces:
      lines.extend(buffer.add(piece))
    self.assertTrue(all(line.endswith(b"\n") for line in lines))
    lines.extend(buffer.end())
    self.assertEqual(b"".join(pieces).split(b"\n"),
                     b"".join(lines).split(b"\n"))
    self.assertFalse(any(b"\n" in line[:-1] for line in lines))
    self.assertEmpty(buffer.end())

  def test_very_long_line(self):
    buffer = output_lib.LineBuffer()
    shown = [line for _ in range(100) for line in buffer.add(b"x" * 10000)]
    self.assertNotEmpty(shown)
    self.assertEqual(b"x" * 1000000, b"".join(shown + buffer.end()))


class OutputTest(parameterized.TestCase):

  def _show(self, lines, log_dir=None):
    warnings = []
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
      with output_lib.Output([_CHIEF, _PS], log_dir, warnings.append) as output:
        for line in lines:
          output.add(*line)
    return out.getvalue(), err.getvalue(), warnings, output

  def test_streams(self):
    out, err, warnings, output = self._show([
        (_CHIEF, output_lib.STDOUT, b"a\n"),
        (_PS, output_lib.STDERR, b"b"),
        (_PS, output_lib.STDOUT, b"c\r\n"),
    ])
    self.assertEqual("[chief:0] a\n[ps:1] c\n", out)
    self.assertEqual("[ps:1] b\n", err)
    self.assertEmpty(warnings)
    self.assertEqual(["b", "c"], output.last_lines(_PS))
    self.assertIsNone(output.log_path(_PS))

  @parameterized.parameters((None, ["b"]), ("2", ["b"]), ("0", ["I", "W", "b"]))
  def test_notices_of_tensorflow(self, level, shown):
    lines = [b"I0000 00:00:1795336624.687257   15327 port.cc:153] oneDNN\n",
             b"WARNING: All log messages before absl::InitializeLog()\n",
             b"b\n"]
    folder = self.create_tempdir().full_path
    environment = {} if level is None else {"TF_CPP_MIN_LOG_LEVEL": level}
    with mock.patch.dict(os.environ, environment):
      if level is None:
        os.environ.pop("TF_CPP_MIN_LOG_LEVEL", None)
      _, err, _, output = self._show(
          [(_PS, output_lib.STDERR, line) for line in lines], folder)
    self.assertEqual(shown, re.findall(r"^\[ps:1\] (.)", err, re.MULTILINE))
    self.assertEqual(shown, [line[0] for line in output.last_lines(_PS)])
    with open(output.log_path(_PS), "rb") as f:
      self.assertEqual(lines, f.readlines())

  def test_last_lines(self):
    _, _, _, output = self._show([
        (_PS, output_lib.STDOUT, b"%d\n" % i) for i in range(50)])
    self.assertEqual([str(i) for i in range(30, 50)], output.last_lines(_PS))
    self.assertEmpty(output.last_lines(_CHIEF))

  def test_full_disk(self):
    folder = self.create_tempdir().full_path
    os.symlink("/dev/full", os.path.join(folder, "ps-1.log"))
    out, _, warnings, _ = self._show(
        [(_PS, output_lib.STDOUT, b"a\n")] * 2, folder)
    self.assertEqual("[ps:1] a\n" * 2, out)
    self.assertEqual(
        [f"{folder}/ps-1.log: No space left on device. What ps:1 prints is not "
         "kept any more."], warnings)

  @parameterized.parameters(
      (b"", ""), (b"a\n", "a"), (b"\xff\xc3\xa4", "\ufffd\xe4"),
      (b"10 %\r20 %\r", "20 %"), (b"10 %\rdone\r\n", "done"))
  def test_shown_text(self, line, text):
    self.assertEqual(text, output_lib.shown_text(line))

  @parameterized.parameters(
      (True, {}, True), (False, {}, False), (True, {"NO_COLOR": "1"}, False),
      (True, {"NO_COLOR": ""}, True), (True, {"TERM": "dumb"}, False))
  def test_has_color(self, is_terminal, environment, expected):
    self.assertEqual(
        expected, output_lib.has_color(is_terminal, environment))


if __name__ == "__main__":
  absltest.main()

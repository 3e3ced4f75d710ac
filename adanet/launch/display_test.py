# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what is shown of a job, and kept: lines and events."""

import contextlib
import io
import os
import re
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet.core import events
from adanet.launch import display as display_lib
from adanet.launch import job as job_lib
from adanet.progress import reporter
from adanet.testing import hypothesis_profile  # pylint: disable=unused-import
from adanet.testing import launches
import hypothesis
from hypothesis import strategies as st

_TASKS = job_lib.make_tasks(1, 1, False)
_CHIEF, _, _PS = _TASKS


class LineBufferTest(absltest.TestCase):

  @hypothesis.given(st.lists(st.binary() | st.sampled_from([b"\n", b"ab\n"])))
  def test_any_pieces(self, pieces):
    buffer = display_lib.LineBuffer()
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
    buffer = display_lib.LineBuffer()
    shown = [line for _ in range(100) for line in buffer.add(b"x" * 10000)]
    self.assertNotEmpty(shown)
    self.assertEqual(b"x" * 1000000, b"".join(shown + buffer.end()))


class OutputTest(parameterized.TestCase):

  def _show(self, lines, log_dir=None):
    warnings = []
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
      with display_lib.Output(_TASKS, log_dir, warnings.append) as output:
        for line in lines:
          output.add(*line)
    return out.getvalue(), err.getvalue(), warnings, output

  def test_streams(self):
    out, err, warnings, output = self._show([
        (_CHIEF, display_lib.STDOUT, b"a\n"),
        (_PS, display_lib.STDERR, b"b"),
        (_PS, display_lib.STDOUT, b"c\r\n"),
    ])
    self.assertEqual("[chief:0] a\n[ps:0] c\n", out)
    self.assertEqual("[ps:0] b\n", err)
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
          [(_PS, display_lib.STDERR, line) for line in lines], folder)
    self.assertEqual(shown, re.findall(r"^\[ps:0\] (.)", err, re.MULTILINE))
    self.assertEqual(shown, [line[0] for line in output.last_lines(_PS)])
    with open(output.log_path(_PS), "rb") as f:
      self.assertEqual(lines, f.readlines())

  def test_last_lines(self):
    _, _, _, output = self._show([
        (_PS, display_lib.STDOUT, b"%d\n" % i) for i in range(50)])
    self.assertEqual([str(i) for i in range(30, 50)], output.last_lines(_PS))
    self.assertEmpty(output.last_lines(_CHIEF))

  def test_full_disk(self):
    folder = self.create_tempdir().full_path
    os.symlink("/dev/full", os.path.join(folder, "ps-0.log"))
    out, _, warnings, _ = self._show(
        [(_PS, display_lib.STDOUT, b"a\n")] * 2, folder)
    self.assertEqual("[ps:0] a\n" * 2, out)
    self.assertEqual(
        [f"{folder}/ps-0.log: No space left on device. What ps:0 prints is not "
         "kept any more."], warnings)

  @parameterized.parameters(
      (b"", ""), (b"a\n", "a"), (b"\xff\xc3\xa4", "\ufffd\xe4"),
      (b"10 %\r20 %\r", "20 %"), (b"10 %\rdone\r\n", "done"))
  def test_shown_text(self, line, text):
    self.assertEqual(text, display_lib.shown_text(line))

  @parameterized.parameters(
      (True, {}, True), (False, {}, False), (True, {"NO_COLOR": "1"}, False),
      (True, {"NO_COLOR": ""}, True), (True, {"TERM": "dumb"}, False))
  def test_has_color(self, is_terminal, environment, expected):
    self.assertEqual(
        expected, display_lib.has_color(is_terminal, environment))


class DisplayTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.joined, self.working, self.warnings = [], [], []

  def _display(self):
    return display_lib.Display(
        _TASKS, lambda *args: self.joined.append(args), self.working.append,
        self.warnings.append)

  def test_joined(self):
    with self._display() as display:
      display.add(_PS, reporter.to_json_line(events.Joined("/m")))
    self.assertEqual([(_PS, "/m", 1)], self.joined)
    self.assertEmpty(self.warnings)

  def test_bad_events(self):
    with self._display() as display:
      for line in ("", "{", '{"event": "Sleeping"}'):
        display.add(_PS, line)
    self.assertLen(self.warnings, 1)
    self.assertStartsWith(self.warnings[0], "ps:0: bad event: ")

  def test_lines_look_like_the_others(self):
    with contextlib.redirect_stderr(io.StringIO()), self._display() as display:
      display.add(_CHIEF, reporter.to_json_line(
          events.TrainingEnded(99, "the input ended")))
    self.assertEqual(
        ["Training ended at step 99: the input ended."], self.warnings)

  def test_few_lines_without_a_terminal(self):
    with contextlib.redirect_stderr(io.StringIO()), self._display() as display:
      for step in range(100):
        for task in _TASKS[:2]:
          display.add(task, reporter.to_json_line(
              events.Progress(0, step, {"a": step}, {"a": .5})))
      display.add(_CHIEF, reporter.to_json_line(
          events.Stopped(0, "a", "Its loss is NaN.", is_nan=True)))
    self.assertEqual(["Iteration 0: a trains no further: Its loss is NaN."],
                     self.warnings)


class TerminalTest(launches.LaunchTestCase):
  """Jobs of small programs on a terminal."""

  def _run(self, body, **variables):
    """Returns what a terminal gets."""
    self.write(body)
    terminal, its_end = os.openpty()
    launch = self.start(
        *(launches.SHAPE + (self.program,)), stdout=its_end, stderr=its_end,
        variables=dict({"TERM": "xterm", "COLUMNS": "80", "LINES": "40"},
                       **variables))
    os.close(its_end)
    data = b""
    while True:
      try:
        new = os.read(terminal, 1 << 16)
      except OSError:  # All have closed it.
        break
      if not new:
        break
      data += new
    os.close(terminal)
    self.assertEqual(0, launch.finish()[0], data)
    return data.decode()

  _TRAINS = """
works()
name = me.replace(":", "_")
if me != "ps:0":
  report("IterationBegan", iteration_number=0, subnetworks=[name], ensembles=[],
         max_steps=100, global_step=0)
for step in range(5):
  if me != "ps:0":
    report("Progress", iteration_number=0, global_step=step, steps={name: step},
           losses={name: .5})
    time.sleep(.15)
  print("step", step, me, "of 5")
"""

  def test_display_and_lines(self):
    shown = self._run(self._TRAINS)
    plain = re.sub("\033\\[[0-9;?]*[A-Za-z]", "", shown)
    for name in ("chief_0", "worker_0", "worker_1"):
      self.assertRegex(plain, name + " .* 4/100 +loss 0.5")
    for task in launches.TASKS:
      for step in range(5):
        self.assertRegex(
            plain, rf"(?:^|[\r\n])\[{task}\] step {step} {task} of 5\r\n")
    self.assertRegex(shown, "\033\\[3[0-9]m\\[chief:0\\]")


if __name__ == "__main__":
  absltest.main()

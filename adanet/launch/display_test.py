# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the events that the display takes."""

import contextlib
import io

from absl.testing import absltest
from absl.testing import parameterized
from adanet.core import events
from adanet.launch import display as display_lib
from adanet.launch import job as job_lib
from adanet.progress import event_json

_TASKS = job_lib.make_tasks(1, 1, False)
_CHIEF, _, _PS = _TASKS


class DisplayTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.joined, self.working, self.warnings = [], [], []

  def _display(self):
    return display_lib.Display(
        _TASKS, lambda *args: self.joined.append(args), self.working.append,
        self.warnings.append)

  def test_working(self):
    with self._display() as display:
      display.add(_PS, event_json.dumps(events.Working("ps:0")))
      display.add(_CHIEF, event_json.dumps(events.Working("chief:0")))
    self.assertEqual([_PS, _CHIEF], self.working)

  def test_joined(self):
    with self._display() as display:
      display.add(_PS, event_json.dumps(events.Joined("/m")))
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
      display.add(_CHIEF, event_json.dumps(
          events.TrainingEnded(99, "the input ended")))
    self.assertEqual(
        ["Training ended at step 99: the input ended."], self.warnings)

  def test_few_lines_without_a_terminal(self):
    with contextlib.redirect_stderr(io.StringIO()), self._display() as display:
      for step in range(100):
        for task in _TASKS[:2]:
          display.add(task, event_json.dumps(
              events.Progress(0, step, {"a": step}, {"a": .5})))
      display.add(_CHIEF, event_json.dumps(
          events.Stopped(0, "a", "Its loss is NaN.", is_nan=True)))
    self.assertEqual(["Iteration 0: a trains no further: Its loss is NaN."],
                     self.warnings)


if __name__ == "__main__":
  absltest.main()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the progress of training, on a terminal."""

import os
import re
import sys
import threading
from unittest import mock

from absl import logging
from absl.testing import absltest
from absl.testing import parameterized
from adanet.core import events
from adanet.core import selection
from adanet.progress import cluster
from adanet.progress import live
from adanet.progress import reporter

_ESCAPE = re.compile(r"\x1b\[([?\d;]*)([A-Za-z])|\r|\n|.", re.DOTALL)


class _Terminal:
  """A terminal that remembers what was written, as a context manager.

  Attributes:
    stream: the file that a program writes to.
    written: str, all that was written; complete at the end.
  """

  def __init__(self):
    self._main, terminal = os.openpty()
    self.stream = os.fdopen(terminal, "w")
    self.written = ""
    self._thread = threading.Thread(target=self._read)

  def _read(self):
    content = b""
    while True:
      try:
        part = os.read(self._main, 65536)
      except OSError:  # The stream is closed.
        break
      content += part
    self.written = content.decode("utf-8")

  def __enter__(self):
    self._thread.start()
    return self

  def __exit__(self, *exc_info):
    self.stream.close()
    self._thread.join()
    os.close(self._main)

  def lines(self):
    """Returns what the terminal shows at the end."""
    lines, row, column = [""], 0, 0
    for match in _ESCAPE.finditer(self.written):
      text, (argument, code) = match.group(), match.groups()
      if text == "\r":
        column = 0
      elif text == "\n":
        row += 1
        lines += [""] * (row + 1 - len(lines))
      elif code == "A":
        row -= int(argument or 1)
      elif code == "K":
        lines[row] = ""
      elif code is None:
        line = lines[row].ljust(column)
        lines[row] = line[:column] + text + line[column + 1:]
        column += 1
    return [line.rstrip() for line in lines]


def _names(count):
  subnetworks = tuple(f"t0_dnn_{i}" for i in range(count))
  return subnetworks, tuple(
      name + "_grow_complexity_regularized" for name in subnetworks)


def _progress(names, step, max_steps=100):
  return events.Progress(
      0, step, dict.fromkeys(names, step),
      {name: 1. / (1 + i) for i, name in enumerate(names)}, 250.,
      (max_steps - step) / 250.)


class LiveProgressTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.enter_context(mock.patch.dict(
        os.environ, {"COLUMNS": "80", "LINES": "24", "TERM": "xterm"}))
    # Draw every event.
    self.enter_context(mock.patch.object(
        live, "_SECS_BETWEEN_DRAWINGS", 0.))

  def _shown(self, reported, columns=80):
    """Returns the lines that a terminal shows at the end."""
    with mock.patch.dict(os.environ, {"COLUMNS": str(columns)}), \
         _Terminal() as terminal:
      with reporter.reporter(terminal.stream) as report:
        for event in reported:
          report(event)
    # A process that is killed cannot show the cursor again.
    self.assertNotIn("\x1b[?25l", terminal.written)
    lines = terminal.lines()
    self.assertLessEqual(max(map(len, lines)), columns)
    return lines

  def test_iteration(self):
    subnetworks, ensembles = _names(2)
    lines = self._shown(
        [events.IterationBegan(0, subnetworks, ensembles, 100, 0, 3)] +
        [_progress(subnetworks + ensembles, step) for step in range(0, 101, 10)]
        + [events.Stopped(0, "t0_dnn_0", "Training complete.",
                          is_complete=True),
           events.CheckpointSaved("/m/model.ckpt-100", 100),
           events.IterationEnded(
               0, selection.choose(ensembles, [.25, .5]), 2.),
           events.TrainingEnded(100, "over")])
    text = "\n".join(lines)
    self.assertRegex(text, r"""^Iteration 0 \(1 of 3\) begins at step 0: 2 .*
(.*\n)*Iteration 0 \(1 of 3\), step 100, 250 steps/s
t0_dnn_0 .* 100/100  loss 1
t0_dnn_1 .* 100/100  loss 0.5
t0_dnn_0\.\. .* 100/100  loss 0.3333
t0_dnn_1\.\. .* 100/100  loss 0.25
Iteration 0 ended after 0:02: t0_dnn_0\.\. won with .*
(.*\n)*Training ended at step 100: over\.
$""")
    self.assertNotIn("Training complete", text)
    self.assertNotIn("model.ckpt", text)

  @parameterized.parameters(30, 60, 80, 200)
  def test_fits_the_width(self, columns):
    subnetworks, ensembles = _names(2)
    lines = self._shown(
        [events.IterationBegan(0, subnetworks, ensembles, 100, 0),
         _progress(subnetworks + ensembles, 50)], columns)
    rows = [line for line in lines if "50/100" in line]
    self.assertLen(rows, 4)
    for row in rows:
      self.assertRegex(row, r"50/100  loss \d")

  def test_many_candidates(self):
    subnetworks, ensembles = _names(40)
    lines = self._shown(
        [events.IterationBegan(0, subnetworks, ensembles, 100, 0)] +
        [_progress(subnetworks + ensembles, step) for step in (10, 20)])
    drawing = lines[[line.startswith("Iteration 0, step")
                     for line in lines].index(True):]
    self.assertLessEqual(len(drawing), 24)
    text = "\n".join(drawing)
    self.assertIn("... and 30 more subnetworks", text)
    self.assertIn("... and 30 more ensembles", text)
    # The last ones have the least loss.
    self.assertIn("t0_dnn_39 ", text)
    self.assertNotIn("t0_dnn_0 ", text)

  def test_cluster(self):
    merging = cluster.ClusterProgress()
    shown = []
    for task, event in (
        ("chief:0", events.IterationBegan(0, (), ("a_grow",), 100, 0)),
        ("chief:0", events.Progress(0, 5, {"a_grow": 5}, {}, 10.)),
        ("worker:0", events.IterationBegan(0, ("a",), (), 100, 0)),
        ("worker:0", events.Working("worker:0")),
        ("worker:0", events.Progress(0, 5, {"a": 7}, {"a": .5}, 20.))):
      shown += merging.add(task, event)
    text = "\n".join(self._shown(shown))
    self.assertEqual(1, text.count("Iteration 0 begins"))
    self.assertNotIn("worker:0", text)
    self.assertRegex(text, r"""Iteration 0, step 5, 10 steps/s
a .* 7/100  loss 0.5
a_grow .* 5/100
""")

  def test_what_is_not_known(self):
    lines = self._shown([
        events.Progress(3, 7, {"a": 7}, {"a": None})])
    self.assertEqual(["Iteration 3, step 7", "a  step 7"],
                     [line for line in lines if line])

  def test_stop_before_the_last_step_has_a_line(self):
    lines = self._shown([
        events.IterationBegan(0, ("a", "b"), (), 100, 0),
        _progress(["a", "b"], 50),
        events.Stopped(0, "a", "The input ended."),
        events.Stopped(0, "b", "Its loss is NaN.", is_nan=True)])
    text = "\n".join(lines)
    self.assertIn("a trains no further: The input ended.", text)
    self.assertIn("b trains no further: Its loss is NaN.", text)

  def test_error_leaves_the_last_state(self):
    handler = logging.get_absl_handler().python_handler
    stream = handler.stream
    with _Terminal() as terminal:
      with mock.patch.object(sys, "stderr", terminal.stream), \
           mock.patch.object(handler, "stream", terminal.stream):
        with self.assertRaises(KeyboardInterrupt):
          with reporter.reporter() as report:
            report(events.IterationBegan(0, ("a",), (), 100, 0))
            report(_progress(["a"], 50))
            logging.error("logged")
            print("printed", file=sys.stderr)
            report(_progress(["a"], 60))
            raise KeyboardInterrupt()
        self.assertIs(terminal.stream, sys.stderr)
        self.assertIs(terminal.stream, handler.stream)
      print("after", file=terminal.stream)
    self.assertIs(stream, handler.stream)
    lines = terminal.lines()
    self.assertNotIn("step 50", "".join(lines))  # That has been drawn over.
    log, user, header, row, after = (
        [i for i, line in enumerate(lines) if text in line]
        for text in ("logged", "printed",
                     "Iteration 0, step 60", "60/100", "after"))
    for places in (log, user, header, row, after):
      self.assertLen(places, 1)
    self.assertEqual(sorted(log + user + header + row + after),
                     log + user + header + row + after)

  def test_terminal_that_goes_away(self):
    main, terminal = os.openpty()
    stream = os.fdopen(terminal, "w")
    with reporter.reporter(stream) as report:
      report(_progress(["a"], 0))
      os.close(main)
      for step in range(3):
        report(_progress(["a"], step))
        report(events.Stopped(0, "a", "Over."))
    with self.assertRaises(OSError):
      stream.close()


if __name__ == "__main__":
  absltest.main()

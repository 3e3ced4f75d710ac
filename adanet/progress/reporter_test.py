# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the progress of training: in the log, and as JSON lines."""

import contextlib
import dataclasses
import io
import itertools
import json
import math
import os
import sys
from unittest import mock

from absl import logging
from absl.testing import absltest
from absl.testing import parameterized
from adanet import progress
from adanet.core import events
from adanet.core import selection
from adanet.progress import live  # pylint: disable=unused-import
from adanet.progress import reporter
from adanet.testing import hypothesis_profile
import hypothesis
from hypothesis import strategies as st
import numpy as np

_BEGAN = events.IterationBegan(0, ("t0_a",), ("t0_a_grow_mean",), 1000, 0)
_ENDED = events.IterationEnded(0, selection.preset(["a"], 0, "alone"), 1.)
_NAMES = hypothesis_profile.TEXTS
# All fields get any value, also those with a default.
st.register_type_strategy(selection.Choice, st.builds(
    selection.Choice, **{field.name: ... for field in dataclasses.fields(
        selection.Choice)}))
_EVENTS = st.one_of(*(
    st.builds(kind, **dict.fromkeys(kind._fields, ...))
    for kind in events.Event.__args__))


def _progress(step):
  return events.Progress(0, step, {"t0_a": step}, {"t0_a": .5})


class ReporterTest(parameterized.TestCase):

  def _lines(self, reported, secs_between=60., **kwargs):
    """Returns what the log gets of events, and the levels of its lines."""
    clock = itertools.count(0., secs_between)
    with mock.patch.object(reporter.time, "monotonic", clock.__next__), \
         self.assertLogs(level="INFO") as logs:
      with reporter.reporter(io.StringIO(), **kwargs) as report:
        for event in reported:
          report(event)
    return ([record.getMessage() for record in logs.records],
            [record.levelname for record in logs.records])

  def test_every_event_has_a_line(self):
    lines, levels = self._lines([
        _BEGAN, _progress(500), events.CheckpointSaved("/m/model.ckpt-1", 1),
        events.Stopped(0, "t0_a", "Over."), _ENDED,
        events.TrainingEnded(1000, "over")])
    self.assertLen(lines, 6)
    self.assertEqual({"INFO"}, set(levels))

  @parameterized.named_parameters(
      ("default", logging.WARNING,
       ["adanet: Iteration 0 begins at step 0: 1 subnetwork (t0_a), 1 ensemble "
        "(t0_a_grow_mean), 1000 steps each.",
        "adanet: Iteration 0: step 30. Loss: t0_a 0.5."]),
      ("shown_by_the_log", logging.INFO, []),
      ("switched_off", logging.ERROR, []))
  def test_without_a_log(self, verbosity, expected):
    self.addCleanup(logging.set_verbosity, logging.get_verbosity())
    logging.set_verbosity(verbosity)
    clock = itertools.count(0., 60.)
    with mock.patch.object(reporter.time, "monotonic", clock.__next__), \
         contextlib.redirect_stderr(io.StringIO()) as printed:
      with reporter.reporter(log_step_count_steps=10) as report:
        for event in (_BEGAN, _progress(30), events.Working("chief:0"),
                      events.Stopped(0, "t0_a", "Over.", is_complete=True)):
          report(event)
    self.assertEqual(expected, [
        line for line in printed.getvalue().splitlines()
        if line.startswith("adanet")])

  def test_standard_error_is_closed(self):
    self.addCleanup(logging.set_verbosity, logging.get_verbosity())
    logging.set_verbosity(logging.WARNING)
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stream:
      with contextlib.redirect_stderr(stream):
        with reporter.reporter() as report:
          report(_BEGAN)
      with contextlib.suppress(OSError):
        stream.close()

  def test_nan_is_a_warning(self):
    lines, levels = self._lines([events.Stopped(0, "t0_a", "Its loss is NaN.",
                                                is_nan=True)])
    self.assertEqual(["WARNING"], levels)
    self.assertIn("t0_a", lines[0])

  @parameterized.named_parameters(
      ("steps", 60., {"log_step_count_steps": 50}, [60, 120, 180, 240, 300]),
      ("default", 60., {}, [120, 240]),
      ("seconds", 4., {"log_step_count_steps": 1}, [90, 180, 270]),
      ("never", 60., {"log_step_count_steps": None}, []))
  def test_few_lines_about_progress(self, secs_between, arguments, steps):
    lines, _ = self._lines(
        [_BEGAN] + [_progress(step) for step in range(30, 301, 30)],
        secs_between, **arguments)
    self.assertEqual(
        [f"Iteration 0: step {step}. Loss: t0_a 0.5."
         for step in steps], lines[1:])

  def test_lines_while_only_ensembles_train(self):
    lines, _ = self._lines(
        [_BEGAN] + [events.Progress(0, 300, {"t0_a": 300, "ensemble": step}, {})
                    for step in range(0, 300, 100)], 60.)
    self.assertEqual(["Iteration 0: step 300."] * 3, lines[1:])

  def _assert_logs_a_line(self, reader, writer):
    with os.fdopen(reader), os.fdopen(writer, "w") as stream, \
         self.assertLogs(level="INFO") as logs:
      with reporter.reporter(stream) as report:
        report(_ENDED)
    self.assertLen(logs.records, 1)

  def test_pipe(self):
    self._assert_logs_a_line(*os.pipe())

  def test_terminal_without_rich(self):
    with mock.patch.dict(sys.modules, {"rich": None}), \
         mock.patch.object(progress, "live"):
      del progress.live
      sys.modules.pop("adanet.progress.live", None)
      self._assert_logs_a_line(*os.openpty())

  def test_json_lines(self):
    reader, writer = os.pipe()
    main, terminal = os.openpty()
    reported = [_BEGAN, _progress(500), _ENDED]
    with mock.patch.dict(os.environ, {reporter.EVENTS_FD: str(writer)}), \
         os.fdopen(main), os.fdopen(terminal, "w") as stream, \
         self.assertLogs(level="INFO") as logs:
      with reporter.reporter(stream) as report:
        for event in reported:
          report(event)
    os.close(writer)
    with os.fdopen(reader) as f:
      self.assertEqual(reported, [reporter.from_json_line(line) for line in f])
    self.assertLen(logs.records, 2)  # And nothing is drawn.

  def test_nobody_reads(self):
    reader, writer = os.pipe()
    with mock.patch.dict(os.environ, {reporter.EVENTS_FD: str(writer)}), \
         self.assertLogs(level="INFO") as logs:
      with reporter.reporter(io.StringIO()) as report:
        report(_BEGAN)
        os.close(reader)
        report(_ENDED)
        report(_ENDED)
    os.close(writer)
    self.assertLen(logs.records, 3)

  @parameterized.parameters("pipe", "99999", str(10**30))
  def test_no_open_pipe(self, text):
    with mock.patch.dict(os.environ, {reporter.EVENTS_FD: text}), \
         self.assertLogs(level="INFO") as logs:
      with reporter.reporter(io.StringIO()) as report:
        report(_ENDED)
    self.assertEqual(["WARNING", "INFO"],
                     [record.levelname for record in logs.records])
    self.assertIn(f"{reporter.EVENTS_FD}={text}: expected",
                  logs.records[0].getMessage())

  def test_descriptor_of_something_else(self):
    file = self.create_tempfile(content="mine")
    with open(file.full_path, "a") as f, \
         mock.patch.dict(os.environ, {reporter.EVENTS_FD: str(f.fileno())}), \
         self.assertLogs(level="WARNING"):
      with reporter.reporter(io.StringIO()) as report:
        report(_ENDED)
    self.assertEqual("mine", file.read_text())


class EventJsonTest(parameterized.TestCase):

  @hypothesis.given(_EVENTS)
  def test_round_trip(self, event):
    line = reporter.to_json_line(event)
    self.assertNotIn("\n", line)
    self.assertIs(type(event), type(reporter.from_json_line(line)))
    # NaN differs from itself.
    self.assertEqual(repr(event), repr(reporter.from_json_line(line)))
    json.loads(line, parse_constant=self.fail)

  def test_numbers_of_numpy(self):
    event = reporter.from_json_line(reporter.to_json_line(events.Progress(
        np.int64(1), np.int32(2), {"a": np.int64(3)},
        {"a": np.float32(.5), "b": np.float32(np.nan)}, np.float64(4.))))
    self.assertEqual((1, 2, {"a": 3}, 4., None), (
        event.iteration_number, event.global_step, event.steps,
        event.steps_per_second, event.seconds_left))
    self.assertEqual(.5, event.losses["a"])
    self.assertTrue(math.isnan(event.losses["b"]))

  @parameterized.named_parameters(
      ("empty", "", "not JSON: Expecting value"),
      ("cut", '{"event": "Working", "ta', "line="),
      ("no_object", "[]", r"it is \[\], not an object"),
      ("no_event", '{"task": "a"}', "event is None, not one of Iter"),
      ("unknown", '{"event": "Paused"}', "event is 'Paused', not one of"),
      ("list_as_event", '{"event": []}', r"event is \[\], not one of"),
      ("missing", '{"event": "Working"}', "it lacks task"),
      ("further", '{"event": "Working", "task": "a", "b": 1}',
       "it has the unknown b"),
      ("kind", '{"event": "Working", "task": 1}', "task is 1, not a string"),
      ("bool", '{"event": "Resumed", "iteration_number": true, '
       '"global_step": 1, "checkpoint": ""}',
       "iteration_number is True, not an integer"),
      ("inner", '{"event": "IterationEnded", "iteration_number": 1, '
       '"choice": {"index": 0, "name": 1}, "seconds": 1}',
       "choice.name is 1, not a string"),
      ("dict", '{"event": "Progress", "iteration_number": 1, "global_step": 1, '
       '"steps": {"a": 0.5}, "losses": {}}',
       r"steps\['a'\] is 0.5, not an integer"),
      ("deep", "[" * 100000, "line="))
  def test_other_lines(self, line, message):
    with self.assertRaisesRegex(ValueError, message) as raised:
      reporter.from_json_line(line)
    self.assertNotIn("\n", str(raised.exception))
    self.assertLess(len(str(raised.exception)), 500)

  @hypothesis.given(_NAMES | st.recursive(
      st.none() | st.booleans() | st.floats() | _NAMES,
      lambda part: st.lists(part) | st.dictionaries(
          st.sampled_from(["event", "task", "steps"]) | _NAMES, part)
      ).map(json.dumps))
  def test_any_other_line(self, line):
    with self.assertRaisesRegex(ValueError, "Expected an event"):
      reporter.from_json_line(line)

  @parameterized.parameters("a", None, selection.Choice(0, "a"))
  def test_no_event(self, event):
    with self.assertRaisesRegex(TypeError, "expected one of"):
      reporter.to_json_line(event)


if __name__ == "__main__":
  absltest.main()

# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of events as JSON lines."""

import json
import math

from absl.testing import absltest
from absl.testing import parameterized
from adanet.core import events
from adanet.core import selection
from adanet.progress import event_json
from adanet.testing import hypothesis_profile
import hypothesis
from hypothesis import strategies as st
import numpy as np

_NAMES = hypothesis_profile.TEXTS
_FLOATS = st.floats()
_NUMBERS = st.integers(0, 10**12)
_MAYBE_FLOATS = st.none() | _FLOATS
_CHOICES = st.builds(
    selection.Choice, _NUMBERS, _NAMES, _MAYBE_FLOATS, st.none() | _NAMES,
    _MAYBE_FLOATS, _NUMBERS, st.booleans(), st.lists(_NAMES).map(tuple), _NAMES)
_MANY_NAMES = st.lists(_NAMES).map(tuple)
_EVENTS = st.one_of(
    st.builds(events.IterationBegan, _NUMBERS, _MANY_NAMES, _MANY_NAMES,
              st.none() | _NUMBERS, _NUMBERS),
    st.builds(events.Resumed, _NUMBERS, _NUMBERS, _NAMES,
              st.none() | _NUMBERS),
    st.builds(events.Progress, _NUMBERS, _NUMBERS,
              st.dictionaries(_NAMES, _NUMBERS),
              st.dictionaries(_NAMES, _MAYBE_FLOATS), _MAYBE_FLOATS,
              _MAYBE_FLOATS),
    st.builds(events.Stopped, _NUMBERS, _NAMES, _NAMES, st.booleans(),
              st.booleans()),
    st.builds(events.CheckpointSaved, _NAMES, _NUMBERS),
    st.builds(events.IterationEnded, _NUMBERS, _CHOICES, _FLOATS, _NAMES),
    st.builds(events.IterationUndecided, _NUMBERS, _NUMBERS,
              st.none() | _CHOICES, _NAMES),
    st.builds(events.TrainingEnded, _NUMBERS, _NAMES),
    st.builds(events.Joined, _NAMES), st.builds(events.Working, _NAMES))


class EventJsonTest(parameterized.TestCase):

  @hypothesis.given(_EVENTS)
  def test_round_trip(self, event):
    line = event_json.dumps(event)
    self.assertNotIn("\n", line)
    self.assertIs(type(event), type(event_json.loads(line)))
    # NaN differs from itself.
    self.assertEqual(repr(event), repr(event_json.loads(line)))
    json.loads(line, parse_constant=self.fail)

  def test_has_every_event(self):
    kinds = set()
    hypothesis.given(_EVENTS)(
        hypothesis.settings(max_examples=300)(
            lambda event: kinds.add(type(event))))()
    self.assertEqual(set(events.Event.__args__), kinds)

  def test_numbers_of_numpy(self):
    event = event_json.loads(event_json.dumps(events.Progress(
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
      ("no_object", "[]", "it is \[\], not an object"),
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
      event_json.loads(line)
    self.assertNotIn("\n", str(raised.exception))
    self.assertLess(len(str(raised.exception)), 500)

  @hypothesis.given(_NAMES | st.recursive(
      st.none() | st.booleans() | _FLOATS | _NAMES,
      lambda part: st.lists(part) | st.dictionaries(
          st.sampled_from(["event", "task", "steps"]) | _NAMES, part)
      ).map(json.dumps))
  def test_any_other_line(self, line):
    with self.assertRaisesRegex(ValueError, "Expected an event"):
      event_json.loads(line)

  @hypothesis.given(_EVENTS, st.data())
  def test_line_that_was_cut(self, event, data):
    line = event_json.dumps(event)
    end = data.draw(st.integers(0, len(line) - 1))
    with self.assertRaisesRegex(ValueError, "Expected an event"):
      event_json.loads(line[:end])

  @parameterized.parameters("a", None, selection.Choice(0, "a"))
  def test_no_event(self, event):
    with self.assertRaisesRegex(TypeError, "expected one of"):
      event_json.dumps(event)


if __name__ == "__main__":
  absltest.main()

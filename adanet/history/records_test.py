# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the records of a search."""

import json
import math

from absl.testing import absltest
from absl.testing import parameterized
from adanet.core import events
from adanet.core import selection
from adanet.history import records
from adanet.testing import hypothesis_profile
from adanet.testing import level
import hypothesis
from hypothesis import strategies as st
import numpy as np

_NAMES = hypothesis_profile.TEXTS
_NUMBERS = st.integers(0, 10**15)
_MAYBE_FLOATS = st.none() | st.floats()
_MAYBE_SECONDS = st.none() | st.floats(0, 1e9)
_CANDIDATES = st.builds(
    records.CandidateRecord, _NAMES, _MAYBE_FLOATS,
    st.lists(_NAMES).map(tuple), st.lists(_MAYBE_FLOATS).map(tuple))
_ITERATIONS = st.builds(
    records.IterationRecord, _NUMBERS, st.lists(_CANDIDATES).map(tuple), _NAMES,
    _NAMES, _MAYBE_FLOATS, _NAMES,
    st.dictionaries(_NAMES, st.builds(
        records.SubnetworkRecord, _NUMBERS, _MAYBE_FLOATS, _MAYBE_SECONDS,
        st.none() | _NUMBERS, _MAYBE_FLOATS, _MAYBE_FLOATS,
        seconds=_MAYBE_SECONDS), max_size=3),
    st.none() | _NUMBERS, _MAYBE_SECONDS, st.none() | _NUMBERS)
_TASKS = st.builds(
    records.TaskRecord, _NAMES, _NUMBERS, st.lists(_NAMES).map(tuple),
    st.dictionaries(_NAMES, _NUMBERS), st.floats(0, 1e9), st.none() | _NUMBERS,
    st.lists(_NAMES).map(tuple), st.dictionaries(_NAMES, st.floats()),
    st.floats(0, 1e9), st.booleans(),
    st.dictionaries(_NAMES, st.integers(0, 99).map(float)))

_CANDIDATE_NAMES = {"t0_a": ["t0_x"], "t1_b": ["t0_x", "t1_y"]}
_ENDED = events.IterationEnded(
    1, selection.choose(list(_CANDIDATE_NAMES), [.5, .25]), 9., "loss")


class RecordsTest(parameterized.TestCase):

  @hypothesis.settings(max_examples=level.number(15, 50))
  @hypothesis.given(_ITERATIONS | _TASKS)
  def test_round_trip(self, record):
    text = records.dumps(record)
    json.loads(text, parse_constant=self.fail)
    # NaN differs from itself.
    self.assertEqual(repr(record), repr(records.loads(type(record), text)))

  @parameterized.parameters(
      ("[]", "not an object"), ("{}", "its version is None, not 1"),
      ('{"version": 6}', "its version is 6, not 1"),
      ('{"version": 1}', "it lacks iteration, task"),
      ('{"version": 1, "task": "a", "iteration": 0, "seconds": "1"}',
       "seconds is '1', not a number"),
      ("[" * 100000, "nested too deep|."))
  def test_other_texts(self, text, message):
    with self.assertRaisesRegex(ValueError, message):
      records.loads(records.TaskRecord, text)

  def test_winning(self):
    candidate = records.CandidateRecord("a")
    record = records.IterationRecord(0, (candidate,), "a")
    self.assertIs(candidate, record.winning)
    self.assertIsNone(record._replace(winner="b").winning)

  @hypothesis.settings(max_examples=level.number(3, 20))
  @hypothesis.given(_TASKS, _TASKS, _TASKS)
  def test_added(self, first, second, third):
    self.assertEqual(first, records.added(None, first))
    both = records.added(first, second)
    self.assertEqual(both.bytes, first.bytes if second.bytes is None
                     else second.bytes)
    self.assertEqual(set(first.builds) | set(second.builds), set(both.builds))
    self.assertEqual(first.total_seconds + second.total_seconds,
                     both.total_seconds)
    for name in both.trained:
      self.assertEqual(
          first.trained.get(name, 0) + second.trained.get(name, 0),
          both.trained[name])
    expected = records.added(both, third)
    actual = records.added(first, records.added(second, third))
    self.assertEqual(expected.trained, actual.trained)
    self.assertEqual(expected.step_seconds, actual.step_seconds)

  def test_networks_of_tasks(self):
    tasks = [
        records.TaskRecord("chief:0", 0, losses={"c": .5}, trained={"c": 9}),
        records.TaskRecord("worker:0", 0, losses={"a": .5}, trained={"a": 9},
                           step_seconds={"a": 2.}),
        records.TaskRecord("worker:1", 0, losses={"a": .25}, trained={"a": 10},
                           step_seconds={"a": 3.})]
    record = records.with_tasks(records.IterationRecord(0, (), "", subnetworks={
        "a": records.SubnetworkRecord(19), "b": records.SubnetworkRecord(5, .1),
        "c": records.SubnetworkRecord(9)}), tasks)
    self.assertEqual({
        "a": records.SubnetworkRecord(19, .25, seconds=5.),
        "b": records.SubnetworkRecord(5, .1),
        "c": records.SubnetworkRecord(9, .5)}, record.subnetworks)

  def test_steps(self):
    self.assertEqual(0, records.TaskRecord("ps:0", 0).steps)
    self.assertEqual(
        7, records.TaskRecord("a", 0, (), {"a": 3, "b": 7}).steps)


class IterationRecordTest(parameterized.TestCase):

  def test_all_is_known(self):
    self.assertEqual(
        records.IterationRecord(
            1, (records.CandidateRecord("t0_a", .5, ("t0_x",), (None,)),
                records.CandidateRecord(
                    "t1_b", .25, ("t0_x", "t1_y"), (.75, .5))),
            "t1_b", "loss", .25, "",
            {"t1_y": records.SubnetworkRecord(10, .125)}, 20, 9., 3),
        records.iteration_record(
            _ENDED, _CANDIDATE_NAMES, {"t0_a": .5, "t1_b": .25},
            {"t1_b": [.75, .5]},
            events.Progress(1, 20, {"t1_y": 10, "t1_b": 9, "t0_a": 8},
                            {"t1_y": .125, "t1_b": .5}), 20, 3))

  def test_numbers_of_numpy(self):
    record = records.iteration_record(
        _ENDED, _CANDIDATE_NAMES,
        dict(zip(_CANDIDATE_NAMES, np.float32([.5, np.nan]))),
        {"t0_a": np.float32([.5])})
    read = records.loads(records.IterationRecord, records.dumps(record))
    self.assertEqual(.5, read.candidates[0].value)
    self.assertEqual((.5,), read.candidates[0].weights)
    self.assertTrue(math.isnan(read.candidates[1].value))

  def test_nothing_was_compared(self):
    record = records.iteration_record(
        events.IterationEnded(
            0, selection.preset(["a"], 0, "it is the only candidate"), 1.),
        {"a": ["b"]})
    self.assertEqual(
        records.IterationRecord(
            0, (records.CandidateRecord("a", None, ("b",), (None,)),), "a",
            reason="it is the only candidate", seconds=1.), record)

  def test_value_of_the_winner_alone(self):
    record = records.iteration_record(_ENDED, _CANDIDATE_NAMES)
    self.assertEqual([None, .25], [c.value for c in record.candidates])

  def test_what_does_not_match(self):
    with self.assertRaisesRegex(
        ValueError, r"^weights\['t1_b'\]=\[1.0\]: .* subnetworks t0_x, t1_y.$"):
      records.iteration_record(_ENDED, _CANDIDATE_NAMES, None, {"t1_b": [1.]})


if __name__ == "__main__":
  absltest.main()

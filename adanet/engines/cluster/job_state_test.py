# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what the chief announces."""

import json
import os

from absl.testing import absltest
from absl.testing import parameterized
from adanet.engines.cluster import job_state
from adanet.testing import hypothesis_profile
import hypothesis
from hypothesis import strategies as st

_AGREEMENT = job_state.JobState(
    "job", 3, 1, ("linear", "deep"), 3, 2, "RoundRobinStrategy", 300)
_COUNT = st.integers(0, 2**40)
_TEXTS = hypothesis_profile.TEXTS
_NAMES = st.lists(_TEXTS, min_size=1, max_size=5).map(tuple)
_FIGURES = ("costs", "sizes", "ensemble_cost")
_FIGURE = st.integers(1, 2**80) | st.floats(5e-324, 1e308)


class AgreementTest(parameterized.TestCase):

  @hypothesis.given(st.builds(
      job_state.JobState, job=_TEXTS, generation=_COUNT, iteration=_COUNT,
      builders=st.lists(_TEXTS).map(tuple), num_workers=_COUNT,
      num_ps=_COUNT, strategy=_TEXTS, max_steps=st.none() | _COUNT,
      state=st.sampled_from(job_state.State), reason=_TEXTS,
      written=st.floats(0., 1e12), costs=st.none(), sizes=st.none(),
      ensemble_cost=st.none() | _FIGURE))
  def test_json(self, value):
    self._check_json(value)

  @hypothesis.given(_NAMES, st.data())
  def test_json_of_figures(self, builders, data):
    figures = st.none() | st.lists(
        _FIGURE, min_size=len(builders), max_size=len(builders)).map(tuple)
    self._check_json(_AGREEMENT._replace(
        builders=builders, costs=data.draw(figures), sizes=data.draw(figures)))

  def test_older_files_have_no_figures(self):
    content = json.loads(
        _AGREEMENT._replace(
            costs=(1, 2), sizes=(3, 4), ensemble_cost=5).to_json())
    for name in _FIGURES:
      del content[name]
    self.assertEqual(_AGREEMENT, job_state.JobState.from_json(
        json.dumps(content), "path"))

  def _check_json(self, value):
    self.assertEqual(
        value, job_state.JobState.from_json(value.to_json(), "path"))
    self.assertNotIn("\n", value.to_json())

  @parameterized.parameters(
      (job_state.State.TRAINING, True), (job_state.State.OVER, False),
      (job_state.State.STOPPED, False))
  def test_is_training(self, state, expected):
    self.assertEqual(expected, _AGREEMENT._replace(state=state).is_training)
    self.assertTrue(_AGREEMENT.is_training)

  @parameterized.parameters(
      "", "{", "[]", "null", '"a\nb"', '{"job": "a"', "\ufffd")
  def test_text_that_is_no_agreement(self, text):
    self._check_corrupt(text, "")

  @parameterized.parameters(
      ("job", 1), ("generation", "1"), ("generation", -1), ("iteration", True),
      ("iteration", 1.5), ("builders", "deep"), ("builders", [1]),
      ("builders", {}), ("num_workers", None), ("num_ps", [2]),
      ("strategy", None), ("max_steps", "1"), ("max_steps", -1),
      ("state", "done"), ("state", ["over"]), ("reason", None),
      ("written", "now"), ("written", None), ("costs", 1), ("costs", []),
      ("costs", [1, 0]), ("costs", [1, "2"]), ("costs", [True, 2]),
      ("sizes", [1, -2.5]), ("sizes", [1, float("nan")]),
      ("sizes", [float("inf"), 1]), ("sizes", {}), ("ensemble_cost", -1),
      ("ensemble_cost", float("inf")), ("ensemble_cost", [1]))
  def test_wrong_value(self, name, value):
    content = dict(json.loads(_AGREEMENT.to_json()), **{name: value})
    self._check_corrupt(json.dumps(content), name + r"(\[1\]|\[0\])? is ")

  @parameterized.parameters("costs", "sizes")
  def test_wrong_number_of_figures(self, name):
    content = dict(json.loads(_AGREEMENT.to_json()), **{name: [1, 2, 3]})
    self._check_corrupt(
        json.dumps(content), rf"{name} is \[1, 2, 3\], not a number > 0 for "
        "each of the 2 builders")

  @parameterized.parameters(
      name for name in job_state.JobState._fields
      if name not in _FIGURES + ("search",))
  def test_missing_value(self, name):
    content = json.loads(_AGREEMENT.to_json())
    del content[name]
    self._check_corrupt(json.dumps(content), f"it lacks {name}")

  def _check_corrupt(self, text, problem):
    with self.assertRaisesRegex(
        job_state.JobStateError, "^/m/a.json: " + problem) as raised:
      job_state.JobState.from_json(text, "/m/a.json")
    self.assertNotIn("\n", str(raised.exception))
    self.assertIn("Remove the file", str(raised.exception))


class AgreementFileTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self._model_dir = self.create_tempdir().full_path
    self._now = 1000.5
    self._file = job_state.JobStateFile(self._model_dir, lambda: self._now)

  def test_path(self):
    self.assertEqual(
        os.path.join(self._model_dir, "cluster", "agreement.json"),
        self._file.path)
    self.assertEqual(
        "gs://a/cluster/agreement.json",
        job_state.JobStateFile("gs://a").path)

  def test_read_and_write(self):
    self.assertIsNone(self._file.read())
    self.assertEqual([], os.listdir(self._model_dir))
    for number in range(2):
      self._now += 1.
      value = _AGREEMENT._replace(generation=number)
      self._file.write(value)
      self.assertEqual(value._replace(written=self._now), self._file.read())
    self.assertEqual(
        ["agreement.json"],
        os.listdir(os.path.join(self._model_dir, "cluster")))

  def test_announce(self):
    """Each announcement is another generation, and keeps the rest."""
    self._file.write(_AGREEMENT)
    for count, state in enumerate(job_state.State, 1):
      generation = self._file.announce(
          _AGREEMENT.job, 1, 0, 90 + count, state, "reason")
      self.assertEqual(_AGREEMENT.generation + count, generation)
      self.assertEqual(
          _AGREEMENT._replace(
              generation=generation, max_steps=90 + count, state=state,
              reason="reason", written=self._now), self._file.read())

  def test_announce_another_job(self):
    self._file.write(_AGREEMENT)
    generation = self._file.announce("another", 2, 1, None)
    self.assertEqual(_AGREEMENT.generation + 1, generation)
    self.assertEqual(
        job_state.JobState("another", generation, 0, (), 2, 1, "", None,
                            written=self._now), self._file.read())

  def test_announce_the_first(self):
    self.assertEqual(1, self._file.announce("job", 2, 1, None))
    self.assertEqual(1, self._file.read().generation)

  def test_corrupt(self):
    self._file.write(_AGREEMENT)
    with open(self._file.path, "w") as f:
      f.write("{")
    with self.assertRaisesRegex(
        job_state.JobStateError, f"^{self._file.path}: not JSON"):
      self._file.read()


if __name__ == "__main__":
  absltest.main()

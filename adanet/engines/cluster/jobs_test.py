# Copyright 2026 The adanet.distributed Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what the chief announces, and of whether the job of a task is over.
"""

import json
import os
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
from adanet import tf_compat
from adanet.engines.cluster import jobs
from adanet.testing import hypothesis_profile
import hypothesis
from hypothesis import strategies as st

_ANNOUNCED = jobs.JobState(
    "job", 3, 1, ("linear", "deep"), 3, 2, "RoundRobinStrategy", 300)
_COUNT = st.integers(0, 2**40)
_TEXTS = hypothesis_profile.TEXTS
_FIGURES = ("costs", "sizes", "ensemble_cost")
_FIGURE = st.integers(1, 2**80) | st.floats(5e-324, 1e308)
_STARTED = 1000000.
_UNIQUE = jobs.JobId("job", True)
_SHARED = jobs.JobId("job", False)
_UNKNOWN = jobs.JobId("", False)
_SECOND = jobs.JobId("job", True, 2)
_SHARED_SECOND = jobs.JobId("job", False, 2)
_CLUSTER = {"chief": ["a:1"], "worker": ["b:1", "c:1"], "ps": ["d:1"]}


class JobStateTest(parameterized.TestCase):

  @hypothesis.given(st.lists(_TEXTS, max_size=5).map(tuple), st.data())
  def test_json(self, builders, data):
    figures = st.none() | st.lists(
        _FIGURE, min_size=len(builders), max_size=len(builders)).map(tuple)
    value = data.draw(st.builds(
        jobs.JobState, job=_TEXTS, generation=_COUNT, iteration=_COUNT,
        builders=st.just(builders), num_workers=_COUNT, num_ps=_COUNT,
        strategy=_TEXTS, max_steps=st.none() | _COUNT,
        state=st.sampled_from(jobs.State), reason=_TEXTS,
        written=st.floats(0., 1e12), costs=figures, sizes=figures,
        ensemble_cost=st.none() | _FIGURE))
    self.assertEqual(value, jobs.JobState.from_json(value.to_json(), "path"))
    self.assertNotIn("\n", value.to_json())

  def test_older_files_have_no_figures(self):
    content = json.loads(
        _ANNOUNCED._replace(
            costs=(1, 2), sizes=(3, 4), ensemble_cost=5).to_json())
    for name in _FIGURES:
      del content[name]
    self.assertEqual(_ANNOUNCED, jobs.JobState.from_json(
        json.dumps(content), "path"))

  @parameterized.parameters(
      (jobs.State.TRAINING, True), (jobs.State.OVER, False),
      (jobs.State.STOPPED, False))
  def test_is_training(self, state, expected):
    self.assertEqual(expected, _ANNOUNCED._replace(state=state).is_training)

  @parameterized.parameters(
      "", "{", "[]", "null", '"a\nb"', '{"job": "a"', "\ufffd")
  def test_text_that_is_no_job_state(self, text):
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
    content = dict(json.loads(_ANNOUNCED.to_json()), **{name: value})
    self._check_corrupt(json.dumps(content), name + r"(\[1\]|\[0\])? is ")

  @parameterized.parameters("costs", "sizes")
  def test_wrong_number_of_figures(self, name):
    content = dict(json.loads(_ANNOUNCED.to_json()), **{name: [1, 2, 3]})
    self._check_corrupt(
        json.dumps(content), rf"{name} is \[1, 2, 3\], not a number > 0 for "
        "each of the 2 builders")

  @parameterized.parameters(
      name for name in jobs.JobState._fields
      if name not in _FIGURES + ("search",))
  def test_missing_value(self, name):
    content = json.loads(_ANNOUNCED.to_json())
    del content[name]
    self._check_corrupt(json.dumps(content), f"it lacks {name}")

  def _check_corrupt(self, text, problem):
    with self.assertRaisesRegex(
        jobs.JobStateError, "^/m/a.json: " + problem) as raised:
      jobs.JobState.from_json(text, "/m/a.json")
    self.assertNotIn("\n", str(raised.exception))
    self.assertIn("Remove the file", str(raised.exception))


class JobStateFileTest(absltest.TestCase):

  def setUp(self):
    super().setUp()
    self._model_dir = self.create_tempdir().full_path
    self._now = 1000.5
    self._file = jobs.JobStateFile(self._model_dir, lambda: self._now)

  def test_path(self):
    self.assertEqual("gs://a/cluster/job_state.json",
                     jobs.JobStateFile("gs://a").path)

  def test_read_and_write(self):
    self.assertIsNone(self._file.read())
    self.assertEqual([], os.listdir(self._model_dir))
    for number in range(2):
      self._now += 1.
      value = _ANNOUNCED._replace(generation=number)
      self._file.write(value)
      self.assertEqual(value._replace(written=self._now), self._file.read())
    self.assertEqual(
        ["job_state.json"],
        os.listdir(os.path.join(self._model_dir, "cluster")))

  def test_announce(self):
    """Each announcement is another generation, and keeps the rest."""
    self._file.write(_ANNOUNCED)
    for count, state in enumerate(jobs.State, 1):
      generation = self._file.announce(
          _ANNOUNCED.job, 1, 0, 90 + count, state, "reason")
      self.assertEqual(_ANNOUNCED.generation + count, generation)
      self.assertEqual(
          _ANNOUNCED._replace(
              generation=generation, max_steps=90 + count, state=state,
              reason="reason", written=self._now), self._file.read())

  def test_announce_another_job(self):
    self._file.write(_ANNOUNCED)
    generation = self._file.announce("another", 2, 1, None)
    self.assertEqual(_ANNOUNCED.generation + 1, generation)
    self.assertEqual(
        jobs.JobState("another", generation, 0, (), 2, 1, "", None,
                            written=self._now), self._file.read())

  def test_announce_the_first(self):
    self.assertEqual(1, self._file.announce("job", 2, 1, None))
    self.assertEqual(1, self._file.read().generation)

  def test_corrupt(self):
    self._file.write(_ANNOUNCED)
    with open(self._file.path, "w") as f:
      f.write("{")
    with self.assertRaisesRegex(
        jobs.JobStateError, f"^{self._file.path}: not JSON"):
      self._file.read()


def _written(state="over", age=100., job="job"):
  """Returns what was written some seconds before this task started."""
  return jobs.JobState(
      job, 3, 0, ("a",), 2, 1, "RoundRobinStrategy", None,
      jobs.State(state), "It is.", _STARTED - age)


class StateTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ("no_file", None, _UNIQUE, True, 99, "training"),
      ("other_job", _written(job="other"), _UNIQUE, True, 99, "training"),
      ("shared_other_job", _written(job="other"), _SHARED, True, 99,
       "training"),
      ("unknown", _written(job="other"), _UNKNOWN, True, 0, "over"),
      ("unknown_of_before", _written(job="other"), _UNKNOWN, False, 29,
       "training"),
      ("training", _written("training"), _UNIQUE, True, 99, "training"),
      ("training_of_before", _written("training"), _SHARED, False, 99,
       "training"),
      ("new", _written(), _SHARED, True, 0, "over"),
      ("written_since", _written(age=-1), _SHARED, False, 0, "over"),
      ("written_at_the_start", _written(age=0), _SHARED, False, 0, "over"),
      ("late", _written(age=99999), _UNIQUE, False, 0, "over"),
      ("shared_at_first", _written(), _SHARED, False, 29, "training"),
      ("shared_after_patience", _written(), _SHARED, False, 30, "over"),
      ("shared_just_young", _written(age=600), _SHARED, False, 99, "over"),
      ("shared_old", _written(age=601), _SHARED, False, 99, "training"),
      ("stopped", _written("stopped"), _UNIQUE, True, 0, "stopped"),
      ("shared_stopped", _written("stopped", -1), _SHARED, False, 0,
       "stopped"),
      ("stopped_of_before", _written("stopped"), _UNIQUE, False, 99,
       "training"),
      ("shared_stopped_of_before", _written("stopped"), _SHARED, False, 99,
       "training"),
      ("followed", _written("training", job="job#2"), _SHARED, True, 0,
       "over"),
      ("followed_by_one_that_was_stopped", _written("stopped", job="job#3"),
       _SECOND, True, 0, "over"),
      ("started_again", _written("training", job="job#2"), _UNIQUE, False, 0,
       "over"),
      ("shared_followed_in_another_run", _written("training", job="job#2"),
       _SHARED, False, 99, "training"),
      ("shared_late_for_all", _written(job="job#2"), _SHARED, False, 30,
       "over"),
      ("end_of_the_job_before", _written(), _SECOND, True, 99, "training"),
      ("its_own", _written(job="job#2"), _SECOND, False, 0, "over"),
      ("other_second_job", _written(job="other#2"), _UNIQUE, True, 99,
       "training"),
      ("unknown_second_job", _written(job="other"),
       jobs.JobId("", False, 2), True, 99, "training"))
  def test_state(self, job_state, job, is_new, secs, expected):
    self.assertEqual(expected, jobs.state(
        job_state, job, is_new, _STARTED, _STARTED + secs).value)


class JobWatchTest(parameterized.TestCase):

  def _states(self, job, read):
    """Returns the states after job states, of which one is read each second."""
    now = [_STARTED]
    job_watch = jobs.JobWatch(job, lambda: now[0])
    states = []
    for job_state in read:
      states.append(job_watch.after(job_state).value)
      now[0] += 1
    return states

  @parameterized.parameters(_UNIQUE, _SHARED)
  def test_first_run(self, *job):
    self.assertEqual(
        ["training", "training", "over"],
        self._states(jobs.JobId(*job), [
            None, _written("training", -1), _written("over", -2)]))

  def test_second_run_with_the_same_addresses(self):
    old = _written(age=60)
    self.assertEqual(
        ["training"] * 3 + ["over"],
        self._states(_SHARED, [old, old, _written("training", -2),
                               _written(age=-3)]))

  def test_clock_of_the_chief_is_late(self):
    # It says that it was written before this task started.
    self.assertEqual(
        ["training", "over"],
        self._states(_SHARED, [None, _written(age=3000)]))

  def test_resumed_after_a_stop(self):
    stopped = _written("stopped", 5)
    self.assertEqual(
        ["training", "training", "stopped"],
        self._states(_UNIQUE, [
            stopped, _written("training", -1), _written("stopped", -2)]))

  def test_second_job(self):
    # An earlier run left a file in the second folder. The chief evaluates.
    now, answers = [_STARTED + 60.], [True]
    job_watch = jobs.JobWatch(
        _SHARED_SECOND, lambda: now[0], _STARTED, lambda: answers[0])
    old = _written(job="job#2")
    self.assertEqual("training", job_watch.after(old).value)
    now[0] += 99
    self.assertEqual("training", job_watch.after(old).value)
    answers[0] = False
    self.assertEqual("over", job_watch.after(old).value)

  def test_second_job_that_was_over_at_once(self):
    # This process came late, but has followed the run before.
    job_watch = jobs.JobWatch(_SHARED_SECOND, lambda: _STARTED + 60., _STARTED)
    self.assertEqual("over", job_watch.after(_written(
        age=-50, job="job#2")).value)

  def test_a_board_says_that_it_is_over(self):
    job_watch = jobs.JobWatch(_SHARED)
    self.assertEqual("training", job_watch.after(None).value)
    job_watch.end()
    self.assertEqual("over", job_watch.after(None).value)


class JobIdTest(parameterized.TestCase):

  def _config(self, job, index=0, cluster=None):
    tf_config = {"cluster": cluster or _CLUSTER,
                 "task": {"type": job, "index": index}}
    environ = {"TF_CONFIG": json.dumps(tf_config)}
    with mock.patch.dict("os.environ", environ):
      return tf_compat.RunConfig(model_dir="/m"), environ

  def test_is_given(self):
    config, environ = self._config("worker")
    self.assertEqual(("mine", True, 1), jobs.job_id(
        config, dict(environ, ADANET_JOB_ID="mine")))

  def test_addresses_stand_for_it(self):
    ids = {jobs.job_id(*self._config(job, index)) for job, index in (
        ("chief", 0), ("worker", 0), ("worker", 1), ("ps", 0),
        ("evaluator", 0))}
    # A cluster may name its evaluator, and its indices.
    ids.add(jobs.job_id(*self._config(
        "evaluator", cluster=dict(_CLUSTER, evaluator=["e:1"]))))
    ids.add(jobs.job_id(*self._config("chief", cluster=dict(
        _CLUSTER, worker={"1": "c:1", "0": "b:1"}))))
    self.assertLen(ids, 1)
    found = ids.pop()
    self.assertNotEqual("", found.text)
    self.assertFalse(found.is_unique)
    other = jobs.job_id(*self._config(
        "chief", cluster=dict(_CLUSTER, ps=["d:2"])))
    self.assertNotEqual(found.text, other.text)

  def test_is_unknown_without_addresses(self):
    self.assertEqual(("", False, 1), jobs.job_id(
        tf_compat.RunConfig(), {"ADANET_JOB_ID": "", "TF_CONFIG": ""}))

  def test_counts_the_trainings_of_a_process(self):
    config, environ = self._config(
        "worker", cluster=dict(_CLUSTER, ps=["counted:1"]))
    with mock.patch.dict("os.environ", environ):
      def enter(error=None):
        with jobs.as_job(config), jobs.as_job(config):
          number = jobs.job_id(config).number
          if error:
            raise error
          return number

      self.assertEqual([1, 2], [enter(), enter()])
      for error in (ValueError, SystemExit):
        with self.assertRaises(error):
          enter(error)
      self.assertEqual(3, enter())  # The chief waits for another try.
      self.assertEqual(4, jobs.job_id(config).number)
    other, environ = self._config("worker")
    self.assertEqual(1, jobs.job_id(other, environ).number)
    # Without a cluster, TF_CONFIG may be for other trainings.
    local = tf_compat.RunConfig()
    with jobs.as_job(local), jobs.as_job(local):
      self.assertEqual(1, jobs.job_id(local, {}).number)
    self.assertEqual(1, jobs.job_id(local, {}).number)


if __name__ == "__main__":
  absltest.main()
